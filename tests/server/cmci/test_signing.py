"""Sign-on to the management interface: basic authentication with a challenge, and the LtpaToken2 cookie."""

from __future__ import annotations

import pytest

from tdqsim.server.users import Role, User, Users
from tests.server.cmci.conftest import ROOT, TOKEN, read, secret, served

PATH = f"{ROOT}/CICSRegion/SIMREG1"
ANNA = ("ANNA", "Secret1pw")


@pytest.fixture
def users():
    return Users([User("ANNA", frozenset({Role.look}), password=secret())])


@pytest.fixture
def client(host, users):
    with served(host, users) as client:
        yield client


def test_a_request_without_credentials_gets_a_challenge(client):
    for method in ("GET", "PUT", "POST", "DELETE"):
        answer = client.request(method, PATH)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Basic realm="CICS"')
        assert read(answer).message == "DFHWU4030"
        assert "set-cookie" not in answer.headers


def test_the_cookie_stands_for_the_password(client, users):
    first = client.get(PATH, auth=ANNA)
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("LtpaToken2=")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/CICSSystemManagement"))
    assert client.get(PATH).status_code == 200  # the client has kept the cookie
    assert client.get("/api/v1/regions").status_code == 401  # it is no session of the API
    users.remove("ANNA")
    assert client.get(PATH).status_code == 401


@pytest.mark.parametrize(
    "header",
    ["Basic", "Basic ", "Basic !!!", "Basic QU5OQQ==", "Basic OlNlY3JldDFwdw==", "Bearer nobody", "Negotiate x",
     "Basic " + "QQ" * 600, "Basic QU5OQTp3cm9uZw==", "Basic /////w=="],
)  # fmt: skip
def test_credentials_that_are_not_right(client, header):
    answer = client.get(PATH, headers={"Authorization": header})
    assert (answer.status_code, read(answer).message) == (401, "DFHWU4030")


def test_a_cookie_that_nobody_gave(client):
    for value in ("LtpaToken2=x", "LtpaToken2=", "LtpaToken2", "=;;=", "LtpaToken2=\xe9"):
        assert client.get(PATH, headers={"Cookie": value.encode("latin-1")}).status_code == 401


def test_too_many_wrong_passwords(client, users):
    for _ in range(5):
        users.admit("ANNA", "testclient")  # as five wrong passwords
    answer = client.get(PATH, auth=ANNA)
    assert (answer.status_code, read(answer).message, answer.headers["retry-after"]) == (429, "DFHWU4032", "60")


def test_without_users_the_token_of_the_run_is_the_password(host):
    with served(host) as client:
        assert client.get(PATH, auth=("ANY", TOKEN)).status_code == 200
        client.cookies.clear()
        assert client.get(PATH, auth=("ANY", "wrong")).status_code == 401
        assert client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_another_site_changes_nothing(client):
    client.get(PATH, auth=ANNA)
    answer = client.request("DELETE", PATH, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, read(answer).message) == (403, "DFHWU4031")


def test_the_interface_can_be_left_out(host):
    with served(host, cmci=None) as client:
        assert client.get(PATH, auth=("ANY", TOKEN)).status_code == 401
        assert client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404
