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
from functools import partial
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.kernel.signature import Installer, Signature, Way, sign
from tdqsim.cics.queues.ati import latch_key
from tdqsim.cics.queues.kinds import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.queues.making import InstallRefused, Moves, check_room, make_queue, open_initially
from tdqsim.cics.spi.parts import SpiRegion
from tdqsim.cics.uow.unit import READS, Meta
from tdqsim.core.changes import Change, carry_out
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim import definitions as defs

__all__ = ["install", "install_tdqueue", "remove_tdqueue", "why_no_replace"]

_INVALID_USER: Final = "DFHTD1278"


def install(region: SpiRegion, definitions: defs.Definitions, *, way: Way, user: str) -> None:
    """Install everything that a region knows what to do with.

    Raises:
        InstallRefused: a queue, file, terminal or connection cannot be installed; nothing of the definitions was.
    """
    terminals = [each for each in definitions.terminals if _has_valid_user(region, each, each.userid, way, user)]
    connections = [
        each for each in definitions.connections if _has_valid_user(region, each, each.securityname, way, user)
    ]
    files = [each for each in definitions.files if _may_replace(region, each, way)]
    queues = _installable(region, definitions.tdqueues, way, user)
    who = installer(region, user)
    if way == "grplist":
        who = who._replace(now=who.start)  # a group list is installed in one moment, that of the cold start
    _carry_out(region, [(queue, sign(way, queue, who)) for queue in queues], connections, terminals, files, definitions)
    for note in definitions.notes:
        region.log.info("without_effect", note=str(note))
    facilities = {("TERMINAL", terminal.name) for terminal in terminals}
    region.refresh_facilities(facilities | {("SYSTEM", connection.name) for connection in connections})


class _Installation(Change):
    """Queues, and other resources, that are installed together."""

    def __init__(self, region: SpiRegion) -> None:
        self._region = region
        self.moves = Moves(region)
        self.others: list[Callable[[], object]] = []
        self._queues: list[tuple[TdQueue, TdQueue | None]] = []
        self.meta: Meta = {}

    def add(self, definition: defs.Tdqueue, signature: Signature) -> None:
        """A queue is to be installed; InstallRefused when its records cannot move."""
        region = self._region
        present = region.tdqueues.get(definition.name)
        queue = make_queue(region, definition, signature, self.moves)
        self._queues.append((queue, present))
        self.meta.update(region.catalogue.queue_entry(queue))
        if isinstance(present, IntraTdQueue) and present.latch:
            self.meta[latch_key(present)] = None

    def committed(self) -> None:
        """See the base."""
        self.made = True
        for do in self.others:
            do()
        for queue, _ in self._queues:
            self._region.put_in(queue)

    def finish(self) -> None:
        """See the base."""
        region = self._region
        self.moves.made()
        for queue, present in self._queues:
            if isinstance(present, IntraTdQueue):
                region.ati.gone(present)
                region.intra.close_queue(present)
            if isinstance(queue, IntraTdQueue):
                if queue.bounds:
                    region.intra.close_queue(queue)
                region.intra.open_queue(queue)
                region.ati.arm(queue)
            region.refresh(queue)
            if isinstance(queue, ExtraTdQueue):
                open_initially(region, queue)

    def forget(self) -> None:
        """See the base."""
        self.moves.forget()


def _carry_out(
    region: SpiRegion,
    queues: Iterable[tuple[defs.Tdqueue, Signature]],
    connections: Iterable[defs.Connection] = (),
    terminals: Iterable[defs.Terminal] = (),
    files: Iterable[defs.File] = (),
    definitions: defs.Definitions | None = None,
) -> None:
    """Install what has been found to be installable."""
    change = _Installation(region)
    keep = region.catalogue.entry
    for connection in connections:
        change.meta.update(keep(connection, there=connection.name in region.connections))
        change.others.append(partial(region.connections.__setitem__, connection.name, connection))
    for terminal in terminals:
        change.meta.update(keep(terminal, there=terminal.name in region.terminals))
        change.others.append(partial(region.terminals.__setitem__, terminal.name, terminal))
        change.others.append(partial(region.facility, "TERMINAL", terminal.name))
    for model in definitions.tsmodels if definitions is not None else ():
        change.meta.update(keep(model, there=True))
        change.others.append(partial(region.ts.install, model))
    for file in files:
        change.meta.update(keep(file, there=file.name in region.files.known))
        change.others.append(partial(region.files.install, file))
    for transaction in definitions.transactions if definitions is not None else ():
        change.meta.update(keep(transaction, there=transaction.name in region.transactions))
        change.others.append(partial(define_transaction, region, transaction))
    try:
        for definition, signature in queues:
            change.add(definition, signature)
        carry_out(region.hardening, change, change.meta, change.moves.works)
    except BaseException:
        if not change.made:
            change.forget()
        raise


def _has_valid_user(
    region: SpiRegion, resource: defs.Terminal | defs.Connection, userid: str, way: Way, user: str
) -> bool:
    """Whether a terminal or connection can be installed with its user id; at a cold start it is left out.

    Raises:
        InstallRefused: it cannot be, and this is no cold start.
    """
    if _may_name(region, user, userid):
        return True
    kind = type(resource).__name__.upper()
    refused = InstallRefused(resource.name, f"user ID {userid} is not valid or may not be used", kind=kind)
    if way != "grplist":
        raise refused
    region.log.warning("not_installed", resource=f"{kind}({resource.name})", reason=str(refused))
    return False


def _may_replace(region: SpiRegion, file: defs.File, way: Way) -> bool:
    """Whether a file can be installed: one that is there must be closed first; at a cold start it is left out.

    Raises:
        InstallRefused: it cannot be, and this is no cold start.
    """
    present = region.files.known.get(file.name)
    if present is None or present.enablestatus != "ENABLED":
        return True
    refused = InstallRefused(
        file.name, "a file of that name is installed and ENABLED; it must be CLOSED or DISABLED", kind="FILE"
    )
    if way != "grplist":
        raise refused
    region.log.warning("not_installed", resource=file.title, reason=str(refused))
    return False


def _may_name(region: SpiRegion, user: str, userid: str) -> bool:
    security = region.security
    return not userid or security is None or (security.knows_user(userid) and security.may_act_for(user, userid))


def _installable(region: SpiRegion, queues: Iterable[defs.Tdqueue], way: Way, user: str) -> list[defs.Tdqueue]:
    """The queues that can be installed: all of them, or at a cold start those that are not refused.

    Raises:
        InstallRefused: one cannot be, and this is no cold start.
    """
    found, held = [], 0
    for queue in queues:
        try:
            check_tdqueue(region, queue, user)
            held += check_room(region, queue, held)
        except InstallRefused as refused:
            if way != "grplist":
                raise
            region.log.warning("not_installed", queue=queue.name, reason=str(refused))
        else:
            found.append(queue)
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
    check_room(region, definition)
    _carry_out(region, [(definition, sign(way, definition, installer(region, user, program)))])
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
    userid = getattr(definition, "userid", "")
    if not _may_name(region, user, userid):
        region.messages.write(_INVALID_USER, queue=definition.name, userid=userid)
        raise InstallRefused(definition.name, f"user ID {userid} is not valid or may not be used", _INVALID_USER)


def why_no_replace(queue: TdQueue, new_type: str) -> str:
    """Why an installed queue cannot be replaced by one of a type; empty when it can."""
    if queue.type != new_type:
        return f"a queue of that name is installed and has another type, {queue.type}"
    if isinstance(queue, IntraTdQueue | ExtraTdQueue) and queue.enablestatus is not Cvda.DISABLED:
        return f"a queue of that name is installed and {queue.enablestatus.name}; it must be DISABLED"
    if isinstance(queue, ExtraTdQueue) and queue.openstatus is not Cvda.CLOSED:
        return f"a queue of that name is installed and {queue.openstatus.name}; it must be CLOSED"
    return ""


class _Removal(Change):
    """A queue that is discarded, with its records."""

    def __init__(self, region: SpiRegion, queue: TdQueue) -> None:
        self._region, self._queue = region, queue
        self._counted = region.statistics.of_discarded(queue)
        self.moves = Moves(region)

    def committed(self) -> None:
        """See the base."""
        self.made = True
        self._region.take_out(self._queue)

    def finish(self) -> None:
        """See the base."""
        region, queue = self._region, self._queue
        region.statistics.written(self._counted)
        if isinstance(queue, IntraTdQueue):
            region.ati.gone(queue)
            region.intra.close_queue(queue)
        self.moves.made()
        region.refresh(queue)


def remove_tdqueue(region: SpiRegion, queue: TdQueue) -> None:
    """Take a queue out with its records, and what the store knows of it; whether it may go was decided before."""
    change = _Removal(region, queue)
    meta: Meta = region.catalogue.no_queue(queue)
    if isinstance(queue, IntraTdQueue):
        if queue.recovstatus == "NO":
            change.moves.leave(queue.stored)
        else:
            change.moves.drop(queue.stored)
            meta[latch_key(queue)] = None
            meta |= {key: None for key, _ in region.hardening.metas(READS + queue.name.encode() + b"/")}
    carry_out(region.hardening, change, meta, change.moves.works)
    region.messages.write("DFHTD0401", queue=queue.name)
