"""Placeholder."""

from __future__ import annotations

__all__ = ["NO_PAGES", "Pages"]


class Pages:
    """x"""


NO_PAGES = Pages()
