"""Counts and depths in the text form of Prometheus, made when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from tdqsim.server.host import Host

__all__ = ["exposition"]


class _Collector:
    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[Metric]:
        host = self._host
        commands = CounterMetricFamily(
            "tdq_commands", "Commands that have ended", labels=("region", "command", "condition")
        )
        for labels, count in host.counts.items():
            commands.add_metric(labels, count)
        yield commands
        tasks = GaugeMetricFamily("tdq_tasks", "Tasks that have begun and not ended", labels=("region",))
        depth = GaugeMetricFamily("tdq_queue_items", "Records on intrapartition queues", labels=("region", "queue"))
        abends = CounterMetricFamily("tdq_abends", "Tasks that abended", labels=("region", "abcode"))
        for region in host.regions.values():
            tasks.add_metric((region.applid,), len(region.tasks))
            for code, count in region.abends.items():
                abends.add_metric((region.applid, code), count)
            for queue in region.intra_queues():
                depth.add_metric((region.applid, queue.name), queue.numitems)
        yield from (tasks, depth, abends)


def exposition(host: Host) -> str:
    """The metrics of a host as text; to be called in the engine's thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(host))
    return generate_latest(registry).decode()
