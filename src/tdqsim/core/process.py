"""Running another program to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["run_program"]


def run_program(
    command: Sequence[str],
    *,
    folder: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without a shell and keep what it writes, as text; a bad exit status is no error here.

    Args:
        command: the program and its arguments. The caller sees to it that no user of a server chooses the program.
        folder: its current directory; this process's unless given.
        environment: its environment variables; this process's unless given.
        timeout: seconds that it may take.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took longer, and was ended.
    """
    return subprocess.run(  # noqa: S603  (see ``command``)
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False,
        timeout=timeout,
    )  # fmt: skip
