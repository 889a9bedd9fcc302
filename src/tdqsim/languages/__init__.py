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

Public are ``resolve`` and ``local_time``. The other names serve the extensions of this repository and may change in any
version: ``TaskInternals`` is what a task keeps private and what a language does with it: its level
(``ProgramLevel``), its ``Handles`` and the storage of its programs; how a command completes, waits, and ends with a
condition or an abend. ``Eib`` and ``Completion`` are the EIB. ``resolve`` makes of a text the command and its options
(``Resolved``, ``CommandOption``, ``Option``; ``COMMON_OPTIONS`` are those of every command). ``note_program`` adds a
``ProgramState`` to a dump; ``TaskReturn`` is RETURN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.internals import TaskInternals as TaskInternals
    from tdqsim.cics.kernel.abstime import local_time
    from tdqsim.cics.kernel.command import CommandOption as CommandOption
    from tdqsim.cics.kernel.conditions import TaskReturn as TaskReturn
    from tdqsim.cics.kernel.dumps import note_program as note_program
    from tdqsim.cics.kernel.eib import Completion as Completion
    from tdqsim.cics.kernel.eib import Eib as Eib
    from tdqsim.cics.model.dump import ProgramState as ProgramState
    from tdqsim.cics.model.level import Handles as Handles
    from tdqsim.cics.model.level import ProgramLevel as ProgramLevel
    from tdqsim.cics.text.exec_text import Option as Option
    from tdqsim.cics.text.translator import COMMON_OPTIONS as COMMON_OPTIONS
    from tdqsim.cics.text.translator import Resolved as Resolved
    from tdqsim.cics.text.translator import resolve
    from tdqsim.core.record_list import several as several

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "local_time",
    "resolve",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.internals": ("TaskInternals",),
        "tdqsim.cics.kernel.abstime": ("local_time",),
        "tdqsim.cics.kernel.command": ("CommandOption",),
        "tdqsim.cics.kernel.conditions": ("TaskReturn",),
        "tdqsim.cics.kernel.dumps": ("note_program",),
        "tdqsim.cics.kernel.eib": ("Completion", "Eib"),
        "tdqsim.cics.model.dump": ("ProgramState",),
        "tdqsim.cics.model.level": ("Handles", "ProgramLevel"),
        "tdqsim.cics.text.exec_text": ("Option",),
        "tdqsim.cics.text.translator": ("COMMON_OPTIONS", "Resolved", "resolve"),
        "tdqsim.core.record_list": ("several",),
    },
)
