"""``tdq``: the command line.

A command's module is imported when the command is called, so that a short command starts fast. The list of the
commands, for help and for completion, comes from the table below and imports none of them. Each module of this package
gives a typer application named ``app`` with its commands.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from tdqsim.cli.errors import guarded

__all__ = ["COMMANDS", "main"]

_GARBAGE: Final = 100_000  # objects that come between two looks for unreachable ones; Python's own is 700
_COMPLETE: Final = "_TDQ_COMPLETE"  # set by the scripts of --install-completion


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


class _Commands(TyperGroup):
    """The commands of the table, each imported when it is called."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (the parser's signature)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  (the parser's signature)
        where = COMMANDS.get(cmd_name)
        if where is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, short_help=where.about, rich_markup_mode=None)
        return _loaded(where.module, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _Listing(self):
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with _Listing(self):
            return super().shell_complete(ctx, incomplete)


class _Listing:
    """While commands are only listed nothing of them is imported."""

    def __init__(self, commands: _Commands) -> None:
        self._commands = commands

    def __enter__(self) -> None:
        self._commands._listing = True  # noqa: SLF001  (its own other half)

    def __exit__(self, *_error: object) -> None:
        self._commands._listing = False  # noqa: SLF001


def _loaded(module: str, name: str) -> Any:
    """The command of a module, made without the module's others; or its group of that name, or all of it."""
    part: typer.Typer = import_module(f"{__name__}.{module}").app
    wanted = [each for each in part.registered_commands if each.name == name]
    if not wanted:
        group: Any = typer.main.get_group(part)
        return group.commands.get(name, group)
    alone = typer.Typer(rich_markup_mode=None)
    alone.registered_commands = wanted
    return typer.main.get_command(alone)


def _version(wanted: bool) -> None:
    if wanted:
        from tdqsim import __version__  # noqa: PLC0415

        typer.echo(f"tdqsim {__version__}")
        raise typer.Exit


def _application() -> Any:
    app = typer.Typer(
        name="tdq",
        cls=_Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @app.callback()
    def tdq(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
        ] = False,
    ) -> None:
        """CICS transient data queues and IBM i data queues, simulated. Chapters of the guide: tdq guide."""

    return typer.main.get_command(app)


def main(arguments: list[str] | None = None) -> int:
    """Run ``tdq`` with these arguments (default: the process's own) and give the exit code."""
    if arguments is not None:
        return _run(arguments)
    # A process of its own: most of what it makes are modules, which stay to its end and then need no looking through.
    gc.set_threshold(_GARBAGE)
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()


def _run(given: list[str]) -> int:
    def call() -> int:
        command = _application()
        if _COMPLETE in os.environ:
            command.main(args=given, prog_name="tdq")  # a shell asks what may come next; it ends there
        return _invoke(command, given)

    return guarded(call)


def _invoke(command: Any, arguments: list[str]) -> int:
    """Call the command without the parser's own ideas of how a program ends; those are :func:`guarded`'s."""
    try:
        with command.make_context("tdq", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0
