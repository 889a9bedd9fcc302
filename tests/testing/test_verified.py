"""A transcript of data queues holds what was called and answered; compared with the simulator it shows what differs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tdqsim import EscapeMessage, Region, System, TdqError, define_tdqueue
from tdqsim.errors import StoreFull
from tdqsim.testing import (
    JobAnswer,
    SimulatedJobTarget,
    SimulatedTarget,
    Transcript,
    compare_transcript,
    load_transcript,
)


@pytest.fixture
def transcript():
    with System() as system:
        yield Transcript(SimulatedJobTarget(system, "MYLIB"), "test_orders", "ibmi")


def orders(target, *, call: bool = True) -> None:
    target.setup()
    target.command("CRTDTAQ DTAQ(MYLIB/ORDERS) MAXLEN(10) SEQ(*KEYED) KEYLEN(1)")
    for data in (b"\x00\xff", b"two"):
        target.qsnddtaq("ORDERS", target.library, data, b"K")
    target.qsnddtaq("ORDERS", "MYLIB", b"wrong", b"KEY")
    target.qmhqrdqd("ORDERS", "MYLIB")
    target.qmhrdqm("ORDERS", "MYLIB", "K", "GE", b"A")
    target.begin(1)
    target.qrcvdtaq("ORDERS", "MYLIB", 0, "EQ", b"K", job=1)
    target.end(1)
    target.qrcvdtaq("ORDERS", "MYLIB", 0, "EQ", key=b"K", remove=False)
    target.qclrdtaq("ORDERS", "MYLIB", "GE", b"Z")
    if call:
        target.call("QCLRDTAQ", "ORDERS".ljust(10).encode("cp037"), "MYLIB".ljust(10).encode("cp037"))
    target.command("DLTDTAQ DTAQ(MYLIB/ORDERS)")


def written(transcript: Transcript, path: Path) -> Path:
    path.write_text("".join(f"{call.as_json()}\n" for call in transcript.calls), "utf-8")
    return path


def test_a_transcript_agrees_with_the_simulator_that_made_it(transcript: Transcript, tmp_path: Path) -> None:
    orders(transcript)
    file = written(transcript, tmp_path / "t.jsonl")
    assert load_transcript(file) == transcript.calls
    assert [call.answer.message for call in transcript.calls if call.operation == "qsnddtaq"] == ["", "", "CPF9506"]
    assert compare_transcript(file) == []
    assert compare_transcript(transcript.calls, make_system=lambda: System("OTHER")) == []


@pytest.mark.parametrize(
    ("operation", "change"),
    [
        ("qrcvdtaq", {"data": b"another"}),
        ("qsnddtaq", {"message": "CPF9999"}),
        ("qmhqrdqd", {"values": {"message_length": 11}}),
        ("qmhrdqm", {"values": {"messages": []}}),
    ],
)
def test_where_a_machine_answers_otherwise_is_said(transcript: Transcript, operation: str, change) -> None:
    orders(transcript)
    at = next(n for n, call in enumerate(transcript.calls) if call.operation == operation)
    call = transcript.calls[at]
    transcript.calls[at] = call._replace(answer=call.answer._replace(**change))
    (difference,) = compare_transcript(transcript.calls)
    assert difference.call.operation == operation
    assert str(difference).startswith(f"test_orders: {operation}(")


def test_what_a_machine_tells_more_or_less_of_a_queue_is_no_difference(transcript: Transcript) -> None:
    orders(transcript)
    at = next(n for n, call in enumerate(transcript.calls) if call.operation == "qmhqrdqd")
    call = transcript.calls[at]
    assert isinstance(call.answer, JobAnswer)
    told = {"message_length": 10, "maximum_number_of_entries_allowed": 123}
    transcript.calls[at] = call._replace(answer=call.answer._replace(values=told))
    assert compare_transcript(transcript.calls) == []


def test_one_file_may_hold_a_region_and_a_system(transcript: Transcript, tmp_path: Path) -> None:
    def make() -> Region:
        return Region([define_tdqueue(name="PAYQ", type="INTRA")], supplied_queues=False)

    orders(transcript)
    with make() as region:
        other = Transcript(SimulatedTarget(region), "test_region")
        other.writeq_td("PAYQ", b"x")
        other.readq_td("PAYQ", nosuspend=True)
    transcript.calls += other.calls
    file = written(transcript, tmp_path / "t.jsonl")
    assert compare_transcript(file, make) == []
    with pytest.raises(TdqError, match="tests of a region: give make_region"):
        compare_transcript(file)


def test_a_request_outside_a_task_answers_rolledback_when_its_commit_is_refused() -> None:
    queue = define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL")
    with Region([queue], supplied_queues=False) as region:

        def refuse(_moment: str) -> None:
            region.store.durable.fault = None
            raise StoreFull("the disk is full")

        region.store.durable.fault = refuse
        target = SimulatedTarget(region)
        answers = [target.writeq_td("PAYQ", b"lost"), target.writeq_td("PAYQ", b"kept"), target.readq_td("PAYQ")]
        assert [(each.resp, each.data) for each in answers] == [
            ("ROLLEDBACK", b""),
            ("NORMAL", b""),
            ("NORMAL", b"kept"),
        ]


def test_a_transcript_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"format": 2}\n', "utf-8")
    with pytest.raises(TdqError, match=r't\.jsonl:1: .*{"format": 2}; this tdqsim reads format 1'):
        load_transcript(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    "change",
    [{"operation": "system"}, {"target": "as400"}, {"answer": 7}, {"arguments": [{"hex": "zz"}]}, {"options": 1}, "["],
)
def test_a_line_that_is_none_is_named(transcript: Transcript, tmp_path: Path, change) -> None:
    transcript.setup()
    line = transcript.calls[0].as_json()
    wrong = change if isinstance(change, str) else json.dumps({**json.loads(line), **change})
    (tmp_path / "t.jsonl").write_text(f"{line}\n{wrong}\n", "utf-8")
    with pytest.raises(TdqError, match=r"t\.jsonl:2: this is not a line of a transcript"):
        load_transcript(tmp_path / "t.jsonl")


def test_a_call_that_cannot_be_made_is_named(transcript: Transcript) -> None:
    transcript.setup()
    call = transcript.calls[0]._replace(operation="qsnddtaq", arguments=("ORDERS",))
    with pytest.raises(TdqError, match="test_orders: qsnddtaq"):
        compare_transcript([transcript.calls[0], call])


# -- the target that the guide shows, on a connection that is made up -----------------------------------------------

GUIDE = Path(__file__).resolve().parents[2] / "src" / "tdqsim" / "guide" / "real-systems.md"


class Cursor:
    """As much SQL as the guide's target speaks, carried out by the simulator's SQL services."""

    def __init__(self, job) -> None:
        self._job = job
        self.description: list[str] | None = None
        self._rows: list[tuple] = []

    def fetchall(self) -> list[tuple]:
        return self._rows

    def execute(self, statement: str, values) -> None:
        self.description, self._rows = None, []
        given = dict(zip(re.findall(r"(\w+) => \?", statement), values, strict=False))
        named = {name.lower(): value for name, value in given.items()}
        try:
            self._run(statement, named, list(values))
        except EscapeMessage as error:
            raise RuntimeError(f"[SQL0443] {error}") from error

    def _run(self, statement: str, named, values) -> None:
        services = self._job.qsys2
        word = re.search(r"QSYS2\.(\w+)|SYSIBMADM", statement)
        assert word is not None, statement
        if word[1] is None:
            self._answer([("7", "5")])
        elif word[1] == "QCMDEXC":
            self._command(values[0])
        elif word[1] == "RECEIVE_DATA_QUEUE":
            row = services.receive_data_queue(**named)
            self._answer([(row.message_data_binary, row.key_data)] if row is not None else [])
        elif word[1] == "DATA_QUEUE_ENTRIES":
            found = services.data_queue_entries(**named)
            self._answer([(row.message_data_binary, row.key_data) for row in found])
        elif word[1] == "DATA_QUEUE_INFO":
            library, name = values
            found = services.data_queue_info(name, library)
            columns = re.sub(r", (?=[01])", " ", statement.partition(" FROM")[0].removeprefix("SELECT ")).split(", ")
            self._answer([tuple(self._column(row, column) for column in columns) for row in found])
        else:
            getattr(services, word[1].lower())(**named)

    @staticmethod
    def _column(row, column: str):
        """Of a name, COALESCE(name 0) or SUBSTR(name 1, 1)."""
        name = re.sub(r"^\w+\(|[ )].*$", "", column).lower()
        value = getattr(row, name)
        return value[:1] if column.startswith("SUBSTR") else (value or 0) if column.startswith("COALESCE") else value

    def _answer(self, rows: list[tuple]) -> None:
        self.description, self._rows = ["a"], rows

    def _command(self, text: str) -> None:
        system, library = self._job.system, text.partition("LIB(")[2].rstrip(")")
        if text.startswith("DLTLIB") and library not in system.libraries:
            raise RuntimeError("CPF2110 Library not found.")
        if text.startswith("DLTLIB"):
            system.dltlib(library)
        elif text.startswith("CRTLIB"):
            system.crtlib(library)
        else:
            self._job.command(text)


class Connection:
    def __init__(self, system: System) -> None:
        self._job = system.job()

    def cursor(self) -> Cursor:
        return Cursor(self._job)

    def close(self) -> None:
        self._job.end()


def test_the_target_of_the_guide_answers_as_the_simulator_does() -> None:
    code = re.search(r"```python file=mysite.py\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert code is not None
    site: dict[str, Any] = {}
    exec(code[1], site)
    with System() as system:
        transcript = Transcript(site["SqlTarget"](lambda: Connection(system), "MYLIB"), "test_orders", "ibmi")
        orders(transcript, call=False)
        transcript.qrcvdtaq("NOTHERE", "MYLIB")
        transcript.qmhqrdqd("NOTHERE", "MYLIB")
        transcript.qclrdtaq("NOTHERE", "MYLIB", "GE", b"A")
        assert transcript.calls[0].answer.values == {"library": "MYLIB", "machine": ["7", "5"]}
        assert len(transcript.calls) > 12
        assert [str(each) for each in compare_transcript(transcript.calls)] == []


def test_a_transcript_that_was_cut_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_bytes(b"")
    with pytest.raises(TdqError, match=r'calls\.jsonl: the file is empty; a transcript begins with \{"format":'):
        compare_transcript(tmp_path / "calls.jsonl")
