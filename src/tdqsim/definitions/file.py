"""FILE definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name, Number
from tdqsim.definitions._resource import Conflict, Resource, YesNo


class File(Resource):
    """A file of file control: its data set, and the operations that are allowed.

    In real CICS the organisation of a data set is in the VSAM catalogue. Here the definition may contain it: KEYLENGTH,
    RECORDSIZE and four additional attributes with the names of IDCAMS (organisation, keyposition, relate, uniquekey).
    Files with the same DSNAME share one data set.

    Attributes:
        dsname: the data set; by default one with the file's own name.
        status: ENABLED, DISABLED, or UNENABLED, for a file that must be opened first.
        opentime: FIRSTREF (open with the first request) or STARTUP.
        add, browse, delete, read, update: whether the operation is allowed.
        recordformat: V, or F if all records have RECORDSIZE bytes.
        keylength: the length of the key in bytes, 1 to 255.
        recordsize: the maximum length of a record in bytes.
        recovery: NONE, or BACKOUTONLY or ALL if a backout undoes changes.
        organisation: KSDS, ESDS or RRDS; by default KSDS if there is a KEYLENGTH; not an RDO attribute.
        keyposition: the offset of the key in the record, from 0; not an RDO attribute.
        relate: for a path, the DSNAME of the data set with the alternate index; not an RDO attribute.
        uniquekey: whether alternate keys must be unique; not an RDO attribute.
    """

    kind: ClassVar[str] = "FILE"

    name: Annotated[str, Name(8)]
    dsname: Annotated[str, Name(44, "dsname", blank=True)] = ""
    status: Annotated[Literal["ENABLED", "DISABLED", "UNENABLED"], Keyword()] = "ENABLED"
    opentime: Annotated[Literal["FIRSTREF", "STARTUP"], Keyword()] = "FIRSTREF"
    add: YesNo = "NO"
    browse: YesNo = "NO"
    delete: YesNo = "NO"
    read: YesNo = "YES"
    update: YesNo = "NO"
    recordformat: Annotated[Literal["V", "F"], Keyword()] = "V"
    keylength: Annotated[int, Number(0, 255)] = 0
    recordsize: Annotated[int, Number(1, 32767)] = 32767
    recovery: Annotated[Literal["NONE", "BACKOUTONLY", "ALL"], Keyword()] = "NONE"
    organisation: Annotated[Literal["", "KSDS", "ESDS", "RRDS"], Keyword()] = ""
    keyposition: Annotated[int, Number(0, 32766)] = 0
    relate: Annotated[str, Name(44, "dsname", blank=True)] = ""
    uniquekey: YesNo = "NO"

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.dsname or self.name

    def conflicts(self) -> list[Conflict]:
        """Check that the key is inside the record, and that a path has a key and another data set."""
        conflicts = []
        if (self.organisation == "KSDS" or self.relate) and not self.keylength:
            conflicts.append(("keylength", "must be 1 to 255 for a KSDS or a path"))
        if self.keylength and self.keyposition + self.keylength > self.recordsize:
            conflicts.append(("keyposition", f"must leave room for the key in {self.recordsize} bytes"))
        if self.relate and self.organisation:
            conflicts.append(("relate", "cannot be given together with organisation"))
        if self.relate == self.dataset:
            conflicts.append(("relate", "must name another data set"))
        if self.uniquekey == "YES" and not self.relate:
            conflicts.append(("uniquekey", "needs relate"))
        return conflicts
