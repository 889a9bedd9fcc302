"""Records in order, distinguished by their bytes: the checker's model of a queue. All operations take constant time."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator


class RecordList:
    """Records in the order in which they were added. Each has a number, its ticket; tickets rise along the order.

    A search for one of several equal records finds the first.
    """

    __slots__ = ("_highest", "_lowest", "_records", "_tickets")

    def __init__(self) -> None:
        self._records: OrderedDict[int, bytes] = OrderedDict()
        self._tickets: dict[bytes, int | deque[int]] = {}  # most records are unique: one ticket instead of a list
        self._highest = 0
        self._lowest = 0

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._records.values())

    def __contains__(self, data: bytes) -> bool:
        return data in self._tickets

    def put(self, data: bytes) -> int:
        """Add a record at the end; return its ticket."""
        self._highest = ticket = self._highest + 1
        self._records[ticket] = data
        self._add_ticket(data, ticket)
        return ticket

    def put_front(self, data: bytes) -> None:
        """Add a record at the front."""
        self._lowest = ticket = self._lowest - 1
        self.put_back(ticket, data)
        self._records.move_to_end(ticket, last=False)

    def put_back(self, ticket: int, data: bytes) -> None:
        """Add a record again with its previous ticket; the caller ensures that the order is correct."""
        self._records[ticket] = data
        self._add_ticket(data, ticket)

    def _add_ticket(self, data: bytes, ticket: int) -> None:
        tickets = self._tickets.get(data)
        if tickets is None:
            self._tickets[data] = ticket
        elif isinstance(tickets, deque):
            if ticket < tickets[0]:
                tickets.appendleft(ticket)
            else:
                tickets.append(ticket)
        else:
            self._tickets[data] = deque(sorted((tickets, ticket)))

    def first(self) -> int | None:
        """The ticket of the first record."""
        return next(iter(self._records), None)

    def last(self) -> int | None:
        """The ticket of the last record."""
        return next(reversed(self._records), None)

    def __getitem__(self, ticket: int) -> bytes:
        return self._records[ticket]

    def find(self, data: bytes, *, last: bool = False) -> int | None:
        """The ticket of the first (or the last) record with these bytes."""
        tickets = self._tickets.get(data)
        return tickets if not isinstance(tickets, deque) else tickets[-1 if last else 0]

    def pop(self, ticket: int) -> bytes:
        """Remove the record with a ticket, and return it."""
        data = self._records.pop(ticket)
        tickets = self._tickets[data]
        if not isinstance(tickets, deque):
            del self._tickets[data]
            return data
        if tickets[0] == ticket:
            tickets.popleft()
        elif tickets[-1] == ticket:
            tickets.pop()
        else:
            tickets.remove(ticket)
        if not tickets:
            del self._tickets[data]
        return data

    def take(self, data: bytes) -> bool:
        """Remove the first record with these bytes; False if there is none."""
        ticket = self.find(data)
        if ticket is None:
            return False
        self.pop(ticket)
        return True

    def clear(self) -> list[bytes]:
        """Remove all records, and return them."""
        removed = list(self)
        self._records.clear()
        self._tickets.clear()
        return removed

    def replace(self, records: list[bytes]) -> None:
        """Replace all records by these."""
        self.clear()
        for record in records:
            self.put(record)
