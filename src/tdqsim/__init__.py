"""tdqsim: CICS transient data queues and IBM i data queues, off the mainframe."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
