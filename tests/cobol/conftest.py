"""COBOL programs in tests: written as text, compiled by GnuCOBOL where it is there, run as tasks."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.cobol import CobolPrograms

HEAD = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. {name}.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
"""


class Workshop:
    """A region with queues IN, OUT and LOGQ, and a folder of COBOL sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.region = Region(
            [
                define_tdqueue(name="IN", type="INTRA"),
                define_tdqueue(name="OUT", type="INTRA"),
                define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
            ]
        )
        self.programs = CobolPrograms(self.region, sources=[folder], cache=folder / "compiled")

    def program(self, name: str, storage: str, procedure: str, linkage: str = "") -> None:
        """Write a program in fixed format; the parts are given without their margin."""
        linkage = f"       LINKAGE SECTION.\n{_in_margin(linkage)}" if linkage else ""
        text = (
            f"{HEAD.format(name=name)}{_in_margin(storage)}{linkage}       PROCEDURE DIVISION.\n{_in_margin(procedure)}"
        )
        (self.folder / f"{name}.cbl").write_text(text)

    def run(self, name: str):
        """Run a program as a task of its own."""
        handle = self.region.start(self.programs.handler(name))
        self.region.run()
        return handle.result()

    def out(self) -> list[bytes]:
        """What is on OUT."""
        return self.region.peek("OUT")


def _in_margin(text: str) -> str:
    lines = textwrap.indent(textwrap.dedent(text).strip("\n"), " " * 7).split("\n") if text.strip() else []
    return "".join(f"{part}\n" for line in lines for part in _within(line))


def _within(line: str) -> list[str]:
    """A line cut at blanks so that nothing stands behind column 72."""
    parts = []
    while len(line) > 72:
        cut = line.rindex(" ", 0, 72)
        parts.append(line[:cut])
        line = " " * 15 + line[cut + 1 :]
    return [*parts, line]


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path)
    yield made
    made.region.close()
