"""Program control: which programs a region has, and one calling another."""

from __future__ import annotations

from tdqsim.cics.programs.diagnostics import Diagnostics
from tdqsim.cics.programs.table import Program, Programs

__all__ = ["Diagnostics", "Program", "Programs"]
