"""FILE definitions, and how a file gets its data set.

A definition names a data set. The first request opens the file. Its data set is the one defined with
:meth:`~tdqsim.cics.files.table.Files.define_data_set`, or the one that an earlier file with the same DSNAME has
created, or a new, empty one with the attributes of the definition. If the definition does not describe the data set
either, the file cannot be opened (NOTOPEN), as in CICS when the data set is not in the catalog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.cics.files.datafile import DataFile, Organisation, Path

if TYPE_CHECKING:
    from tdqsim.definitions import File

OPERATIONS: Final = ("READ", "UPDATE", "ADD", "DELETE", "BROWSE")
"""The operations that a FILE definition may allow."""


def operations_of(definition: File) -> frozenset[str]:
    """The operations that a definition allows."""
    return frozenset(word for word in OPERATIONS if getattr(definition, word.lower()) == "YES")


def make_data_set(definition: File, base: DataFile | Path | None) -> DataFile | Path | None:
    """The data set that a definition describes; None if it describes none, or is a path over an unknown data set.

    Args:
        definition: of a file.
        base: for a path the data set that RELATE names.
    """
    key = {"keylength": definition.keylength, "keyposition": definition.keyposition}
    if definition.relate:
        return Path(base, **key, unique=definition.uniquekey == "YES") if isinstance(base, DataFile) else None
    organisation: Organisation = "KSDS"
    if definition.organisation in ("ESDS", "RRDS"):
        organisation = "ESDS" if definition.organisation == "ESDS" else "RRDS"
    elif not definition.keylength:
        return None
    return DataFile(organisation, **key, recordsize=definition.recordsize, recordformat=definition.recordformat)
