"""Bulk data: the vectorised decoder that agrees with :mod:`tdqsim.layouts`, and the Spark side.

Nothing is imported here: each module is asked for by name, and only they need the extra ``tdqsim[spark]``.
"""

from __future__ import annotations

__all__: list[str] = []
