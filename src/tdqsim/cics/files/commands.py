"""READ, WRITE, REWRITE, DELETE, UNLOCK, STARTBR, READNEXT, READPREV, RESETBR and ENDBR."""

from __future__ import annotations

from typing import Annotated, Any, Final

from tdqsim.cics.files.requests import (
    FileRecord,
    Search,
    add,
    find,
    fit,
    hold,
    let_go,
    move,
    remove,
    replace,
    started,
)
from tdqsim.cics.files.table import Browse, FileEntry, Files
from tdqsim.cics.kernel.authority import check_resource
from tdqsim.cics.kernel.command import Flag, From, HalfwordOrNone, Opt, command
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XFCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.facts import Resp

FileName = Annotated[str, Opt("name", 8, "FILE")]
Key = Annotated[bytes, Opt("data", word="RIDFLD")]
FileToken = Annotated[int | None, Opt("fullword", 4, "TOKEN")]
ReqId = Annotated[int, Opt("halfword", 2, "REQID")]
KeyOrNone = Annotated[bytes | None, Opt("data", word="RIDFLD")]
_INTO: Final = {"INTO": Opt("data"), "SET": Opt("pointer", 4), "LENGTH": Opt("halfword", 2)}
_CONDITIONS: Final = "DISABLED FILENOTFOUND ILLOGIC INVREQ IOERR ISCINVREQ NOTAUTH NOTOPEN SYSIDERR"


def _find(task: TaskBase, file: str, operation: str) -> FileEntry:
    """The file of a request.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, NOTOPEN, INVREQ 20.
    """
    files: Files = task._region.files
    if task._region.security is not None:
        name = files.named(file).name
        check_resource(task, XFCT, name, Access.READ if operation in ("READ", "BROWSE") else Access.UPDATE)
    return files.find(file, operation)


def _cut(record: bytes, length: int | None) -> bytes:
    if length is not None and length < 1:
        raise Condition(Resp.LENGERR, 12, f"LENGTH is {length}; it is 1 or more")
    return bytes(record if length is None else record[:length])


@command(
    "READ",
    f"{_CONDITIONS} DUPKEY LENGERR LOADING LOCKED NOTFND RECORDBUSY",
    {**_INTO, "TOKEN": Opt("fullword", 4)},
    resource="file",
)
def read_file(
    task: TaskBase,
    file: FileName,
    ridfld: Key,
    length: HalfwordOrNone = None,
    *,
    keylength: HalfwordOrNone = None,
    generic: Flag = False,
    equal: Flag = False,  # the default
    gteq: Flag = False,
    rba: Flag = False,
    rrn: Flag = False,
    update: Flag = False,
    token: FileToken = None,
    nohandle: Flag = False,
) -> FileRecord:
    """Read a record of a file.

    Args:
        file: 1 to 8 characters.
        ridfld: the key, or the RBA or RRN as four bytes, big-endian.
        length: the length of the area (INTO) in bytes; if not given, the whole record is returned.
        keylength: bytes of the key; required with ``generic``.
        generic: find the first record whose key begins with ``ridfld``.
        equal: find a record with exactly this key; the default.
        gteq: if there is no such record, find the next higher key.
        rba, rrn: ``ridfld`` is an RBA or RRN.
        update: hold the record in order to rewrite or delete it.
        token: any value: hold the record under a token, so that several can be held at a time.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 20, 25, 26, 28, 42, NOTFND 80, LENGERR 11 and DUPKEY 140
            with the record.
    """
    wants_update = update or token is not None
    entry = _find(task, file, "UPDATE" if wants_update else "READ")
    entry.requests["update_reads" if wants_update else "reads"] += 1
    search = Search.of(entry, ridfld, keylength, generic=generic, gteq=gteq, numbers=rba or rrn)
    if wants_update:
        place, key, number = hold(task, entry, search, token=token is not None)
    else:
        (place, key), number = find(entry, search), 0
    return fit(entry, place, key, length, number)


@command("WRITE", f"{_CONDITIONS} DUPREC LENGERR LOCKED NOSPACE SUPPRESSED", {"RIDFLD": Opt("data")}, resource="file")
def write_file(
    task: TaskBase,
    file: FileName,
    from_: From,
    ridfld: Key = b"",
    length: HalfwordOrNone = None,
    *,
    keylength: HalfwordOrNone = None,  # always that of the file
    rba: Flag = False,
    rrn: Flag = False,
    massinsert: Flag = False,  # affects only the speed of VSAM
    nohandle: Flag = False,
) -> dict[str, Any]:
    """Add a record to a file.

    Args:
        file: 1 to 8 characters.
        from_: the record.
        ridfld: the key, which must equal the key in the record; or the RRN. Ignored for an ESDS, which returns the RBA.
        length: the number of bytes of ``from_`` to write.
        keylength: accepted.
        rba, rrn: accepted without effect: the organisation determines what ``ridfld`` is.
        massinsert: accepted.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        RIDFLD: the identification of the record.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ, LENGERR 12, 14, DUPREC 150, ILLOGIC 110.
        UsageError: a relative record number has not four bytes.
    """
    entry = _find(task, file, "ADD")
    entry.requests["adds"] += 1
    return {"RIDFLD": add(task, entry, _cut(from_, length), bytes(ridfld))}


@command("REWRITE", f"{_CONDITIONS} DUPREC LENGERR LOCKED NOSPACE NOTFND RECORDBUSY", resource="file")
def rewrite_file(
    task: TaskBase,
    file: FileName,
    from_: From,
    length: HalfwordOrNone = None,
    *,
    token: FileToken = None,
    nohandle: Flag = False,
) -> None:
    """Replace the record that was read for update.

    Args:
        file: 1 to 8 characters.
        from_: the whole record; its key cannot change.
        length: how many bytes of ``from_``; all when not given.
        token: the token of the READ UPDATE, if it had one.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 20, 30, 47, LENGERR 12, 14, DUPREC 150.
    """
    entry = _find(task, file, "UPDATE")
    entry.requests["rewrites"] += 1
    replace(task, entry, _cut(from_, length), token)


@command("DELETE", f"{_CONDITIONS} DUPKEY LOCKED NOTFND RECORDBUSY", {"NUMREC": Opt("halfword", 2)}, resource="file")
def delete_file(
    task: TaskBase,
    file: FileName,
    ridfld: KeyOrNone = None,
    *,
    keylength: HalfwordOrNone = None,
    generic: Flag = False,
    rba: Flag = False,
    rrn: Flag = False,
    token: FileToken = None,
    nohandle: Flag = False,
) -> dict[str, Any]:
    """Delete the record that was read for update, or those with a key.

    Args:
        file: 1 to 8 characters.
        ridfld: the key, or RBA or RRN as four bytes, big-endian; not given: the record that was read for update.
        keylength: bytes of the key; required with ``generic``.
        generic: delete all records whose keys begin with ``ridfld``.
        rba, rrn: ``ridfld`` is an RBA or RRN.
        token: the token of the READ UPDATE, if it had one.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        NUMREC: the number of deleted records.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 20, 21, 22, 25, 26, 31, 42, 47, NOTFND 80.
    """
    entry = _find(task, file, "DELETE")
    entry.requests["deletes"] += 1
    search = (
        None if ridfld is None else Search.of(entry, ridfld, keylength, generic=generic, gteq=False, numbers=rba or rrn)
    )
    return {"NUMREC": remove(task, entry, search, token)}


@command("UNLOCK", _CONDITIONS, resource="file")
def unlock(task: TaskBase, file: FileName, *, token: FileToken = None, nohandle: Flag = False) -> None:
    """Release the record that was read for update.

    Args:
        file: 1 to 8 characters.
        token: the token of the READ UPDATE, if it had one.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 47.
    """
    let_go(task, _find(task, file, "READ"), token)


# -- browsing -----------------------------------------------------------------------------------------------------


@command("STARTBR", f"{_CONDITIONS} LOADING NOTFND", resource="file")
def startbr(
    task: TaskBase,
    file: FileName,
    ridfld: Key,
    *,
    keylength: HalfwordOrNone = None,
    generic: Flag = False,
    equal: Flag = False,
    gteq: Flag = False,  # the default
    rba: Flag = False,
    rrn: Flag = False,
    reqid: ReqId = 0,
    nohandle: Flag = False,
) -> None:
    """Begin a browse; nothing is read yet.

    Args:
        file: 1 to 8 characters.
        ridfld: the position: the key, or the RBA or RRN as four bytes, big-endian.
        keylength: bytes of the key; required with ``generic``.
        generic: find the first record whose key begins with ``ridfld``.
        equal: find a record with exactly this key.
        gteq: if there is no such record, begin with the next higher key; the default.
        rba, rrn: ``ridfld`` is an RBA or RRN.
        reqid: the number of the browse, for a program with several browses of one file.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 20, 25, 26, 33, 42, NOTFND 80.
    """
    entry = _find(task, file, "BROWSE")
    browses = task._region.files.of(task._uow).browses
    if (entry.name, reqid) in browses:
        raise Condition(Resp.INVREQ, 33, f"a browse of file {entry.name} with REQID {reqid} is on already")
    search = Search.of(entry, ridfld, keylength, generic=generic, gteq=not equal, numbers=rba or rrn)
    browses[entry.name, reqid] = _browse(entry, search)


def _browse(entry: FileEntry, search: Search) -> Browse:
    """A browse from a position; HIGH-VALUES is the end of the file, any other one must exist."""
    if set(search.key) != {0xFF}:
        find(entry, search)
    return Browse(search.key, len(search.key) if search.generic else 0, gteq=search.gteq, numbers=search.numbers)


@command("RESETBR", f"{_CONDITIONS} NOTFND", resource="file")
def resetbr(
    task: TaskBase,
    file: FileName,
    ridfld: Key,
    *,
    keylength: HalfwordOrNone = None,
    generic: Flag = False,
    equal: Flag = False,
    gteq: Flag = False,
    rba: Flag = False,
    rrn: Flag = False,
    reqid: ReqId = 0,
    nohandle: Flag = False,
) -> None:
    """Move a browse to another position.

    Args:
        file: 1 to 8 characters.
        ridfld: the new position: the key, or the RBA or RRN as four bytes, big-endian.
        keylength: bytes of the key; required with ``generic``.
        generic: find the first record whose key begins with ``ridfld``.
        equal: find a record with exactly this key.
        gteq: if there is no such record, begin with the next higher key; the default.
        rba, rrn: ``ridfld`` is an RBA or RRN.
        reqid: the number of the browse, for a program with several browses of one file.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 20, 25, 26, 36, 42, NOTFND 80.
    """
    entry = _find(task, file, "BROWSE")
    started(task, entry, reqid, 36)
    search = Search.of(entry, ridfld, keylength, generic=generic, gteq=not equal, numbers=rba or rrn)
    task._region.files.of(task._uow).browses[entry.name, reqid] = _browse(entry, search)


@command("READNEXT", f"{_CONDITIONS} DUPKEY ENDFILE LENGERR NOTFND", {**_INTO, "RIDFLD": Opt("data")}, resource="file")
def readnext(
    task: TaskBase,
    file: FileName,
    ridfld: KeyOrNone = None,
    length: HalfwordOrNone = None,
    *,
    keylength: HalfwordOrNone = None,  # always that of the browse
    rba: Flag = False,
    rrn: Flag = False,
    reqid: ReqId = 0,
    nohandle: Flag = False,
) -> FileRecord:
    """Read the next record of a browse; a changed RIDFLD moves it there first.

    Args:
        file: 1 to 8 characters.
        ridfld: the position to read from; the present position of the browse if not given.
        length: the length of the area (INTO) in bytes; if not given, the whole record is returned.
        keylength, rba, rrn: accepted without effect: those of the browse are used.
        reqid: the number of the browse, for a program with several browses of one file.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 34, ENDFILE 90, NOTFND 80, LENGERR 11 and DUPKEY 140
            with the record.
    """
    entry = _find(task, file, "BROWSE")
    entry.requests["browses"] += 1
    place, key = move(entry, started(task, entry, reqid, 34), ridfld, forward=True)
    return fit(entry, place, key, length)


@command("READPREV", f"{_CONDITIONS} DUPKEY ENDFILE LENGERR NOTFND", {**_INTO, "RIDFLD": Opt("data")}, resource="file")
def readprev(
    task: TaskBase,
    file: FileName,
    ridfld: KeyOrNone = None,
    length: HalfwordOrNone = None,
    *,
    keylength: HalfwordOrNone = None,
    rba: Flag = False,
    rrn: Flag = False,
    reqid: ReqId = 0,
    nohandle: Flag = False,
) -> FileRecord:
    """Read the previous record of a browse; right after STARTBR the named record must exist.

    Args:
        file: 1 to 8 characters.
        ridfld: the position to read from; the present position of the browse if not given.
        length: the length of the area (INTO) in bytes; if not given, the whole record is returned.
        keylength, rba, rrn: accepted without effect: those of the browse are used.
        reqid: the number of the browse, for a program with several browses of one file.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 24, 41, ENDFILE 90, NOTFND 80, LENGERR 11 and DUPKEY 140
            with the record.
    """
    entry = _find(task, file, "BROWSE")
    entry.requests["browses"] += 1
    browse = started(task, entry, reqid, 41)
    if browse.generic:
        raise Condition(Resp.INVREQ, 24, f"the browse of file {entry.name} began with a generic key")
    place, key = move(entry, browse, ridfld, forward=False)
    return fit(entry, place, key, length)


@command("ENDBR", _CONDITIONS, resource="file")
def endbr(task: TaskBase, file: FileName, *, reqid: ReqId = 0, nohandle: Flag = False) -> None:
    """End a browse.

    Args:
        file: 1 to 8 characters.
        reqid: the number of the browse, for a program with several browses of one file.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: FILENOTFOUND, NOTAUTH 101, DISABLED, INVREQ 35.
    """
    entry = _find(task, file, "BROWSE")
    started(task, entry, reqid, 35)
    del task._region.files.of(task._uow).browses[entry.name, reqid]
