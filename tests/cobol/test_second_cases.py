"""Case files and coverage without a compiler: what concerns the second data set, case, process or name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim.cobol import coverage
from tdqsim.cobol.case_report import update_case_file
from tdqsim.cobol.case_run import _with_copies, run_cases
from tdqsim.cobol.coverage import SourceCoverage
from tdqsim.cobol.pytest_plugin import CaseItem, pytest_collect_file
from tdqsim.definitions import load_region_file

DEFINITIONS = """\
group: G
tdqueue:
  - {name: ONEQ, type: EXTRA, ddname: ONE, typefile: OUTPUT, opentime: INITIAL, recordsize: 4, recordformat: FIXED}
  - {name: TWOQ, type: EXTRA, ddname: TWO, typefile: OUTPUT, opentime: INITIAL, recordsize: 4, recordformat: FIXED}
  - {name: INTR, type: INTRA}
"""
CASES = """\
cases:
  - name: first
    when: [{write: ONEQ, records: [AAAA]}, {write: TWOQ, records: [BBBB]}, {write: INTR, records: [C]}]
    then: {queues: {INTR: [C]}}
  - name: second
    when: [{write: INTR, records: [D]}]
    then: {queues: {INTR: [X]}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "defs.yaml").write_text(DEFINITIONS)
    cards = "".join(f"  {name}: {{path: {name.lower()}.dat, recfm: F, lrecl: 4}}\n" for name in ("ONE", "TWO"))
    (tmp_path / "region.yaml").write_text(
        f"definitions: [defs.yaml]\ncobol: {{sources: [.], cache: cache}}\ndd:\n{cards}"
    )
    for name in ("one", "two"):
        (tmp_path / f"{name}.dat").write_bytes(b"KEPT")
    (tmp_path / "q.case.yaml").write_text(CASES)
    return tmp_path


def test_a_case_writes_none_of_several_data_sets_of_the_region(place):
    results = list(run_cases(place / "q.case.yaml"))
    assert [(each.name, each.error, [*map(str, each.differences)]) for each in results] == [
        ("first", "", []),
        ("second", "", ["queues.INTR[1]: expected 'X', found 'D'"]),
    ]
    assert [(place / f"{name}.dat").read_bytes() for name in ("one", "two")] == [b"KEPT", b"KEPT"]


def test_each_dd_card_of_a_case_names_a_copy_of_its_own_data_set(place, tmp_path_factory):
    (place / "two.dat").write_bytes(b"2222")
    folder = tmp_path_factory.mktemp("copies")
    cards = _with_copies(load_region_file(place), folder).dd
    assert {name: Path(card.path).read_bytes() for name, card in cards.items()} == {"ONE": b"KEPT", "TWO": b"2222"}
    assert {Path(card.path).parent for card in cards.values()} == {folder}


def test_each_case_of_a_file_is_a_test_of_its_own(place, request):
    collected = pytest_collect_file(place / "q.case.yaml", request.session)
    first, second = collected.collect()
    assert [first.name, second.name] == ["first", "second"]
    assert isinstance(second, CaseItem)
    first.runtest()
    with pytest.raises(AssertionError, match="second"):
        second.runtest()


def test_an_update_keeps_the_keys_behind_then_and_a_then_that_comes_first(place):
    path = place / "u.case.yaml"
    path.write_text(
        "cases:\n  - then:\n      queues:\n        INTR: [X]\n    name: first\n    when: [{write: INTR, records: [A]}]\n"
        "  - name: second\n    then: {queues: {INTR: [Y]}}\n    when: [{write: INTR, records: [B]}]\n"
    )
    assert update_case_file(path, run_cases(path)) == 2
    assert [(each.name, each.passed) for each in run_cases(path)] == [("first", True), ("second", True)]
    assert path.read_text() == (
        "cases:\n  - then:\n      queues:\n        INTR: [A]\n    name: first\n    when: [{write: INTR, records: [A]}]\n"
        "  - name: second\n    then:\n      queues:\n        INTR: [B]\n    when: [{write: INTR, records: [B]}]\n"
    )


def test_an_update_leaves_a_case_alone_that_ended_with_an_error(place):
    path = place / "e.case.yaml"
    case = "  - name: {}\n    when: [{{write: INTR, records: [A]}}]\n    then:\n      queues:\n        INTR: [{}]\n"
    path.write_text("cases:\n" + case.format("first", "X") + case.format("second", "X"))
    first, second = run_cases(path)
    first.error = "the state could not be compared to its end"
    assert update_case_file(path, [first, second]) == 1
    assert path.read_text() == "cases:\n" + case.format("first", "X") + case.format("second", "A")


def test_coverage_of_a_second_run_adds_the_parts_of_all_processes_and_none_of_the_run_before(tmp_path, monkeypatch):
    parts = iter(
        [
            SourceCoverage({1: 2, 2: 0}, {1: [(1, 0)]}),
            SourceCoverage({1: 3, 2: 1}, {1: [(0, 4)]}),
            SourceCoverage({1: 1, 2: 0}, {1: [(1, 0)]}),
        ]
    )
    monkeypatch.setattr(coverage, "collected", lambda _others: {"A.cbl": next(parts)})
    for process in (1, 2):
        monkeypatch.setattr("os.getpid", lambda process=process: process)
        coverage.leave_part(tmp_path)
    found = coverage.merged(tmp_path)["A.cbl"]
    assert (dict(found), found.branches) == ({1: 5, 2: 1}, {1: [(1, 4)]})
    monkeypatch.setattr("os.getpid", lambda: 3)
    coverage.leave_part(tmp_path)
    again = coverage.merged(tmp_path)["A.cbl"]
    assert (dict(again), again.branches) == ({1: 1, 2: 0}, {1: [(1, 0)]})


def test_of_two_programs_of_one_source_the_one_with_more_conditions_on_a_line_counts():
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        total = SourceCoverage()
        for number in order:
            total.add(SourceCoverage({1: 1}, {1: [[(1, 0)], [(2, 3), (0, 4)], [(1, 1), (1, 0)]][number]}))
        assert (dict(total), total.branches) == ({1: 3}, {1: [(3, 4), (1, 4)]})
