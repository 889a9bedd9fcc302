"""INQUIRE TDQUEUE and its browse: START, NEXT and END."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tdqsim.cics.kernel.command import Flag, Name4, Opt, command
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.inquiry import all_visible, browse_end, browse_next, browse_start, inquire_one, receivers
from tdqsim.cics.spi.parts import SpiTask
from tdqsim.cics.spi.requests import may_issue, queue_name
from tdqsim.cics.spi.rows import TdqueueInfo, TdqueueOption
from tdqsim.cics.spi.tdqueue_options import TDQUEUE

__all__ = [
    "browse_tdqueue",
    "inquire_tdqueue",
    "inquire_tdqueue_end",
    "inquire_tdqueue_next",
    "inquire_tdqueue_start",
]

_NOTHING: Final = TdqueueInfo()


@command("INQUIRE TDQUEUE", "NOTAUTH QIDERR", receivers("TDQUEUE"), resource="tdqueue", otherwise=_NOTHING)
def inquire_tdqueue(task: SpiTask, tdqueue: Name4, *options: TdqueueOption, nohandle: bool = False) -> TdqueueInfo:
    """Retrieve information about a queue.

    Args:
        tdqueue: the queue's name.
        options: the options wanted, such as ``"NUMITEMS"``; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The values: CVDAs as :class:`~tdqsim.facts.Cvda`, numbers, and text padded to its length. Options that do not
        apply to the queue's type are NOTAPPLIC, -1 or blanks. Empty after a condition that was not raised.

    Raises:
        Condition: QIDERR 1: there is no such queue; NOTAUTH 100 (command), 101 (queue).
        TdqError: an option that INQUIRE TDQUEUE does not have.
    """
    info: TdqueueInfo = inquire_one(task, TDQUEUE, queue_name(tdqueue), options)
    return info


@command("INQUIRE TDQUEUE START", "ILLOGIC NOTAUTH")
def inquire_tdqueue_start(task: SpiTask, *, nohandle: Flag = False) -> None:
    """Start a browse of all queues.

    Raises:
        Condition: ILLOGIC 1: a browse is open already; NOTAUTH 100.
    """
    browse_start(task, TDQUEUE)


@command(
    "INQUIRE TDQUEUE NEXT",
    "END ILLOGIC",
    receivers("TDQUEUE", TDQUEUE=Opt("name", 4, required=True)),
    otherwise=_NOTHING,
)
def inquire_tdqueue_next(task: SpiTask, *options: TdqueueOption, nohandle: bool = False) -> TdqueueInfo:
    """Retrieve information about the next queue of the browse.

    Args:
        options: as for :func:`inquire_tdqueue`.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The values, with the queue's name (4 characters) as ``tdqueue``.

    Raises:
        Condition: END 2: there are no more; ILLOGIC 1: no browse is open.
    """
    info: TdqueueInfo = browse_next(task, TDQUEUE, options)
    return info


@command("INQUIRE TDQUEUE END", "ILLOGIC")
def inquire_tdqueue_end(task: SpiTask, *, nohandle: Flag = False) -> None:
    """End the browse.

    Raises:
        Condition: ILLOGIC 1: no browse is open.
    """
    browse_end(task, TDQUEUE)


def browse_tdqueue(task: Any, *options: TdqueueOption) -> Iterator[TdqueueInfo]:
    """Iterate over all queues, as a browse does, without occupying the browse of START, NEXT and END.

    Args:
        task: the task.
        options: as for :func:`inquire_tdqueue`.

    Raises:
        Condition: NOTAUTH 100.
    """
    task.region.dispatcher.check_thread()
    may_issue(task, "TDQUEUE", Access.READ)
    yield from map(TdqueueInfo, all_visible(task, TDQUEUE, list(task.region.tdqueues), options))
