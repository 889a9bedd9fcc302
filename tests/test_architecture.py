"""The house: which room imports which, and what keeps a room simple, read from the sources."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tdqsim.testing._rings import rings

pytestmark = pytest.mark.house

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tdqsim"
PACKAGE = "tdqsim"

BASE = {"core", "facts"}
MIDDLE = BASE | {"definitions", "datasets", "layouts"}
INTERFACES = {"state", "languages", "hosting"}
CORE = MIDDLE | {"cics", "ibmi", "faults", "report", "testing", "job"} | INTERFACES
BELOW = {
    "core": set(),
    "facts": {"core"},
    "definitions": BASE,
    "datasets": BASE,
    "layouts": BASE,
    "cics": MIDDLE,
    "ibmi": MIDDLE,
    "job": MIDDLE | {"cics", "ibmi"},
    "faults": MIDDLE | {"cics", "ibmi"},
    "state": MIDDLE | {"cics", "ibmi"},
    "languages": MIDDLE | {"cics"},
    "hosting": MIDDLE | {"cics", "ibmi"},
    "report": MIDDLE | {"cics", "ibmi"},
    "testing": CORE,
    "cli": CORE,
    "pipeline": CORE | {"cli"},
    "cobol": CORE | {"cli", "pipeline"},
    "server": CORE | {"cli", "pipeline", "cobol", "tracing"},
    "probe": CORE | {"cli", "pipeline", "cobol", "server"},
    "client": CORE | {"cli", "server"},
    "tracing": CORE,
}
"""Each room and the rooms it may use. A room may always use ``errors``, ``lazy`` and the version."""

_ABOVE_THE_API = {"cics.spi", "cics.text", "cics.inspection", "cics.ship", "cics.commands", "cics.region"}
_COMMANDS = {"cics.ts", "cics.files", "cics.programs", "cics.terminal"}
_BEHAVIOUR = {
    f"cics.kernel.{name}"
    for name in ("command", "control", "enqueue", "handling", "interval", "issue", "levels", "task", "tasks")
}
INSIDE_CICS = {
    "model": {"cics.uow", "cics.queues", *_BEHAVIOUR, *_COMMANDS, *_ABOVE_THE_API},
    "kernel": {"cics.queues", *_COMMANDS, *_ABOVE_THE_API},
    "uow": {"cics.queues.td", *_COMMANDS, *_ABOVE_THE_API},
    "queues": _ABOVE_THE_API,
    "ts": _ABOVE_THE_API,
    "files": _ABOVE_THE_API,
    "programs": _ABOVE_THE_API,
    "terminal": _ABOVE_THE_API,
    "spi": {"cics.text", "cics.inspection", "cics.ship", "cics.commands", "cics.region"},
    "text": {"cics.inspection", "cics.ship", "cics.region"},
    "inspection": {"cics.ship", "cics.region"},
}
"""Each folder of cics and what nothing in it may know, not even for types."""

COMMAND_LINE_ONLY = {"rich", "typer"}
LARGEST_RING = 6


def paths() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def shown(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def module_of(path: Path) -> str:
    parts = (PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Everything in a module, gone through once for all tests."""
    return tuple(ast.walk(tree_of(path)))


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """The syntax of the whole package is a hundred megabytes, which nobody needs afterwards."""
    yield
    for known in (tree_of, nodes_of):
        known.cache_clear()


@cache
def imports_of(path: Path) -> frozenset[str]:
    """The full names of all modules and names a file imports, wherever in it, for types too."""
    package = [PACKAGE, *path.relative_to(SOURCE).parts[:-1]]
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *((node.module or "").split(".") if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(found)


PATHS = paths()


def breaking(rule: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """The files that break a rule, and by what."""
    return {shown(path): found for path in PATHS if (found := sorted(rule(path)))}


def not_below(path: Path) -> set[str]:
    """Rooms that a module uses and that are not below its own."""
    room = room_of(path)
    if room not in BELOW:
        return set()  # errors, lazy and the catalogue
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith(f"{PACKAGE}.")}
    used -= BELOW[room] | {room, "errors", "lazy", "__version__"}
    # an extension may take what users take: the names of the package itself
    return {each for each in used if f"{PACKAGE}.{each}" in MODULES} if room in EXTENSIONS else used


def test_a_module_imports_only_from_rooms_below_it() -> None:
    assert breaking(not_below) == {}


def above_in_cics(path: Path) -> set[str]:
    """Modules of cics that a module of cics may not know."""
    if room_of(path) != "cics":
        return set()
    parts = path.relative_to(SOURCE / "cics").parts
    forbidden = INSIDE_CICS.get(parts[0], set()) if len(parts) > 1 else set()
    return {
        module
        for name in imports_of(path)
        for module in [name.removeprefix(f"{PACKAGE}.")]
        if any(module == above or module.startswith(f"{above}.") for above in forbidden) and is_module(name)
    }


def test_a_folder_of_cics_knows_nothing_above_it() -> None:
    assert breaking(above_in_cics) == {}


@pytest.mark.parametrize(("room", "word"), [("core", "RegionClosed"), ("core", "SystemClosed"), ("ibmi", "RegionClosed"),
                                            ("cics", "SystemClosed")])  # fmt: skip
def test_the_end_of_a_product_is_told_by_its_own_room(room: str, word: str) -> None:
    named = [shown(path) for path in PATHS if room_of(path) == room and word in path.read_text("utf-8")]
    assert named == []


def is_module(name: str) -> bool:
    return name in MODULES


MODULES = {module_of(path): path for path in PATHS}


def command_line_libraries(path: Path) -> set[str]:
    """Libraries of the command line that a module elsewhere uses; extensions have their commands in ``tdq``."""
    if room_of(path) == "cli" or "tdq" in module_of(path).split("."):
        return set()
    used = {name.split(".")[0] for name in imports_of(path)} & COMMAND_LINE_ONLY
    if room_of(path) == "pipeline":
        used -= {"rich"}  # its progress bar, imported where there is a terminal
    return used


def test_the_libraries_of_the_command_line_stay_there() -> None:
    assert breaking(command_line_libraries) == {}


def test_only_the_module_of_spans_imports_opentelemetry_and_only_a_function_imports_that_module() -> None:
    beginnings = [
        (shown(path), ast.unparse(node))
        for path in PATHS
        for node in tree_of(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    tracers = ("opentelemetry", "tdqsim.tracing")
    assert {file for file, text in beginnings if any(each in text for each in tracers)} == {"tracing.py"}


def test_every_room_is_known_here() -> None:
    rooms = {entry.name for entry in SOURCE.iterdir() if (entry / "__init__.py").is_file()}
    assert rooms <= BELOW.keys()


# -- private means of the room ----------------------------------------------------------------------------------------


def private_uses(path: Path) -> Iterator[str]:
    """Private modules and names of other rooms that a file imports."""
    for name in imports_of(path):
        parts = name.split(".")
        is_private = any(part.startswith("_") and not part.startswith("__") for part in parts[1:])
        if is_private and parts[0] == PACKAGE and parts[1] != room_of(path):
            yield name


def test_nothing_private_is_used_across_rooms() -> None:
    assert breaking(private_uses) == {}


PUBLIC_MODULES = {"errors.py", "job.py", "testing/strategies.py", "tracing.py"}
"""Modules that are public by themselves, and so list their names as a package does; the last two need a package each."""


def lists_of_public_names(path: Path) -> Iterator[str]:
    """``__all__`` in a module that is neither a package nor public by itself."""
    if path.name != "__init__.py" and shown(path) not in PUBLIC_MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in ast.unparse(node).partition("=")[0]:
                yield "__all__"


def test_only_packages_list_public_names() -> None:
    assert breaking(lists_of_public_names) == {}


EXTENSIONS = {"cobol", "server", "client", "pipeline", "probe", "tracing"}


def deep_imports(path: Path) -> set[str]:
    """Modules inside a room of the core that an extension imports from: it may take public names only."""
    if room_of(path) not in EXTENSIONS:
        return set()
    used = {module for name in imports_of(path) for module in (name, name.rpartition(".")[0]) if module in MODULES}
    return {module for module in used if module.count(".") > 1 and module.split(".")[1] not in EXTENSIONS}


def test_an_extension_takes_public_names_of_the_core_only() -> None:
    assert breaking(deep_imports) == {}


@cache
def is_lazy(package: str) -> bool:
    """Whether a package imports its names on first use."""
    body = tree_of(MODULES[package]).body if package in MODULES and is_package(package) else []
    return "(__getattr__, __dir__)" in {ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)}


def unlisted(path: Path) -> Iterator[str]:
    """Names taken from a package that imports its names on first use, and does not have them.

    No type checker sees that.
    """
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and is_lazy(node.module or ""):
            package = importlib.import_module(node.module or "")
            names = {alias.name for alias in node.names}
            yield from (
                each
                for name in names
                if (each := f"{node.module}.{name}") not in MODULES and not hasattr(package, name)
            )


def test_what_is_taken_from_a_package_of_lazy_names_is_there() -> None:
    assert breaking(unlisted) == {}


def unused(path: Path) -> Iterator[str]:
    """Private names of a module that the module does not use, and so nobody."""
    used = Counter(re.findall(r"\w+", path.read_text("utf-8")))
    for node in tree_of(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        for name in (getattr(each, "id", getattr(each, "name", "")) for each in targets):
            if name.startswith("_") and not name.startswith("__") and used[name] == 1:
                yield name


def test_no_private_name_is_left_behind() -> None:
    assert breaking(unused) == {}


# -- no rings, no props -----------------------------------------------------------------------------------------------


def graph() -> dict[str, set[str]]:
    """Which module knows which, type-only imports counted. A package is used where a name of its own is taken from it."""
    found: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        imported = imports_of(path)
        whole = {alias.name for node in nodes_of(path) if isinstance(node, ast.Import) for alias in node.names}
        own = {each.rpartition(".")[0] for each in imported if each not in MODULES}
        found[name] = {each for each in imported if each in MODULES and (not is_package(each) or each in whole | own)}
        found[name] -= {name}
    return found


def is_package(name: str) -> bool:
    return MODULES[name].name == "__init__.py"


def test_rings_are_found() -> None:
    assert [sorted(ring) for ring in rings({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})] == [["a", "b", "c"]]


def test_no_ring_is_larger_than_six_modules() -> None:
    found = [sorted(ring) for ring in rings(graph()) if len(ring) > LARGEST_RING]
    assert not found, "\n".join(f"{len(ring)}: {' '.join(ring)}" for ring in found)


def for_type_checkers(path: Path) -> Iterator[str]:
    """Classes with members that only a type checker sees."""
    for node in nodes_of(path):
        inside = node.body if isinstance(node, ast.ClassDef) else []
        tests = [ast.unparse(inner.test) for inner in inside if isinstance(inner, ast.If)]
        if any("TYPE_CHECKING" in test for test in tests):
            yield getattr(node, "name", "")


def test_no_class_has_members_for_type_checkers_only() -> None:
    assert breaking(for_type_checkers) == {}


ROOMS_OF_THINGS = {"cics", "ibmi", "server", "testing"}
THING = re.compile(r"(^|_)(task|issuer|queue|tdqueue|uow|unit|unit_of_work|region|job|system)$")
ACTIONS = {"in_a_task", "as_task"}
"""Functions that do something in a task, and return what that gives."""


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is Any, or a union with it."""
    if isinstance(annotation, ast.BinOp):
        return is_any(annotation.left) or is_any(annotation.right)
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def things_of_any_type(path: Path) -> Iterator[str]:
    """Parameters, attributes and results that are a task, queue, unit of work, region, job or system of the type Any."""
    if room_of(path) not in ROOMS_OF_THINGS:
        return
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            yield from (
                f"{node.name}({each.arg})" for each in given if THING.search(each.arg) and is_any(each.annotation)
            )
            if THING.search(node.name) and node.name not in ACTIONS and is_any(node.returns):
                yield f"{node.name}()"
        elif isinstance(node, ast.AnnAssign) and is_any(node.annotation):
            name = getattr(node.target, "attr", getattr(node.target, "id", ""))
            if THING.search(name):
                yield name


def test_no_task_queue_unit_of_work_region_job_or_system_is_any() -> None:
    assert breaking(things_of_any_type) == {}


def test_no_two_classes_are_called_the_same() -> None:
    found: dict[str, list[str]] = {}
    for path in PATHS:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                # what is private is told apart within core and CICS
                room = room_of(path) if node.name.startswith("_") else ""
                if room in {"", "core", "cics"}:
                    found.setdefault(f"{room} {node.name}", []).append(shown(path))
    same = {name: where for name, where in found.items() if len(where) > 1}
    assert not same, same


def test_no_command_is_declared_twice_on_the_facade() -> None:
    tree = tree_of(SOURCE / "cics" / "commands.py")
    facade = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Task")
    names = Counter(target.id for node in facade.body if isinstance(node, ast.Assign) for target in node.targets)  # type: ignore[attr-defined]
    assert {name: count for name, count in names.items() if count > 1} == {}


def named_in_tables(page: str, heading: str) -> list[str]:
    """The names in the first column of the first table after a heading."""
    rows = page.partition(heading)[2].lstrip("\n").split("| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_maps_of_the_parts_agree_with_the_tree() -> None:
    """CONTRIBUTING, the architecture chapter and the folders name the same parts, and the rules know each room."""
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")} - {"guide"}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    chapter = (SOURCE / "guide" / "architecture.md").read_text("utf-8")
    contributing = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    assert sorted(named_in_tables(contributing, "## Where things are")) == sorted(folders | modules)
    assert sorted(named_in_tables(chapter, "## The parts")) == sorted(folders | modules)
    assert sorted(BELOW) == sorted((folders | modules) - {"errors", "lazy"})
    parts = {path.parent.name for path in (SOURCE / "cics").glob("*/__init__.py")}
    assert sorted(named_in_tables(chapter, "Inside `cics`:")) == sorted(parts)
