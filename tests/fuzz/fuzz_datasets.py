#!/usr/bin/env python3
"""Coverage-guided fuzzing of the record readers; run by hand, never collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_datasets.py CORPUS_DIR -max_total_time=3600 -max_len=4096 -rss_limit_mb=512 -timeout=10

The first byte chooses the format, the rest is the file. Each input is read three ways (stop, skip, accept) and held
against the slow model; names, DCB texts, labels, detection and the internal reader get it too. New inputs that reach
new code land in CORPUS_DIR; ``-set_cover_merge=1 NEW_DIR tests/datasets/corpus CORPUS_DIR`` (the environment's python
first in PATH) puts the few that matter into NEW_DIR, which then takes the place of the corpus.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(include=["tdqsim.datasets", "tdqsim.core.codepage"]):
    from tests.datasets.corpus_check import check

PATH = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "data"


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data, PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
