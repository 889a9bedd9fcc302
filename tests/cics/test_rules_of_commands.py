"""Temporary storage, files, programs and terminals: each rule's row against what a command meets."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region
from tdqsim.cics.files import DataFile, Path
from tests.rules import expect_rule


def held(task):
    task.read_file("ACCT", b"A1", update=True)
    task.read_file("ACCT", b"A2", update=True)


def behind_the_last(task):
    task.startbr("ACCT", b"A2")
    task.readnext("ACCT")
    task.readnext("ACCT")


def begun_twice(task):
    task.startbr("ACCT", b"A1")
    task.startbr("ACCT", b"A1")


def next_item(task):
    task.readq_ts("Q")
    task.readq_ts("Q")


def all_containers(task):
    token = task.startbrowse_container(channel="MADE")
    assert task.getnext_container(token) == "HAD"
    task.getnext_container(token)


def in_started(task, program):
    """What a task meets that a START with data has begun."""
    region, met = task.region, []

    def started(other):
        try:
            program(other)
        except Condition as condition:
            met.append(condition)

    region.register("STRT", started)
    task.start("STRT", b"data")
    region.run()
    raise met[0]


def started_twice(task):
    task.region.register("STRT", lambda _task: None)
    for _ in range(2):
        task.start("STRT", b"data", reqid="ONCE", interval=100)


def at_once(task):
    moment = task.eib.moment
    task.delay(time=moment.hour * 10000 + moment.minute * 100 + moment.second)


def closed(task):
    task.set_file("ACCT", openstatus=19)
    task.read_file("ACCT", b"A1")


CASES = [
    ("TS-QIDERR-READ", lambda task: task.readq_ts("NONE")),
    ("TS-QIDERR-DELETE", lambda task: task.deleteq_ts("NONE")),
    ("TS-QIDERR-REWRITE", lambda task: task.writeq_ts("NONE", b"x", item=1, rewrite=True)),
    ("TS-ITEMERR", lambda task: task.readq_ts("Q", item=2)),
    ("TS-ITEMERR-NEXT", next_item),
    ("TS-LENGERR-READ", lambda task: task.readq_ts("Q", 2)),
    ("TS-LENGERR-WRITE", lambda task: task.writeq_ts("Q", bytes(32764))),
    ("TS-INVREQ-NAME", lambda task: task.writeq_ts("DFHQ", b"x")),
    ("TS-SYSIDERR", lambda task: task.readq_ts("Q", sysid="OTHR")),
    ("TS-DEFAULT", lambda task: task.execute("READQ QUEUE('ACCT') INTO(REC)", {})),
    ("FILE-NOTFOUND", lambda task: task.read_file("NONE", b"A1")),
    ("FILE-DISABLED", lambda task: task.read_file("SHUT", b"A1")),
    ("FILE-INVREQ-OPERATION", lambda task: task.write_file("LOOK", b"A3", b"A3")),
    ("FILE-NOTFND", lambda task: task.read_file("ACCT", b"A9")),
    ("FILE-GENERIC-LENGTH", lambda task: task.read_file("ACCT", b"A1", generic=True, keylength=2)),
    ("FILE-KEYLENGTH", lambda task: task.read_file("ACCT", b"A1", keylength=1)),
    ("FILE-KEYLENGTH-NEGATIVE", lambda task: task.read_file("ACCT", b"A1", generic=True, keylength=-1)),
    ("FILE-LENGERR-READ", lambda task: task.read_file("ACCT", b"A1", 3)),
    ("FILE-LENGERR-WRITE", lambda task: task.write_file("ACCT", b"A3" + bytes(19), b"A3")),
    ("FILE-LENGERR-EMPTY", lambda task: task.write_file("LOG", b"")),
    ("FILE-LENGERR-EMPTY", lambda task: task.write_file("LOG", b"x", length=0)),
    ("FILE-LENGERR-EMPTY", lambda task: task.write_file("LOG", b"x", length=-1)),
    ("FILE-UPDATE-TWICE", held),
    ("FILE-REWRITE-NONE", lambda task: task.rewrite_file("ACCT", b"A1 new")),
    ("FILE-DELETE-NONE", lambda task: task.delete_file("ACCT")),
    ("FILE-TOKEN", lambda task: task.rewrite_file("ACCT", b"A1 new", token=9)),
    ("FILE-DUPREC", lambda task: task.write_file("ACCT", b"A1", b"A1")),
    ("FILE-ESDS-DELETE", lambda task: task.delete_file("LOG", bytes(4), rba=True)),
    ("FILE-ENDFILE", behind_the_last),
    ("FILE-BROWSE-NONE", lambda task: task.readnext("ACCT")),
    ("FILE-BROWSE-TWICE", begun_twice),
    ("FILE-DUPKEY", lambda task: task.read_file("BYCH", b"X")),
    ("PGM-PGMIDERR", lambda task: task.link("NONE")),
    ("PGM-LENGERR", lambda task: task.link("PROG", b"x", 32764)),
    ("PGM-XCTL-PGMIDERR", lambda task: task.xctl("NONE")),
    ("PGM-CHANNELERR", lambda task: task.link("PROG", channel="A B")),
    ("CHAN-NONE-CURRENT", lambda task: task.get_container("HAD")),
    ("CHAN-NOT-KNOWN", lambda task: task.get_container("HAD", channel="NONE")),
    ("CHAN-NO-CONTAINER", lambda task: task.get_container("NONE", channel="MADE")),
    ("CHAN-LENGERR", lambda task: task.get_container("HAD", channel="MADE", length=2)),
    ("CHAN-BAD-NAME", lambda task: task.put_container("A B", b"x", channel="MADE")),
    ("CHAN-OTHER-TYPE", lambda task: task.put_container("HAD", b"x", channel="MADE", char=True)),
    ("CHAN-BROWSE-END", all_containers),
    ("CHAN-BROWSE-TOKEN", lambda task: task.getnext_container(99)),
    ("IC-RETRIEVE-ENVDEFERR", lambda task: in_started(task, lambda other: other.retrieve("RTRANSID"))),
    ("IC-RETRIEVE-LENGERR", lambda task: in_started(task, lambda other: other.retrieve(length=1))),
    ("IC-START-IOERR", started_twice),
    ("IC-DELAY-EXPIRED", at_once),
    ("FILE-NOTOPEN", closed),
    ("FILE-INQUIRE-NOTFOUND", lambda task: task.inquire_file("NONE", "OPENSTATUS")),
    ("FILE-SET-NOTFOUND", lambda task: task.set_file("NONE", openstatus=18)),
    ("TASK-ASSIGN-TERMINAL", lambda task: task.assign("SCRNHT")),
    ("DIAG-TRACENUM", lambda task: task.enter_tracenum(200)),
    ("DIAG-DUMPCODE", lambda task: task.dump_transaction("A B")),
    ("DIAG-EXPIRED", lambda task: task.write_operator("READY?", maxlength=3)),
    ("TERM-RETURN-TRANSID", lambda task: task.return_(transid="NEXT")),
    ("TERM-NONE-BMS", lambda task: task.send_text(b"x")),
    ("TERM-NONE", lambda task: task.receive()),
]


@pytest.fixture
def task():
    with Region([]) as region:
        data = DataFile(keylength=2, recordsize=20)
        region.files.define("BYCH", Path(data, keylength=1, keyposition=2))
        for key in (b"A1", b"A2"):
            data.put(key, key + b"X record")
        region.files.define("ACCT", data)
        region.files.define("LOOK", data, operations=("READ",))
        region.files.define("SHUT", data).enablestatus = "DISABLED"
        region.files.define("LOG", DataFile("ESDS"))
        region.programs.register("PROG", lambda _task: None)
        region.writeq_ts("Q", b"item")
        with region.task() as task:
            task.put_container("HAD", b"12345", channel="MADE")
            yield task


@pytest.mark.rule(*(rule for rule, _call in CASES))
@pytest.mark.parametrize(("rule", "call"), CASES, ids=[rule for rule, _call in CASES])
def test_a_command_ends_as_the_rule_says(task, rule, call):
    expect_rule(rule, call, task)


def test_a_condition_that_comes_with_a_record_brings_it(task):
    with pytest.raises(Condition) as caught:
        task.read_file("BYCH", b"X")
    assert caught.value.brings["INTO"] == b"A1X record"
