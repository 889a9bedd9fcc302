"""The OpenAPI document, and a page of it that loads nothing from other sites."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from re import findall
from typing import Any, Final

from fastapi import FastAPI

from tdqsim.server.http.access import PREFIX
from tdqsim.server.http.problems import PROBLEM_SCHEMA

_OPEN: Final = ("health", "ready", "signOn")
"""Operations that need no user."""
_SECURITY: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "the token of the run, or one from signOn",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "tdq",
        "description": "the cookie of a browser that has signed on; its name is tdq- with letters that differ each run",
    },
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "in addition to the cookie for changing requests; getSession returns it",
    },
}

_LINKS: Final = {
    "listRegions": ("/regions/{name}", {"name": "/0/applid"}),
    "listTdqueues": ("/regions/{name}/queues/{queue}", {"queue": "/queues/0/name"}),
    "installDefinitions": ("/regions/{name}/queues/{queue}", {"queue": "/names/0"}),
    "listTasks": ("/regions/{name}/tasks/{number}", {"number": "/0/task"}),
    "listUnitsOfWork": ("/regions/{name}/units-of-work/{uow}", {"uow": "/0/uow"}),
    "beginUnitOfWork": ("/units-of-work/{unit}", {"unit": "/id"}),
    "listJobs": ("/regions/{name}/jobs/{number}", {"number": "/0/number"}),
    "listSysoutDatasets": ("/regions/{name}/sysout/{number}", {"number": "/0/number"}),
    "listSystems": ("/systems/{name}", {"name": "/0/name"}),
    "listDataQueues": (
        "/systems/{name}/queues/{library}/{queue}",
        {"library": "/queues/0/data_queue_library", "queue": "/queues/0/data_queue_name"},
    ),
}
"""The resources that answers name: the path of the resource, and the fields of the answer with the parts of the path.
Other parts are those of the request."""

_LARGE: Final = 2**31

_STYLE = """:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.4}
body{max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace;overflow-wrap:anywhere}pre{white-space:pre-wrap}
summary{cursor:pointer;padding:.3rem 0}table{border-collapse:collapse}
td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}"""


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application, with the schema of refusals and the ways to sign on."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        components = document.setdefault("components", {})
        components["schemas"]["ProblemDetails"] = PROBLEM_SCHEMA
        components["securitySchemes"] = _SECURITY
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                _name_parts(path, operation)
                if operation["operationId"] not in _OPEN:
                    cookie: dict[str, list[str]] = {"session": []} if method == "get" else {"session": [], "csrf": []}
                    operation["security"] = [{"bearer": []}, cookie]
        _add_links(document["paths"])
        _size_integers(document)
    return app.openapi_schema or {}


def _add_links(paths: Mapping[str, Any]) -> None:
    """Link each answer that names a resource with the operations on it, for clients and test tools."""
    operations = {each["operationId"]: each for methods in paths.values() for each in methods.values()}
    for source, (resource, there) in _LINKS.items():
        answer = next(each for status, each in operations[source]["responses"].items() if status.startswith("2"))
        names = _places(resource)
        values = {name: f"$response.body#{there[name]}" if name in there else f"$request.path.{name}" for name in names}
        answer["links"] = {
            operation["operationId"]: {"operationId": operation["operationId"], "parameters": values}
            for path, methods in paths.items()
            if path.startswith(f"{PREFIX}{resource}") and _places(path) == names
            for operation in methods.values()
        }


def _name_parts(path: str, operation: dict[str, Any]) -> None:
    """Sort the parameters by their order in the path, and name answers of several types after their operation."""
    places = _places(path)
    operation.get("parameters", []).sort(key=lambda each: (*places, each["name"]).index(each["name"]))
    for answer in operation["responses"].values():
        schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if "anyOf" in schema:
            schema["title"] = f"{operation['operationId'][0].upper()}{operation['operationId'][1:]}Answer"


def _size_integers(schema: object) -> None:
    """Mark integers that may exceed 32 bits as int64, because generated clients use 32 bits for others."""
    if isinstance(schema, dict):
        if schema.get("type") == "integer" and not schema.get("maximum", _LARGE) < _LARGE:
            schema["format"] = "int64"
        for each in schema.values():
            _size_integers(each)
    elif isinstance(schema, list):
        for each in schema:
            _size_integers(each)


def _places(path: str) -> list[str]:
    """The names of the parameters in a path."""
    return findall(r"{(\w+)}", path)


def page_of(document: Mapping[str, Any]) -> str:
    """The page of an OpenAPI document."""
    info = document["info"]
    body = "".join(_operations(document))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style><main>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])}</p>"
        f'<p>As OpenAPI: <a href="/api/v1/openapi.json">openapi.json</a></p>{body}</main></html>'
    )


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            by_tag.setdefault(tag, []).append(_operation(path, method, operation))
    for tag, operations in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>{''.join(operations)}"
    schemas = document.get("components", {}).get("schemas", {})
    yield "<h2>schemas</h2>"
    for name, schema in schemas.items():
        text = escape(json.dumps(schema, indent=2))
        yield f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary><pre>{text}</pre></details>'


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(each['name'])}</code><td>{escape(each['in'])}"
        f"<td>{escape(each.get('description') or each.get('schema', {}).get('description', ''))}"
        for each in operation.get("parameters", ())
    )
    table = f"<table><tr><th>parameter<th>in<th>{rows}</table>" if rows else ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    given = f"<pre>{escape(json.dumps(body, indent=2))}</pre>" if body else ""
    return (
        f"<details><summary><code>{escape(method.upper())} {escape(path)}</code></summary>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}{given}</details>"
    )
