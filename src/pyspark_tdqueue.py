"""Spark imports this module by its name and finds ``format("tdqueue")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import Found


class DefaultSource(Found):
    """``format("tdqueue")``."""

    format = "tdqueue"
    place = "tdqsim.pipeline.queues_source", "TdqueueDataSource"
