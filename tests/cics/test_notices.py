"""What a region says in a plain script: on standard error, once, with the lines of the user's own files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tdqsim import Region, define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Task, cemt
from tdqsim.cics.ship.sysplex import Sysplex
from tdqsim.facts import table
from tests import apart

BROKEN_HANDLER = """\
from tdqsim import Region, define_tdqueue, define_transaction
region = Region([define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE"),
                 define_transaction(name="PAYP")])

@region.transaction("PAYP")
def payp(task):
    print(amuont)

for number in range(3):
    region.writeq_td("PAYQ", b"x")
"""

NAME_ERROR = "NameError: name 'amuont' is not defined"


def standard_error(tmp_path: Path, script: str) -> list[str]:
    """What a script writes to standard error in a process of its own."""
    path = tmp_path / "pay.py"
    path.write_text(script, "utf-8")
    done = apart.run(path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stderr.replace(str(path), "pay.py").splitlines()


def test_a_handler_that_raises_in_a_plain_script_is_told_with_the_users_lines(tmp_path: Path) -> None:
    told = [line for line in standard_error(tmp_path, BROKEN_HANDLER) if set(line.strip()) - set("^~")]
    assert told == [
        f"tdqsim: region TDQREGN: DFHAC2236 TRANSACTION(PAYP): Its task ended with abend ASRA: {NAME_ERROR}.",
        "Traceback (most recent call last):",
        '  File "pay.py", line 7, in payp',
        "    print(amuont)",
        NAME_ERROR,
    ]


def test_a_script_that_waits_for_the_result_has_the_error_once(tmp_path: Path) -> None:
    script = f"{BROKEN_HANDLER.partition('for number')[0]}handle = region.start(payp)\ntry:\n    handle.result()\n"
    assert standard_error(tmp_path, f"{script}except Exception as error:\n    assert 'amuont' in str(error)\n") == []


def test_silence_and_configured_logging_end_the_output_on_standard_error(tmp_path: Path) -> None:
    assert (
        standard_error(tmp_path, BROKEN_HANDLER.replace("\n\n@region", "\nregion.notices.silence()\n\n@region")) == []
    )
    configured = "import logging\nlogging.getLogger('tdqsim').addHandler(logging.NullHandler())\n"
    assert standard_error(tmp_path, configured + BROKEN_HANDLER) == []


def test_a_trigger_that_waits_for_its_terminal_is_said_at_the_first_write_that_reaches_the_level(
    tmp_path: Path,
) -> None:
    script = """\
from tdqsim import Region, define_tdqueue, define_transaction
region = Region([define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=2), define_transaction(name="PAYP")])
region.register("PAYP", lambda task: None)
for number in range(4):
    print(len(region.notices))
    region.writeq_td("PAYQ", b"x")
print(len(region.notices))
"""
    (told,) = standard_error(tmp_path, script)
    assert told == (
        "tdqsim: region TDQREGN: TDQ0001 TDQUEUE(PAYQ): The task of its trigger (PAYP) waits for terminal PAYQ, which is "
        "not defined (ATIFACILITY is TERMINAL, which is the default). For a task without a terminal define the queue with "
        "ATIFACILITY(FILE); otherwise install TERMINAL(PAYQ), or name another one by FACILITYID."
    )


def test_explain_of_a_store_says_that_a_trigger_waits_for_its_terminal(tmp_path: Path) -> None:
    resources = [
        define_tdqueue(
            name="PAYQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", triggerlevel=1, facilityid="T001"
        ),
        define_transaction(name="PAYP"),
    ]
    with Region(resources, store=tmp_path / "store", supplied_queues=False) as region:
        region.register("PAYP", lambda _task: None)
        region.writeq_td("PAYQ", b"x")
    with Region(store=tmp_path / "store", readonly=True) as looked_at:
        told = str(looked_at.explain("PAYQ"))
        assert "The task of its trigger (PAYP) waits for terminal T001, which is not defined" in told
        assert "A cycle is on (of PAYP): " in told  # its number is of the run that is over
        assert "has ended" not in told


@pytest.mark.parametrize("by", ["trigger", "start", "START"])
def test_a_transaction_that_is_not_installed_is_told_at_its_first_task_and_in_explain(by: str) -> None:
    queue = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE")
    with Region([queue], supplied_queues=False) as region:
        region.notices.silence()
        region.register("PAYP", lambda task: [*task.readq_td_all("PAYQ")])
        for _ in range(2):
            if by == "trigger":
                region.writeq_td("PAYQ", b"x")
            elif by == "start":
                region.start("PAYP")
            else:
                region.execute("START TRANSID('PAYP')")
            region.run()
        (notice,) = region.notices
        assert (notice.id, notice.severity, notice.resource) == ("TDQ0062", "warning", "TRANSACTION(PAYP)")
        reason = (
            "TRANSACTION PAYP is not defined; it runs here because a handler is registered for it. In CICS nothing "
        )
        assert notice.reason == f"{reason}attaches a transaction that is not installed."
        assert notice.cure == "Define it: define_transaction(name='PAYP'), or a TRANSACTION in a definition file."
        assert notice.reason in str(region.explain("PAYP", kind="TRANSACTION"))
        assert notice.reason in str(region.explain("PAYQ"))
        region.install([define_transaction(name="PAYP")])
        assert "is not defined" not in str(region.explain("PAYQ"))
        assert region.notices.lasting == ()


@pytest.mark.parametrize(("name", "told"), [("payp", 1), ("PAPY", 1), ("OTHR", 0), ("PAYP", 0)])
@pytest.mark.parametrize("defined", [True, False])
def test_a_handler_with_a_misspelt_name_is_told_at_the_start(name: str, told: int, defined: bool) -> None:
    queue = define_tdqueue(name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="FILE")
    transactions = [define_transaction(name="PAYP")] if defined else []
    text = (
        f"TDQ0071 TRANSACTION({name}): A handler is registered for {name}, which no definition has, while PAYP has no "
        f"handler. Register it for PAYP, if that is meant; else define {name}."
    )
    with Region([queue, *transactions], handlers={name: lambda _task: None}) as region:
        assert [str(each) for each in region.notices] == [text] * told


def test_a_definition_that_differs_from_that_of_an_earlier_group_is_told() -> None:
    texts = {"A": "one", "B": "two", "C": "one"}
    queues = [define_tdqueue(name="Q", type="INTRA", description=text, group=name) for name, text in texts.items()]
    with Region(queues) as region:
        told = [str(each) for each in region.notices]
    words = "Its definition of group B is not used: group A comes first and has another one."
    assert told == [f"TDQ0070 TDQUEUE(Q): {words} Correct one of them, or leave one out."]


def test_a_function_that_is_started_needs_no_transaction() -> None:
    with Region([], supplied_queues=False) as region:
        region.start(lambda _task: None)
        region.run()
        assert not region.notices


@pytest.mark.parametrize(("runaway", "said"), [("500", 1), ("0", 0), ("SYSTEM", 0)])
def test_runaway_of_a_python_handler_is_told_at_its_first_task(runaway: str, said: int) -> None:
    with Region([define_transaction(name="PAYP", runaway=runaway)], supplied_queues=False) as region:
        region.notices.silence()
        region.register("PAYP", lambda _task: None)
        assert not region.notices
        for _ in range(2):
            region.start("PAYP")
        region.run()
        assert [(each.id, each.severity, each.resource, each.reason) for each in region.notices] == said * [
            (
                "TDQ0061", "warning", "TRANSACTION(PAYP)",
                "RUNAWAY(500) limits none of its tasks: its program is a Python function, which nothing interrupts.",
            )
        ]  # fmt: skip


def test_explain_says_what_a_queue_has_been_said_of(tmp_path: Path) -> None:
    queue = define_tdqueue(name="OUTQ", type="EXTRA", typefile="INPUT", ddname="NONE")
    alias = define_tdqueue(name="ALIA", type="INDIRECT", indirectname="OUTQ")
    with Region([queue, alias], supplied_queues=False, dd={"NONE": tmp_path / "none"}) as region:
        notices = [each.id for each in region.notices]
        assert notices == ["TDQ0009"]
        for name in ("OUTQ", "ALIA"):
            assert "Its data set was not opened at install: " in str(region.explain(name))


def test_a_start_of_a_transaction_that_cannot_be_attached_is_said() -> None:
    definitions = [define_transaction(name="PAYP"), define_transaction(name="FAR", remotesystem="TOR")]
    with Region(definitions, supplied_queues=False, sysid="HERE") as region:
        region.notices.silence()
        with region.task() as task:
            task.start("PAYP")
        region.run()
        assert [(each.id, each.resource) for each in region.notices] == [("DFHAC2016", "TRANSACTION(PAYP)")]
        with region.task() as task:
            task.start("FAR", sysid="HERE")
        region.run()
        assert str(list(region.notices)[-1]) == (
            "DFHAC2016 TRANSACTION(FAR): No task of FAR is attached: it has no program here, and a START that has come to "
            "this region does not go on to TOR, its REMOTESYSTEM here. Where the START is issued, name the region that "
            "owns FAR as its REMOTESYSTEM; a ring of them has no owner."
        )


def test_a_start_whose_terminal_cannot_be_used_says_what_it_waits_for_until_it_runs() -> None:
    definitions = [
        define_transaction(name="PAYP"), define_terminal(name="T001"),
        define_terminal(name="R001", remotesystem="TOR"), define_connection(name="TOR", netname="TORREG"),
    ]  # fmt: skip
    ran: list[str] = []
    with Region(definitions, supplied_queues=False) as region:
        region.notices.silence()
        region.register("PAYP", lambda task: ran.append(task.eib.eibtrmid))
        region.set_terminal("T001", servstatus="OUTSERVICE")
        region.execute("START TRANSID('PAYP') TERMID('T001')")
        region.execute("START TRANSID('PAYP') TERMID('R001')")
        region.run()
        told = {each.resource: str(each) for each in region.notices}
        assert told == {
            "TERMINAL(T001)": "TDQ0057 TERMINAL(T001): The START of PAYP waits for it: it is out of service. "
            "Put the terminal in service: CEMT SET TERMINAL(T001) INSERVICE, or in Python "
            "region.set_terminal('T001', servstatus='INSERVICE').",
            "TERMINAL(R001)": "TDQ0058 TERMINAL(R001): The START of PAYP waits for it: the connection to system TOR, which "
            "owns it, is released or out of service. Bring the link up: the request is then sent.",
        }
        cemt(region, "SET TERMINAL(T001) INSERVICE")
        region.run()
        assert ran == ["T001"]
        assert [each.resource for each in region.notices.lasting] == ["TERMINAL(R001)"]


def test_a_trigger_whose_connection_is_out_of_service_starts_when_it_is_installed_in_service() -> None:
    queue = define_tdqueue(
        name="PAYQ", type="INTRA", transid="PAYP", triggerlevel=1, atifacility="SYSTEM", facilityid="FAR"
    )
    away = define_connection(name="FAR", inservice="NO")
    ran: list[str] = []
    with Sysplex() as sysplex:
        near = sysplex.region([queue, away, define_transaction(name="PAYP")], applid="NEAR", sysid="NEAR")
        sysplex.link(near, sysplex.region([], applid="FAR", sysid="FAR"))
        near.notices.silence()
        near.register("PAYP", lambda task: ran.extend(task.text(each) for each in task.readq_td_all("PAYQ")))
        near.writeq_td("PAYQ", near.encode("paid"))
        assert [each.cure for each in near.notices.lasting] == ["Install CONNECTION(FAR) with INSERVICE(YES)."]
        near.install([define_connection(name="FAR", inservice="YES")])
        near.run()
        assert ran == ["paid"]
        assert near.notices.lasting == ()


def test_every_command_that_a_cure_names_is_simulated() -> None:
    cures = [f"{row['cure']}" for name in ("notices", "refused") for row in table(name)]
    named = {words for cure in cures for words in re.findall(r"(?:CEMT )?\bSET [A-Z]{3,}", cure)}
    named -= {"SET ENABLED", "SET OPEN"}  # of what the row is about: a queue, a file, a transaction
    assert named == {"CEMT SET TERMINAL", "SET TDQUEUE", "SET TRANSACTION", "SET UOW"}
    assert all(hasattr(Task, each.lower().replace(" ", "_")) for each in named if not each.startswith("CEMT"))
