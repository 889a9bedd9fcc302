"""``tdq``: the command line.

The module of a command is imported when the command is called, so that short commands start fast. Help and completion
list the commands from the table below and import none of their modules. Each of these modules has its commands in a
typer application named ``app``.
"""

from __future__ import annotations

import gc
import sys
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "main"]

_GARBAGE: Final = 100_000  # new objects between two runs of the garbage collector; Python's default is 700
_LASTING: Final = frozenset({"serve", "run", "ceci", "cemt", "pipeline"})
"""Commands that may run for a long time: they keep Python's own threshold of the garbage collector."""


class _Where(NamedTuple):
    """The module that contains a command, and a one-line description of the command."""

    module: str
    about: str


COMMANDS: Final = {
    "new": _Where("scaffold", "Write a small region directory to begin with: definitions, a handler, a test."),
    "run": _Where("run", "Run a region: its transactions and its job, until no task can continue."),
    "topology": _Where("topology", "Show where queues lead: aliases, triggers, data sets, remote queues, links."),
    "serve": _Where("serve", "Serve regions over HTTP, for clients in any language."),
    "users": _Where("users", "Manage the users of a server: add, passwd, remove, list."),
    "cobol": _Where("cobol", "COBOL CICS programs: check, compile, run, symbolic maps."),
    "inquire": _Where("queues", "INQUIRE TDQUEUE: one queue with all its options, generic names, or all."),
    "browse": _Where("queues", "Browse the installed definitions by START, NEXT and END."),
    "peek": _Where("queues", "Show the records of queues in order, without removing them."),
    "snapshot": _Where("queues", "Write every queue that holds records, with its state, as JSON."),
    "explain": _Where("explain", "Explain the state of queues, and predict the result of each command."),
    "read": _Where("records", "READQ TD: read records, which removes them from the queue."),
    "write": _Where("records", "WRITEQ TD: add records to a queue; triggers fire, handlers run."),
    "seed": _Where("records", "Add records to a queue without a task."),
    "set": _Where("queues", "SET TDQUEUE: change attributes of a queue."),
    "cemt": _Where("operate", "CEMT: one of the operator's requests, or a session."),
    "ceci": _Where("operate", "CECI: EXEC CICS commands; a session is one unit of work."),
    "stats": _Where("operate", "Show the statistics of the queues."),
    "jobs": _Where("operate", "Show the jobs that were submitted through the internal reader."),
    "sysout": _Where("operate", "Show or print the SYSOUT data sets of output queues, by class."),
    "check": _Where("define", "Check definition files, and directories of regions and systems."),
    "schema": _Where("define", "Print a JSON schema, for editors that complete and check files."),
    "import": _Where("define", "Convert CSD, DCT and CL text to definition files."),
    "export": _Where("define", "Convert definition files to CSD, DCT and CL text."),
    "layout": _Where("define", "Show a copybook as a table of offsets, and decode a record by it."),
    "store": _Where("storage", "Check, salvage, compact and back up stores."),
    "dataset": _Where("dataset", "Find out what a data set is: its format, code page, segments, options."),
    "dtaq": _Where("dtaq", "IBM i data queues: libraries, data queues, entries."),
    "probe": _Where("probe", "Programs that try open rules on a real machine, and their comparison."),
    "pipeline": _Where("pipeline", "Process large data sets, on Spark or in this process."),
    "guide": _Where("guide", "Read the guide."),
    "mutate": _Where("mutate", "Make small mistakes in handlers, and list those that no test notices."),
}
"""Every command, in the order in which help lists them."""


def main(arguments: list[str] | None = None) -> int:
    """Run ``tdq`` with these arguments (default: the process's own) and give the exit code."""
    own = arguments is None
    given = sys.argv[1:] if arguments is None else arguments
    # This process runs one command. Most of its objects belong to modules and live until it ends, so collecting garbage
    # is wasted.
    if own and _LASTING.isdisjoint(given[:1]):
        gc.set_threshold(_GARBAGE)
    from tdqsim.cli.application import run  # noqa: PLC0415  (imports most of those modules)

    try:
        return run(given)
    finally:
        if own:
            gc.freeze()
