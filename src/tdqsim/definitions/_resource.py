"""The attributes of every resource definition: name, group, description and definition signature.

The modules of models that every region needs do not use postponed annotations, because pydantic would have to compile
each of them again.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from tdqsim.definitions._fields import Keyword, Name, Text, Timestamp
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES

YesNo = Annotated[Literal["YES", "NO"], Keyword()]
ChangeAgent = Annotated[
    Literal[
        "",
        "CREATESPI",
        "CSDAPI",
        "CSDBATCH",
        "DREPAPI",
        "SYSTEM",
        "DREPBATCH",
        "AUTOINSTALL",
        "TABLE",
        "DYNAMIC",
        "OVERRIDE",
    ],
    Keyword(),
]
"""The change agents of any resource; a TDQUEUE, which is never autoinstalled, has fewer."""
Conflict = tuple[str, str]
"""An attribute in lower case, and the reason why its value (or its absence) does not agree with other attributes."""

SIGNATURE_ATTRIBUTES = ("definetime", "changetime", "changeusrid", "changeagent", "changeagrel")


class Resource(BaseModel):
    """One definition as in a CSD. Immutable; attributes have the RDO names in lower case.

    An omitted attribute has its default value (empty for text); ``model_fields_set`` contains those that were
    specified. The definition signature (the attributes from definetime to changeagrel) is what a CSD stores with a
    definition; if it is omitted, the time of the install and the region's own values are used.

    Attributes:
        kind: the resource type, such as ``TDQUEUE``.
        name: the resource's name.
        group: the group that it belongs to; empty for none.
        description: a description of up to 58 characters.
        definetime, changetime: when it was defined and last changed; by default the time of the install.
        changeusrid: the user who changed it last.
        changeagent: how it was changed last.
        changeagrel: the CICS release with which it was changed last.
        without_effect: attributes that were accepted, but are not simulated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    kind: ClassVar[str] = ""

    group: Annotated[str, Name(LIMITS["group_name_length"], blank=True)] = ""
    description: Annotated[str, Text(TDQUEUE_ATTRIBUTES["DESCRIPTION"].maximum or 0)] = ""
    definetime: Annotated[datetime | None, Timestamp()] = None
    changetime: Annotated[datetime | None, Timestamp()] = None
    changeusrid: Annotated[str, Name(8, "userid", blank=True)] = ""
    changeagent: ChangeAgent = ""
    changeagrel: Annotated[str, Name(4, "release", blank=True)] = ""
    without_effect: Mapping[str, str] = Field(default_factory=dict, exclude=True)

    def __hash__(self) -> int:
        return hash((self.kind, self.group, self.resource_name))

    @property
    def resource_name(self) -> str:
        """The name under which it is installed, unique within its kind."""
        return str(getattr(self, "name", ""))

    @property
    def title(self) -> str:
        """The type and the name, such as ``TDQUEUE(PAYQ)``."""
        return f"{self.kind}({self.resource_name})"

    def given(self, attribute: str) -> bool:
        """Whether the attribute was specified, instead of having its default."""
        return attribute in self.model_fields_set

    def conflicts(self) -> list[Conflict]:
        """Conflicts between attributes that are valid individually."""
        return []

    def attributes(self) -> dict[str, Any]:
        """The specified attributes that are not blank: name, description, the kind's own, definition signature."""
        chosen = self.model_fields_set
        values = {name: getattr(self, name) for name in self.attribute_order() if name in chosen}
        return {name: value for name, value in values.items() if value not in ("", None)}

    @classmethod
    @cache
    def attribute_order(cls) -> tuple[str, ...]:
        """The attributes, without the group, in the order in which definitions are written out."""
        own = [name for name in cls.model_fields if name not in Resource.model_fields]
        return (*own[:1], "description", *own[1:], *SIGNATURE_ATTRIBUTES)

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        conflicts = self.conflicts()
        if conflicts:
            raise PydanticCustomError("tdq_conflicts", "{text}", {"text": conflicts[0][1], "conflicts": conflicts})
        return self
