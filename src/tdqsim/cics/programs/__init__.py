"""Program control: which programs a region has, and one calling another."""

from __future__ import annotations

from tdqsim.cics.programs.table import Program, ProgramLevel, Programs

__all__ = ["Program", "ProgramLevel", "Programs"]
