"""Spark imports this module by its name and finds ``format("tdqueue")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import FoundTdqueue as DefaultSource

__all__ = ["DefaultSource"]
