"""The tables of the management interface: resources, attributes, actions, codes and messages (``facts/cmci_*.tsv``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from tdqsim.facts import INQUIRE_OPTIONS, table

CODES: Final[Mapping[str, int]] = {row["name"]: int(row["value"]) for row in table("cmci_codes")}
"""The responses and reasons by name."""
MESSAGES: Final[Mapping[str, tuple[int, str]]] = {
    row["id"]: (int(row["status"]), row["text"]) for row in table("cmci_messages")
}
"""The HTTP status and the full text of each message."""
NUMBERS: Final = frozenset({"BINARY"})
"""The kinds of attributes that compare as numbers."""


@dataclass(frozen=True, slots=True)
class CmciAttribute:
    """An attribute of a resource table; see ``facts/cmci_attributes.tsv``.

    Attributes:
        name: its name in capitals.
        kind, origin: as in the table; ``origin`` is never empty.
        length: bytes of its value in a resource table.
        settable: whether a PUT may update it.
    """

    name: str
    kind: str
    length: int
    origin: str
    settable: bool

    @property
    def is_number(self) -> bool:
        """Whether values compare as numbers."""
        return self.kind in NUMBERS


_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {"@indirecttype": ("INDIRECTNAME",)}
"""The options of INQUIRE from which a value is computed."""


@dataclass(frozen=True, slots=True)
class CmciAction:
    """An action of a resource table.

    Attributes:
        name: such as ``DISABLE``, or ``UPDATE`` for an update of attributes.
        command: the command that it is, such as ``SET TDQUEUE``.
        options: the options of the command with their values.
        parameters: the arguments of the command by the names of the parameters that give them; an argument that is
            empty is not passed on.
        required: the parameters that must be given.
    """

    name: str
    command: str
    options: Mapping[str, str]
    parameters: Mapping[str, str]
    required: frozenset[str]


@dataclass(frozen=True, slots=True)
class CmciResource:
    """A resource: a record for each instance.

    Attributes:
        name: the external name, such as ``CICSLocalTransaction``.
        table: its resource table.
        key: the names of the key attributes.
        inquire: the resource type of INQUIRE; ``CSD`` and a type for definitions; empty for one record a region.
        where: an option of INQUIRE and the value that records must have; None for any value but blank.
        attributes: the attributes by name, in alphabetic order.
        actions: the actions by name.
    """

    name: str
    table: str
    key: tuple[str, ...]
    inquire: str
    where: tuple[str, str | None] | None
    attributes: Mapping[str, CmciAttribute]
    actions: Mapping[str, CmciAction]

    @property
    def element(self) -> str:
        """The name of its elements in an answer."""
        return self.name.lower()

    @property
    def csd(self) -> str:
        """The resource type of definitions in the CSD, ``group`` or ``list``; empty for what is installed."""
        return self.inquire.partition("CSD ")[2]

    def options(self, attributes: Iterable[CmciAttribute]) -> tuple[str, ...]:
        """The options of INQUIRE from which these attributes of its records are made."""
        known = INQUIRE_OPTIONS.get(self.inquire, {})
        wanted = [
            option for each in attributes for option in _NEEDS.get(each.origin, (each.origin,)) if option in known
        ]
        if self.where is not None:
            wanted.append(self.where[0])
        return tuple(dict.fromkeys(wanted))


_WITHOUT_REGION: Final = frozenset(
    {"CICSPLEX", "MAS", "TDQDEF", "TRANDEF", "PROGDEF", "CONNDEF", "CSDGROUP", "CSDINLST"}
)
"""The tables without EYU_CICSNAME and what goes with it."""


def resource_named(name: str) -> CmciResource | None:
    """The resource with an external name, in upper or lower case; None if there is none."""
    return _resources().get(name.lower())


@cache
def _resources() -> dict[str, CmciResource]:
    return {
        row["name"].lower(): CmciResource(
            row["name"],
            row["table"],
            tuple(row["key"].split()),
            row["inquire"],
            _where(row["where"]),
            _attributes(row["table"], has_region=row["table"] not in _WITHOUT_REGION),
            _actions(row["table"]),
        )
        for row in table("cmci_resources")
    }


def _where(text: str) -> tuple[str, str | None] | None:
    if not text:
        return None
    name, equals, value = text.partition("=")
    return (name, value) if equals else (name.removesuffix("!"), None)


def _attributes(table_name: str, *, has_region: bool) -> dict[str, CmciAttribute]:
    tables = {table_name, "*"} if has_region else {table_name}
    rows = sorted((row for row in table("cmci_attributes") if row["table"] in tables), key=lambda row: row["attribute"])
    return {
        row["attribute"]: CmciAttribute(
            row["attribute"],
            row["kind"],
            int(row["length"]),
            row["origin"] or row["attribute"],
            row["set"] == "yes",
        )
        for row in rows
    }


def _actions(table_name: str) -> dict[str, CmciAction]:
    found = {}
    for row in table("cmci_actions"):
        if row["table"] == table_name:
            name, equals, value = row["option"].partition("=")
            given = [each.partition("=")[::2] for each in row["parameters"].split()]
            found[row["action"]] = CmciAction(
                row["action"],
                row["command"],
                {name: value} if equals else {},
                {word: argument.removesuffix("!") for word, argument in given},
                frozenset(word for word, argument in given if argument.endswith("!")),
            )
    return found
