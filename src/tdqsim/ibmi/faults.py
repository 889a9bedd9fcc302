"""Planned faults: messages that otherwise only a real machine would send.

``system.faults`` is None by default. It may be set to any callable with the parameters (job, operation, name, library)
that returns a message or None; :class:`MessagePlan` is a ready-made one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tdqsim.errors import WrongValue
from tdqsim.ibmi.messages import DTAQ, MESSAGES, Message, message

if TYPE_CHECKING:
    from tdqsim.ibmi.job_core import JobBase


class FaultHook(Protocol):
    """A callable for ``system.faults``, such as a MessagePlan; it is called before each API and command."""

    def __call__(self, job: JobBase, operation: str, name: str, library: str, /) -> Message | None:
        """The message that ends the command now, or None to let it continue."""


@dataclass(slots=True)
class _Planned:
    message_id: str
    operation: str
    values: tuple[str | int, ...]
    name: str
    times: int


class MessagePlan:
    """Faults in the order in which they were planned; each occurs a given number of times.

    Example:
        >>> plan = MessagePlan()
        >>> plan.add("CPF9872", operation="QMHQRDQD")
    """

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def add(self, message_id: str, *values: str | int, operation: str = "", name: str = "", times: int = 1) -> None:
        """Plan a fault.

        Args:
            message_id: any message of the message file.
            values: its variables; when there are none, suitable values are generated.
            operation: the API or command in which it occurs, such as ``QRCVDTAQ``; any when empty.
            name: the data queue for which it occurs; any when empty.
            times: how often it occurs.

        Raises:
            ValueError: there is no such message.
        """
        if message_id not in MESSAGES:
            raise WrongValue(f"{message_id!r}: there is no such message; facts/cpf_messages.tsv lists them")
        self._planned.append(_Planned(message_id, operation, values, name, times))

    def __call__(self, job: JobBase, operation: str, name: str, library: str) -> Message | None:
        """The next planned fault for this operation and queue, or None."""
        for fault in self._planned:
            if fault.operation in ("", operation) and fault.name in ("", name):
                fault.times -= 1
                if fault.times <= 0:
                    self._planned.remove(fault)
                values = fault.values or _default_values(fault.message_id, operation, name, library)
                return message(fault.message_id, *values, page=job.page)
        return None


def _default_values(message_id: str, operation: str, name: str, library: str) -> tuple[str | int, ...]:
    known: dict[str, tuple[str | int, ...]] = {
        "CPF9872": (operation, "QSYS", 1), "CPF9830": (library,), "CPF2151": (library, name, DTAQ),
        "CPF2207": (name, DTAQ, library), "CPF9810": (library,), "CPF9820": (library,),
        "CPF8147": (name, "00000000", "Full", library),
    }  # fmt: skip
    if message_id in known:
        return known[message_id]
    variables = [(kind, length) for kind, length in MESSAGES[message_id].data if length]
    words = iter((name, library, DTAQ))
    return tuple(0 if kind == "B" else next(words, "") for kind, _ in variables)
