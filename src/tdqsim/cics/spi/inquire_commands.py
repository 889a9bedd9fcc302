"""INQUIRE TDQUEUE and its browse: START, NEXT and END.

A browse belongs to the task that started it (or to the region, for commands outside a task) and there is one at a
time. It walks over the queues that were installed at START in the region's order; a queue that is discarded meanwhile
is not returned, one that is installed meanwhile does not appear. After the last one every NEXT gives END, until END
ends the browse. Queues that the user may not read are passed over. Source: INQUIRE TDQUEUE, Browsing resource
definitions (IBM Docs); where they are silent the rules say what was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.command import CommandGroup, Flag, Name4, Opt, OptionKind, command
from tdqsim.cics.kernel.eib import Completion
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.inquire import TdqueueInfo, inquire_values
from tdqsim.cics.spi.requests import find_queue, may_issue, queue_name, refusal
from tdqsim.facts import EIBFN, INQUIRE_TDQUEUE_OPTIONS, Resp

if TYPE_CHECKING:
    from tdqsim.cics.queues.kinds import TdQueue
    from tdqsim.cics.region import Region

__all__ = ["Browse", "InquireCommands", "open_browses"]

_INQUIRE: Final = "INQUIRE TDQUEUE"
_START, _NEXT, _END = f"{_INQUIRE} START", f"{_INQUIRE} NEXT", f"{_INQUIRE} END"
_FN: Final = EIBFN[_INQUIRE]
_NO_RCODE: Final = bytes(6)
_KINDS: Final[dict[str, OptionKind]] = {"CVDA": "cvda", "CHAR": "name", "BINARY": "fullword", "ABSTIME": "abstime"}
_RECEIVERS: Final = {
    option.name: Opt(_KINDS[option.receiver], option.length) for option in INQUIRE_TDQUEUE_OPTIONS.values()
}


class Browse:
    """One browse: the queues still to be returned."""

    __slots__ = ("_names", "_region", "_user")

    def __init__(self, region: Region, user: str) -> None:
        self._region = region
        self._user = user
        self._names = iter(list(region.tdqueues))

    def next(self) -> TdQueue | None:
        """The next queue that is still there and may be seen; None after the last."""
        queues, security = self._region.tdqueues, self._region.security
        for name in self._names:
            queue = queues.get(name)
            if queue is not None and (security is None or security.may_access(self._user, name, Access.READ)):
                return queue
        return None


class InquireCommands(CommandGroup):
    """INQUIRE TDQUEUE in its four forms."""

    __slots__ = ()

    if TYPE_CHECKING:
        _queues: dict[str, Any]
        outside: bool

        implicit: bool
        browses: dict[str, Any]

        def let_others_run(self) -> None:
            """Give ready tasks their turn: see the task."""

    @command(_INQUIRE, "NOTAUTH QIDERR", _RECEIVERS)
    def inquire_tdqueue(self, tdqueue: Name4, *options: str, nohandle: bool = False) -> TdqueueInfo:
        """Retrieve information about a queue.

        Args:
            tdqueue: the queue's name.
            options: the options wanted, such as ``"NUMITEMS"``; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Returns:
            The values: CVDAs as :class:`~tdqsim.facts.Cvda`, numbers, and text padded to its length. Options that do
            not apply to the queue's type are NOTAPPLIC, -1 or blanks. Empty after a condition that was not raised.

        Raises:
            Condition: QIDERR 1: there is no such queue; NOTAUTH 100 (command), 101 (queue).
            TdqError: an option that INQUIRE TDQUEUE does not have.
        """
        queue, region = self._queues.get(tdqueue), self.region
        if queue is not None and region.unguarded:
            info = TdqueueInfo(inquire_values(region, queue, options))
            self.eib.last = Completion(_FN, tdqueue, Resp.NORMAL, 0, _NO_RCODE)
            if self.outside:
                self.let_others_run()
            return info
        name = queue_name(tdqueue)
        return self.issue(
            _INQUIRE,
            lambda: _inquire(self.region, self.userid, name, options),
            resource=name,
            nohandle=nohandle,
            otherwise=TdqueueInfo(),
            arguments={"tdqueue": name, "options": options},
        )

    @command(_START, "ILLOGIC NOTAUTH")
    def inquire_tdqueue_start(self, *, nohandle: Flag = False) -> None:
        """Start a browse of all queues.

        Raises:
            Condition: ILLOGIC 1: a browse is open already; NOTAUTH 100.
        """
        self.issue(_START, lambda: _start(self), nohandle=nohandle, otherwise=None)

    @command(_NEXT, "END ILLOGIC", {"TDQUEUE": Opt("name", 4, required=True), **_RECEIVERS})
    def inquire_tdqueue_next(self, *options: str, nohandle: bool = False) -> TdqueueInfo:
        """Retrieve information about the next queue of the browse.

        Args:
            options: as for :meth:`inquire_tdqueue`.
            nohandle: return with the response in the EIB instead of raising.

        Returns:
            The values, with the queue's name (4 characters) as ``tdqueue``.

        Raises:
            Condition: END 2: there are no more; ILLOGIC 1: no browse is open.
        """
        return self.issue(
            _NEXT, lambda: _next(self, options), nohandle=nohandle, otherwise=TdqueueInfo(),
            arguments={"options": options},
        )  # fmt: skip

    @command(_END, "ILLOGIC")
    def inquire_tdqueue_end(self, *, nohandle: Flag = False) -> None:
        """End the browse.

        Raises:
            Condition: ILLOGIC 1: no browse is open.
        """
        self.issue(_END, lambda: _end(self), nohandle=nohandle, otherwise=None)

    def browse_tdqueue(self, *options: str) -> Iterator[TdqueueInfo]:
        """Iterate over all queues, as a browse does, without occupying the browse of START, NEXT and END.

        Args:
            options: as for :meth:`inquire_tdqueue`.

        Raises:
            Condition: NOTAUTH 100.
        """
        region, user = self.region, self.userid
        may_issue(region, user, "TDQUEUE", Access.READ)
        browse = Browse(region, user)
        while (queue := browse.next()) is not None:
            yield _info(region, queue, options)


def _inquire(region: Region, user: str, name: str, options: tuple[str, ...]) -> TdqueueInfo:
    queue = find_queue(region, user, _INQUIRE, name, Access.READ)
    return TdqueueInfo(inquire_values(region, queue, options))


def _info(region: Region, queue: TdQueue, options: tuple[str, ...]) -> TdqueueInfo:
    return TdqueueInfo({"TDQUEUE": queue.name.ljust(4)} | inquire_values(region, queue, options))


def _sequence_error(detail: str) -> Exception:
    return refusal(_INQUIRE, "browse sequence", detail)


def open_browses(task: Any) -> dict[str, Any]:
    """The browses of whoever issues the command: the task, or the region for commands outside a task."""
    found: dict[str, Any] = task.region.browses if task.implicit else task.browses
    return found


def _start(task: InquireCommands) -> None:
    may_issue(task.region, task.userid, "TDQUEUE", Access.READ)
    browses = open_browses(task)
    if _INQUIRE in browses:
        raise _sequence_error("a browse of queues is open already")
    browses[_INQUIRE] = Browse(task.region, task.userid)


def _next(task: InquireCommands, options: tuple[str, ...]) -> TdqueueInfo:
    browse = open_browses(task).get(_INQUIRE)
    if browse is None:
        raise _sequence_error("no browse of queues is open; START one first")
    queue = browse.next()
    if queue is None:
        raise refusal(_INQUIRE, "no more", "there are no more queues")
    return _info(task.region, queue, options)


def _end(task: InquireCommands) -> None:
    if open_browses(task).pop(_INQUIRE, None) is None:
        raise _sequence_error("no browse of queues is open")
