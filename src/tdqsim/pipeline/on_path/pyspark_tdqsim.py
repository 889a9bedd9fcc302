# ruff: noqa: INP001 - not a package: a folder that is put on the path
"""Found by Spark, not by anyone else: it imports every ``pyspark_...`` of its path when it looks for data sources.

The process that does so is one of Spark's own, knows nothing else of this package, and would tell of the end of its
connection on the terminal, a minute after it has done its work. There is no data source here.
"""

from __future__ import annotations

from contextlib import suppress

__all__: list[str] = []

with suppress(ImportError):  # Spark's workers may be of a Python without this package: they need nothing of it here
    from tdqsim.pipeline._worker import hush

    hush()
