"""Python source of a test that repeats a failure."""

from __future__ import annotations

from typing import Any, Final

from tdqsim.faults.plan import FaultPlan, shown

_INDENT: Final = " " * 4


def call_of(function: str, scenario: str, token: str, *, faults: FaultPlan) -> str:
    """A call of ``replay``."""
    more = f", faults={_list_of(faults)}" if faults.faults else ""
    return f"{function}({scenario}, {token!r}{more})"


def test_of(function: str, arguments: tuple[object, ...], *, faults: FaultPlan, **options: object) -> str:
    """A test that calls a function of the kit with what has failed.

    Args:
        function: its name.
        arguments: the first is the scenario, a function; others may be functions or values of its module, too.
        faults: the faults that happen.
        options: further arguments.
    """
    scenario = arguments[0]
    names: list[str] = []
    written = [_written(each, scenario, names) for each in arguments]
    written += [f"{name}={_written(value, scenario, names)}" for name, value in options.items()]
    if faults.faults:
        written.append(f"faults={_list_of(faults)}")
    kinds = sorted({type(fault).__name__ for fault in faults.faults})
    module = getattr(scenario, "__module__", "")
    lines = [f"from tdqsim.faults import {', '.join(kinds)}"] if kinds else []
    lines.append(f"from tdqsim.testing import {function}")
    if names and module:
        lines.append(f"from {module} import {', '.join(dict.fromkeys(names))}")
    title = getattr(scenario, "__name__", "scenario").strip("<>")
    lines += ["", "", f"def test_{title}_in_the_order_that_failed():", f"{_INDENT}{function}("]
    lines += [f"{_INDENT * 2}{each}," for each in written]
    return "\n".join([*lines, f"{_INDENT})", ""])


test_of.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it where it is imported


def _list_of(faults: FaultPlan) -> str:
    return f"[{', '.join(shown(fault) for fault in faults.faults)}]"


def _written(value: object, scenario: object, names: list[str]) -> str:
    """A value as source: the name under which the scenario's module has it, if it has it, else its repr."""
    known: dict[str, Any] = getattr(scenario, "__globals__", {})
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    found = next((name for name, each in known.items() if each is value), None)
    if found is not None:
        names.append(found)
        return found
    return str(getattr(value, "__name__", None) or repr(value))
