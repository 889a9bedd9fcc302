"""Inputs that a coverage-guided fuzzer found worth keeping (``tests/fuzz.py``)."""

from __future__ import annotations

from pathlib import Path

from tests.datasets.corpus_check import check

CORPUS = Path(__file__).parent / "corpus"


def test_the_corpus_holds(tmp_path):
    inputs = sorted(CORPUS.iterdir())
    assert inputs
    for file in inputs:
        check(file.read_bytes(), tmp_path / "data")
