"""Commands written as text: EXEC CICS, CECI and CEMT."""

from __future__ import annotations

__all__: list[str] = []
