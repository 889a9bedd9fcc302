"""Messages of errors: at most 4 kB each, wherever they are made and however much is wrong."""

from __future__ import annotations

import pytest

from tdqsim import Region, System, define_tdqueue
from tdqsim.cics import Abend, Condition
from tdqsim.definitions import parse_definitions
from tdqsim.definitions.regionfile import load_region_file
from tdqsim.errors import DefinitionError, StoreError, TdqError, UsageError

_LONG = "Q" * 1_000_000


def _of_group_file(_path):
    keys = "".join(f"  unknown_key_number_{number}: 1\n" for number in range(2_000))
    parse_definitions("group: G\ntdqueue:\n- name: PAYQ\n" + keys)


def _of_region_file(path):
    (path / "region.yaml").write_text("".join(f"unknown_key_number_{number}: 1\n" for number in range(2_000)))
    load_region_file(path)


def _of_writeq(_path):
    with Region() as region:
        region.writeq_td(_LONG, b"x")


def _of_writeq_in_a_task(_path):
    with Region() as region, region.task() as task:
        task.execute(f"WRITEQ TD QUEUE('{_LONG}') FROM(RECORD)", {"RECORD": b"x"})


def _of_seed(_path):
    with Region() as region:
        region.seed(_LONG, [b"x"])


def _of_define(_path):
    define_tdqueue(name=_LONG, type="INTRA")


def _of_start(_path):
    with Region() as region:
        region.start(_LONG)


def _of_system(_path):
    with System() as system:
        system.crtlib(_LONG)


_MAKERS = [
    _of_group_file,
    _of_region_file,
    _of_writeq,
    _of_writeq_in_a_task,
    _of_seed,
    _of_define,
    _of_start,
    _of_system,
]


@pytest.mark.parametrize("make", _MAKERS)
def test_a_message_has_at_most_4_kb(make, tmp_path):
    with pytest.raises(TdqError) as caught:
        make(tmp_path)
    assert 0 < len(str(caught.value).encode()) <= 4096


def test_of_many_problems_whole_lines_are_shown_and_the_rest_are_counted():
    with pytest.raises(DefinitionError) as caught:
        parse_definitions("group: G\ntdqueue:\n" + "- {name: TOOLONG, type: INTRA}\n" * 900)
    *shown, last = str(caught.value).split("\n")
    assert all(line.startswith("<text>:") and "must be 1 to 4 characters" in line for line in shown)
    assert last == f"... and {900 - len(shown)} more lines"
    assert len(caught.value.problems) == 900  # a program has them all


def test_a_long_text_on_one_line_keeps_its_beginning_and_what_is_allowed_at_its_end():
    text = str(StoreError("TRIGGERLEVEL=" + "9" * 5000 + " must be 0 to 32767"))
    assert text.startswith("TRIGGERLEVEL=999")
    assert "999 ... (5,032 characters) ... 999" in text
    assert text.endswith("999 must be 0 to 32767")


def test_a_message_of_4_kb_is_whole():
    assert str(UsageError("é" * 2048)) == "é" * 2048


def test_a_condition_in_an_abend_is_shortened_too():
    with Region() as region, pytest.raises(Condition) as caught:
        region.writeq_td(_LONG, b"x")
    assert len(str(Abend("AEIN", caught.value))) <= 4096
