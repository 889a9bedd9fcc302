"""Run a piece of Python in a process of its own, for tests that kill it or look from outside."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from tests import apart

_HEAD = (
    "import os, signal, sys\nfrom pathlib import Path\nfrom tdqsim.core.store import *\nfrom tdqsim.errors import *\n"
)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start ``code``; ``sys.argv[1:]`` are the arguments."""
    text = _HEAD + textwrap.dedent(code)
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def forked(code: str, *arguments: object) -> apart.Process:
    """As :func:`start`, for a test that kills the process; its errors are those of this one."""
    return apart.Process("-c", _HEAD + textwrap.dedent(code), *arguments)


def run(code: str, *arguments: object) -> tuple[int, str, str]:
    """Run ``code`` to its end: return code, output, errors."""
    done = apart.run("-c", _HEAD + textwrap.dedent(code), *arguments)
    return done.returncode, done.stdout, done.stderr
