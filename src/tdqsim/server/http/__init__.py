"""The HTTP face: the JSON API, its sign-on, metrics."""

from __future__ import annotations

__all__: list[str] = []
