"""How a region ends: it closes its links first, then ends its tasks in order, then releases its store and data sets.

A normal end ends the tasks and backs out their units of work. A region that fails backs out nothing, since its next
start does that. A start that fails before it has changed the store leaves the store as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.uow import indoubt, restart
from tdqsim.errors import RegionClosed
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.core.strand import Strand
    from tdqsim.errors import StoreError


def end(region: RegionCore, *, clean: bool) -> tuple[Strand, ...]:
    """Close a region; see :meth:`tdqsim.cics.region.Region.close`."""
    if region.closed and not (region.failed and region.store.is_open):
        return ()
    try:
        # A region that is closed already had its end interrupted: finish it, without writing anything more.
        _end(region, clean=clean and not region.closed)
    except BaseException:  # close the store nevertheless; the next start backs out what is left
        region.failed = True
        let_go(region, clean=False)
        raise
    return region.survivors


def store_failed(region: RegionCore, error: StoreError) -> None:
    """End a region because writing or syncing its store failed: later commits could not be made durable.

    The next start is an emergency restart. The command that met the error raises it; later calls raise RegionClosed.
    """
    if region.closed:  # the error may also come up while the region is being closed
        return
    region.notices.say("store_failed", error=str(error))
    region.why_closed = f"has failed: {error}"
    end(region, clean=False)


def give_up(region: RegionCore) -> None:
    """End a region whose start has failed.

    If the start was complete, the region ends normally. If a warm start had committed nothing, the store remains marked
    as closed cleanly, so that the next start is warm again.
    """
    if hasattr(region, "hardening"):
        region.hardening.settle()
    if region.started:
        end(region, clean=True)
    elif hasattr(region, "store"):
        store = region.store
        untouched = region.start_type in ("", "WARM") and store.closed_clean and not store.durable.commits
        let_go(region, clean=untouched and not region.readonly)


def _end(region: RegionCore, *, clean: bool) -> None:
    if clean:  # a normal end notifies the partners; after a failure they only notice that the region is gone
        _leave_links(region)
    region.closed = True
    _leave_links(region)
    region.directory.refresh_all()
    if clean:
        _end_tasks(region)
    else:
        region.failed = True
    let_go(region, clean=clean)


def _end_tasks(region: RegionCore) -> None:
    region.survivors = region.dispatcher.end_strands(region, f"the region {region.applid} is closed", RegionClosed)
    for task in tuple(region.tasks.values()):
        task.end(normal=False)
    region.task_manager.finish_ends()
    for uow in tuple(region.units.values()):
        if uow.state is Cvda.INFLIGHT:  # a coordinator outside CICS has it, and has not had it prepared
            indoubt.back_out_together(uow)
    for strand in region.survivors:
        region.notices.say("task_ended_by_close", task=strand.name, exception=repr(strand.exception))
    if not region.readonly:
        region.statistics.end()
        restart.save_latches(region)
        region.ts.save()
        region.starts.save()
        region.hardening.force()


def _leave_links(region: RegionCore) -> None:
    for link in region.links.values():
        link.leave()


def let_go(region: RegionCore, *, clean: bool) -> None:
    """Release the store, the data sets and the threads, however far the region's start or end has come."""
    region.closed = True
    region.starts.stop_timers()
    region.statistics.stop()
    mine = [region.task_manager.finish_ends, region.hardening.serve] if hasattr(region, "hardening") else []
    region.dispatcher.on_idle[:] = [hook for hook in region.dispatcher.on_idle if hook not in mine]
    try:
        if hasattr(region, "data_sets"):
            region.data_sets.close(clean=clean)
    finally:
        try:
            region.store.close(clean=clean)
        except BaseException:  # no room for the records in memory: they are lost, as when a region fails
            region.failed = True
            raise
        finally:
            _let_strands_go(region, clean=clean)


def _let_strands_go(region: RegionCore, *, clean: bool) -> None:
    if region.aside is not None:
        region.aside.close()
    if not clean:
        text = f"the region {region.applid} has failed"
        region.survivors = region.dispatcher.end_strands(region, text, RegionClosed)
    if not region.dispatcher.strands:
        region.dispatcher.release_workers()
