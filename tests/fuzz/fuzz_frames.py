#!/usr/bin/env python3
"""Coverage-guided fuzzing of the pipeline's record readers; run by hand, never collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_frames.py CORPUS_DIR tests/pipeline/corpus -max_total_time=3600 -max_len=600 -timeout=10

The first byte chooses the format, the second how the file is cut up, the rest is the file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("src", ".")]

with atheris.instrument_imports(include=["tdqsim.pipeline.record_locations", "tdqsim.pipeline.splits"]):
    from tests.pipeline.fuzz_check import check

PATH = str(Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "data")


def test_one_input(data: bytes) -> None:
    """One turn of the fuzzer: an escaping exception is a finding."""
    check(data, PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
