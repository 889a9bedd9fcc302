"""The OpenAPI document: names that a person would choose, an answer type for each operation, ways to sign on."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from fastapi.testclient import TestClient

from tdqsim import Region, define_tdqueue
from tdqsim.facts import table
from tdqsim.faults import Fault, FaultPlan
from tdqsim.server.host import Host
from tdqsim.server.http import Gate, application

FREE = {
    "DecodedRecord.values": "the fields are those of the queue's layout, at any depth",
}
"""Objects of answers whose fields the document does not name, with the reason."""
WITHOUT_ROLE = {"health", "ready", "metrics", "signOn", "getSession"}
CSRF = {"session": [], "csrf": []}


@pytest.fixture(scope="module")
def host():
    host = Host()
    host.add(Region, [define_tdqueue(name="PAYQ", type="INTRA")], applid="PAYREGN")
    yield host
    host.stop()


@pytest.fixture(scope="module")
def document(host):
    return json.loads(json.dumps(application(host, Gate()).openapi()))


def operations(document):
    return [(path, method, each) for path, methods in document["paths"].items() for method, each in methods.items()]


def answers(document):
    """The schemas of JSON answers, with the operation that each is of."""
    for _path, _method, operation in operations(document):
        for status, answer in operation["responses"].items():
            if status.startswith("2") and "application/json" in answer.get("content", {}):
                yield operation["operationId"], answer["content"]["application/json"]["schema"]


def free_objects(schema, document, place, seen):
    """The places of objects that may have any field."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name in seen:
            return
        seen.add(name)
        yield from free_objects(document["components"]["schemas"][name], document, name, seen)
        return
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in schema.get(word, ()):
            yield from free_objects(each, document, place, seen)
    if schema == {} or (schema.get("type") == "array" and not schema.get("items")):
        yield place
    if schema.get("type") == "array":
        yield from free_objects(schema["items"], document, place, seen)
    if schema.get("type") == "object":
        rest = schema.get("additionalProperties")
        if rest is True or ("properties" not in schema and not isinstance(rest, dict)):
            yield place
        elif isinstance(rest, dict):
            yield from free_objects(rest, document, place, seen)
        for name, each in schema.get("properties", {}).items():
            yield from free_objects(each, document, f"{place}.{name}", seen)


def test_no_answer_is_a_free_object(document):
    seen = set()
    found = [place for name, schema in answers(document) for place in free_objects(schema, document, name, seen)]
    assert sorted(found) == sorted(FREE)


def test_each_operation_has_an_id_of_its_own_from_the_table(document):
    found = [each["operationId"] for _path, _method, each in operations(document)]
    assert len(found) == len(set(found))
    assert {row["id"] for row in table("operations") if row["route"]} | WITHOUT_ROLE == set(found)
    assert all(re.fullmatch("[a-z]+([A-Z][a-z]+)*", each) for each in found)
    assert not any(row["id"] for row in table("operations") if not row["route"])


def test_schemas_have_names_of_their_own(document):
    names = set(document["components"]["schemas"]) - {"HTTPValidationError", "ValidationError"}
    assert [each for each in names if not re.fullmatch("([A-Z][a-z]+)+", each)] == []
    assert {"TdqueueState", "TaskEntry", "UnitOfWorkState", "ProblemDetails", "SetTdqueue", "EntryToSend"} <= names


def test_the_ways_to_sign_on_are_in_the_document(document):
    assert set(document["components"]["securitySchemes"]) == {"bearer", "session", "csrf"}
    for _path, method, operation in operations(document):
        ways = operation.get("security", [])
        if operation["operationId"] in ("health", "ready", "signOn"):
            assert ways == []
        else:
            assert ways == [{"bearer": []}, {"session": []} if method == "get" else CSRF]


def test_a_refusal_is_one_named_schema(document):
    for _path, _method, operation in operations(document):
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                (content,) = answer["content"].values()
                assert content["schema"] == {"$ref": "#/components/schemas/ProblemDetails"}


def test_the_state_of_a_queue_has_every_option_of_inquire(document):
    columns = [tuple(row.values()) for row in table("inquire")]
    fields = set(document["components"]["schemas"]["TdqueueState"]["properties"])
    assert fields == {"name"} | {option for resource, option, *_rest in columns if resource == "TDQUEUE"}


@pytest.mark.parametrize("resource", sorted({row["resource"] for row in table("inquire")}))
def test_cemt_answers_with_the_rows_of_each_resource(document, host, resource):
    headers = {"Authorization": "Bearer all"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as client:
        answer = client.post("/api/v1/regions/PAYREGN/cemt", json={"text": f"INQUIRE {resource}"})
    if answer.status_code == 409:
        pytest.skip("CEMT has no such resource")
    assert f"{resource.lower()}s" in answer.json()


FAULTS = [
    Fault("IOERR", 5, "READQ TD", queue="PAYQ", transid="PAY1", task=7, region="PAYREGN", nth=2, times=3),
    Fault("NOSPACE", delay=0.5),
]


def test_a_fault_is_answered_with_all_that_it_was_given(host):
    plan = json.loads(FaultPlan(*FAULTS).to_json())
    headers = {"Authorization": "Bearer all"}
    with TestClient(application(host, Gate(token="all")), headers=headers, base_url="http://127.0.0.1") as client:
        assert client.put("/api/v1/regions/PAYREGN/faults", json=plan).json()["faults"] == plan
        assert client.get("/api/v1/regions/PAYREGN/faults").json()["faults"] == plan
        assert client.delete("/api/v1/regions/PAYREGN/faults").status_code == 204
