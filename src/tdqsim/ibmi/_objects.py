"""Libraries and the objects in them.

An object keeps its number for life, whatever it is called and wherever it is moved: the stored entries of a data queue,
the addresses that jobs remember and the catalogue go by the number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tdqsim.core.capitals import capitals
from tdqsim.facts import table
from tdqsim.ibmi._authority import ALL, AuthorizationList, granted_names
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi._locks import Locks
from tdqsim.ibmi.parms import Parm

__all__ = ["SHIPPED_LIBRARIES", "SYSTEM_LIBRARIES", "Library", "Program", "SystemObject", "described", "new_name"]

SYSTEM_LIBRARIES: Final = ("QSYS",)
"""The system part of every library list."""
SHIPPED_LIBRARIES: Final = ("QSYS", "QGPL")
"""The libraries that every system has and that cannot be deleted."""
_NEW_NAME = {row["kind"]: row for row in table("name_characters")}["ibmi"]


def described(text: str) -> str:
    """What TEXT says: ``*BLANK`` stands for none."""
    return "" if text == "*BLANK" else text


def new_name(value: str, what: str) -> str:
    """The name of something that is made, in capitals.

    Raises:
        ParameterError: it is not one.
    """
    found = capitals(value) if isinstance(value, str) else ""
    if len(found) > LIMITS["name_length"] or not re.fullmatch(_NEW_NAME["pattern"], found):
        raise ParameterError(
            f"{what} {value!r}: must be 1 to {LIMITS['name_length']} characters ({_NEW_NAME['words']})"
        )
    return found


class Program(NamedTuple):
    """A Python function that is registered as a program; without parms it is called with storage."""

    function: Callable[..., object]
    parms: tuple[Parm, ...] | None = None


@dataclass(slots=True, eq=False, repr=False)
class SystemObject:
    """What every object has.

    Attributes:
        number: its identity, never used twice on a system.
        name: its name now.
        library: name of the library it is in now.
        owner: the profile that owns it and so has *ALL.
        public: authority of everybody else (``*USE``), or ``*AUTL`` to take it from the list.
        autl: name of its authorization list, or empty.
        private: authorities of single users.
        text: its description, at most 50 characters.
        gone: it has been deleted.
        locks: what jobs hold on it.
    """

    number: int
    name: str
    library: str
    owner: str
    public: str = "*EXCLUDE"
    autl: str = ""
    private: dict[str, str] = field(default_factory=dict)
    text: str = ""
    gone: bool = False
    locks: Locks = field(default_factory=Locks)

    @property
    def type(self) -> str:
        """The object type, such as ``*DTAQ``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.type} {self.qualified}{' (deleted)' if self.gone else ''}>"

    @property
    def qualified(self) -> str:
        """``LIB/NAME``."""
        return f"{self.library}/{self.name}"

    def privately(self, user: str, lists: Mapping[str, AuthorizationList]) -> frozenset[str] | None:
        """What the object itself or its list gives a user by name; None when neither names him."""
        if user == self.owner:
            return ALL
        if user in self.private:
            return granted_names(self.private[user])
        listed = lists.get(self.autl)
        return granted_names(listed.entries[user]) if listed is not None and user in listed.entries else None

    def publicly(self, lists: Mapping[str, AuthorizationList]) -> frozenset[str]:
        """What everybody else has: the public authority, or that of the list."""
        if self.public != "*AUTL":
            return granted_names(self.public)
        listed = lists.get(self.autl)
        return granted_names(listed.entries.get("*PUBLIC", "*EXCLUDE")) if listed is not None else frozenset()

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps of it, private authorities apart."""
        return {
            "type": self.type, "name": self.name, "library": self.library, "owner": self.owner, "public": self.public,
            "autl": self.autl, "text": self.text,
        }  # fmt: skip


@dataclass(slots=True, eq=False, repr=False)
class Library(SystemObject):
    """A library: objects by type and name.

    Attributes:
        crtaut: public authority of objects created in it with AUT(*LIBCRTAUT).
        objects: the objects in it.
    """

    crtaut: str = "*CHANGE"
    objects: dict[tuple[str, str], SystemObject] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """``*LIB``."""
        return "*LIB"

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps of it, its objects apart."""
        return {**SystemObject.save(self), "crtaut": self.crtaut}
