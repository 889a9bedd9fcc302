"""All command groups in one class: what a task can do, and, through a task of its own, a region."""

from __future__ import annotations

from tdqsim.cics.control import ControlCommands
from tdqsim.cics.create import CreateCommands
from tdqsim.cics.execute import TextCommands
from tdqsim.cics.formattime import FormatTimeCommands
from tdqsim.cics.handling import HandlingCommands
from tdqsim.cics.inquire_commands import InquireCommands
from tdqsim.cics.interval import IntervalCommands
from tdqsim.cics.set import SetCommands
from tdqsim.cics.statistics import StatisticsCommands
from tdqsim.cics.td import TdCommands
from tdqsim.cics.td_bulk import TdBulkRequests
from tdqsim.cics.units import UnitCommands

__all__ = ["Commands"]


class Commands(
    TdCommands,
    TdBulkRequests,
    InquireCommands,
    SetCommands,
    CreateCommands,
    UnitCommands,
    StatisticsCommands,
    FormatTimeCommands,
    HandlingCommands,
    ControlCommands,
    IntervalCommands,
    TextCommands,
):
    """Every command."""

    __slots__ = ()
