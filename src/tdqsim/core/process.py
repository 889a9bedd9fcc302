"""Running another program to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_program(
    command: Sequence[str],
    *,
    folder: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    encoding: str | None = None,
    errors: str = "replace",
) -> subprocess.CompletedProcess[str]:
    """Run a program without a shell and capture its output as text; a nonzero exit status raises no exception.

    Args:
        command: the program and its arguments. The caller must not let users of a server choose the program.
        folder: its current directory; by default that of this process.
        environment: its environment variables; by default those of this process.
        timeout: seconds that it may take.
        encoding: the encoding of its output; by default that of this process.
        errors: how bytes that are not in that encoding are decoded.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took longer and was killed.
    """
    return subprocess.run(  # noqa: S603  (see ``command``)
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding=encoding, errors=errors,
        check=False, timeout=timeout,
    )  # fmt: skip
