"""What users type is kept: names, arguments, defaults, keys of files, commands, routes, options, fixtures, formats.

``tests/public`` has one list for each place where people type such a name. A line that is gone or differs would break
somebody's script; CONTRIBUTING.md says how a name is deprecated instead. A new line is a promise too, so that it is
written down: ``python -m tests.test_public_names`` writes the lists anew, and the change shows what was promised.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import importlib
import inspect
import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LISTS = Path(__file__).with_name("public")
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *(ROOT / "src/tdqsim/guide").glob("*.md")]
PACKAGES = ("tdqsim", "tdqsim.cics", "tdqsim.client", "tdqsim.cobol", "tdqsim.datasets", "tdqsim.definitions",
            "tdqsim.errors", "tdqsim.facts", "tdqsim.faults", "tdqsim.hosting", "tdqsim.ibmi", "tdqsim.job",
            "tdqsim.languages", "tdqsim.layouts", "tdqsim.probe", "tdqsim.state",
            "tdqsim.testing")  # fmt: skip
OF_EXTRAS = ("tdqsim.pipeline", "tdqsim.pipeline.stages", "tdqsim.testing.strategies", "tdqsim.tracing")
"""What is public and needs an extra, or Hypothesis."""


def _default(value: object) -> str:
    """A default as a line shows it: what has an address or a machine's own value only by its type."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Path):
        return f"Path({str(value)!r})"
    shown = repr(value)
    return f"<{type(value).__name__}>" if " at 0x" in shown or "<" in shown else shown


def _signature(called: Callable[..., Any], *, bound: bool = False) -> str:
    """Names, order, kinds and defaults of arguments; not their types, which mypy compares.

    Args:
        called: the function or class.
        bound: it is a method, whose first argument nobody passes.
    """
    try:
        parameters = list(inspect.signature(called).parameters.values())[bound:]
    except (TypeError, ValueError):
        return "(...)"
    shown, starred = [], False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or each.kind in (each.VAR_POSITIONAL, each.KEYWORD_ONLY)
        name = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        shown.append(name if each.default is each.empty else f"{name}={_default(each.default)}")
        if each.kind is each.POSITIONAL_ONLY:
            shown[-1] += "/"
    return f"({', '.join(shown)})"


def _members(path: str, kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{path}.{name}" for name in kind.__members__)
        return
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("tdqsim"):
            continue
        value = inspect.getattr_static(kind, name)
        plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        method = callable(plain) and not inspect.isclass(plain)
        shown = _signature(plain, bound=not isinstance(value, staticmethod)) if method else ""
        yield f"{path}.{name}{shown}"
    for base in kind.__mro__:  # what only an annotation declares
        if base.__module__.startswith("tdqsim"):
            fields = getattr(base, "__annotations__", {})
            yield from (f"{path}.{name}" for name in fields if not name.startswith("_") and not hasattr(kind, name))


def python_names(packages: tuple[str, ...] = PACKAGES) -> set[str]:
    """Each public name with its arguments; members under the first package that has the class."""
    lines, seen = set(), set()
    for package in packages:
        module = importlib.import_module(package)
        for name in module.__all__:
            value, path = getattr(module, name), f"{package}.{name}"
            if inspect.isclass(value) and value.__module__.startswith("tdqsim"):
                if hasattr(value, "model_rebuild"):
                    value.model_rebuild()  # before its first use, a model does not show its fields
                known = issubclass(value, enum.Enum | BaseException) or getattr(value, "_is_protocol", False)
                lines.add(path if known else path + _signature(value))
                if value not in seen and package != "tdqsim":
                    lines.update(_members(path, value))
                    seen.add(value)
            else:
                lines.add(path + (_signature(value) if inspect.isroutine(value) else ""))
    return lines


def _shown_parts() -> Iterator[str]:
    """What README and guide show of the parts of a region, a task and a job, whose classes no package lists."""
    from tdqsim import Region, System

    words = re.findall(r"\b([a-z]\w*)(?=\.([a-z]\w*))", "".join(page.read_text("utf-8") for page in PAGES))
    with Region() as region, region.task() as task, System() as system:
        for path, owner in (("cics.Region", region), ("cics.Task", task), ("ibmi.Job", system.job())):
            for part, name in set(words):
                held = getattr(owner, part, None) if hasattr(type(owner), part) else None
                kind = type(held)
                listed = sys.modules[f"tdqsim.{path.partition('.')[0]}"].__all__
                if kind.__module__.startswith("tdqsim") and kind.__name__ not in listed and hasattr(held, name):
                    value = inspect.getattr_static(kind, name, None)
                    shown = _signature(value, bound=True) if inspect.isfunction(value) else ""
                    yield f"tdqsim.{path}.{part}.{name}{shown}"


def _keys(path: str, schema: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    """The keys that a JSON schema allows, each with its default and its words."""
    if reference := schema.get("$ref"):
        if reference in above:
            return
        yield from _keys(path, definitions[reference.rsplit("/", 1)[1]], definitions, (*above, reference))
    for name, each in schema.get("properties", {}).items():
        line = f"{path}.{name}"
        if "default" in each:
            line += f" = {json.dumps(each['default'])}"
        if "enum" in each:
            line += (
                f" ({' '.join(str(word) for word in each['enum'] if str(word) == str(word).upper() or word is None)})"
            )
        yield line
        yield from _keys(f"{path}.{name}", each, definitions, above)
    for part in ("items", "additionalProperties", "if", "then", "else"):
        if isinstance(each := schema.get(part), dict):
            yield from _keys(
                path + {"items": "[]", "additionalProperties": ".*"}.get(part, ""), each, definitions, above
            )
    for part in ("anyOf", "allOf", "oneOf"):
        for each in schema.get(part, ()):
            yield from _keys(path, each, definitions, above)


def keys_of_files() -> set[str]:
    """The keys of every kind of file that people write."""
    from tdqsim.cli import main
    from tdqsim.cli.extensions import extensions
    from tdqsim.definitions import PolicyFile, machine
    from tdqsim.server.users import UsersFile

    lines = {f"machine.{key}" for key in machine.FILE_KEYS} | {f"machine.rules.*.{key}" for key in machine.ANSWER_KEYS}
    schemas = {"policy": PolicyFile.model_json_schema(), "users": UsersFile.model_json_schema()}
    for kind in ("definitions", "region", "system", "pipeline", *extensions("schema")):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            main(["check", "--schema", kind])
        schemas[kind] = json.loads(shown.getvalue())
    for kind, schema in schemas.items():
        lines.update(_keys(kind, schema, schema.get("$defs", {})))
    return {line.replace("definitions.groups[].", "definitions.") for line in lines}


def commands() -> set[str]:
    """The commands of ``tdq`` with their arguments, options and defaults."""
    from tdqsim.cli.application import _application

    def walk(path: str, command: Any) -> Iterator[str]:
        yield path
        for each in command.params:
            if each.param_type_name == "argument":
                yield f"{path} {each.name.upper()}{'...' if each.nargs == -1 else ''}{'' if each.required else ' (optional)'}"
                continue
            default = (
                "" if each.default in (None, False, ()) or callable(each.default) else f" = {_default(each.default)}"
            )
            yield f"{path} {' '.join((*each.opts, *each.secondary_opts))}{default}"
        if hasattr(command, "list_commands"):
            with command.make_context(path, [], resilient_parsing=True) as context:
                for name in command.list_commands(context):
                    yield from walk(f"{path} {name}", command.get_command(context, name))

    return set(walk("tdq", _application()))


def routes() -> set[str]:
    """The routes of the HTTP API with their arguments, and the members of requests and answers."""
    from tdqsim.server.host import Host
    from tdqsim.server.http.access import Gate
    from tdqsim.server.http.api import application

    host = Host()
    try:
        document = json.loads(json.dumps(application(host, Gate()).openapi()))
    finally:
        host.stop()
    lines = set()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method not in ("get", "put", "post", "delete", "patch"):
                continue
            lines.add(f"{method.upper()} {path} ({operation['operationId']})")
            lines |= {
                f"{method.upper()} {path} {each['in']} {each['name']}" for each in operation.get("parameters", ())
            }
    for name, schema in document["components"]["schemas"].items():
        lines |= {f"{name}.{member}" for member in schema.get("properties", {})}
    return lines


def options_of_sources() -> set[str]:
    """The options of the data sources of Spark, with their defaults under ``qsam`` and under ``cobol``."""
    from tdqsim.facts import table

    lines = {
        f"qsam and cobol: {row['option']} = {row['default']}" + (f", cobol: {row['cobol']}" if row["cobol"] else "")
        for row in table("qsam_options")
    }
    return lines | {
        f"{row['formats']} ({row['use']}): {row['option']} = {row['default']}" for row in table("queue_options")
    }


def pytest_names() -> set[str]:
    """Fixtures, markers and options that the plugins bring to everybody's pytest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = set()
    for plugin in project["entry-points"]["pytest11"].values():
        text = Path(inspect.getfile(importlib.import_module(plugin))).read_text("utf-8")
        lines |= {f"fixture {name}" for name in re.findall(r"@pytest\.fixture(?:\([^)]*\))?\ndef (tdq_\w+)", text)}
        lines |= {f"option {name}" for name in re.findall(r'"(--tdq-[a-z-]+)"', text)}
        lines |= {f"marker {name}" for name in re.findall(r'"(tdq_\w+)(?:\([^"]*\))?: ', text)}
    return lines


def formats() -> set[str]:
    """The versions of what is written for a later version of tdqsim, or for another region."""
    from tdqsim.core.messages import VERSION
    from tdqsim.core.store._layout import FORMAT
    from tdqsim.facts import table
    from tdqsim.probe.answers import FORMAT as ANSWERS

    own = {"store": FORMAT, "messages between regions": VERSION, "answers of a probe": ANSWERS}
    lines = {f"{name} {version}" for name, version in own.items()}
    return lines | {f"{row['name']} {row['version']}" for row in table("formats")}


BEYOND = {
    "routes": ("fastapi",), "files": ("argon2",), "python_of_extras": ("pyarrow", "pyspark", "hypothesis", "opentelemetry"),
}  # fmt: skip
"""The lists that need extras, and packages of them."""
WAYS: dict[str, Callable[[], set[str]]] = {
    "python": lambda: python_names() | set(_shown_parts()), "python_of_extras": lambda: python_names(OF_EXTRAS),
    "files": keys_of_files, "commands": commands, "routes": routes,
    "spark": options_of_sources, "pytest": pytest_names, "formats": formats,
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_what_users_type_is_as_it_was_promised(name: str) -> None:
    for package in BEYOND.get(name, ()):
        pytest.importorskip(package, reason="needs the extras")
    listed, now = set((LISTS / f"{name}.txt").read_text("utf-8").splitlines()), WAYS[name]()
    assert not sorted(listed - now), "removed or changed: CONTRIBUTING.md says how to deprecate a name"
    assert not sorted(now - listed), "new: python -m tests.test_public_names writes it down"


def test_readme_guide_and_examples_import_only_public_names() -> None:
    private = []
    for page in (*PAGES, *(ROOT / "examples").rglob("*.py")):
        for module, names in re.findall(
            r"^ *from (tdqsim[\w.]*) import (\([^)]*\)|.*)", page.read_text("utf-8"), re.MULTILINE
        ):
            listed = _listed(module) | {each.removeprefix(f"{module}.") for each in PACKAGES}
            private += [f"{page.name}: {module}.{name}" for name in re.findall(r"\w+", names) if name not in listed]
    assert not private


def _listed(module: str) -> set[str]:
    """``__all__`` of a module, from its text: what needs an extra is not imported."""
    path = (ROOT / "src").joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(path.read_text("utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            return set(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return set()


def write_lists() -> None:
    for name, way in WAYS.items():
        (LISTS / f"{name}.txt").write_text("".join(f"{line}\n" for line in sorted(way())), "utf-8")


def test_the_version_stands_in_one_place() -> None:
    import tdqsim

    assert f'version = "{tdqsim.__version__}"' not in (ROOT / "pyproject.toml").read_text("utf-8")
    assert (ROOT / "LICENSE").read_text("utf-8").split()[:2] == ["Apache", "License"]


if __name__ == "__main__":
    sys.exit(write_lists())
