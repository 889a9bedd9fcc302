from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tdqsim.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Tdq = Callable[..., Ended]


@pytest.fixture
def tdq(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tdq:
    """Run ``tdq`` in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("TDQ_REGION", "TDQ_STORE", "TDQ_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Ended:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ended(code, captured.out, captured.err)

    return run
