"""System values, from ``facts/ibmi_system_values.tsv``.

Those that affect sign-ons can be set (``system.values["QPWDMINLEN"] = 6``), and so can QUSRLIBL, the user part of the
library list of new jobs (``system.values["QUSRLIBL"] = "APPLIB QGPL"``); the others result from the system's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.facts import table
from tdqsim.ibmi.data import SystemData
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.objects import SYSTEM_LIBRARIES, new_name

SYSTEM_VALUES: Final = MappingProxyType({row["name"]: row for row in table("ibmi_system_values")})
"""The facts about each system value, by name."""
_USER_LIBRARIES: Final = "QUSRLIBL"
_SETTABLE: Final = tuple(name for name, row in SYSTEM_VALUES.items() if row["least"])


class SystemValues(MutableMapping[str, int]):
    """The system values that can be set, by name; each is a number, except QUSRLIBL, which is ``user_libraries``.

    Attributes:
        user_libraries: QUSRLIBL, the user part of the library list of a job that specifies none.

    Raises:
        ParameterError: there is no such system value, or it cannot have this value.
    """

    __slots__ = ("_values", "user_libraries")

    def __init__(self) -> None:
        self._values = {name: int(SYSTEM_VALUES[name]["value"]) for name in _SETTABLE}
        self.user_libraries: tuple[str, ...] = ("QGPL", "QTEMP")

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def __setitem__(self, name: str, value: int | str | Sequence[str]) -> None:
        if name == _USER_LIBRARIES:
            self.user_libraries = _libraries(value)
            return
        if name not in _SETTABLE:
            allowed = ", ".join((*_SETTABLE, _USER_LIBRARIES))
            raise ParameterError(f"system value {name!r}: those that can be set are {allowed}")
        least, most = (int(SYSTEM_VALUES[name][bound]) for bound in ("least", "most"))
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ParameterError(f"system value {name} {value!r}: allowed are {least} to {most}")
        self._values[name] = value

    def set_all(self, values: Mapping[str, int | str | Sequence[str]]) -> None:
        """Set several; nothing is undone when one is refused."""
        for name, value in values.items():
            self[name] = value

    def __delitem__(self, name: str) -> None:
        raise ParameterError(f"system value {name!r}: it can be changed but not removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _libraries(value: object) -> tuple[str, ...]:
    """The libraries of QUSRLIBL: a list, or their names with blanks between them.

    Raises:
        ParameterError: a name is not valid or occurs twice, or there are too many.
    """
    given = value.split() if isinstance(value, str) else value
    if not isinstance(given, Sequence):
        raise ParameterError(f"system value {_USER_LIBRARIES} {value!r}: a list of libraries is needed")
    names = tuple(new_name(one, _USER_LIBRARIES) for one in given)
    most = int(SYSTEM_VALUES[_USER_LIBRARIES]["length"]) // LIMITS["name_length"]
    if len(names) > most or len(set(names)) < len(names):
        raise ParameterError(f"system value {_USER_LIBRARIES} {value!r}: at most {most} libraries, each once")
    return names


def shown(system: SystemData, values: SystemValues, name: str) -> int | str:
    """The current value of a system value: a number for a binary one, otherwise characters."""
    row = SYSTEM_VALUES[name]
    if row["least"]:
        value = values[name]
        return value if row["type"] == "B" else f"{value:0{row['length']}d}"
    what = row["value"][1:]
    if "%" not in what:
        current: dict[str, int | str] = {
            "ccsid": system.ccsid, "date_format": system.date_format[1:], "name": system.name,
            "libraries": "".join(f"{one:<10}" for one in SYSTEM_LIBRARIES),
            "user_libraries": "".join(f"{one:<10}" for one in values.user_libraries),
        }  # fmt: skip
        return current[what]
    return shown_time(system, system.clock.time_ns(), what)


def shown_time(system: SystemData, time_ns: int, form: str) -> str:
    """Format a time of the system's clock in its time zone; ``%C`` is the century digit, ``%f`` the milliseconds."""
    at: datetime = datetime.fromtimestamp(time_ns / NS_PER_SECOND, system.timezone)
    return at.strftime(form.replace("%C", str(at.year // 100 - 19)).replace("%f", f"{at.microsecond // 1000:03d}"))
