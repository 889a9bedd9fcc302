"""Unmodified COBOL CICS programs under GnuCOBOL as tasks of a region.

Sources are expanded and compiled by ``cobc``; every EXEC CICS command is answered by the region
(:mod:`~tdqsim.cobol.translate`, :mod:`~tdqsim.cobol.level`). :class:`CobolPrograms` ties a folder of sources to a
region: its programs can be linked to, and be the handlers of transactions. Each name is loaded when it is first used,
because pytest imports the package for its option alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tdqsim.cobol.compiler import CobolMissing, Module, Options, compile_program
    from tdqsim.cobol.mismatch import CobolWarning
    from tdqsim.cobol.pages import Conversion
    from tdqsim.cobol.programs import CobolPrograms
    from tdqsim.cobol.trace import Trace
    from tdqsim.cobol.translate import CobolError

_HOMES: Final = {
    "CobolError": "translate",
    "CobolMissing": "compiler",
    "CobolPrograms": "programs",
    "CobolWarning": "mismatch",
    "Conversion": "pages",
    "Module": "compiler",
    "Options": "compiler",
    "Trace": "trace",
    "compile_program": "compiler",
}

__all__ = [
    "CobolError",
    "CobolMissing",
    "CobolPrograms",
    "CobolWarning",
    "Conversion",
    "Module",
    "Options",
    "Trace",
    "compile_program",
]


def __getattr__(name: str) -> Any:
    """Load a name of this package when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
