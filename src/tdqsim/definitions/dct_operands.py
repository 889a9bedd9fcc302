"""The operands of DFHDCT and the corresponding attributes of a TDQUEUE, for reading and writing macros.

The entries are those of TYPE=INTRA, EXTRA, INDIRECT, REMOTE and SDSCI. ``DESTFAC`` (ATIFACILITY and FACILITYID) and
``RECFORM`` (RECORDFORMAT, BLOCKFORMAT and PRINTCONTROL) correspond to several attributes; the modules that read and
write macros split and combine them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_REMOTE: Final = {"SYSIDNT": "remotesystem", "RMTNAME": "remotename", "LENGTH": "remotelength"}
_REMOTE_READ: Final = {**_REMOTE, "SYSIDENT": "remotesystem"}
WRITTEN: Final[Mapping[str, Mapping[str, str]]] = {
    "INTRA": {
        "TRANSID": "transid", "TRIGLEV": "triggerlevel", "DESTRCV": "recovstatus", "USERID": "userid", **_REMOTE,
    },
    "EXTRA": {"OPEN": "opentime", **_REMOTE},
    "INDIRECT": {"INDDEST": "indirectname"},
    "REMOTE": _REMOTE,
    "SDSCI": {
        "BLKSIZE": "blocksize", "RECSIZE": "recordsize", "BUFNO": "databuffers", "ERROPT": "erroroption",
        "REWIND": "rewind", "TYPEFLE": "typefile",
    },
}  # fmt: skip
"""For each type of entry the attribute of each operand, in the order in which they are written."""
READ: Final[Mapping[str, Mapping[str, str]]] = {
    "INTRA": {**WRITTEN["INTRA"], **_REMOTE_READ, "DESTFAC": "atifacility"},
    "EXTRA": {**WRITTEN["EXTRA"], **_REMOTE_READ, "FILE": "ddname", "TYPEFIL": "typefile", "DSCNAME": "ddname"},
    "INDIRECT": {**WRITTEN["INDIRECT"], "PHYDEST": "indirectname"},
    "REMOTE": _REMOTE_READ,
    "SDSCI": {**WRITTEN["SDSCI"], "TYPEFILE": "typefile", "RECFORM": "recordformat"},
}
"""The same, with operands that are only read."""
RECOVERY: Final = {"NO": "NO", "PHYSICAL": "PH", "LOGICAL": "LG"}
"""The value of DESTRCV for each RECOVSTATUS."""
FORMATS: Final = {"FIXED": "FIX", "VARIABLE": "VAR", "BLOCKED": "BLK", "UNBLOCKED": "UNB"}
"""The part of RECFORM for each RECORDFORMAT and BLOCKFORMAT."""
