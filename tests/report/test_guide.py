"""The commands of the chapter that are not tdq's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tdqsim.cli.guide import chapter
from tests import apart
from tests.report.conftest import Look

CHAPTER = chapter("report")
COMMANDS = re.findall(r"^    (pytest .*)$", CHAPTER, re.MULTILINE)


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_chapter(command: str, tmp_path: Path, look: Look) -> None:
    (source,) = re.findall(r"```python file=test_payments.py\n(.*?)```", CHAPTER, re.DOTALL)
    (tmp_path / "test_payments.py").write_text(source, "utf-8")
    command = command.replace("-n 2", "-n 1")  # two workers have their test beside this one, and are slow to start
    done = apart.run("-m", *shlex.split(command), "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_payments.py::test_payments_are_taken passed" in look(tmp_path / "tests.html").text
