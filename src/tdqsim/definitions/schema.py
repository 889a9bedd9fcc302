"""The JSON schemas of definition files, with which editors complete and check them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from pydantic import BaseModel

from tdqsim.definitions._build import RESOURCE_CLASSES, known_attributes, resource_types
from tdqsim.definitions._fields import JsonSchema, Name
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.regionfile import Cobol, DdCard, Dfhintra, RecordLayout, RegionFile, Security
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import LIMITS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPE_TEXT = "INTRA, EXTRA or INDIRECT; without it, or with REMOTE, the queue is remote only"


def json_schema() -> JsonSchema:
    """The schema of a definition file (JSON Schema 2020-12), with all rules that a schema can express."""
    sections = {kind.lower(): _section(kind) for kind in (*resource_types(), "DTAQ")}
    group: JsonSchema = {
        "type": "object",
        "properties": {
            "group": Name(LIMITS["group_name_length"]).schema()
            | {"description": "the group's name, 1 to 8 characters"},
            "description": {"type": "string", "description": "text about the group"},
            **sections,
        },
        "additionalProperties": False,
    }
    return {
        "$schema": _DIALECT,
        "title": "tdqsim resource definitions",
        "description": "One group of resource definitions, or several under groups.",
        "type": "object",
        "if": {"required": ["groups"]},
        "then": {
            "properties": {
                "groups": {
                    "type": "array",
                    "items": {"$ref": "#/$defs/group"},
                    "description": "the groups, in the order in which they are installed",
                }
            },
            "additionalProperties": False,
        },
        "else": {"$ref": "#/$defs/group"},
        "$defs": {"group": group},
    }


def region_json_schema() -> JsonSchema:
    """The schema of a ``region.yaml`` (JSON Schema 2020-12)."""
    schema = described_schema(RegionFile, "tdqsim region file", (DdCard, Dfhintra, Cobol, RecordLayout, Security))
    schema["properties"].pop("directory")
    for name in ("definitions", "handlers", "start_transactions"):  # a single value means a list with one item
        items = schema["properties"][name]
        description = items.pop("description", "")
        schema["properties"][name] = {"anyOf": [items, items["items"]], "description": description}
    return schema


def described_schema(model: type[BaseModel], title: str, parts: Iterable[type[BaseModel]] = ()) -> JsonSchema:
    """The schema of a file that a model reads, with descriptions from the docstrings of the model and its parts."""
    schema = model.model_json_schema()
    for each, own in ((model, schema), *((part, schema["$defs"][part.__name__]) for part in parts)):
        described = _descriptions(each)
        own["description"] = _plain(inspect.cleandoc(each.__doc__ or "").partition("\n\n")[0])
        for key, value in own["properties"].items():
            value.pop("title", None)
            if key in described:
                value["description"] = described[key]
    schema["title"] = title
    return {"$schema": _DIALECT, **schema}


def pipeline_json_schema() -> JsonSchema:
    """The schema of a ``pipeline.yaml`` (JSON Schema 2020-12)."""
    spread = {
        "type": "string",
        "pattern": "^[^:]+:[^:]+$",
        "description": "module:Class of the job, in the region directory; it divides the work between regions",
        "examples": ["card_pipeline:SpreadPosting"],
    }
    return {
        "$schema": _DIALECT,
        "title": "tdqsim pipeline file",
        "description": "The settings of a region directory for tdq pipeline run, in addition to its region.yaml.",
        "type": "object",
        "properties": {"spread": spread},
        "required": ["spread"],
        "additionalProperties": False,
    }


_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.+(?:\n      .+)*)", re.MULTILINE)


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The description of each attribute in the docstrings of a model and its bases."""
    descriptions: dict[str, str] = {}
    for each in reversed(model.__mro__):
        text = inspect.cleandoc(each.__doc__ or "") if issubclass(each, BaseModel) else ""
        for names, description in _ATTRIBUTE.findall(text):
            descriptions |= dict.fromkeys(names.split(", "), _plain(description))
    return descriptions


def _plain(text: str) -> str:
    """Text of a docstring on one line, without markup."""
    return re.sub(r":\w+:`([^`]*)`", r"\1", " ".join(text.replace("``", "").split()))


def _section(kind: str) -> JsonSchema:
    return {"type": ["array", "null"], "items": _resource(kind), "description": f"definitions of {kind}"}


def _resource(kind: str) -> JsonSchema:
    if kind == "TDQUEUE":
        return _by_type()
    if kind in RESOURCE_CLASSES:
        schema = _model(RESOURCE_CLASSES[kind])
        idle = known_attributes(kind) - schema["properties"].keys()
        schema["properties"] |= {name: {"description": "accepted without effect"} for name in sorted(idle)}
        return schema
    return {"type": "object", "properties": {"name": {"description": "the resource's name"}}, "required": ["name"]}


def _by_type() -> JsonSchema:
    """A queue: TYPE determines its attributes, with if and then, so that editors report errors for this type only."""
    known = [each for each in TDQUEUE_CLASSES if each]
    described = _descriptions(TDQUEUE_CLASSES[""])
    words = [word for each in (*known, "REMOTE") for word in (each, each.lower())]
    common = {"name": {"description": described["name"]}, "type": {"enum": words, "description": _TYPE_TEXT}}
    rules = [
        {"if": {"properties": {"type": {"enum": [each, each.lower()]}}, "required": ["type"]}, "then": _tdqueue(each)}
        for each in known
    ]
    other = {"required": ["type"], "properties": {"type": {"not": {"enum": ["REMOTE", "remote"]}}}}
    remote = {"if": {"not": other}, "then": _tdqueue("")}
    return {"type": "object", "properties": common, "required": ["name"], "allOf": [*rules, remote]}


def _tdqueue(queue_type: str) -> JsonSchema:
    schema = _model(TDQUEUE_CLASSES[queue_type])
    schema["title"] = queue_type or "remote only"
    if queue_type:
        schema["properties"]["type"] = {
            "enum": [queue_type, queue_type.lower()],
            "description": _TYPE_TEXT,
        }
        schema["required"] = [*schema["required"], "type"]
    else:
        schema["properties"]["type"] = {"enum": ["REMOTE", "remote"], "description": _TYPE_TEXT}
        schema["required"] = [*schema["required"], "remotesystem"]
    return schema


def _model(resource_class: type[Resource]) -> JsonSchema:
    schema = resource_class.model_json_schema()
    for name in ("group", "without_effect"):
        schema["properties"].pop(name, None)
    described = _descriptions(resource_class)
    for name, value in schema["properties"].items():
        value.pop("title", None)
        if value.get("default") in ("", None):
            value.pop("default", None)
        if name in described:
            value["description"] = described[name]
    return {name: schema[name] for name in ("type", "properties", "required", "additionalProperties") if name in schema}
