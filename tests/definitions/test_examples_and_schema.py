from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
import yaml

from tdqsim.cli import main
from tdqsim.definitions import json_schema, load_definitions, pipeline_json_schema, region_json_schema
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.ibmi.systemfile import system_json_schema
from tdqsim.server.schema import serve_json_schema
from tdqsim.server.servefile import load_serve_file

FILES = sorted((Path(__file__).resolve().parents[2] / "definitions").glob("*.yaml"))


def group_schema(kind):
    return json_schema()["$defs"]["group"]["properties"][kind]["items"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_shipped_files_load(path):
    assert load_definitions(path).resources


def test_the_example_group_has_every_type():
    queues = {queue.name: queue for queue in load_definitions(FILES[-1]).tdqueues}
    assert {queue.type for queue in queues.values()} == {"INTRA", "EXTRA", "INDIRECT", ""}
    assert queues["BOTH"].type_in("CIC2") == "INTRA"


def test_the_schema_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()


def test_the_schema_knows_the_attributes():
    intra, extra, indirect, remote = (rule["then"] for rule in group_schema("tdqueue")["allOf"])
    level = intra["properties"]["triggerlevel"]
    assert (level["type"], level["minimum"], level["maximum"], level["default"]) == ("integer", 0, 32767, 1)
    assert intra["properties"]["wait"]["enum"] == ["YES", "NO", "yes", "no"]
    assert extra["properties"]["type"]["enum"] == ["EXTRA", "extra"]
    assert set(indirect["required"]) >= {"name", "indirectname"}
    assert set(remote["required"]) == {"name", "remotesystem"}
    assert "transid" not in extra["properties"]
    assert all("group" not in item["properties"] for item in (intra, extra, indirect, remote))


def test_the_schema_knows_the_other_kinds():
    assert group_schema("transaction")["properties"]["status"]["enum"] == ["ENABLED", "DISABLED", "enabled", "disabled"]
    assert group_schema("transaction")["properties"]["trprof"] == {"description": "accepted without effect"}
    assert group_schema("dtaq")["required"] == ["dtaq"]
    assert group_schema("program")["required"] == ["name"]


def test_the_schema_takes_numbers_that_are_names():
    name = group_schema("connection")["properties"]["name"]
    assert {"integer", "string"} <= set(name["type"])
    assert (name["minimum"], name["maximum"]) == (-999, 9999)  # of four characters


def test_the_schema_takes_an_empty_name_where_it_may_be_omitted():
    intra = group_schema("tdqueue")["allOf"][0]["then"]["properties"]
    empty = {name: bool(re.search(intra[name]["pattern"], "")) for name in ("name", "transid", "facilityid", "userid")}
    assert empty == {"name": False, "transid": True, "facilityid": True, "userid": True}


def test_the_schema_of_region_files():
    schema = region_json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert {"applid", "sysid", "definitions", "dd", "dfhintra", "start_transactions"} <= schema["properties"].keys()
    assert "directory" not in schema["properties"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["DdCard"]["properties"]["disp"]["enum"][:4] == ["SHR", "OLD", "MOD", "NEW"]


def test_everything_in_a_schema_is_described():
    """What an editor shows beside the cursor."""
    region = region_json_schema()
    objects = {kind: group_schema(kind) for kind in ("transaction", "terminal", "connection", "dtaq")}
    objects |= {rule["then"]["title"]: rule["then"] for rule in group_schema("tdqueue")["allOf"]}
    serve = serve_json_schema()
    objects |= {"region": region, **region["$defs"], "serve": serve, **serve["$defs"]}
    silent = [
        f"{kind}.{name}"
        for kind, schema in objects.items()
        for name, value in schema["properties"].items()
        if not value.get("description")
    ]
    assert silent == []
    files = [region, serve, system_json_schema(), json_schema(), pipeline_json_schema()]
    assert all("\n" not in schema["description"] for schema in files)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("spread: json:JSONDecoder", True),
        ("spread: json", False),
        ("spread: a:b:c", False),
        ("spread: 5", False),
        ("sprad: json:JSONDecoder", False),
        ("{}", False),
        ("spread: json:JSONDecoder\nmore: 1", False),
    ],
)
def test_the_schema_of_pipeline_files_takes_what_the_pipeline_takes(tmp_path, text, right):
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("numpy")
    from tdqsim.pipeline.stages import jobs

    assert jsonschema.Draft202012Validator(pipeline_json_schema()).is_valid(yaml.safe_load(text)) is right
    (tmp_path / "pipeline.yaml").write_text(text, "utf-8")
    with contextlib.nullcontext() if right else pytest.raises(DefinitionError), jobs.loaded_job(tmp_path):
        pass


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("directories: [pay]", True),
        ("directories: [pay, {path: ship, store: s}]\nlisteners: {http: 8470, control: yes, ibmi: no}", True),
        ("directories: [pay]\ntls: generated\nusers: users.yaml", True),
        ("directories: [pay]\ntls: {certificate: a.pem, key: b.pem}\nlisteners: {ibmi: {as-dtaq: 8472}}", True),
        ("directories: []", False),
        ("directorys: [pay]", False),
        ("directories: [pay]\nlisteners: {htpp: 1}", False),
        ("directories: [pay]\nlisteners: {http: 70000}", False),
        ("directories: [pay]\nlisteners: {ibmi: {as-dtak: 8472}}", False),
        ("directories: [pay]\ntls: generate", False),
        ("directories: [{pth: ship}]", False),
    ],
)
def test_the_schema_of_serve_files_takes_what_the_server_takes(tmp_path, text, right):
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "serve.yaml"
    path.write_text(text, "utf-8")
    assert jsonschema.Draft202012Validator(serve_json_schema()).is_valid(yaml.safe_load(text)) is right
    with contextlib.nullcontext() if right else pytest.raises(TdqError):
        load_serve_file(path)


@pytest.mark.parametrize("which", ["definitions", "region", "pipeline", "serve", "system"])
def test_every_schema_is_printed_and_is_one(which, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    assert main(["check", "--schema", which]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("queue", "error"),
    [
        ({"name": "PAYQ", "type": "INTRA", "trigerlevel": 5}, "'trigerlevel' was unexpected"),
        ({"name": "PAYQ", "type": "EXTRA", "transid": "PAYP"}, "'transid' was unexpected"),
        ({"name": "PAYQ", "type": "INTRO"}, "'INTRO' is not one of"),
        ({"name": "PAYQ", "type": "intra", "triggerlevel": 99999}, "99999 is greater than the maximum of 32767"),
        ({"name": "PAYQ", "type": "INDIRECT"}, "'indirectname' is a required property"),
        ({"name": "PAYQ"}, "'remotesystem' is a required property"),
        ({"type": "INTRA"}, "'name' is a required property"),
    ],
)
def test_a_schema_names_the_attribute_that_is_wrong(queue, error):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(group_schema("tdqueue"))
    assert [found.message for found in validator.iter_errors(queue)][-1:] == [
        next(found.message for found in validator.iter_errors(queue) if error in found.message)
    ]
    assert validator.is_valid({"name": "PAYQ", "type": "INTRA", "triggerlevel": 5, "transid": "PAYP"})


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        ({"group": "PAY", "tdqueue": [{"name": "PAYQ", "type": "INTRA", "trigerlevel": 5}]}, ["trigerlevel"]),
        (
            {"groups": [{"group": "PAY", "tdqueue": [{"name": "PAYQ", "type": "INTRA", "trigerlevel": 5}]}]},
            ["trigerlevel"],
        ),
        ({"group": "PAY", "tdqueu": []}, ["tdqueu"]),
        ({"groups": [], "grup": "PAY"}, ["grup"]),
        ({"groups": [{"group": "PAY"}]}, []),
    ],
)
def test_the_schema_of_a_whole_file_says_that_one_thing_and_no_more(document, errors):
    jsonschema = pytest.importorskip("jsonschema")
    found = [error.message for error in jsonschema.Draft202012Validator(json_schema()).iter_errors(document)]
    assert found == [f"Additional properties are not allowed ('{name}' was unexpected)" for name in errors]
