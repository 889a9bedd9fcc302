"""The four kinds of transient data queue, their states, the requests on them, and automatic transaction initiation."""

from __future__ import annotations

__all__: list[str] = []
