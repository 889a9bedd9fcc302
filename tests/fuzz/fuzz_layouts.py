#!/usr/bin/env python3
"""Coverage-guided fuzzing of the copybook parser, of YAML layouts and of records decoded by them; run by hand.

    pip install atheris
    python tests/fuzz/fuzz_layouts.py CORPUS_DIR tests/layouts/corpus -max_total_time=3600 -max_len=4096 -timeout=10

The first byte chooses copybook or YAML and the reference format, a byte X'FF' parts the text from a record. A refusal
must name file, line and column; a layout must decode any bytes and encode them back. ``-merge=1 tests/layouts/corpus
CORPUS_DIR`` keeps the few inputs that matter.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(include=["tdqsim.layouts"]):
    from tests.layouts.fuzz_check import check


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
