"""Words that GnuCOBOL reserves and Enterprise COBOL does not are names that programs may use."""

from __future__ import annotations

import subprocess

import pytest

from tdqsim.facts import table

pytestmark = pytest.mark.cobc


def reserved(*options: str) -> set[str]:
    """What the compiler says that it reserves."""
    done = subprocess.run(["cobc", *options, "--list-reserved"], capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[0] for row in rows if len(row) > 1 and row[1] in ("Yes", "No")}


def test_words_are_those_that_the_compiler_reserves_beyond_ibms() -> None:
    version = subprocess.run(["cobc", "--version"], capture_output=True, text=True, check=True).stdout
    if "GnuCOBOL) 3.1" not in version:
        pytest.skip("the words are those of GnuCOBOL 3.1")
    freed = {row["name"] for row in table("cobol_words")}
    assert freed - (reserved("-std=ibm") - reserved("-std=ibm-strict")) == set()
