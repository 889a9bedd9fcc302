"""Planned faults: the messages that only a real machine could give.

A system has one slot, empty by default: ``system.faults``. Anything callable with (job, operation, name, library) that
returns a message or None fits; :class:`MessagePlan` is the ready-made one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tdqsim.ibmi.messages import DTAQ, MESSAGES, Message, message

if TYPE_CHECKING:
    from tdqsim.ibmi._job_core import JobBase

__all__ = ["FaultHook", "MessagePlan"]


class FaultHook(Protocol):
    """What may be put into ``system.faults``, and is asked before each API and command: such as a MessagePlan."""

    def __call__(self, job: JobBase, operation: str, name: str, library: str, /) -> Message | None:
        """The message that ends the command now, or None to let it go on."""


@dataclass(slots=True)
class _Planned:
    message_id: str
    operation: str
    values: tuple[str | int, ...]
    name: str
    times: int


class MessagePlan:
    """Faults in the order in which they were planned; each happens a number of times and is then over.

    Example:
        >>> plan = MessagePlan()
        >>> plan.add("CPF9872", operation="QMHQRDQD")
    """

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def add(self, message_id: str, *values: str | int, operation: str = "", name: str = "", times: int = 1) -> None:
        """Plan a fault.

        Args:
            message_id: the message; any of the message file.
            values: its variables; sensible ones are made up when there are none.
            operation: only in this API or command, such as ``QRCVDTAQ``; any when empty.
            name: only for this data queue; any when empty.
            times: how often it happens.

        Raises:
            ValueError: there is no such message.
        """
        if message_id not in MESSAGES:
            raise ValueError(f"{message_id!r}: there is no such message; facts/cpf_messages.tsv lists them")
        self._planned.append(_Planned(message_id, operation, values, name, times))

    def __call__(self, job: JobBase, operation: str, name: str, library: str) -> Message | None:
        """The next planned fault that is due here."""
        for fault in self._planned:
            if fault.operation in ("", operation) and fault.name in ("", name):
                fault.times -= 1
                if fault.times <= 0:
                    self._planned.remove(fault)
                values = fault.values or _made_up(fault.message_id, operation, name, library)
                return message(fault.message_id, *values, page=job.page)
        return None


def _made_up(message_id: str, operation: str, name: str, library: str) -> tuple[str | int, ...]:
    known: dict[str, tuple[str | int, ...]] = {
        "CPF9872": (operation, "QSYS", 1), "CPF9830": (library,), "CPF2151": (library, name, DTAQ),
        "CPF2207": (name, DTAQ, library), "CPF9810": (library,), "CPF9820": (library,),
    }  # fmt: skip
    if message_id in known:
        return known[message_id]
    variables = [(kind, length) for kind, length in MESSAGES[message_id].data if length]
    words = iter((name, library, DTAQ))
    return tuple(0 if kind == "B" else next(words, "") for kind, _ in variables)
