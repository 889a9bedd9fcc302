"""The JSON schemas of definition files and region files, so that editors complete and check them while people type."""

from __future__ import annotations

from typing import Any

from tdqsim.definitions._build import RESOURCE_CLASSES, known_attributes, resource_types
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.regionfile import RegionFile
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import LIMITS

__all__ = ["json_schema", "region_json_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema of a definition file (JSON Schema 2020-12); of what can be said in a schema, everything is."""
    sections = {kind.lower(): _section(kind) for kind in (*resource_types(), "DTAQ")}
    group: dict[str, Any] = {
        "type": "object",
        "properties": {
            "group": {"type": "string", "minLength": 1, "maxLength": LIMITS["group_name_length"]},
            "description": {"type": "string"},
            **sections,
        },
        "additionalProperties": False,
    }
    return {
        "$schema": _DIALECT,
        "title": "tdqsim resource definitions",
        "anyOf": [
            {"$ref": "#/$defs/group"},
            {
                "type": "object",
                "properties": {"groups": {"type": "array", "items": {"$ref": "#/$defs/group"}}},
                "required": ["groups"],
                "additionalProperties": False,
            },
        ],
        "$defs": {"group": group},
    }


def region_json_schema() -> dict[str, Any]:
    """The schema of a ``region.yaml`` (JSON Schema 2020-12)."""
    schema = RegionFile.model_json_schema()
    schema["properties"].pop("directory")
    for name in ("definitions", "handlers", "start"):  # one value may stand for a list of one
        many = schema["properties"][name]
        schema["properties"][name] = {"anyOf": [many, many["items"]]}
    schema["title"] = "tdqsim region file"
    return {"$schema": _DIALECT, **schema}


def _section(kind: str) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": _resource(kind)}


def _resource(kind: str) -> dict[str, Any]:
    if kind == "TDQUEUE":
        return {"type": "object", "anyOf": [_tdqueue(queue_type) for queue_type in TDQUEUE_CLASSES]}
    if kind in RESOURCE_CLASSES:
        schema = _model(RESOURCE_CLASSES[kind])
        idle = known_attributes(kind) - schema["properties"].keys()
        schema["properties"] |= {name: {"description": "accepted without effect"} for name in sorted(idle)}
        return schema
    return {"type": "object", "properties": {"name": {}}, "required": ["name"]}


def _tdqueue(queue_type: str) -> dict[str, Any]:
    schema = _model(TDQUEUE_CLASSES[queue_type])
    schema["title"] = queue_type or "remote only"
    if queue_type:
        schema["properties"]["type"] = {"enum": [queue_type, queue_type.lower()]}
        schema["required"] = [*schema["required"], "type"]
    else:
        schema["required"] = [*schema["required"], "remotesystem"]
    return schema


def _model(resource_class: type[Resource]) -> dict[str, Any]:
    schema = resource_class.model_json_schema()
    for name in ("group", "without_effect"):
        schema["properties"].pop(name, None)
    for value in schema["properties"].values():
        value.pop("title", None)
        if value.get("default") in ("", None):
            value.pop("default", None)
    return {name: schema[name] for name in ("type", "properties", "required", "additionalProperties") if name in schema}
