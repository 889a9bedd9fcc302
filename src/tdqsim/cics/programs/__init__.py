"""Program control: the programs of a region, LINK and XCTL, channels and containers."""

from __future__ import annotations

from tdqsim.cics.programs.diagnostics import Diagnostics
from tdqsim.cics.programs.table import Program, Programs

__all__ = ["Diagnostics", "Program", "Programs"]
