"""Bulk data: the vectorised decoder, which agrees with :mod:`tdqsim.layouts`, and the data sources for Spark.

This package imports none of its modules, because most of them need the extra ``tdqsim[spark]``. Import the module that
you need.
"""

from __future__ import annotations

__all__: list[str] = []
