"""Indoubt units of work: what becomes of one whose coordinator cannot be asked, and how that is put right later.

A unit of work is indoubt from its prepare to its coordinator's decision. If the coordinator is lost in between, the
attributes of the transaction and of every logically recoverable queue that was touched decide::

    TRANSACTION WAIT   TDQUEUE WAIT of the queues   Outcome             Task's abend   Message
    NO                 any                          ACTION, at once     ASPO or ASPP   DFHAC2232 or DFHAC2233
    YES                a NO among them              ACTION, at once     ASPO or ASPP   DFHAC2232 or DFHAC2233
    YES                all YES                      SHUNTED             ASP1           DFHAC2231

(It waits only if all say YES: a choice, the manuals pull apart.) A shunted unit of work keeps its locks: retained on
queues with WAITACTION(REJECT), active with WAITACTION(QUEUE). It ends when the link is back and the coordinator has
been asked, by SET UOW, or when WAITTIME is over, then as ACTION says. A coordinator that was started INITIAL meanwhile
knows nothing of it; then only the latter two are left.

A decision taken without the coordinator (at once, by SET UOW, by WAITTIME) is *heuristic*: it is kept as HEURCOMMIT or
HEURBACKOUT until the coordinator has been asked, so that damage is noticed and reported. A coordinator keeps its own
decision to commit until everybody has heard it. INQUIRE UOW shows both kinds, over restarts too: they are WAITING. A
unit of work in doubt that others take part in outlives a start with empty queues, without its records: they will ask.

Sources: TRANSACTION attributes, INQUIRE TDQUEUE (INDOUBT, INDOUBTWAIT), SET UOW (IBM Docs); DFHAC2231-2233.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from tdqsim.cics.kernel.conditions import Abend
from tdqsim.cics.model.unit import UOW_ID_LENGTH, Facts, Meta, Record, UnitOfWork
from tdqsim.errors import RegionClosed, StoreDamaged, StoreError, UsageError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData as Region
    from tdqsim.cics.model.task import TaskData

__all__ = [
    "LOG_BEGAN",
    "OUTCOMES",
    "HeuristicDamage",
    "Subordinate",
    "back_out_together",
    "commit_together",
    "coordinator_lost",
    "decided_alone",
    "decision_of",
    "decisions",
    "force",
    "hand_over",
    "heard",
    "heuristics",
    "kept_units",
    "resolve",
    "resume",
    "tell_participants",
    "units_of_work",
]

SHUNT: Final = "SHUNTED"
UNILATERAL: Final = "ACTION"

OUTCOMES: Final[dict[tuple[str, bool], str]] = {
    # (TRANSACTION WAIT, whether every queue says WAIT(YES)): what becomes of the unit of work
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
"""What others will ask about and this region does not know itself yet; it survives a cold start as decisions do."""
_HEURISTICS: Final = b"heur/"
LOG_BEGAN: Final = b"region/log"
"""Where a region keeps the highest id of a unit of work that was before its log began, at its last initial start."""


class HeuristicDamage(NamedTuple):
    """A unit of work that was decided here without its coordinator, and otherwise than that.

    Attributes:
        uow: its id here.
        here: COMMIT or BACKOUT.
        coordinator: the other one.
    """

    uow: bytes
    here: str
    coordinator: str


class Subordinate:
    """A region's part in a unit of work that somebody else coordinates: another region, or a program outside.

    The states are those of :mod:`~tdqsim.cics.model.unit`. A middle region of a chain passes each phase on to those
    behind it, and keeps their names, so that they hear the decision after a restart too.

    Attributes:
        uow: the unit of work here.
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
        """Where it is."""
        return self.uow._region

    @property
    def state(self) -> Cvda:
        """UOWSTATE."""
        return self.uow.state

    def prepare(self) -> bool:
        """Be able to do either; False when that cannot be promised: it has then been backed out.

        Raises:
            UsageError: it is not INFLIGHT.
            RegionClosed: its region has ended; the next one on the store knows what was prepared.
        """
        uow = self.uow
        self._check_open("prepare")
        if uow.state is not Cvda.INFLIGHT or uow.ended:
            raise UsageError(f"{uow.title} is {uow.state.name}; only one that is INFLIGHT can be prepared")
        prepared = _prepare_participants(uow)
        if self.uow.ended:
            return False  # its coordinator was lost while others prepared
        if not prepared:
            back_out_together(uow)
            return False
        try:
            uow.prepare(_undecided(uow) if uow.decision else None)
        except StoreError as error:
            self._region.log.warning("prepare_failed", uow=uow.id.hex().upper(), reason=str(error))
            self._region.shunted.pop(uow.id, None)  # the link may have gone meanwhile; there is no promise to keep
            _back_out_anyhow(uow)
            return False
        return True

    def commit(self) -> None:
        """The coordinator has decided: commit. Nothing happens when it is ended that way already.

        Raises:
            UsageError: it is INFLIGHT, or was backed out.
            StoreError: the store did not take it; it is in doubt still.
        """
        self._decided(commit=True)

    def back_out(self) -> None:
        """The coordinator has decided: back out. It may be INFLIGHT still.

        Raises:
            UsageError: it was committed.
            StoreError: the store did not take it; it is in doubt still.
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
        """The coordinator needs to know no more: a heuristic decision is no longer kept.

        Raises:
            UsageError: it has not been decided yet.
        """
        self._check_open("forget")
        if not self.uow.ended:
            raise UsageError(f"{self.uow.title} is {self.state.name}; only one that has been decided can be forgotten")
        _forget(self._region, self.uow.id)

    def lose_coordinator(self) -> Abend | None:
        """The coordinator cannot be asked any more: back out when INFLIGHT, else as the table says.

        Returns:
            The abend of the task that is left behind; None when there was nothing in doubt any more.
        """
        uow = self.uow
        self._check_open("lose_coordinator")
        if uow.ended or uow.waitstate is Cvda.SHUNTED or uow.state in (Cvda.COMMIT, Cvda.BACKOUT):
            return None  # decided, if not yet at its end
        if uow.state is not Cvda.INDOUBT:
            back_out_together(uow)
            return None
        return coordinator_lost(uow)


def hand_over(task: TaskData, name: str) -> Subordinate:
    """Hand a task's unit of work to a coordinator outside CICS; the task begins another.

    Args:
        task: whose unit of work it is.
        name: the coordinator's own name for it.

    Raises:
        UsageError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
    """
    region = task._region
    if task._ended:
        raise UsageError(f"task {task.number} {task.transid} has ended; it has no unit of work to hand over")
    if not name:
        raise UsageError("the coordinator's name for a unit of work is 1 character or more")
    if any(uow.coordinator == name for uow in units_of_work(region)):
        raise UsageError(
            f"a unit of work that its coordinator calls {name} is unfinished; each needs a name of its own"
        )
    uow = task._uow
    task._unit = None
    return Subordinate(uow, name)


def tell_participants(uow: UnitOfWork, *, commit: bool) -> None:
    """Pass the decision on to the regions behind this one: to all, whatever happens at one of them.

    A region that has failed sends nothing.
    """
    if uow._region.failed:
        uow.told = True
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
    uow.told = late is None
    if late is not None:
        raise late


def _end_together(uow: UnitOfWork, end: Callable[[], None]) -> None:
    """End a unit of work and tell the others how, also when its task is purged or its region closed on the way.

    Raises:
        StoreError: the store did not take it. A unit of work in doubt stays so, and no region was notified; any
            other was backed out.
    """
    late: BaseException | None = None
    try:
        end()
    except BaseException as error:
        if not uow.ended:
            raise
        late = error  # it came too late to change anything: a purge while the end was made permanent, an interrupt
    tell_participants(uow, commit=uow.state is Cvda.COMMIT)
    if late is not None:
        raise late


def _decide(uow: UnitOfWork, *, commit: bool, also: Meta | None = None) -> None:
    """End one that is INDOUBT, here and behind it; a shunted one at one moment, since no task waits for it."""
    meta: Meta = dict(also or {})
    if uow.decision and not commit:
        meta[_UNDECIDED + uow.id] = None
    with uow._region.hardening.at_once() if uow.waitstate is Cvda.SHUNTED else nullcontext():
        _end_together(uow, partial(uow.decide, commit=commit, also=meta))


def back_out_together(uow: UnitOfWork) -> None:
    """Undo a unit of work, with those who take part in it.

    Raises:
        StoreError: the store did not take note of it; all the same it was backed out, as a restart would do.
    """
    _end_together(uow, uow.back_out)


def _back_out_anyhow(uow: UnitOfWork) -> None:
    """Back out what could not be prepared: without the store's help if need be, as a restart would do the same."""
    if uow.ended:
        return
    try:
        back_out_together(uow)
    except StoreError as error:
        uow._region.log.warning("backout_not_recorded", uow=uow.id.hex().upper(), reason=str(error))


def _prepare_participants(uow: UnitOfWork) -> bool:
    """Prepare everybody who takes part; their names are then those that must hear the decision."""
    for participant in uow.participants:
        if not participant.prepare():
            return False
    uow.decision = tuple(dict.fromkeys(participant.name for participant in uow.participants))
    if uow.decision:
        uow.at_commit = (*uow.at_commit, partial(decision_kept, uow))
    return True


def commit_together(uow: UnitOfWork) -> bool:
    """The coordinator's syncpoint in two phases; False when somebody refused and all was backed out.

    Raises:
        StoreError: the decision could not be written; all was backed out.
    """
    try:
        prepared = _prepare_participants(uow)
    except Exception:  # the task was purged, say, while another region was at it: nothing is decided yet
        back_out_together(uow)
        raise
    if not prepared:
        back_out_together(uow)
        return False
    _end_together(uow, uow.commit)
    return True


def coordinator_lost(uow: UnitOfWork) -> Abend:
    """End or shunt an indoubt unit of work by the table; the abend that its task gets."""
    region = uow._region
    all_wait = all(lock.queue.wait == "YES" for lock in uow.locks)  # a request that was refused has left none
    outcome = OUTCOMES["YES" if uow.wait else "NO", all_wait]
    code, message = _ABENDS[outcome, uow.action]
    inserts = {"transid": uow.transid, "abcode": code, "termid": uow.termid, "program": uow.transid}
    if outcome == SHUNT:
        region.ati.hold(uow)
        try:
            uow.shunt(link=uow.link)
        except Exception:
            uow.retain_locks()  # the task was purged, say, while it waited for the store: it is shunted all the same
            raise
        finally:
            _start_waittime(uow)
    else:
        _decide_alone(uow, uow.action)
    region.messages.write(message, **inserts)
    return Abend(
        code, detail=f"{uow.title}: the coordinator {uow.coordinator or '(unknown)'} was lost while it was indoubt"
    )


def _start_waittime(uow: UnitOfWork) -> None:
    """Let WAITTIME end the wait of a shunted unit of work; it counts from when it was shunted."""
    if uow.waittime is None:
        return

    def over() -> None:
        if not uow.ended and uow.waitstate is Cvda.SHUNTED and not uow._region.closed:
            uow._region.log.info("waittime_over", uow=uow.id.hex().upper(), action=uow.action)
            try:
                _decide_alone(uow, uow.action)
            except StoreError as error:  # it waits on: SET UOW, or the coordinator, can end that
                uow._region.log.warning("waittime_not_carried_out", uow=uow.id.hex().upper(), reason=str(error))

    uow._region.dispatcher.call_at(uow.since_ns + uow.waittime * 10**9, over, passive=True)


def force(uow: UnitOfWork, how: str) -> None:
    """SET UOW: decide a shunted unit of work without its coordinator.

    Args:
        uow: one that is shunted while indoubt.
        how: COMMIT, BACKOUT, or FORCE, which is what ACTION of its transaction says.

    Raises:
        UsageError: it is in no state that allows it.
    """
    if uow.ended or uow.state is not Cvda.INDOUBT or uow.waitstate is not Cvda.SHUNTED:
        raise UsageError(f"{uow.title} is {uow.state.name} {uow.waitstate.name}; it must be shunted while indoubt")
    _decide_alone(uow, uow.action if how == "FORCE" else how)


def _decide_alone(uow: UnitOfWork, how: str) -> None:
    """Decide, and keep the decision for the coordinator's questions, in one transaction of the store."""
    region = uow._region
    also: Meta = {}
    if uow.coordinator:  # without a coordinator the right outcome never becomes known
        record = {"state": how, "coordinator": uow.coordinator, "link": uow.link, **_whose(uow)}
        also[_HEURISTICS + uow.id] = json.dumps(record).encode()
    try:
        _decide(uow, commit=how == "COMMIT", also=also)
    finally:
        if uow.ended:
            uow.state = _HEURISTIC[how]
            whose = {"uow": uow.id.hex().upper(), "decision": how, "coordinator": uow.coordinator}
            region.log.warning("unilateral_decision", **whose)


# -- what is kept for questions ---------------------------------------------------------------------------------------


def _read(region: Region, key: bytes, value: bytes) -> Record:
    try:
        found: Record = json.loads(value)
    except ValueError as error:
        raise StoreDamaged(f"{region.store.path}: the record {key!r} cannot be read: {error}") from error
    return found


_OF_A_UNIT: Final = ("transid", "userid", "termid", "taskid")
"""What INQUIRE UOW shows of a unit of work that is only kept for questions."""


def _whose(uow: UnitOfWork) -> Record:
    """Whose unit of work it was, and since when it waits for others."""
    return {"since": uow._region.clock.time_ns(), **{name: getattr(uow, name) for name in _OF_A_UNIT}}


def decision_kept(uow: UnitOfWork) -> Meta:
    """The record of the decision to commit, in the commit itself: the regions that must still be notified."""
    record = {"names": uow.decision, **_whose(uow)}
    return {_DECISIONS + uow.id: json.dumps(record).encode(), _UNDECIDED + uow.id: None}


_FATE: Final = ("coordinator", "link", "decision", "wait", "waittime", "action")
"""What decides about a unit of work in doubt, and who hears of it."""


def _undecided(uow: UnitOfWork) -> Meta:
    """What others will ask about, in the commit that prepares: a cold start throws away all but that."""
    record = {**{name: getattr(uow, name) for name in _FATE}, **_whose(uow)}
    return {_UNDECIDED + uow.id: json.dumps(record).encode()}


def _load_undecided(region: Region) -> None:
    """After a start with empty queues: what is in doubt has no records here any more, but others wait for its end."""
    for uow_id, kept in list(_kept(region, _UNDECIDED)):
        if uow_id not in region.shunted:
            uow = _waiting_unit(region, uow_id, kept, Cvda.INDOUBT, Cvda.CONNECTION, kept["link"])
            uow.waitstate, uow.ended, uow.finished = Cvda.SHUNTED, False, False
            uow.coordinator, uow.link, uow.decision = kept["coordinator"], kept["link"], tuple(kept["decision"])
            region.shunted[uow_id] = uow
            region.recovery.seen(uow_id)


def heard(region: Region, uow_id: bytes, name: str) -> None:
    """A region has heard the decision; when all have, it is forgotten.

    That costs no sync of its own, it goes with the next commit: a region that fails before tells it once more, and
    a region that has acknowledged a decision has forgotten it.
    """
    key = _DECISIONS + uow_id
    value = region.hardening.get_meta(key)
    if value is None:
        return
    record = _read(region, key, value)
    record["names"] = [each for each in record["names"] if each != name]
    region.hardening.note(key, json.dumps(record).encode() if record["names"] else None)


def decisions(region: Region) -> dict[bytes, tuple[str, ...]]:
    """The decisions to commit that are kept, and the connections whose regions have not heard them yet."""
    return {uow_id: tuple(record["names"]) for uow_id, record in _kept(region, _DECISIONS)}


def decision_of(region: Region, uow_id: bytes) -> str:
    """What became of a unit of work that this region coordinated.

    Returns:
        COMMIT, BACKOUT, INDOUBT while it is undecided, or COLD when nothing can be known any more: an initial start has
        thrown the log away, and that there is no decision on record says nothing.
    """
    hardening = region.hardening
    if hardening.get_meta(_DECISIONS + uow_id) is not None:
        return "COMMIT"
    if uow_id in region.shunted or uow_id in region.units:
        return "INDOUBT"
    return "COLD" if uow_id <= (hardening.get_meta(LOG_BEGAN) or b"") else "BACKOUT"


def heuristics(region: Region) -> dict[bytes, Record]:
    """The decisions that were taken here without the coordinator, by unit of work."""
    return dict(_kept(region, _HEURISTICS))


def _kept(region: Region, prefix: bytes) -> Iterator[tuple[bytes, Record]]:
    for key, value in region.hardening.metas(prefix):
        if len(key) == len(prefix) + UOW_ID_LENGTH:
            yield key[len(prefix) :], _read(region, key, value)


def decided_alone(region: Region, coordinator: str) -> UnitOfWork | None:
    """A unit of work that was decided here without its coordinator and has ended; None when there is none."""
    for uow_id, kept in heuristics(region).items():
        if kept["coordinator"] == coordinator:
            return _heuristic_unit(region, uow_id, kept)
    return None


def units_of_work(region: Region) -> list[UnitOfWork]:
    """The region's units of work: those that run in order of age, the shunted ones, those that only wait for others."""
    return [*region.units_of_work(), *kept_units(region)]


def kept_units(region: Region) -> list[UnitOfWork]:
    """Units of work that are over here and still wait for others: a coordinator's answer, or everybody's having heard.

    A decision without the coordinator is HEURCOMMIT or HEURBACKOUT and waits for the connection to it; a coordinator's
    own is COMMIT and waits until all have forgotten (WAITFORGET). Which CVDAs describe the wait is unconfirmed.
    """
    alone = [_heuristic_unit(region, uow_id, kept) for uow_id, kept in heuristics(region).items()]
    found = [uow for uow in alone if uow.id not in region.units]
    for uow_id, kept in _kept(region, _DECISIONS):
        if uow_id not in region.units and uow_id not in region.shunted:
            link = next(iter(kept["names"]), "")
            uow = _waiting_unit(region, uow_id, kept, Cvda.COMMIT, Cvda.WAITFORGET, link)
            uow.decision = tuple(kept["names"])
            found.append(uow)
    return found


def _heuristic_unit(region: Region, uow_id: bytes, kept: Record) -> UnitOfWork:
    uow = _waiting_unit(region, uow_id, kept, _HEURISTIC[kept["state"]], Cvda.CONNECTION, kept["link"])
    uow.coordinator = kept["coordinator"]
    return uow


def _waiting_unit(region: Region, uow_id: bytes, kept: Record, state: Cvda, waitcause: Cvda, link: str) -> UnitOfWork:
    """A unit of work as it is shown when only the record of its decision is left."""
    uow = UnitOfWork(region, uow_id)
    uow.state, uow.waitstate, uow.waitcause, uow.link = state, Cvda.WAITING, waitcause, link
    uow.since_ns, uow.ended, uow.finished = kept["since"], True, True
    known = {name: kept[name] for name in (*_OF_A_UNIT, "wait", "action", "waittime") if name in kept}
    uow.facts = Facts(**known)
    return uow


def _compare(region: Region, uow_id: bytes, *, commit: bool) -> None:
    """The coordinator's decision is known at last: report damage, and forget the heuristic one."""
    record = heuristics(region).get(uow_id)
    if record is None:
        return
    theirs = "COMMIT" if commit else "BACKOUT"
    if record["state"] != theirs:
        region.log.error("heuristic_damage", uow=uow_id.hex().upper(), here=record["state"], coordinator=theirs)
        region.damage.append(HeuristicDamage(uow_id, record["state"], theirs))
    _forget(region, uow_id)


def _forget(region: Region, uow_id: bytes) -> None:
    region.hardening.commit((), {_HEURISTICS + uow_id: None})


def resolve(region: Region, uow_id: bytes, *, commit: bool) -> None:
    """End a unit of work as its coordinator says, now that it can be asked."""
    uow = region.shunted.get(uow_id)
    if uow is None:
        _compare(region, uow_id, commit=commit)
        return
    _decide(uow, commit=commit)


def resume(region: Region) -> None:
    """After a restart: decisions and WAITTIME go on, and ids that others may ask about are not given again."""
    _load_undecided(region)
    for uow in tuple(region.shunted.values()):
        if uow.decision:
            uow.at_commit = (partial(decision_kept, uow),)
        _start_waittime(uow)
    for uow_id in (*decisions(region), *heuristics(region)):
        region.recovery.seen(uow_id)
