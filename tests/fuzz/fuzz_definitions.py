#!/usr/bin/env python3
"""Coverage-guided fuzzing of the imports of definitions; run by hand, never collected by pytest.

    pip install atheris pydantic pyyaml
    python tests/fuzz/fuzz_definitions.py CORPUS_DIR -max_total_time=600 -max_len=2048 -rss_limit_mb=512 -timeout=10

The first byte chooses the form (DFHCSDUP commands, listing, DFHDCT macros, CL, YAML), the rest is the text. What is
imported must be written and read again to the same. ``-set_cover_merge=1 NEW_DIR tests/definitions/corpus CORPUS_DIR``
(the environment's python first in PATH) puts the few inputs that matter into NEW_DIR.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(include=["tdqsim.definitions"]):
    from tests.definitions.corpus_check import check


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
