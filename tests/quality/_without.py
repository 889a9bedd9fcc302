"""Values without one part, for ablation: a result without a receiver, a definition without an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tdqsim.cics.kernel.command import Command
from tdqsim.definitions import Resource
from tdqsim.facts.info import Info

_OF_BYTES: Final = ("INTO", "SET", "LENGTH", "FLENGTH", "FIELD")
"""The receivers of a record."""
_FIELDS: Final = {"INTO": "data", "SET": "data", "FLENGTH": "length"}
"""The fields of results that have not the name of the receiver."""


def another(value: object) -> object:
    """Another value of the same type, for what cannot be left out."""
    if isinstance(value, str):
        return value[::-1] if value[::-1] != value else f"{value[:-1]}{'!' if value.endswith('?') else '?'}"
    if isinstance(value, bytes | bytearray):
        return type(value)(bytes(byte ^ 1 for byte in value) or b"?")
    return value + 1 if isinstance(value, int) else None


def without_attribute(resource: Resource, attribute: str) -> Resource | None:
    """The definition with the default of an attribute, or another value of one that has none; None without TYPE."""
    field = type(resource).model_fields.get(attribute)
    if field is None:
        return None
    values = {name: getattr(resource, name) for name in type(resource).model_fields}
    required = field.is_required()
    values[attribute] = another(values[attribute]) if required else field.get_default(call_default_factory=True)
    given = resource.model_fields_set - (set() if required else {attribute})
    return type(resource).model_construct(given, **values)


def received_words(command: Command, result: Any, asked: Sequence[str]) -> list[str]:
    """The receivers that a result has a value for.

    Args:
        command: the command.
        result: what the method of the task returned.
        asked: its positional arguments, which name the values wanted of a command such as ASSIGN.
    """
    there: Any = command.receives
    if result is None:
        there = ()
    elif isinstance(result, Info | Mapping):
        there = result
    elif hasattr(result, "as_dict"):
        there = result.as_dict()
    elif any(word in command.receives for word in asked):
        there = asked
    elif isinstance(result, bytes | bytearray):
        there = _OF_BYTES
    return [word for word in command.receives if word in there]


class _Unmeasured(bytes):
    """A record whose length is not received."""

    def __len__(self) -> int:
        return 0


def without_receiver(result: Any, word: str, position: int) -> object:
    """The result of a command without what one of its receivers gets.

    Args:
        result: what the method of the task returned.
        word: the receiver.
        position: its place among the values, where the result is a plain tuple.
    """
    if isinstance(result, bytes | bytearray):
        return _Unmeasured(result) if word in ("LENGTH", "FLENGTH") else b""
    if isinstance(result, Info):
        return type(result)({option: value for option, value in result.as_dict().items() if option != word})
    if isinstance(result, Mapping):
        return {option: value for option, value in result.items() if option != word}
    if hasattr(result, "_fields"):
        return _without_field(result, word)
    if isinstance(result, tuple):
        return (*result[:position], None, *result[position + 1 :])
    return None


def _without_field(result: Any, word: str) -> object:
    named = word.lower() if word.lower() in result._fields else _FIELDS.get(word, "")
    changed = result._replace(**{named: None}) if named in result._fields else result
    if not hasattr(result, "as_dict"):
        return changed
    kept = {option: value for option, value in result.as_dict().items() if option != word}
    without: Any = type(type(result).__name__, (type(result),), {"__slots__": (), "as_dict": lambda _self: kept})
    return without._make(changed)
