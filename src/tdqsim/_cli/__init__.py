"""The commands of ``tdq``, one module for each kind; :mod:`tdqsim.cli` mounts them, and imports only what is called."""

from __future__ import annotations

__all__: list[str] = []
