"""``tdq``: the command line.

A command's module is imported when the command is called, so that a short command starts fast; ``tdq --help`` imports
them all. Each module of this package gives a typer application named ``app`` with its commands.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Final

import typer

from tdqsim.cli.errors import guarded

__all__ = ["main"]

_MODULES: Final = {
    "run": "run",
    "inquire": "queues",
    "browse": "queues",
    "peek": "queues",
    "snapshot": "queues",
    "explain": "explain",
    "read": "records",
    "write": "records",
    "seed": "records",
    "set": "queues",
    "cemt": "operate",
    "ceci": "operate",
    "stats": "operate",
    "jobs": "operate",
    "sysout": "operate",
    "check": "define",
    "schema": "define",
    "import": "define",
    "export": "define",
    "layout": "define",
    "serve": "serve",
    "store": "storage",
    "guide": "guide",
    "coverage": "kit",
}
"""In which module of this package each command is."""

_MOUNTED: Final = {
    "dtaq": ("tdqsim.cli.dtaq", "IBM i data queues: libraries, data queues, entries."),
    "coverage": ("tdqsim.testing.cli_coverage", "List what of the vendors' surface is there."),
    "pipeline": ("tdqsim.cli.pipeline", "Production-sized data on Spark."),
}
"""Groups that other rooms bring along: module and help."""


def _version(wanted: bool) -> None:
    if wanted:
        from tdqsim import __version__  # noqa: PLC0415

        typer.echo(f"tdqsim {__version__}")
        raise typer.Exit


def _application() -> typer.Typer:
    app = typer.Typer(
        name="tdq",
        add_completion=False,
        no_args_is_help=True,
        help="CICS transient data queues and IBM i data queues, simulated. Chapters of the guide: tdq guide",
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @app.callback()
    def tdq(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
        ] = False,
    ) -> None:
        """CICS transient data queues and IBM i data queues, simulated. Chapters of the guide: tdq guide."""

    return app


def _mount(app: typer.Typer, wanted: str | None) -> None:
    """Add the commands of one module, or of all when it is not clear which is wanted."""
    if wanted in _MODULES:
        _add_module(app, _MODULES[wanted])
    elif wanted in _MOUNTED:
        _add_group(app, wanted)
    else:
        for module in dict.fromkeys(_MODULES.values()):
            _add_module(app, module)
        for name in _MOUNTED:
            _add_group(app, name)


def _add_module(app: typer.Typer, module: str) -> None:
    part: typer.Typer = import_module(f"tdqsim.cli.{module}").app
    app.registered_commands += part.registered_commands
    app.registered_groups += part.registered_groups


def _add_group(app: typer.Typer, name: str) -> None:
    module, text = _MOUNTED[name]
    if not _exists(module):
        return
    part: typer.Typer = import_module(module).app
    single = [command for command in part.registered_commands if command.name == name]
    if single:  # one command rather than a group of them
        app.registered_commands += single
    else:
        app.add_typer(part, name=name, help=text)


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there either
        return False


def main(arguments: list[str] | None = None) -> int:
    """Run ``tdq`` with these arguments (default: the process's own) and give the exit code."""
    given = sys.argv[1:] if arguments is None else arguments

    def call() -> int:
        app = _application()
        if "--version" not in given:
            _mount(app, next((word for word in given if not word.startswith("-")), None))
        return _invoke(typer.main.get_command(app), list(given))

    return guarded(call)


def _invoke(command: Any, arguments: list[str]) -> int:
    """Call the command without the parser's own ideas of how a program ends; those are :func:`guarded`'s."""
    try:
        with command.make_context("tdq", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0
