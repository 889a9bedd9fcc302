"""The temporary storage of one region.

The first item creates a queue, and DELETEQ TS deletes it; items are numbered from 1 and are never removed one by one.
The position of NEXT belongs to the queue, not to a task: it follows the last item that any task has read.

A queue exists until it is deleted, independently of tasks. Whether it survives a restart depends on its *model*: the
model with the longest prefix of the queue's name. A queue without a model is auxiliary and not recoverable:

============================  ==================  =====================  ============
queue                         warm start          emergency restart      cold start
============================  ==================  =====================  ============
MAIN                          gone                gone                   gone
auxiliary                     there               gone                   gone
auxiliary, recoverable        there               as last committed      gone
============================  ==================  =====================  ============

Changes of a recoverable queue belong to a unit of work: commands of other units of work wait until it ends, a backout
undoes the changes, and after DELETEQ TS no WRITEQ TS to the queue is allowed before the syncpoint. The changes by an
indoubt unit of work are restored in every later run until it is decided; until then the queue is LOCKED. Source: READQ
TS, WRITEQ TS, DELETEQ TS, TSMODEL resources, Recovery of temporary storage (IBM Docs).
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim import definitions as defs
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.core.fiber import WaitQueue
from tdqsim.errors import UsageError
from tdqsim.facts import Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.definitions import Tsmodel

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("ts") if row["value"].isdigit()}
_RESERVED: Final = tuple(row["value"] for row in table("ts") if row["name"] == "reserved_prefix")
_RECOVERABLE: Final = b"ts/r/"
_WRITTEN_OUT: Final = b"ts/a/"
_NAME: Final = 16
_NUMBER: Final = 4
_PAGE: Final = "latin-1"
_OTHER_PAGE: Final = "utf-8-sig"

Location = Literal["AUXILIARY", "MAIN"]


class TsQueue:
    """One queue.

    Attributes:
        name: its name, without trailing blanks.
        items: the items; the first has number 1.
        position: the number of the item read last; 0 for none.
        main: whether it is in main storage.
        recoverable: whether its changes are recoverable, by its model at the time of its creation.
    """

    __slots__ = ("items", "main", "name", "position", "recoverable")

    def __init__(self, name: str, *, main: bool = False, recoverable: bool = False) -> None:
        self.name = name
        self.items: list[bytes] = []
        self.position = 0
        self.main = main
        self.recoverable = recoverable


class _StorageChange:
    """The changes that a unit of work has made to a recoverable queue.

    Attributes:
        count: the number of items before the first change.
        before: the previous contents of rewritten items, by number.
        deleted: the queue, if it was deleted.
    """

    __slots__ = ("before", "count", "deleted")

    def __init__(self, count: int) -> None:
        self.count = count
        self.before: dict[int, bytes] = {}
        self.deleted: TsQueue | None = None


class TemporaryStorage:
    """The queues of a region by name.

    Args:
        region: the region.

    Attributes:
        queues: the queues.
        models: the models by prefix, the longest prefix first.
        installed: the models of TSMODEL definitions, by the names of the definitions.
        waiting: the tasks that wait for a queue that another unit of work has changed.
        written, gotten: the items written and read since statistics were reset: auxiliary, main.
        created, peak: the queues created since then, and the most at a time.
    """

    __slots__ = (
        "_changes",
        "_region",
        "created",
        "gotten",
        "installed",
        "models",
        "peak",
        "queues",
        "waiting",
        "written",
    )

    def __init__(self, region: RegionData) -> None:
        self.uncount()
        self._region = region
        self.queues: dict[str, TsQueue] = {}
        self.models: list[Tsmodel] = []
        self.installed: dict[str, Tsmodel] = {}
        self.waiting = WaitQueue("a temporary storage queue that another unit of work has changed")
        self._changes: dict[str, tuple[UnitOfWork, _StorageChange]] = {}

    def define_model(self, prefix: str, *, location: Location = "AUXILIARY", recovery: bool = False) -> Tsmodel:
        """Define the attributes of queues whose names begin with a prefix, as TSMODEL does.

        Args:
            prefix: 1 to 16 characters.
            location: AUXILIARY or MAIN.
            recovery: whether they are recoverable.

        Raises:
            UsageError: the prefix is not valid, or a queue in main storage is to be recoverable.
        """
        if not 0 < len(prefix) <= _NAME:
            raise UsageError(f"TSMODEL prefix {prefix!r}: allowed are 1 to {_NAME} characters")
        if location not in ("AUXILIARY", "MAIN"):
            raise UsageError(f"TSMODEL {prefix}: location {location!r}; allowed are AUXILIARY and MAIN")
        if recovery and location == "MAIN":
            raise UsageError(f"TSMODEL {prefix}: queues in main storage are not recoverable")
        recoverable = "YES" if recovery else "NO"
        model = defs.Tsmodel.model_construct(name="", prefix=prefix, location=location, recovery=recoverable)
        self._add(model)
        return model

    def install(self, definition: Tsmodel) -> None:
        """Install a TSMODEL, replacing one of that name."""
        before = self.installed.pop(definition.name, None)
        if before is not None and before in self.models:
            self.models.remove(before)
        self.installed[definition.name] = definition
        self._add(definition)

    def _add(self, model: Tsmodel) -> None:
        """Add a model in search order: longer prefixes first, then newer models."""
        at = next(
            (at for at, each in enumerate(self.models) if len(each.prefix) <= len(model.prefix)), len(self.models)
        )
        self.models.insert(at, model)

    def model(self, name: str) -> Tsmodel | None:
        """The model of a queue, or None."""
        return next((model for model in self.models if name.startswith(model.prefix)), None)

    def is_secured(self, name: str) -> bool:
        """Whether resource security protects a queue: SECURITY(YES) of its model."""
        model = self.model(name.rstrip(" ")) if self.models else None
        return model is not None and model.security == "YES"

    # -- recoverable queues -----------------------------------------------------------------------------------------

    def recoverable(self, name: str) -> bool:
        """Whether a queue is recoverable, or would be if it does not exist yet."""
        name = name.rstrip(" ")
        queue = self.queues.get(name)
        if queue is not None:
            return queue.recoverable
        if name in self._changes:
            return True
        model = self.model(name) if self.models else None
        return model is not None and model.recovery == "YES"

    def changed_by(self, name: str) -> UnitOfWork | None:
        """The unfinished unit of work that has changed a recoverable queue, or None."""
        change = self._changes.get(name.rstrip(" "))
        return None if change is None else change[0]

    def change(self, name: str, uow: UnitOfWork) -> None:
        """Record that a unit of work is about to change a recoverable queue; no other may have changed it."""
        name = name.rstrip(" ")
        if name not in self._changes:
            queue = self.queues.get(name)
            change = _StorageChange(0 if queue is None else len(queue.items))
            uow.at_commit = (*uow.at_commit, lambda: self._committed(name, change))
            uow.call_at_end(lambda committed: self._end(name, change, committed=committed))
            uow.kept = (*uow.kept, ("ts", lambda: self._image(name, change)))
            self._changes[name] = uow, change

    def _is_on(self, name: str, change: _StorageChange) -> bool:
        """Whether a change is the recorded one of a queue; it is not if an interrupt came before it was recorded."""
        return name in self._changes and self._changes[name][1] is change

    def _image(self, name: str, change: _StorageChange) -> dict[str, Any] | None:
        """The changes of a queue by a prepared unit of work, for the store."""
        if not self._is_on(name, change):
            return None
        queue = self.queues.get(name)
        items = [] if queue is None or change.deleted is not None else queue.items
        return {
            "name": name,
            "count": change.count,
            "deleted": change.deleted is not None,
            "rewritten": {number: items[number - 1].hex() for number in change.before if number <= len(items)},
            "added": [item.hex() for item in items[change.count :]],
        }

    def restore(self, uow: UnitOfWork, image: Mapping[str, Any]) -> None:
        """Restore the change of a queue by a unit of work in doubt of an earlier run."""
        name = image["name"]
        queue = self.queues.get(name) or TsQueue(name, recoverable=True)
        self.change(name, uow)
        change = self._changes[name][1]
        if image["deleted"]:
            change.deleted = self.queues.pop(name, queue)
            return
        rewritten = image["rewritten"]
        if rewritten and len(queue.items) != image["count"]:  # a salvage has lost items, and numbered the others anew
            self._region.notices.say("rewrites_in_doubt_lost", queue=name, uow=uow.id.hex().upper())
            rewritten = {}
        for number, data in rewritten.items():
            at = int(number) - 1
            change.before[at + 1], queue.items[at] = queue.items[at], bytes.fromhex(data)
        queue.items += [bytes.fromhex(data) for data in image["added"]]
        if queue.items:  # else its requests had QIDERR
            self.queues[name] = queue

    def _committed(self, name: str, change: _StorageChange) -> dict[bytes, bytes | None]:
        """The changes of the store that the commit makes."""
        if not self._is_on(name, change):
            return {}
        if change.deleted is not None:
            return {_place(_RECOVERABLE, name, number): None for number in range(1, change.count + 1)}
        queue = self.queues.get(name)
        items = [] if queue is None else queue.items
        numbers = [*change.before, *range(change.count + 1, len(items) + 1)]
        return {_place(_RECOVERABLE, name, number): items[number - 1] for number in numbers}

    def _end(self, name: str, change: _StorageChange, *, committed: bool) -> None:
        if not self._is_on(name, change):
            return
        if not committed:
            self._undo(name, change)
        self._changes.pop(name, None)
        self.waiting.wake_all()

    def _undo(self, name: str, change: _StorageChange) -> None:
        queue = change.deleted or self.queues.get(name)
        if queue is None:
            return
        del queue.items[change.count :]
        for number, data in change.before.items():
            queue.items[number - 1] = data
        queue.position = min(queue.position, change.count)
        if change.count:
            self.queues[name] = queue
        else:
            self.queues.pop(name, None)

    # -- over a restart -----------------------------------------------------------------------------------------------

    def save(self) -> None:
        """At a normal end of the region, write the auxiliary non-recoverable queues to the store."""
        kept = {name: queue for name, queue in self.queues.items() if not (queue.main or queue.recoverable)}
        before = dict.fromkeys((key for key, _value in self._region.committer.metas(_WRITTEN_OUT)), None)
        now = {
            _place(_WRITTEN_OUT, name, number): item
            for name, queue in kept.items()
            for number, item in enumerate(queue.items, 1)
        }
        if before or now:
            self._region.committer.commit(meta={**before, **now})

    def resume(self, *, clean: bool) -> None:
        """Restore the queues of an earlier run; ``clean``: whether that run ended normally."""
        metas, note = self._region.committer.metas, self._region.committer.note
        for prefix in (_RECOVERABLE, _WRITTEN_OUT) if clean else (_RECOVERABLE,):
            for key, item in metas(prefix):
                name = _name_in(key[len(prefix) : -_NUMBER])
                queue = self.queues.setdefault(name, TsQueue(name, recoverable=prefix == _RECOVERABLE))
                queue.items.append(item)
                if queue.recoverable and len(queue.items) < int.from_bytes(key[-_NUMBER:], "big"):
                    # a salvage has lost items before this one, and a commit writes items by their numbers
                    note(key, None)
                    note(_place(prefix, name, len(queue.items)), item)

    # -- statistics ---------------------------------------------------------------------------------------------------

    def uncount(self) -> None:
        """Begin to count again."""
        self.written, self.gotten = [0, 0], [0, 0]
        self.created, self.peak = 0, 0

    def counts(self) -> dict[str, int]:
        """The values of the statistics of temporary storage (DFHTSGDS)."""
        return {
            "writes_main": self.written[True],
            "reads_main": self.gotten[True],
            "writes_auxiliary": self.written[False],
            "reads_auxiliary": self.gotten[False],
            "queues": len(self.queues),
            "peak_queues": max(self.peak, len(self.queues)),
            "longest": max((len(queue.items) for queue in self.queues.values()), default=0),
            "created": self.created,
        }

    # -- the commands -------------------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes, *, main: bool = False) -> int:
        """Add an item; the first item creates the queue.

        Returns:
            The item's number.

        Raises:
            Condition: INVREQ: the name is reserved, empty or too long, or the unit of work has deleted the recoverable
                queue. LENGERR: the length is not 1 to 32763 bytes. ITEMERR: the queue has the maximum number of items.
        """
        name = _checked(name)
        check_length(data)
        queue = self.queues.get(name)
        if queue is not None and len(queue.items) >= _BOUNDS["items"]:
            raise Condition(Resp.ITEMERR, detail=f"queue {name} has {_BOUNDS['items']} items, the maximum number")
        if queue is None:
            if name in self._changes and self._changes[name][1].deleted is not None:
                raise Condition(Resp.INVREQ, detail=f"recoverable queue {name} was deleted in this unit of work")
            model = self.model(name)
            in_main = main if model is None else model.location == "MAIN"
            queue = TsQueue(name, main=in_main, recoverable=model is not None and model.recovery == "YES")
            queue.items.append(data)
            self.queues[name] = queue
            self.created += 1
            self.peak = max(self.peak, len(self.queues))
        else:
            queue.items.append(data)
        self.written[queue.main] += 1
        return len(queue.items)

    def rewrite(self, name: str, data: bytes, item: int) -> int:
        """Replace an item; its length may change.

        Raises:
            Condition: QIDERR, LENGERR, ITEMERR.
        """
        queue = self.find(_checked(name))
        check_length(data)
        self._check_item(queue, item)
        if queue.name in self._changes:
            change = self._changes[queue.name][1]
            if item <= change.count:
                change.before.setdefault(item, queue.items[item - 1])
        queue.items[item - 1] = data
        self.written[queue.main] += 1
        return item

    def read(self, name: str, item: int | None = None) -> tuple[bytes, int]:
        """An item by number, or the next one (None). Reading moves the position, even if the item is then truncated.

        Returns:
            The item and the number of items.

        Raises:
            Condition: QIDERR, ITEMERR.
        """
        queue = self.find(_checked(name))
        number = queue.position + 1 if item is None else item
        self._check_item(queue, number)
        queue.position = number
        self.gotten[queue.main] += 1
        return queue.items[number - 1], len(queue.items)

    def delete(self, name: str) -> None:
        """Remove a queue with its items and its position.

        Raises:
            Condition: QIDERR; INVREQ: the name is reserved.
        """
        queue = self.find(_checked(name))
        change = self._changes[queue.name][1] if queue.name in self._changes else _StorageChange(0)
        try:
            change.deleted = queue
            del self.queues[queue.name]
        except BaseException:  # an interrupt: the queue and its recorded change must still agree
            if change.deleted is queue:
                self.queues.pop(queue.name, None)
            raise

    def find(self, name: str) -> TsQueue:
        """The queue of this name.

        Raises:
            Condition: QIDERR: there is none.
        """
        queue = self.queues.get(name.rstrip(" "))
        if queue is None:
            raise Condition(Resp.QIDERR, detail=f"temporary storage queue {name} does not exist")
        return queue

    @staticmethod
    def _check_item(queue: TsQueue, item: int) -> None:
        if not 1 <= item <= len(queue.items):
            raise Condition(
                Resp.ITEMERR, detail=f"item {item} of queue {queue.name}; there are items 1 to {len(queue.items)}"
            )


def _place(prefix: bytes, name: str, number: int) -> bytes:
    """The key of an item on the store. A name with characters outside Latin-1 is in UTF-8, after a byte order mark."""
    try:
        shown = name.encode(_PAGE)
    except UnicodeEncodeError:
        shown = name.encode(_OTHER_PAGE)
    return prefix + shown.ljust(_NAME) + number.to_bytes(_NUMBER, "big")


def _name_in(shown: bytes) -> str:
    """The name in a key."""
    return shown.decode(_OTHER_PAGE if shown.startswith(BOM_UTF8) else _PAGE).rstrip(" ")


def _checked(name: str) -> str:
    name = name.rstrip(" ")
    if not name.strip("\0") or name.startswith(_RESERVED) or len(name) > _NAME:
        raise Condition(Resp.INVREQ, detail=f"{name!r} is not a valid queue name for a program")
    return name


def check_length(data: bytes) -> None:
    """Refuse an item whose length is not allowed.

    Raises:
        Condition: LENGERR.
    """
    if not 1 <= len(data) <= _BOUNDS["longest"]:
        raise Condition(Resp.LENGERR, detail=f"the item has {len(data)} bytes; allowed are 1 to {_BOUNDS['longest']}")
