"""Terminals as values: what a person types goes in, what programs send is kept."""

from __future__ import annotations

from tdqsim.cics.terminal.screen import Input, Screen, Screens, Sent

__all__ = ["Input", "Screen", "Screens", "Sent"]
