"""Spark imports this module by its name and finds ``format("qsam")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import FoundQsam as DefaultSource

__all__ = ["DefaultSource"]
