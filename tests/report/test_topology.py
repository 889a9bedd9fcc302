"""What leads where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tdqsim import define_connection, define_dtaq, define_tdqueue, define_transaction
from tdqsim.definitions import Definitions, define_program, define_terminal, define_tsmodel
from tdqsim.report.diagram_layout import place
from tdqsim.report.topology import Site, Topology, topology
from tests.cli.conftest import Tdq, tdq  # noqa: F401
from tests.report.conftest import Look

CICA = [
    define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=50, atifacility="FILE"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="BLIA"),
    define_tdqueue(name="BLIA", type="INDIRECT", indirectname="PAYQ"),
    define_tdqueue(name="OUTQ", type="EXTRA", ddname="REPORT", typefile="OUTPUT"),
    define_tdqueue(name="FARQ", remotesystem="CICB", remotename="NEAR"),
    define_tdqueue(name="LOST", remotesystem="CICX"),
    define_tdqueue(name="LOGQ", type="INDIRECT", indirectname="CSSL"),
    define_tdqueue(name="LONE", type="INTRA"),
    define_transaction(name="PAYP", handler="payments:post"),
    define_connection(name="CICB", netname="CICBAPPL"),
]
CICB = [define_tdqueue(name="NEAR", type="INTRA")]


def ways(found: Topology) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.how, edge.target) for edge in found.edges}


def both() -> Topology:
    return topology([
        Site("CICAAPPL", "CICA", Definitions.of(CICA), {"REPORT": "out/report.txt"}),
        Site("CICBAPPL", "CICB", Definitions.of(CICB)),
    ])  # fmt: skip


def test_every_kind_of_way() -> None:
    assert ways(both()) == {
        ("CICAAPPL/INTRA/PAYQ", "starts", "CICAAPPL/TRANSACTION/PAYP"),
        ("CICAAPPL/INDIRECT/ALIA", "alias of", "CICAAPPL/INDIRECT/BLIA"),
        ("CICAAPPL/INDIRECT/BLIA", "alias of", "CICAAPPL/INTRA/PAYQ"),
        ("CICAAPPL/EXTRA/OUTQ", "data set", "CICAAPPL/DATASET/REPORT"),
        ("CICAAPPL/REMOTE/FARQ", "shipped to", "CICBAPPL/INTRA/NEAR"),
        ("CICAAPPL/REMOTE/LOST", "shipped to", "CICX/SYSTEM/LOST"),
        ("CICAAPPL/INDIRECT/LOGQ", "alias of", "CICAAPPL/EXTRA/CSSL"),
        ("CICAAPPL/EXTRA/CSSL", "data set", "CICAAPPL/DATASET/MSGUSR"),
        ("CICAAPPL//", "linked with", "CICBAPPL//"),
    }


def test_a_link_says_what_is_shipped_and_routed_over_it() -> None:
    given = [
        *CICA,
        define_tdqueue(name="DUAL", type="INTRA", remotesystem="CICB"),
        define_transaction(name="PAYX", remotesystem="CICB"),
        define_transaction(name="HERE", remotesystem="CICA"),
        define_program(name="PRICE", remotesystem="CICB"),
        define_tsmodel(name="FARTS", prefix="FAR", remotesystem="CICB"),
        define_terminal(name="T001", remotesystem="CICB"),
        define_connection(name="CICY", inservice="NO"),
    ]
    found = topology([Site("CICAAPPL", "CICA", Definitions.of(given))])
    shown = "CICB: 2 queues + 1 transaction + 1 program + 1 TS model + 1 terminal"
    links = [edge.detail for edge in found.edges if edge.how == "linked with"]
    assert links == [shown, "CICY, not in service"]
    assert {arrow.label for arrow in found.diagram().arrows if arrow.how == "linked with"} == {shown, "CICY"}


def test_what_a_node_is() -> None:
    nodes = {node.id: node for node in both().nodes}
    assert nodes["CICAAPPL/DATASET/REPORT"].detail == "out/report.txt"
    assert nodes["CICAAPPL/TRANSACTION/PAYP"].detail == "payments:post"
    assert "trigger level 50" in nodes["CICAAPPL/INTRA/PAYQ"].detail


def test_a_remote_data_queue_leads_to_its_system() -> None:
    queue = define_dtaq(dtaq="QGPL/FAR", type="*DDM", rmtdtaq="LIB/NEAR", rmtlocname="OTHER")
    found = topology([Site("SYSA", "", Definitions.of([queue]))])
    assert ways(found) == {("SYSA/DTAQ/QGPL/FAR", "shipped to", "OTHER/SYSTEM/LIB/NEAR")}


def test_a_queue_of_a_program_that_is_not_defined() -> None:
    queue = define_tdqueue(name="PAYQ", type="INTRA", transid="NONE", triggerlevel=1, atifacility="FILE")
    found = topology([Site("A", "A", Definitions.of([queue]))])
    assert {node.detail for node in found.nodes if node.kind == "TRANSACTION"} == {"not defined here"}


def test_a_ring_of_aliases_ends() -> None:
    ring = [
        define_tdqueue(name="AAAA", type="INDIRECT", indirectname="BBBB"),
        define_tdqueue(name="BBBB", type="INDIRECT", indirectname="AAAA"),
    ]
    found = topology([Site("A", "A", Definitions.of(ring))])
    assert len(found.edges) == 2
    assert len(place(found.diagram()).arrows) == 2


def test_thousands_of_queues_are_cut_and_it_is_said(look: Look) -> None:
    many = [define_tdqueue(name=f"{n:04X}", type="INTRA") for n in range(5_000)]
    page = look("".join(topology([Site("A", "A", Definitions.of(many))]).picture().html()))
    assert sum(name == "data-names" for _, name, _ in page.attributes) == 300
    assert "300 of 5,000 boxes are drawn." in page.text
    assert "2,000 of 5,000 are shown" in page.text


def test_the_queues_with_connections_are_drawn_first() -> None:
    queues = [define_tdqueue(name=f"{n:04X}", type="INTRA") for n in range(400)]
    alias = define_tdqueue(name="ALIA", type="INDIRECT", indirectname="018F")
    shown, left_out = topology([Site("A", "A", Definitions.of([*queues, alias]))]).diagram().cut(300)
    assert {"018F", "ALIA"} <= {box.name for box in shown.boxes}
    assert left_out == 101


def test_the_aliases_of_a_queue_are_to_its_left_and_beside_it() -> None:
    queues = [define_tdqueue(name=name, type="INTRA") for name in ("AAA", "BBB")]
    aliases = [
        define_tdqueue(name=f"{queue}{n}", type="INDIRECT", indirectname=queue)
        for queue in ("AAA", "BBB")
        for n in range(3)
    ]
    layout = place(topology([Site("A", "A", Definitions.of([*queues, *aliases]))]).diagram())
    places = {each.box.name: each for each in layout.boxes}
    for queue in ("AAA", "BBB"):
        beside = [places[f"{queue}{n}"] for n in range(3)]
        assert all(each.x < places[queue].x for each in beside)
        assert beside[1].y == places[queue].y


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = tmp_path / "region"
    found.mkdir()
    (found / "region.yaml").write_text("applid: CICAAPPL\nsysid: CICA\ndefinitions: [a.yaml]\n", "utf-8")
    (found / "a.yaml").write_text(
        "groups:\n- group: PAY\n  tdqueue:\n  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 5, atifacility: FILE}\n"
        "  transaction:\n  - {name: PAYP, handler: 'nowhere:post'}\n",
        "utf-8",
    )
    return found


def test_the_command(tdq: Tdq, directory: Path, look: Look) -> None:  # noqa: F811
    shown = tdq("topology", directory)
    assert shown.code == 0
    assert "PAYQ" in shown.out
    assert "PAYP" in shown.out
    told = json.loads(tdq("topology", directory, "--json").out)
    assert [edge["how"] for edge in told["edges"]] == ["starts"]
    done = tdq("topology", directory, "--output", "topology.html")
    assert done.code == 0
    page = look(Path("topology.html"))
    assert "Topology of CICAAPPL" in page.text
    assert "svg" in page.tags
    names = [value for _, name, value in page.attributes if name == "data-names"]
    assert names == ["PAYQ", "PAYP"]
    assert "at 5" in page.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: not a region directory"),
        ([], "no directory: name a region directory"),
        (["region", "--output", "none/page.html"], "there is no folder none"),
        (["region", "--output", "region"], "this is a folder"),
        (["region", "--output", "region.svg"], "region.svg: the page is HTML; give a name that ends with .html"),
    ],
)
def test_what_the_command_refuses(tdq: Tdq, directory: Path, arguments: list[str], said: str) -> None:  # noqa: F811
    ended = tdq("topology", *arguments)
    assert ended.code == 2
    assert said in ended.err


def test_two_directories_are_drawn_together(tdq: Tdq, directory: Path, tmp_path: Path) -> None:  # noqa: F811
    other = tmp_path / "other"
    other.mkdir()
    (other / "region.yaml").write_text("applid: CICBAPPL\nsysid: CICB\ndefinitions: [b.yaml]\n", "utf-8")
    (other / "b.yaml").write_text(
        "groups:\n- group: G\n  tdqueue:\n  - {name: FARQ, remotesystem: CICA, remotename: PAYQ}\n", "utf-8"
    )
    told = json.loads(tdq("topology", directory, other, "--json").out)
    assert {(edge["source"], edge["target"]) for edge in told["edges"]} >= {
        ("CICBAPPL/REMOTE/FARQ", "CICAAPPL/INTRA/PAYQ")
    }


def test_a_system_directory_too(tdq: Tdq, tmp_path: Path) -> None:  # noqa: F811
    system = tmp_path / "system"
    system.mkdir()
    (system / "system.yaml").write_text("name: PAYSYS\ndefinitions: [q.yaml]\n", "utf-8")
    (system / "q.yaml").write_text("groups:\n- group: G\n  dtaq:\n  - {dtaq: PAYLIB/ORDERS, maxlen: 80}\n", "utf-8")
    told = json.loads(tdq("topology", system, "--json").out)
    assert [(node["owner"], node["kind"], node["name"]) for node in told["nodes"]] == [
        ("PAYSYS", "DTAQ", "PAYLIB/ORDERS")
    ]
