"""OpenTelemetry spans of regions: what begins and ends a span, its parent, its attributes."""

from __future__ import annotations

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra [otel] is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tdqsim import (
    Abend,
    Clock,
    Condition,
    Region,
    Sysplex,
    define_connection,
    define_tdqueue,
    define_transaction,
)
from tdqsim.cics.internals import core_of
from tdqsim.errors import UsageError
from tdqsim.testing import History
from tdqsim.tracing import trace

SECOND = 1_000_000_000


class Spans:
    """The spans that have ended, and a provider that makes them."""

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def all(self):
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time)

    def named(self, name):
        return [span for span in self.all() if span.name == name]

    def one(self, name):
        (span,) = self.named(name)
        return span

    def parent(self, span):
        return next((each.name for each in self.all() if span.parent and each.context == span.parent), None)


def facts(span):
    return {name.removeprefix("cics."): value for name, value in span.attributes.items()}


@pytest.fixture
def spans():
    return Spans()


@pytest.fixture
def region(spans):
    definitions = [
        define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE", transid="PAYP", triggerlevel=1),
        define_tdqueue(name="OUTQ", type="INTRA", recovstatus="LOGICAL"),
        define_transaction(name="PAYP"),
        define_transaction(name="NEXT"),
    ]
    with Region(definitions, applid="PAYREGN", clock=Clock()) as made:
        made.transaction("NEXT")(lambda _task: None)
        trace(made, spans.provider)
        yield made


def test_a_task_is_the_parent_of_its_commands(region, spans):
    @region.transaction("PAYP")
    def post(task):
        task.readq_td("PAYQ")
        with pytest.raises(Condition):
            task.readq_td("PAYQ")

    region.writeq_td("PAYQ", b"secret")
    region.run()
    task = spans.one("task PAYP")
    assert facts(task) == {
        "applid": "PAYREGN", "transid": "PAYP", "task": task.attributes["cics.task"], "userid": "CICSUSER",
        "startcode": "QD",
    }  # fmt: skip
    assert task.status.status_code is StatusCode.UNSET
    reads = spans.named("READQ TD")
    assert [(spans.parent(each), facts(each)["resp"]) for each in reads] == [
        ("task PAYP", "NORMAL"),
        ("task PAYP", "QZERO"),
    ]
    written = {"applid": "PAYREGN", "command": "WRITEQ TD", "resource": "PAYQ", "resp": "NORMAL", "resp2": 0}
    assert facts(spans.one("WRITEQ TD")) == written
    assert spans.one("WRITEQ TD").parent is None  # a command on the region has no task
    assert "secret" not in "".join(each.to_json() for each in spans.all())


def test_spans_have_the_times_of_the_regions_clock(region, spans):
    region.clock.freeze()
    begin = region.clock.time_ns()

    @region.transaction("NEXT")
    def slow(task):
        region.clock.advance(1)
        task.writeq_td("OUTQ", b"1")
        task.delay(seconds=2)
        region.clock.advance(4)

    region.start("NEXT")
    region.run()
    region.clock.advance(2)
    region.run()
    times = {each.name: (each.start_time - begin, each.end_time - begin) for each in spans.all()}
    assert times == {
        "task NEXT": (0, 7 * SECOND), "WRITEQ TD": (SECOND, SECOND), "DELAY": (SECOND, 3 * SECOND),
        "unit of work": (SECOND, 7 * SECOND),
    }  # fmt: skip


def test_commands_of_a_linked_program_are_inside_the_command(region, spans):
    def inner(task):
        task.writeq_td("OUTQ", b"1")
        task.return_()

    region.programs.register("INNER", inner)
    with region.task() as task:
        task.link("INNER")
        task.readq_td("OUTQ")
    assert [(each.name, spans.parent(each)) for each in spans.all() if "cics.command" in each.attributes] == [
        ("LINK", "task TEST"),
        ("WRITEQ TD", "LINK"),
        ("RETURN", "LINK"),
        ("READQ TD", "task TEST"),
    ]


def test_an_abend_is_the_error_of_its_task(region, spans):
    def fail(task):
        task.abend("PAY1")

    handle = region.start(fail)
    region.run()
    with pytest.raises(Abend):
        handle.result()
    (task,) = [each for each in spans.all() if each.name.startswith("task ")]
    assert task.status.status_code is StatusCode.ERROR
    assert facts(task)["abcode"] == "PAY1"
    assert spans.one("ABEND").end_time == task.end_time


def test_each_unit_of_work_has_its_outcome(region, spans):
    with region.task() as task:
        task.writeq_td("OUTQ", b"1")
        ids = [core_of(region).units_of_work()[0].id.hex().upper()]
        task.syncpoint()
        task.writeq_td("OUTQ", b"2")
        ids.append(core_of(region).units_of_work()[0].id.hex().upper())
        task.syncpoint_rollback()
    assert [facts(each) for each in spans.named("unit of work")] == [
        {"applid": "PAYREGN", "uow": uow, "netuowid": f"PAYREGN.{uow}", "outcome": outcome}
        for uow, outcome in zip(ids, ("COMMIT", "BACKOUT"), strict=True)
    ]
    assert {spans.parent(each) for each in spans.named("unit of work")} == {"task TEST"}


def test_a_started_task_is_linked_to_the_command_that_has_started_it(region, spans):
    with region.task() as task:
        task.start("NEXT")
    region.run()
    started = spans.one("task NEXT")
    assert started.parent is None
    assert [link.context for link in started.links] == [spans.one("START").context]


def shipped(at_once, spans):
    """A record that is shipped to another region and committed there."""
    here = [
        define_tdqueue(name="FARQ", remotesystem="CICB", remotename="NEAR"),
        define_connection(name="CICB", netname="CICBAPPL"),
    ]
    there = [
        define_tdqueue(name="NEAR", type="INTRA", recovstatus="LOGICAL"),
        define_connection(name="CICA", netname="CICAAPPL"),
    ]
    with Sysplex(at_once=at_once) as plex:
        one = plex.region(here, applid="CICAAPPL", sysid="CICA")
        other = plex.region(there, applid="CICBAPPL", sysid="CICB")
        for each in (one, other):
            trace(each, spans.provider)
        with one.task(transid="SHIP") as task:
            task.writeq_td("FARQ", b"1")
        plex.run()
        assert list(other.peek("NEAR")) == [b"1"]


@pytest.mark.parametrize("at_once", [True, False])
def test_the_messages_of_a_distributed_unit_of_work_are_spans(spans, at_once):
    shipped(at_once, spans)
    messages = [each for each in spans.all() if "cics.message" in each.attributes]
    assert [(facts(each)["sysid"], facts(each)["message"], spans.parent(each)) for each in messages] == [
        ("CICB", "REQUEST", "WRITEQ TD"),
        ("CICB", "PREPARE", "unit of work"),
        ("CICB", "COMMIT", "unit of work"),
    ]
    units = spans.named("unit of work")
    assert {facts(each)["applid"] for each in units} == {"CICAAPPL", "CICBAPPL"}
    assert len({facts(each)["netuowid"] for each in [*units, *messages]}) == 1


def test_a_mirror_of_the_same_process_continues_the_trace_of_its_requester(spans):
    shipped(True, spans)
    assert spans.parent(spans.one("task CSMI")) == "REQUEST CICB"
    assert len({each.context.trace_id for each in spans.all()}) == 1


def test_a_command_that_python_refuses_is_not_around_the_next_one(region, spans):
    with pytest.raises(TypeError):
        region.writeq_ts("SCRATCH", 1)
    region.writeq_ts("SCRATCH", b"1")
    assert [each.parent for each in spans.named("WRITEQ TS")] == [None, None]


def test_a_history_goes_on_recording(spans):
    with Region([define_tdqueue(name="OUTQ", type="INTRA")], applid="PAYREGN") as region, History() as history:
        history.attach(region)
        traced = trace(region, spans.provider)
        with pytest.raises(UsageError, match="traced already"):
            trace(region, spans.provider)
        region.writeq_td("OUTQ", b"1")
        assert "WRITEQ TD" in str(region.explain("OUTQ", record=b"1"))
        traced.close()
        region.writeq_td("OUTQ", b"2")
        assert [each.data for each in history.of("OUTQ")] == [b"1", b"2"]
        assert len(spans.named("WRITEQ TD")) == 1


def test_what_is_open_at_the_end_of_the_trace_ends_with_it(spans):
    with Region([define_tdqueue(name="OUTQ", type="INTRA", recovstatus="LOGICAL")]) as region:
        traced = trace(region, spans.provider)
        with region.task() as task:
            task.writeq_td("OUTQ", b"1")
            traced.close()
            assert sorted(each.name for each in spans.all()) == ["WRITEQ TD", "task TEST", "unit of work"]
        assert core_of(region).recorder is None
        assert core_of(region).hook is None
