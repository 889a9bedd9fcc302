"""The work of the file control commands: identifying, finding, holding, changing and browsing records.

A key is the first bytes of RIDFLD, as many as the key has, or as KEYLENGTH says with GENERIC. READ looks for that
record (EQUAL), or for it or the next higher one (GTEQ). A browse that has just started, or whose RIDFLD the program has
changed, looks the same way; otherwise it continues from its position, and a change of direction returns the same record
again. Source: READ, STARTBR, READNEXT, READPREV, Browsing records (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tdqsim.cics.files.datafile import NUMBER_SIZE, DataFile, Path, RecordView
from tdqsim.cics.files.table import Browse, FileEntry, Files, Held
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import wait
from tdqsim.core.fiber import WAIT
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UsageError
from tdqsim.facts import Resp

T = TypeVar("T")


class FileRecord(NamedTuple):
    """The result of a request that reads.

    Attributes:
        data: the record.
        ridfld: its full key, RBA or RRN.
        token: the token by which it is held for update; 0 if it is not held.
    """

    data: bytes
    ridfld: bytes
    token: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The receivers by option."""
        length = len(self.data)
        return {"INTO": self.data, "SET": self.data, "LENGTH": length, "RIDFLD": self.ridfld, "TOKEN": self.token}


class Search(NamedTuple):
    """The identification of the record to find.

    Attributes:
        key: the full or generic key.
        generic: whether it is generic.
        gteq: whether the next higher key is accepted.
        numbers: whether it is an RBA or RRN.
    """

    key: bytes
    generic: bool
    gteq: bool
    numbers: bool

    @classmethod
    def of(
        cls, file: FileEntry, ridfld: bytes, keylength: int | None, *, generic: bool, gteq: bool, numbers: bool
    ) -> Search:
        """From the options of a command.

        Raises:
            Condition: INVREQ 25, 26, 42: KEYLENGTH does not fit the file's keys or GENERIC.
        """
        full = NUMBER_SIZE if numbers else file.view.keylength
        if generic and keylength is not None and keylength < 0:
            raise Condition(Resp.INVREQ, 42, f"KEYLENGTH is {keylength}; a generic key has 0 to {full - 1} bytes")
        if generic and (keylength is None or keylength >= full):
            raise Condition(Resp.INVREQ, 25, f"KEYLENGTH is {keylength}; a generic key has 0 to {full - 1} bytes")
        if not generic and keylength not in (None, full):
            raise Condition(Resp.INVREQ, 26, f"KEYLENGTH is {keylength}; the keys of {file.name} have {full} bytes")
        size = keylength if generic and keylength is not None else full
        if size == 0:  # as one byte of zeros with GTEQ: the first record
            return cls(b"\0", generic=False, gteq=True, numbers=numbers)
        return cls(bytes(ridfld[:size]).ljust(size, b"\0"), generic=generic, gteq=gteq, numbers=numbers)


def find(file: FileEntry, search: Search) -> tuple[bytes, bytes]:
    """The place and the identification of the first record that matches.

    Raises:
        Condition: NOTFND 80.
    """
    view = file.data if search.numbers else file.view
    match = view.at_or_after(search.key)
    if match is not None:
        shown = view.shown(match[0])
        if search.gteq or (shown.startswith(search.key) if search.generic else shown == search.key):
            return match
    raise Condition(Resp.NOTFND, 80, f"file {file.name} has no record for key {search.key!r}")


def fit(file: FileEntry, place: bytes, key: bytes, length: int | None, token: int = 0) -> FileRecord:
    """The record at a place, in the form that the program gets.

    Raises:
        Condition: LENGERR 11: it is longer than LENGTH and truncated. DUPKEY 140: more records have the same alternate
            key. The record is returned with both.
    """
    data: bytes = file.data.records[key]
    ridfld = file.view.shown(place)
    record = FileRecord(data, ridfld, token)
    if length is not None and len(data) > length:
        cut = data[: max(length, 0)]
        raise Condition(
            Resp.LENGERR,
            11,
            f"LENGTH is {length}, the record has {len(data)} bytes",
            data=cut,
            length=len(data),
            brings={**record.as_dict(), "INTO": cut, "SET": data},
        )
    if isinstance(file.view, Path) and not file.view.unique:
        following = file.view.after(place)
        if following is not None and file.view.shown(following[0]) == ridfld:
            raise Condition(
                Resp.DUPKEY, 140, f"more records of {file.name} have key {ridfld!r}", data=data, brings=record.as_dict()
            )
    return record


# -- holding and changing -----------------------------------------------------------------------------------------


def hold(task: TaskBase, file: FileEntry, search: Search, *, token: bool) -> tuple[bytes, bytes, int]:
    """Read for update: find a record and hold it for the task, after waiting for its present holder.

    Returns:
        The place and the identification of the record, and the token.

    Raises:
        Condition: INVREQ 28: the task holds another record of the file, without TOKEN. NOTFND 80: no record matches, or
            its holder has deleted it.
    """
    files = task._region.files
    has = files.of(task._uow)
    place, key = find(file, search)
    held = has.held.setdefault(file.name, [])
    if not token and any(not one.token for one in held):
        raise Condition(Resp.INVREQ, 28, f"a record of {file.name} is held for update already")
    while _has_waited(task, file, key):  # its holder may have changed or deleted it
        place, key = find(file, search)
    _lock(task, file, key)
    number = files.next_token() if token else 0
    held.append(Held(key, number))
    return place, key, number


def _has_waited(task: TaskBase, file: FileEntry, key: bytes) -> bool:
    """Wait while another unit of work holds a record; whether there was one.

    Raises:
        Condition: LOCKED 106: that unit of work is in doubt.
    """
    files, uow = task._region.files, task._uow

    def attempt() -> object:
        owner = files.holder(file, key, uow)
        if owner is not None and owner.task is None:
            raise Condition(Resp.LOCKED, 106, f"a record of {file.name} is held by {owner.title}, which is in doubt")
        return None if owner is None else WAIT

    if attempt() is None:
        return False
    wait(task, attempt, files.waiting, "FCRVWAIT", file.name)
    return True


def _lock(task: TaskBase, file: FileEntry, key: bytes) -> None:
    _has_waited(task, file, key)
    task._region.files.of(task._uow).locked.add((id(file.data), key))


def let_go(task: TaskBase, file: FileEntry, token: int | None) -> None:
    """UNLOCK: release the record held with the token, or the one held without a token; none held is not an error.

    A record of a recoverable file stays locked until the unit of work ends.

    Raises:
        Condition: INVREQ 47: no record is held by that token.
    """
    files: Files = task._region.files
    has = files.of(task._uow)
    held = [one for one in has.held.get(file.name, []) if not one.token]
    if token is not None:
        held = [_held(task, file, token, 47)]
    for one in held:
        _free(task, file, one)


def _held(task: TaskBase, file: FileEntry, token: int | None, otherwise: int) -> Held:
    files: Files = task._region.files
    has = files.of(task._uow)
    held = has.held.get(file.name, [])
    match = next((one for one in held if one.token == (token or 0)), None)
    if match is None:
        raise Condition(Resp.INVREQ, 47 if token else otherwise, f"no record of {file.name} is held for update")
    return match


def _free(task: TaskBase, file: FileEntry, held: Held | None) -> None:
    if held is None:
        return
    files = task._region.files
    has = files.of(task._uow)
    has.held[file.name] = [one for one in has.held.get(file.name, []) if one is not held]
    changed = any(data is file.data and key == held.key for data, key, _record in has.undo)
    if not (file.recoverable or changed):
        has.locked.discard((id(file.data), held.key))
        files.waiting.wake_all()


def _change(task: TaskBase, file: FileEntry, records: Mapping[bytes, bytes | None], held: Held | None = None) -> None:
    """Change records, of a recoverable file so that a backout undoes it, and release the record held for the change."""
    files = task._region.files
    if file.recoverable:
        files.of(task._uow).undo.extend((file.data, key, file.data.records.get(key)) for key in records)
    files.change(file, records, lambda: _free(task, file, held))


def _check_length(file: FileEntry, record: bytes) -> bytes:
    data = file.data
    if data.recordformat == "F" and len(record) != data.recordsize:
        raise Condition(
            Resp.LENGERR, 14, f"the record has {len(record)} bytes; those of {file.name} have {data.recordsize}"
        )
    if not 0 < len(record) <= data.recordsize:
        raise Condition(
            Resp.LENGERR, 12, f"the record has {len(record)} bytes; {file.name} takes 1 to {data.recordsize}"
        )
    return record


def add(task: TaskBase, file: FileEntry, record: bytes, ridfld: bytes) -> bytes:
    """WRITE: add a record and return its identification.

    Raises:
        Condition: LENGERR 12, 14; INVREQ: RIDFLD is not the key in the record; ILLOGIC 110: the relative record number
            is 0; DUPREC 150.
        UsageError: the relative record number has not four bytes.
    """
    data = file.data
    _check_length(file, record)
    if data.organisation == "ESDS":
        key = data.next_address()
    else:
        key = ridfld[: data.keylength]
        if data.organisation == "RRDS":
            _check_number(file, key)
        elif data.key_of(record) != key:
            raise Condition(Resp.INVREQ, 0, f"RIDFLD is {key!r}, the key in the record {data.key_of(record)!r}")
    if file.recoverable and not _is_taken(data, key, record):
        _has_waited(task, file, key)  # for a unit of work that has deleted the record; its backout restores it
    if _is_taken(data, key, record):
        raise Condition(Resp.DUPREC, 150, f"file {file.name} has a record with key {key!r}")
    if file.recoverable:
        _lock(task, file, key)
    _change(task, file, {key: record})
    return key


def _check_number(file: FileEntry, number: bytes) -> None:
    """Refuse a relative record number of the wrong length, and 0: the first record has number 1."""
    if len(number) != NUMBER_SIZE:
        raise UsageError(
            f"WRITE {file.name}: RIDFLD has {len(number)} bytes; a relative record number has {NUMBER_SIZE}"
        )
    if not any(number):
        raise Condition(Resp.ILLOGIC, 110, f"the relative record numbers of {file.name} begin with 1")


def _is_taken(data: DataFile, key: bytes, record: bytes) -> bool:
    return key in data.records or data.clash(key, record)


def replace(task: TaskBase, file: FileEntry, record: bytes, token: int | None) -> None:
    """REWRITE: replace the data of the held record.

    Raises:
        Condition: INVREQ 30, 47: none is held; INVREQ: the key has changed; LENGERR 12, 14; DUPREC 150.
    """
    held = _held(task, file, token, 30)
    data = file.data
    _check_length(file, record)
    if data.organisation == "KSDS" and data.key_of(record) != held.key:
        raise Condition(Resp.INVREQ, 0, f"the key in the record is {data.key_of(record)!r}, that held is {held.key!r}")
    if data.clash(held.key, record):
        raise Condition(Resp.DUPREC, 150, f"an alternate key of the record in {file.name} belongs to another record")
    _change(task, file, {held.key: record}, held)


def remove(task: TaskBase, file: FileEntry, search: Search | None, token: int | None) -> int:
    """DELETE: delete the held record, or those that match; return their number.

    Raises:
        Condition: INVREQ 21, 22: the organisation does not allow it; INVREQ 31, 47: none is held; NOTFND 80.
    """
    data = file.data
    if data.organisation == "ESDS":
        raise Condition(Resp.INVREQ, 21, f"file {file.name} is an ESDS, of which no record can be deleted")
    if search is None:
        held = _held(task, file, token, 31)
        _change(task, file, {held.key: None}, held)
        return 1
    if search.generic and data.organisation != "KSDS":
        raise Condition(Resp.INVREQ, 22, f"file {file.name} is not a KSDS: it has no generic keys")
    going: dict[bytes, bytes | None] = {}
    for key in _matching(file, search):
        if file.recoverable:
            _lock(task, file, key)
        else:
            _has_waited(task, file, key)
        if key in data.records:  # its previous holder may have deleted it
            going[key] = None
    if not going:
        find(file, search)
    _change(task, file, going)
    has = task._region.files.of(task._uow)
    has.held[file.name] = [one for one in has.held.get(file.name, []) if one.key not in going]
    return len(going)


def _matching(file: FileEntry, search: Search) -> list[bytes]:
    """The records that a DELETE with a key deletes."""
    view = file.data if search.numbers else file.view
    place, key = find(file, search)
    if not search.generic:
        return [key]
    keys = []
    following: tuple[bytes, bytes] | None = place, key
    while following is not None and view.shown(following[0]).startswith(search.key):
        keys.append(following[1])
        following = view.after(following[0])
    return keys


# -- browsing -----------------------------------------------------------------------------------------------------


def started(task: TaskBase, file: FileEntry, reqid: int, missing: int) -> Browse:
    """The browse of a file with this REQID.

    Raises:
        Condition: INVREQ with the RESP2 of the command: there is none.
    """
    files: Files = task._region.files
    has = files.of(task._uow)
    browse = has.browses.get((file.name, reqid))
    if browse is None:
        raise Condition(Resp.INVREQ, missing, f"no browse of file {file.name} with REQID {reqid} is on")
    return browse


def move(file: FileEntry, browse: Browse, ridfld: bytes | None, *, forward: bool) -> tuple[bytes, bytes]:
    """Move a browse, and return its new place and the identification of the record there.

    Raises:
        Condition: ENDFILE 90; NOTFND 80: the record at which READPREV must begin does not exist, or no record matches a
            changed RIDFLD.
    """
    view = file.data if browse.numbers else file.view
    if ridfld is not None and browse.shown and bytes(ridfld[: len(browse.shown)]) != browse.shown:
        browse.key, browse.place, browse.forward = bytes(ridfld[: len(browse.shown)]), None, None
    if browse.place is None and browse.forward is None:
        position = _begin(file, browse, view, forward=forward)
    elif browse.place is None:  # behind the last record, or before the first
        position = _from_the_end(view, browse, forward=forward)
    elif browse.forward is not forward:
        position = _turned(file, view, browse.place, forward=forward)
    else:
        position = view.after(browse.place) if forward else view.before(browse.place)
    browse.forward = forward
    if position is None:
        browse.place = None
        raise Condition(Resp.ENDFILE, 90, f"file {file.name} has no more records in this direction")
    browse.place, browse.shown = position[0], view.shown(position[0])
    return position


def _turned(file: FileEntry, view: RecordView, place: bytes, *, forward: bool) -> tuple[bytes, bytes] | None:
    """The position after a change of direction: the same record again, as if RIDFLD had been changed to it.

    Raises:
        Condition: NOTFND 80: the record was deleted, and the browse goes backward.
    """
    position = view.at_or_after(place)
    if not forward and (position is None or position[0] != place):
        raise Condition(Resp.NOTFND, 80, f"the last record that the browse of {file.name} has read was deleted")
    return position


def _begin(file: FileEntry, browse: Browse, view: RecordView, *, forward: bool) -> tuple[bytes, bytes] | None:
    if not forward and set(browse.key) == {0xFF}:
        last = b"\xff" * (len(browse.key) + 9)
        return view.before(last)
    gteq = browse.gteq and forward
    search = Search(browse.key, generic=bool(browse.generic), gteq=gteq, numbers=browse.numbers)
    return find(file, search)


def _from_the_end(view: RecordView, browse: Browse, *, forward: bool) -> tuple[bytes, bytes] | None:
    if browse.forward is forward:
        return None
    return view.at_or_after(b"") if forward else view.before(b"\xff" * 300)
