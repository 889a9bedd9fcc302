"""The files of a region: their operations, the holders of records, and recovery.

A file is a name for a data set or a path. Requests are refused in this order: the name is known (FILENOTFOUND 1), the
user may use the file (NOTAUTH 101, in :mod:`~tdqsim.cics.files.commands`), the file is enabled (DISABLED 50) and open
(NOTOPEN 60), the operation is one of its SERVREQs (INVREQ 20); then the request itself is checked. A record that was
read for update is held by its task until it is rewritten, deleted or unlocked, or the unit of work ends; changes to a
recoverable file are undone by its backout, and its records stay held to the end of the unit of work.

The records of a *kept* file are also on the region's store, from which the next run reads them, however this run ends.
A change of a recoverable file is stored with the commit of its unit of work, any other change at once. The changes by
an indoubt unit of work are restored in every later run until it is decided; until then those records are LOCKED. Files
do not belong to CICS, so a cold start keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from tdqsim.cics.files.datafile import DataFile, Path, RecordView
from tdqsim.cics.files.installed import OPERATIONS, make_data_set, operations_of
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.core.fiber import WaitQueue
from tdqsim.core.named import NamedTuple
from tdqsim.errors import StoreError, StoreFull, UsageError
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.definitions import File

_PLACE: Final = b"file/"
_NAME: Final = 8
_DATA_SETS: Final = b"dset/"
_DSNAME: Final = 44


class FileEntry:
    """One file.

    Attributes:
        name: 1 to 8 characters.
        data: the data set.
        view: the data set, or the path if the file is a path.
        operations: the operations that it allows.
        recoverable: whether a backout undoes its changes.
        enablestatus: ENABLED, DISABLED, or UNENABLED for a file that SET has closed.
        openstatus: OPEN or CLOSED; one that is CLOSED and ENABLED is opened by the first request.
        definition: the FILE definition whose data set has not been opened yet; until then ``data`` is an empty one.
        dsname: the name of its data set; empty if it is the name of the file.
        requests: the requests since statistics were reset, by kind: reads, update_reads, browses, rewrites, adds and
            deletes.
    """

    __slots__ = (
        "data", "definition", "dsname", "enablestatus", "name", "openstatus", "operations", "recoverable", "requests",
        "view",
    )  # fmt: skip

    def __init__(
        self, name: str, data: DataFile, view: RecordView, operations: frozenset[str], *, recoverable: bool
    ) -> None:
        self.name = name
        self.data = data
        self.view = view
        self.operations = operations
        self.recoverable = recoverable
        self.enablestatus = "ENABLED"
        self.openstatus = "OPEN"
        self.definition: File | None = None
        self.dsname = ""
        self.requests = dict.fromkeys(("reads", "update_reads", "browses", "rewrites", "adds", "deletes"), 0)


class Held(NamedTuple):
    """A record that a task has read for update."""

    key: bytes
    token: int


class Browse:
    """A browse of a file.

    Attributes:
        place: its position; None before the first record and after the last.
        key: the key to find if nothing was read since STARTBR or RESETBR.
        generic: the length of a generic key; 0 for a full key.
        gteq: whether the next higher key is accepted.
        forward: the direction of the last request; None before the first.
        shown: the value of RIDFLD after that request: another value moves the browse.
    """

    __slots__ = ("forward", "generic", "gteq", "key", "numbers", "place", "shown")

    def __init__(self, key: bytes, generic: int, *, gteq: bool, numbers: bool) -> None:
        self.key = key
        self.generic = generic
        self.gteq = gteq
        self.numbers = numbers
        self.place: bytes | None = None
        self.forward: bool | None = None
        self.shown = b""


class _OfTask:
    """The file state of one unit of work: its held records, changes and browses.

    ``restored`` holds the changes that a unit of work in doubt of an earlier run will make if it commits.
    """

    __slots__ = ("browses", "held", "locked", "restored", "undo")

    def __init__(self) -> None:
        self.held: dict[str, list[Held]] = {}
        self.browses: dict[tuple[str, int], Browse] = {}
        self.undo: list[tuple[DataFile, bytes, bytes | None]] = []
        self.locked: set[tuple[int, bytes]] = set()
        self.restored: dict[bytes, bytes | None] = {}

    def at_commit(self) -> dict[bytes, bytes | None]:
        """The changes of the store that its commit makes."""
        now = {data.kept_as + key: data.records.get(key) for data, key, _before in self.undo if data.kept_as}
        return {**self.restored, **now}

    def image(self) -> list[tuple[str, str | None]]:
        """The same changes, for the record of a prepared unit of work."""
        return [(key.hex(), None if record is None else record.hex()) for key, record in self.at_commit().items()]

    def take_up(self, data: DataFile) -> None:
        """Apply the changes of this unit of work in doubt to a kept data set, and hold the records."""
        size = len(data.kept_as)
        for place, record in self.restored.items():
            if place.startswith(data.kept_as):
                key = place[size:]
                self.undo.append((data, key, data.records.get(key)))
                self.locked.add((id(data), key))
                _set(data, key, record)


class _RecordChange(KeptChange):
    """The adding, changing and removing of records of a data set."""

    def __init__(self, data: DataFile, records: Mapping[bytes, bytes | None], then: Callable[[], object]) -> None:
        self._data, self._records, self._then = data, records, then

    def committed(self) -> None:
        """See the base class."""
        self.made = True
        for key, record in self._records.items():
            _set(self._data, key, record)

    def finish(self) -> None:
        """See the base class."""
        self._then()


def _set(data: DataFile, key: bytes, record: bytes | None) -> None:
    if record is not None:
        data.put(key, record)
    else:
        data.remove(key)


def _undo(ended: _OfTask) -> None:
    for data, key, record in reversed(ended.undo):
        _set(data, key, record)


class Files:
    """The files of a region by name.

    Args:
        region: the region.

    Attributes:
        known: the files by name.
        data_sets: the data sets and paths for FILE definitions, by name.
        waiting: the tasks that wait for a record that another unit of work holds.
    """

    __slots__ = ("_of_tasks", "_region", "_tokens", "data_sets", "known", "waiting")

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.known: dict[str, FileEntry] = {}
        self.data_sets: dict[str, DataFile | Path] = {}
        self._of_tasks: dict[UnitOfWork, _OfTask] = {}
        self._tokens = 0
        self.waiting = WaitQueue("a record that another unit of work holds")

    def define(
        self,
        name: str,
        data: DataFile | Path,
        *,
        operations: tuple[str, ...] = OPERATIONS,
        recoverable: bool = False,
        kept: bool = False,
    ) -> FileEntry:
        """Define a file.

        Args:
            name: 1 to 8 characters.
            data: the data set, or a path over one.
            operations: those of READ, UPDATE, ADD, DELETE and BROWSE that are allowed; all by default.
            recoverable: whether a backout undoes its changes.
            kept: whether its records are kept on the region's store. Records that the store has from an earlier run
                replace those of ``data``.

        Raises:
            UsageError: the name is not a valid file name, or an operation is unknown.
            StoreError: the store refused a commit.
        """
        if not 0 < len(name) <= 8:
            raise UsageError(f"file {name!r}: the name of a file is 1 to 8 characters")
        unknown = set(operations) - set(OPERATIONS)
        if unknown:
            raise UsageError(f"file {name}: {', '.join(sorted(unknown))}; allowed are {', '.join(OPERATIONS)}")
        base = data.base if isinstance(data, Path) else data
        if kept and not base.kept_as:
            self._keep(_PLACE + name.upper().encode().ljust(_NAME), base)
        file = self.known[name.upper()] = FileEntry(
            name.upper(), base, data, frozenset(operations), recoverable=recoverable
        )
        return file

    def define_data_set(self, name: str, data: DataFile | Path, *, kept: bool = False) -> None:
        """Name a data set, or a path over one, for FILE definitions with that DSNAME.

        Args:
            name: 1 to 44 characters.
            data: the data set.
            kept: whether its records are on the region's store, as for :meth:`define`.

        Raises:
            UsageError: the name is not a valid data set name.
            StoreError: the store refused a commit.
        """
        if not 0 < len(name) <= _DSNAME:
            raise UsageError(f"data set {name!r}: the name of a data set is 1 to {_DSNAME} characters")
        self._name(name.upper(), data, kept=kept)

    def _name(self, name: str, data: DataFile | Path, *, kept: bool) -> None:
        if kept and isinstance(data, DataFile) and not data.kept_as:
            self._keep(_DATA_SETS + name.encode().ljust(_DSNAME), data)
        self.data_sets[name] = data

    def install(self, definition: File) -> None:
        """Install a FILE definition, replacing the file of that name; its data set is found when it is opened."""
        data = DataFile("ESDS")
        described = definition.organisation or definition.keylength or definition.dataset in self.data_sets
        entry = FileEntry(
            definition.name, data, data, operations_of(definition), recoverable=definition.recovery != "NONE"
        )
        entry.enablestatus = definition.status
        entry.openstatus = "OPEN" if definition.opentime == "STARTUP" and described else "CLOSED"
        entry.definition, entry.dsname = definition, definition.dataset
        self.known[definition.name] = entry

    def open(self, file: FileEntry) -> bool:
        """Open a file; False if its data set is unknown."""
        if file.definition is not None:
            data = self._data_set(file.definition.dataset)
            if data is None:
                return False
            file.data, file.view = data.base if isinstance(data, Path) else data, data
            file.definition = None
        file.openstatus = "OPEN"
        return True

    def _data_set(self, name: str, *, paths: bool = True) -> DataFile | Path | None:
        """The data set or path of this name; created if a FILE definition describes it."""
        if name not in self.data_sets:
            of_files = [each.definition for each in self.known.values() if each.definition is not None]
            for definition in (each for each in of_files if each.dataset == name and (paths or not each.relate)):
                base = self._data_set(definition.relate, paths=False) if definition.relate else None
                data = make_data_set(definition, base)
                if data is not None:
                    self._name(name, data, kept=True)
                    break
        return self.data_sets.get(name)

    def _keep(self, begin: bytes, data: DataFile) -> None:
        """Join a data set with its records on the store; an entry without key marks that the store has the data set."""
        stored = {key[len(begin) :]: record for key, record in self._region.committer.metas(begin)}
        is_new = not stored
        if stored.pop(b"", None) is None:  # it is new, or damage has lost that entry
            records = {begin + key: bytes(record) for key, record in data.records.items()} if is_new else {}
            self._region.committer.commit(meta={**records, begin: data.organisation.encode()})
        if not is_new:
            data.load(stored)
        data.kept_as = begin
        for has in self._of_tasks.values():
            has.take_up(data)

    def change(self, file: FileEntry, records: Mapping[bytes, bytes | None], then: Callable[[], object]) -> None:
        """Change records of a file; if it is kept and not recoverable, the store is changed first.

        Args:
            file: the file.
            records: the new records by identification; None removes one.
            then: called afterwards, possibly more than once.

        Raises:
            Condition: NOSPACE 100, IOERR 120: the store refused the commit; nothing is changed.
        """
        begin = b"" if file.recoverable else file.data.kept_as
        meta = {begin + key: record for key, record in records.items()} if begin else {}
        try:
            carry_out(self._region.committer, _RecordChange(file.data, records, then), meta)
        except StoreFull as error:
            raise Condition(Resp.NOSPACE, 100, str(error)) from error
        except StoreError as error:
            raise Condition(Resp.IOERR, 120, str(error)) from error

    def named(self, name: str) -> FileEntry:
        """The file of this name.

        Raises:
            Condition: FILENOTFOUND 1.
        """
        file = self.known.get(name.rstrip(" ").upper())
        if file is None:
            raise Condition(Resp.FILENOTFOUND, 1, f"file {name} is not defined")
        return file

    def find(self, name: str, operation: str) -> FileEntry:
        """The file of this name, for an operation.

        Raises:
            Condition: FILENOTFOUND 1, DISABLED 50, NOTOPEN 60, INVREQ 20.
        """
        file = self.named(name)
        if file.enablestatus == "DISABLED":
            raise Condition(Resp.DISABLED, 50, f"file {name} is disabled")
        if file.enablestatus == "UNENABLED":
            raise Condition(Resp.NOTOPEN, 60, f"file {name} is closed")
        if not self.open(file):
            raise Condition(Resp.NOTOPEN, 60, f"file {name}: data set {file.dsname} is not known")
        if operation not in file.operations:
            allowed = ", ".join(one for one in OPERATIONS if one in file.operations)
            raise Condition(Resp.INVREQ, 20, f"file {name} does not allow {operation}; allowed are {allowed}")
        return file

    # -- units of work ------------------------------------------------------------------------------------------------

    def of(self, uow: UnitOfWork) -> _OfTask:
        """The file state of a unit of work, created at the first call."""
        state = self._of_tasks.get(uow)
        if state is None:
            state = _OfTask()
            uow.call_at_end(lambda committed: self._end(uow, committed=committed))
            uow.at_commit = (*uow.at_commit, state.at_commit)
            uow.kept = (*uow.kept, ("file", state.image))
            self._of_tasks[uow] = state
        return state

    def restore(self, uow: UnitOfWork, image: Iterable[tuple[str, str | None]]) -> None:
        """Restore the changes of kept files by a unit of work in doubt, before the files are defined."""
        self.of(uow).restored = {
            bytes.fromhex(key): None if record is None else bytes.fromhex(record) for key, record in image
        }

    def _end(self, uow: UnitOfWork, *, committed: bool) -> None:
        ended = self._of_tasks.get(uow)
        if ended is None:
            return
        if not committed:
            _undo(ended)
        self._of_tasks.pop(uow, None)
        self.waiting.wake_all()

    def next_token(self) -> int:
        """A token for a record that is held."""
        self._tokens += 1
        return self._tokens

    def holder(self, file: FileEntry, key: bytes, but: UnitOfWork) -> UnitOfWork | None:
        """The unit of work, other than ``but``, that holds a record; None for none."""
        wanted = id(file.data), key
        return next((uow for uow, has in self._of_tasks.items() if uow is not but and wanted in has.locked), None)
