"""The commands ``tdq serve`` and ``tdq users``, and the half of other commands that works on a server."""

from __future__ import annotations

__all__: list[str] = []
