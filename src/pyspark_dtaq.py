"""Spark imports this module by its name and finds ``format("dtaq")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import Found


class DefaultSource(Found):
    """``format("dtaq")``."""

    format = "dtaq"
    place = "tdqsim.pipeline.queues_source", "DtaqDataSource"
