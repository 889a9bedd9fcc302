"""TRANCLASS definitions."""

from typing import Annotated, ClassVar

from pydantic_core import PydanticCustomError

from tdqsim.definitions._fields import JsonSchema, Name, Number, refuse
from tdqsim.definitions._resource import Conflict, Resource
from tdqsim.facts import LIMITS

NO_CLASS = "DFHTCL00"
"""As TRANCLASS of a transaction: it has no class. No class can have this name."""


class _Purgethresh(Number):
    """``NO``, or a whole number in a range; kept as text."""

    def check(self, value: object) -> str:  # type: ignore[override]  # NO is not a number
        if isinstance(value, str) and value.upper() == "NO":
            return "NO"
        try:
            return str(Number.check(self, value))
        except PydanticCustomError:
            raise refuse(f"must be NO or a whole number from {self.minimum} to {self.maximum}") from None

    def schema(self) -> JsonSchema:
        number = {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}
        return {"anyOf": [number, {"type": "string", "pattern": "^([Nn][Oo]|[0-9]{1,7})$"}]}


class Tranclass(Resource):
    """A transaction class, which limits how many tasks of its transactions run and wait.

    Attributes:
        maxactive: the maximum number of active tasks, 0 to 999; further tasks wait.
        purgethresh: one more than the maximum number of waiting tasks, or NO; further tasks abend. See
            :attr:`threshold`.
    """

    kind: ClassVar[str] = "TRANCLASS"

    name: Annotated[str, Name(8)]
    maxactive: Annotated[int, Number(0, LIMITS["tranclass_maxactive_maximum"])]
    purgethresh: Annotated[str, _Purgethresh(1, LIMITS["tranclass_purgethresh_maximum"])] = "NO"

    @property
    def threshold(self) -> int:
        """PURGETHRESH as a number; 0 for NO."""
        return 0 if self.purgethresh == "NO" else int(self.purgethresh)

    def conflicts(self) -> list[Conflict]:
        """DFHTCL00 is reserved."""
        return [("name", f"{NO_CLASS} is reserved for transactions without a class")] if self.name == NO_CLASS else []
