from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.definitions import define_file
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application
from tdqsim.server.users import hashed

ROOT = "/CICSSystemManagement"
TOKEN = "all"
NOON = int(datetime(2027, 6, 1, 12, tzinfo=UTC).timestamp()) * 10**9
DEFINITIONS = [
    define_tdqueue(name="ORDQ", type="INTRA", recovstatus="LOGICAL", group="GRP1"),
    define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE", transid="PAYT", triggerlevel=5),
    define_tdqueue(
        name="PAYL", type="EXTRA", typefile="OUTPUT", recordformat="VARIABLE", recordsize=84, opentime="DEFERRED"
    ),
    define_tdqueue(name="PAYX", type="INDIRECT", indirectname="PAYQ"),
    define_tdqueue(name="BANK", remotesystem="BNK1", remotename="PAYQ"),
    define_transaction(name="PAYT", program="PAYP"),
    define_transaction(name="FARQ", remotesystem="BNK1"),
    define_file(name="ACCT", keylength=4, recordsize=80),
]


@cache
def secret():
    """The hash of the password Secret1pw, which takes a moment to make."""
    return hashed("Secret1pw")


@dataclass
class Answer:
    """An answer of the interface, read."""

    status: int
    summary: dict[str, str] = field(default_factory=dict)
    records: list[dict[str, str]] = field(default_factory=list)
    feedback: list[dict[str, str]] = field(default_factory=list)
    message: str = ""
    text: str = ""

    @property
    def names(self):
        return [each["tdqueue"] for each in self.records]

    @property
    def codes(self):
        return self.summary["api_response1_alt"], self.summary["api_response2_alt"]


def local(element):
    return element.tag.rpartition("}")[2]


def read(response):
    """The parts of an answer; it is a document whatever happened."""
    assert response.headers["content-type"] == "application/xml", response.text
    root = ET.fromstring(response.content)
    answer = Answer(response.status_code, text=response.text)
    if local(root) == "error":
        answer.message = root.get("message_id")
        return answer
    for element in root:
        if local(element) == "resultsummary":
            answer.summary = dict(element.attrib)
        elif local(element) == "records":
            answer.records = [dict(each.attrib) for each in element]
        else:
            answer.feedback = [dict(each.attrib) for each in element]
    return answer


class Cmci:
    """Requests as a client makes them."""

    def __init__(self, client):
        self.client = client

    def ask(self, path, method="GET", body=None, *, auth=("TESTER", TOKEN)):
        return read(self.client.request(method, f"{ROOT}/{path}", content=body, auth=auth))

    def queues(self, criteria="", kind="CICSIntrapartitionTDQueue", place="SIMREG1"):
        """The names of the queues that fit criteria, percent-encoded already."""
        return self.ask(f"{kind}/{place}" + (f"?CRITERIA={criteria}" if criteria else "")).names


def served(host, users=None, **options):
    headers = {"Host": "127.0.0.1:80"}
    app = application(host, Gate(users, token=TOKEN), **options)
    return TestClient(app, headers=headers, base_url="http://127.0.0.1")


@pytest.fixture
def host():
    host = Host(frozen=True)
    clock = host.engine.dispatcher.clock
    host.engine.outside(lambda: clock.advance_to(NOON)).result()
    host.add(Region, DEFINITIONS, applid="SIMREG1", supplied_queues=False)
    yield host
    host.stop()


@pytest.fixture
def region(host):
    return host.regions["SIMREG1"]


@pytest.fixture
def cmci(host):
    with served(host) as client:
        yield Cmci(client)
