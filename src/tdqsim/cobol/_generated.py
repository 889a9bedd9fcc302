"""The COBOL text that the translator puts into programs: the EIB, the control area, the DL/I block, literals."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

CONTROL: Final = """ 01 DFHEI-CONTROL GLOBAL.
 02 DFHEI-NUMBER PIC S9(9) COMP-5 VALUE 0.
 02 DFHEI-RESP PIC S9(9) COMP-5 VALUE 0.
 02 DFHEI-RESP2 PIC S9(9) COMP-5 VALUE 0.
 02 DFHEI-POINTER-1 USAGE POINTER.
 02 DFHEI-POINTER-2 USAGE POINTER.
 02 DFHEI-LABEL PIC S9(9) COMP-5 VALUE 0.
"""
"""The control area. The program passes the number of a command; it gets back the number of a label, RESP and RESP2. The
area also has the pointers for ADDRESS OF and the number of the label that DFHEI-BRANCH goes to."""
DIB: Final = """ 01 DLZDIB.
 02 DIBVER PIC X(2).
 02 DIBSTAT PIC X(2).
 02 DIBSEGM PIC X(8).
 02 DIBFIL01 PIC X.
 02 DIBFIL02 PIC X.
 02 DIBSEGLV PIC X(2).
 02 DIBKFBL PIC S9(4) COMP.
 02 DIBDBDNM PIC X(8).
 02 DIBDBORG PIC X(8).
 02 DIBFIL03 PIC X(6).
"""
"""The DL/I interface block, which the translator puts into programs with EXEC DLI."""
COMMAREA: Final = " 01 DFHCOMMAREA PIC X.\n"
FIGURATIVE: Final = {
    **dict.fromkeys(("SPACE", "SPACES"), "' '"),
    **dict.fromkeys(("ZERO", "ZEROS", "ZEROES"), "0"),
    **dict.fromkeys(
        ("LOW-VALUE", "LOW-VALUES", "HIGH-VALUE", "HIGH-VALUES", "QUOTE", "QUOTES", "NULL", "NULLS", "ALL")
    ),
}
"""The literals that stand for figurative constants as arguments; None for those whose value has no length there."""


@cache
def eib() -> str:
    """The EIB as the copybook DFHEIBLK declares it, but GLOBAL, and without comment and indentation."""
    text = resources.files("tdqsim.cobol").joinpath("copybooks", "DFHEIBLK.cpy").read_text("ascii")
    items = (" ".join(line.split()) for line in text.splitlines() if "*>" not in line)
    return "".join(f" {item}\n" for item in items).replace("DFHEIBLK.", "DFHEIBLK GLOBAL.", 1)
