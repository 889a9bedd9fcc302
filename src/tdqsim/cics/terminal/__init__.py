"""Simulated terminals: tests type input, and the output of programs is kept."""

from __future__ import annotations

from tdqsim.cics.terminal.screen import Input, Screen, Screens, Sent

__all__ = ["Input", "Screen", "Screens", "Sent"]
