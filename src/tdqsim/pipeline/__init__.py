"""Bulk data: the vectorised decoder that agrees with :mod:`tdqsim.layouts`, and the Spark side. Imported only when asked for."""

from __future__ import annotations

__all__: list[str] = []
