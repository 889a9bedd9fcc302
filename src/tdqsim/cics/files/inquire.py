"""INQUIRE FILE and SET FILE: what a file is, and opening, closing, enabling and disabling it.

A file that is closed by SET is UNENABLED, and requests for it meet NOTOPEN; one that is closed and ENABLED is opened by
the first request. Of one that was never open, its definition is shown.

Source: INQUIRE FILE, SET FILE (IBM Docs); RESP2 1 and 18 as public tables have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from tdqsim.cics.files.requests import FileTask
from tdqsim.cics.files.table import FileEntry
from tdqsim.cics.kernel.command import Flag, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.issue import check_options
from tdqsim.facts import Resp, table

__all__ = [
    "FILE_OPTIONS",
    "FileOption",
    "inquire_file",
    "inquire_file_end",
    "inquire_file_next",
    "inquire_file_start",
    "set_file",
]

_CVDA: Final = {row["name"]: int(row["value"]) for row in table("files")}
FileName = Annotated[str, Opt("name", 8, "FILE")]
CvdaOrNone = Annotated[int | None, Opt("cvda", 4)]


FileOption = Literal[
    "ACCESSMETHOD", "ADD", "BROWSE", "DELETE", "DSNAME", "ENABLESTATUS", "KEYLENGTH", "KEYPOSITION", "OPENSTATUS",
    "READ", "RECORDFORMAT", "RECORDSIZE", "RECOVSTATUS", "TYPE", "UPDATE",
]  # fmt: skip
"""The options of INQUIRE FILE, for type checkers; a test sees that they are those of :data:`FILE_OPTIONS`."""


def _allows(operation: str, words: tuple[str, str]) -> Callable[[FileEntry], int]:
    return lambda file: _CVDA[words[operation not in file.operations]]


def _fixed(file: FileEntry) -> bool:
    return file.definition.recordformat == "F" if file.definition else file.data.fixed


FILE_OPTIONS: Final[dict[str, Callable[[FileEntry], Any]]] = {
    "ACCESSMETHOD": lambda _file: _CVDA["VSAM"],
    "ADD": _allows("ADD", ("ADDABLE", "NOTADDABLE")),
    "BROWSE": _allows("BROWSE", ("BROWSABLE", "NOTBROWSABLE")),
    "DELETE": _allows("DELETE", ("DELETABLE", "NOTDELETABLE")),
    "DSNAME": lambda file: file.dsname or file.name,
    "ENABLESTATUS": lambda file: _CVDA[file.enablestatus],
    "KEYLENGTH": lambda file: file.definition.keylength if file.definition else file.view.key_length,
    "KEYPOSITION": lambda file: (
        file.definition.keyposition if file.definition else getattr(file.view, "key_position", 0)
    ),
    "OPENSTATUS": lambda file: _CVDA[file.openstatus],
    "READ": _allows("READ", ("READABLE", "NOTREADABLE")),
    "RECORDFORMAT": lambda file: _CVDA["FIXED" if _fixed(file) else "VARIABLE"],
    "RECORDSIZE": lambda file: file.definition.recordsize if file.definition else file.data.longest,
    "RECOVSTATUS": lambda file: _CVDA["RECOVERABLE" if file.recoverable else "NOTRECOVABLE"],
    "TYPE": lambda file: _CVDA["NOTAPPLIC" if file.definition else file.data.organisation],
    "UPDATE": _allows("UPDATE", ("UPDATABLE", "NOTUPDATABLE")),
}
"""The options of INQUIRE FILE and where each value comes from."""
_NUMBERS: Final = ("KEYLENGTH", "KEYPOSITION", "RECORDSIZE")
_RECEIVERS: Final = {
    word: Opt("name", 44) if word == "DSNAME" else Opt("fullword" if word in _NUMBERS else "cvda", 4)
    for word in FILE_OPTIONS
}


def _shown(file: FileEntry, options: tuple[str, ...]) -> dict[str, Any]:
    check_options("INQUIRE FILE", options, FILE_OPTIONS)
    return {word: FILE_OPTIONS[word](file) for word in options}


def _named(task: FileTask, name: str, resp2: int) -> FileEntry:
    found = task.region.files.known.get(name.rstrip(" ").upper())
    if found is None:
        raise Condition(Resp.FILENOTFOUND, resp2, f"file {name} is not defined")
    return found


@command("INQUIRE FILE", "END FILENOTFOUND ILLOGIC NOTAUTH", _RECEIVERS, resource="file")
def inquire_file(task: FileTask, file: FileName, *options: FileOption, nohandle: Flag = False) -> dict[str, Any]:
    """What a file is.

    Args:
        file: 1 to 8 characters.
        options: of :data:`FILE_OPTIONS` those that are wanted.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        The values by option, CVDAs as numbers.

    Raises:
        Condition: FILENOTFOUND 1.
    """
    return _shown(_named(task, file, 1), options)


@command("INQUIRE FILE START", "ILLOGIC NOTAUTH")
def inquire_file_start(task: Any, *, nohandle: Flag = False) -> None:
    """Begin to go over all files, those that are there now.

    Raises:
        Condition: ILLOGIC 1: such a browse is on already.
    """
    if "FILE" in task.browses:
        raise Condition(Resp.ILLOGIC, 1, "a browse of files is on already")
    task.open_browses()["FILE"] = iter(tuple(task.region.files.known.values()))


@command("INQUIRE FILE NEXT", "END ILLOGIC NOTAUTH", {"FILE": Opt("name", 8), **_RECEIVERS})
def inquire_file_next(task: Any, *options: FileOption, nohandle: Flag = False) -> dict[str, Any]:
    """The next file, with what is wanted of it.

    Raises:
        Condition: END 2: there is no other. ILLOGIC 1: no such browse is on.
    """
    if "FILE" not in task.browses:
        raise Condition(Resp.ILLOGIC, 1, "no browse of files is on")
    found = next(task.browses["FILE"], None)
    if found is None:
        raise Condition(Resp.END, 2, "there are no more files")
    return {"FILE": found.name, **_shown(found, options)}


@command("INQUIRE FILE END", "ILLOGIC NOTAUTH")
def inquire_file_end(task: Any, *, nohandle: Flag = False) -> None:
    """End the browse.

    Raises:
        Condition: ILLOGIC 1: no such browse is on.
    """
    if task.open_browses().pop("FILE", None) is None:
        raise Condition(Resp.ILLOGIC, 1, "no browse of files is on")


@command("SET FILE", "FILENOTFOUND INVREQ IOERR NOTAUTH", resource="file")
def set_file(
    task: FileTask,
    file: FileName,
    *,
    openstatus: CvdaOrNone = None,
    enablestatus: CvdaOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Open, close, enable or disable a file.

    Args:
        file: 1 to 8 characters.
        openstatus: OPEN or CLOSED, as a CVDA.
        enablestatus: ENABLED or DISABLED, as a CVDA.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND 18. INVREQ: another CVDA. IOERR: its data set is not known, and cannot be opened.
    """
    found = _named(task, file, 18)
    for value, allowed in ((openstatus, ("OPEN", "CLOSED")), (enablestatus, ("ENABLED", "DISABLED"))):
        if value is not None and int(value) not in (_CVDA[word] for word in allowed):
            raise Condition(Resp.INVREQ, 0, f"CVDA {int(value)}; allowed are {' and '.join(allowed)}")
    if openstatus is not None and int(openstatus) == _CVDA["OPEN"] and not task.region.files.open(found):
        raise Condition(Resp.IOERR, 0, f"file {file}: data set {found.dsname} is not known")
    if openstatus is not None:
        found.openstatus = "OPEN" if int(openstatus) == _CVDA["OPEN"] else "CLOSED"
        if found.openstatus == "CLOSED" and found.enablestatus == "ENABLED":
            found.enablestatus = "UNENABLED"
        elif found.openstatus == "OPEN" and found.enablestatus == "UNENABLED":
            found.enablestatus = "ENABLED"
    if enablestatus is not None:
        found.enablestatus = "ENABLED" if int(enablestatus) == _CVDA["ENABLED"] else "DISABLED"
