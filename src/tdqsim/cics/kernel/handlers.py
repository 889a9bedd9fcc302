"""Transactions and the Python functions that are their programs.

A transaction runs the handler that is registered under its id or, without one, the program that its PROGRAM names in
the region's program table. LINK and XCTL find programs in the same table, and the handlers of transactions by PROGRAM.

A handler is called with its task: ``def payp(task): ...``. It is registered under a transaction id by decorator
(``@region.transaction("PAYP")``), by call (``region.register("PAYP", payp)``) or by the import path in the
TRANSACTION definition (``handler: payments:payp``), which is imported only when the region loads handlers.
``handler: PREFIX:NAME`` names a program in another language; the entry point PREFIX of the group ``tdqsim.handlers``
looks it up. If the region has settings for PREFIX, the entry point also looks up the PROGRAM of a TRANSACTION without
a handler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from tdqsim.cics.model.transaction import Handler, ProgramTable, TransactionEntry
from tdqsim.core.callables import why_unusable
from tdqsim.core.record_list import several
from tdqsim.core.spelling import close_names, did_you_mean
from tdqsim.errors import DefinitionError, Problem, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tdqsim.cics.model.region import RegionBase, RegionData
    from tdqsim.definitions import Transaction

_LONGEST_TRANSID: Final = 4
_RESOLVERS: Final = "tdqsim.handlers"
_KEPT: Final = 1000


@lru_cache(_KEPT)
def undefined(transid: str) -> Transaction:
    """The definition of a transaction that only has a handler.

    Raises:
        DefinitionError: the name is not a transaction id.
    """
    from tdqsim.definitions import define_transaction  # noqa: PLC0415  (pydantic is imported with the first definition)

    return define_transaction(name=transid)


class Resolver(Protocol):
    """The object behind an entry point of the group ``tdqsim.handlers``: it looks up programs in another language."""

    def handler(self, region: RegionBase, name: str) -> Handler:
        """The program that ``handler: PREFIX:NAME`` names; an error says why there is none."""

    def find(self, region: RegionBase, name: str) -> Handler | None:
        """The program of this name, if there is one: that of a TRANSACTION without ``handler:``."""


@cache  # a search looks at every installed package
def resolvers() -> Mapping[str, EntryPoint]:
    """The installed entry points by the prefix of their handlers; of several with one name, the first that is found.

    ``importlib.metadata.entry_points`` would parse the entry points of every package, for twice the time.
    """
    from importlib.metadata import distributions  # noqa: PLC0415  (slow to import: a fifth of the import time of tdqsim.cics)

    found: dict[str, EntryPoint] = {}
    for each in distributions():
        if f"[{_RESOLVERS}]" in (each.read_text("entry_points.txt") or ""):
            for entry in each.entry_points.select(group=_RESOLVERS):
                found.setdefault(entry.name, entry)
    return found


def _resolver(prefix: str) -> Resolver | None:
    entry = resolvers().get(prefix)
    return None if entry is None else entry.load()


def import_handler(path: str, transid: str, region: RegionBase) -> Handler:
    """The callable that ``package.module:function`` names, or the program that ``PREFIX:NAME`` does.

    Raises:
        DefinitionError: it cannot be imported, or cannot be called with a task.
    """

    def refused(message: str) -> DefinitionError:
        return DefinitionError([Problem("<handlers>", 0, f"TRANSACTION({transid})", "handler", path, message)])

    module_name, _, attributes = path.partition(":")
    resolver = _resolver(module_name)
    if resolver is not None:
        program = resolver.handler(region, attributes)
        if reason := why_unusable(program, "task"):
            raise refused(reason)
        return program
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything at import
        raise refused(_not_imported(module_name, error)) from error
    handler: object = module
    for attribute in attributes.split("."):
        handler = getattr(handler, attribute, None)
    if not callable(handler):
        raise refused(f"module {module_name} has no function {attributes}{did_you_mean(attributes, vars(module))}")
    if reason := why_unusable(handler, "task"):
        raise refused(reason)
    return handler


def _not_imported(module: str, error: BaseException) -> str:
    """Why a module cannot be imported, with the file and line in the user's code that raised the error, if any."""
    from traceback import extract_tb  # noqa: PLC0415  (needed only after a failure)

    here = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    inside = here[next((at for at, frame in enumerate(here) if frame.name == "import_module"), -1) + 1 :]
    place = f" ({inside[-1].filename}:{inside[-1].lineno})" if inside else ""
    return f"module {module} cannot be imported: {type(error).__name__}: {error}{place}"


def startable(
    transactions: Mapping[str, TransactionEntry],
    program: str | Handler,
    transid: str,
    routed_from: str = "",
    args: Sequence[object] = (),
) -> TransactionEntry:
    """The transaction that ``region.start`` is to start: a defined one, or a function under a transaction id.

    Args:
        transactions: the transactions of the region.
        program: a transaction id, or a function.
        transid: the transaction id under which the function runs; derived from its Python name when empty.
        routed_from: the SYSID of the region if the task is to have a terminal: a transaction of another region is then
            routed there, and needs no program here.
        args: the further arguments of a function.

    Raises:
        UsageError: there is none of that name, it cannot be attached, or the function cannot be called.
    """
    if not isinstance(program, str):
        if reason := why_unusable(program, "task", *("argument" for _ in args)):
            raise UsageError(f"start: {reason}")
        return TransactionEntry(undefined(transid or own_name(program)), handler=program, defined=False)
    entry = transactions.get(program)
    if entry is None:
        known = ", ".join(transactions) or "none"
        raise UsageError(f"transaction {program} is not defined; defined are {known}")
    if not entry.enabled:
        raise UsageError(f"transaction {program} is disabled")
    if routed_from and entry.is_remote(routed_from):
        return entry
    if entry.program is None:
        missing = f": program {entry.program_name} is not defined" if entry.program_name else ""
        raise UsageError(f"transaction {program} has no program{missing}: register a handler for it")
    return entry


def own_name(program: Handler) -> str:
    """The transaction id derived from a function's Python name; PROG if the name gives no valid id."""
    name = getattr(program, "__name__", "").upper()[:_LONGEST_TRANSID]
    return name if name.isalnum() else "PROG"


def register(
    transactions: dict[str, TransactionEntry], transid: str, handler: Handler, programs: ProgramTable | None = None
) -> None:
    """See :meth:`tdqsim.cics.region.Region.register`."""
    if reason := why_unusable(handler, "task"):
        raise UsageError(f"TRANSACTION({transid}): {reason}; a handler is a function of its task, def handler(task)")
    entry = transactions.get(transid)
    if entry is None:
        transactions[transid] = TransactionEntry(undefined(transid), programs, handler, defined=False)
    else:
        entry.handler = handler


def program_of_transaction(transactions: Mapping[str, TransactionEntry], name: str) -> Handler | None:
    """The handler of a transaction whose PROGRAM has this name, or None."""
    handlers = (entry.handler for entry in transactions.values() if entry.program_name == name)
    return next((handler for handler in handlers if handler is not None), None)


def check_handlers(handlers: Sequence[str] | Mapping[str, Handler] | None) -> None:
    """Refuse handlers that a region could not register, before any part of the region is made.

    Raises:
        DefinitionError, UsageError: a key is not a transaction id, or its handler cannot be called.
        TypeError: a name is given in place of a list of names; its letters would be taken as names.
    """
    if handlers is not None:
        several("handlers", handlers, "names of modules")
    if isinstance(handlers, Mapping):
        for transid, handler in handlers.items():
            register({}, transid, handler)


def say_misspelt(region: RegionData, transids: Iterable[str]) -> None:
    """A notice for each handler of no transaction that is defined, if a similar one has no handler.

    Other handlers may be there before their transactions: these may be installed later, and a test may do without.
    """
    known = region.transactions
    if lost := [each for each in transids if not known[each].defined]:
        sysid = region.options.sysid
        wanted = {name for name, each in known.items() if each.program is None and not each.is_remote(sysid)}
        wanted |= {getattr(queue, "transid", "") for queue in region.tdqueues.values()} - {"", *known}
        for transid in lost:
            for near in close_names(transid, wanted):
                region.notices.say("handler_of_nothing", transid=transid, wanted=near)


def load_handlers(region: RegionData, modules: Iterable[str], *, kept: bool = False) -> None:
    """See :meth:`tdqsim.cics.region.Region.load_handlers`; the region is handed to the modules' ``register``.

    Args:
        region: the region.
        modules: the modules.
        kept: whether the definitions are those of the last run, from the catalogue. One definition must not prevent
            every later start: a transaction whose handler cannot be imported then has no program, a notice says why,
            and later calls try again without an error.
    """
    for name in modules:
        try:
            register_handlers = getattr(import_module(name), "register", None)
        except (Exception, SystemExit) as error:
            raise DefinitionError(
                [Problem("<handlers>", 0, "", "handlers", name, _not_imported(name, error))]
            ) from error
        if register_handlers is None:
            paths = (entry.definition.handler for entry in region.transactions.values())
            if any(path.partition(":")[0] == name for path in paths):
                continue
            reason = f"module {name} has no function register(region), and no TRANSACTION names a handler in it"
            raise DefinitionError([Problem("<handlers>", 0, "", "handlers", name, reason)])
        if reason := why_unusable(register_handlers, "region"):
            raise DefinitionError([Problem("<handlers>", 0, "", "handlers", name, reason)])
        register_handlers(region.facade)
    languages = [resolver for prefix in region.options.settings if (resolver := _resolver(prefix)) is not None]
    for entry in region.transactions.values():
        if entry.handler is None and entry.definition.handler:
            _import(region, entry, kept=kept)
        elif entry.program is None and entry.program_name:
            programs = (resolver.find(region.facade, entry.program_name) for resolver in languages)
            program = next((each for each in programs if each is not None), None)
            if program is not None:
                region.programs.register(entry.program_name, program)


def _import(region: RegionData, entry: TransactionEntry, *, kept: bool) -> None:
    """Import the handler that a transaction names; see :func:`load_handlers`."""
    try:
        entry.handler = import_handler(entry.definition.handler, entry.definition.name, region.facade)
    except DefinitionError as error:
        if not kept and not entry.not_imported:
            raise
        entry.not_imported = error.problems[0].message
        region.notices.say(
            "handler_not_imported",
            transid=entry.name, handler=entry.definition.handler, reason=entry.not_imported,
        )  # fmt: skip
    else:
        entry.not_imported = ""
