"""Libraries and the objects in them.

An object keeps its number for life, also when it is renamed or moved. The stored entries of a data queue, the addresses
that jobs remember and the catalogue identify it by this number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tdqsim.core.capitals import capitals
from tdqsim.facts import table
from tdqsim.ibmi.authority import ALL, AuthorizationList, granted_names
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.locks import Locks
from tdqsim.ibmi.parms import Parm

SYSTEM_LIBRARIES: Final = ("QSYS",)
"""The system part of every library list."""
SHIPPED_LIBRARIES: Final = ("QSYS", "QGPL")
"""The libraries that every system has and that cannot be deleted."""
_NEW_NAME = {row["kind"]: row for row in table("name_characters")}["ibmi"]


def described(text: str) -> str:
    """The description that TEXT stands for: ``*BLANK`` means none."""
    return "" if text == "*BLANK" else text


def new_name(value: str, what: str) -> str:
    """Check the name of a new object and convert it to upper case.

    Raises:
        ParameterError: it is not a valid name.
    """
    name = capitals(value) if isinstance(value, str) else ""
    if len(name) > LIMITS["name_length"] or not re.fullmatch(_NEW_NAME["pattern"], name):
        raise ParameterError(
            f"{what} {value!r}: must be 1 to {LIMITS['name_length']} characters ({_NEW_NAME['words']})"
        )
    return name


class Program(NamedTuple):
    """A Python function registered as a program; without parms it is called with the parameters' storage."""

    function: Callable[..., object]
    parms: tuple[Parm, ...] | None = None


@dataclass(slots=True, eq=False, repr=False)
class SystemObject:
    """The common attributes of all objects.

    Attributes:
        number: its identity, never used twice on a system.
        name: its current name.
        library: the name of its current library.
        owner: the profile that owns it and therefore has *ALL.
        public: the public authority, such as ``*USE``, or ``*AUTL`` to take it from the authorization list.
        autl: the name of its authorization list; empty for none.
        private: the private authorities by user.
        text: its description, at most 50 characters.
        deleted: whether the object has been deleted.
        locks: the locks that jobs hold on it.
    """

    number: int
    name: str
    library: str
    owner: str
    public: str = "*EXCLUDE"
    autl: str = ""
    private: dict[str, str] = field(default_factory=dict)
    text: str = ""
    deleted: bool = False
    locks: Locks = field(default_factory=Locks)

    @property
    def type(self) -> str:
        """The object type, such as ``*DTAQ``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.type} {self.qualified}{' (deleted)' if self.deleted else ''}>"

    @property
    def qualified(self) -> str:
        """``LIB/NAME``."""
        return f"{self.library}/{self.name}"

    def privately(self, user: str, lists: Mapping[str, AuthorizationList]) -> frozenset[str] | None:
        """The authorities that the object or its authorization list gives to a user by name; None when neither does."""
        if user == self.owner:
            return ALL
        if user in self.private:
            return granted_names(self.private[user])
        listed = lists.get(self.autl)
        return granted_names(listed.entries[user]) if listed is not None and user in listed.entries else None

    def publicly(self, lists: Mapping[str, AuthorizationList]) -> frozenset[str]:
        """The authorities of all other users: the public authority of the object or of its authorization list."""
        if self.public != "*AUTL":
            return granted_names(self.public)
        listed = lists.get(self.autl)
        return granted_names(listed.entries.get("*PUBLIC", "*EXCLUDE")) if listed is not None else frozenset()

    def save(self) -> dict[str, Any]:
        """Its fields for the catalogue, without private authorities."""
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
        """Its fields for the catalogue, without its objects."""
        return {**SystemObject.save(self), "crtaut": self.crtaut}
