"""Spark imports this module by its name and finds ``format("cobol")`` in it; see :mod:`tdqsim.pipeline.discovery`."""

from tdqsim.pipeline.discovery import Found


class DefaultSource(Found):
    """``format("cobol")``."""

    format = "cobol"
    place = "tdqsim.pipeline.qsam", "CobolDataSource"
