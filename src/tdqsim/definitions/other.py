"""Resources of a group that are not simulated, such as MAPSET and PROFILE."""

from __future__ import annotations

from typing import Annotated

from tdqsim.definitions._fields import Text
from tdqsim.definitions._resource import Resource


class OtherResource(Resource):
    """A definition that is kept and written out again, but not installed.

    Attributes:
        name: the resource's name.
        resource_type: the type, such as ``MAPSET`` or ``PROFILE``.
    """

    name: Annotated[str, Text(32)]
    resource_type: str

    @property
    def title(self) -> str:
        """The type and the name, such as ``MAPSET(PAYMAPS)``."""
        return f"{self.resource_type}({self.name})"
