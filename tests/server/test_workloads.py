"""Workloads against a served region over HTTP, with cut connections and restarts; planted bugs of the server are found."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from uvicorn.protocols.http.h11_impl import H11Protocol

from tdqsim.cics import Condition, Region
from tdqsim.client import Client
from tdqsim.errors import TdqError
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application, work
from tdqsim.server.listening import HttpServer, http_config
from tdqsim.server.open_units import OpenUnits
from tests.quality.relay import Relay
from tests.quality.workload_cases import LOGICAL, QUEUES, WORKLOADS
from tests.quality.workload_targets import ServedTarget
from tests.quality.workloads import WorkloadRun, run_workload


class Served:
    """A server in a thread of this process, which can fail and be started again from its store, behind a relay."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.start()
        self.relay = Relay(self.url)
        self.client = Client(self.relay.url, "token", timeout=300)
        self.target = ServedTarget(self.client.region("PAYREGN"))

    def start(self) -> None:
        self.host = Host()
        self.region = self.host.add(Region, QUEUES, applid="PAYREGN", supplied_queues=False, store=self.store)
        app = application(self.host, Gate(None, token="token"))
        listens = Event()
        self.http = HttpServer(http_config(app, host="127.0.0.1", port=0), listens.set)
        self.thread = Thread(target=asyncio.run, args=[self.http.serve()])
        self.thread.start()
        assert listens.wait(300)
        (port,) = {each.getsockname()[1] for server in self.http.servers for each in server.sockets}
        self.url = f"http://127.0.0.1:{port}"

    def stop(self, *, clean: bool = True) -> None:
        if not clean:  # what a killed process leaves
            self.host.engine.outside(lambda: self.region.close(clean=False)).result(300)
        self.http.should_exit = True
        self.thread.join(300)
        self.host.stop()

    def restart(self, *, clean: bool) -> None:
        self.stop(clean=clean)
        self.start()
        self.relay.behind(self.url)
        with Client(self.url, "token") as client:
            started = client.region("PAYREGN").about()["start"]
        self.target.restart(self.client.region("PAYREGN"), started)

    def faults(self) -> list[Callable[[], Any]]:
        fails = lambda: self.restart(clean=False)  # noqa: E731
        return [
            lambda: self.relay.cut("request"),
            lambda: self.relay.cut("execution"),
            lambda: self.relay.cut("answer"),
            fails,
            lambda: self.restart(clean=True),
            lambda: self.relay.cut("execution", fails),
            lambda: self.relay.cut("answer", fails),
        ]

    def close(self) -> None:
        self.client.close()
        self.relay.close()
        self.stop()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path / "store")
    yield one
    one.close()


def run(served: Served, name: str, seed: int, *, every: int = 12) -> WorkloadRun:
    return run_workload(WORKLOADS[name](), served.target, seed=seed, faults=served.faults(), every=every)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_served_region_loses_nothing_and_does_nothing_twice(served: Served, name: str) -> None:
    found = run(served, name, seed=1).check()
    assert found.responses["SYNCPOINT", "NORMAL"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_soak(tmp_path: Path, name: str) -> None:
    for seed in range(100):
        served = Served(tmp_path / str(seed))
        try:
            run(served, name, seed).check()
        finally:
            served.close()


# -- planted bugs of the server ---------------------------------------------------------------------------------------

Patch = pytest.MonkeyPatch


def commits(action: Callable[[Any], Any]) -> bool:
    """Whether the last action of an open unit of work is a commit."""
    found = []
    with suppress(AttributeError):
        action(SimpleNamespace(syncpoint=lambda: found.append("commit"), syncpoint_rollback=lambda: None))
    return bool(found)


def answered_before_the_commit(patch: Patch, _served: Served) -> None:
    """A commit is answered at once, and carried out with the next request; a failure in between loses it."""
    do, late = OpenUnits.do, []

    def answer_first(self: OpenUnits, unit: str, user: str, action: Any, *, last: bool = False) -> Future[Any]:
        while late:
            units, *request = late.pop()
            if units is self:
                do(units, *request, last=True)
        if not last or not commits(action):
            return do(self, unit, user, action, last=last)
        late.append((self, unit, user, action))
        answer: Future[Any] = Future()
        answer.set_result(None)
        return answer

    patch.setattr(OpenUnits, "do", answer_first)


def split_units_of_work(patch: Patch, _served: Served) -> None:
    """Each command of an open unit of work is committed at once, so a transfer is two units of work."""
    do = OpenUnits.do

    def commit_each(self: OpenUnits, unit: str, user: str, action: Any, *, last: bool = False) -> Future[Any]:
        def act(task: Any) -> Any:
            found = action(task)
            task.syncpoint()
            return found

        return do(self, unit, user, action if last else act, last=last)

    patch.setattr(OpenUnits, "do", commit_each)


def backouts_that_commit(patch: Patch, _served: Served) -> None:
    do = OpenUnits.do

    def commit_always(self: OpenUnits, unit: str, user: str, action: Any, *, last: bool = False) -> Future[Any]:
        return do(self, unit, user, (lambda task: task.syncpoint()) if last else action, last=last)

    patch.setattr(OpenUnits, "do", commit_always)


def done_twice(patch: Patch, _served: Served) -> None:
    """Every fifth request outside a unit of work is executed a second time, as if it had been sent again."""
    once, count = work.in_a_task, itertools.count(1)

    def twice(*arguments: Any) -> Any:
        if next(count) % 5 == 0:
            once(*arguments)
        return once(*arguments)

    patch.setattr(work, "in_a_task", twice)


def stale_reads(patch: Patch, _served: Served) -> None:
    """Every fourth READQ is answered with what the one before returned."""
    executed, last, count = work.executed, {}, itertools.count(1)

    def stale(task: Any, region: Any, statement: Any) -> Any:
        found = executed(task, region, statement)
        if "INTO" in found["received"]:
            queue, now = str(statement.variables["Q"]), found["received"]["INTO"]
            if next(count) % 4 == 0:
                found["received"]["INTO"] = last.get(queue, now)
            last[queue] = now
        return found

    patch.setattr(work, "executed", stale)


def wrong_order(patch: Patch, _served: Served) -> None:
    """A READQ outside a unit of work puts the first record back at the end, and takes the second."""
    executed = work.executed

    def second(task: Any, region: Any, statement: Any) -> Any:
        found = executed(task, region, statement)
        if "INTO" in found["received"]:
            task.writeq_td(statement.variables["Q"], bytes.fromhex(found["received"]["INTO"]["hex"]))
            found = executed(task, region, statement)
        return found

    once = work.in_a_task

    def alone(region: Any, user: Any, action: Any) -> Any:
        patch.setattr(work, "executed", second)
        try:
            return once(region, user, action)
        finally:
            patch.setattr(work, "executed", executed)

    patch.setattr(work, "in_a_task", alone)


def lost_when_a_connection_is_cut(patch: Patch, served: Served) -> None:
    """When a connection ends, a record is taken from each queue."""
    lost = H11Protocol.connection_lost

    def take(self: Any, error: Exception | None) -> None:
        lost(self, error)

        def take_all() -> None:
            for queue in LOGICAL:
                with suppress(Condition):
                    served.region.readq_td(queue, nosuspend=True)

        with suppress(TdqError):
            served.host.engine.outside(take_all)

    patch.setattr(H11Protocol, "connection_lost", take)


def forgets_at_a_restart(patch: Patch, served: Served) -> None:
    """A restart loses the first record of each queue."""
    start = served.start

    def forget() -> None:
        start()

        def take() -> None:
            for queue in LOGICAL:
                with suppress(Condition):
                    served.region.readq_td(queue)

        served.host.engine.outside(take).result(300)

    patch.setattr(served, "start", forget)


LOSES, MORE = {"lost"}, {"duplicated", "unexpected", "phantom", "read-uncommitted"}


@pytest.mark.parametrize(
    ("bug", "name", "kinds"),
    [
        (answered_before_the_commit, "registers", LOSES | MORE),
        (split_units_of_work, "bank", LOSES | MORE),
        (backouts_that_commit, "registers", LOSES | MORE),
        (done_twice, "records", LOSES | MORE),
        (stale_reads, "registers", LOSES | MORE | {"reordered"}),
        (wrong_order, "records", {"reordered"}),
        (lost_when_a_connection_is_cut, "records", LOSES),
        (forgets_at_a_restart, "bank", LOSES),
    ],
)
def test_a_planted_bug_is_found(
    served: Served, monkeypatch: Patch, bug: Callable[[Patch, Served], None], name: str, kinds: set[str]
) -> None:
    bug(monkeypatch, served)
    found = run(served, name, seed=1)
    assert {each.kind for each in found.verdict.anomalies} & kinds, str(found)
