"""Function shipping: requests for queues of another region, and two-phase commit with it."""

from __future__ import annotations

__all__: list[str] = []
