"""Files that the fuzzer found worth keeping, and some made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tests.pipeline.fuzz_check import check

CORPUS = Path(__file__).parent / "corpus"


def test_the_corpus_holds(tmp_path):
    inputs = sorted(CORPUS.iterdir())
    assert len(inputs) > 15
    for path in inputs:
        check(path.read_bytes(), tmp_path / "data")
