"""Conditions of commands about files, channels, terminals, queues and times, each met by itself.

RESP and RESP2 are those of the commands' pages (IBM Docs).
"""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, define_transaction

FILES = [
    ("READ", lambda task: task.read_file("NONE", b"A1")),
    ("WRITE", lambda task: task.write_file("NONE", b"A1", b"A1")),
    ("REWRITE", lambda task: task.rewrite_file("NONE", b"A1")),
    ("DELETE", lambda task: task.delete_file("NONE", b"A1")),
    ("UNLOCK", lambda task: task.unlock("NONE")),
    ("STARTBR", lambda task: task.startbr("NONE", b"A1")),
    ("RESETBR", lambda task: task.resetbr("NONE", b"A1")),
    ("READNEXT", lambda task: task.readnext("NONE")),
    ("READPREV", lambda task: task.readprev("NONE")),
    ("ENDBR", lambda task: task.endbr("NONE")),
]
OTHERS = [
    ("DEQ LENGERR", 1, lambda task: task.deq(b"NAME", length=0)),
    ("START CHANNELERR", 1, lambda task: task.start("LATE", channel="A B")),
    ("START LENGERR", 0, lambda task: task.start("LATE", b"data", length=0)),
    ("WRITE OPERATOR INVREQ", 1, lambda task: task.write_operator("x" * 691)),
    ("BIF DEEDIT LENGERR", 0, lambda task: task.bif_deedit(b"1A2", length=0)),
    ("DELETE CONTAINER INVREQ", 4, lambda task: task.delete_container("ONE")),
    ("STARTBROWSE CONTAINER CHANNELERR", 2, lambda task: task.startbrowse_container(channel="NONE")),
    ("READQ TS INVREQ", 0, lambda task: task.readq_ts("\0")),
    ("DELETEQ TS INVREQ", 0, lambda task: task.deleteq_ts("\0")),
]


@pytest.fixture
def task():
    with Region([define_transaction(name="LATE")]) as region, region.task() as task:
        yield task


@pytest.mark.parametrize("call", [call for _name, call in FILES], ids=[name for name, _call in FILES])
def test_a_file_that_is_not_defined_is_filenotfound(task, call):
    with pytest.raises(Condition) as caught:
        call(task)
    assert (caught.value.name, caught.value.resp2) == ("FILENOTFOUND", 1)


@pytest.mark.parametrize(("met", "resp2", "call"), OTHERS, ids=[met for met, _resp2, _call in OTHERS])
def test_a_condition_and_its_reason(task, met, resp2, call):
    with pytest.raises(Condition) as caught:
        call(task)
    assert (f"{caught.value.command} {caught.value.name}", caught.value.resp2) == (met, resp2)
