"""The two sides of a DDM conversation between systems of different processes, for use with any transport."""

from __future__ import annotations

from tdqsim.ibmi._ddm import KINDS, DdmLink, DdmServer, InProcessLink

__all__ = ["KINDS", "DdmLink", "DdmServer", "InProcessLink"]
