"""How a region starts: what it takes over from the last run, and in which order.

A start is INITIAL or COLD when nothing is to be taken over, or there is no last run; WARM after a normal end;
EMERGENCY after any other end. A read-only region takes over what it reads in the store, and changes nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.queues.awaiting import PendingStart
from tdqsim.cics.region_arguments import as_definitions
from tdqsim.cics.region_arguments import supplied as supplied_definitions
from tdqsim.cics.spi.install import install
from tdqsim.cics.uow import indoubt, restart
from tdqsim.core.store.keeper import claim

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.model.queue import IntraTdQueue
    from tdqsim.cics.region_core import RegionCore

StartType = Literal["AUTO", "COLD", "INITIAL"]
KEEPER: Final = "a CICS region"
_IDENTITY: Final = b"region/cold_start"


def begin(
    region: RegionCore,
    definitions: defs.Definitions | Iterable[defs.Resource],
    start: StartType,
    *,
    empty: bool,
    supplied: bool,
) -> None:
    """Start a region: read its store only, start with nothing, or continue where the last run ended."""
    with _nothing_collected():
        _begin(region, definitions, start, empty=empty, supplied=supplied)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Disable garbage collection: a start creates no garbage, and each pass would scan up to 100,000 definitions."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _begin(
    region: RegionCore,
    definitions: defs.Definitions | Iterable[defs.Resource],
    start: StartType,
    *,
    empty: bool,
    supplied: bool,
) -> None:
    store = region.store
    if region.looks_at_store:
        region.start_type = "WARM" if store.closed_clean else "EMERGENCY"  # what the next start would be
        region.catalogue.load()
        restart.show_latches(region)
        return
    identity = None if store.created else store.durable.get_meta(_IDENTITY)
    # A salvaged store may hold queues without the region's own record (its identity); such a store is not emptied.
    lost = identity is None and store.salvaged
    # In any other store, a missing identity means that a cold or initial start was interrupted: it is made again.
    if start != "AUTO" or (identity is None and not lost):
        if start == "AUTO" and region.catalogue.kept:
            restart.check_nothing_kept(region)
        initial = start == "INITIAL" or (identity is None and not restart.cold_start_unfinished(region))
        region.start_type = "INITIAL" if initial else "COLD"
        kept = restart.kept_over_initial_start if initial else restart.kept_over_cold_start
        store.clear(kept(region))
        claim(store, KEEPER)
        _cold(region, definitions, supplied=supplied)
        return
    region.start_type = "WARM" if store.closed_clean else "EMERGENCY"
    if not store.closed_clean:
        store.discard_volatile()
    if empty:
        restart.empty_intrapartition(region)
    if identity is None:
        region.cold_start_abstime = abstime(region.clock.time_ns(), region.zone)
        region.hardening.note(_IDENTITY, region.cold_start_abstime.to_bytes(8, "big"))
    else:
        region.cold_start_abstime = int.from_bytes(identity, "big")
    region.catalogue.load()
    if identity is None:
        _install_lost(region, definitions, supplied=supplied)
    if not store.closed_clean:
        restart.give_back_reads(region)
    region.ts.resume(clean=store.closed_clean)
    region.starts.resume(clean=store.closed_clean)
    restart.load_units_of_work(region)
    indoubt.resume(region)
    restart.begin_numbering(region)
    _resume_starts(region)
    region.hardening.commit(party=_Started(region))  # one commit holds all changes that a warm start makes to the store
    region.log.info("region_started", start=region.start_type, tdqueues=len(region.tdqueues))


def _install_lost(
    region: RegionCore, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool
) -> None:
    """Install given definitions that a salvaged store's catalogue has lost, so that their records can be read again."""
    given = as_definitions(definitions)
    every = [*supplied_definitions().tdqueues, *given.resources] if supplied else list(given.resources)
    found = {(resource.kind, resource.resource_name): resource for resource in every}
    missing = [resource for name, resource in found.items() if name not in region.catalogue]
    if missing:
        install(region, as_definitions(missing), way="grplist", user=region.region_user)
        region.notices.say("lost_definitions_installed", resources=[resource.resource_name for resource in missing])


def _cold(region: RegionCore, definitions: defs.Definitions | Iterable[defs.Resource], *, supplied: bool) -> None:
    given = as_definitions(definitions)
    region.cold_start_abstime = abstime(region.clock.time_ns(), region.zone)
    indoubt.resume(region)
    restart.begin_numbering(region)
    if region.start_type == "INITIAL":
        restart.begin_log(region)
    if supplied:
        own = {queue.name for queue in given.tdqueues}
        rest = [queue for queue in supplied_definitions().tdqueues if queue.name not in own]
        install(region, as_definitions(rest), way="grplist", user=region.region_user)
    install(region, given, way="grplist", user=region.region_user)
    region.hardening.note(_IDENTITY, region.cold_start_abstime.to_bytes(8, "big"))
    restart.cold_start_finished(region)
    region.hardening.commit(party=_Started(region))
    region.log.info("region_started", start=region.start_type, tdqueues=len(region.tdqueues))


class _Started:
    """The party of the commit that completes a start: from then on the region can end normally."""

    __slots__ = ("_region",)

    def __init__(self, region: RegionCore) -> None:
        self._region = region

    def committed(self) -> None:
        self._region.started = True


def _resume_starts(region: RegionCore) -> None:
    """Continue trigger cycles and STARTs of the last run as soon as a command or ``run()`` dispatches tasks."""
    due = [
        PendingStart(queue, queue.name, partial(_schedule, region, queue))
        for queue in restart.pending_triggers(region)
        if region.ati.resume(queue)
    ]
    due += [PendingStart(each, each.reqid, partial(region.starts.process, each)) for each in region.starts.go_on()]
    if due:
        region.dispatcher.spawn(partial(region.awaiting_handlers.begin, due), name="restart of starts", owner=region)


def _schedule(region: RegionCore, queue: IntraTdQueue) -> None:
    if region.tdqueues.get(queue.name) is queue and queue.latched is not None:
        region.ati.schedule(queue)
