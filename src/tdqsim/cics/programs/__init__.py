"""Program control: which programs a region has, and one calling another."""

from __future__ import annotations

from tdqsim.cics.programs.channels import Channel, Container
from tdqsim.cics.programs.diagnostics import Diagnostics
from tdqsim.cics.programs.table import Program, ProgramLevel, Programs

__all__ = ["Channel", "Container", "Diagnostics", "Program", "ProgramLevel", "Programs"]
