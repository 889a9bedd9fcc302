"""Naming what differs in pairs of records, field by field through the layout, with masks and tolerances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from tdqsim.errors import ConversionError
from tdqsim.layouts import Field, FieldType, Layout, parse_copybook
from tdqsim.pipeline.stages.holding import NotAllowed

__all__ = ["Match", "Naming", "checked", "shown"]


@dataclass(frozen=True, slots=True)
class Match:
    """How the records of one queue are compared.

    Attributes:
        key: the bytes by which a record is known; None pairs by position.
        order: the bytes that name what keeps its order; None when order does not matter.
        copybook: the layout that names differences; empty for none.
        masks: fields whose differences do not count.
        tolerances: how far numbers may differ, by field.
    """

    key: slice | None = None
    order: slice | None = None
    copybook: str = ""
    masks: tuple[str, ...] = ()
    tolerances: Mapping[str, Decimal] = field(default_factory=dict)


_MUCH = 16
"""So many bytes that are equal at the beginning of two records are left out."""
_NO_NUMBERS = (FieldType.TEXT, FieldType.NATIONAL, FieldType.DBCS, FieldType.BYTES)


@lru_cache(maxsize=16)
def _layout(copybook: str) -> tuple[Layout, tuple[tuple[Field, slice], ...]]:
    """A copybook's layout, and its elementary fields outside tables with the bytes they take."""
    layout = parse_copybook(copybook, file="the layout").record()
    leaves = [item for item in layout.walk() if not item.is_group and item.occurs is None]
    return layout, tuple((item, slice(item.offset, item.offset + item.size)) for item in leaves)


def checked(match: Match) -> Match:
    """A match whose fields are there, by the names that the copybook gives them.

    Raises:
        LayoutError: the copybook is wrong.
        NotAllowed: a mask or a tolerance is for no field of it, or a tolerance for one that holds no number.
    """
    if not match.copybook:
        for option, given in (("--mask", match.masks), ("--tolerance", tuple(match.tolerances))):
            if given:
                raise NotAllowed(f"{option} {given[0]}: fields have names by a layout; give it with --copybook")
        return match
    _, leaves = _layout(match.copybook)
    known = {item.name.upper(): item for item, _ in leaves}

    def field_of(option: str, name: str) -> Field:
        if name.upper() not in known:
            there = ", ".join(item.name for item in known.values())
            raise NotAllowed(
                f"{option} {name}: the copybook has no such elementary field outside tables; it has {there}"
            )
        return known[name.upper()]

    masks = tuple(field_of("--mask", name).name for name in match.masks)
    tolerances = {}
    for name, much in match.tolerances.items():
        item = field_of("--tolerance", name)
        if item.type in _NO_NUMBERS:
            raise NotAllowed(f"--tolerance {name}: {item.name} holds {item.type.value}, no number")
        tolerances[item.name] = much
    return replace(match, masks=masks, tolerances=tolerances)


class Naming:
    """What counts as a difference of a pair, by a :class:`Match`.

    Raises:
        LayoutError: the copybook is wrong.
    """

    def __init__(self, match: Match) -> None:
        self._match = match
        self._layout: Layout | None = None
        self._leaves: tuple[tuple[Field, slice], ...] = ()
        if match.copybook:
            self._layout, self._leaves = _layout(match.copybook)

    @property
    def plain(self) -> bool:
        """Without a layout each pair that differs is one difference."""
        return self._layout is None

    def named(self, before: bytes, after: bytes) -> Iterator[tuple[str, str, str]]:
        """The differences of one pair: field, expected, actual; without a name when no elementary field has it."""
        if self._layout is None:
            yield _unlike(before, after)
            return
        nameless = True
        for item, span in self._leaves:
            if before[span] == after[span]:
                continue
            nameless = False
            if item.name not in self._match.masks:
                old, new = self._value(item.name, before, span), self._value(item.name, after, span)
                if not _tolerated(old, new, self._match.tolerances.get(item.name)):
                    yield item.name, str(old), str(new)
        if nameless:
            place, *texts = _unlike(before, after)
            yield (place if texts[0].startswith("...") else "", texts[0], texts[1])

    def counted(self, before: Any, after: Any) -> Any:
        """How many differences :meth:`named` finds in each of many pairs that differ, without writing them out."""
        found = np.zeros(len(before), np.int64)
        nameless = np.ones(len(before), np.bool_)
        for item, span in self._leaves:
            differ = (before[:, span] != after[:, span]).any(axis=1)
            nameless &= ~differ
            if item.name in self._match.masks:
                continue
            if (tolerance := self._match.tolerances.get(item.name)) is not None:
                for row in np.flatnonzero(differ).tolist():
                    old, new = (self._value(item.name, each[row].tobytes(), span) for each in (before, after))
                    differ[row] = not _tolerated(old, new, tolerance)
            found += differ
        return found + nameless

    def _value(self, name: str, record: bytes, span: slice) -> Any:
        assert self._layout is not None
        try:
            found = self._layout.value(record, name)
        except (ConversionError, ValueError, LookupError, ArithmeticError):
            found = None
        return shown(record[span]) if found is None else found  # what is no value is shown as it is


def _tolerated(old: Any, new: Any, tolerance: Decimal | None) -> bool:
    if tolerance is None or not (_is_number(old) and _is_number(new)):
        return False
    return abs(Decimal(old) - Decimal(new)) <= tolerance


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) or (isinstance(value, float) and isfinite(value))


def _unlike(before: bytes, after: bytes) -> tuple[str, str, str]:
    """From where on two records differ, and both; without what is equal at their beginnings when that is much."""
    both = zip(before, after, strict=False)
    place = next((at for at, (old, new) in enumerate(both) if old != new), min(len(before), len(after)))
    first = place if place >= _MUCH else 0
    return f"from byte {place}", shown(before, first), shown(after, first)


def shown(record: bytes, first: int = 0, most: int = 64) -> str:
    """A record, or what it has from a byte on, as hexadecimal digits; dots where it is cut."""
    text = f"{'...' if first else ''}X'{record[first : first + most].hex().upper()}'"
    return text if len(record) <= first + most else f"{text}... of {len(record)} bytes"
