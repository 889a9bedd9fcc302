"""Numbers that the answer of a stub puts into the items of a program, in the form that the program declares."""

from __future__ import annotations

import pytest

from tdqsim.cobol import Stub, StubAnswer

pytestmark = pytest.mark.cobc

ASKS = """
EXEC CICS READQ TD QUEUE('IN') INTO(REC) LENGTH(LEN) END-EXEC
IF LEN = {value} MOVE 'EQUAL' TO SHOWN END-IF
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
EXEC CICS RETURN END-EXEC.
"""


@pytest.mark.parametrize(
    ("picture", "value"),
    [("S9(4) COMP", -12), ("S9(4) COMP-3", -12), ("S9(4)", 12), ("S9(4)", -12), ("S9(4)", -10)],
)
def test_a_number_is_put_as_the_picture_says(workshop, picture, value):
    storage = f"01 REC PIC X(8). 01 LEN PIC {picture} VALUE 8. 01 SHOWN PIC X(5) VALUE 'OTHER'."
    workshop.program("ASKS", storage, ASKS.format(value=value))
    workshop.programs.stubs.append(Stub("READQ TD", StubAnswer({"LENGTH": value})))
    workshop.run("ASKS")
    assert workshop.out() == [b"EQUAL"]
