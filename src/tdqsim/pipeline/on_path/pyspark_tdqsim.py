# ruff: noqa: INP001 - not a package: a folder that is put on the path
"""Found by Spark, which imports every ``pyspark_...`` of its path in the process in which it looks for data sources.

That process is one of Spark's own, imports nothing else of this package, and would report the end of its connection
on the terminal, a minute after it has done its work. There is no data source here.
"""

from __future__ import annotations

from contextlib import suppress

__all__: list[str] = []

with suppress(ImportError):  # Spark's workers may be of a Python without this package: they need nothing of it here
    from tdqsim.pipeline._worker import quieten

    quieten()
