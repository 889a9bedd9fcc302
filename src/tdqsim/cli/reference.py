"""The Python API as Markdown, made from docstrings, for the chapter *reference* and its pages in the site.

Public are the names in ``__all__`` of the modules below, and the members of the classes that users call most.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any, Final

MODULES: Final = (
    "tdqsim",
    "tdqsim.cics",
    "tdqsim.ibmi",
    "tdqsim.definitions",
    "tdqsim.datasets",
    "tdqsim.layouts",
    "tdqsim.testing",
    "tdqsim.state",
    "tdqsim.faults",
    "tdqsim.languages",
    "tdqsim.hosting",
    "tdqsim.facts",
    "tdqsim.job",
    "tdqsim.errors",
)
"""The public modules, most important first."""
_WIDTH: Final = 80
_SECTION: Final = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Example|Examples|Note):$")
_ITEM: Final = re.compile(r"^(\*{0,2}[\w., ]+?)(?: \([^)]*\))?: (.*)$")
_ROLE: Final = re.compile(r":(?:class|meth|func|mod|data|attr|exc|const|obj):`~?([^`]+)`")
_HEAD: Final = """\
# Python API

The public modules with their names. `tdq guide --html DIR` writes a page for each module, with signatures and
descriptions; `help(tdqsim.Region)` in Python shows the same text. Other names are internal and may
change.
"""


def overview() -> str:
    """The chapter: each module with the first sentence of each name."""
    parts = [_HEAD]
    for name in MODULES:
        module = importlib.import_module(name)
        rows = [f"| `{each}` | {_cell(_summary(value))} |" for each, value in _members(module)]
        parts.append(
            "\n".join([f"## {name}\n", _summary(module), "", "| name | description |", "| --- | --- |", *rows])
        )
    return "\n\n".join(parts) + "\n"


def page(name: str) -> str:
    """The page of a module: its names with signatures and docstrings.

    Args:
        name: one of :data:`MODULES`.
    """
    module = importlib.import_module(name)
    parts = [f"# {name}", _markdown(inspect.getdoc(module) or "")]
    for each, value in _members(module):
        home = _home(value, name)
        if home is not None:
            parts.append(f"## {each}\n\nSee [{home}.{each}]({home}.md).")
            continue
        parts += [f"## {each}", *_described(each, value)]
        if inspect.isclass(value):
            for member, function in _methods(value):
                parts += [f"### {each}.{member}", *_described(member, function)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _members(module: ModuleType) -> list[tuple[str, Any]]:
    return [(name, getattr(module, name)) for name in sorted(module.__all__) if not name.startswith("__")]


def _home(value: object, here: str) -> str | None:
    """The module below ``tdqsim`` that documents a name which the package itself exports again."""
    if here != "tdqsim":
        return None
    name = getattr(value, "__name__", "")
    others = (each for each in MODULES if each != here)
    return next((each for each in others if getattr(importlib.import_module(each), name, None) is value), None)


def _methods(owner: type) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(owner)):
        value = inspect.getattr_static(owner, name)
        ours = any(name in base.__dict__ for base in owner.__mro__ if base.__module__.startswith("tdqsim"))
        if not name.startswith("_") and ours and (callable(getattr(owner, name, None)) or isinstance(value, property)):
            yield name, value


def _described(name: str, value: Any) -> Iterator[str]:
    target = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if callable(target) and not (inspect.isclass(target) and issubclass(target, Enum)):
        yield f"```python\n{name}{_signature(target)}\n```"
    if callable(target) or isinstance(target, property):
        yield _markdown(inspect.getdoc(target) or "")


def _signature(target: Callable[..., object]) -> str:
    """The signature without ``self``, one parameter on each line if it is long."""
    try:
        signature = inspect.signature(target)
    except ValueError:  # an exception that has the constructor of a built-in exception
        return "(*args)"
    shown = [each for each in signature.parameters.values() if each.name not in ("self", "task")]
    text = _plain(str(signature.replace(parameters=shown)))
    if len(text) < _WIDTH:
        return text
    lines = "".join(f"    {_plain(str(each))},\n" for each in shown)
    answer = text.rpartition(") -> ")[2] if ") -> " in text else ""
    return f"(\n{lines})" + (f" -> {answer}" if answer else "")


def _plain(signature: str) -> str:
    """The signature without the quotes of annotations and the module names in them."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature).replace("tdqsim.", "")


def _summary(value: object) -> str:
    if not (callable(value) or inspect.ismodule(value)):
        return type(value).__name__
    return " ".join(_markdown(inspect.getdoc(value) or "").partition("\n\n")[0].split())


def _markdown(text: str) -> str:
    """A docstring as Markdown: its sections (Args, Raises...) become lists."""
    lines, listing = list[str](), False
    for line in _ROLE.sub(r"`\1`", text).replace("``", "`").splitlines():
        if _SECTION.match(line):
            lines += ["", f"**{line.replace('Args', 'Parameters')}**", ""]
            listing = True
            continue
        listing = listing and (not line or line.startswith(" "))
        lines.append(_list_line(line) if listing else line)
    return "\n".join(lines).strip()


def _list_line(line: str) -> str:
    item = _ITEM.match(line.removeprefix("    ")) if line.startswith("    ") and line[4:5] != " " else None
    return f"- `{item[1]}`: {item[2]}" if item else f"  {line.strip()}" if line else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
