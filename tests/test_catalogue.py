"""The public names of the package: each there, and none imported before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tdqsim


def test_the_public_names_are_shown_by_dir() -> None:
    assert set(tdqsim.__all__) <= set(dir(tdqsim))


def test_a_public_name_is_there() -> None:
    assert [name for name in tdqsim.__all__ if getattr(tdqsim, name) is None] == []


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Regoin'"):
        _ = tdqsim.Regoin  # type: ignore[attr-defined]


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import tdqsim", ["pydantic", "yaml", "structlog", "lmdb", "greenlet", "typer", "rich", "tdqsim.cics"]),
        (
            "import tdqsim; tdqsim.Region",
            [
                "pydantic",
                "structlog",
                "typer",
                "rich",
                "tdqsim.ibmi",
                "tdqsim.cli",
                "tdqsim.testing",
                "importlib.metadata",
                "sortedcontainers",
                "logging",
                "random",
                "tempfile",
                "threading",
                "tdqsim.cics.stepped_task",
            ],
        ),
        ("import tdqsim; tdqsim.System", ["typer", "rich", "tdqsim.cics", "tdqsim.cli"]),
        ("import tdqsim.cics, tdqsim.testing, tdqsim.ibmi.systemfile", ["opentelemetry", "tdqsim.tracing"]),
        ("import tdqsim.cli", ["pydantic", "rich", "tdqsim.cics", "tdqsim.ibmi"]),
        ("import tdqsim.ibmi.systemfile", ["cryptography", "fastapi", "argon2"]),  # a command of a system needs none
    ],
)
def test_what_is_not_used_is_not_imported(statement: str, absent: list[str]) -> None:
    assert not modules_after(statement) & set(absent)
