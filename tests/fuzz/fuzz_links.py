#!/usr/bin/env python3
"""Coverage-guided fuzzing of the ends of links; run by hand, never collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_links.py CORPUS_DIR -max_total_time=3600 -max_len=600 -timeout=60

The first byte of an input chooses the end and how the rest becomes messages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(
    include=["tdqsim.core.messages", "tdqsim.core.transport", "tdqsim.cics.ship", "tdqsim.ibmi.ddm"]
):
    from tests.server.links.frames_check import check


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
