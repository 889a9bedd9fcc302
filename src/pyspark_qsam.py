"""Spark imports this module by its name and finds ``format("qsam")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import Found


class DefaultSource(Found):
    """``format("qsam")``."""

    format = "qsam"
    place = "tdqsim.pipeline.qsam", "QsamDataSource"
