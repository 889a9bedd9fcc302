"""``NamedTuple`` of :mod:`typing`, made at a third of its cost.

:class:`typing.NamedTuple` compiles the annotation of each field when the class is made, to see whether it is a type.
Ours keeps the annotations as they are written; type checkers, for which it is the one of :mod:`typing`, have looked at
them. The classes are those of :func:`collections.namedtuple` in either case; no other class can be a base beside it.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  (that it is exported is said so)
else:

    class _Maker(type):
        """Makes a class of the fields that the body of its statement annotates."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            types = body.pop("__annotations__", {})
            defaults = [body.pop(field) for field in types if field in body]
            made = namedtuple(name, types, defaults=defaults, module=body.pop("__module__"))  # noqa: PYI024
            made.__annotations__ = made.__new__.__annotations__ = types
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """See :class:`typing.NamedTuple`."""
