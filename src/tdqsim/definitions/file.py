"""FILE definitions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tdqsim.definitions._fields import Keyword, Name, Number
from tdqsim.definitions._resource import Conflict, Resource, YesNo

__all__ = ["File"]


class File(Resource):
    """A file of file control: which data set it stands for, and what may be done with it.

    In CICS the catalogue of data sets says how the records of one are kept. Here the definition may say it itself, by
    KEYLENGTH and RECORDSIZE and by four attributes of ours, called as IDCAMS calls them: organisation, keyposition,
    relate and uniquekey. Files with the same DSNAME are files of one data set.

    Attributes:
        dsname: the data set; one of the file's own name when not given.
        status: ENABLED, DISABLED, or UNENABLED, for which it must be opened first.
        opentime: FIRSTREF, with the first request, or STARTUP.
        add, browse, delete, read, update: what may be done with it.
        recordformat: V or F: whether all records have RECORDSIZE bytes.
        keylength: bytes of the key, 1 to 255.
        recordsize: the longest record, in bytes.
        recovery: whether a backout undoes changes (BACKOUTONLY, ALL), or does not (NONE).
        organisation: KSDS, ESDS or RRDS; ours. KSDS when a KEYLENGTH is given.
        keyposition: where the key begins in the record, from 0; ours.
        relate: the DSNAME of the data set over whose alternate index the file is a path; ours.
        uniquekey: whether no two records may have the same alternate key; ours.
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
        """The name of its data set."""
        return self.dsname or self.name

    def conflicts(self) -> list[Conflict]:
        """A key is inside the record; a path has a key and is over another data set."""
        found = []
        if (self.organisation == "KSDS" or self.relate) and not self.keylength:
            found.append(("keylength", "must be 1 to 255 for a KSDS or a path"))
        if self.keylength and self.keyposition + self.keylength > self.recordsize:
            found.append(("keyposition", f"must leave room for the key in {self.recordsize} bytes"))
        if self.relate and self.organisation:
            found.append(("relate", "cannot be given together with organisation"))
        if self.relate == self.dataset:
            found.append(("relate", "must name another data set"))
        if self.uniquekey == "YES" and not self.relate:
            found.append(("uniquekey", "needs relate"))
        return found
