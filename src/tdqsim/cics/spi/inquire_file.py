"""INQUIRE FILE and SET FILE: show the attributes of a file; open, close, enable and disable it.

A file that SET has closed is UNENABLED, and requests for it get NOTOPEN. A file that is closed and ENABLED is opened by
the first request. For a file that was never open INQUIRE shows the definition.

Source: INQUIRE FILE, SET FILE (IBM Docs); RESP2 1 and 18 from public tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from tdqsim.cics.files.table import FileEntry
from tdqsim.cics.kernel.authority import check_command, check_resource
from tdqsim.cics.kernel.command import Flag, Opt, command, to_cvda
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XFCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.inquiry import (
    BrowseCommands,
    Constant,
    Reader,
    ResourceType,
    browse_command,
    inquire_one,
    receivers,
)
from tdqsim.cics.spi.requests import is_null
from tdqsim.cics.spi.statistics_types import reset_file
from tdqsim.facts import Cvda, Resp
from tdqsim.facts.inquiries import FileInfo, FileOption

FileName = Annotated[str, Opt("name", 8, "FILE")]
CvdaOrNone = Annotated[int | str | None, Opt("cvda", 4)]
_NAME_LENGTH: Final = 8
_STATES: Final = {
    "openstatus": (Cvda.OPEN, Cvda.CLOSED),
    "enablestatus": (Cvda.ENABLED, Cvda.DISABLED),
}


def _allows(operation: str, yes: Cvda, no: Cvda) -> Reader[FileEntry]:
    return lambda file, _region: yes if operation in file.operations else no


def _recordformat(file: FileEntry, _region: RegionData) -> Cvda:
    return Cvda.FIXED if (file.definition or file.data).recordformat == "F" else Cvda.VARIABLE


def _keylength(file: FileEntry, _region: RegionData) -> int:
    return file.definition.keylength if file.definition else file.view.keylength


def _keyposition(file: FileEntry, _region: RegionData) -> int:
    return file.definition.keyposition if file.definition else getattr(file.view, "keyposition", 0)


def _recordsize(file: FileEntry, _region: RegionData) -> int:
    return (file.definition or file.data).recordsize


def _named(region: RegionData, name: str) -> FileEntry | None:
    known: Mapping[str, FileEntry] = region.files.known
    return known.get(name)


FILE: Final = ResourceType[str, FileEntry, FileInfo](
    "FILE",
    FileInfo,
    {
        "ACCESSMETHOD": Constant(Cvda.VSAM),
        "ADD": _allows("ADD", Cvda.ADDABLE, Cvda.NOTADDABLE),
        "BROWSE": _allows("BROWSE", Cvda.BROWSABLE, Cvda.NOTBROWSABLE),
        "DELETE": _allows("DELETE", Cvda.DELETABLE, Cvda.NOTDELETABLE),
        "DSNAME": lambda file, _region: file.dsname or file.name,
        "ENABLESTATUS": lambda file, _region: Cvda[file.enablestatus],
        "KEYLENGTH": _keylength,
        "KEYPOSITION": _keyposition,
        "OPENSTATUS": lambda file, _region: Cvda[file.openstatus],
        "READ": _allows("READ", Cvda.READABLE, Cvda.NOTREADABLE),
        "RECORDFORMAT": _recordformat,
        "RECORDSIZE": _recordsize,
        "RECOVSTATUS": lambda file, _region: Cvda.RECOVERABLE if file.recoverable else Cvda.NOTRECOVABLE,
        "TYPE": lambda file, _region: Cvda.NOTAPPLIC if file.definition else Cvda[file.data.organisation],
        "UPDATE": _allows("UPDATE", Cvda.UPDATABLE, Cvda.NOTUPDATABLE),
    },
    keys=lambda region: region.files.known,
    find=_named,
    identity=lambda file: file.name.ljust(_NAME_LENGTH),
    protection=lambda file, _region: (XFCT, file.name),
)


@command("INQUIRE FILE", "FILENOTFOUND NOTAUTH", receivers("FILE"), resource="file", otherwise=FileInfo())
def inquire_file(task: TaskBase, file: FileName, *options: FileOption, nohandle: Flag = False) -> FileInfo:
    """Retrieve information about a file.

    Args:
        file: 1 to 8 characters.
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: FILENOTFOUND 1; NOTAUTH 100, 101.
    """
    return inquire_one(task, FILE, file.rstrip(" ").upper(), options)


_BROWSE: Final = BrowseCommands[FileOption, FileInfo](FILE, "files", __name__, receives=Opt("name", _NAME_LENGTH))
inquire_file_start = browse_command(_BROWSE.start)
inquire_file_next = browse_command(_BROWSE.next)
inquire_file_end = browse_command(_BROWSE.end)


@command("SET FILE", "FILENOTFOUND INVREQ IOERR NOTAUTH", resource="file")
def set_file(
    task: TaskBase,
    file: FileName,
    *,
    openstatus: CvdaOrNone = None,
    enablestatus: CvdaOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Open, close, enable or disable a file.

    Args:
        file: 1 to 8 characters.
        openstatus: OPEN or CLOSED, as a name or CVDA; a null value leaves it as it is.
        enablestatus: ENABLED or DISABLED, likewise.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND 18. NOTAUTH 100, 101. INVREQ: a CVDA is not allowed. IOERR: the data set is not known,
            so that the file cannot be opened.
    """
    check_command(task, "FILE", Access.UPDATE)
    entry = _named(task._region, file.rstrip(" ").upper())
    if entry is None:
        raise Condition(Resp.FILENOTFOUND, 18, f"file {file} is not defined")
    check_resource(task, XFCT, entry.name, Access.UPDATE)
    opened, enabled = _state("openstatus", openstatus), _state("enablestatus", enablestatus)
    if opened is Cvda.OPEN and not task._region.files.open(entry):
        raise Condition(Resp.IOERR, 0, f"file {file}: data set {entry.dsname} is not known")
    if opened is not None:
        if opened is Cvda.CLOSED and entry.openstatus == "OPEN":
            task._region.statistics.unsolicited("FILE", entry.name)
            reset_file(entry)
        entry.openstatus = opened.name
        if entry.openstatus == "CLOSED" and entry.enablestatus == "ENABLED":
            entry.enablestatus = "UNENABLED"
        elif entry.openstatus == "OPEN" and entry.enablestatus == "UNENABLED":
            entry.enablestatus = "ENABLED"
    if enabled is not None:
        entry.enablestatus = enabled.name


def _state(word: str, value: object) -> Cvda | None:
    """The state that an option of SET FILE names; None for a null value."""
    if is_null(value):
        return None
    state = to_cvda(value)
    if state not in _STATES[word]:
        allowed = " or ".join(state.name for state in _STATES[word])
        raise Condition(Resp.INVREQ, 0, f"{word.upper()} must be {allowed}, not {value!r}")
    return state
