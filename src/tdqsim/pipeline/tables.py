"""How long a record is whose tables take only the room of their occurrences."""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.layouts import BadValue, Field, Layout, decode_value

__all__ = ["record_size"]


def record_size(layout: Layout) -> Callable[[bytes], int]:
    """A function from the bytes that a record begins with, the layout's length or what there is, to its length."""
    relevant = {item.path for item in layout.walk() if any(_tells(inner, layout) for inner in item.walk())}
    return lambda record: layout.length - _Walk(layout, relevant, record).fields(layout.fields, 0)


def _tells(item: Field, layout: Layout) -> bool:
    return item.depending_on is not None or item.path in layout.counters


class _Walk:
    """One record. ``shift`` is how many bytes earlier things are than with every table at its maximum."""

    def __init__(self, layout: Layout, relevant: set[tuple[str, ...]], record: bytes) -> None:
        self.layout, self.relevant, self.record = layout, relevant, record
        self.values: dict[tuple[str, ...], object] = {}

    def fields(self, fields: tuple[Field, ...], shift: int) -> int:
        """The shift behind fields."""
        before: dict[tuple[str, ...], int] = {}
        for item in fields:
            at = before.get(item.redefines, shift) if item.redefines else shift
            before[item.path] = at
            if item.path in self.relevant:
                after = self._item(item, at)
                shift = after if item.redefines is None else shift
        return shift

    def _item(self, item: Field, shift: int) -> int:
        if item.occurs is None:
            return self._once(item, shift)
        count = item.count if item.depending_on is None else item.occurs.count(self.values.get(item.depending_on))
        inside = any(inner.path in self.relevant for inner in item.children) or item.path in self.layout.counters
        for index in range(count if inside else 0):
            before = index * item.length
            shift = self._once(item, shift - before) + before
        return shift + (item.count - count) * item.length

    def _once(self, item: Field, shift: int) -> int:
        if item.is_group:
            return self.fields(item.children, shift)
        data = self.record[item.offset - shift :][: item.length]
        try:
            value = decode_value(item, data, self.layout.rules) if len(data) == item.length else None
        except BadValue:
            value = None
        self.values[item.path] = value
        return shift
