"""The region that a command works on: a region directory, or definitions and a store.

If a server has the directory or the store, the command works on the region in the server. Otherwise, a command that
only reads opens the store read-only: another process may be using it, and the command shows the last commit of that
process. A command that changes something needs exclusive use of the store. Without a store its changes would be lost at
its end, so such commands require one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tdqsim.cli.completing import offered_directories
from tdqsim.cli.errors import InputError, aside, warn
from tdqsim.cli.examples import example
from tdqsim.cli.extensions import extension
from tdqsim.core.control import Address

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cics.region_arguments import RegionOptions
    from tdqsim.cli.served import ServedRegion
    from tdqsim.definitions import Definitions
    from tdqsim.definitions.regionfile import RegionFile

NO_PROGRAMS: Final[dict[str, Any]] = {"handlers": (), "settings": {}}
"""The arguments of a region that imports no handlers and no COBOL programs."""

RegionOption = Annotated[
    Path | None,
    typer.Option(
        "--region",
        "-r",
        metavar="DIR",
        envvar="TDQ_REGION",
        help="A region directory (with region.yaml); it may stand first among the arguments instead.",
        autocompletion=offered_directories,
    ),
]
DefinitionsOption = Annotated[
    list[Path] | None,
    typer.Option("--definitions", "-d", metavar="FILE", help="A definition file or folder; repeatable."),
]


def store_path(written: str) -> Path:
    """The directory of a store, as it is written on a command line.

    Raises:
        typer.BadParameter: it is empty, as if a shell variable is not set: it would mean the current directory.
    """
    if not written:
        raise typer.BadParameter("a path is empty; . is the current directory")
    return Path(written)


StoreOption = Annotated[
    Path | None,
    typer.Option("--store", "-s", metavar="DIR", envvar="TDQ_STORE", help="The store's directory.", parser=store_path),
]
DdOption = Annotated[
    list[str] | None, typer.Option("--dd", metavar="NAME=FILE", help="The file of a DD name; repeatable.")
]
ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", envvar="TDQ_SERVER", help="A server that has the region (guide: serve)."),
]

_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"
_REGION_FILE = "region.yaml"
_QUEUES: Final = re.compile(r"(?=.*\*)\S{1,40}|\S{1,4}")
"""A queue's name, or a generic one."""
_MARK: Final = "\0"  # occurs in no word of a command line


def _is_region(path: Path) -> bool:
    return (path / _REGION_FILE).is_file() or example(path) is not None


def checked_queues(names: Any) -> Any:
    """Check names of queues for the parser: a name, several, or None.

    Raises:
        InputError: a word is neither the name of a queue nor a generic name.
    """
    for word in [names] if isinstance(names, str) else names or ():
        if not _QUEUES.fullmatch(word):
            raise InputError(_neither(word))
    return names


def _no_region(path: Path | str) -> str:
    if not Path(path).exists():
        return f"{path}: not a region directory; there is no directory of that name"
    return f"{path}: not a region directory; it has no {_REGION_FILE}"


def _neither(word: str) -> str:
    if Path(word).is_dir():
        return _no_region(word)
    hint = f"; for a definition file write -d {word}" if Path(word).is_file() else ""
    return f"{word}: neither a queue (a name of 1 to 4 characters, or a generic one) nor a region directory{hint}"


def with_region_first(command: Any, ctx: Any, args: list[str]) -> list[str]:
    """The words of a command line, with a region directory among the arguments given by --region.

    It stands first, or anywhere if all arguments are names of queues. An argument is a region directory if it contains
    a region.yaml, if it is the name of an example, if it is written as the path of a directory (``.``, ``./PAYQ``).

    Args:
        command: a command that :func:`takes_target` has made.
        ctx: its context.
        args: the words after its name.

    Raises:
        InputError: it is not a region directory; or --region is given too, and it is no name of a queue.
    """
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    own = [each.name for each in arguments]
    parser = command.make_parser(ctx)
    given, words = _parsed(parser, args, own)
    anywhere = [each.metavar for each in arguments] == ["QUEUE"]
    free = not any(given.get(name) for name in _OPTIONS)  # nothing else names the directory of the queues
    named = (at for at, each in enumerate(words if anywhere else words[:1]) if _names_region(each, free=free or not at))
    number = next(named, -1)
    word = words[number] if number >= 0 else ""
    if not word:
        return args
    if isinstance(given.get("region"), str):
        if _QUEUES.fullmatch(word):
            return args
        raise InputError(f"{word}: the region directory is already given by --region")
    if not _is_region(Path(word)):
        raise InputError(_no_region(word))
    for at in (at for at, each in enumerate(args) if each == word):  # the same word may also be the value of an option
        if _parsed(parser, [*args[:at], _MARK, *args[at + 1 :]], own)[1][number : number + 1] == [_MARK]:
            return ["--region", word, *args[:at], *args[at + 1 :]]
    return args


def _parsed(parser: Any, args: list[str], own: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options of a command line, and the arguments of its first kind, such as the names of queues."""
    given, rest, _ = parser.parse_args(args=list(args))
    value = given.get(own[0]) if own else None
    return given, [value] if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else rest


def _names_region(word: str, *, free: bool) -> bool:
    """Whether an argument names a region directory; unless ``free``, a possible name of a queue does not."""
    return (_is_region(Path(word)) or _is_written_as_path(word)) and (free or not _QUEUES.fullmatch(word))


def _is_written_as_path(word: str) -> bool:
    return word in (".", "..") or ("/" in word and Path(word).is_dir())


@dataclass
class RegionTarget:
    """The region that a command works on, as the command line selects it.

    Attributes:
        directory: the region directory, or None.
        definitions: definition files given in addition or instead.
        store: the store's directory, or None.
        dd: DD cards as given, ``NAME=FILE``.
        server: the address of a server that has the region; empty for none.
    """

    directory: Path | None
    definitions: list[Path] = field(default_factory=list)
    store: Path | None = None
    dd: list[str] = field(default_factory=list)
    server: str = ""
    named: bool = field(default=False, init=False)  # whether it was given, and is not just the current directory

    def __post_init__(self) -> None:
        self.named = self.directory is not None or bool(self.definitions)
        if self.directory is None and not self.definitions and Path(_REGION_FILE).is_file():
            self.directory = Path()
        if self.directory is not None:
            self.directory = example(self.directory) or self.directory
        if self.directory is not None and not (self.directory / _REGION_FILE).is_file():
            raise InputError(_no_region(self.directory))

    @property
    def empty(self) -> bool:
        """Whether nothing selects a region."""
        return self.directory is None and not self.definitions and self.store is None and not self.server

    def region_file(self) -> RegionFile:
        """The contents of region.yaml; the defaults if there is none."""
        from tdqsim.definitions.regionfile import RegionFile, load_region_file

        return RegionFile() if self.directory is None else load_region_file(self.directory)

    def require_store(self) -> Path:
        """The store, for a command that changes something."""
        if self.store is None:
            raise InputError("this command needs a store: give --store DIR; tdq write creates one that does not exist")
        return self.store

    def require_records(self) -> None:
        """Check that the store exists, for a command that takes records from it; a misspelt name must not create one.

        Raises:
            StoreMissing: it does not exist.
        """
        from tdqsim.errors import StoreMissing

        if not self.server and self.store is not None and not any(self.store.glob("*/data.mdb")):
            raise StoreMissing(f"{self.store}: there is no store here")

    def require_target(self) -> None:
        """Check that there is something to change: a store, or a server that has the region."""
        if not self.server and not (self.store is None and self.directory is not None and Address.find(self.directory)):
            self.require_store()

    @contextmanager
    def served(self) -> Iterator[ServedRegion | None]:
        """The region in the server that has it, with the methods that commands use; None if no server has it.

        The server is found by the store if one is given, otherwise by the directory.
        """
        target = self.store if self.store is not None else self.directory
        if not self.server and (target is None or Address.find(target) is None):
            yield None
            return
        with extension("server", "region")(self.server, target) as region:
            yield region

    def check_not_served(self) -> None:
        """Check that no server has the store, for a command that makes its own region.

        If a server has the directory, and the region gets its own store, a warning says that there are two.

        Raises:
            InputError: a server has the store.
        """
        target = self.store if self.store is not None else self.directory
        if target is None or Address.find(target) is None:
            return
        address = extension("server", "answering")(target)
        if address is None:
            return
        there = f"{target}: {address.kind} {address.name} is served there by process {address.pid}"
        if self.store is not None:
            raise InputError(
                f"{there}; this run needs its own store: give another --store, or none, or start transactions in the"
                f' server (tdq ceci --store {target} "START TRANSID(T)")'
            )
        warn(f"{there}; this run uses its own region, and changes nothing in the server")

    def cards(self) -> dict[str, Any]:
        """The DD cards given on the command line, by name."""
        if not self.dd:
            return {}
        from tdqsim.datasets import DDCard

        cards = [DDCard.parse(text) for text in self.dd]
        return {card.name: card for card in cards}

    @contextmanager
    def modules(self) -> Iterator[None]:
        """A context in which the modules with handlers are found: beside region.yaml, and beside the files given."""
        from tdqsim.job import importable  # not needed by commands that run no programs

        folders = [*([] if self.directory is None else [self.directory]), *(each.parent for each in self.definitions)]
        with ExitStack() as stack:
            for folder in dict.fromkeys(each.resolve() for each in folders):
                stack.enter_context(importable(folder))
            yield

    def load_definitions(self) -> Definitions:
        """The definitions of the region directory, then those of the files given."""
        return self._definitions(self.region_file())

    def _definitions(self, file: RegionFile) -> Definitions:
        from tdqsim.definitions import load_definitions

        return file.load_definitions() + load_definitions(*self.definitions)

    def open(self, **arguments: Any) -> Region:
        """The region, created from region.yaml, the definition files and the arguments.

        Raises:
            InputError: no queue has the DD name of a DD card.
        """
        from tdqsim.cics import Region

        arguments = {"store": self.store, "dd": self.cards(), **arguments}
        file = self.region_file()
        if "definitions" not in arguments:
            arguments["definitions"] = self._definitions(file)
        if self.store is None:
            self.check_cards(arguments["definitions"])
        if self.directory is None:
            return Region(**{"handlers": None, **arguments})
        return Region.from_directory(file, **arguments)

    def check_cards(self, definitions: Definitions) -> None:
        """Check that every DD card of the command line belongs to a queue, because a misspelt name would go unnoticed.

        Raises:
            InputError: no queue has the DD name.
        """
        from tdqsim.definitions import ExtraQueue
        from tdqsim.facts import SUPPLIED_QUEUES

        own = [queue.dd for queue in definitions.tdqueues if isinstance(queue, ExtraQueue)]
        supplied = [queue.ddname for queue in SUPPLIED_QUEUES.values() if queue.ddname]
        for name in self.cards():
            if name not in (*own, *supplied):
                raise InputError(f"--dd {name}: no queue has that DD name; the DD names are {', '.join(own) or 'none'}")


@contextmanager
def reading(target: RegionTarget, *, programs: bool = False, anywhere: bool = False) -> Iterator[Region | ServedRegion]:
    """The region for a command that only reads: in the server that has it, otherwise by :func:`reading_here`."""
    with target.served() as served:
        if served is not None:
            yield served
            return
    with reading_here(target, programs=programs, anywhere=anywhere) as region:
        yield region


@contextmanager
def reading_here(target: RegionTarget, *, programs: bool = False, anywhere: bool = False) -> Iterator[Region]:
    """The region, read by this process.

    A store that is in use, or was not closed, is shown as of its last commit, with a message.

    Args:
        target: the region of the command.
        programs: whether to load the handlers, because they determine whether a transaction can start. This runs the
            user's code, so it is done only for a directory or definition files that the user has named, never for the
            current directory.
        anywhere: whether an empty region will do if nothing selects one.

    Raises:
        InputError: nothing selects a region.
    """
    if target.empty and not anywhere:
        raise InputError(
            f"which region? Name a region directory (one with a {_REGION_FILE}), or give --definitions or --store"
        )
    programs = programs and target.named
    arguments: dict[str, Any] = {"readonly": True}
    if not programs:
        arguments |= NO_PROGRAMS
    if target.store is not None:
        arguments["definitions"] = ()  # the definitions come from the store, as for a warm start
    with target.modules() if programs else no_plugins(), target.open(**arguments) as region:
        _say_how_old(target, region)
        yield region


@contextmanager
def no_plugins() -> Iterator[None]:
    """Disable plugins of pydantic, for commands that load no program of the user.

    To find such plugins, pydantic reads the metadata of every installed package, which is slow.
    """
    before = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_PLUGINS, None)
        else:
            os.environ[_PLUGINS] = before


def options_of(region: Region | ServedRegion) -> RegionOptions | ServedRegion:
    """The object with the attributes ``sysid`` and ``code_page`` of a region, in this process or served."""
    return region.options if hasattr(region, "options") else region


def unknown_outside(region: Region | ServedRegion) -> frozenset[str]:
    """The queues whose records are only in the memory of the process that has the store.

    These are the non-recoverable queues of a region that is running, or that was not closed; in the latter case their
    records are lost.
    """
    infos = region.browse_tdqueue("TYPE", "NUMITEMS")
    return frozenset(info.tdqueue.rstrip() for info in infos if info.type.name == "INTRA" and info.numitems < 0)


def say_no_store(target: RegionTarget, region: Region | ServedRegion) -> None:
    """Warn that a region of this command is empty, because no store was named and no server has it."""
    if target.store is None and hasattr(region, "options"):
        aside("no store: an empty region, made for this command; --store DIR (or TDQ_STORE) names the one to look at")


_STATES: Final = frozenset({"ENABLESTATUS", "OPENSTATUS"})
_OF_ONE_RUN: Final = frozenset({"TASK", "UOW", "UOWENQ", "UOWLINK"})


def say_forgotten(resource: str, options: Iterable[str]) -> None:
    """Warn of attributes that SET has changed without effect, because the region ends with the command.

    The store keeps the attributes of a trigger. Tasks and units of work are no resources of a later start.
    """
    if resource in _OF_ONE_RUN:
        return
    lost = [each for each in options if resource != "TDQUEUE" or each.upper() in _STATES]
    if lost:
        aside(
            f"the region ended with this command: what SET changed is as defined again at its next start "
            f"({', '.join(lost).upper()}); `tdq cemt` without a command keeps it for a session, and `tdq serve` until "
            "the server ends"
        )


def say_unknown(names: Iterable[str]) -> None:
    """Print that the records of these queues are not known; print nothing for none."""
    listed = ", ".join(sorted(names))
    if listed:
        warn(
            f"how many records {listed} holds is not known from outside: records of non-recoverable queues are in the "
            "running region only, and gone when it was killed"
        )


def _say_how_old(target: RegionTarget, region: Region) -> None:
    from tdqsim.cics.region_core import IDENTITY
    from tdqsim.core.store.keeper import holder

    if target.store is not None and region.store.durable.get_meta(IDENTITY) is None and not region.tdqueues:
        warn(f"{target.store}: no region was started in it yet, so nothing is installed; tdq run starts one")
    if target.store is None or region.recovery.start_type != "EMERGENCY":
        return
    now = region.clock.time_ns()
    age = region.store.durable.age(now)
    pid = holder(target.store)
    whose = f"in use by process {pid}" if pid else "not closed by the process that had it last"
    warn(f"{target.store}: the store is {whose}; this is its last commit, {age:.1f} s ago")


@contextmanager
def changing(target: RegionTarget, *, start: bool = False) -> Iterator[Region | ServedRegion]:
    """The region for a command that changes something: in a server, or with exclusive use of the store.

    Args:
        target: the region of the command.
        start: whether to start it in full: load handlers, and open the data sets of OPENTIME(INITIAL). Otherwise data
            sets are not opened or changed.
    """
    with target.served() as served:
        if served is not None:
            yield served
            return
    target.require_store()
    # Ignore the start type of region.yaml: the command works on the contents of the store, so it must not start cold.
    from tdqsim.cics import StartOptions

    arguments: dict[str, Any] = {"start": StartOptions(type="AUTO", tdintra="NOEMPTY", open_data_sets=start)}
    if not start:
        arguments |= NO_PROGRAMS
    with target.modules() if start else nullcontext(), target.open(**arguments) as region:
        yield region


_Command = Callable[..., None]
_OPTIONS: Final = {
    "region": RegionOption, "definitions": DefinitionsOption, "store": StoreOption, "dd": DdOption,
    "server": ServerOption,
}  # fmt: skip


def with_options(function: _Command, options: Mapping[str, Any], make: Callable[..., Any]) -> _Command:
    """A command whose first parameter is made from options.

    Args:
        function: the command.
        options: the annotations of the options by name; each is None if it is not given.
        make: called with the options by name; returns what the command gets.
    """
    _first, *own = signature(function, eval_str=True).parameters.values()

    @wraps(function)
    def command(**arguments: Any) -> None:
        function(make(**{name: arguments.pop(name) for name in options}), **arguments)

    given = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint) for name, hint in options.items()]
    named = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own]
    required = [each for each in named if each.default is Parameter.empty]
    parameters = [*required, *given, *(each for each in named if each.default is not Parameter.empty)]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def takes_target(*, changes: bool = False) -> Callable[[_Command], _Command]:
    """Decorate a command that works on a region: options that select it replace its first parameter, the target.

    A region directory may also be the first argument: see :func:`with_region_first`.

    Args:
        changes: whether the command changes something; it then requires a store.
    """

    def target_of(
        region: Path | None,
        definitions: list[Path] | None,
        store: Path | None,
        dd: list[str] | None,
        server: str | None,
    ) -> RegionTarget:
        target = RegionTarget(region, definitions or [], store, dd or [], server or "")
        if changes:
            target.require_target()
        return target

    def declare(function: _Command) -> _Command:
        command = with_options(function, _OPTIONS, target_of)
        command.takes_target = True  # type: ignore[attr-defined]
        return command

    return declare
