"""By which endings of their names COBOL programs, copybooks and maps are found.

A copybook may have an ending of programs too, so a folder may hold a copybook and a program of one name; the file with
an ending of copybooks alone is the copybook then.
"""

from __future__ import annotations

from typing import Final

__all__ = ["COPYBOOKS", "MAPS", "PROGRAMS"]

PROGRAMS: Final = (".cbl", ".cob", ".cobol", ".ccp")
"""The endings of programs, in the order in which a program is looked for; capitals make no difference."""
COPYBOOKS: Final = ("", ".cpy", ".copy", ".inc", ".dcl")
"""The endings of copybooks alone; ``.dcl`` is what DCLGEN writes."""
MAPS: Final = ".bms"
"""The ending of BMS sources."""
