from __future__ import annotations

import pytest

from tdqsim.definitions import load_region_file
from tdqsim.definitions.regionfile import line_of
from tdqsim.errors import DefinitionError
from tdqsim.facts import REGION_DEFAULTS

REGION = """
applid: CARDREGN
sysid: CARD
definitions: [card.yaml]
handlers: [posting, package.module]
datasets: data
dd:
  DALYTRAN: {path: data/daily.bin, recfm: FB, lrecl: 350, blksize: 3500}
  POSTED:
    dsname: CARD.POSTED
    disp: MOD
    space: (TRK,(10,5))
  RDR: {sysout: "A,INTRDR"}
  SYSUDUMP: {dummy: YES}
dfltuser: BOB
code_page: 1140
time_zone: Europe/Berlin
release: 0740
seed: 7
supplied_queues: NO
start_transactions: RDTR
start: COLD
tdintra: EMPTY
dfhintra: {ci_size: 512, control_intervals: 10}
"""


def write(tmp_path, text):
    (tmp_path / "region.yaml").write_text(text, "utf-8")
    return tmp_path


def problems(tmp_path, text):
    with pytest.raises(DefinitionError) as caught:
        load_region_file(write(tmp_path, text))
    return [(problem.line, problem.attribute or problem.resource) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("applid", "", 2), ("definitions", "card.yaml", 4), ("handlers", "package.module", 5), ("handlers", "no", 5),
        ("dd", "POSTED", 9), ("dd", "NONE", 7), ("dd", "", 7), ("nothing", "", 0),
    ],
)  # fmt: skip
def test_the_line_of_a_key_or_of_one_of_its_values(tmp_path, key, value, line):
    assert line_of(write(tmp_path, REGION) / "region.yaml", key, value) == line


def test_everything(tmp_path):
    found = load_region_file(write(tmp_path, REGION))
    assert (found.applid, found.sysid, found.dfltuser, found.code_page) == ("CARDREGN", "CARD", "BOB", "1140")
    assert (found.handlers, found.start_transactions, found.seed) == (("posting", "package.module"), ("RDTR",), 7)
    assert (found.supplied_queues, found.start, found.tdintra, found.release) == ("NO", "COLD", "EMPTY", "0740")
    assert (found.dfhintra.ci_size, found.dfhintra.control_intervals) == (512, 10)
    assert found.zone.key == "Europe/Berlin"
    assert found.datasets == str(tmp_path.resolve() / "data")
    assert found.dd["DALYTRAN"].path == str(tmp_path.resolve() / "data/daily.bin")
    assert found.dd["DALYTRAN"].dcb == "RECFM=FB,LRECL=350,BLKSIZE=3500"
    assert (found.dd["POSTED"].dsname, found.dd["POSTED"].disp, found.dd["POSTED"].dcb) == ("CARD.POSTED", "MOD", "")
    assert (found.dd["RDR"].sysout, found.dd["SYSUDUMP"].dummy) == ("A,INTRDR", "YES")


def test_every_path_is_absolute_once_loaded(tmp_path):
    text = (
        "dd:\n  IN:\n    path: a\n    concatenation:\n    - {path: b}\n    - {path: c}\n"
        "layouts:\n  AAAA: a.cpy\n  BBBB: {path: b.cpy}\npolicy: p.yaml\nmachine: m.yaml\n"
    )
    found, place = load_region_file(write(tmp_path, text)), tmp_path.resolve()
    assert [card.path for card in found.dd["IN"].concatenation] == [str(place / "b"), str(place / "c")]
    assert [found.layouts[name].path for name in ("AAAA", "BBBB")] == [str(place / "a.cpy"), str(place / "b.cpy")]
    assert (found.policy, found.machine) == (str(place / "p.yaml"), str(place / "m.yaml"))


@pytest.mark.parametrize("text", ["", "# nothing\n", "dd:\nstart_transactions:\n"])
def test_nothing_given(tmp_path, text):
    found = load_region_file(write(tmp_path, text))
    assert (found.applid, found.sysid) == (REGION_DEFAULTS["applid"], REGION_DEFAULTS["sysid"])
    assert (found.dd, found.start_transactions, found.definitions, found.datasets) == ({}, (), (), "")
    assert found.dfhintra.ci_size == int(REGION_DEFAULTS["ci_size"])


@pytest.mark.parametrize(
    ("card", "dcb"),
    [
        ("recfm: VBS, lrecl: X", "RECFM=VBS,LRECL=X"),
        ("recfm: RDW, rdwpos: 2, rdwincl: NO", "RECFM=RDW,RDWPOS=2,RDWINCL=NO"),
        ("recfm: fba, lrecl: 133, bufno: 5", "RECFM=FBA,LRECL=133,BUFNO=5"),
        ("disp: NEW", ""),
    ],
)
def test_dcb_of_a_card(tmp_path, card, dcb):
    found = load_region_file(write(tmp_path, f"dd:\n  A: {{path: x, {card}}}\n"))
    assert found.dd["A"].dcb == dcb


def test_its_definitions(tmp_path):
    (tmp_path / "card.yaml").write_text("group: G\ntdqueue:\n- {name: Q1, type: INTRA}\n")
    found = load_region_file(write(tmp_path, "definitions: card.yaml\n"))
    assert [queue.name for queue in found.load_definitions().tdqueues] == ["Q1"]


def test_the_file_itself_can_be_named(tmp_path):
    write(tmp_path, "sysid: AB\n")
    assert load_region_file(tmp_path / "region.yaml").sysid == "AB"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("applid: lower\nwibble: 1\n", [(1, "applid"), (2, "wibble")]),
        ("start_transactions:\n- GOOD\n- TOOLONG\n", [(3, "start_transactions.1")]),
        (
            "dd:\n  A: {path: x, lrecl: a}\n  B: {path: x, dummy: YES}\n  1C: {path: x}\n",
            [(2, "dd.A.lrecl"), (3, "DD B"), (4, "DD 1C")],
        ),
        ("dd:\n  A: {path: x, recfm: FX}\n", [(2, "dd.A.recfm")]),
        ("dd:\n  A: {path: x, lrecl: [80]}\n", [(2, "dd.A.lrecl")]),
        ("applid: [A]\nseed: {a: b}\nsupplied_queues: []\n", [(1, "applid"), (2, "seed"), (3, "supplied_queues")]),
        ("dd:\n  A: {recfm: FB}\n", [(2, "DD A")]),
        (
            "dd:\n  A:\n    path: x\n    concatenation:\n    - path: y\n    - path: [z]\n",
            [(6, "dd.A.concatenation.1.path")],
        ),
        ("layouts:\n  AAAA: a\n  BBBB: {path: [b]}\npolicy: [a]\n", [(3, "layouts.BBBB.path"), (4, "policy")]),
        ("dd: [A]\n", [(1, "dd")]),
        ("dd:\n  A: x\n", [(2, "dd.A")]),
        ("\ntime_zone: Atlantis\n", [(2, "time_zone")]),
        ("time_zone: ../../etc/passwd\n", [(1, "time_zone")]),
        ("dfhintra:\n  ci_size: 100\n", [(2, "dfhintra.ci_size")]),
        ("handlers: ['os; rm']\n", [(1, "handlers.0")]),
        ("release: 9999\n", [(1, "release")]),
        ("supplied_queues: MAYBE\n", [(1, "supplied_queues")]),
        ("directory: /tmp\n", [(1, "directory")]),
        ("directory: [A]\n", [(1, "directory")]),
        ("definitions: {a: b}\n", [(1, "definitions")]),
        ("code_page: '../x'\n", [(1, "code_page")]),
        ("- applid\n", [(1, "")]),
    ],
)
def test_problems_with_their_lines(tmp_path, text, expected):
    assert problems(tmp_path, text) == expected


def test_a_missing_file(tmp_path):
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_region_file(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("gdg: {PAY.DAILY: 5}\n", 1, "needs datasets"),
        ("datasets: d\ngdg:\n  PAY.DAILY: 300\n", 3, "from 1 to 255"),
        ("datasets: d\ngdg:\n  PAY.LIB(M): 3\n", 3, "without parentheses"),
        ("dd:\n  IN:\n    path: a\n    concatenation:\n    - {lrecl: 80}\n", 5, "needs one of path"),
        ("dd:\n  IN:\n    path: a\n    concatenation:\n    - {sysout: A}\n", 5, "only data sets can be concatenated"),
        ("dd:\n  IN:\n    path: a\n    concatenation: b\n", 4, "must be a list"),
        ("dd:\n  IN: {path: a, free: MAYBE}\n", 2, "must be NO or CLOSE"),
    ],
)
def test_generation_groups_and_concatenations_that_are_none(tmp_path, text, line, words):
    (tmp_path / "region.yaml").write_text(text)
    with pytest.raises(DefinitionError) as raised:
        load_region_file(tmp_path)
    assert any(problem.line == line and words in problem.message for problem in raised.value.problems), raised.value
