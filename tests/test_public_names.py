"""What is public is listed in tests/public_names.txt, so that a change of it is seen: a promise to those who use it.

``python -m tests.test_public_names`` writes the list anew.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

LIST = Path(__file__).with_name("public_names.txt")
ROOMS = ("tdqsim", "tdqsim.cics", "tdqsim.datasets", "tdqsim.definitions", "tdqsim.errors", "tdqsim.facts", "tdqsim.faults",
         "tdqsim.hosting", "tdqsim.ibmi", "tdqsim.job", "tdqsim.languages", "tdqsim.layouts", "tdqsim.report",
         "tdqsim.state", "tdqsim.testing")  # fmt: skip


def public_names() -> list[str]:
    found = []
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            found.append(f"{room}.{name}")
            value = getattr(module, name)
            if (
                inspect.isclass(value)
                and value.__module__.startswith("tdqsim")
                and name in ("Region", "Task", "System", "Job", "JobClass", "SubmittedJob")
            ):
                members = (member for member in dir(value) if not member.startswith("_"))
                found += [f"{room}.{name}.{member}" for member in members if room != "tdqsim"]
    return sorted(found)


def test_the_public_names_are_those_that_are_listed() -> None:
    listed = LIST.read_text("ascii").split()
    assert public_names() == listed, (
        "python -m tests.test_public_names writes the list; CHANGELOG.md tells of the change"
    )


def test_the_version_stands_in_one_place() -> None:
    import tdqsim

    root = Path(__file__).parents[1]
    assert f'version = "{tdqsim.__version__}"' not in (root / "pyproject.toml").read_text("utf-8")
    assert (root / "LICENSE").read_text("utf-8").split()[:2] == ["Apache", "License"]


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in public_names()), "ascii")
