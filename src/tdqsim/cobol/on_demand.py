"""Modules that ``tdq cobol`` uses and that take long to import: each is imported when a command first uses it."""

# ruff: noqa: PLC0414  ("import X as X" is what tells type checkers that X may be used from outside)

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.lazy import lazy_modules

if TYPE_CHECKING:
    from tdqsim.cobol import case_file as case_file
    from tdqsim.cobol import case_process as case_process
    from tdqsim.cobol import case_report as case_report
    from tdqsim.cobol import child_process as child_process
    from tdqsim.cobol import code_pages as code_pages
    from tdqsim.cobol import compiler as compiler
    from tdqsim.cobol import debug_adapter as debug_adapter
    from tdqsim.cobol import display as display
    from tdqsim.cobol import margins as margins
    from tdqsim.cobol import mutants as mutants
    from tdqsim.cobol import mutation as mutation
    from tdqsim.cobol import portability as portability
    from tdqsim.cobol import source_check as source_check
    from tdqsim.cobol import survey as survey
    from tdqsim.cobol import toolchain as toolchain
    from tdqsim.cobol import translate as translate

_MODULES: Final = (
    "tdqsim.cobol.case_file",
    "tdqsim.cobol.case_process",
    "tdqsim.cobol.case_report",
    "tdqsim.cobol.child_process",
    "tdqsim.cobol.code_pages",
    "tdqsim.cobol.compiler",
    "tdqsim.cobol.debug_adapter",
    "tdqsim.cobol.display",
    "tdqsim.cobol.margins",
    "tdqsim.cobol.mutants",
    "tdqsim.cobol.mutation",
    "tdqsim.cobol.portability",
    "tdqsim.cobol.source_check",
    "tdqsim.cobol.survey",
    "tdqsim.cobol.toolchain",
    "tdqsim.cobol.translate",
)

__getattr__ = lazy_modules(__name__, _MODULES)
