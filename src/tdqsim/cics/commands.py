"""All command groups in one class: what a task can do, and, through a task of its own, a region."""

from __future__ import annotations

from tdqsim.cics.kernel.control import ControlCommands
from tdqsim.cics.kernel.formattime import FormatTimeCommands
from tdqsim.cics.kernel.handling import HandlingCommands
from tdqsim.cics.kernel.interval import IntervalCommands
from tdqsim.cics.queues.td import TdCommands
from tdqsim.cics.queues.td_bulk import TdBulkRequests
from tdqsim.cics.spi.create import CreateCommands
from tdqsim.cics.spi.inquire_commands import InquireCommands
from tdqsim.cics.spi.set import SetCommands
from tdqsim.cics.spi.statistics import StatisticsCommands
from tdqsim.cics.spi.uow_commands import UnitCommands
from tdqsim.cics.text.execute import TextCommands

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
