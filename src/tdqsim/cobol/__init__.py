"""Run unmodified COBOL CICS programs, compiled by GnuCOBOL, as tasks of a region.

Sources are expanded and compiled by ``cobc``; every EXEC CICS command is answered by the region
(:mod:`~tdqsim.cobol.translate`, :mod:`~tdqsim.cobol.level`). :class:`CobolPrograms` ties a folder of sources to a
region: other programs can LINK to its programs, and transactions can have them as handlers. Each name of the package is
loaded at its first use, because pytest imports the package only for the command-line option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cobol.area_warnings import CobolWarning
    from tdqsim.cobol.code_pages import Conversion as Conversion
    from tdqsim.cobol.compiler import Module as Module
    from tdqsim.cobol.compiler import Options as Options
    from tdqsim.cobol.compiler import compile_program as compile_program
    from tdqsim.cobol.external_calls import CallAnswer, CallStub
    from tdqsim.cobol.paragraphs import ParagraphResult
    from tdqsim.cobol.programs import CobolPrograms
    from tdqsim.cobol.sql_answers import SqlAnswer, SqlStub
    from tdqsim.cobol.sql_answers import SqlCall as SqlCall
    from tdqsim.cobol.storage import storage_of
    from tdqsim.cobol.stubs import Stub, StubAnswer
    from tdqsim.cobol.toolchain import CobolMissing
    from tdqsim.cobol.trace import Trace
    from tdqsim.cobol.translate import CobolError


# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "CallAnswer",
    "CallStub",
    "CobolError",
    "CobolMissing",
    "CobolPrograms",
    "CobolWarning",
    "ParagraphResult",
    "SqlAnswer",
    "SqlStub",
    "Stub",
    "StubAnswer",
    "Trace",
    "storage_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".compiler": ("Module", "Options", "compile_program"),
        ".area_warnings": ("CobolWarning",),
        ".code_pages": ("Conversion",),
        ".external_calls": ("CallAnswer", "CallStub"),
        ".paragraphs": ("ParagraphResult",),
        ".programs": ("CobolPrograms",),
        ".sql_answers": ("SqlAnswer", "SqlCall", "SqlStub"),
        ".storage": ("storage_of",),
        ".stubs": ("StubAnswer", "Stub"),
        ".toolchain": ("CobolMissing",),
        ".trace": ("Trace",),
        ".translate": ("CobolError",),
    },
)
