#!/usr/bin/env python3
"""Coverage-guided fuzzing of the host servers; run by hand, never collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_hostservers.py CORPUS_DIR -max_total_time=3600 -max_len=2000 -timeout=20

The first byte of an input chooses the server and whether somebody has signed on, the rest is what a client sends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(include=["tdqsim.server.hostservers", "tdqsim.definitions.cl_command", "tdqsim.ibmi"]):
    from tests.server.hostservers.frames_check import check


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
