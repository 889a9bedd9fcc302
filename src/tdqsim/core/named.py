"""``NamedTuple`` for the modules that each start loads: as ``typing``'s, but the class is made in half the time.

``typing`` compiles each annotation that is a string, and none of these classes needs it: they keep their annotations as
they are written, as other classes do, and ``typing.get_type_hints`` reads them. The class cannot be generic.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  (that other modules may import it)
else:

    class _Maker(type):
        def __new__(cls, name: str, _bases: tuple[type, ...], members: dict[str, Any]) -> type:
            hints = members.pop("__annotations__", {})
            defaults = [members.pop(each) for each in hints if each in members]
            module = members.pop("__module__")
            made = namedtuple(name, hints, defaults=defaults, module=module)  # noqa: PYI024  (it is what that class is)
            made.__annotations__ = made.__new__.__annotations__ = hints
            for each, value in members.items():
                setattr(made, each, value)
            return made

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
