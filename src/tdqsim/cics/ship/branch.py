"""Another region as a participant in a unit of work: a syncpoint prepares it, then commits it or backs it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.ship.messages import Fields, raise_failure
from tdqsim.core.transport import LinkDown

if TYPE_CHECKING:
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.cics.ship.remote import LinkEnd
    from tdqsim.core.fiber import Fiber


class Branch:
    """Another region as a participant in a unit of work of this region.

    Attributes:
        name: the connection to that region.
        system: this region's end of the link; replaced when the other region is restarted.
        began: whether a request has reached the other region.
        held: whether the other region has work that must be committed or backed out.
        under_way: whether the last request has reached the other region.
        waiter: the fiber that waits for the reply to a request, or None.
        asked: the last request: its command and the name of the resource.
    """

    __slots__ = ("_key", "_lost", "_uow", "asked", "began", "held", "name", "system", "under_way", "waiter")

    def __init__(self, system: LinkEnd, uow: UnitOfWork) -> None:
        self.name = system.name
        self.system = system
        self.waiter: Fiber | None = None
        self.asked = ("", "")
        self._uow = uow
        self._key = system.name_of(uow)
        self._lost = False
        self.began = self.held = self.under_way = False

    @property
    def is_lost(self) -> bool:
        """Whether the unit of work can only be backed out."""
        return self._lost

    @property
    def has_ended(self) -> bool:
        """Whether the unit of work has ended here; a new link resynchronises its decision."""
        return self._uow.ended

    def link_lost(self) -> None:
        """The link was lost before the unit of work ended: it can only be backed out now."""
        self._lost = True
        if self.waiter is not None:
            self.waiter.cancel(LinkDown(f"{self.system!r}: the request was under way"))

    def ship(self, task: TaskData, request: Fields, data: bytes) -> bytes:
        """Send a request and return its reply.

        When a program that LINK runs abends and has work to commit or back out, the unit of work can only be backed
        out.

        Raises:
            Condition: the other region's answer.
            LinkDown: the request or its answer was lost.
        """
        system = self.system
        self.under_way = False
        if self._lost:
            raise LinkDown(f"{system!r}: it was lost during this unit of work")
        self.waiter, self.asked = task._region.dispatcher.current, (request["command"], request["queue"])
        try:
            answer = system.ask("REQUEST", {"key": self._key, **request}, data, task=task, went=self._went)
        except LinkDown:
            self._lost = True
            raise
        except BaseException:  # for example a purge: it is not known whether the request was carried out
            self._lost = self.held = self.began
            system.say("ABANDON", {"key": self._key})
            raise
        finally:
            self.waiter = None
        self.held = answer.fields["held"]
        if self.held and request["command"] == "LINK" and answer.fields["failure"].startswith("ABEND"):
            self._lost = True
        raise_failure(answer)
        return answer.data

    def _went(self) -> None:
        self.began = self.under_way = True

    def prepare(self) -> bool:
        """See :class:`~tdqsim.cics.model.unit.Participant`."""
        if self._lost:
            return False
        try:
            answer = self.system.ask("PREPARE", {"key": self._key})
        except LinkDown:
            return False
        raise_failure(answer)
        return bool(answer.fields["vote"])

    def commit(self) -> None:
        """Commit there: see ``Participant``. A decision without acknowledgement is kept until the link is back."""
        self._tell("COMMIT")

    def back_out(self) -> None:
        """Back out there: see ``Participant``. It is not recorded: no record means backout (presumed abort)."""
        self._tell("BACKOUT")

    def _tell(self, decision: str) -> None:
        """Send the decision, even when the link was lost meanwhile and is back: the other region may be in doubt."""
        system = self.system
        system.branches.pop(self._uow.id, None)
        if self._lost and not system.link.acquired:
            return
        late: list[Exception] = []
        try:
            answer = system.ask(decision, system.decided_by(self._key), late=late)
        except LinkDown:
            pass
        else:
            if decision == "COMMIT" and answer.fields["done"]:
                system.note_acknowledged(self._uow.id)
        if late:
            raise late[0]
