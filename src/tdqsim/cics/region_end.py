"""How a region ends: its links first, then its tasks in order, then what it holds.

A region that ends in order has its tasks end, and what they held undone; one that fails undoes nothing, since the next
start does that. A start that fails leaves the store as it found it, as long as it has not changed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.uow import indoubt, restart
from tdqsim.errors import RegionClosed
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.region_parts import RegionParts
    from tdqsim.core.dispatch import Strand
    from tdqsim.errors import StoreError

__all__ = ["end", "give_up", "let_go", "store_failed"]


def end(region: RegionParts, *, clean: bool) -> tuple[Strand, ...]:
    """Close a region; see :meth:`tdqsim.cics.region.Region.close`."""
    if region.closed and not (region.failed and region.store.is_open):
        return ()
    try:
        _end(region, clean=clean and not region.closed)  # what an exception cut short is only finished
    except BaseException:  # the store is let go all the same; what was not undone is undone by the next start
        region.failed = True
        let_go(region, clean=False)
        raise
    return region.survivors


def store_failed(region: RegionParts, error: StoreError) -> None:
    """End a region whose store the system could not write or sync: what it commits from then on could not be kept.

    Its next start is an emergency one. Whoever is in a command gets the error; every later call gets RegionClosed.
    """
    if region.closed:  # a close meets it too
        return
    region.log.error("store_failed", error=str(error))
    region.why_closed = f"has failed: {error}"
    end(region, clean=False)


def give_up(region: RegionParts) -> None:
    """A start has failed. One that was over by then ends as any region; a warm one that was not is made again."""
    if hasattr(region, "hardening"):
        region.hardening.settle()
    if region.started:
        end(region, clean=True)
    elif hasattr(region, "store"):
        store = region.store
        untouched = region.start_type in ("", "WARM") and store.closed_clean and not store.durable.commits
        let_go(region, clean=untouched and not region.readonly)


def _end(region: RegionParts, *, clean: bool) -> None:
    if clean:  # a region that ends says so; one that fails is only missed
        _leave_links(region)
    region.closed = True
    _leave_links(region)
    region.directory.refresh_all()
    if clean:
        _end_tasks(region)
    else:
        region.failed = True
    let_go(region, clean=clean)


def _end_tasks(region: RegionParts) -> None:
    region.survivors = region.dispatcher.end_strands(region, f"the region {region.applid} is closed", RegionClosed)
    for task in tuple(region.tasks.values()):
        task.end(normal=False)
    region.task_manager.finish_ends()
    for uow in tuple(region.units.values()):
        if uow.state is Cvda.INFLIGHT:  # a coordinator outside CICS has it, and has not had it prepared
            indoubt.back_out_together(uow)
    for strand in region.survivors:
        region.log.warning("task_ended_by_close", task=strand.name, exception=repr(strand.exception))
    if not region.readonly:
        restart.save_latches(region)
        region.ts.save()
        region.starts.save()
        region.hardening.force()


def _leave_links(region: RegionParts) -> None:
    for link in region.links.values():
        link.leave()


def let_go(region: RegionParts, *, clean: bool) -> None:
    """Let the store, the data sets and the threads go, at whatever point the region has come to."""
    region.closed = True
    region.starts.stop_timers()
    mine = [region.task_manager.finish_ends, region.hardening.serve] if hasattr(region, "hardening") else []
    region.dispatcher.on_idle[:] = [hook for hook in region.dispatcher.on_idle if hook not in mine]
    try:
        if hasattr(region, "data_sets"):
            region.data_sets.close(clean=clean)
    finally:
        try:
            region.store.close(clean=clean)
        except BaseException:  # there was no room for records in memory: they are lost, as by a failure
            region.failed = True
            raise
        finally:
            _let_strands_go(region, clean=clean)


def _let_strands_go(region: RegionParts, *, clean: bool) -> None:
    if region.aside is not None:
        region.aside.close()
    if not clean:
        text = f"the region {region.applid} has failed"
        region.survivors = region.dispatcher.end_strands(region, text, RegionClosed)
    if not region.dispatcher.strands:
        region.dispatcher.release_workers()
