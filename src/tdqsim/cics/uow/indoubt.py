"""Indoubt units of work: their outcome when the coordinator cannot be reached, and resynchronization afterwards.

A unit of work is indoubt from its prepare to its coordinator's decision. If the coordinator is lost in between, the
attributes of the transaction and of every logically recoverable queue that the unit of work used decide::

    TRANSACTION WAIT   TDQUEUE WAIT of the queues   Outcome             Task's abend   Message
    NO                 any                          ACTION, at once     ASPO or ASPP   DFHAC2232 or DFHAC2233
    YES                a NO among them              ACTION, at once     ASPO or ASPP   DFHAC2232 or DFHAC2233
    YES                all YES                      SHUNTED             ASP1           DFHAC2231

(The manuals differ about a mix of YES and NO. The simulator shunts the unit of work only if all of them are YES.) A
shunted unit of work keeps its locks: retained on queues with WAITACTION(REJECT), active with WAITACTION(QUEUE). It ends
in one of three ways: the link is back and the coordinator gives its decision, an operator decides with SET UOW, or
WAITTIME expires and ACTION decides. A coordinator that was started INITIAL in the meantime has lost the decision; then
only SET UOW and WAITTIME remain.

A decision taken without the coordinator (at once, by SET UOW, by WAITTIME) is *heuristic*: it is kept as HEURCOMMIT or
HEURBACKOUT until the coordinator's decision is known, so that a different decision (heuristic damage) is reported. A
coordinator keeps its own decision to commit until all participants have acknowledged it. INQUIRE UOW shows both kinds
as WAITING, also after a restart. An indoubt unit of work that itself has participants survives a start with empty
queues, without its records, because the participants will ask for the decision.

Sources: TRANSACTION attributes, INQUIRE TDQUEUE (INDOUBT, INDOUBTWAIT), SET UOW (IBM Docs); DFHAC2231-2233.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.conditions import Abend
from tdqsim.cics.model.unit import UOW_ID_LENGTH, Facts, Meta, Record, UnitOfWork
from tdqsim.core.named import NamedTuple
from tdqsim.errors import RegionClosed, StoreDamaged, StoreError, UsageError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData as Region
    from tdqsim.cics.model.task import TaskData

SHUNT: Final = "SHUNTED"
UNILATERAL: Final = "ACTION"

OUTCOMES: Final[dict[tuple[str, bool], str]] = {
    # (TRANSACTION WAIT, whether every queue has WAIT(YES)): the outcome of the unit of work
    ("YES", True): SHUNT,
    ("YES", False): UNILATERAL,
    ("NO", True): UNILATERAL,
    ("NO", False): UNILATERAL,
}
_ABENDS: Final = {  # outcome, ACTION: the task's abend and the message
    (SHUNT, "COMMIT"): ("ASP1", "DFHAC2231"),
    (SHUNT, "BACKOUT"): ("ASP1", "DFHAC2231"),
    (UNILATERAL, "COMMIT"): ("ASPO", "DFHAC2232"),
    (UNILATERAL, "BACKOUT"): ("ASPP", "DFHAC2233"),
}
_HEURISTIC: Final = {"COMMIT": Cvda.HEURCOMMIT, "BACKOUT": Cvda.HEURBACKOUT}
_DECISIONS: Final = b"decided/"
_UNDECIDED: Final = b"decided/not/"
"""Undecided units of work that other regions will ask about; these records survive a cold start, as decisions do."""
_HEURISTICS: Final = b"heur/"
LOG_BEGAN: Final = b"region/log"
"""The key of the highest unit-of-work id before the log began, that is, before the last initial start."""


class HeuristicDamage(NamedTuple):
    """A unit of work that was decided here without its coordinator, which then decided differently.

    Attributes:
        uow: its id in this region.
        here: the decision of this region: COMMIT or BACKOUT.
        coordinator: the decision of the coordinator: the opposite one.
    """

    uow: bytes
    here: str
    coordinator: str


class Subordinate:
    """A region's part in a unit of work that is coordinated by another region or by a program outside CICS.

    The states are those of :mod:`~tdqsim.cics.model.unit`. A region in the middle of a chain passes each phase on to
    the regions behind it. It keeps their names, so that it can send them the decision after a restart too.

    Attributes:
        uow: the unit of work in this region.
        name: the coordinator's name for it.
    """

    __slots__ = ("name", "uow")

    def __init__(self, uow: UnitOfWork, name: str, link: str = "") -> None:
        self.uow = uow
        self.name = name
        uow.coordinator = name
        uow.link = link

    @property
    def _region(self) -> Region:
        """The region of the unit of work."""
        return self.uow._region

    @property
    def state(self) -> Cvda:
        """UOWSTATE."""
        return self.uow.state

    def prepare(self) -> bool:
        """Prepare to commit or back out; False if that is not possible: the unit of work has then been backed out.

        Raises:
            UsageError: it is not INFLIGHT.
            RegionClosed: its region has ended; the next region that starts on the store restores what was prepared.
        """
        uow = self.uow
        self._check_open("prepare")
        if uow.state is not Cvda.INFLIGHT or uow.ended:
            raise UsageError(f"{uow.title} is {uow.state.name}; only one that is INFLIGHT can be prepared")
        prepared = _prepare_participants(uow)
        if self.uow.ended:
            return False  # its coordinator was lost while the participants prepared
        if not prepared:
            back_out_together(uow)
            return False
        try:
            uow.prepare(_undecided(uow) if uow.decision else None)
        except StoreError as error:
            self._region.notices.say("prepare_failed", uow=uow.id.hex().upper(), reason=str(error))
            self._region.shunted.pop(uow.id, None)  # a lost link may have shunted it; no promise was made
            _back_out_anyhow(uow)
            return False
        return True

    def commit(self) -> None:
        """Commit, as the coordinator has decided. Does nothing if the unit of work is committed already.

        Raises:
            UsageError: it is INFLIGHT, or was backed out.
            StoreError: the store refused the commit; the unit of work is still indoubt.
        """
        self._decided(commit=True)

    def back_out(self) -> None:
        """Back out, as the coordinator has decided. The unit of work may still be INFLIGHT.

        Raises:
            UsageError: it was committed.
            StoreError: the store refused the commit; the unit of work is still indoubt.
        """
        if self.uow.state is Cvda.INFLIGHT and not self.uow.ended:
            self._check_open("back_out")
            back_out_together(self.uow)
            return
        self._decided(commit=False)

    def _decided(self, *, commit: bool) -> None:
        uow = self.uow
        self._check_open("commit" if commit else "back_out")
        if uow.state in (Cvda.HEURCOMMIT, Cvda.HEURBACKOUT):
            _compare(self._region, uow.id, commit=commit)
            return
        if not uow.ended:
            _decide(uow, commit=commit)
        elif commit is not (uow.state is Cvda.COMMIT):
            done, wanted = ("backed out", "committed") if commit else ("committed", "backed out")
            raise UsageError(f"{uow.title} was {done}; it cannot be {wanted} any more")

    def _check_open(self, what: str) -> None:
        if self._region.closed:
            raise RegionClosed(f"{what}: the region {self._region.applid} is closed")

    def forget(self) -> None:
        """Delete the record of a heuristic decision, because the coordinator no longer needs it.

        Raises:
            UsageError: it has not been decided yet.
        """
        self._check_open("forget")
        if not self.uow.ended:
            raise UsageError(f"{self.uow.title} is {self.state.name}; only one that has been decided can be forgotten")
        _forget(self._region, self.uow.id)

    def lose_coordinator(self) -> Abend | None:
        """The coordinator cannot be reached any more: back out if INFLIGHT, else follow the table of this module.

        Returns:
            The abend of the unit of work's task; None if the unit of work was not indoubt.
        """
        uow = self.uow
        self._check_open("lose_coordinator")
        if uow.ended or uow.waitstate is Cvda.SHUNTED or uow.state in (Cvda.COMMIT, Cvda.BACKOUT):
            return None  # decided, although it may not have ended yet
        if uow.state is not Cvda.INDOUBT:
            back_out_together(uow)
            return None
        return coordinator_lost(uow)


def hand_over(task: TaskData, name: str) -> Subordinate:
    """Hand a task's unit of work to a coordinator outside CICS; the task's next request begins another.

    Args:
        task: the task whose unit of work is transferred.
        name: the coordinator's own name for it.

    Raises:
        UsageError: the task has ended, the name is empty, or another unfinished unit of work has the same name.
    """
    region = task._region
    if task._ended:
        raise UsageError(f"task {task.number} {task.transid} has ended; it has no unit of work to hand over")
    if not name:
        raise UsageError("the coordinator's name for a unit of work is 1 character or more")
    if any(uow.coordinator == name for uow in units_of_work(region)):
        raise UsageError(f"a unit of work that its coordinator calls {name} is unfinished; each needs a different name")
    uow = task._uow
    task._unit = None
    return Subordinate(uow, name)


def tell_participants(uow: UnitOfWork, *, commit: bool) -> None:
    """Pass the decision on to the participants: to all of them, even if one of them raises an exception.

    A region that has failed sends nothing.
    """
    if uow._region.failed:
        uow.notified = True
        return
    late: BaseException | None = None
    for participant in uow.participants:
        try:
            if commit:
                participant.commit()
            else:
                participant.back_out()
        except BaseException as error:  # noqa: BLE001  (raised when all have been notified)
            late = late or error
    uow.notified = late is None
    if late is not None:
        raise late


def _end_together(uow: UnitOfWork, end: Callable[[], None]) -> None:
    """End a unit of work and notify the participants, even if its task is purged or its region closed meanwhile.

    Raises:
        StoreError: the store refused the commit. An indoubt unit of work stays indoubt, and no region was notified; any
            other was backed out.
    """
    late: BaseException | None = None
    try:
        end()
    except BaseException as error:
        if not uow.ended:
            raise
        late = error  # too late to change the outcome: a purge or an interrupt after the commit was made
    tell_participants(uow, commit=uow.state is Cvda.COMMIT)
    if late is not None:
        raise late


def _decide(uow: UnitOfWork, *, commit: bool, also: Meta | None = None) -> None:
    """End an INDOUBT unit of work and notify its participants; a shunted one, which has no task, commits at once."""
    meta: Meta = dict(also or {})
    if uow.decision and not commit:
        meta[_UNDECIDED + uow.id] = None
    with uow._region.committer.at_once() if uow.waitstate is Cvda.SHUNTED else nullcontext():
        _end_together(uow, partial(uow.decide, commit=commit, also=meta))


def back_out_together(uow: UnitOfWork) -> None:
    """Back out a unit of work, here and at its participants.

    Raises:
        StoreError: the store could not record the backout; the unit of work was backed out in memory, and a restart
            does the same.
    """
    _end_together(uow, uow.back_out)


def _back_out_anyhow(uow: UnitOfWork) -> None:
    """Back out a unit of work that could not be prepared. If the store cannot record it, a restart backs it out too."""
    if uow.ended:
        return
    try:
        back_out_together(uow)
    except StoreError as error:
        values: dict[str, Any] = {"uow": uow.id.hex().upper(), "reason": str(error)}
        uow._region.notices.say("backout_not_recorded", whose=uow.title, **values)


def _prepare_participants(uow: UnitOfWork) -> bool:
    """Prepare all participants, and record their names: the decision must be sent to each of them."""
    for participant in uow.participants:
        if not participant.prepare():
            return False
    uow.decision = tuple(dict.fromkeys(participant.name for participant in uow.participants))
    if uow.decision:
        uow.at_commit = (*uow.at_commit, partial(decision_kept, uow))
    return True


def commit_together(uow: UnitOfWork) -> bool:
    """The coordinator's two-phase commit; False if a participant refused and everything was backed out.

    Raises:
        StoreError: the decision could not be written; everything was backed out.
    """
    try:
        prepared = _prepare_participants(uow)
    except Exception:  # such as a purge while another region prepared: nothing is decided yet, so back out
        back_out_together(uow)
        raise
    if not prepared:
        back_out_together(uow)
        return False
    _end_together(uow, uow.commit)
    return True


def coordinator_lost(uow: UnitOfWork) -> Abend:
    """End or shunt an indoubt unit of work according to :data:`OUTCOMES`, and return the abend of its task."""
    region = uow._region
    all_wait = all(lock.queue.wait == "YES" for lock in uow.locks)  # a refused request left no lock
    outcome = OUTCOMES["YES" if uow.wait else "NO", all_wait]
    code, message = _ABENDS[outcome, uow.action]
    inserts = {"transid": uow.transid, "abcode": code, "termid": uow.termid, "program": uow.transid}
    if outcome == SHUNT:
        region.ati.hold(uow)
        try:
            uow.shunt(link=uow.link)
        except Exception:
            uow.retain_locks()  # such as a purge of a task that waits for the store: it is shunted nevertheless
            raise
        finally:
            _start_waittime(uow)
    else:
        _decide_alone(uow, uow.action)
    region.messages.write(message, **inserts)
    detail = f"{uow.title}: the coordinator {uow.coordinator or '(unknown)'} was lost while it was indoubt"
    return Abend(code, detail=detail, cancel=True)


def _start_waittime(uow: UnitOfWork) -> None:
    """Set the timer that ends a shunted unit of work after WAITTIME, counted from the moment it was shunted."""
    if uow.waittime is None:
        return

    def over() -> None:
        if not uow.ended and not uow._region.closed:
            uow._region.log.info("waittime_over", uow=uow.id.hex().upper(), action=uow.action)
            try:
                _decide_alone(uow, uow.action)
            except StoreError as error:  # it stays shunted until SET UOW or the coordinator ends it
                uow._region.notices.say("waittime_not_carried_out", uow=uow.id.hex().upper(), reason=str(error))

    uow._region.dispatcher.call_at(uow.since_ns + uow.waittime * 10**9, over, passive=True)


def force(uow: UnitOfWork, how: str) -> None:
    """SET UOW: decide a shunted unit of work without its coordinator.

    Args:
        uow: one that is shunted while indoubt.
        how: COMMIT, BACKOUT, or FORCE, which takes ACTION of its transaction.

    Raises:
        UsageError: it is not shunted while indoubt.
    """
    if uow.ended or uow.state is not Cvda.INDOUBT or uow.waitstate is not Cvda.SHUNTED:
        raise UsageError(f"{uow.title} is {uow.state.name} {uow.waitstate.name}; it must be shunted while indoubt")
    _decide_alone(uow, uow.action if how == "FORCE" else how)


def _decide_alone(uow: UnitOfWork, how: str) -> None:
    """Decide without the coordinator, and record the decision for the coordinator in the same commit."""
    region = uow._region
    also: Meta = {}
    if uow.coordinator:  # if it is unknown, its decision can never be compared with this one
        record = {"state": how, "coordinator": uow.coordinator, "link": uow.link, **_whose(uow)}
        also[_HEURISTICS + uow.id] = json.dumps(record).encode()
    try:
        _decide(uow, commit=how == "COMMIT", also=also)
    finally:
        if uow.ended:
            uow.state = _HEURISTIC[how]
            whose: dict[str, Any] = {"uow": uow.id.hex().upper(), "decision": how, "coordinator": uow.coordinator}
            region.notices.say("unilateral_decision", **whose)


# -- records of decisions ---------------------------------------------------------------------------------------------


def _read(region: Region, key: bytes, value: bytes) -> Record:
    try:
        record: Record = json.loads(value)
    except ValueError as error:
        raise StoreDamaged(f"{region.store.path}: the record {key!r} cannot be read: {error}") from error
    return record


_OF_A_UNIT: Final = ("transid", "userid", "termid", "taskid")
"""The answer of INQUIRE UOW for a unit of work of which only a record is left."""


def _whose(uow: UnitOfWork) -> Record:
    """The task of the unit of work, and the time from which it waits for other regions."""
    return {"since": uow._region.clock.time_ns(), **{name: getattr(uow, name) for name in _OF_A_UNIT}}


def decision_kept(uow: UnitOfWork) -> Meta:
    """The record of the decision to commit, in the commit itself: the regions that must still be notified."""
    record = {"names": uow.decision, **_whose(uow)}
    return {_DECISIONS + uow.id: json.dumps(record).encode(), _UNDECIDED + uow.id: None}


_FATE: Final = ("coordinator", "link", "decision", "wait", "waittime", "action")
"""The attributes that decide an indoubt unit of work, and the regions to notify."""


def _undecided(uow: UnitOfWork) -> Meta:
    """The record of an undecided unit of work, written with its prepare; a cold start keeps only this record of it."""
    record = {**{name: getattr(uow, name) for name in _FATE}, **_whose(uow)}
    return {_UNDECIDED + uow.id: json.dumps(record).encode()}


def _load_undecided(region: Region) -> None:
    """After a start with empty queues, restore indoubt units of work without records: participants wait for them."""
    for uow_id, kept in list(_kept(region, _UNDECIDED)):
        if uow_id not in region.shunted:
            uow = _waiting_unit(region, uow_id, kept, Cvda.INDOUBT, Cvda.CONNECTION, kept["link"])
            uow.waitstate, uow.ended, uow.finished = Cvda.SHUNTED, False, False
            uow.coordinator, uow.link, uow.decision = kept["coordinator"], kept["link"], tuple(kept["decision"])
            region.shunted[uow_id] = uow
            region.recovery.reserve_id(uow_id)


def acknowledged(region: Region, uow_id: bytes, name: str) -> None:
    """Record that a region has acknowledged the decision; when all have, the decision is deleted.

    The change is made with the next commit and so costs no sync. If this region fails before that, it sends the
    decision again; a region that has acknowledged it ignores the repetition.
    """
    key = _DECISIONS + uow_id
    value = region.committer.get_meta(key)
    if value is None:
        return
    record = _read(region, key, value)
    record["names"] = [each for each in record["names"] if each != name]
    region.committer.note(key, json.dumps(record).encode() if record["names"] else None)


def decisions(region: Region) -> dict[bytes, tuple[str, ...]]:
    """The decisions to commit that are kept, each with the connections whose regions have not acknowledged it."""
    return {uow_id: tuple(record["names"]) for uow_id, record in _kept(region, _DECISIONS)}


def decision_of(region: Region, uow_id: bytes) -> str:
    """The outcome of a unit of work that this region coordinated.

    Returns:
        COMMIT, BACKOUT, INDOUBT while it is undecided, or COLD if an initial start has discarded the log since: then a
        missing record does not mean BACKOUT.
    """
    committer = region.committer
    if committer.get_meta(_DECISIONS + uow_id) is not None:
        return "COMMIT"
    if uow_id in region.shunted or uow_id in region.units:
        return "INDOUBT"
    return "COLD" if uow_id <= (committer.get_meta(LOG_BEGAN) or b"") else "BACKOUT"


def heuristics(region: Region) -> dict[bytes, Record]:
    """The records of decisions taken here without the coordinator, by unit-of-work id."""
    return dict(_kept(region, _HEURISTICS))


def _kept(region: Region, prefix: bytes) -> Iterator[tuple[bytes, Record]]:
    for key, value in region.committer.metas(prefix):
        if len(key) == len(prefix) + UOW_ID_LENGTH:
            yield key[len(prefix) :], _read(region, key, value)


def decided_alone(region: Region, coordinator: str) -> UnitOfWork | None:
    """The ended unit of work with this coordinator's name that was decided here without it, or None."""
    for uow_id, kept in heuristics(region).items():
        if kept["coordinator"] == coordinator:
            return _heuristic_unit(region, uow_id, kept)
    return None


def units_of_work(region: Region) -> list[UnitOfWork]:
    """All units of work: in flight in order of age, shunted, then the ended ones that wait for other regions."""
    return [*region.units_of_work(), *kept_units(region)]


def kept_units(region: Region) -> list[UnitOfWork]:
    """Units of work that have ended here and wait for other regions: for a decision, or for acknowledgements.

    One that was decided without its coordinator is HEURCOMMIT or HEURBACKOUT and waits for the connection to it. One
    that this region coordinated is COMMIT and waits until all participants have acknowledged (WAITFORGET). Which CVDAs
    describe the wait is unconfirmed.
    """
    alone = [_heuristic_unit(region, uow_id, kept) for uow_id, kept in heuristics(region).items()]
    units = [uow for uow in alone if uow.id not in region.units]
    for uow_id, kept in _kept(region, _DECISIONS):
        if uow_id not in region.units and uow_id not in region.shunted:
            link = next(iter(kept["names"]), "")
            uow = _waiting_unit(region, uow_id, kept, Cvda.COMMIT, Cvda.WAITFORGET, link)
            uow.decision = tuple(kept["names"])
            units.append(uow)
    return units


def _heuristic_unit(region: Region, uow_id: bytes, kept: Record) -> UnitOfWork:
    uow = _waiting_unit(region, uow_id, kept, _HEURISTIC[kept["state"]], Cvda.CONNECTION, kept["link"])
    uow.coordinator = kept["coordinator"]
    return uow


def _waiting_unit(region: Region, uow_id: bytes, kept: Record, state: Cvda, waitcause: Cvda, link: str) -> UnitOfWork:
    """A unit of work for display, made from the record of its decision."""
    uow = UnitOfWork(region, uow_id)
    uow.state, uow.waitstate, uow.waitcause, uow.link = state, Cvda.WAITING, waitcause, link
    uow.since_ns, uow.ended, uow.finished = kept["since"], True, True
    known = {name: kept[name] for name in (*_OF_A_UNIT, "wait", "action", "waittime") if name in kept}
    uow.facts = Facts(**known)
    return uow


def _compare(region: Region, uow_id: bytes, *, commit: bool) -> None:
    """Compare the coordinator's decision with the heuristic one, report damage, and delete the record."""
    record = heuristics(region).get(uow_id)
    if record is None:
        return
    theirs = "COMMIT" if commit else "BACKOUT"
    if record["state"] != theirs:
        region.notices.say("heuristic_damage", uow=uow_id.hex().upper(), here=record["state"], coordinator=theirs)
        region.damage.append(HeuristicDamage(uow_id, record["state"], theirs))
    _forget(region, uow_id)


def _forget(region: Region, uow_id: bytes) -> None:
    region.committer.commit((), {_HEURISTICS + uow_id: None})


def resolve(region: Region, uow_id: bytes, *, commit: bool) -> None:
    """End a unit of work with the decision of its coordinator, which can be reached again."""
    uow = region.shunted.get(uow_id)
    if uow is None:
        _compare(region, uow_id, commit=commit)
        return
    _decide(uow, commit=commit)


def resume(region: Region) -> None:
    """After a restart: continue decisions and WAITTIME, and never reuse an id that other regions may ask about."""
    _load_undecided(region)
    for uow in tuple(region.shunted.values()):
        if uow.decision:
            uow.at_commit = (*uow.at_commit, partial(decision_kept, uow))
        _start_waittime(uow)
    for uow_id in (*decisions(region), *heuristics(region)):
        region.recovery.reserve_id(uow_id)
