"""``tdq``: the command line.

The module of a command is imported when the command is called, so that short commands start fast. Help and completion
list the commands from the table below and import none of their modules. Each of these modules has its commands in a
typer application named ``app``. Packages that stand on the core bring more commands (:mod:`tdqsim.cli.extensions`), and
write them with the public names of this package.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Final

from tdqsim.cli.extensions import extensions
from tdqsim.core.named import NamedTuple
from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cli.completing import offering
    from tdqsim.cli.errors import CommandFailed, Exit, InputError, warn
    from tdqsim.cli.examples import example, examples_folder
    from tdqsim.cli.failures import guarded
    from tdqsim.cli.output import emit, emit_json, emit_table
    from tdqsim.cli.progress import Bar
    from tdqsim.cli.target import DdOption, DefinitionsOption, RegionOption, RegionTarget, StoreOption, store_path

__all__ = [
    "COMMANDS",
    "Bar",
    "CommandFailed",
    "DdOption",
    "DefinitionsOption",
    "Exit",
    "InputError",
    "RegionOption",
    "RegionTarget",
    "StoreOption",
    "emit",
    "emit_json",
    "emit_table",
    "example",
    "examples_folder",
    "guarded",
    "main",
    "offering",
    "store_path",
    "warn",
]

_GARBAGE: Final = 100_000  # new objects between two runs of the garbage collector; Python's default is 700
_LASTING: Final = frozenset({"serve", "run", "ceci", "cemt", "pipeline"})
"""Commands that may run for a long time: they keep Python's own threshold of the garbage collector."""


class TdqCommand(NamedTuple):
    """Where a command is, and how help lists it.

    Attributes:
        module: the module with its typer application ``app``.
        about: what it does, in one line.
        group: the heading below which help lists it, one of :data:`GROUPS`; empty to list it with ``--all`` only.
    """

    module: str
    about: str
    group: str = ""


BEGIN: Final = "Begin"
QUEUES: Final = "Queues"
OPERATOR: Final = "Operator's transactions"
FILES: Final = "Definitions and data sets"
OTHER: Final = "Other systems and tools"
GROUPS: Final = (BEGIN, QUEUES, OPERATOR, FILES, OTHER)
"""The headings of help, in their order."""


def _here(module: str, about: str, group: str = "") -> TdqCommand:
    return TdqCommand(f"{__name__}.{module}", about, group)


COMMANDS: Final = {
    "new": _here("scaffold", "Make a region directory to start from, or a copy of an example.", BEGIN),
    "check": _here("define", "Check definition files and region directories; list all errors.", BEGIN),
    "run": _here("run", "Run a region until no task can continue.", BEGIN),
    "guide": _here("guide", "Read the guide, search it, or write it as a site.", BEGIN),
    "doctor": _here("doctor", "Show what is installed, and what each missing part would add.", BEGIN),
    "write": _here("records", "WRITEQ TD: add records; triggers fire. With --seed none fires.", QUEUES),
    "read": _here("records", "READQ TD: take records from a queue.", QUEUES),
    "peek": _here("queues", "Show records and leave them on the queue.", QUEUES),
    "inquire": _here("queues", "INQUIRE TDQUEUE: states and attributes; counts by --statistics.", QUEUES),
    "set": _here("queues", "SET TDQUEUE: change a state or an attribute.", QUEUES),
    "explain": _here("explain", "Say why a queue is in its state, and what each command would get.", QUEUES),
    "cemt": _here("operate", "CEMT: one request, or a session that ends with END.", OPERATOR),
    "ceci": _here("operate", "CECI: one EXEC CICS command, or a session in one unit of work.", OPERATOR),
    "output": _here("operate", "List and show submitted jobs and SYSOUT data sets.", OPERATOR),
    "csd": _here("csd", "DFHCSDUP: groups and lists of definitions in the CSD of a store.", FILES),
    "import": _here("define", "Convert CSD, DCT and CL text to definition files.", FILES),
    "export": _here("define", "Convert definition files to CSD, DCT and CL text.", FILES),
    "dataset": _here("dataset", "Find out what a file is; show and decode records by a copybook.", FILES),
    "store": _here("storage", "Check, salvage, compact and back up stores.", FILES),
    "dtaq": _here("dtaq", "IBM i data queues: create, send, receive, describe.", OTHER),
    "topology": _here("topology", "Draw where queues lead: triggers, data sets, links.", OTHER),
    **{name: TdqCommand(each.place, each.about, each.group) for name, each in extensions("command").items()},
}
"""Every command, in the order in which help lists them."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".completing": ("offering",),
        ".errors": ("CommandFailed", "Exit", "InputError", "warn"),
        ".examples": ("example", "examples_folder"),
        ".failures": ("guarded",),
        ".output": ("emit", "emit_json", "emit_table"),
        ".target": ("DdOption", "DefinitionsOption", "RegionTarget", "RegionOption", "StoreOption", "store_path"),
        ".progress": ("Bar",),
    },
)


def main(arguments: list[str] | None = None) -> int:
    """Run ``tdq`` with these arguments (default: the process's own) and give the exit code."""
    own = arguments is None
    given = sys.argv[1:] if arguments is None else arguments
    # This process runs one command. Most of its objects belong to modules and live until it ends, so collecting garbage
    # is wasted.
    if own and _LASTING.isdisjoint(given[:1]):
        gc.set_threshold(_GARBAGE)
    try:
        from tdqsim.cli.application import run  # noqa: PLC0415  (imports most of those modules)

        return run(given)
    except KeyboardInterrupt:  # while the modules were imported; that of a command is told by run
        sys.stderr.write("tdq: interrupted\n")
        return 130
    finally:
        if own:
            gc.freeze()
