"""Messages of CICS: what stands before their text, and each with its inserts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Abend, Region, Task
from tdqsim.cics.internals import core_of
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.facts import table
from tests.rules import rule

Make = Callable[..., Region]

_HEADS = {"date": r"\d\d/\d\d/\d{4}", "time": r"\d\d:\d\d:\d\d", "applid": "PAYA"}
_QUEUES = ("CSMT", "CSCS", "CSQL")


@pytest.fixture
def audited(make_region: Make) -> Region:
    return make_region(
        *(define_tdqueue(name=name, type="INTRA") for name in _QUEUES),
        define_tdqueue(name="TRGQ", type="INTRA", transid="FARP", triggerlevel=1, atifacility="FILE"),
        define_tdqueue(name="NOTR", type="INTRA", transid="GONE", triggerlevel=1, atifacility="FILE"),
        define_tdqueue(name="PAYQ", type="INTRA"),
        define_transaction(name="FARP", remotesystem="CICB"),
        define_terminal(name="T001"),
        applid="PAYA",
    )


def head(names: str, text: str) -> str:
    """A pattern of a message, by the names of what stands before the text."""
    return " ".join((*(_HEADS[name] for name in names.split()), re.escape(text)))


def written(region: Region, queue: str) -> str:
    """All that is on a queue, as one line: a message that is longer than a record is continued in the next one."""
    return "".join(region.text(record) for record in region.peek(queue))


def replace(task: Task) -> None:
    task.set_tdqueue("PAYQ", enablestatus="DISABLED")
    task.create_tdqueue("PAYQ", "TYPE(INTRA)")


@pytest.mark.rule("MESSAGE-CONSOLE-HEAD")
def test_a_message_to_the_console_has_the_applid_and_no_time(audited: Region) -> None:
    audited.writeq_td("TRGQ", b"x")
    audited.writeq_td("NOTR", b"x")
    remote, unknown = audited.diagnostics.operator
    before = rule("MESSAGE-CONSOLE-HEAD").message
    text = "Transaction FARP initiated when the trigger level is reached for Transient Data queue TRGQ is defined as REMOTE."
    assert re.fullmatch("DFHTD0340 " + head(before, text) + ".*", remote)
    assert re.fullmatch(
        "DFHTD0183 " + head(before, "The trigger level of queue NOTR was reached") + ".*GONE.*", unknown
    )


@pytest.mark.rule("MESSAGE-QUEUE-HEAD", "MESSAGE-NO-TERMINAL")
@pytest.mark.parametrize(
    ("option", "who"), [("TERMID('T001')", "T001 CICSUSER ADMN"), ("USERID('CICSUSER')", "CICSUSER ADMN")]
)
def test_the_audit_log_leaves_out_a_terminal_that_is_not_there(audited: Region, option: str, who: str) -> None:
    audited.register("ADMN", replace)
    audited.execute(f"START TRANSID('ADMN') {option}")
    audited.run()
    text = head(rule("MESSAGE-QUEUE-HEAD").message, f"{who} TDQUEUE entry for PAYQ has been replaced.")
    assert re.search(f"DFHTD0403 {text}$", written(audited, "CSQL"))


@pytest.mark.rule("MESSAGE-QUEUE-HEAD")
@pytest.mark.parametrize(("terminal", "shown"), [("T001", "T001"), (None, "????")])
def test_an_abend_is_told_with_transaction_code_program_and_terminal(
    audited: Region, terminal: str | None, shown: str
) -> None:
    audited.register("PAYP", lambda task: task.abend("PAY1"))
    audited.execute("START TRANSID('PAYP')" + (f" TERMID('{terminal}')" if terminal else ""))
    audited.run()
    text = f"Transaction PAYP abend PAY1 in program PAYP term {shown}. "
    assert re.match("DFHAC2236 " + head(rule("MESSAGE-QUEUE-HEAD").message, text), written(audited, "CSMT"))


def abend(region: Region, code: str) -> None:
    with pytest.raises(Abend):
        region.start(lambda task: task.abend(code)).result()


@pytest.mark.parametrize(("recordformat", "recordsize", "data"), [("FIXED", 40, 40), ("VARIABLE", 44, 40)])
def test_a_message_is_written_in_records_of_the_length_of_a_data_set(
    make_region: Make, tmp_path: Path, recordformat: Any, recordsize: int, data: int
) -> None:
    queue = define_tdqueue(
        name="CSMT", type="EXTRA", typefile="OUTPUT", ddname="MSG", recordformat=recordformat, recordsize=recordsize
    )
    region = make_region(queue, dd={"MSG": tmp_path / "messages"})
    abend(region, "PAY1")
    *full, last = region.peek("CSMT")
    assert {len(record) for record in full} == {data}
    assert (
        region.text(b"".join([*full, last]))
        .rstrip()
        .endswith("PROG term ????. Updates to local recoverable resources will be backed out.")
    )
    assert (len(last) == data) is (recordformat == "FIXED")


def test_a_message_that_is_lost_is_followed_by_those_that_are_not(make_region: Make) -> None:
    region = make_region(define_tdqueue(name="CSMT", type="INTRA", recovstatus="LOGICAL"))
    with region.task() as task:
        task.writeq_td("CSMT", task.encode("held"))
        abend(region, "PAY1")  # its message would have to wait, and does not
    abend(region, "PAY2")
    assert [re.findall("PAY[12]|held", region.text(record)) for record in region.peek("CSMT")[:2]] == [
        ["held"],
        ["PAY2"],
    ]


@pytest.mark.parametrize("row", table("kernel_messages"), ids=lambda row: str(row["id"]))
def test_each_message_shows_each_insert_once_in_its_place(audited: Region, row: dict[str, Any]) -> None:
    """Whatever its event: the head of its destination, each insert, ???? for what is empty, nothing for what may be left out."""
    messages = core_of(audited).messages
    names = re.findall(r"{(\w+)}", row["text"])
    full = messages.compose(row["id"], **{name: name.upper() for name in names})
    text = row["text"].format_map({name: name.upper() for name in names})
    assert re.fullmatch(f"{row['id']} " + head(row["head"], text), full)
    empty = messages.compose(row["id"], **dict.fromkeys(names, ""))
    assert empty.count("????") == len(names) - bool(row["without"])
    assert "  " not in empty
    expected = {"Console": "applid", "Terminal": "time applid"}.get(row["destination"], "date time applid")
    assert row["head"] == expected
