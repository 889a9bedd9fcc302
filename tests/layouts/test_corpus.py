"""Inputs that the fuzzer found worth keeping, and some made by hand."""

from __future__ import annotations

from pathlib import Path

from tests.layouts.fuzz_check import check

CORPUS = Path(__file__).parent / "corpus"


def test_the_corpus_holds():
    inputs = sorted(CORPUS.iterdir())
    assert len(inputs) > 15
    for path in inputs:
        check(path.read_bytes())
