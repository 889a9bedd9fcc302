"""The result of an INQUIRE command: the values of the requested options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdqsim.errors import UnknownAttribute
from tdqsim.facts._codes import Cvda

Value = Cvda | int | str | bytes
"""The type of the value of an INQUIRE option."""


class Info:
    """The result of one INQUIRE: ``info.numitems``, ``info["NUMITEMS"]``, ``info.as_dict()``.

    It holds the requested options. It is empty, and false, after a condition that was not raised (NOHANDLE, IGNORE),
    because a command that ends with a condition leaves its receivers unchanged.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values: Mapping[str, Any] = values or {}

    def __getitem__(self, option: str) -> Any:
        return self._values[option.upper()]

    def __contains__(self, option: str) -> bool:
        return option.upper() in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Info) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # not hashable: the values are mutable

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_plain(value)!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({shown})"

    def as_dict(self, *, plain: bool = False) -> dict[str, Any]:
        """The values by option name.

        Args:
            plain: give CVDAs by name and text without trailing blanks, for JSON.
        """
        if plain:
            return {name: _plain(value) for name, value in self._values.items()}
        return dict(self._values)


def _attribute(info: Info, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return info[name]
    except KeyError:
        raise UnknownAttribute(_not_asked_for(name.upper(), info.as_dict())) from None


setattr(Info, "__getattr__", _attribute)  # noqa: B010  (set this way, type checkers use only the attributes that inquiries.pyi declares)


def _plain(value: object) -> object:
    if isinstance(value, Cvda):
        return value.name
    return value.rstrip() if isinstance(value, str) else value


def _not_asked_for(name: str, values: Mapping[str, object]) -> str:
    there = ", ".join(values) or "no values"
    return f"{name} was not requested, is not an option, or the command ended with an exception; available are {there}"
