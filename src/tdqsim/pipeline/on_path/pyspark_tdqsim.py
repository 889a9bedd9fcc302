# ruff: noqa: INP001 - not a package: a folder that is put on the path
"""Silence a process of Spark's in which it searches for data sources.

Spark imports every module named ``pyspark_...`` on the path of that process. The process imports nothing else of this
package. Without this module it would report the end of its connection on the terminal, a minute after it has done its
work. This module contains no data source.
"""

from __future__ import annotations

from contextlib import suppress

__all__: list[str] = []

with suppress(ImportError):  # the Python of Spark's workers may lack this package; they need nothing from it here
    from tdqsim.pipeline._worker import quieten

    quieten()
