"""The JSON schema of ``serve.yaml``, with which editors complete and check this file."""

from __future__ import annotations

from typing import Any

from tdqsim.definitions import described_schema
from tdqsim.server.linkfile import LinkedRegion, LinkedSystem, ServedLinks
from tdqsim.server.servefile import AlertHook, Cmci, ListenerPorts, Log, ServedPlace, ServeFile, TlsFiles

_MODELS = (AlertHook, Cmci, ListenerPorts, Log, ServedPlace, TlsFiles, ServedLinks, LinkedRegion, LinkedSystem)
_YES: dict[str, Any] = {"type": ["boolean", "string"], "enum": [True, False, "yes", "no", "true", "false"]}
"""A boolean; some editors read yes as text."""


def serve_json_schema() -> dict[str, Any]:
    """The schema of a ``serve.yaml`` (JSON Schema 2020-12)."""
    schema = described_schema(ServeFile, "tdqsim serve file", _MODELS)
    directories = schema["properties"]["directories"]
    directories["items"] = {"anyOf": [{"type": "string", "minLength": 1}, directories["items"]]}
    directories["minItems"] = 1
    listeners = schema["$defs"]["ListenerPorts"]["properties"]
    schema["properties"]["trace"] = _YES | {"description": schema["properties"]["trace"]["description"]}
    listeners["control"] = _YES | {"description": listeners["control"]["description"]}
    listeners["ibmi"]["anyOf"] = [_YES, *(each for each in listeners["ibmi"]["anyOf"] if each.get("type") != "boolean")]
    return schema
