"""Resources that a group may hold and that change nothing here: MAPSET, PROFILE and the rest."""

from __future__ import annotations

from typing import Annotated

from tdqsim.definitions._fields import Text
from tdqsim.definitions._resource import Resource

__all__ = ["OtherResource"]


class OtherResource(Resource):
    """A definition that is kept and written out again, but not installed.

    Attributes:
        name: the resource's name.
        resource_type: ``MAPSET``, ``PROFILE``, ...
    """

    name: Annotated[str, Text(32)]
    resource_type: str

    @property
    def title(self) -> str:
        """``MAPSET(PAYMAPS)``."""
        return f"{self.resource_type}({self.name})"
