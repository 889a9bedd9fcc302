"""INQUIRE TRANDUMPCODE, its browse, SET TRANDUMPCODE, and the dumps that the table allows."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, SecurityOptions, define_transaction
from tdqsim.cics import Access, AccessList
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import condition
from tests.rules import expect_rule

DEFAULTS = {
    "CURRENT": 0, "DUMPSCOPE": Cvda.LOCAL, "MAXIMUM": 999, "SHUTOPTION": Cvda.NOSHUTDOWN, "SYSDUMPING": Cvda.NOSYSDUMP,
    "TRANDUMPING": Cvda.TRANDUMP,
}  # fmt: skip


@pytest.fixture
def task():
    with Region([], supplied_queues=False) as region, region.task() as task:
        region.notices.silence()
        yield task


@pytest.mark.rule("TRANDUMPCODE-CURRENT", "TRANDUMPCODE-NOT-FOUND")
def test_a_request_makes_an_entry_and_is_counted(task):
    expect_rule("TRANDUMPCODE-NOT-FOUND", task.inquire_trandumpcode, "PAY1")
    for number in (1, 2):
        task.dump_transaction("PAY1", b"data")
        assert task.inquire_trandumpcode("PAY1").as_dict() == {**DEFAULTS, "CURRENT": number}
    task.set_trandumpcode("PAY1", trandumping="NOTRANDUMP")
    assert condition(task.dump_transaction, "PAY1") == (Resp.SUPPRESSED, 2)
    assert task.inquire_trandumpcode("PAY1", "CURRENT").as_dict() == {"CURRENT": 3}
    task.set_trandumpcode("PAY1", action="RESET")
    assert task.inquire_trandumpcode("PAY1", "CURRENT", "TRANDUMPING").as_dict() == {
        "CURRENT": 0,
        "TRANDUMPING": Cvda.NOTRANDUMP,
    }


@pytest.mark.rule("DIAG-DUMP-MAXIMUM", "DIAG-DUMP-NOTRANDUMP")
def test_dumps_beyond_maximum_and_with_notrandump_are_suppressed(task):
    task.set_trandumpcode("PAY1", action="ADD", maximum=2)
    task.set_trandumpcode("PAY2", action="ADD", trandumping="NOTRANDUMP")
    for _ in range(2):
        task.dump_transaction("PAY1")
    expect_rule("DIAG-DUMP-MAXIMUM", task.dump_transaction, "PAY1")
    expect_rule("DIAG-DUMP-NOTRANDUMP", task.dump_transaction, "PAY2")
    assert [each.code for each in task.region.diagnostics.dumps] == ["PAY1", "PAY1"]


def test_maximum_0_takes_no_dump_and_999_all_of_them(task):
    task.set_trandumpcode("PAY1", action="ADD", maximum=0)
    assert condition(task.dump_transaction, "PAY1") == (Resp.SUPPRESSED, 1)
    for _ in range(1001):
        task.dump_transaction("PAY2")
    assert task.inquire_trandumpcode("PAY2", "CURRENT", "MAXIMUM").as_dict() == {"CURRENT": 1001, "MAXIMUM": 999}


def test_the_table_decides_of_which_abends_a_dump_is_taken():
    """AKCS has none unless the table asks for one; any other code has one unless the table forbids it."""
    with Region([], supplied_queues=False) as region:
        region.notices.silence()

        def abend(code):
            region.start(lambda task: task.abend(code))
            region.run()

        for code in ("AKCS", "MINE"):
            abend(code)
        with region.task() as task:
            task.execute("SET TRANDUMPCODE('AKCS') TRANDUMP")
            task.execute("SET TRANDUMPCODE('MINE') NOTRANDUMP")
        for code in ("AKCS", "MINE", "MINE"):
            abend(code)
        assert [each.code for each in region.diagnostics.abend_dumps] == ["MINE", "AKCS"]
        with region.task() as task:
            task.inquire_trandumpcode_start()
            found = [task.inquire_trandumpcode_next("CURRENT", "TRANDUMPING").as_dict() for _ in range(2)]
            assert found == [
                {"TRANDUMPCODE": "AKCS", "CURRENT": 2, "TRANDUMPING": Cvda.TRANDUMP},
                {"TRANDUMPCODE": "MINE", "CURRENT": 3, "TRANDUMPING": Cvda.NOTRANDUMP},
            ]
            assert condition(task.inquire_trandumpcode_next) == (Resp.END, 2)
            task.inquire_trandumpcode_end()


@pytest.mark.rule("SET-TRANDUMPCODE-DUPLICATE", "SET-TRANDUMPCODE-NOT-FOUND")
def test_set_adds_changes_and_removes(task):
    expect_rule("SET-TRANDUMPCODE-NOT-FOUND", task.set_trandumpcode, "PAY1", maximum=5)
    task.execute("SET TRANDUMPCODE('pay1') ADD MAXIMUM(5) SYSDUMP SHUTDOWN RELATED NOTRANDUMP")
    assert task.inquire_trandumpcode("PAY1").as_dict() == {
        "CURRENT": 0, "DUMPSCOPE": Cvda.RELATED, "MAXIMUM": 5, "SHUTOPTION": Cvda.SHUTDOWN, "SYSDUMPING": Cvda.SYSDUMP,
        "TRANDUMPING": Cvda.NOTRANDUMP,
    }  # fmt: skip
    expect_rule("SET-TRANDUMPCODE-DUPLICATE", task.set_trandumpcode, "PAY1", action="ADD")
    task.execute("SET TRANDUMPCODE('PAY1') NOSYSDUMP NOSHUTDOWN LOCAL TRANDUMP MAXIMUM(999)")
    assert task.inquire_trandumpcode("PAY1").as_dict() == DEFAULTS
    task.execute("SET TRANDUMPCODE('PAY1') REMOVE")
    assert condition(task.inquire_trandumpcode, "PAY1") == (Resp.NOTFND, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"action": "OPEN"}, "ACTION must be one of ADD, REMOVE, RESET, not 'OPEN'"),
        ({"trandumping": "SYSDUMP"}, "TRANDUMPING must be one of TRANDUMP, NOTRANDUMP, not 'SYSDUMP'"),
        ({"maximum": 1000}, "MAXIMUM must be from 0 to 999, not 1000"),
        ({"action": "REMOVE", "maximum": 1}, "REMOVE has no other option"),
    ],
)
def test_what_is_not_allowed_changes_nothing(task, options, words):
    task.set_trandumpcode("PAY1", action="ADD")
    with pytest.raises(Condition, match=words) as caught:
        task.set_trandumpcode("PAY1", **options)
    assert (caught.value.resp, caught.value.resp2_text) == (Resp.INVREQ, "RESP2 not published")
    assert task.inquire_trandumpcode("PAY1").as_dict() == DEFAULTS


@pytest.mark.parametrize("code", ["", " A", "A B", "A\tB"])
def test_a_code_that_is_none_is_not_added(task, code):
    assert condition(task.set_trandumpcode, code, action="ADD")[0] is Resp.INVREQ


@pytest.mark.rule("TRANDUMPCODE-KEPT")
def test_added_entries_are_there_after_each_warm_start_and_temporary_ones_are_not(tmp_path):
    with Region([], supplied_queues=False, store=tmp_path / "st") as region, region.task() as task:
        task.set_trandumpcode("PAY1", action="ADD", maximum=5)
        task.set_trandumpcode("PAY2", action="ADD")
        task.set_trandumpcode("PAY2", action="REMOVE")
        task.dump_transaction("PAY1")
        task.dump_transaction("TEMP")
        task.set_trandumpcode("TEMP", maximum=7)
    for _ in range(2):
        with Region(supplied_queues=False, store=tmp_path / "st") as region, region.task() as task:
            assert task.inquire_trandumpcode("PAY1").as_dict() == {**DEFAULTS, "MAXIMUM": 5}
            assert condition(task.inquire_trandumpcode, "TEMP") == condition(task.inquire_trandumpcode, "PAY2")
            assert condition(task.inquire_trandumpcode, "TEMP") == (Resp.NOTFND, 1)
    with Region([], supplied_queues=False, store=tmp_path / "st", start="COLD") as region, region.task() as task:
        assert condition(task.inquire_trandumpcode, "PAY1") == (Resp.NOTFND, 1)


def test_system_dumps_and_shutdown_are_said_to_do_nothing(task):
    task.set_trandumpcode("PAY1", action="ADD", sysdumping="SYSDUMP")
    (notice,) = task.region.notices
    assert (notice.id, notice.severity, notice.resource) == ("TDQ0064", "warning", "TRANDUMPCODE(PAY1)")


def test_command_security():
    policy = AccessList(commands={"BOB": {"TRANDUMPCODE": Access.READ}})
    with (
        Region(
            [define_transaction(name="PAYP")],
            security=SecurityOptions(policy=policy, cmdsec="ALWAYS"),
            supplied_queues=False,
        ) as region,
        region.task(transid="PAYP", userid="BOB") as task,
    ):
        assert condition(task.inquire_trandumpcode, "PAY1") == (Resp.NOTFND, 1)
        assert condition(task.set_trandumpcode, "PAY1", action="ADD") == (Resp.NOTAUTH, 100)
