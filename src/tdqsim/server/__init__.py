"""What serves other programs over a network: each face is a folder of its own."""

from __future__ import annotations

__all__: list[str] = []
