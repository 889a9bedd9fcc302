"""Any request that the OpenAPI document allows, and many that it does not: every answer is one that it documents."""

from __future__ import annotations

import json
import re
from functools import cache
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import jsonschema
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim import Region, define_tdqueue
from tdqsim.facts import table
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application

DEFINITIONS = [
    define_tdqueue(name="PAYQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="SEEN", type="INDIRECT", indirectname="PAYQ"),
]
ENDLESS = {"/api/v1/alerts", "/api/v1/events", "/api/v1/regions/{name}/history"}
TEXTS = st.one_of(
    st.sampled_from(["", "A", "PAYQ", "QUEUE", "\x00", "é", "€", "%", "'", "QUEUE(", "*"]), st.text(max_size=8)
)
NAMES = {
    "name": st.one_of(st.sampled_from(["PAYREGN", "PAYREGN", "PAYREGN", "payregn"]), TEXTS),
    "queue": st.one_of(st.sampled_from(["PAYQ", "LOGQ", "SEEN", "CSMT", "NONE"]), TEXTS),
    "number": st.one_of(st.integers(-(10**20), 10**20).map(str), TEXTS),
}
STATEMENTS = st.one_of(
    st.sampled_from(
        [
            "READQ TD QUEUE('PAYQ') INTO(REC) NOSUSPEND",
            "WRITEQ TD QUEUE('PAYQ') FROM(REC)",
            "INQUIRE TDQUEUE('LOGQ') NUMITEMS(N)",
            "DELETEQ TD QUEUE(REC)",
            "ABEND ABCODE('OOPS')",
            "SYNCPOINT",
            "RETURN",
        ]
    ),
    st.text(max_size=40),
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def api():
    host = Host()
    host.add(Region, DEFINITIONS, applid="PAYREGN")
    app = application(host, Gate(token="all"))
    headers = {"Authorization": "Bearer all"}
    with TestClient(app, headers=headers, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        client.post("/api/v1/clock", params={"frozen": True})
        yield client
    host.stop()


def resolved(schema, document):
    """A schema with what it refers to put in place; the document has no rings."""
    if isinstance(schema, list):
        return [resolved(each, document) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return resolved(document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]], document)
    return {name: resolved(each, document) for name, each in schema.items()}


def closed(schema):
    """A schema whose objects have no fields but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    if "properties" in schema and isinstance(schema["properties"], dict) and schema.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


def values(schema, field=""):
    """Values that a schema allows, without ado where it is narrow."""
    if "anyOf" in schema:
        return st.one_of([values(each, field) for each in schema["anyOf"]])
    if schema.get("oneOf"):  # exactly one of the fields that are required there
        ways = [each["required"][0] for each in schema["oneOf"]]
        others = {name: part for name, part in schema["properties"].items() if name not in ways}
        own = [
            {"type": "object", "properties": {way: schema["properties"][way], **others}, "required": [way]}
            for way in ways
        ]
        return st.one_of([values(each, field) for each in own])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        parts = {name: values(each, name) for name, each in schema["properties"].items()}
        required = {name: parts.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(required, optional=parts)
    if kind == "object":
        words = st.one_of(st.sampled_from(["REC", "N", "ENABLESTATUS", "TRIGGERLEVEL"]), TEXTS)
        inner = schema.get("additionalProperties")
        return st.dictionaries(words, values(inner if isinstance(inner, dict) else {}), max_size=3)
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=3)
    if kind == "string" and "pattern" in schema:
        return st.from_regex(re.compile(schema["pattern"], re.ASCII), fullmatch=True)
    if kind == "string":
        return STATEMENTS if field == "text" else TEXTS
    if kind == "integer":
        return st.one_of(st.integers(0, 5), st.integers())
    if kind == "number":
        return st.just(0.01) if field == "seconds" else st.floats(0.01, 10**6)
    return {"boolean": st.booleans(), "null": st.none()}.get(kind, JUNK)


@cache
def document_text():
    host = Host()
    try:
        return json.dumps(application(host, Gate()).openapi())
    finally:
        host.stop()


def operations():
    document = json.loads(document_text())
    return sorted(
        (path, method) for path, methods in document["paths"].items() if path not in ENDLESS for method in methods
    )


@st.composite
def requests(draw, path, operation, document):
    query = {}
    for parameter in operation.get("parameters", ()):
        schema = resolved(parameter["schema"], document)
        if parameter["in"] == "path":
            given = draw(NAMES.get(parameter["name"], TEXTS)).encode("utf-8", "replace")
            path = path.replace(f"{{{parameter['name']}}}", quote(given, safe="") or "-")
        elif draw(st.booleans()):
            value = draw(st.one_of(values(schema, parameter["name"]), TEXTS))
            query[parameter["name"]] = "" if value is None else str(value).encode("utf-8", "replace").decode()
    body = None
    if "requestBody" in operation:
        schema = resolved(operation["requestBody"]["content"]["application/json"]["schema"], document)
        body = draw(st.one_of(values(schema), values(schema), spoiled(schema), JUNK))
    return path, query, body


@st.composite
def spoiled(draw, schema):
    """A value that the schema allows, but for one part, which is nearly what it should be."""
    body = draw(values(schema))
    nearly = draw(st.sampled_from([0, 1, 1.5, "1", "true", "", True, False, None, [], {}]))
    where = body if isinstance(body, dict) else next((each for each in body or () if isinstance(each, dict)), {})
    parts = sorted(where.keys() | schema.get("properties", {}).keys())
    if parts:
        where[draw(st.sampled_from(parts))] = nearly
    return body


def allowed(operation, document, body):
    """Whether the document allows a body."""
    if "requestBody" not in operation:
        return True
    schema = resolved(operation["requestBody"]["content"]["application/json"]["schema"], document)
    return jsonschema.Draft202012Validator(schema).is_valid(body)


@pytest.mark.parametrize(("path", "method"), operations(), ids=lambda each: each)
def test_every_answer_is_one_that_is_documented(api, path, method):
    document = json.loads(document_text())
    operation = document["paths"][path][method]

    @settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(requests(path, operation, document))
    def ask(request):
        target, query, body = request
        if isinstance(body, dict) and allowed(operation, document, body):  # nobody sends what would be waited for
            if path.endswith("/wait"):
                body["seconds"] = 0.01
            if type(body.get("wait")) is int:
                body["wait"] = 0
        answer = api.request(method, target, params=query, json=body)
        assert str(answer.status_code) in operation["responses"], (request, answer.status_code, answer.text)
        assert answer.status_code < 500 or answer.status_code in (503, 504), (request, answer.text)
        assert "Traceback" not in answer.text
        assert answer.status_code >= 400 or allowed(operation, document, body), (request, answer.text)
        if answer.status_code < 300 and answer.content:
            told = operation["responses"][str(answer.status_code)]["content"]
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in told, request
            if kind == "application/json":
                jsonschema.validate(answer.json(), closed(resolved(told[kind]["schema"], document)))
        if answer.status_code == 422:
            assert answer.json()["title"] == "not as documented"
            by_body = all(each.startswith("body") for each in answer.json()["errors"])
            assert not (by_body and allowed(operation, document, body)), (request, answer.text)
        if answer.status_code >= 400 and answer.status_code != 503:
            assert answer.headers["content-type"] == "application/problem+json"
            content = operation["responses"][str(answer.status_code)]["content"]["application/problem+json"]
            jsonschema.validate(answer.json(), resolved(content["schema"], document))
            assert answer.json()["status"] == answer.status_code

    ask()


def test_what_has_happened_is_documented_as_the_stream_that_it_is(api):
    document = json.loads(document_text())
    answer = api.get("/api/v1/regions/PAYREGN/history", params={"follow": "false"})
    told = document["paths"]["/api/v1/regions/{name}/history"]["get"]["responses"]["200"]["content"]
    assert [answer.headers["content-type"].partition(";")[0]] == list(told) == ["text/event-stream"]
    assert list(document["paths"]["/api/v1/events"]["get"]["responses"]["200"]["content"]) == ["text/event-stream"]


@pytest.mark.parametrize("path", sorted({path for path, _ in operations()}))
def test_a_method_that_is_none_is_told_all_that_there_are(api, path):
    document = json.loads(document_text())
    answer = api.request("TRACE", path.replace("{", "").replace("}", ""))
    assert answer.status_code == 405
    assert answer.headers["allow"] == ", ".join(sorted(method.upper() for method in document["paths"][path]))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/regions/PAYREGN/definitions", {"text": "", "install": 0}),
        ("POST", "/api/v1/regions/PAYREGN/definitions", {"text": "", "install": "no"}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"queue": "PAYQ", "items": "0"}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"queue": "PAYQ", "items": False}),
        ("POST", "/api/v1/regions/PAYREGN/exec", {"text": "ASKTIME", "variables": {"N": True}}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"queue": "PAYQ", "tasks_ended": True}),
        ("POST", "/api/v1/regions/PAYREGN/queues/PAYQ/records", {"text": None, "hex": "C1"}),
        ("POST", "/api/v1/regions/PAYREGN/queues/PAYQ/records", {"hex": "C1 C2"}),
        ("POST", "/api/v1/regions/PAYREGN/queues/PAYQ/records", {"base64": "w="}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"queue": None}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"condition": "NOSUCH"}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"condition": "QZERO", "task": 4}),
        ("POST", "/api/v1/regions/PAYREGN/wait", {"task": 0}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {"ENABLESTATUS": "MAYBE"}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {"TRIGGERLEVEL": True}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {"TRIGGERLEVEL": 5.5}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {"TRIGGERLEVEL": "5"}),
        ("PATCH", "/api/v1/regions/PAYREGN/queues/PAYQ", {"atitermid": 5}),
    ],
)
def test_a_value_that_is_nearly_of_its_type_is_refused(api, method, path, body):
    document = json.loads(document_text())
    shape = path.replace("PAYREGN", "{name}").replace("queues/PAYQ", "queues/{queue}")
    assert not allowed(document["paths"][shape][method.lower()], document, body)
    answer = api.request(method, path, json=body)
    assert (answer.status_code, answer.json()["title"]) == (422, "not as documented")


def test_a_whole_number_may_be_written_as_json_has_it(api):
    body = {"queue": "PAYQ", "items": 0.0}
    assert api.post("/api/v1/regions/PAYREGN/wait", json=body).json() == {"met": True}


def test_what_set_takes_is_what_the_vendor_has():
    options = json.loads(document_text())["components"]["schemas"]["SetTdqueue"]["properties"]
    assert sorted(options) == sorted(row["name"] for row in table("set_tdqueue"))


def test_the_last_position_that_is_documented_has_no_records(api):
    parameters = json.loads(document_text())["paths"]["/api/v1/regions/{name}/queues/{queue}/records"]["get"][
        "parameters"
    ]
    last = next(each["schema"]["maximum"] for each in parameters if each["name"] == "position")
    answer = api.get("/api/v1/regions/PAYREGN/queues/PAYQ/records", params={"position": last, "limit": 1000})
    assert (answer.status_code, answer.json()["records"]) == (200, [])


def test_who_waits_under_a_frozen_clock_is_answered_in_time(api):
    assert api.post("/api/v1/clock", params={"frozen": True}).status_code == 200
    waiting = {"queue": "PAYQ", "items": 10**6, "seconds": 0.01}
    assert api.post("/api/v1/regions/PAYREGN/wait", json=waiting).status_code == 504
    assert api.post("/api/v1/clock", params={"frozen": False}).status_code == 200


def test_the_clock_is_not_moved_to_where_times_have_no_room():
    host = Host()
    host.add(Region, DEFINITIONS, applid="PAYREGN")
    headers = {"Authorization": "Bearer all"}
    try:
        with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as client:
            moves = [client.post("/api/v1/clock", params={"advance": 10**9}).status_code for _ in range(12)]
            assert moves[0] == 200
            assert moves[-1] == 409
            before = client.get("/api/v1/clock").json()["frozen"]
            assert client.post("/api/v1/clock", params={"frozen": True, "advance": 10**9}).status_code == 409
            assert client.get("/api/v1/clock").json()["frozen"] is before
            answer = client.post("/api/v1/regions/PAYREGN/queues/PAYQ/records", json={"text": "x"})
            assert answer.status_code == 201
    finally:
        host.stop()
