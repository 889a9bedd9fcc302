"""cemt, ceci, stats, jobs, store, and run of a region without a job."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tdq

DEFINITIONS = """\
group: PAY
tdqueue:
  - {name: PAYQ, type: INTRA, atifacility: FILE, transid: PAYP, triggerlevel: 2}
  - {name: PAY2, type: INTRA}
  - {name: PAYL, type: INTRA, recovstatus: LOGICAL}
  - {name: JOBS, type: EXTRA, typefile: OUTPUT, ddname: JOBS, recordformat: FIXED, recordsize: 80}
transaction:
  - {name: PAYP, handler: "op_handlers:payp"}
  - {name: BEGN, handler: "op_handlers:begin"}
  - {name: FAIL, handler: "op_handlers:fail"}
  - {name: STOP, handler: "op_handlers:stop"}
"""
HANDLERS = """\
def payp(task):
    for _ in range(2):
        task.writeq_td("PAY2", task.readq_td("PAYQ"))

def begin(task):
    task.writeq_td("PAYQ", b"ONE")
    task.writeq_td("PAYQ", b"TWO")
    for card in ("//NIGHT JOB", "//STEP EXEC PGM=IEFBR14", "/*EOF"):
        task.writeq_td("JOBS", card.ljust(80).encode("cp037"))

def fail(task):
    task.readq_td("PAY2")

def stop(task):
    task.region.start(other)
    task.writeq_td("PAYL", b"UNCOMMITTED")
    task.enq("B")
    task.delay(seconds=1)
    task.enq("A")

def other(task):
    task.enq("A")
    task.enq("B")
"""


@pytest.fixture
def pay(tmp_path: Path) -> Path:
    folder = tmp_path / "op"
    folder.mkdir()
    (folder / "definitions.yaml").write_text(DEFINITIONS)
    (folder / "op_handlers.py").write_text(HANDLERS)
    (folder / "region.yaml").write_text(
        "definitions: [definitions.yaml]\nhandlers: [op_handlers]\nstart_transactions: [BEGN]\ndd:\n  JOBS: {sysout: 'A,INTRDR'}\n"
    )
    return folder


def test_a_region_runs_until_nothing_can_go_on(tdq: Tdq, pay: Path) -> None:
    ended = tdq("run", pay, "--json", "--store", pay / "store", "--output", pay / "out")
    assert ended.code == 0
    (line,) = ended.out.splitlines()
    found = json.loads(line)
    queues = {queue["TDQUEUE"]: queue for queue in found["queues"]}
    assert (queues["PAY2"]["NUMITEMS"], queues["PAYQ"]["triggers"], found["tasks"]) == (2, 1, 2)
    assert tdq("run", pay, "--output", pay / "out").out.startswith("INQUIRE TDQUEUE in TDQREGN\n")


def test_an_abend_is_told_and_is_exit_code_1(tdq: Tdq, pay: Path) -> None:
    ended = tdq("run", pay, "--start", "FAIL", "--json", "--output", pay / "out")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert not found["ok"]
    (abend,) = found["abends"]
    assert "FAIL: abend AEIW" in abend
    assert "QZERO" in abend


def test_tasks_that_wait_for_ever_are_told_and_do_not_hang_the_run(tdq: Tdq, pay: Path) -> None:
    ended = tdq("run", pay, "--start", "STOP", "--json", "--output", pay / "out", "--store", pay / "store")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert [line.split(" waits for ")[0].split()[-1] for line in found["waiting"]] == ["STOP", "OTHE"]
    assert tdq("peek", "PAYL", "--store", pay / "store").out == ""


def test_a_run_without_a_region_or_with_a_wrong_transaction_says_so(tdq: Tdq, pay: Path) -> None:
    assert "name a region directory" in tdq("run").err
    ended = tdq("run", pay, "--start", "NONE", "--output", pay / "out")
    assert ended.code == 1
    assert "transaction NONE is not defined; defined are PAYP, BEGN" in ended.err
    assert "--records is for" in tdq("run", pay, "--records", 5).err
    (pay / "op_handlers.py").write_text("import nonsense_module\n")
    ended = tdq("run", pay, "--output", pay / "out")
    assert ended.code == 2
    assert "module op_handlers cannot be imported: ModuleNotFoundError" in ended.err


def test_a_job_class_that_is_not_there_is_exit_code_2(tdq: Tdq, pay: Path) -> None:
    with (pay / "region.yaml").open("a") as file:
        file.write("job: op_handlers:Nothing\n")
    ended = tdq("run", pay, "--output", pay / "out")
    assert ended.code == 2
    assert "op_handlers:Nothing" in ended.err


def test_statistics_of_the_last_run_are_kept_with_the_store(tdq: Tdq, pay: Path) -> None:
    tdq("run", pay, "--store", pay / "store", "--output", pay / "out")
    assert tdq("inquire", "PAYQ", "--statistics", "--store", pay / "store").code == 2
    rows = {
        line.split()[0]: line.split()
        for line in tdq("inquire", "--statistics", "--store", pay / "store").out.splitlines()
    }
    assert rows["PAYQ"][1:6] == ["INTRA", "2", "2", "0", "1"]
    found = json.loads(tdq("inquire", "--statistics", "--store", pay / "store", "--json", "--all").out)
    assert found["total"]["ci_size"] == 4096
    assert len(found["queues"]) > 60
    assert "applid" not in found


def test_a_report_of_statistics(tdq: Tdq, pay: Path) -> None:
    now = tdq("inquire", pay, "--statistics", "--report").out.splitlines()
    assert now[0].startswith("Requested Statistics Report  Collection Date-Time ")
    assert now[0].endswith("Applid TDQREGN")
    tdq("run", pay, "--store", pay / "store", "--output", pay / "out")
    kept = tdq("inquire", "--statistics", "--store", pay / "store", "--report").out.splitlines()
    assert kept[0].endswith("Applid TDQREGN")
    queues = kept[kept.index("Transient data queue") :]
    assert [line.split()[:3] for line in queues if line.startswith("  PAYQ ")] == [["PAYQ", "2", "2"]]


def test_explain_says_why_a_trigger_does_not_fire(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    assert tdq("write", "--seed", "PAYQ", "ONE", "TWO", "-r", pay, "-s", store).code == 0
    told = tdq("explain", "PAYQ", "-s", store)
    assert told.code == 0
    assert "READQ TD" in told.out
    (found,) = json.loads(tdq("explain", pay, "PAYQ", "-s", store, "--json").out)
    assert found["commands"]["READQ TD"]["outcome"] == "NORMAL"
    assert found["commands"]["WRITEQ TD"]["outcome"] == "NORMAL"
    assert tdq("explain", pay, "PAY*").out.startswith("PAYQ:\n  ")
    assert "no program" not in tdq("explain", pay, "PAYQ").out
    assert tdq("explain", pay).code == 2


def test_explain_tells_the_history_of_a_record(tdq: Tdq, pay: Path, tmp_path: Path) -> None:
    events = [
        ["WRITEQ TD", 7, "PAYQ", "f1f2", 1_700_000_000_000_000_000, "FILL", "01"],
        ["WRITEQ TD", 7, "PAYQ", "f3f4", 1_700_000_000_000_000_000, "FILL", "01"],
        ["COMMIT", 7, "", "", 1_700_000_000_000_000_000, "FILL", "01"],
    ]
    file = tmp_path / "run.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    told = tdq("explain", pay, "PAYQ", "--history", file, "--record", "12").out
    assert "task 7 FILL    WRITEQ TD PAYQ 12" in told
    assert "PAYQ 34" not in told
    assert "COMMIT" in told
    assert "PAYQ 34" in tdq("explain", pay, "PAYQ", "--history", file).out
    assert tdq("explain", pay, "PAYQ", "--history", file, "--record", "X'F3F4'").out.count("WRITEQ TD PAYQ") == 1
    assert tdq("explain", pay, "PAYQ", "--record", "12").code == 2


def test_jobs_of_the_internal_reader_are_listed_and_shown(tdq: Tdq, pay: Path) -> None:
    tdq("run", pay, "--store", pay / "store", "--output", pay / "out")
    (job,) = json.loads(tdq("output", "--store", pay / "store", "--json").out)["jobs"]
    assert (job["id"], job["name"], job["cards"]) == ("JOB00001", "NIGHT", 2)
    assert tdq("output", "night", "--store", pay / "store").out == "//NIGHT JOB USER=CICSRGN\n//STEP EXEC PGM=IEFBR14\n"
    assert tdq("output", "--store", pay / "store").out.splitlines()[-1].startswith("JOB00001  NIGHT")
    assert tdq("output", "OTHER", "--store", pay / "store").code == 2


def test_cemt_looks_without_a_store_and_changes_with_one(tdq: Tdq, pay: Path) -> None:
    shown = tdq("cemt", "I TD(PAY*)", "-r", pay)
    assert shown.code == 0
    assert "Tdq(PAYQ)" in shown.out
    assert "RESPONSE: NORMAL" in shown.out
    assert tdq("cemt", "SET TD(PAYQ) TRI(7)", "-r", pay).code == 2
    done = tdq("cemt", "SET TD(PAYQ) TRI(7)", "-r", pay, "-s", pay / "store")
    assert done.code == 0
    found = json.loads(tdq("cemt", "I TD(PAYQ)", "-s", pay / "store", "--json").out)
    assert found["tdqueues"][0]["TRIGGERLEVEL"] == 7
    assert tdq("cemt", "I TD(NONE)", "-r", pay).code == 1
    assert tdq("cemt", "FROB TD(PAYQ)", "-r", pay).code == 2


def test_a_cemt_session_reads_commands_until_the_end(tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SET TD(PAYQ) DIS\n\nI TD(PAYQ)\nFROB\n"))
    ended = tdq("cemt", "-r", pay, "-s", pay / "store", "--panel")
    assert ended.code == 1
    assert "Enablestatus( Disabled )" in ended.out
    assert " RESULT - OVERTYPE TO MODIFY" in ended.out
    assert "Tdq(PAYQ) Tri(" in tdq("cemt", "I TD(PAYQ)", "-r", pay, "-s", pay / "store").out
    assert "FROB is not a verb" in ended.err


def test_a_ceci_session_is_one_unit_of_work(tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("WRITEQ TD QUEUE(PAY2) FROM(HELLO)\nREADQ TD QUEUE(PAY2)\nEND\n"))
    ended = tdq("ceci", "-r", pay, "-s", pay / "store")
    assert ended.code == 0
    assert ended.out.count("RESPONSE: NORMAL") == 2
    found = json.loads(tdq("ceci", "WRITEQ TD QUEUE(PAY2) FROM(HELLO)", "-r", pay, "-s", pay / "store", "--json").out)
    assert found["response"] == "NORMAL"
    assert tdq("peek", "PAY2", "-s", pay / "store").out == "HELLO\n"
    assert tdq("ceci", "READQ TD QUEUE(PAYQ)", "-r", pay, "-s", pay / "store").code == 1
    assert tdq("ceci", "READQ NONSENSE", "-r", pay, "-s", pay / "store").code == 2


def test_ceci_starts_the_region_with_its_data_sets(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes("ONE TWO ".encode("cp037"))
    (tmp_path / "q.yaml").write_text(
        "group: G\ntdqueue:\n- {name: INQ, type: EXTRA, ddname: IN, recordformat: FIXED, recordsize: 4}\n"
    )
    read = tdq(
        "ceci", "READQ TD QUEUE(INQ)", "-d", tmp_path / "q.yaml", "-s", tmp_path / "store", "--dd", f"IN={tmp_path}/in"
    )
    assert read.code == 0
    assert "Into( ONE  )" in read.out


def test_a_store_is_checked_and_salvaged(tdq: Tdq, pay: Path) -> None:
    store = pay / "store"
    tdq("write", "PAY2", "HELLO", "-r", pay, "-s", store)
    checked = tdq("store", "check", store)
    assert checked.code == 0
    assert "PAY2" in checked.out
    assert checked.out.endswith("whole\n")
    saved = json.loads(tdq("store", "salvage", store, pay / "saved", "--json").out)
    assert {row["queue"]: row["saved"] for row in saved["queues"]}["PAY2"] == 1
    assert tdq("peek", "PAY2", "-s", pay / "saved").out == "HELLO\n"
    assert tdq("store", "check", pay / "nothing").code == 3


@pytest.mark.rule("CEMT-QUESTION-MARK")
@pytest.mark.parametrize(
    ("request_", "line"),
    [("?", "  Inquire"), ("CEMT ?", "  DIscard"), ("S ?", "  TDqueue"), ("? S TD", "   < ENabled | DIsabled >"), ("DI TD ?", "  CEMT DIscard TDqueue")],
)  # fmt: skip
def test_cemt_shows_its_syntax_without_a_region_or_store(tdq: Tdq, request_: str, line: str) -> None:
    ended = tdq("cemt", request_)
    assert ended.code == 0
    assert line in ended.out.splitlines()
    assert json.loads(tdq("cemt", request_, "--json").out)["tdqueues"] == []


def test_a_region_directory_is_named_once(tdq: Tdq, pay: Path) -> None:
    assert tdq("inquire", pay).code == 0
    ended = tdq("inquire", pay, "--region", pay)
    assert (ended.code, "is already given by --region" in ended.err) == (2, True)
    assert "nor a region directory" in tdq("peek", pay / "nothing").err
    assert "for a definition file write -d " in tdq("peek", pay / "region.yaml").err


@pytest.mark.parametrize(
    "words",
    ["write {} PAYQ A B", "write {} PAYQ A --seed", "set {} PAYQ TRIGGERLEVEL=9", "read {} PAYQ", "cemt {} I", "ceci {} ASKTIME", "output {}",
     "inquire {} --statistics", "peek {} --json", "explain {} PAYQ", "inquire {} PAYQ", "peek {} PAYQ"],
)  # fmt: skip
def test_every_command_takes_the_region_directory_in_the_same_ways(
    tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    store = pay.parent / "store"
    assert tdq("write", "--seed", "-r", pay, "PAYQ", *"ABCDEFGH", "--store", store).code == 0
    before, _, *rest = [*words.split(), "--store", store]
    if before == "cemt":
        rest[0] = "I TDQ(PAYQ)"
    here = [tdq(before, "--region", pay, *rest), tdq(before, pay, *rest), tdq(before, *rest, "--region", pay)]
    monkeypatch.chdir(pay)
    here += [tdq(before, *rest), tdq(before, ".", *rest)]
    assert {(each.code, each.err) for each in here} == {(0, here[0].err)}
    for wrong in ("/", "..", "../"):
        ended = tdq(before, wrong, *rest)
        assert (ended.code, "region" in ended.err) == (2, True), wrong


def test_a_queue_may_have_the_name_of_a_directory(tdq: Tdq, pay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pay / "PAYQ").mkdir()
    (pay / "PAYQ" / "region.yaml").write_text("definitions: []\n")
    monkeypatch.chdir(pay)
    assert tdq("write", "--region", ".", "PAYQ", "ONE", "--store", "s").code == 0
    assert tdq("peek", "-r", ".", "-s", "s", "PAYQ").out == "ONE\n"
    assert tdq("inquire", "PAYQ").out.splitlines()[1:] == []  # a region without queues
    ended = tdq("set", "--store", "PAYQ", "PAYQ", "PAYQ", "TRIGGERLEVEL=3")
    assert (ended.code, "QIDERR" in ended.err) == (1, True)


@pytest.mark.parametrize(
    "words", ["read PAYQ", "read PAYQ --all", "peek PAYQ", "inquire --statistics", "output", "inquire"]
)
def test_a_misspelt_store_is_not_made(tdq: Tdq, pay: Path, words: str) -> None:
    for store in ("typo", "empty"):
        (pay / "empty").mkdir(exist_ok=True)
        ended = tdq(*words.split(), "-r", pay, "--store", pay / store)
        assert (ended.code, ended.out) == (3, "")
        assert f"{pay / store}: there is no store here" in ended.err
        assert not (pay / "typo").exists()
        assert not any((pay / "empty").iterdir())


def test_a_command_that_needs_a_store_does_not_promise_to_make_it(tdq: Tdq, pay: Path) -> None:
    told = "tdq: this command needs a store: give --store DIR; tdq write creates one that does not exist\n"
    assert tdq("read", "PAYQ", "-r", pay).err == told


@pytest.mark.rule("DS-SYSOUT-CLASS", "DS-ASA")
def test_sysout_is_listed_by_class_and_printed(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text(
        "group: G\ntdqueue:\n- {name: REPT, type: EXTRA, sysoutclass: A, recordformat: FIXED, recordsize: 6, printcontrol: A}\n"
        "- {name: LOGQ, type: EXTRA, sysoutclass: B, ddname: LOG}\n"
    )
    store = tmp_path / "store"
    for queue, *lines in (("REPT", "1TITLE", "0FIRST"), ("LOGQ", "HELLO")):
        assert tdq("write", queue, *lines, "-d", tmp_path / "q.yaml", "-s", store).code == 0
    rows = [line.split() for line in tdq("output", "-s", store).out.splitlines()[2:4]]
    assert rows == [["1", "A", "REPT", "ASA", "3"], ["2", "B", "LOG", "NONE", "1"]]
    assert [line.split()[2] for line in tdq("output", "--class", "b", "-s", store).out.splitlines()[2:]] == ["LOG"]
    assert tdq("output", 1, "-s", store).out == "TITLE\n\nFIRST\n"
    found = json.loads(tdq("output", "--json", "-s", store).out)["sysout"]
    assert [(each["class"], each["text"]) for each in found] == [("A", ["TITLE", "", "FIRST"]), ("B", ["HELLO"])]
    assert tdq("output", 9, "-s", store).code == 2
    assert tdq("output", 1, "-s", store).out == "TITLE\n\nFIRST\n"
    listed = tdq("output", "-s", store).out.splitlines()
    assert [line.split()[:3] for line in listed[:4]] == [
        ["SYSOUT", "data", "sets:"], ["number", "class", "ddname"], ["1", "A", "REPT"], ["2", "B", "LOG"]
    ]  # fmt: skip
    assert listed[5] == "Jobs:"
    assert "there is no job NIGHTLY; tdq output lists them" in tdq("output", "nightly", "-s", store).err


def test_records_are_written_without_a_task(tdq: Tdq, triggering: Path) -> None:
    file = str(triggering / "pay.yaml")
    assert tdq("write", "PAYQ", "A", "--seed", "-d", file, "-s", "s1").out == "PAYQ: 1 seeded\n"
    assert tdq("peek", "PAYQ", "-s", "s1").out == "A\n"


def test_inquire_shows_the_statistics(tdq: Tdq, pay: Path) -> None:
    assert tdq("write", pay, "PAYQ", "A", "--seed", "-s", "s1").code == 0
    rows = {line.split()[0]: line.split() for line in tdq("inquire", "--statistics", "-s", "s1").out.splitlines()}
    assert "PAYQ" in rows
    assert "give neither a name nor --option" in tdq("inquire", "PAYQ", "--statistics", "-s", "s1").err


ABENDING = """\
def payi(task):
    task.readq_td("PAYI")
    raise ValueError("no such account")
"""
BROKEN = """\
group: PAY
tdqueue:
- {name: PAYI, type: INTRA, transid: PAYI, triggerlevel: 3, atifacility: FILE}
- {name: PAYN, type: INTRA, transid: PAYN, triggerlevel: 1, atifacility: FILE}
- {name: PAYU, type: INTRA, transid: PAYU, triggerlevel: 1, atifacility: FILE}
- {name: PAYT, type: INTRA, transid: PAYI, triggerlevel: 1}
transaction:
- {name: PAYI, handler: "abending:payi"}
- {name: PAYN}
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "abending.py").write_text(ABENDING)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (tmp_path / "region.yaml").write_text("definitions: [broken.yaml]\nhandlers: [abending]\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [["write", "PAYI", "A", "B", "C"], ["ceci", "WRITEQ TD QUEUE(PAYI) FROM('A')"]],
    ids=lambda words: words[0],
)
def test_abends_of_tasks_that_a_command_triggered_are_told_with_exit_code_1(
    tdq: Tdq, broken: Path, command: list[str]
) -> None:
    if command[0] == "ceci":
        tdq("write", "--seed", "PAYI", "A", "B", "-s", "s1")
    ended = tdq(*command, "-s", "s1")
    assert ended.code == 1
    assert "PAYI" in ended.out
    assert f"PAYI: abend ASRA: ValueError: no such account ({broken / 'abending.py'}:3)" in ended.err


@pytest.mark.parametrize(
    ("queue", "text"),
    [
        ("PAYN", "DFHAC2016 TDQUEUE(PAYN): No task of PAYN is attached: it has no program. Register a handler"),
        ("PAYU", "DFHTD0183 TDQUEUE(PAYU): Its trigger starts no task: TRANSACTION PAYU is not defined."),
        ("PAYT", "TDQ0001 TDQUEUE(PAYT): The task of its trigger (PAYI) waits for terminal PAYT, which is not defined"),
    ],
)
def test_a_trigger_that_found_no_program_is_told(tdq: Tdq, broken: Path, queue: str, text: str) -> None:
    ended = tdq("write", queue, "A", "-s", "s1")
    assert ended.code == 1
    assert ended.err.count(text) == 1
    assert "tdqsim:" not in ended.err


@pytest.fixture
def triggering(tmp_path: Path) -> Path:
    """A definition file in a directory of its own, which names a handler beside it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "pay.yaml").write_text(
        "groups:\n- group: G\n  tdqueue:\n"
        "  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 1, atifacility: FILE}\n"
        "  - {name: DONE, type: INTRA}\n"
        "  transaction:\n  - {name: PAYP, handler: 'payflow:post'}\n"
    )
    return folder


@pytest.mark.parametrize(
    "command",
    [["write", "PAYQ", "A"], ["ceci", "WRITEQ TD QUEUE(PAYQ) FROM('A')"]],
    ids=lambda words: words[0],
)
def test_handlers_that_a_definition_file_names_are_loaded_from_beside_it(
    tdq: Tdq, triggering: Path, command: list[str]
) -> None:
    (triggering / "payflow.py").write_text(
        "def post(task):\n    for record in task.readq_td_all('PAYQ'):\n        task.writeq_td('DONE', record)\n"
    )
    file = str(triggering / "pay.yaml")
    assert tdq(*command, "-d", file, "-s", "s1").code == 0
    assert tdq("peek", "DONE", "-s", "s1").out == "A\n"


def test_a_handler_of_a_definition_file_that_is_not_there_is_told(tdq: Tdq, triggering: Path) -> None:
    ended = tdq("write", "PAYQ", "A", "-d", str(triggering / "pay.yaml"), "-s", "s1")
    assert ended.code == 2
    assert "TRANSACTION(PAYP) handler = 'payflow:post': module payflow cannot be imported" in ended.err


def test_ceci_says_how_to_see_the_name_of_a_browse(tdq: Tdq, pay: Path) -> None:
    ended = tdq("ceci", pay, "INQUIRE TDQUEUE(Q) NEXT", "-s", "s1")
    assert ended.code == 2
    assert "TDQUEUE must name a host variable that receives: write TDQUEUE(&T), and CECI shows" in ended.err


@pytest.mark.parametrize("handlers", ["", "handlers: [flow]\n"])
def test_a_module_of_handlers_that_fails_is_told_with_its_line(tdq: Tdq, tmp_path: Path, handlers: str) -> None:
    (tmp_path / "pay.yaml").write_text("groups: [{group: G, transaction: [{name: PAYP, handler: 'flow:post'}]}]\n")
    (tmp_path / "region.yaml").write_text(f"definitions: [pay.yaml]\n{handlers}")
    (tmp_path / "flow.py").write_text("def post(task): ...\n\n1 / 0\n")
    ended = tdq("run", str(tmp_path))
    assert ended.code == 2
    said = "module flow cannot be imported: ZeroDivisionError: division by zero"
    assert f"{said} ({tmp_path / 'flow.py'}:3)" in ended.err


@pytest.mark.parametrize(
    "words", ["inquire PAYQ", "inquire --statistics", "topology", "peek", "check", "set PAYQ TRIGGERLEVEL=7 -s store"]
)
def test_a_command_imports_no_handler_where_a_region_has_cobol_programs_too(tdq: Tdq, pay: Path, words: str) -> None:
    with (pay / "region.yaml").open("a") as file:
        file.write("cobol: {sources: [.]}\n")
    mark = pay / "was_run"
    (pay / "op_handlers.py").write_text(f"open({str(mark)!r}, 'w').close()")
    command, *rest = words.split()
    ended = tdq(command, pay, *rest)
    assert (ended.code, mark.exists()) == (0, False)


def test_a_set_that_is_refused_and_a_task_that_abends_are_no_success(tdq: Tdq, pay: Path) -> None:
    refused = tdq("cemt", "SET TD(PAYQ) OPE", "-r", pay, "-s", pay / "store")
    assert (refused.code, "INVREQ" in refused.out + refused.err) == (1, True)
    abended = tdq("ceci", "ABEND ABCODE(OOPS)", "-r", pay, "-s", pay / "store")
    assert (abended.code, "OOPS" in abended.out + abended.err) == (1, True)


def test_a_program_that_is_not_there_is_an_input_that_cannot_be_used(tdq: Tdq, tmp_path: Path) -> None:
    ended = tdq("cobol", "run", tmp_path / "nofile.cbl")
    assert (ended.code, ended.err) == (2, f"tdq: {tmp_path / 'nofile.cbl'}: there is no such file\n")


def test_a_region_directory_is_found_among_names_of_queues_in_any_order(tdq: Tdq, pay: Path) -> None:
    for words in (["PAYQ", pay], [pay, "PAYQ"]):
        assert tdq("explain", *words).out.startswith("- Queue PAYQ is ")
        assert tdq("inquire", *words, "--option", "TYPE").code == 0
    for words in (["notices", pay], [pay, "notices"]):
        assert tdq("explain", *words).err.startswith("tdq: notices: no server has the region")
    assert "task 3: no server has the region" in tdq("explain", "task", "3", pay).err
