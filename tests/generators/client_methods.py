"""Generates the client's methods, one for each route of the API, as a module of typed Python.

``python -m tests.generators.client_methods`` writes ``src/tdqsim/client/_operations.py``; a test compares the file with the
routes. The thin client imports nothing of the server, so its methods are written to a file. They have the
names, parameters and answers of the routes, so that type checkers and editors know them.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from importlib import import_module
from inspect import getdoc
from json import dumps
from keyword import iskeyword
from pathlib import Path
from pkgutil import iter_modules
from re import findall, sub
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from tdqsim.client import answers
from tdqsim.server.http.access import PREFIX
from tdqsim.server.http.api import MODULES

_FILE: Final = Path(answers.__file__).parents[1] / "_operations.py"
_WAITING: Final = ("waitForState", "receiveEntry")
_LINE: Final = 120
_TYPES: Final = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}
_HEAD: Final = '''\
"""A method for each operation of the API; ``python -m tests.generators.client_methods`` writes it.

Parameters without a value are left out of the request, so that the default of the server applies. A body is sent as
JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from tdqsim.client._http import ServerConnection, part

'''
_CLASS: Final = '''

Body = Mapping[str, object] | Sequence[Mapping[str, object]]


class Operations(ServerConnection):
    """The operations of a server, named by their ids in the OpenAPI document."""
'''


def client_source() -> str:
    """The source of the client's module, before it is formatted."""
    routes = [each for module in MODULES for each in module.routes.routes if isinstance(each, APIRoute)]
    methods = [line for route in routes for line in _method(route)]
    used = set(findall(r"\w+", "\n".join(methods)))
    imports = ["if TYPE_CHECKING:"]
    for module in iter_modules(answers.__path__):
        defined = import_module(f"{answers.__name__}.{module.name}")
        names = [
            name
            for name, each in vars(defined).items()
            if getattr(each, "__module__", "") == defined.__name__ and name in used
        ]
        if names:
            listed = ", ".join(sorted(names, key=str.lower))
            line = f"    from {answers.__name__}.{module.name} import {listed}"
            imports.append(line if len(line) <= _LINE else line.replace(listed, f"({listed})"))
    return _HEAD + "\n".join(imports) + _CLASS + "\n".join(methods) + "\n"


def _method(route: APIRoute) -> Iterator[str]:
    """The method of a route: parts of its path are positional, parameters of its query are keywords."""
    assert route.operation_id is not None
    ((path, methods),) = get_openapi(title="", version="", routes=[route])["paths"].items()
    ((method, operation),) = methods.items()
    path = path.removeprefix(PREFIX)
    described = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] != "header"}
    places = findall(r"{(\w+)}", path)
    query = [name for name, each in described.items() if each["in"] == "query"]
    body = "requestBody" in operation
    waits = route.operation_id in _WAITING
    streams = route.response_model is None and route.status_code != HTTPStatus.NO_CONTENT

    given = ["self", *(f"{name}: {_type(described[name]['schema'])}" for name in places), *["body: Body"] * body]
    given += ["*"] * bool(query or waits)
    given += [f"{_name(name)}: {_type(described[name]['schema'])} | None = None" for name in query]
    given += ["patience: float = 0"] * waits
    answer = "AbstractContextManager[Iterator[str]]" if streams else route.endpoint.__annotations__["return"]
    yield f"    def {_snake(route.operation_id)}({', '.join(given)}) -> {answer}:"
    yield f'        """{(getdoc(route.endpoint) or "").splitlines()[0]}"""'

    filled = sub(r"{(\w+)}", r"{part(\1)}", path)
    target = f'f"{filled}"' if places else f'"{path}"'
    sent = [target] if streams else [f'"{method.upper()}"', target, *["body"] * body]
    sent += ["query={" + ", ".join(f'"{name}": {_name(name)}' for name in query) + "}"] * bool(query)
    sent += ["patience=patience"] * waits
    word = "" if answer == "None" else "return "
    yield f"        {word}self.{'stream' if streams else 'ask'}({', '.join(sent)})"
    yield ""


def _snake(words: str) -> str:
    return sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", words)


def _name(name: str) -> str:
    """A name of the API as a Python name; keywords and builtins get an underscore."""
    return f"{name}_" if iskeyword(name) or hasattr(builtins, name) else name


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return next(_type(each) for each in schema["anyOf"] if each["type"] != "null")
    if "enum" in schema:
        return f"Literal[{', '.join(map(dumps, schema['enum']))}]"
    return _TYPES[schema["type"]]


if __name__ == "__main__":
    _FILE.write_text(client_source(), "utf-8")  # ruff formats it
