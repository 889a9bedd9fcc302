from __future__ import annotations

import json
from pathlib import Path

import pytest

from tdqsim.definitions import json_schema, load_definitions, region_json_schema

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
    intra, extra, indirect, remote = group_schema("tdqueue")["anyOf"]
    assert intra["properties"]["triggerlevel"] == {"type": "integer", "minimum": 0, "maximum": 32767, "default": 1}
    assert intra["properties"]["wait"]["enum"] == ["YES", "NO"]
    assert extra["properties"]["type"]["enum"] == ["EXTRA", "extra"]
    assert set(indirect["required"]) == {"name", "type", "indirectname"}
    assert set(remote["required"]) == {"name", "remotesystem"}
    assert "transid" not in extra["properties"]
    assert all("group" not in item["properties"] for item in (intra, extra, indirect, remote))


def test_the_schema_knows_the_other_kinds():
    assert group_schema("transaction")["properties"]["status"]["enum"] == ["ENABLED", "DISABLED"]
    assert group_schema("transaction")["properties"]["twasize"] == {"description": "accepted without effect"}
    assert group_schema("dtaq")["required"] == ["dtaq"]
    assert group_schema("program")["required"] == ["name"]


def test_the_schema_of_region_files():
    schema = region_json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert {"applid", "sysid", "definitions", "dd", "dfhintra", "start"} <= schema["properties"].keys()
    assert "directory" not in schema["properties"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["DdCard"]["properties"]["disp"]["enum"] == ["SHR", "OLD", "MOD", "NEW"]
