"""Overruns of drawn sizes, in cases and in pseudo-conversations: each ends as ASRA at its statement."""

from __future__ import annotations

import random

import pytest

from tdqsim import Abend, define_terminal
from tdqsim.cobol.case_process import run_cases_apart
from tests.rules import rule

pytestmark = [pytest.mark.cobc, pytest.mark.rule("COBOL-OVERRUN")]

AREA = "01 DFHCOMMAREA.\n    05 A-SIZE PIC 9(5).\n    05 A-REST PIC X(30000)."
WRITE = "MOVE ALL 'Z' TO A-REST (1:A-SIZE)"
DIGITS = 5


def drawn(seed: int) -> list[tuple[int, int]]:
    """Lengths of COMMAREAs, each with the number of bytes that are written behind the digits."""
    numbers = random.Random(seed)
    sizes = [numbers.randint(DIGITS + 1, 300) for _ in range(6)]
    edges = [(size, size - DIGITS + beyond) for size in sizes[:2] for beyond in (0, 1)]
    return [*edges, *((size, numbers.randint(1, 400)) for size in sizes[2:4]), *((size, 30000) for size in sizes[4:])]


@pytest.mark.parametrize("seed", range(2))
def test_cases_with_overruns_of_drawn_sizes_are_asra_and_the_others_run(workshop, seed):
    workshop.program("OVERRUN", "77 X PIC 9.", f"{WRITE}\nGOBACK.", AREA)
    folder = workshop.folder
    (folder / "region.yaml").write_text("definitions: [d.yaml]\ncobol: {sources: [.], cache: compiled}\n")
    (folder / "d.yaml").write_text("group: G\ntdqueue:\n- {name: OUTQ, type: INTRA}\n")
    lines = ["cases:"]
    for number, (size, written) in enumerate(drawn(seed)):
        before, after = f"{written:05}".ljust(size, "-"), f"{written:05}{'Z' * written}".ljust(size, "-")
        then = f"{{commarea: '{after}'}}" if len(after) == size else "{}"
        lines.append(f"- {{name: case {number}, when: [{{program: OVERRUN, commarea: '{before}'}}], then: {then}}}")
    path = folder / "drawn.case.yaml"
    path.write_text("\n".join(lines) + "\n")
    results = list(run_cases_apart([path]))
    for (size, written), result in zip(drawn(seed), results, strict=True):
        assert result.passed == (written <= size - DIGITS), str(result)
        if not result.passed:
            assert [str(each) for each in result.differences] == ["abend: expected none, found ASRA"]
            assert f"{folder / 'OVERRUN.cbl'}:11: protection exception (S0C4): byte " in str(result)
            assert f"of the COMMAREA, which has {size} bytes" in str(result)


@pytest.mark.parametrize("seed", range(2, 4))
def test_pseudo_conversations_with_overruns_of_drawn_sizes_are_asra(workshop, seed):
    workshop.program(
        "CONVERSE",
        "01 W.\n    05 W-SIZE PIC 9(5).\n    05 W-REST PIC X(300).\n77 L PIC S9(4) COMP.\n"
        "01 P.\n    05 P-LENGTH PIC 9(5).\n    05 P-SIZE PIC 9(5).",
        f"""
        IF EIBCALEN = 0
            EXEC CICS READQ TD QUEUE('IN') INTO(P) END-EXEC
            MOVE P-SIZE TO W-SIZE
            MOVE P-LENGTH TO L
            EXEC CICS RETURN TRANSID('CONV') COMMAREA(W) LENGTH(L) END-EXEC
        END-IF
        {WRITE}
        EXEC CICS RETURN END-EXEC.
        """,
        AREA,
    )
    region = workshop.region
    region.install([define_terminal(name="T001")])
    region.register("CONV", workshop.programs.handler("CONVERSE"))
    for size, written in drawn(seed):
        region.writeq_td("IN", f"{size:05}{written:05}".encode())
        first = region.screens.type("T001", "CONV")
        region.run()
        first.result()
        task = region.screens.type("T001", "GO ON")
        region.run()
        if written <= size - DIGITS:
            task.result()
            continue
        with pytest.raises(Abend) as caught:
            task.result()
        assert caught.value.code == rule("COBOL-OVERRUN").message == "ASRA"
        assert "CONVERSE.cbl:24: protection exception (S0C4): byte " in str(caught.value.cause)
        assert f"of the COMMAREA, which has {size} bytes" in str(caught.value.cause)
