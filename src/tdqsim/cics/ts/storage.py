"""The temporary storage of one region.

A queue comes to be with its first item and goes with DELETEQ TS; items are numbered from 1 and never leave singly. The
position of NEXT belongs to the queue, not to a task: it follows the last item that any task has read. Queues outlive
the task; they are in memory and end with the region. Source: READQ TS, WRITEQ TS, DELETEQ TS (IBM Docs).
"""

from __future__ import annotations

from typing import Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.facts import Resp, table

__all__ = ["TemporaryStorage", "TsQueue"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("ts") if row["value"].isdigit()}
_RESERVED: Final = tuple(row["value"] for row in table("ts") if row["name"] == "reserved_prefix")


class TsQueue:
    """One queue.

    Attributes:
        name: as it was first written, without trailing blanks.
        items: the items; the first has number 1.
        position: the number of the item that was read last; 0 for none.
    """

    __slots__ = ("items", "name", "position")

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: list[bytes] = []
        self.position = 0


class TemporaryStorage:
    """The queues of a region by name.

    Attributes:
        queues: the queues.
    """

    def __init__(self) -> None:
        self.queues: dict[str, TsQueue] = {}

    def write(self, name: str, data: bytes) -> int:
        """Add an item, making the queue if there is none.

        Returns:
            The item's number.

        Raises:
            Condition: INVREQ: the name is reserved or empty. LENGERR: 1 to 32763 bytes are allowed. ITEMERR: the queue
                has as many items as there may be.
        """
        name = _checked(name)
        _check_length(data)
        queue = self.queues.get(name)
        if queue is not None and len(queue.items) >= _BOUNDS["items"]:
            raise Condition(Resp.ITEMERR, detail=f"queue {name} has {_BOUNDS['items']} items, which is all it may have")
        if queue is None:
            queue = self.queues[name] = TsQueue(name)
        queue.items.append(data)
        return len(queue.items)

    def rewrite(self, name: str, data: bytes, item: int) -> int:
        """Put other data in the place of an item; its length may change.

        Raises:
            Condition: QIDERR, LENGERR, ITEMERR.
        """
        queue = self.find(_checked(name))
        _check_length(data)
        self._check_item(queue, item)
        queue.items[item - 1] = data
        return item

    def read(self, name: str, item: int | None = None) -> tuple[bytes, int]:
        """An item, by number or (None) the next one; reading moves the position, also where the item is then cut.

        Returns:
            The item and how many there are.

        Raises:
            Condition: QIDERR, ITEMERR.
        """
        queue = self.find(_checked(name))
        number = queue.position + 1 if item is None else item
        self._check_item(queue, number)
        queue.position = number
        return queue.items[number - 1], len(queue.items)

    def delete(self, name: str) -> None:
        """Remove a queue with its items and its position.

        Raises:
            Condition: QIDERR; INVREQ: the name is reserved.
        """
        del self.queues[self.find(_checked(name)).name]

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


def _checked(name: str) -> str:
    name = name.rstrip(" ")
    if not name.strip("\0") or name.startswith(_RESERVED):
        raise Condition(Resp.INVREQ, detail=f"{name!r} is no name for a queue of a program")
    return name


def _check_length(data: bytes) -> None:
    if not 1 <= len(data) <= _BOUNDS["longest"]:
        raise Condition(Resp.LENGERR, detail=f"the item has {len(data)} bytes; allowed are 1 to {_BOUNDS['longest']}")
