"""What flowed, from histories: who wrote and read what, and what was started by what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdqsim import Condition, Region, Task, define_connection, define_tdqueue, define_transaction
from tdqsim.cics.ship.sysplex import Sysplex
from tdqsim.definitions import Definitions, define_program
from tdqsim.report.flows import FlowCounts, Flows
from tdqsim.report.history_sections import add_flows
from tdqsim.report.topology import Site
from tdqsim.testing.following import Follower
from tdqsim.testing.history import History
from tests.cli.conftest import Tdq, tdq  # noqa: F401
from tests.report.conftest import Look

QUEUES = [
    define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE", transid="PAYP", triggerlevel=3),
    define_tdqueue(name="DONE", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="PAYQ"),
    define_transaction(name="PAYP"),
    define_transaction(name="FILL"),
    define_transaction(name="LAST"),
]


def fill(task: Task) -> None:
    for number in range(7):
        task.writeq_td("ALIA", b"%d" % number)
    task.writeq_ts("NOTES", b"filled")
    with pytest.raises(Condition):
        task.writeq_td("NONE", b"")


def pay(task: Task) -> None:
    try:
        while True:
            task.writeq_td("DONE", task.readq_td("PAYQ"))
    except Condition:
        task.start("LAST")


def last(task: Task) -> None:
    task.abend("OOPS")


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(definitions=QUEUES, applid="PAYREGN", sysid="PAY1") as made:
        for transid, handler in (("FILL", fill), ("PAYP", pay), ("LAST", last)):
            made.register(transid, handler)
        yield made


def counted(flows: Flows) -> dict[tuple[str, str], dict[str, int]]:
    """Counts and failures by the names of both ends."""
    return {
        (flows.nodes[flow.source].name, flows.nodes[flow.target].name): {**flow.counts, **flow.failed}
        for flow in flows.flows.values()
    }


EXPECTED = {
    ("FILL", "PAYQ"): {"records": 7},
    ("FILL", "NOTES"): {"records": 1},
    ("FILL", "NONE"): {"QIDERR": 1},
    ("PAYQ", "PAYP"): {"records": 7, "starts": 1},
    ("PAYP", "DONE"): {"records": 7},
    ("PAYP", "LAST"): {"starts": 1},
}


def test_what_was_written_read_and_started_is_counted(region: Region) -> None:
    follower = Follower(region)
    region.start("FILL")
    region.run()
    flows = Flows()
    add_flows(flows, follower.digest(), "PAYREGN")
    assert counted(flows) == EXPECTED
    nodes = {node.name: node for node in flows.nodes.values()}
    assert (nodes["DONE"].depth, nodes["PAYQ"].depth, nodes["NOTES"].kind) == (7, 0, "TS queue")
    assert (nodes["LAST"].tasks, nodes["LAST"].abends) == (1, 1)


def test_a_file_of_a_history_has_the_same_flows(region: Region, tmp_path: Path, tdq: Tdq, look: Look) -> None:  # noqa: F811
    with History(path=tmp_path / "h.jsonl").attach(region):
        region.start("FILL")
        region.run()
    told = json.loads(tdq("topology", "--from", f"payregn={tmp_path / 'h.jsonl'}", "--json").out)
    names = {node["id"]: node["name"] for node in told["nodes"]}
    assert {node["owner"] for node in told["nodes"]} == {"PAYREGN"}
    found = {
        (names[flow.pop("source")], names[flow.pop("target")]): flow.pop("failed") | flow for flow in told["flows"]
    }
    assert found == EXPECTED
    shown = tdq("topology", "--from", tmp_path / "h.jsonl")
    assert "transaction FILL" in shown.out
    assert tdq("topology", "--from", tmp_path / "h.jsonl", "--output", "flows.html").code == 0
    page = look(Path("flows.html"))
    assert "What flowed: H" in page.text
    assert {"FILL", "PAYQ", "DONE"} <= {value for _, name, value in page.attributes if name == "data-names"}


def test_a_history_that_is_not_there_is_refused(tdq: Tdq) -> None:  # noqa: F811
    ended = tdq("topology", "--from", "none.jsonl")
    assert ended.code == 2
    assert "there is no file none.jsonl" in ended.err


def test_the_six_counts_of_the_card_posting_are_on_the_picture(tdq: Tdq, look: Look) -> None:  # noqa: F811
    ended = tdq("run", "card_posting", "--records", 200, "--report", "run.html", "--output", "out", "--json")
    told = json.loads(ended.out.splitlines()[-1])
    page = look(Path("run.html"))
    names = {value for _, name, value in page.attributes if name == "data-names"}
    assert {"DALY", "PRDR", "PST1", "PST2", "PST3", "PST4", "PPST", "PSTD", "REJS"} <= names
    for count in (told["records_in"], told["records_posted"], told["records_rejected"]):
        assert f">{count}</tspan>" in Path("run.html").read_text("utf-8")
    assert Path("run.html").stat().st_size < 1_500_000
    heads = ("What flowed", "Topology", "Depth over time", "Tasks and units of work")
    assert [page.text.count(text) for text in heads] == [1, 1, 1, 1]


def test_a_shipped_record_is_followed_into_the_other_region() -> None:
    here = [
        define_tdqueue(name="FARQ", remotesystem="CICB", remotename="NEAR"),
        define_connection(name="CICB", netname="CICBAPPL"),
    ]
    there = [define_tdqueue(name="NEAR", type="INTRA"), define_connection(name="CICA", netname="CICAAPPL")]
    plex = Sysplex()
    one = plex.region(here, applid="CICAAPPL", sysid="CICA")
    other = plex.region(there, applid="CICBAPPL", sysid="CICB")
    followers = [Follower(one), Follower(other)]
    with one.task(transid="SHIP") as task:
        task.writeq_td("FARQ", b"1")
        task.writeq_td("FARQ", b"2")
    flows = Flows()
    for follower, definitions, sysid in zip(followers, (here, there), ("CICA", "CICB"), strict=True):
        add_flows(flows, follower.digest(), follower.name, Site(follower.name, sysid, Definitions.of(definitions)))
    flows.ship()
    plex.close()
    assert counted(flows)["FARQ", "CSMI"] == {"ships": 2}
    assert counted(flows)["CSMI", "NEAR"] == {"records": 2}


def test_the_picture_and_the_table_say_what_each_flow_is() -> None:
    counts, mirror, flows = FlowCounts(), FlowCounts(), Flows()
    for command, resource, condition, number in (
        ("WRITEQ TD", "FARQ", "NORMAL", 2), ("READQ TD", "FARQ", "NORMAL", 1), ("DELETEQ TD", "HERE", "NORMAL", 1),
        ("WRITEQ TD", "HERE", "NOSPACE", 2), ("WRITEQ TD", "HERE", "IOERR", 1), ("LINK", "PRICE", "NORMAL", 3),
        ("LINK", "LOCAL", "NORMAL", 1),
    ):  # fmt: skip
        counts.command("SHIP", command, resource, condition, number)
    mirror.tasks["CSMI"] = 1
    given = [
        define_tdqueue(name="FARQ", remotesystem="CICB"), define_connection(name="CICB", netname="FARAPPL"),
        define_program(name="PRICE", remotesystem="CICB"), define_program(name="LOCAL", remotesystem="CICA"),
    ]  # fmt: skip
    flows.define("R", "CICA", Definitions.of(given))
    flows.add("R", counts)
    flows.add("FARAPPL", mirror)
    flows.ship()
    assert flows.table().rows == [
        ("FARAPPL", "transaction CSMI", "remote queue FARQ", 0, 0, "ships 1", ""),
        ("R", "program PRICE", "transaction CSMI", 0, 0, "ships 3", ""),
        ("R", "remote queue FARQ", "transaction CSMI", 0, 0, "ships 2", ""),
        ("R", "remote queue FARQ", "transaction SHIP", 1, 0, "", ""),
        ("R", "transaction SHIP", "program LOCAL", 0, 1, "", ""),
        ("R", "transaction SHIP", "program PRICE", 0, 3, "", ""),
        ("R", "transaction SHIP", "queue HERE", 0, 0, "deletes 1", "IOERR 1, NOSPACE 2"),
        ("R", "transaction SHIP", "remote queue FARQ", 2, 0, "", ""),
    ]
    ship, far, price = "R/transaction/SHIP", "R/queue/FARQ", "R/program/PRICE"
    rates = {(ship, far): 0.1, (far, ship): 10.0, (ship, price): 0.09}
    assert [(arrow.how, arrow.label, arrow.bad) for arrow in flows.diagram(rates=rates).arrows] == [
        ("records", "2 · 0.1/s", ""), ("records", "1 · 10/s", ""), ("deletes", "deletes 1", "3 failed"),
        ("starts", "starts 3", ""), ("starts", "starts 1", ""), ("ships", "ships 2", ""), ("ships", "ships 1", ""),
        ("ships", "ships 3", ""),
    ]  # fmt: skip


def test_a_joined_box_has_neither_page_nor_target_and_what_differs_is_not_joined() -> None:
    counts, flows = FlowCounts(), Flows()
    for number in "123":
        counts.command(f"JOB{number}", "QSNDDTAQ", "DATA", "NORMAL")
        counts.command("FILL", "WRITEQ TD", f"FAR{number}", "NORMAL")
        counts.command(f"PAY{number}", "WRITEQ TD", f"OWN{number}", "NORMAL")
        flows.know("R", f"FAR{number}", "remote queue", "FARAPPL")
    flows.add("R", counts)
    boxes = flows.diagram(join=True, link=lambda node: node.name).boxes
    assert {box.name for box in boxes} == {
        "DATA", "FAR1..FAR3", "FILL", "JOB1", "JOB2", "JOB3", "OWN1", "OWN2", "OWN3", "PAY1", "PAY2", "PAY3",
    }  # fmt: skip
    (joined,) = (box for box in boxes if box.members)
    assert (joined.href, [line.text for line in joined.lines]) == ("", ["3 remote queues"])


def test_queues_that_are_alike_are_one_box_with_their_sum() -> None:
    counts = FlowCounts()
    for number in range(200):
        for _ in range(3):
            counts.command("FILL", "WRITEQ TD", f"Q{number:03}", "NORMAL")
    counts.command("FILL", "WRITEQ TD", "Q007", "NOSPACE")
    flows = Flows()
    flows.add("PAYREGN", counts)
    flows.deep("PAYREGN", [(f"Q{number:03}", 3) for number in range(200)])
    diagram = flows.diagram()
    assert [(box.name, [line.text for line in box.lines]) for box in diagram.boxes] == [
        ("FILL", []), ("Q000..Q199", ["200 queues", "depth 600"]),
    ]  # fmt: skip
    assert [(arrow.label, arrow.bad) for arrow in diagram.arrows] == [("600", "1 NOSPACE")]
    assert "Q123" in diagram.boxes[1].members
    assert len(flows.diagram(join=False).boxes) == 201


def test_the_counts_of_a_region_are_bounded() -> None:
    counts = FlowCounts()
    for number in range(30_000):
        counts.command("FILL", "READQ TD", f"{number:X}", "QIDERR")
    assert len(counts.commands) <= 20_001
    counts.command("", "SEED", "PAYQ", "NORMAL", 5)  # is no command
    assert counts.by_condition() == {("READQ TD", "QIDERR"): 30_000}


def test_what_is_added_twice_counts_twice_and_what_is_ordinary_is_no_failure() -> None:
    counts = FlowCounts()
    counts.tasks["READ"], counts.abends["READ", "ASRA"], counts.abends["READ", "AEI0"] = 3, 1, 1
    for command, queue, condition in (
        ("WRITEQ TD", "ALI2", "LENGERR"), ("READQ TD", "ALI1", "LENGERR"), ("READQ TS", "NONE", "QIDERR"),
        ("WRITEQ TS", "NONE", "QIDERR"),
    ):  # fmt: skip
        counts.command("READ", command, queue, condition)
    flows = Flows()
    flows.know("R", "ALI1", "alias", "ALI2")
    flows.know("R", "ALI2", "alias", "PAYQ")
    for _ in range(2):
        flows.add("R", counts)
    assert counted(flows) == {
        ("PAYQ", "READ"): {"records": 2}, ("READ", "PAYQ"): {"LENGERR": 2},
        ("NONE", "READ"): {}, ("READ", "NONE"): {"QIDERR": 2},
    }  # fmt: skip
    (node,) = (each for each in flows.nodes.values() if each.name == "READ")
    assert (node.tasks, node.abends) == (6, 4)
    flows.deep("R", [("PAYQ", 0), ("IDLE", 0), ("FULL", 4)])
    assert {each.name: each.depth for each in flows.nodes.values()} == {
        "READ": None, "PAYQ": 0, "NONE": None, "FULL": 4,
    }  # fmt: skip
    assert flows.largest(1) == [("R/queue/PAYQ", "R/transaction/READ")]


@pytest.mark.parametrize(("queues", "boxes"), [(2, ["FILL", "Q1", "Q2"]), (3, ["FILL", "Q1..Q3"])])
def test_three_queues_that_are_alike_are_joined(queues: int, boxes: list[str]) -> None:
    counts, flows = FlowCounts(), Flows()
    for number in range(queues, 0, -1):
        counts.command("FILL", "WRITEQ TD", f"Q{number}", "NORMAL")
    flows.add("R", counts)
    flows.deep("R", [(f"Q{number + 1}", number + 1) for number in range(queues)])
    diagram = flows.diagram(join=True)
    assert [box.name for box in diagram.boxes] == boxes
    assert queues == 2 or [line.text for line in diagram.boxes[1].lines] == ["3 queues", "depth 6"]


def test_a_search_shows_a_queue_and_its_neighbours() -> None:
    counts = FlowCounts()
    for actor, queue in (("AAAA", "PAYQ"), ("BBBB", "PAYQ"), ("BBBB", "LOGQ")):
        counts.command(actor, "WRITEQ TD", queue, "NORMAL")
    flows = Flows()
    flows.add("PAYREGN", counts)
    assert {node.name for node in flows.about("payq").nodes.values()} == {"AAAA", "BBBB", "PAYQ"}
    assert len(flows.about("log").flows) == 1
    assert flows.about(" ") is flows
