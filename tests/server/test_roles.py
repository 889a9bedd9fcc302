"""One table says which role each operation needs, whichever way it comes."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue
from tdqsim.facts import table
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.users import Role, User, Users

REGION = "/api/v1/regions/PAYREGN"
UOW = "D1D2D3D4D5D6D7D8"
RANK = ("look", "operate", "break")
USERS = {role: User(name, frozenset({role})) for role, name in zip(Role, ("LOOKER", "OPER", "BREAKER"), strict=True)}


@pytest.fixture
def host():
    host = Host()
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN")
    yield host
    host.stop()


@pytest.fixture
def client(host):
    gate = Gate(Users(list(USERS.values())))
    tokens = {role: gate.sessions.begin(user.id, cookie=False)[0] for role, user in USERS.items()}
    with TestClient(application(host, gate), base_url="http://127.0.0.1") as client:

        def ask(role, method, path, **more):
            head = {"Authorization": f"Bearer {tokens[Role(role)]}"}
            return client.request(method, path, headers=head, **more)

        yield ask


def unit_of(client):
    return client("operate", "POST", f"{REGION}/units-of-work").json()["id"]


def execute(text, **variables):
    return lambda _client: ("POST", f"{REGION}/exec", {"json": {"text": text, "variables": variables}})


def line(text):
    return lambda _client: ("POST", f"{REGION}/cemt", {"json": {"text": text}})


WAYS = [
    (execute("INQUIRE TDQUEUE('PAYQ') NUMITEMS(N)"), "look"),
    (line("I TD(PAYQ)"), "look"),
    (line("S TD(PAYQ) ?"), "look"),
    (execute("WRITEQ TD QUEUE('PAYQ') FROM(R)", R="x"), "operate"),
    (execute("SET TDQUEUE('PAYQ') DISABLED"), "operate"),
    (line("S TD(PAYQ) DI"), "operate"),
    (lambda _client: ("PATCH", f"{REGION}/queues/PAYQ", {"json": {"ENABLESTATUS": "DISABLED"}}), "operate"),
    (execute("SET TASK(T) PURGE", T=99), "operate"),
    (line("S TA(99) PU"), "operate"),
    (lambda _client: ("DELETE", f"{REGION}/tasks/99", {}), "operate"),
    (execute("SET TASK(T) FORCEPURGE", T=99), "break"),
    (execute("SET TASK(T) KILL", T=99), "break"),
    (execute("SET TASK(T) PURGETYPE(P)", T=99, P=237), "break"),
    (line("S TA(99) FO"), "break"),
    (line("S TA(99) KI"), "break"),
    (lambda _client: ("DELETE", f"{REGION}/tasks/99?purgetype=FORCEPURGE", {}), "break"),
    (execute("SET UOW(U) BACKOUT", U={"hex": UOW}), "break"),
    (execute("SET UOW(U) UOWSTATE(S)", U={"hex": UOW}, S=1), "break"),
    (line(f"S UOW({UOW}) BA"), "break"),
    (lambda _client: ("POST", f"{REGION}/units-of-work/{UOW}/end?uowstate=BACKOUT", {}), "break"),
    (execute("SET UOWLINK(L) DELETE", L={"hex": "D1D2D3D4"}), "break"),
    (line("S UOWL(D1D2D3D4) DEL"), "break"),
]
IN_A_UNIT = [
    ("exec", "INQUIRE TDQUEUE('PAYQ')", "operate"),
    ("exec", "SET TASK(99) FORCEPURGE", "break"),
    ("ceci", "SET TASK(99) FORCEPURGE", "break"),
    ("ceci", f"SET UOW(X'{UOW}') BACKOUT", "break"),
]


@pytest.mark.parametrize(("way", "needed"), WAYS)
@pytest.mark.parametrize("role", RANK)
def test_a_command_needs_the_same_role_whichever_way_it_comes(client, way, needed, role):
    answer = client(role, way(client)[0], way(client)[1], **way(client)[2])
    allowed = RANK.index(role) >= RANK.index(needed)
    assert (answer.status_code != 403) is allowed, answer.text
    if not allowed:
        assert answer.json()["detail"].endswith(" is needed")


@pytest.mark.parametrize(("way", "text", "needed"), IN_A_UNIT)
def test_a_command_in_an_open_unit_of_work_needs_its_role_too(client, way, text, needed):
    answer = client("operate", "POST", f"/api/v1/units-of-work/{unit_of(client)}/{way}", json={"text": text})
    assert (answer.status_code != 403) is (needed == "operate"), answer.text


def test_every_route_has_its_row_and_every_row_its_route(host):
    prefix, open_ = "/api/v1", {"/sign-on", "/sign-off", "/health", "/ready", "/metrics"}
    routes = {
        f"{method} {route.path.removeprefix(prefix)}"
        for route in application(host, Gate()).routes
        for method in getattr(route, "methods", ())
        if route.path not in open_ and getattr(route, "include_in_schema", True)
    }
    assert routes - {"POST /session", "GET /session"} == {row["route"] for row in table("operations") if row["route"]}
