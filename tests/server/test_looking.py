"""Looking leaves no trace, costs no more than what is shown, and sees what the region's policy lets its user see."""

from __future__ import annotations

import gc
import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tdqsim

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import Region, define_tdqueue, state
from tdqsim.cics.inspection.explain import explain
from tdqsim.datasets import Dcb, RecordFormat, open_writer
from tdqsim.definitions import load_region_file, region_json_schema
from tdqsim.errors import DefinitionError
from tdqsim.ibmi import EscapeMessage, system_from_directory
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.users import Role, User, Users

PACKAGE = str(Path(tdqsim.__file__).parent)
QUEUES = "group: PAY\ntdqueue:\n" + "".join(
    f"- {{name: {name}, type: INTRA, recovstatus: LOGICAL}}\n" for name in ("PAYQ", "LOGQ", "HIDE")
)
POLICY = """\
applid: PAYREGN
definitions: [pay.yaml]
cmdsec: ALWAYS
ressec: ALWAYS
security:
  queues:
    CICSUSER: {"*": ALTER}
    ALICE: {HIDE: NONE, "*": update}
    TELLERS: {PAYQ: READ}
  commands:
    CICSUSER: {"*": ALTER}
    ALICE: {TDQUEUE: READ}
    TELLERS: {TDQUEUE: READ}
  surrogates: {ALICE: [BATCH]}
  users: [CICSRGN, CICSUSER, ALICE, BOB, BATCH]
"""
SYSTEM = """\
name: PAYSYS
definitions: [queues.yaml]
commands:
- CRTUSRPRF USRPRF(ALICE)
- GRTOBJAUT OBJ(PAYLIB/ORDERS) OBJTYPE(*DTAQ) USER(ALICE) AUT(*CHANGE)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from tdqsim.core.store._durable import Durable
from tdqsim.ibmi import system_from_directory

directory, plain = Path(sys.argv[1]), Durable.commit
for at in range(1, 1000):
    store = directory / f"store{at}"
    if at % 2:
        store.mkdir()
    child = os.fork()
    if not child:
        left = at
        def commit(*given, **named):
            global left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            plain(*given, **named)
        Durable.commit = commit
        system_from_directory(directory, store=store).close()
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    system = system_from_directory(directory, store=store)
    with system.job("PAY", user="ALICE") as job:
        job.qsnddtaq("ORDERS", "PAYLIB", b"order")
    system.close()
    if not killed:
        break
print(at)
"""


@pytest.fixture
def host(tmp_path):
    (tmp_path / "region.yaml").write_text(POLICY)
    (tmp_path / "pay.yaml").write_text(QUEUES)
    users = Users([User("ALICE", frozenset({Role.operate})), User("BOB", frozenset({Role.operate}), ("TELLERS",))])
    host = Host(frozen=True, users=users)
    host.add_directory(tmp_path)
    host.gate = Gate(users=users, token="all")
    yield host
    host.stop()


@pytest.fixture
def ask(host):
    """Asks as a user, or as the owner: the status, and what was answered."""
    tokens = {"": "all"} | {who: host.gate.sessions.begin(who, cookie=False)[0] for who in ("ALICE", "BOB")}
    with TestClient(application(host, host.gate), base_url="http://127.0.0.1") as client:

        def ask(who, method, path, **options):
            headers = {"Authorization": f"Bearer {tokens[who]}"}
            answer = client.request(method, f"/api/v1/regions/PAYREGN{path}", headers=headers, **options)
            return answer.status_code, answer.json() if answer.content else None

        yield ask


def test_looking_is_no_command(host, ask):
    ask("", "POST", "/queues/PAYQ/records", json={"text": "10.00"})
    before, counted = list(host.recent["PAYREGN"]), dict(host.counts)
    paths = ["/queues", "/queues/PAYQ", "/records", "/records?uncommitted=true", "/depth", "/explain"]
    for path in ["", "/tasks", "/units-of-work", "/statistics", "/snapshot", "/faults", *paths[:2]]:
        assert ask("", "GET", path)[0] == 200, path
    for path in paths[2:]:
        assert ask("", "GET", f"/queues/PAYQ{path}")[0] == 200, path
    assert list(host.recent["PAYREGN"]) == before
    assert dict(host.counts) == counted


def test_an_inquire_of_one_option_takes_few_calls(tmp_path):
    """Calls of functions of the package in both threads, but those of the socket, which is not here."""
    calls = []

    def count(frame, event, _argument):
        code = frame.f_code
        started = frame.f_lasti < 3 or not code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR)
        if event == "call" and started and PACKAGE in code.co_filename and code.co_name[0] != "<":
            calls.append(code.co_qualname)

    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text(QUEUES)
    threading.setprofile(count)
    try:
        host = Host()
        host.add_directory(tmp_path)
        host.gate = Gate(token="all")
        with TestClient(application(host, host.gate), base_url="http://127.0.0.1") as client:
            for _ in range(3):
                calls.clear()
                answer = client.get(
                    "/api/v1/regions/PAYREGN/queues/PAYQ?options=NUMITEMS", headers={"Authorization": "Bearer all"}
                )
                assert answer.json() == {"name": "PAYQ", "NUMITEMS": 0}
                host.engine.outside(int).result(60)  # the engine has gone to rest after the look
    finally:
        threading.setprofile(None)
        host.stop()
    made = calls[: calls.index("_answer_by")]
    assert len(made) <= 60 + 3, made  # and three with which the turn of the last call begins


def test_statistics_of_all_types(ask):
    ask("", "POST", "/queues/PAYQ/records", json={"text": "10.00"})
    found = ask("", "GET", "/statistics")[1]
    assert [queue["writes"] for queue in found["queues"] if queue["name"] == "PAYQ"] == [1]
    records = {record["record"]: record for record in found["records"] if "name" not in record}
    assert records["DSG"]["priority_aging"] == 1000
    assert set(records) == {"STG", "XMG", "DSG", "TSG"}


def test_the_policy_of_region_yaml_decides_what_a_user_sees_and_does(ask):
    assert ask("", "POST", "/queues/HIDE/records", json={"text": "secret"})[0] == 201

    def names(who):
        return [each["name"] for each in ask(who, "GET", "/queues")[1]["queues"] if each["name"] in "PAYQ LOGQ HIDE"]

    assert (names("ALICE"), names("BOB")) == (["LOGQ", "PAYQ"], ["PAYQ"])
    for path in ("/queues/HIDE", "/queues/HIDE/records", "/queues/HIDE/depth", "/snapshot"):
        status, told = ask("ALICE", "GET", path)
        assert (status, told["condition"], told["resp2"]) == (403, "NOTAUTH", 101), path
    assert "secret" not in str(ask("ALICE", "POST", "/queues/HIDE/records/decoded", json={"copybook": "01 A PIC X."}))
    assert ask("ALICE", "POST", "/queues/LOGQ/records", json={"text": "a"})[0] == 201
    assert ask("BOB", "GET", "/queues/PAYQ/records")[0] == 200
    assert ask("BOB", "POST", "/queues/PAYQ/records", json={"text": "a"})[1]["condition"] == "NOTAUTH"
    status, told = ask("ALICE", "PATCH", "/queues/LOGQ", json={"ENABLESTATUS": "DISABLED"})
    assert (status, told["resp2"]) == (403, 100)
    assert ask("", "GET", "/queues/HIDE/records")[1]["records"] == ["secret"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            "queues: {ALICE: {PAYQ: WRITE}}",
            "7: security.queues.ALICE.PAYQ = 'WRITE': must be NONE, READ, UPDATE, CONTROL or ALTER",
        ),
        ("queues: {alice: {PAYQ: READ}}", "7: security.queues.alice"),
        ("queue: {ALICE: {PAYQ: READ}}", "did you mean queues?"),
        ("users: ALICE", "must be a list"),
    ],
)
def test_a_wrong_policy_is_named_with_its_line(tmp_path, wrong, said):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\n\n\n\n\nsecurity:\n  " + wrong + "\n")
    with pytest.raises(DefinitionError) as caught:
        load_region_file(tmp_path)
    assert said in str(caught.value)


def test_editors_know_the_policy():
    lists = region_json_schema()["$defs"]["Security"]["properties"]
    assert set(lists) == {"queues", "commands", "surrogates", "users"}
    assert "UPDATE" in str(lists["queues"])
    assert all(each["description"] for each in lists.values())


def test_commands_of_a_system_say_who_may_what_once(tmp_path):
    (tmp_path / "system.yaml").write_text(SYSTEM)
    (tmp_path / "queues.yaml").write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80, aut: '*EXCLUDE'}\n")
    store = tmp_path / "store"
    for number in range(2):
        system = system_from_directory(tmp_path, store=store)
        try:
            with system.job("PAY", user="ALICE") as job:
                if number == 0:
                    job.qsnddtaq("ORDERS", "PAYLIB", b"order")
                else:
                    with pytest.raises(EscapeMessage, match="CPF9802"):  # the commands were not run again
                        job.qsnddtaq("ORDERS", "PAYLIB", b"order")
            with system.job("PAY", user="QSECOFR") as job:
                job.command("RVKOBJAUT OBJ(PAYLIB/ORDERS) OBJTYPE(*DTAQ) USER(ALICE) AUT(*ALL)")
        finally:
            system.close()


def test_a_command_that_is_refused_makes_no_system(tmp_path):
    (tmp_path / "system.yaml").write_text("commands: ['CRTUSRPRF USRPRF(ALICE)', 'FROB NOW(*YES)']\n")
    with pytest.raises(DefinitionError, match=r"commands\.1 = 'FROB NOW\(\*YES\)': CPF0001"):
        system_from_directory(tmp_path, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_system_that_was_killed_while_it_was_made_is_made_anew(tmp_path):
    (tmp_path / "system.yaml").write_text(SYSTEM)
    (tmp_path / "queues.yaml").write_text("dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80, aut: '*EXCLUDE'}\n")
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 5  # commits that it was killed at


@pytest.mark.parametrize("linked", [False, True])
def test_what_the_user_made_for_a_store_stays_when_a_command_is_refused(tmp_path, linked):
    place = tmp_path / "place"
    place.mkdir()
    store = tmp_path / "store" if linked else place
    if linked:
        store.symlink_to(place)
    system = tmp_path / "system.yaml"
    system.write_text(
        "commands: ['CRTUSRPRF USRPRF(ALICE)', 'GRTOBJAUT OBJ(NO/SUCH) OBJTYPE(*DTAQ) USER(ALICE) AUT(*USE)']\n"
    )
    with pytest.raises(DefinitionError, match=r"system\.yaml:1: commands\.1 = 'GRTOBJAUT .*CPF"):
        system_from_directory(tmp_path, store=store)
    assert place.is_dir()
    assert store.is_symlink() == linked
    system.write_text("commands: ['CRTUSRPRF USRPRF(ALICE)']\n")
    made = system_from_directory(tmp_path, store=store)
    made.job("PAY", user="ALICE").end()
    made.close()


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.sampled_from(["write", "read", "delete"]), max_size=6),
    skip=st.integers(0, 9),
    limit=st.none() | st.integers(0, 4),
)
def test_a_page_of_what_is_not_committed_is_a_part_of_all(steps, skip, limit):
    """By a list that has what the steps do to it."""
    with Region([define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")]) as region:
        there = [b"1", b"2", b"3"]
        region.seed("LOGQ", there)
        with region.task() as task:
            for number, step in enumerate(steps):
                if step == "write":
                    task.writeq_td("LOGQ", b"w%d" % number)
                    there = [*there, b"w%d" % number]
                elif step == "delete":
                    task.deleteq_td("LOGQ")
                    there = []
                elif there and not there[0].startswith(b"w"):
                    task.readq_td("LOGQ")
                    there = there[1:]
            page = region.peek("LOGQ", skip=skip, limit=limit, uncommitted=True)
            assert page == there[skip:][:limit]
            task.syncpoint_rollback()


@pytest.mark.parametrize("body", [b"[" * 200_000, b"{", b'{"data": 1}'])
def test_a_body_that_is_refused_is_let_go_at_once(host, body):
    client = TestClient(application(host, host.gate), base_url="http://localhost")
    head = {"Authorization": "Bearer all", "Content-Type": "application/json"}
    gc.collect()
    gc.disable()
    try:
        answer = client.post("/api/v1/regions/PAYREGN/queues/PAYQ/records", content=body, headers=head)
        kept = [each for each in gc.get_objects() if isinstance(each, (HTTPException, RequestValidationError))]
    finally:
        gc.enable()
    assert answer.status_code in (400, 422)
    assert not kept


def test_who_looks_far_into_a_data_set_lets_others_have_their_turns(tmp_path):
    path = tmp_path / "long"
    with open_writer(path, Dcb(RecordFormat.VB, 1004, 10_044)) as writer:
        writer.put_all([b"%04d" % number + bytes(996) for number in range(2000)])
    host, order = Host(), []
    queue = define_tdqueue(name="DATA", type="EXTRA", typefile="INPUT", ddname="DATA", recordformat="VARIABLE")
    region = host.add(Region, definitions=[queue], dd={"DATA": path})

    def looked():
        found = state.records(region, "DATA", skip=1998, limit=5)
        order.append("looked")
        return found

    def both():
        return host.engine.submit(looked), host.engine.submit(lambda: order.append("other"))

    try:
        first, second = host.engine.outside(both).result(120)
        assert [record[:4] for record in first.result(120)] == [b"1998", b"1999"]
        second.result(120)
        assert order == ["other", "looked"]
    finally:
        host.stop()


@pytest.mark.parametrize(("kind", "turns"), [(RecordFormat.VB, True), (RecordFormat.FB, False)])
def test_to_explain_a_data_set_that_is_read_far_lets_others_have_their_turns(tmp_path, kind, turns):
    path, turn = tmp_path / "long", []
    with open_writer(path, Dcb(kind, 1004 if turns else 1000, 10_044 if turns else 10_000)) as writer:
        writer.put_all([b"%04d" % number + bytes(996) for number in range(2000)])
    form = {"recordformat": "VARIABLE"} if turns else {"recordformat": "FIXED", "recordsize": 1000}
    queue = define_tdqueue(name="DATA", type="EXTRA", typefile="INPUT", ddname="DATA", **form)
    with Region(definitions=[queue], dd={"DATA": path}) as region:
        region.set_tdqueue("DATA", openstatus="OPEN")
        for _each in range(1999):
            region.readq_td("DATA")
        found = explain(region._core, "DATA", size=1, pause=lambda: turn.append("another's"))
        assert found.commands["READQ TD"].outcome == "NORMAL"
        assert bool(turn) == turns  # where records are of one length nothing is read before the next one
        assert region.readq_td("DATA")[:4] == b"1999"
        assert explain(region._core, "DATA", size=1).commands["READQ TD"].outcome == "QZERO"
