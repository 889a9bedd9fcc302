"""What an INQUIRE command returns: the values asked for, by option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdqsim.facts import Cvda

__all__ = ["Info", "Value"]

Value = Cvda | int | str | bytes
"""What an option of INQUIRE has."""


class Info:
    """What one INQUIRE returned: ``info.numitems``, ``info["NUMITEMS"]``, ``info.as_dict()``.

    It holds the options that were asked for, and is empty after an exception that was not raised (NOHANDLE, IGNORE):
    receivers then stay as they were. An empty one is false.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values: Mapping[str, Any] = {} if values is None else values

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

    __hash__ = None  # type: ignore[assignment]  # mutable values are no keys

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_plain(value)!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({shown})"

    def as_dict(self, *, plain: bool = False) -> dict[str, Any]:
        """The values by option name.

        Args:
            plain: CVDAs by name and text without trailing blanks, as JSON wants it.
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
        raise AttributeError(_not_asked_for(name.upper(), info.as_dict())) from None


setattr(Info, "__getattr__", _attribute)  # noqa: B010  (type checkers are to go by the attributes that rows.py names)


def _plain(value: object) -> object:
    if isinstance(value, Cvda):
        return value.name
    return value.rstrip() if isinstance(value, str) else value


def _not_asked_for(name: str, values: Mapping[str, object]) -> str:
    there = ", ".join(values) or "no values"
    return f"{name} was not asked for, is no option, or the command ended with an exception; there are {there}"
