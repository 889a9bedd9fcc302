"""Programs in another language as tasks of a region: what a language needs beside the commands.

A language runs a program at a *level* of a task: it gives the program the EIB as bytes, finds the command of a text and
its options, answers with a response or lets a condition act, lets the task wait, and ends it with an abend. COBOL under
GnuCOBOL (:mod:`tdqsim.cobol`) is one. A language is found by the entry point ``tdqsim.handlers``: an object whose
``find(region, name)`` returns the program of that name, a callable that takes the task, or None. A language whose
programs are texts of one command each::

    from tdqsim.languages import resolve

    class OneCommand:
        def __init__(self, text):
            resolve(text)  # TranslationError names the column of what is wrong
            self.text = text

        def __call__(self, task):
            variables = {}
            task.execute(self.text, variables)
            return variables

    class Texts:
        def __init__(self, texts):
            self.texts = texts

        def find(self, region, name):
            text = self.texts.get(name)
            return None if text is None else OneCommand(text)

A program has an attribute ``limits_runaway`` that is true if its language ends tasks at the runaway time. Of a
transaction with RUNAWAY and another program a notice says that nothing limits it.

The names by their purpose: what a task keeps private, such as its level, its handles and the storage of its programs
(``TaskInternals``, ``ProgramLevel``, ``Handles``); the EIB (``Eib``, ``Completion``, ``completion``); responses and
ends (``respond``, ``to_abend``, ``abend_program``, ``note_program``); waits (``wait``, ``TimedWait``); command texts
(``resolve``, ``brought``, and the parts of a parsed text).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.files.datafile import DataFile
    from tdqsim.cics.internals import TaskInternals
    from tdqsim.cics.kernel.abstime import abstime, local_time
    from tdqsim.cics.kernel.authority import check_resource
    from tdqsim.cics.kernel.command import CommandOption
    from tdqsim.cics.kernel.conditions import TaskReturn, abend_code, calls_exits
    from tdqsim.cics.kernel.dumps import has_program, note_program
    from tdqsim.cics.kernel.eib import EIB_LENGTH, NO_COMMAND, Completion, Eib, completion
    from tdqsim.cics.kernel.interval import interval_ns, moment_of_day, supersede_post
    from tdqsim.cics.kernel.security import XPPT, Access
    from tdqsim.cics.kernel.task import respond, to_abend
    from tdqsim.cics.kernel.waiting import wait
    from tdqsim.cics.model.dump import ProgramState
    from tdqsim.cics.model.level import NO_HANDLES, Handles, ProgramLevel
    from tdqsim.cics.model.start import TimedWait
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.programs.commands import abend_program
    from tdqsim.cics.terminal.screen import AIDS
    from tdqsim.cics.text.exec_text import AddressOf, LengthOf, Option, Reference, TextLiteral, TranslationError
    from tdqsim.cics.text.translator import COMMON_OPTIONS, Resolved, brought, resolve

__all__ = [
    "AIDS",
    "COMMON_OPTIONS",
    "EIB_LENGTH",
    "NO_COMMAND",
    "NO_HANDLES",
    "XPPT",
    "Access",
    "AddressOf",
    "CommandOption",
    "Completion",
    "DataFile",
    "Eib",
    "Handles",
    "LengthOf",
    "Option",
    "ProgramLevel",
    "ProgramState",
    "Reference",
    "Resolved",
    "TaskData",
    "TaskInternals",
    "TaskReturn",
    "TextLiteral",
    "TimedWait",
    "TranslationError",
    "abend_code",
    "abend_program",
    "abstime",
    "brought",
    "calls_exits",
    "check_resource",
    "completion",
    "has_program",
    "interval_ns",
    "local_time",
    "moment_of_day",
    "note_program",
    "resolve",
    "respond",
    "supersede_post",
    "to_abend",
    "wait",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.files.datafile": ("DataFile",),
        "tdqsim.cics.internals": ("TaskInternals",),
        "tdqsim.cics.kernel.abstime": (
            "abstime",
            "local_time",
        ),
        "tdqsim.cics.kernel.authority": ("check_resource",),
        "tdqsim.cics.kernel.command": ("CommandOption",),
        "tdqsim.cics.kernel.conditions": (
            "TaskReturn",
            "abend_code",
            "calls_exits",
        ),
        "tdqsim.cics.kernel.dumps": (
            "has_program",
            "note_program",
        ),
        "tdqsim.cics.kernel.eib": (
            "Completion",
            "EIB_LENGTH",
            "Eib",
            "NO_COMMAND",
            "completion",
        ),
        "tdqsim.cics.kernel.interval": (
            "interval_ns",
            "moment_of_day",
            "supersede_post",
        ),
        "tdqsim.cics.kernel.security": (
            "Access",
            "XPPT",
        ),
        "tdqsim.cics.kernel.task": (
            "respond",
            "to_abend",
        ),
        "tdqsim.cics.kernel.waiting": ("wait",),
        "tdqsim.cics.model.dump": ("ProgramState",),
        "tdqsim.cics.model.level": (
            "Handles",
            "NO_HANDLES",
            "ProgramLevel",
        ),
        "tdqsim.cics.model.start": ("TimedWait",),
        "tdqsim.cics.model.task": ("TaskData",),
        "tdqsim.cics.programs.commands": ("abend_program",),
        "tdqsim.cics.terminal.screen": ("AIDS",),
        "tdqsim.cics.text.exec_text": (
            "AddressOf",
            "LengthOf",
            "Option",
            "Reference",
            "TextLiteral",
            "TranslationError",
        ),
        "tdqsim.cics.text.translator": (
            "COMMON_OPTIONS",
            "Resolved",
            "brought",
            "resolve",
        ),
    },
)
