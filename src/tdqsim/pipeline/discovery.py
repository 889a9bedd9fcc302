"""The data sources that Spark finds by itself, in a session that you have not registered them with.

Spark imports every installed module named ``pyspark_...`` when a session first uses a data source in Python, and takes
the class ``DefaultSource`` of each. The modules ``pyspark_qsam``, ``pyspark_cobol``, ``pyspark_tdqueue`` and
``pyspark_dtaq`` beside this package contain a class for each format. It imports the source when it is used: a session
that only has this package installed pays for the names. It also works if the extra is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pyspark.sql.datasource import DataSource

from tdqsim.pipeline._worker import quieten

quieten()  # Spark closes the connection of the process that searches


class Found(DataSource):
    """A data source that is imported when Spark makes one for a read or a write.

    Attributes:
        format: the name of the format.
        place: the module and the name of the class of the source.
    """

    format: str
    place: tuple[str, str]

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return cls.format

    def __new__(cls, options: dict[str, str]) -> Any:
        """The data source itself, which is not of this class."""
        module, name = cls.place
        return getattr(import_module(module), name)(options)
