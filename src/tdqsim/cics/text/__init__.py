"""EXEC CICS text, CECI and CEMT: what people and programs write, understood and answered."""

from __future__ import annotations

__all__: list[str] = []
