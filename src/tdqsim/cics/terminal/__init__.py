"""Simulated terminals: tests type input and inspect the output of programs."""

from __future__ import annotations

from tdqsim.cics.terminal.screen import Input, Screen, Screens, Sent

__all__ = ["Input", "Screen", "Screens", "Sent"]
