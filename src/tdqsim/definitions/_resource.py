"""What every resource definition has: name, group, description and the marks of its definition.

The modules of models that every region needs do without postponed annotations: pydantic would compile each one again.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from tdqsim.definitions._fields import Keyword, Name, Text, Timestamp
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES

__all__ = ["SIGNATURE_ATTRIBUTES", "ChangeAgent", "Conflict", "Resource", "YesNo"]

YesNo = Annotated[Literal["YES", "NO"], Keyword()]
ChangeAgent = Annotated[
    Literal["", "CREATESPI", "CSDAPI", "CSDBATCH", "DREPAPI", "SYSTEM", "DREPBATCH", "AUTOINSTALL", "TABLE", "DYNAMIC"],
    Keyword(),
]
"""What INQUIRE of any resource may say; a TDQUEUE, which is never autoinstalled, has fewer."""
Conflict = tuple[str, str]
"""An attribute in lower case, and what is wrong with its being there (or missing) beside the others."""

SIGNATURE_ATTRIBUTES = ("definetime", "changetime", "changeusrid", "changeagent", "changeagrel")


class Resource(BaseModel):
    """One definition as it would stand in the CSD. Immutable; attributes have the RDO names in lower case.

    An attribute that is not given has its default; ``model_fields_set`` tells which were given. Text that is not given
    is empty. The marks of definition are what a CSD keeps beside a definition; without them the time of installing and
    the region's own values count.

    Attributes:
        kind: the resource type, such as ``TDQUEUE``.
        name: the resource's name.
        group: the group it belongs to; empty for one that is defined alone.
        description: text about it, up to 58 characters.
        definetime, changetime: when it was defined and last changed; the time of installing when not given.
        changeusrid: who changed it last.
        changeagent: how it was changed last.
        changeagrel: the CICS release with which it was changed last.
        without_effect: attributes that were accepted and kept, and that change nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    kind: ClassVar[str] = ""

    group: Annotated[str, Name(LIMITS["group_name_length"], blank=True)] = ""
    description: Annotated[str, Text(TDQUEUE_ATTRIBUTES["DESCRIPTION"].maximum or 0)] = ""
    definetime: Annotated[datetime | None, Timestamp()] = None
    changetime: Annotated[datetime | None, Timestamp()] = None
    changeusrid: Annotated[str, Name(8, "userid", blank=True)] = ""
    changeagent: ChangeAgent = ""
    changeagrel: Annotated[str, Name(4, blank=True)] = ""
    without_effect: Mapping[str, str] = Field(default_factory=dict, exclude=True)

    def __hash__(self) -> int:
        return hash((self.kind, self.group, self.resource_name))

    @property
    def resource_name(self) -> str:
        """The name under which it is installed; unique within its kind."""
        return str(getattr(self, "name", ""))

    @property
    def title(self) -> str:
        """``TDQUEUE(PAYQ)``."""
        return f"{self.kind}({self.resource_name})"

    def given(self, attribute: str) -> bool:
        """Whether the attribute was written, rather than left to its default."""
        return attribute in self.model_fields_set

    def conflicts(self) -> list[Conflict]:
        """What is wrong between attributes that are right by themselves."""
        return []

    def attributes(self) -> dict[str, Any]:
        """The attributes that are not blank: name, description, the kind's own attributes, marks of definition."""
        chosen = self.model_fields_set
        values = {name: getattr(self, name) for name in self.attribute_order() if name in chosen}
        return {name: value for name, value in values.items() if value not in ("", None)}

    @classmethod
    @cache
    def attribute_order(cls) -> tuple[str, ...]:
        """The attributes in the order in which definitions are written out; no group."""
        own = [name for name in cls.model_fields if name not in Resource.model_fields]
        return (*own[:1], "description", *own[1:], *SIGNATURE_ATTRIBUTES)

    @model_validator(mode="after")
    def _no_conflicts(self) -> Self:
        found = self.conflicts()
        if found:
            raise PydanticCustomError("tdq_conflicts", "{text}", {"text": found[0][1], "conflicts": found})
        return self
