"""The metrics of a server in the text format of Prometheus, computed for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from tdqsim import state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from tdqsim.server.host import Host


class _Collector:
    def __init__(self, host: Host, sessions: int) -> None:
        self._host = host
        self._sessions = sessions

    def collect(self) -> Iterator[Metric]:
        yield from _commands(self._host)
        yield from _regions(self._host)
        yield from _systems(self._host)
        yield from _commits(self._host)
        yield GaugeMetricFamily("tdq_requests_waiting", "Requests that wait for a change", len(self._host.waits))
        yield GaugeMetricFamily("tdq_sessions", "Open sessions", self._sessions)


def _commands(host: Host) -> Iterator[Metric]:
    commands = CounterMetricFamily(
        "tdq_commands", "Commands that have ended", labels=("region", "command", "condition")
    )
    for labels, count in host.counts.items():
        commands.add_metric(labels, count)
    yield commands


def _regions(host: Host) -> Iterator[Metric]:
    tasks = GaugeMetricFamily("tdq_tasks", "Tasks that have begun and not ended", labels=("region",))
    waits = GaugeMetricFamily("tdq_waits", "Tasks that wait, for others or for time", labels=("region",))
    depth = GaugeMetricFamily("tdq_queue_items", "Records on intrapartition queues", labels=("region", "queue"))
    abends = CounterMetricFamily("tdq_abends", "Tasks that abended", labels=("region", "abcode"))
    up = GaugeMetricFamily("tdq_region_up", "1, or 0 if the region has ended", labels=("region",))
    for region in host.regions.values():
        up.add_metric((region.applid,), 0 if region.closed else 1)
        if region.closed:
            continue
        tasks.add_metric((region.applid,), len(region.tasks))
        waits.add_metric((region.applid,), sum(1 for _wait in state.waits(region)))
        for code, count in region.statistics.abends.items():
            abends.add_metric((region.applid, code), count)
        for queue in region.tdqueues:
            if (numitems := state.depth(region, queue)) is not None:
                depth.add_metric((region.applid, queue), numitems)
    yield from (up, tasks, waits, depth, abends)


def _systems(host: Host) -> Iterator[Metric]:
    entries = GaugeMetricFamily(
        "tdq_data_queue_entries", "Entries on data queues", labels=("system", "library", "queue")
    )
    jobs = GaugeMetricFamily("tdq_jobs", "Active jobs", labels=("system",))
    up = GaugeMetricFamily("tdq_system_up", "1, or 0 if the system has ended", labels=("system",))
    for system in host.systems.values():
        up.add_metric((system.name,), 0 if system.closed else 1)
        if system.closed:
            continue
        jobs.add_metric((system.name,), len(system.jobs))
        for queue in system.queues():
            if not queue.ddm:
                entries.add_metric((system.name, queue.library, queue.name), queue.count)
    yield from (up, entries, jobs)


def _commits(host: Host) -> Iterator[Metric]:
    units = CounterMetricFamily("tdq_units_of_work", "Units of work that have ended", labels=("region", "outcome"))
    for (applid, committed), count in host.units_ended.items():
        units.add_metric((applid, "committed" if committed else "backed_out"), count)
    seconds = HistogramMetricFamily(
        "tdq_commit_seconds", "Duration of commits of durable changes", labels=("region",), unit="seconds"
    )
    for applid, latency in host.commits.items():
        seconds.add_metric((applid,), latency.buckets(), latency.seconds)
    yield from (units, seconds)


def exposition(host: Host, sessions: int) -> str:
    """The metrics of a host as text; call in the engine's thread.

    Args:
        host: the regions and systems.
        sessions: the number of open sessions.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(host, sessions))
    return generate_latest(registry).decode()
