"""What an editor says by the schemas, and what the loader says: every value that can stand for another, tried on both."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tdqsim.definitions import parse_definitions
from tdqsim.definitions.regionfile import load_region_file
from tdqsim.definitions.schema import json_schema, region_json_schema
from tdqsim.errors import DefinitionError

jsonschema = pytest.importorskip("jsonschema")

INTRA = {"name": "PAYQ", "type": "INTRA", "recovstatus": "LOGICAL", "transid": "PAYP", "triggerlevel": 2,
         "atifacility": "FILE", "userid": "ANNA", "wait": "YES", "waitaction": "QUEUE"}  # fmt: skip
EXTRA = {"name": "OUTQ", "type": "EXTRA", "typefile": "OUTPUT", "ddname": "OUT", "recordformat": "FIXED", "recordsize": 80,
         "blocksize": 800, "blockformat": "BLOCKED", "disposition": "MOD", "opentime": "INITIAL", "erroroption": "IGNORE",
         "databuffers": 3, "printcontrol": "A"}  # fmt: skip
GROUP = {
    "group": "PAYMENTS",
    "tdqueue": [
        INTRA,
        EXTRA,
        {"name": "IND", "type": "INDIRECT", "indirectname": "PAYQ"},
        {"name": "REM", "remotesystem": "CIC2", "remotename": "REMQ", "remotelength": 100},
    ],
    "transaction": [{"name": "PAYP", "program": "PAYPROG", "dtimout": "0130"}],
    "terminal": [{"name": "T001"}],
    "connection": [{"name": "CIC2"}],
    "dtaq": [{"dtaq": "QGPL/ORDERS", "maxlen": 80, "force": "*YES", "seq": "*KEYED", "keylen": 4, "senderid": "*YES"}],
}
REGION = {"applid": "PAYREGN", "sysid": "PAY1", "seed": 1, "start_transactions": ["PAYP"],
          "dfhintra": {"ci_size": 4096, "control_intervals": 1000}}  # fmt: skip
VALUES = [-1, 0, 1, 4, 99999, 99999999999, "YES", "NO", "yes", "INTRA", "input", "*YES", "*keyed", "fifo", "lowr", "A B", "x" * 60,
          "LIB/QUEUE", "QGPL/TOOLONGANAME", "0200", "9999", "1.5", "CICS", ["PAYQ"], {"a": 1}]  # fmt: skip
"""Neither blank (nothing is given then) nor what YAML itself makes of NO and null."""
QUOTED = ("= '0200'", "= '9999'")
"""A number in quotes: the loader takes it, editors ask for a number."""
SEVERAL = (
    "is allowed with",
    "is not allowed",
    "needs ",
    "is required",
    "must be a multiple",
    "defined twice",
    "must be set",
)
"""What the loader says of two attributes together; a schema is about each."""


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*path, key))
    else:
        yield path


def mutants(right: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each value by each other, each attribute misspelt."""
    for path in leaves(right):
        *way, last = path
        for value in VALUES:
            made = copy.deepcopy(right)
            place = made
            for key in way:
                place = place[key]
            place[last] = value
            yield f"{'.'.join(map(str, path))} = {value!r}", made
        if isinstance(last, str):
            made = copy.deepcopy(right)
            place = made
            for key in way:
                place = place[key]
            place[f"{last}x"] = place.pop(last)
            yield f"{'.'.join(map(str, path))} misspelt", made


def compared(right: dict[str, Any], schema: dict[str, Any], load: Any) -> tuple[int, list[str]]:
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(right)
    load(yaml.safe_dump(right))
    differ, tried = [], 0
    for what, made in mutants(right):
        tried += 1
        text = yaml.dump(made, Dumper=yaml.CSafeDumper)
        passes = validator.is_valid(yaml.load(text, yaml.CSafeLoader))
        try:
            load(text)
        except DefinitionError as error:
            if passes and not any(words in str(error) for words in SEVERAL):
                differ.append(f"only the loader refuses {what}: {error}")
        else:
            if not passes and not what.endswith(QUOTED):
                differ.append(f"only the schema refuses {what}")
    return tried, differ


def test_definition_files() -> None:
    """Each resource in a file of its own: what is tried is as much, and takes half of the time."""
    resources = [{kind: [each]} for kind, given in GROUP.items() if kind != "group" for each in given]
    done = [compared({"group": "PAYMENTS", **each}, json_schema(), parse_definitions) for each in resources]
    assert [line for _, differ in done for line in differ] == []
    assert sum(tried for tried, _ in done) > 1000


def test_region_files(tmp_path: Path) -> None:
    def load(text: str) -> None:
        (tmp_path / "region.yaml").write_text(text)
        load_region_file(tmp_path)

    tried, differ = compared(REGION, region_json_schema(), load)
    assert differ == []
    assert tried > 150
