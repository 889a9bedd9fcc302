"""INQUIRE TDQUEUE and its browse: START, NEXT and END."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tdqsim.cics.kernel.authority import check_command
from tdqsim.cics.kernel.command import Name4, Opt, command
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.spi.inquiry import BrowseCommands, all_visible, browse_command, inquire_one, receivers
from tdqsim.cics.spi.requests import queue_name
from tdqsim.cics.spi.tdqueue_options import TDQUEUE
from tdqsim.facts.inquiries import TdqueueInfo, TdqueueOption

_NOTHING: Final = TdqueueInfo()


@command("INQUIRE TDQUEUE", "NOTAUTH QIDERR", receivers("TDQUEUE"), resource="tdqueue", otherwise=_NOTHING)
def inquire_tdqueue(task: TaskBase, tdqueue: Name4, *options: TdqueueOption, nohandle: bool = False) -> TdqueueInfo:
    """Retrieve information about a queue.

    Args:
        tdqueue: the queue's name.
        options: the options to return, such as ``"NUMITEMS"``; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        The values: CVDAs as :class:`~tdqsim.facts.Cvda`, numbers, and text padded to its length. Options that do not
        apply to the queue's type are NOTAPPLIC, -1 or blanks. The result is empty after a condition that was not
        raised.

    Raises:
        Condition: QIDERR 1: there is no such queue; NOTAUTH 100 (command), 101 (queue).
        TdqError: INQUIRE TDQUEUE does not have an option of that name.
    """
    return inquire_one(task, TDQUEUE, queue_name(tdqueue), options)


_BROWSE: Final = BrowseCommands[TdqueueOption, TdqueueInfo](
    TDQUEUE, "queues", __name__, receives=Opt("name", 4, required=True)
)
inquire_tdqueue_start = browse_command(_BROWSE.start)
inquire_tdqueue_next = browse_command(_BROWSE.next)
inquire_tdqueue_end = browse_command(_BROWSE.end)


def browse_tdqueue(task: TaskBase, *options: TdqueueOption) -> Iterator[TdqueueInfo]:
    """Iterate over all queues, as a browse does, without occupying the browse of START, NEXT and END.

    Args:
        task: the task.
        options: as for :func:`inquire_tdqueue`.

    Raises:
        Condition: NOTAUTH 100.
    """
    task._region.dispatcher.check_thread()
    check_command(task, "TDQUEUE", Access.READ)
    yield from map(TdqueueInfo, all_visible(task, TDQUEUE, list(task._region.tdqueues), options))
