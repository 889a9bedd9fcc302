"""Installing definitions: what becomes of them in a region, and when a queue may be replaced or must stay.

A queue that is installed is ENABLED. One that is there already is replaced only by one of the same TYPE, when it is
disabled (intrapartition), or disabled and closed (extrapartition); otherwise the install is refused and the old one
stays. A group installed by hand installs whole or not at all; at a cold start each queue that is refused is
left out with a message and the rest goes on. Sources: Installing transient data queue definitions; DFHTD0403,
DFHTD1278.

The supplied queues (group DFHDCTG) are installed first; a definition that is given for one of them takes its place, as
when a site puts its own group into the list instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tdqsim import definitions as defs
from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.queues.kinds import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, TdQueue
from tdqsim.cics.spi.signature import Installer, Signature, Way, sign
from tdqsim.cics.uow.locks import READ_END, WRITE_END, Lock
from tdqsim.core.dispatch import WaitQueue
from tdqsim.errors import StoreError, TdqError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.spi.parts import SpiRegion
    from tdqsim.core.store import StoredQueue

__all__ = ["InstallRefused", "install", "install_tdqueue", "make_queue", "remove_tdqueue", "why_no_replace"]

_INVALID_USER: Final = "DFHTD1278"


class InstallRefused(TdqError):
    """A queue cannot be installed; nothing has changed.

    Attributes:
        queue: its name.
        message: the id of CICS's message about it; empty when none is known.
    """

    def __init__(self, queue: str, reason: str, message: str = "") -> None:
        self.queue = queue
        self.message = message
        super().__init__(f"TDQUEUE({queue}): {f'{message} ' if message else ''}{reason}")


def install(region: SpiRegion, definitions: defs.Definitions, *, way: Way, user: str) -> None:
    """Install everything that a region knows what to do with.

    Raises:
        InstallRefused: a queue cannot be installed; nothing of the definitions was.
    """
    queues = _installable(region, definitions.tdqueues, way, user)
    for connection in definitions.connections:
        region.connections[connection.name] = connection
    for terminal in definitions.terminals:
        region.terminals[terminal.name] = terminal
        region.facility("TERMINAL", terminal.name)
    for transaction in definitions.transactions:
        define_transaction(region, transaction)
    who = installer(region, user)
    if way == "grplist":
        who = replace(who, now=who.start)  # a group list is installed in one moment, that of the cold start
    for queue in queues:
        _put_in(region, queue, sign(way, queue, who))
    for note in definitions.notes:
        region.log.info("without_effect", note=str(note))
    for resource in (*definitions.connections, *definitions.terminals, *definitions.transactions):
        region.catalogue.save(resource)
    region.force()
    terminals = {("TERMINAL", terminal.name) for terminal in definitions.terminals}
    region.refresh_facilities(terminals | {("SYSTEM", connection.name) for connection in definitions.connections})


def _installable(region: SpiRegion, queues: Iterable[defs.Tdqueue], way: Way, user: str) -> list[defs.Tdqueue]:
    """The queues that can be installed: all of them, or at a cold start those that are not refused.

    Raises:
        InstallRefused: one cannot be, and this is no cold start.
    """
    found = []
    held: list[Callable[[], None]] = []
    try:
        for queue in queues:
            try:
                check_tdqueue(region, queue, user)
                held.append(_hold_room(region, queue))
            except InstallRefused as refused:
                if way != "grplist":
                    raise
                region.log.warning("not_installed", queue=queue.name, reason=str(refused))
            else:
                found.append(queue)
    finally:
        for give_back in held:
            give_back()
    return found


def define_transaction(region: SpiRegion, definition: defs.Transaction) -> None:
    """Install a transaction; a handler that is registered stays with it."""
    entry = region.transactions.get(definition.name)
    if entry is None:
        region.transactions[definition.name] = TransactionEntry(definition)
    else:
        entry.define(definition)


def installer(region: SpiRegion, user: str, program: str = "") -> Installer:
    """Who installs, and when, for the signature."""
    now = abstime(region.clock.time_ns(), region.zone)
    return Installer(now, region.cold_start_abstime, user, region.region_user, region.release, program)


def install_tdqueue(region: SpiRegion, definition: defs.Tdqueue, *, way: Way, user: str, program: str = "") -> bool:
    """Install or replace one queue.

    Returns:
        Whether a queue of that name was replaced.

    Raises:
        InstallRefused: the queue that is there is in use, or the user id is not valid; nothing has changed.
    """
    replaced = definition.name in region.tdqueues
    check_tdqueue(region, definition, user)
    _hold_room(region, definition)()
    _put_in(region, definition, sign(way, definition, installer(region, user, program)))
    region.force()
    region.messages.write("DFHTD0403" if replaced else "DFHTD0402", queue=definition.name)
    return replaced


def check_tdqueue(region: SpiRegion, definition: defs.Tdqueue, user: str) -> None:
    """Whether the queue can be installed.

    Raises:
        InstallRefused: it cannot.
    """
    present = region.tdqueues.get(definition.name)
    if present is not None:
        reason = why_no_replace(present, definition.type_in(region.sysid))
        if reason:
            raise InstallRefused(definition.name, reason)
    if isinstance(definition, defs.IntraQueue) and definition.userid and region.security is not None:
        security = region.security
        if not security.knows_user(definition.userid) or not security.may_act_for(user, definition.userid):
            region.messages.write(_INVALID_USER, queue=definition.name, userid=definition.userid)
            raise InstallRefused(
                definition.name, f"user ID {definition.userid} is not valid or may not be used", _INVALID_USER
            )


def _moves(region: SpiRegion, definition: defs.Tdqueue) -> IntraQueue | None:
    """The queue whose records go to the other half of the store when it is replaced; None when none do."""
    present = region.tdqueues.get(definition.name)
    if not isinstance(present, IntraQueue) or not isinstance(definition, defs.IntraQueue):
        return None
    return present if (present.recovstatus == "NO") is not (definition.recovstatus == "NO") else None


def _hold_room(region: SpiRegion, definition: defs.Tdqueue) -> Callable[[], None]:
    """Hold the room that records need which move because RECOVSTATUS changes.

    Returns:
        What gives it back, before they move or when they do not.

    Raises:
        InstallRefused: there is no room, or they cannot be read.
    """
    moving = _moves(region, definition)
    if moving is None:
        return _nothing_held
    half = region.store.durable if moving.recovstatus == "NO" else region.store.volatile
    sizes: list[int] = []

    def give_back() -> None:
        half.release(sum(sizes), len(sizes))

    try:
        for entry in moving.stored.entries():
            half.reserve(len(entry.data))
            sizes.append(len(entry.data))
    except StoreError as error:
        give_back()
        raise _not_moved(definition, error) from error
    return give_back


def _nothing_held() -> None:
    """No room was needed: there is nothing to give back."""


def _not_moved(definition: defs.Tdqueue, error: StoreError) -> InstallRefused:
    return InstallRefused(definition.name, f"its records cannot be kept when its recovery changes: {error}")


def why_no_replace(queue: TdQueue, new_type: str) -> str:
    """Why an installed queue cannot be replaced by one of a type; empty when it can."""
    if queue.type != new_type:
        return f"a queue of that name is installed and has another type, {queue.type}"
    if isinstance(queue, IntraQueue | ExtraQueue) and queue.enablestatus is not Cvda.DISABLED:
        return f"a queue of that name is installed and {queue.enablestatus.name}; it must be DISABLED"
    if isinstance(queue, ExtraQueue) and queue.openstatus is not Cvda.CLOSED:
        return f"a queue of that name is installed and {queue.openstatus.name}; it must be CLOSED"
    return ""


def _put_in(region: SpiRegion, definition: defs.Tdqueue, signature: Signature) -> TdQueue:
    present = region.tdqueues.get(definition.name)
    queue = make_queue(region, definition, signature, present)
    if isinstance(present, IntraQueue):
        region.ati.gone(present)
    region.tdqueues[queue.name] = queue
    region.refresh(queue)
    region.catalogue.save_queue(queue)
    if isinstance(queue, ExtraQueue):
        open_initially(region, queue)
    return queue


def make_queue(
    region: SpiRegion, definition: defs.Tdqueue, signature: Signature, present: TdQueue | None = None
) -> TdQueue:
    """The state of a queue, with the records that are there for it; it is not put in yet."""
    kind = definition.type_in(region.sysid)
    if kind == "REMOTE":
        return RemoteQueue(definition.name, definition, signature)
    if isinstance(definition, defs.IndirectQueue):
        return IndirectQueue(definition.name, definition, signature)
    if isinstance(definition, defs.ExtraQueue):
        queue = ExtraQueue(definition.name, definition, signature)
        queue.file = region.data_set(queue)
        return queue
    assert isinstance(definition, defs.IntraQueue), definition
    return _make_intra(region, definition, signature, present)


def _make_intra(
    region: SpiRegion, definition: defs.IntraQueue, signature: Signature, present: TdQueue | None
) -> IntraQueue:
    stored = _stored(region, definition)
    if isinstance(present, IntraQueue):
        region.intra.close_queue(present)
    queue = IntraQueue(definition.name, definition, signature, stored)
    region.intra.open_queue(queue)
    if definition.recovstatus == "LOGICAL":
        queue.read_end, queue.write_end = Lock(queue, READ_END), Lock(queue, WRITE_END)
        queue.td_read = WaitQueue(f"TD_READ {queue.name}", queue.write_end.holder)
    region.ati.arm(queue)
    return queue


def _stored(region: SpiRegion, definition: defs.IntraQueue) -> StoredQueue:
    """Where its records are: those of a queue that is replaced stay, also when its recovery changes."""
    store, name = region.store, definition.name.encode()
    recoverable = definition.recovstatus != "NO"
    right, wrong = (store.durable, store.volatile) if recoverable else (store.volatile, store.durable)
    found = right.queue(name)
    if region.looks_at_store:
        return found if found is not None else region.nothing_stored(name)
    stored = found if found is not None else right.create_queue(name)
    other = wrong.queue(name)
    if other is not None:
        try:
            _move(other.entries(), stored)
        except StoreError as error:  # the room was looked for, but what is held for it may be less than it takes
            if found is None:
                right.drop_queue(name)
            raise _not_moved(definition, error) from error
        wrong.drop_queue(name)
    return stored


def _move(entries: Iterable[object], stored: StoredQueue) -> None:
    for entry in entries:
        stored.put(entry.data, seq=max(entry.seq, stored.last_seq + 1))  # type: ignore[attr-defined]


def open_initially(region: SpiRegion, queue: ExtraQueue) -> None:
    """Open the data set of OPENTIME(INITIAL) at install; a failure leaves the queue installed and closed."""
    if not region.open_data_sets or queue.definition.opentime != "INITIAL":
        return
    assert queue.file is not None
    try:
        queue.file.open()
    except Condition as condition:
        region.log.warning("open_failed", queue=queue.name, reason=condition.detail)


def remove_tdqueue(region: SpiRegion, queue: TdQueue) -> None:
    """Take a queue out with its records; whether it may go was decided before."""
    del region.tdqueues[queue.name]
    region.catalogue.forget_queue(queue)
    queue.plain = queue.swift = False
    if isinstance(queue, IntraQueue):
        region.ati.gone(queue)
        region.intra.close_queue(queue)
        region.forget_last_reads(queue)
        store = region.store
        half = store.volatile if queue.recovstatus == "NO" else store.durable
        half.drop_queue(queue.name.encode())
    region.force()
    region.messages.write("DFHTD0401", queue=queue.name)
