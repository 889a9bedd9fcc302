"""``tdq`` as a typer application: its commands come from the table, and each is imported when it is called."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from tdqsim import __version__
from tdqsim.cli import COMMANDS, GROUPS, on_demand
from tdqsim.cli.errors import warn
from tdqsim.cli.failures import guarded
from tdqsim.core.spelling import did_you_mean, misspelt_variables

_Parser = Any
"""A context, command, parameter or completion of the parser; typer has no public names for their types."""
_COMPLETE: Final = "_TDQ_COMPLETE"  # set by the scripts of --install-completion


_PATHS: Final = frozenset({"DIR", "FILE", "FILE...", "PATH...", "DIR...|FILE", "STORE"})  # the metavars of paths


def _process_value(parameter: _Parser, ctx: _Parser, value: _Parser) -> _Parser:
    """The value of a parameter; one that was left out is not converted.

    The parser would build a pydantic validator for it, and so import pydantic, with the same result.
    """
    if value is not None or parameter.required:
        return type(parameter).process_value(parameter, ctx, value)
    left_out = () if parameter.multiple or parameter.nargs == -1 else None
    return parameter.callback(ctx, parameter, left_out) if parameter.callback else left_out


def _converted(parameters: list[_Parser]) -> list[_Parser]:
    """The parameters of a command, each with its conversion."""
    for parameter in parameters:
        parameter.process_value = partial(_process_value, parameter)
    return parameters


class _Command(TyperCommand):
    """A command; during completion its values are not converted, for the same reason."""

    def get_params(self, ctx: _Parser) -> list[_Parser]:
        return _converted(super().get_params(ctx))

    def parse_args(self, ctx: _Parser, args: list[str]) -> list[str]:
        if self._takes_target:
            args = on_demand.target.with_region_first(self, ctx, args)
        if not ctx.resilient_parsing:
            if any(not word or word.endswith("=") for word in args):
                self._refuse_empty_paths(ctx, args)
            return super().parse_args(ctx, args)
        given, ctx.args, _ = self.make_parser(ctx).parse_args(args=args)
        for parameter in self.get_params(ctx):
            ctx.params[parameter.name], source = parameter.consume_value(ctx, given)
            ctx.set_parameter_source(parameter.name, source)
        return list(ctx.args)

    @property
    def _takes_target(self) -> bool:
        """Whether the command is about a region (see :func:`tdqsim.cli.target.takes_target`)."""
        return getattr(self.callback, "takes_target", False)

    def collect_usage_pieces(self, ctx: _Parser) -> list[str]:
        options, *arguments = super().collect_usage_pieces(ctx)
        return [options, *(["[DIR]"] if self._takes_target else []), *arguments]

    def shell_complete(self, ctx: _Parser, incomplete: str) -> _Parser:
        """Options; or region directories, if one may stand first and no argument offers them."""
        offers = super().shell_complete(ctx, incomplete)
        if self._takes_target and not incomplete.startswith("-") and not ctx.params.get("region"):
            region = next(each for each in self.params if each.name == "region")
            offers += region.shell_complete(ctx, incomplete)
        return offers

    def _refuse_empty_paths(self, ctx: _Parser, args: list[str]) -> None:
        """Refuse an empty path: a shell passes it for an unset variable, and it would mean the current directory."""
        given, *_ = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in self.get_params(ctx):
            value = given.get(parameter.name)
            if parameter.metavar in _PATHS and "" in (value if isinstance(value, list | tuple) else [value]):
                raise typer.BadParameter("a path is empty; . is the current directory", ctx=ctx, param=parameter)


class _Group(TyperGroup):
    """A group of commands."""

    def resolve_command(self, ctx: _Parser, args: list[str]) -> _Parser:
        """The command that the first word names; the error for an unknown one suggests a similar name."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}{_INSTEAD.get(name) or did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: _Parser, args: list[str]) -> _Parser:
        """Put the default command before arguments that begin with none, as in ``tdq dataset FILE``."""
        default = _DEFAULTS.get(str(self.name), "")
        if default in self.commands and args and args[0] not in {*self.commands, *ctx.help_option_names}:
            misspelt = not Path(args[0]).exists() and did_you_mean(args[0], self.list_commands(ctx))
            args = args if misspelt else [default, *args]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: _Parser) -> list[_Parser]:
        return _converted(super().get_params(ctx))

    def format_commands(self, ctx: _Parser, formatter: _Parser) -> None:
        """The commands with the whole first paragraph of their help; Typer cuts it at the end of a line."""
        rows = [(name, str(self.commands[name].help).partition("\n\n")[0]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_DEFAULTS: Final = {"dataset": "look"}
"""The default command of a group."""
_INSTALL: Final = (
    ": tdq csd takes DEFINE, ALTER and INSTALL for the CSD in the store; definitions: in region.yaml are installed at "
    "the start, and CREATE TDQUEUE installs in a session of tdq ceci"
)
_INSTEAD: Final = {
    "ceda": _INSTALL,
    "install": _INSTALL,
    "dfhcsdup": _INSTALL,
    "browse": ": tdq inquire without a name goes through all queues",
    "seed": ": tdq write --seed adds records without a task",
    "snapshot": ": tdq peek --json writes every queue that holds records",
    "stats": ": tdq inquire --statistics",
    "jobs": ": tdq output lists and shows them",
    "sysout": ": tdq output lists and shows them",
    "layout": ": tdq dataset layout",
    "debug": ": tdq cobol run PROGRAM --debug PORT; tdq guide cobol-debugger",
    "schema": ": tdq check --schema KIND",
}
"""What to do instead of commands that users expect."""


class _Commands(_Group):
    """The commands of the table, each imported when it is called."""

    _listing = False

    def list_commands(self, ctx: _Parser) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: _Parser, cmd_name: str) -> _Parser:
        where = COMMANDS.get(cmd_name)
        if where is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, short_help=where.about, rich_markup_mode=None)
        return _loaded(where.module, cmd_name)

    def format_help(self, ctx: _Parser, formatter: _Parser) -> None:
        with _Listing(self):
            super().format_help(ctx, formatter)

    def parse_args(self, ctx: _Parser, args: list[str]) -> _Parser:
        """Take ``--all`` before ``--help``, in whichever order they are written: help is shown when it is met."""
        own = next((at for at, word in enumerate(args) if not word.startswith("-")), len(args))
        return super().parse_args(ctx, [*sorted(args[:own], key=lambda word: word != "--all"), *args[own:]])

    def format_options(self, ctx: _Parser, formatter: _Parser) -> None:
        """The commands, then the options: a newcomer looks for commands."""
        self.format_commands(ctx, formatter)
        no_group: _Parser = TyperCommand
        no_group.format_options(self, ctx, formatter)

    def format_commands(self, ctx: _Parser, formatter: _Parser) -> None:
        """The commands below the headings of their groups, and with ``--all`` the others."""
        headings = [*GROUPS, *([""] if ctx.params.get("every") else [])]
        for heading in headings:
            rows = [(name, each.about) for name, each in COMMANDS.items() if each.group == heading]
            with formatter.section(heading or "Parts of others, and for developers"):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: _Parser, incomplete: str) -> _Parser:
        with _Listing(self):
            return super().shell_complete(ctx, incomplete)


class _Listing:
    """The entries of a list of commands, for which no command is imported."""

    def __init__(self, commands: _Commands) -> None:
        self._commands = commands

    def __enter__(self) -> None:
        self._commands._listing = True  # noqa: SLF001  (a class of this module)

    def __exit__(self, *_error: object) -> None:
        self._commands._listing = False  # noqa: SLF001


def _loaded(module: str, name: str) -> _Parser:
    """The command of that name in a module, created alone; or its group of that name; or its whole application."""
    part: typer.Typer = import_module(module).app
    _prepare(part)
    wanted = [each for each in part.registered_commands if each.name == name]
    if not wanted:
        group: _Parser = typer.main.get_group(part)
        group.name = name
        return group.commands.get(name, group)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.registered_commands = wanted
    return typer.main.get_command(alone)


def _prepare(part: typer.Typer) -> None:
    part.info.cls = _Group
    part.rich_markup_mode = None  # plain help without boxes for all commands
    for command in part.registered_commands:
        command.cls = _Command
    for group in part.registered_groups:
        if group.typer_instance is not None:
            _prepare(group.typer_instance)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tdqsim {__version__}")
        raise typer.Exit


def _application() -> _Parser:
    app = typer.Typer(
        name="tdq",
        cls=_Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
        epilog="First steps: tdq new pay; tdq run pay; pytest pay.  Chapters: tdq guide.",
    )

    @app.callback()
    def tdq(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
        ] = False,
        every: Annotated[bool, typer.Option("--all", is_eager=True, help="With --help: list all commands.")] = False,
    ) -> None:
        """CICS transient data queues and IBM i data queues, simulated."""

    return typer.main.get_command(app)


def run(given: list[str]) -> int:
    """Run the command that the arguments name, and return the exit code."""

    def call() -> int:
        command = _application()
        if os.environ.get(_COMPLETE):  # PowerShell leaves this variable set, but empty
            command.main(args=given, prog_name="tdq")  # a shell asks for completions; the process ends there
        for text in misspelt_variables(os.environ):
            warn(text)
        return _invoke(command, given)

    words = given[: given.index("--")] if "--" in given else given
    return guarded(call, json="--json" in words)


def _invoke(command: _Parser, arguments: list[str]) -> int:
    """Call the command without the parser's own error handling; :func:`guarded` does that."""
    try:
        with command.make_context("tdq", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0
