"""Spark imports this module by its name and finds ``format("dtaq")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import FoundDtaq as DefaultSource

__all__ = ["DefaultSource"]
