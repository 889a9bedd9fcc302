"""``tdq``: the command line.

A command's module is imported when the command is called, so that a short command starts fast. The list of the
commands, for help and for completion, comes from the table below and imports none of them. Each module of this package
gives a typer application named ``app`` with its commands.
"""

from __future__ import annotations

import gc
import sys
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "main"]

_GARBAGE: Final = 100_000  # objects that come between two looks for unreachable ones; Python's own is 700
_LASTING: Final = frozenset({"serve", "run", "ceci", "cemt", "pipeline"})
"""What may go on for long keeps Python's own."""


class _Where(NamedTuple):
    """The module of this package that has a command, and what the command does, in a line."""

    module: str
    about: str


COMMANDS: Final = {
    "new": _Where("scaffold", "Write a small region directory to begin with: definitions, a handler, a test."),
    "run": _Where("run", "Run a region: its transactions, its job, until nothing can go on."),
    "topology": _Where("topology", "Draw what leads where: aliases, queues, triggers, data sets, remote queues."),
    "serve": _Where("serve", "Serve regions over HTTP, for clients in any language."),
    "users": _Where("users", "Who may use a server: add, passwd, remove, list."),
    "cobol": _Where("cobol", "COBOL CICS programs: check, compile, symbolic maps."),
    "inquire": _Where("queues", "INQUIRE TDQUEUE: one queue with all its options, generic names, or all."),
    "browse": _Where("queues", "Go through the installed definitions by START, NEXT and END."),
    "peek": _Where("queues", "Show the records of queues in order, without taking them."),
    "snapshot": _Where("queues", "Write every queue that holds records, with its state, as JSON."),
    "explain": _Where("explain", "Say why queues are as they are, and what each request would meet."),
    "read": _Where("records", "READQ TD: take records off a queue."),
    "write": _Where("records", "WRITEQ TD: add records to a queue; triggers fire, handlers run."),
    "seed": _Where("records", "Put records on a queue without a task."),
    "set": _Where("queues", "SET TDQUEUE: change what CICS lets be changed."),
    "cemt": _Where("operate", "CEMT: the operator's requests, one or a session of them."),
    "ceci": _Where("operate", "CECI: EXEC CICS commands; a session is one unit of work."),
    "stats": _Where("operate", "The statistics of the queues."),
    "jobs": _Where("operate", "The jobs that were submitted through the internal reader."),
    "sysout": _Where("operate", "The SYSOUT data sets that output queues wrote, by class."),
    "check": _Where("define", "Check definition files, and directories of regions and systems."),
    "schema": _Where("define", "Print a JSON schema, for editors that complete and check files."),
    "import": _Where("define", "Read definitions as shops have them: CSD, DCT and CL text."),
    "export": _Where("define", "Write definitions for other programs: CSD, DCT and CL text."),
    "layout": _Where("define", "A copybook as a table of offsets, and a record decoded by it."),
    "store": _Where("storage", "Check a store, and salvage a damaged one."),
    "dtaq": _Where("dtaq", "IBM i data queues: libraries, data queues, entries."),
    "pipeline": _Where("pipeline", "Production-sized data on Spark."),
    "guide": _Where("guide", "Read the guide."),
    "coverage": _Where("kit", "List what of the vendors' surface is there, and what tests touched."),
}
"""Every command, in the order in which help lists them."""


def main(arguments: list[str] | None = None) -> int:
    """Run ``tdq`` with these arguments (default: the process's own) and give the exit code."""
    own = arguments is None
    given = sys.argv[1:] if arguments is None else arguments
    # A process of its own: most of what it makes are modules, which stay to its end and then need no looking through.
    if own and _LASTING.isdisjoint(given[:1]):
        gc.set_threshold(_GARBAGE)
    from tdqsim.cli.application import run  # noqa: PLC0415  (it brings most of those modules)

    try:
        return run(given)
    finally:
        if own:
            gc.freeze()
