"""What operators ask of the API: definitions, snapshots, faults, CEMT and CECI, layouts, IBM i systems."""

from __future__ import annotations

import threading
from time import perf_counter

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, SecurityOptions, define_dtaq, define_tdqueue, define_transaction
from tdqsim.cics import Access, AccessList, Condition
from tdqsim.definitions import Definitions
from tdqsim.errors import TdqError
from tdqsim.faults.plan import DiskFull, Fault, FaultPlan
from tdqsim.ibmi import System
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.users import Role, User, Users

REGION = "/api/v1/regions/PAYREGN"
QUEUE = f"{REGION}/queues/PAYQ"
DATA_QUEUE = "/api/v1/systems/PAYSYS/queues/PAYLIB/ORDERS"


def system(**options):
    made = System("PAYSYS", **options)
    made.install(Definitions.of([define_dtaq(dtaq="PAYLIB/ORDERS", maxlen=80)]), create_libraries=True)
    return made


@pytest.fixture
def host():
    host = Host()
    definitions = [
        define_tdqueue(name="PAYQ", type="INTRA"),
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    ]
    host.add(Region, definitions, applid="PAYREGN")
    host.add_system(system)
    yield host
    host.stop()


@pytest.fixture
def gate():
    return Gate(Users([User("EYES", frozenset({Role.look})), User("HANDS", frozenset({Role.operate}))]), token="all")


@pytest.fixture
def api(host, gate):
    headers = {"Authorization": "Bearer all"}
    with TestClient(application(host, gate), headers=headers, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def as_user(gate):
    return lambda user: {"Authorization": f"Bearer {gate.sessions.begin(user, cookie=False)[0]}"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"enable-status": "DISABLED"}, "enable-status"),
        ({"colour": "RED"}, "colour"),
        ({}, "TRIGGERLEVEL"),
        ({"triggerlevel": 1, "TRIGGERLEVEL": 2}, "triggerlevel"),
    ],
)
def test_what_is_no_option_of_set_is_refused_by_name(api, options, said):
    answer = api.patch(QUEUE, json=options)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


def test_a_refused_value_of_set_is_answered_as_the_command_answers_it(api):
    answer = api.patch(QUEUE, json={"TRIGGERLEVEL": 10**12})
    assert (answer.status_code, answer.json()["condition"], answer.json()["resp2"]) == (409, "INVREQ", 901)
    assert "column" not in answer.json()["detail"]


def test_several_records_are_one_unit_of_work(api):
    url = f"{REGION}/queues/LOGQ/records"
    assert api.post(url, json=[{"text": "a"}, {"text": "b"}]).json() == {"written": 2, "records": 2}
    assert api.post(url, json=[{"text": "c"}, {"hex": "00" * 32768}]).status_code == 409
    assert api.get(url).json()["records"] == ["a", "b"]
    found = api.post(f"{REGION}/queues/LOGQ/read", params={"count": 5}).json()
    assert found == {"records": ["a", "b"]}
    assert api.post(f"{REGION}/queues/LOGQ/read", params={"count": 5}).json()["condition"] == "QZERO"
    api.post(url, json=[{"text": "a"}, {"text": "b"}])
    fault = {"kind": "condition", "condition": "IOERR", "command": "READQ TD", "nth": 2}
    assert api.put(f"{REGION}/faults", json=[fault]).status_code == 200
    assert api.post(f"{REGION}/queues/LOGQ/read", params={"count": 5}).json()["condition"] == "IOERR"
    assert api.get(url).json()["records"] == ["a", "b"]  # of several reads all are backed out


def test_definitions_come_and_go(api):
    text = "group: NEW\ntdqueue:\n- {name: NEWQ, type: INTRA}\n"
    read = api.post(f"{REGION}/definitions", json={"text": text, "install": False}).json()
    assert (read["installed"], read["names"]) == (False, ["NEWQ"])
    assert api.get(f"{REGION}/queues/NEWQ").status_code == 404
    assert api.post(f"{REGION}/definitions", json={"text": text}).status_code == 201
    assert api.get(f"{REGION}/queues/NEWQ").json()["TYPE"]["cvda"] == "INTRA"
    api.patch(f"{REGION}/queues/NEWQ", json={"ENABLESTATUS": "DISABLED"})
    assert api.delete(f"{REGION}/queues/NEWQ").status_code == 204
    assert api.get(f"{REGION}/queues/NEWQ").status_code == 404
    wrong = api.post(f"{REGION}/definitions", json={"text": "tdqueue: [{name: TOOLONG}]"})
    assert wrong.status_code == 409
    csd = "DEFINE TDQUEUE(CSDQ) GROUP(PAY) TYPE(INTRA) ATIFACILITY(FILE)"
    found = api.post(f"{REGION}/definitions", json={"text": csd, "form": "csd"})
    assert found.status_code == 201, found.text
    assert api.get(f"{REGION}/queues/CSDQ").status_code == 200


def test_a_snapshot_is_restored(api):
    api.post(f"{QUEUE}/records", json=[{"text": "a"}, {"text": "b"}])
    api.patch(f"{REGION}/queues/LOGQ", json={"ENABLESTATUS": "DISABLED"})
    kept = api.get(f"{REGION}/snapshot").json()
    api.post(f"{QUEUE}/read")
    api.patch(f"{REGION}/queues/LOGQ", json={"ENABLESTATUS": "ENABLED"})
    api.post(f"{REGION}/queues/LOGQ/records", json={"text": "later"})
    assert kept["format"] == 1
    newer = api.put(f"{REGION}/snapshot", json=kept | {"format": 2}).json()
    assert newer["detail"] == "the snapshot has format 2; this tdqsim reads format 1"
    assert api.put(f"{REGION}/snapshot", json=kept).status_code == 200
    assert api.get(f"{QUEUE}/records").json()["records"] == ["a", "b"]
    assert api.get(f"{REGION}/queues/LOGQ/records").json()["records"] == []
    assert api.get(f"{REGION}/queues/LOGQ").json()["ENABLESTATUS"]["cvda"] == "DISABLED"
    bad = {"queues": {"PAYQ": {"records": []}, "NONE": {"records": []}}}
    assert api.put(f"{REGION}/snapshot", json=bad).status_code == 409
    assert api.get(f"{QUEUE}/records").json()["records"] == ["a", "b"]  # nothing was done


@pytest.mark.parametrize(("wrong", "condition"), [("", "LENGERR"), ("C1" * 5000, "LENGERR"), ("C1", "SYSIDERR")])
def test_a_snapshot_that_cannot_be_put_back_changes_nothing(api, wrong, condition):
    for queue in ("PAYQ", "LOGQ"):
        api.post(f"{REGION}/queues/{queue}/records", json=[{"text": "a"}, {"text": "b"}])
    api.patch(f"{REGION}/queues/LOGQ", json={"ENABLESTATUS": "DISABLED"})
    if condition == "SYSIDERR":
        fault = {"kind": "condition", "command": "DELETEQ TD", "queue": "LOGQ", "condition": condition}
        assert api.put(f"{REGION}/faults", json=[fault]).status_code == 200
    bad = {"LOGQ": {"records": [{"text": "new"}]}, "PAYQ": {"records": [{"text": "new"}, {"hex": wrong}]}}
    answer = api.put(f"{REGION}/snapshot", json={"queues": bad})
    assert (answer.status_code, answer.json()["condition"]) == (409, condition)
    for queue in ("PAYQ", "LOGQ"):
        assert api.get(f"{REGION}/queues/{queue}/records").json()["records"] == ["a", "b"]
    assert api.get(f"{REGION}/queues/LOGQ").json()["ENABLESTATUS"]["cvda"] == "DISABLED"


def test_a_snapshot_that_the_policy_forbids_for_one_queue_changes_nothing():
    default = {"PAYQ": Access.UPDATE, "LOGQ": Access.UPDATE, "HIDE": Access.READ}
    policy = AccessList(queues={"BREAKS": {"PAYQ": Access.UPDATE, "LOGQ": Access.READ}, "CICSUSER": default})
    host = Host()
    queues = [define_tdqueue(name=name, type="INTRA") for name in ("LOGQ", "PAYQ", "HIDE")]
    host.add(Region, queues, applid="PAYREGN", security=SecurityOptions(policy=policy, ressec="ALWAYS"))
    gate = Gate(Users([User("BREAKS", frozenset({Role.break_}))]), token="all")
    owner = {"Authorization": "Bearer all"}
    user = {"Authorization": f"Bearer {gate.sessions.begin('BREAKS', cookie=False)[0]}"}
    try:
        with TestClient(application(host, gate), headers=owner, base_url="http://127.0.0.1") as api:
            assert api.post(f"{REGION}/queues/PAYQ/seed", json=[{"text": "a"}]).status_code == 201
            given = {"queues": {"PAYQ": {"records": []}, "LOGQ": {"records": []}}}
            assert api.put(f"{REGION}/snapshot", json=given, headers=user).json()["condition"] == "NOTAUTH"
            assert api.get(f"{REGION}/snapshot", headers=user).json()["condition"] == "NOTAUTH"  # HIDE
            assert api.get(f"{REGION}/queues/PAYQ/records").json()["records"] == ["a"]
    finally:
        host.stop()


def test_a_snapshot_waits_for_no_unit_of_work_and_says_so(api):
    unit = api.post(f"{REGION}/units-of-work").json()["id"]
    write = {"text": "WRITEQ TD QUEUE('LOGQ') FROM(R)", "variables": {"R": "one"}}
    api.post(f"/api/v1/units-of-work/{unit}/exec", json=write)
    answer = api.put(f"{REGION}/snapshot", json={"queues": {"LOGQ": {}}})
    assert answer.status_code == 409
    assert "unit of work" in answer.json()["detail"]


def test_faults_happen_until_they_are_taken_away(api):
    fault = {"kind": "condition", "command": "WRITEQ TD", "condition": "NOSPACE"}
    assert api.put(f"{REGION}/faults", json=[fault | {"condition": "IOERR"}]).status_code == 200
    assert api.put(f"{REGION}/faults", json=[fault]).status_code == 200  # in place of the one before
    assert [each["condition"] for each in api.get(f"{REGION}/faults").json()["faults"]] == ["NOSPACE"]
    assert api.post(f"{QUEUE}/records", json={"text": "x"}).json()["condition"] == "NOSPACE"
    assert len(api.get(f"{REGION}/faults").json()["happened"]) == 1
    assert api.delete(f"{REGION}/faults").status_code == 204
    assert api.post(f"{QUEUE}/records", json={"text": "x"}).status_code == 201
    assert api.put(f"{REGION}/faults", json=[{"kind": "nonsense"}]).status_code == 409


def test_cemt_looks_for_all_and_sets_for_operators(api, as_user):
    eyes, hands = as_user("EYES"), as_user("HANDS")
    found = api.post(f"{REGION}/cemt", json={"text": "I TDQ(PAYQ)"}, headers=eyes).json()
    assert found["tdqueues"][0]["TDQUEUE"] == "PAYQ"
    assert "Tdq(PAYQ)" in found["text"]
    assert api.post(f"{REGION}/cemt", json={"text": "SET TDQ(PAYQ) DIS"}, headers=eyes).status_code == 403
    assert api.post(f"{REGION}/cemt", json={"text": "SET TDQ(PAYQ) DIS"}, headers=hands).json()["errors"] == 0
    assert api.post(f"{REGION}/cemt", json={"text": "DANCE"}, headers=eyes).status_code == 409


def test_ceci_keeps_its_variables_in_a_unit_of_work(api):
    unit = api.post(f"{REGION}/units-of-work").json()["id"]
    line = f"/api/v1/units-of-work/{unit}/ceci"
    assert api.post(line, json={"text": "WRITEQ TD QUEUE(LOGQ) FROM(hello)"}).json()["response"] == "NORMAL"
    assert "RESPONSE: NORMAL" in api.post(line, json={"text": "READQ TD QUEUE(LOGQ) INTO(&REC)"}).json()["text"]
    assert api.post(line, json={"text": "RETURN"}).status_code == 409
    api.delete(f"/api/v1/units-of-work/{unit}")
    assert api.get(f"{REGION}/queues/LOGQ").json()["NUMITEMS"] == 0


def test_data_queues_come_in_pages(api):
    text = "".join(f"- {{dtaq: PAGES/Q{number}, maxlen: 5}}\n" for number in (2, 0, 3, 1, 4))
    given = {"text": f"dtaq:\n{text}", "create_libraries": True}
    assert api.post("/api/v1/systems/PAYSYS/definitions", json=given).status_code == 201
    seen, after = [], ""
    while after is not None:
        params = {"limit": 2, "after": after, "library": "PAGES"}
        page = api.get("/api/v1/systems/PAYSYS/queues", params=params).json()
        seen.append([each["data_queue_name"] for each in page["queues"]])
        after = page["next"]
    assert seen == [["Q0", "Q1"], ["Q2", "Q3"], ["Q4"]]


def test_records_are_decoded_by_a_layout(api):
    api.post(f"{QUEUE}/records", json=[{"hex": "C1C2" + "0012345C"}, {"hex": "C1C2" + "FFFFFFFF"}])
    copybook = "       01 PAY.\n          05 NAME PIC X(2).\n          05 AMOUNT PIC S9(5)V99 COMP-3.\n"
    found = api.post(f"{QUEUE}/records/decoded", json={"copybook": copybook}).json()["records"]
    assert found[0]["values"] == {"NAME": "AB", "AMOUNT": "123.45"}
    assert "AMOUNT" in found[1]["problem"]
    assert api.post(f"{QUEUE}/records/decoded", json={"copybook": "nonsense"}).status_code == 409


def test_records_are_decoded_in_the_code_page_of_their_region(host, api):
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="OPENREGN", code_page="1047")
    queue = "/api/v1/regions/OPENREGN/queues/PAYQ"
    api.post(f"{queue}/records", json=[{"hex": "AD"}])  # a bracket in 1047, and a letter in 037
    own = "code_page: '037'\n"
    layout = "fields:\n- {name: A, picture: X}\n"
    for body in ({"copybook": "01 R. 05 A PIC X."}, {"yaml": layout}):
        found = api.post(f"{queue}/records/decoded", json=body).json()["records"]
        assert found == [{"values": {"A": "["}}]
    found = api.post(f"{queue}/records/decoded", json={"yaml": own + layout}).json()["records"]
    assert found == [{"values": {"A": b"\xad".decode("cp037")}}]


def test_explain_gives_sentences_and_parts(api):
    found = api.get(f"{QUEUE}/explain").json()
    assert found["queue"] == "PAYQ"
    assert found["commands"]["READQ TD"]["outcome"] == "QZERO"


def test_the_page_of_the_api_fetches_nothing(api):
    page = api.get("/api/v1/").text
    assert "/api/v1/regions/{name}/exec" in page
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "<script" not in page


def test_a_forced_end_is_for_breakers_and_of_a_unit_of_work(api, as_user):
    url = f"{REGION}/units-of-work/{'00' * 8}/end"
    assert api.post(url, params={"uowstate": "COMMIT"}, headers=as_user("HANDS")).status_code == 403
    assert api.post(url, params={"uowstate": "COMMIT"}).json()["condition"] == "UOWNOTFOUND"
    assert api.post(f"{REGION}/units-of-work/xyz/end", params={"uowstate": "COMMIT"}).status_code == 422


def test_entries_of_a_data_queue(api):
    assert api.post(f"{DATA_QUEUE}/entries", json={"data": {"text": "one"}}).json() == {"sent": 3}
    api.post(f"{DATA_QUEUE}/entries", json={"data": {"hex": "C1C2"}})
    seen = api.get(f"{DATA_QUEUE}/entries", params={"position": 1}).json()["entries"]
    assert [each["data"] for each in seen] == ["AB"]
    assert api.post(f"{DATA_QUEUE}/receive", json={}).json()["entry"]["data"] == "one"
    assert api.delete(f"{DATA_QUEUE}/entries").json()["cleared"] == 1
    assert api.post(f"{DATA_QUEUE}/receive", json={}).json() == {"entry": None}
    assert api.get(DATA_QUEUE).json()["message_length"] == 80
    assert api.patch(DATA_QUEUE, json={"automatic_reclaim": True}).status_code == 200
    assert [each["data_queue_name"] for each in api.get("/api/v1/systems/PAYSYS/queues").json()["queues"]] == ["ORDERS"]


def test_a_key_to_send_or_receive_is_a_record_or_its_bytes_in_hexadecimal(api):
    created = api.post(
        "/api/v1/systems/PAYSYS/commands", json={"text": "CRTDTAQ DTAQ(PAYLIB/KEYED) MAXLEN(9) SEQ(*KEYED) KEYLEN(3)"}
    )
    assert created.status_code == 200
    keyed = "/api/v1/systems/PAYSYS/queues/PAYLIB/KEYED"
    for key in ("C1C2C3", "c1c2c3", {"hex": "C1C2C3"}, {"text": "ABC"}):
        assert api.post(f"{keyed}/entries", json={"data": {"text": "one"}, "key": key}).status_code == 201
    seen = api.get(f"{keyed}/entries", params={"key": "C1C2C3"}).json()["entries"]
    assert [each["key"] for each in seen] == ["C1C2C3"] * 4
    for key in ("C1C2C3", {"text": "ABC"}):
        assert api.post(f"{keyed}/receive", json={"key": key}).json()["entry"]["key"] == "C1C2C3"
    for wrong in ("ABX", "C1C", 5, ["C1C2C3"]):
        refused = api.post(f"{keyed}/entries", json={"data": {"text": "one"}, "key": wrong})
        assert refused.status_code == 422
    assert len(api.get(f"{keyed}/entries").json()["entries"]) == 2


def test_ibm_i_messages_are_problems(api, as_user):
    answer = api.get("/api/v1/systems/PAYSYS/queues/PAYLIB/NONE")
    assert (answer.status_code, answer.json()["message_id"]) == (404, "CPF9801")
    assert api.get("/api/v1/systems/NONE").status_code == 404
    long = api.post(f"{DATA_QUEUE}/entries", json={"data": {"text": "x" * 81}})
    assert (long.status_code, long.json()["message_id"]) == (409, "CPF2498")
    done = api.post("/api/v1/systems/PAYSYS/commands", json={"text": "CRTDTAQ DTAQ(PAYLIB/MORE) MAXLEN(10)"})
    assert done.status_code == 200
    wrong = api.post("/api/v1/systems/PAYSYS/commands", json={"text": "DANCE"})
    assert (wrong.status_code, wrong.json()["message_id"]) == (409, "CPF0001")
    assert api.get(DATA_QUEUE, headers=as_user("EYES")).status_code == 409  # no such profile


def test_a_receive_waits_for_a_send(api):
    found = {}

    def receive():
        found.update(api.post(f"{DATA_QUEUE}/receive", json={"wait": 60}).json())

    waiter = threading.Thread(target=receive)
    waiter.start()
    api.post(f"{DATA_QUEUE}/entries", json={"data": {"text": "late"}})
    waiter.join(300)
    assert found["entry"]["data"] == "late"


@pytest.mark.slow
def test_a_page_costs_the_same_wherever_it_is(api, host):
    region = host.regions["PAYREGN"]
    host.engine.outside(lambda: region.seed("PAYQ", [b"%07d" % number for number in range(1_000_000)])).result()
    times, position, seen = [], 0, 0
    while True:
        began = perf_counter()
        page = api.get(f"{QUEUE}/records", params={"position": position, "limit": 1000, "encoding": "hex"}).json()
        times.append(perf_counter() - began)
        if not page["records"]:
            break
        assert bytes.fromhex(page["records"][0]) == b"%07d" % position
        seen += len(page["records"])
        position += 1000
    assert seen == 1_000_000
    quarter = len(times) // 4
    first, last = sorted(times[:quarter]), sorted(times[-quarter:])
    assert last[quarter // 2] < 3 * first[quarter // 2]


def test_the_api_shows_and_ends_faults_that_the_console_switched_on(api, host):
    region = host.regions["PAYREGN"]
    fault = Fault("NOSPACE", command="WRITEQ TD", times=0)
    host.engine.submit(lambda: host.switch_on(region, FaultPlan(fault)) and None).result(timeout=300)
    assert [each["condition"] for each in api.get(f"{REGION}/faults").json()["faults"]] == ["NOSPACE"]
    assert api.delete(f"{REGION}/faults").status_code == 204
    assert api.get(f"{REGION}/faults").json() == {"faults": [], "happened": []}
    assert host.faults["PAYREGN"] == {}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "disk_full"}, "kind 'disk_full'"),
        ({"condition": "NOSPACE"}, "kind None"),
        ({"kind": "condition", "condition": "NOSPACE", "cmd": "WRITEQ TD"}, "condition has no 'cmd'"),
    ],
)
def test_a_fault_that_is_none_is_told_what_is_allowed(api, fault, said):
    answer = api.put(f"{REGION}/faults", json=[fault])
    assert answer.status_code == 409
    assert f"fault 1: {said}" in answer.json()["detail"]
    assert "allowed are" in answer.json()["detail"]


@pytest.mark.parametrize("first", ["1", "2"])
def test_faults_of_one_store_are_switched_off_in_any_order(host, first):
    """What is still on goes on happening; when all are off nothing does."""
    region = host.add(Region, [define_tdqueue(name="DISQ", type="INTRA")], applid="DISREGN")

    def do(call):
        return host.engine.submit(call).result(timeout=300)

    def write():
        with region.task() as task:
            task.writeq_td("DISQ", b"x" * 4000)

    for _ in range(2):
        do(lambda: host.switch_on(region, FaultPlan(DiskFull("volatile"))) and None)
    do(lambda: host.switch_off(region, first))
    left = host.faults["DISREGN"]["2" if first == "1" else "1"]

    def fill():
        for _ in range(20_000):
            do(write)

    with pytest.raises(Condition, match="NOSPACE"):
        fill()
    assert left.happened
    do(lambda: host.switch_off(region))
    assert not host.faults["DISREGN"]
    do(write)


@pytest.mark.parametrize("form", ["definitions", "layout", "dtaq"])
def test_a_text_is_read_beside_other_requests(api, monkeypatch, form):
    """However long it is: the thread that answers requests reads no definitions and no layouts itself."""
    there = []

    def seen(*_args, **_options):
        there.append(threading.current_thread())
        raise TdqError("read")

    monkeypatch.setattr("tdqsim.server.definition_text.parse_definitions", seen)
    monkeypatch.setattr("tdqsim.server.http.ibmi.parse_definitions", seen)
    monkeypatch.setattr("tdqsim.server.http.values.parse_copybook", seen)
    path, body = {
        "definitions": (f"{REGION}/definitions", {"text": "group: X"}),
        "layout": (f"{QUEUE}/records/decoded", {"copybook": "01 A PIC X."}),
        "dtaq": ("/api/v1/systems/PAYSYS/definitions", {"text": "group: X"}),
    }[form]
    loop = api.portal.call(threading.current_thread)
    assert api.post(path, json=body).json()["detail"] == "read"
    assert there
    assert loop not in there


# -- code of definitions ----------------------------------------------------------------------------------------------

EVIL = "group: E\ntransaction:\n- {name: EVIL, handler: 'no_such_module:f'}\n"
NOT_FROM_HERE = (
    "text:3: TRANSACTION(EVIL) handler = 'no_such_module:f': names Python code, which a client may not do: leave it out, "
    "and name it in a definition file of the served directory; or the owner of the server allows it by "
    "network_handlers: yes in serve.yaml"
)


@pytest.mark.parametrize("install", [True, False])
@pytest.mark.parametrize("user", ["HANDS", None])
def test_a_definition_of_a_client_names_no_code(api, as_user, user, install):
    headers = as_user(user) if user else {}
    answer = api.post(f"{REGION}/definitions", json={"text": EVIL, "install": install}, headers=headers)
    assert answer.status_code == 409
    assert answer.json()["detail"] == NOT_FROM_HERE
    assert "EVIL" not in api.get(f"{REGION}/definitions").json()["yaml"]


def test_the_owner_may_allow_definitions_that_name_code(host, api):
    host.network_handlers = True
    answer = api.post(f"{REGION}/definitions", json={"text": EVIL})
    assert answer.status_code == 201
    assert "no_such_module:f" in api.get(f"{REGION}/definitions").json()["yaml"]


def test_an_installed_definition_can_be_given_back_with_its_code(host, api):
    region = host.regions["PAYREGN"]
    install = [define_transaction(name="EVIL", group="E", handler="no_such_module:f", priority=1)]
    host.engine.outside(lambda: region.install(install)).result()
    given = EVIL.replace("handler", "priority: 7, handler")
    assert api.post(f"{REGION}/definitions", json={"text": given}).status_code == 201
    assert "priority: 7" in api.get(f"{REGION}/definitions").json()["yaml"]
    other = api.post(f"{REGION}/definitions", json={"text": given.replace("no_such_module", "faulthandler")})
    assert other.status_code == 409


def test_csd_text_of_a_client_names_no_code(api):
    text = "DEFINE TRANSACTION(EVIL) GROUP(E) PROGRAM(EVILP) HANDLER(evil:run)\n"
    answer = api.post(f"{REGION}/definitions", json={"text": text, "form": "csd"})
    assert answer.status_code == 409
    assert "TRANSACTION(EVIL) handler = 'evil:run': names Python code" in answer.json()["detail"]
