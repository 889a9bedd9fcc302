"""Who is let in, and what pages of other sites, thieves and clumsy programs meet."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi import WebSocket
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from structlog.testing import capture_logs

from tdqsim import Region, define_tdqueue
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application, signed_on
from tdqsim.server.users import Role, User, Users, hashed

HERE = {"Origin": "http://127.0.0.1"}
RECORDS = "/api/v1/regions/PAYREGN/queues/PAYQ/records"
ALICE = User("ALICE", frozenset({Role.operate}), password=hashed("apple pie"))


@pytest.fixture
def host():
    host = Host()
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN")
    yield host
    host.stop()


@pytest.fixture
def access():
    return Gate(Users([ALICE]), token="token-of-the-run")


@pytest.fixture
def app(host, access):
    app = application(host, access)

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        user = signed_on(websocket)
        await websocket.accept()
        await websocket.send_text(user.id)
        await websocket.close()

    return app


@pytest.fixture
def browser(app):
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        yield client


def sign_on(browser, password="apple pie", **more):
    return browser.post("/sign-on", data={"user": "alice", "password": password, **more}, headers=HERE)


def test_every_route_needs_a_sign_on_but_the_few_that_are_open(app, browser):
    open_paths = {"/health", "/ready", "/metrics", "/sign-on", "/api/v1/session"}
    for route in app.routes:
        if getattr(route, "methods", None) and route.path not in open_paths:
            path = re.sub(r"\{.*?\}", "X", route.path)
            for method in route.methods:
                assert browser.request(method, path, headers=HERE).status_code == 401, path
    assert browser.get("/no/such/page").status_code == 401
    assert browser.get("/api/v1/session").status_code == 401


def test_metrics_are_closed_where_they_are_told_to_be(host):
    with TestClient(application(host, Gate(open_metrics=False)), base_url="http://127.0.0.1") as client:
        assert client.get("/metrics").status_code == 401


def test_a_page_sends_to_the_sign_on_and_back(browser):
    found = browser.get("/queues/PAYQ", headers={"Accept": "text/html"})
    assert (found.status_code, found.headers["location"]) == (303, "/sign-on?next=/queues/PAYQ")
    assert 'value="/queues/PAYQ"' in browser.get(found.headers["location"]).text
    assert 'url=/queues/PAYQ"' in sign_on(browser, next="/queues/PAYQ").text


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\n/e"]
)
def test_the_sign_on_leads_to_this_site_alone(browser, to):
    assert 'url=/"' in sign_on(browser, next=to).text


def test_the_page_cannot_be_made_to_carry_script(browser):
    found = browser.get("/sign-on", params={"next": '/"><script>alert(1)</script>', "link": "<b>"})
    assert "<script" not in found.text
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert found.headers["x-frame-options"] == "DENY"


def test_the_cookie_is_kept_from_scripts_and_other_sites(browser, access):
    cookie = sign_on(browser).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert browser.get("/api/v1/session").json()["user"] == "ALICE"


def test_over_tls_the_cookie_never_goes_without(host):
    access = Gate(Users([ALICE]), secure=True)
    with TestClient(application(host, access), base_url="https://127.0.0.1") as client:
        answer = client.post(
            "/sign-on", data={"user": "ALICE", "password": "apple pie"}, headers={"Origin": "https://127.0.0.1"}
        )
    assert answer.headers["set-cookie"].startswith("__Host-tdq-")
    assert "Secure" in answer.headers["set-cookie"]


def test_a_changing_request_of_a_browser_needs_its_csrf_token_and_its_origin(browser):
    sign_on(browser)
    csrf = browser.get("/api/v1/session").json()["csrf"]
    write = {"json": {"text": "x"}}
    assert browser.post(RECORDS, **write).status_code == 403
    assert browser.post(RECORDS, headers=HERE, **write).status_code == 403
    assert browser.post(RECORDS, headers={"X-CSRF-Token": csrf}, **write).status_code == 403
    assert browser.post(RECORDS, headers={**HERE, "X-CSRF-Token": csrf[:-1]}, **write).status_code == 403
    assert browser.post(RECORDS, headers={"X-CSRF-Token": csrf, "Origin": "null"}, **write).status_code == 403
    assert (
        browser.post(RECORDS, headers={"X-CSRF-Token": csrf, "Origin": "http://127.0.0.1:81"}, **write).status_code
        == 403
    )
    assert browser.post(RECORDS, headers={**HERE, "X-CSRF-Token": csrf}, **write).status_code == 201


def test_another_site_cannot_sign_a_browser_on_or_off(browser):
    given = {"user": "ALICE", "password": "apple pie"}
    assert browser.post("/sign-on", data=given).status_code == 403
    assert browser.post("/sign-on", data=given, headers={"Origin": "http://evil.example"}).status_code == 403
    sign_on(browser)
    assert browser.post("/sign-off", headers={"Origin": "http://evil.example"}).status_code == 403
    assert browser.get("/api/v1/session").json()["user"] == "ALICE"
    browser.post("/sign-off", headers=HERE)
    assert browser.get("/api/v1/session").status_code == 401


def test_a_cookie_is_no_token_and_a_token_no_cookie(browser, access):
    cookie, _session = access.sessions.begin("ALICE", cookie=True)
    token, _session = access.sessions.begin("ALICE", cookie=False)
    assert browser.get("/api/v1/session", headers={"Authorization": f"Bearer {cookie}"}).status_code == 401
    assert browser.get("/api/v1/session", headers={"Cookie": f"{access.cookie}={token}"}).status_code == 401
    assert browser.get("/api/v1/session", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert browser.get("/api/v1/session", headers={"Authorization": f"Basic {token}"}).status_code == 401


def test_a_web_socket_needs_a_session_and_its_origin(browser, access):
    secret, _session = access.sessions.begin("ALICE", cookie=True)
    cookie = {"Cookie": f"{access.cookie}={secret}"}

    def heard(headers):
        with browser.websocket_connect("/socket", headers={"Host": "127.0.0.1", **headers}) as socket:
            return socket.receive_text()

    assert heard({**HERE, **cookie}) == "ALICE"
    for wrong in (HERE, cookie, {"Origin": "http://evil.example", **cookie}, {"Origin": "null", **cookie}):
        with pytest.raises(WebSocketDisconnect):
            heard(wrong)


def test_a_program_signs_on_for_a_token_and_off_again(browser):
    who = {"user": "alice", "password": "apple pie"}
    found = browser.post("/api/v1/session", json=who).json()
    assert (found["user"], found["roles"]) == ("ALICE", ["look", "operate"])
    headers = {"Authorization": f"Bearer {found['token']}"}
    assert browser.post(RECORDS, json={"text": "x"}, headers=headers).status_code == 201
    assert browser.post("/api/v1/clock", headers=headers).status_code == 403
    assert browser.delete("/api/v1/session", headers=headers).status_code == 204
    assert browser.get("/api/v1/session", headers=headers).status_code == 401


def test_wrong_passwords_are_refused_alike_and_then_no_more_looked_at(browser):
    answers = [browser.post("/api/v1/session", json={"user": u, "password": "no"}) for u in ("ALICE", "NOBODY")]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].json() == answers[1].json()
    for _each in range(4):
        browser.post("/api/v1/session", json={"user": "ALICE", "password": "no"})
    answer = browser.post("/api/v1/session", json={"user": "ALICE", "password": "apple pie"})
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    assert sign_on(browser).status_code == 429


def test_a_link_signs_on_once(browser, access):
    link = access.new_link()
    assert browser.get("/sign-on?link=wrong").status_code == 403
    assert browser.get(link).status_code == 200
    assert browser.get("/api/v1/session").json()["roles"] == ["look", "operate", "break"]
    browser.cookies.clear()
    assert browser.get(link).status_code == 403
    assert browser.get("/api/v1/session").status_code == 401


def token_of(browser):
    answer = browser.post("/api/v1/session", json={"user": "ALICE", "password": "apple pie"})
    return {"Authorization": f"Bearer {answer.json()['token']}"}


TAKEN_AWAY = {
    "removed": lambda access: access.users.remove("ALICE"),
    "disabled": lambda access: access.users.put(replace(ALICE, disabled=True)),
    "signed off": lambda access: access.sessions.end_all("ALICE"),
}


@pytest.mark.parametrize("how", TAKEN_AWAY)
def test_a_user_who_is_taken_away_is_out_at_once(browser, access, how):
    token = token_of(browser)
    sign_on(browser)
    assert browser.get("/api/v1/session").status_code == 200
    TAKEN_AWAY[how](access)
    assert browser.get("/api/v1/session").status_code == 401
    browser.cookies.clear()
    assert browser.get("/api/v1/regions", headers=token).status_code == 401


def test_a_role_that_is_taken_away_is_missed_by_the_next_request(browser, access):
    token = token_of(browser)
    assert browser.post(RECORDS, json={"text": "x"}, headers=token).status_code == 201
    access.users.put(replace(ALICE, roles=frozenset({Role.look})))
    assert browser.post(RECORDS, json={"text": "x"}, headers=token).status_code == 403
    assert browser.get(RECORDS, headers=token).json()["records"] == ["x"]


@pytest.mark.parametrize("how", [None, *TAKEN_AWAY])
def test_a_stream_ends_when_its_user_is_taken_away(app, browser, access, host, how):
    """A stream is one request: what the user may not ask for any more must not go on arriving."""
    token = token_of(browser)["Authorization"].encode()
    parts, ended = [], asyncio.Event()

    def write():
        host.regions["PAYREGN"].writeq_td("PAYQ", b"SECRET")

    async def follow():
        async def receive():
            if parts:
                await ended.wait()
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            parts.append(message.get("body", b"").decode())
            if parts[-1] == ": listening\n\n":
                if how is not None:
                    TAKEN_AWAY[how](access)
                await host.ask(write)
            elif "event:" in parts[-1]:
                ended.set()

        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/events", "raw_path": b"/api/v1/events",
            "query_string": b"", "headers": [(b"host", b"127.0.0.1:80"), (b"authorization", token)],
            "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http",
            "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 50000), "root_path": "",
        }  # fmt: skip
        await app(scope, receive, send)

    asyncio.run(follow())
    assert any("PAYQ" in each for each in parts) is (how is None)


def test_a_unit_of_work_belongs_to_the_user_who_has_begun_it(browser, access, host):
    access.users.put(User("BERT", frozenset({Role.operate}), password=hashed("plum cake")))
    hers = token_of(browser)
    answer = browser.post("/api/v1/session", json={"user": "BERT", "password": "plum cake"})
    his = {"Authorization": f"Bearer {answer.json()['token']}"}
    unit = browser.post("/api/v1/regions/PAYREGN/units-of-work", headers=hers).json()["id"]
    path, write = f"/api/v1/units-of-work/{unit}", {"text": "EXEC CICS WRITEQ TD QUEUE('PAYQ') FROM('X') END-EXEC"}
    for method, place, body in (
        ("POST", f"{path}/exec", write), ("POST", f"{path}/ceci", {"text": "WRITEQ TD QUEUE(PAYQ) FROM(X)"}),
        ("POST", f"{path}/commit", None), ("DELETE", path, None),
    ):  # fmt: skip
        assert browser.request(method, place, json=body, headers=his).status_code == 404, place
    assert browser.post(f"{path}/exec", json=write, headers=hers).status_code == 200
    assert browser.post(f"{path}/commit", headers=hers).json() == {"committed": True}
    assert browser.get(RECORDS, headers=hers).json()["records"] == ["X"]


def test_sessions_are_bounded_in_number():
    sessions = Gate().sessions
    secrets = [sessions.begin("A", cookie=False)[0] for _ in range(50)]
    assert sessions.find(secrets[0], cookie=False) is not None
    for gone in range(3):  # of one user the oldest ends, each time
        secrets.append(sessions.begin("A", cookie=False)[0])
        assert sessions.find(secrets[gone], cookie=False) is None
        assert sessions.find(secrets[gone + 1], cookie=False) is not None
    assert len(sessions) == 50
    for number in range(1950):
        sessions.begin(f"U{number}", cookie=False)
    assert (len(sessions), sessions.find(secrets[3], cookie=False) is not None) == (2000, True)
    sessions.begin("Z", cookie=False)  # of all users too
    assert (len(sessions), sessions.find(secrets[3], cookie=False)) == (2000, None)
    sessions.end_all("A")
    assert len(sessions) == 1951


def test_changes_are_told_with_user_and_origin_and_without_secrets(browser):
    with capture_logs() as lines:
        sign_on(browser)
        csrf = browser.get("/api/v1/session").json()["csrf"]
        browser.post(RECORDS, json={"text": "TOPSECRET"}, headers={**HERE, "X-CSRF-Token": csrf})
    changes = [line for line in lines if line["event"] == "change"]
    assert [(line["userid"], line["path"], line["status"]) for line in changes] == [
        ("ALICE", "/sign-on", 200), ("ALICE", RECORDS, 201),
    ]  # fmt: skip
    assert all(line["origin"] == "testclient" for line in changes)
    for secret in ("TOPSECRET", "apple pie", csrf):
        assert secret not in str(lines)


def test_the_line_of_a_sign_on_names_who_has_signed_on(browser):
    with capture_logs() as lines:
        sign_on(browser, password="wrong")
        browser.post("/api/v1/session", json={"user": "alice", "password": "apple pie"})
        sign_on(browser)
        browser.post("/sign-on", data={"password": "token-of-the-run"}, headers=HERE)
    assert [line["userid"] for line in lines if line["event"] == "change"] == [None, "ALICE", "ALICE", "(owner)"]


def test_the_user_of_a_request_is_the_user_of_its_task(browser, host):
    users = []
    region = host.regions["PAYREGN"]

    class Watch:
        def __getattr__(self, _name):
            return lambda task, *_more, **_options: users.append(getattr(task, "userid", None))

    sign_on(browser)
    csrf = browser.get("/api/v1/session").json()["csrf"]
    host.engine.outside(lambda: setattr(region._core, "recorder", Watch())).result()
    browser.post(RECORDS, json={"text": "x"}, headers={**HERE, "X-CSRF-Token": csrf})
    assert "ALICE" in users


@pytest.mark.parametrize(
    "headers",
    [{"Cookie": "x" * 5000}, {"Cookie": "=;=;;="}, {"Authorization": "Bearer"}, {"Authorization": "Bearer \xff\xfe"},
     {"Cookie": 'tdq="\\777'}, {"Origin": "http://[::1"}, {"Host": ""}],
)  # fmt: skip
def test_headers_that_are_none_are_refused_without_ado(browser, headers):
    given = {name: value.encode("latin-1") for name, value in headers.items()}
    assert browser.get("/api/v1/regions", headers=given).status_code in (401, 403, 421)


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/../../etc/passwd", "//etc/passwd"]
)
def test_no_path_leads_to_files(browser, path):
    token = {"Authorization": "Bearer token-of-the-run"}
    answer = browser.get(path, headers=token)
    assert answer.status_code == 404
    assert "root:" not in answer.text


HANDLERS = """\
from tdqsim.cics import Access, AccessList


def register(region):
    region.security = AccessList(queues={"PAYTEAM": {"PAY*": Access.UPDATE}}, groups=region.options.groups)
"""


@pytest.mark.rule("SEC-GROUP")
def test_a_regions_policy_asks_for_the_groups_of_the_users_file(tmp_path):
    (tmp_path / "region.yaml").write_text(
        "applid: PAYREGN\ndefinitions: [pay.yaml]\nhandlers: [pay_policy]\nressec: ALWAYS\n"
    )
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    (tmp_path / "pay_policy.py").write_text(HANDLERS)
    operates = frozenset({Role.operate})
    people = [
        User("ALICE", operates, groups=("STAFF", "PAYTEAM"), password=hashed("apple pie")),
        User("BOB", operates, groups=("STAFF",), password=hashed("apple pie")),
    ]
    Users(people).write(tmp_path / "users.yaml")
    now = [0.0]
    users = Users.load(tmp_path / "users.yaml", follow=True, now=lambda: now[0])
    host = Host(users=users)
    try:
        host.add_directory(tmp_path)
        with TestClient(application(host, Gate(users)), base_url="http://127.0.0.1") as client:

            def session(user):
                body = {"user": user, "password": "apple pie"}
                return {"Authorization": "Bearer " + client.post("/api/v1/session", json=body).json()["token"]}

            alice, bob = session("ALICE"), session("BOB")
            assert client.post(RECORDS, json={"text": "x"}, headers=alice).status_code == 201
            refused = client.post(RECORDS, json={"text": "x"}, headers=bob).json()
            assert (refused["condition"], refused["resp2"]) == ("NOTAUTH", 101)

            Users([people[1], User("ALICE", operates, password=people[0].password)]).write(tmp_path / "users.yaml")
            now[0] += 60
            refused = client.post(RECORDS, json={"text": "x"}, headers=alice).json()
            assert (refused["condition"], refused["resp2"]) == ("NOTAUTH", 101)
    finally:
        host.stop()


def test_no_request_begins_a_line_of_the_log_of_its_own(browser):
    with capture_logs() as lines:
        browser.post(
            "/api/v1/regions/A%0A2026-11-22 [info] change user=OWNER%1B[2J%00",
            headers={"Authorization": "Bearer token-of-the-run"},
        )
    told = [line["path"] for line in lines if line["event"] == "change"]
    assert told == ["/api/v1/regions/A\\n2026-11-22 [info] change user=OWNER\\x1b[2J\\x00"]


def test_the_sign_on_page_says_where_the_token_is_and_takes_it_as_a_header(api_of_a_run):
    api = api_of_a_run
    page = api.get("/sign-on").text
    assert "The token is in the terminal where <code>tdq serve</code> runs." in page
    wrong = api.post("/sign-on", data={"password": "nothing"})
    assert wrong.status_code == 401
    assert "Not signed on: the token is wrong; it is in the terminal where tdq serve runs." in wrong.text
    assert "Signed on" in api.post("/sign-on", data={"password": " Bearer all "}).text
    lost = api.get("/sign-on?lost=1&next=/console/").text
    assert "The server no longer knows this session: it was started again, or the session has ended." in lost


@pytest.fixture
def api_of_a_run():
    host = Host()
    with TestClient(application(host, Gate(token="all")), base_url="http://127.0.0.1") as client:
        client.headers["Origin"] = "http://127.0.0.1"
        yield client
    host.stop()


def test_a_sign_on_over_a_session_of_the_browser_ends_that_session(api_of_a_run):
    api = api_of_a_run
    api.post("/sign-on", data={"password": "all"})
    [before] = [f"{name}={value}" for name, value in api.cookies.items()]
    assert api.get("/api/v1/session").status_code == 200
    api.post("/sign-on", data={"password": "all"})
    assert api.get("/api/v1/session").status_code == 200
    api.cookies.clear()
    assert api.get("/api/v1/session", headers={"Cookie": before}).status_code == 401
