"""The suffixes of the files of COBOL programs, copybooks and maps.

A copybook may also have a suffix of programs. When a folder has two files of one name, the file with a suffix that only
copybooks have is the copybook.
"""

from __future__ import annotations

from typing import Final

PROGRAMS: Final = (".cbl", ".cob", ".cobol", ".ccp")
"""The suffixes of programs, in the order in which they are searched, in any case."""
COPYBOOKS: Final = ("", ".cpy", ".copy", ".inc", ".dcl")
"""The suffixes that only copybooks have; DCLGEN writes ``.dcl``."""
MAPS: Final = ".bms"
"""The suffix of BMS sources."""
