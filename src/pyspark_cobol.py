"""Spark imports this module by its name and finds ``format("cobol")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import FoundCobol as DefaultSource

__all__ = ["DefaultSource"]
