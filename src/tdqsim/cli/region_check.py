"""The checks of ``tdq check`` for a region directory, beyond its definitions: errors that ``tdq run`` would refuse.

None of the user's code is run. The region is created as for a command that only reads; modules are searched for but not
imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tdqsim.cics import Region
from tdqsim.cics.kernel.handlers import resolvers
from tdqsim.cli.target import NO_PROGRAMS
from tdqsim.definitions import ExtraQueue, IntraQueue, RegionFile, RemoteQueue, Transaction
from tdqsim.definitions.regionfile import REGION_FILE_NAME, line_of
from tdqsim.errors import DefinitionError, Problem, TdqError
from tdqsim.facts import SUPPLIED_QUEUES

if TYPE_CHECKING:
    from tdqsim.definitions import Definitions
    from tdqsim.definitions.group import GroupEntry


def region_problems(file: RegionFile, definitions: Definitions) -> list[Problem]:
    """The problems that prevent the start of a region of this directory."""
    return [*_broken_modules(file, definitions), *_not_startable(file, definitions)] or [*_refused(file, definitions)]


def region_warnings(file: RegionFile, definitions: Definitions) -> list[Problem]:
    """Names without a target, which are warnings because a region accepts them, or another Python may have them.

    A missing module is only a warning because a pre-commit hook runs in an environment without the user's packages.
    """
    return [
        *_missing_modules(file, definitions),
        *_missing_functions(file, definitions),
        *_unused_cards(file, definitions),
        *_no_card(file, definitions),
        *_no_folders(file),
        *_no_queue(file, definitions),
        *_to_nothing(file, definitions),
        *no_facility(definitions.entries),
        *_no_connection(definitions.entries),
        *_no_program(file, definitions),
        *_no_runaway(file, definitions),
    ]


def handlers_alone(path: Path, definitions: Definitions) -> tuple[list[Problem], list[Problem]]:
    """The errors and warnings about handlers in a definition file that is checked without its region.

    Their modules are looked for in the nearest folder above that has a region.yaml, else in the folder of the file.
    """
    folders = path.absolute().parents if path.is_file() else [path.absolute()]
    home = next((each for each in folders if (each / REGION_FILE_NAME).is_file()), folders[0])
    file = RegionFile(directory=home)
    warnings = [*_missing_modules(file, definitions), *_missing_functions(file, definitions)]
    return [*_broken_modules(file, definitions)], warnings


def _missing_modules(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Modules that ``tdq run`` would not find, neither in the directory nor on Python's path."""
    for name in file.handlers:
        if not _is_module(name, file.directory):
            yield _in_region(file, "handlers", name, _no_module(name))
    module = file.job.partition(":")[0]
    if file.job and not _is_module(module, file.directory):
        yield _in_region(file, "job", file.job, _no_module(module))
    for entry in definitions.entries:
        handler = getattr(entry.resource, "handler", "")
        module = handler.partition(":")[0]
        if module == "cobol":
            program = handler.partition(":")[2]
            yield _at(entry, "handler", handler, f"write program: {program} instead of handler: {handler}")
        elif handler and not _is_module(module, file.directory) and module not in resolvers():
            yield _at(entry, "handler", handler, _no_module(module))


def _no_module(name: str) -> str:
    return f"there is no module {name}, neither in the region directory nor installed for this Python; run needs it"


def _is_module(name: str, directory: Path) -> bool:
    """Whether Python would find a module, without importing it or the packages that it is in."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names and name in sys.modules:
        return True  # such as os.path, whose parent is not a package
    try:
        return _found(name, directory) is not None
    except ValueError:  # it is loaded, but has no spec
        return True


def _found(name: str, directory: Path) -> ModuleSpec | None:
    """The module as Python would find it.

    Raises:
        ValueError: it is loaded, but has no spec.
    """
    top, *below = name.split(".")
    spec = PathFinder.find_spec(top, [str(directory)]) or find_spec(top)
    for at, _ in enumerate(below, 1):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join([top, *below[:at]]), [*spec.submodule_search_locations])
    return spec


def _module_source(name: str, directory: Path) -> Path | None:
    """The Python file of a module of the region directory; None for another one, and where it cannot be known."""
    try:
        spec = _found(name, directory)
    except ValueError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    return path if path.is_relative_to(directory.resolve()) or path.is_relative_to(directory) else None


def _names_of(path: Path) -> frozenset[str] | None:
    """The names that a module binds at its top level; None where they cannot be known without running it.

    Raises:
        SyntaxError: it is not valid Python.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return None if found & {"*", "__getattr__"} else frozenset(found)


def _modules_of(file: RegionFile, definitions: Definitions) -> Iterator[tuple[str, str, GroupEntry | None]]:
    """The modules with handlers, each with the function that is wanted of it.

    In a handler of another language the prefix of the language stands for the module. To know the prefixes takes long,
    because every installed package is searched: callers ask for them only before they report a problem of a module.
    """
    for name in file.handlers:
        yield name, "register", None
    for entry in definitions.entries:
        module, _, function = getattr(entry.resource, "handler", "").partition(":")
        if module:
            yield module, function, entry


def _broken_modules(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Modules with handlers that are not valid Python."""
    for name in dict.fromkeys(name for name, _, _ in _modules_of(file, definitions)):
        path = _module_source(name, file.directory)
        try:
            if path is not None:
                _names_of(path)
        except (SyntaxError, ValueError) as error:
            if name in resolvers() and name not in file.handlers:
                continue
            line = getattr(error, "lineno", None) or 0
            reason = getattr(error, "msg", "") or str(error)
            yield Problem(str(path), line, "", "", "", f"module {name} is not valid Python: {reason}")


def _missing_functions(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Handlers that their modules do not have, and modules that register nothing."""
    named = {name for name, _, entry in _modules_of(file, definitions) if entry is not None}
    for name, function, entry in _modules_of(file, definitions):
        if entry is None and name in named:
            continue  # its functions are handlers by their paths
        path = _module_source(name, file.directory)
        try:
            names = None if path is None else _names_of(path)
        except (SyntaxError, ValueError):
            continue  # an error, not a warning
        first = function.partition(".")[0]
        if names is None or first in names or (entry is not None and name in resolvers()):
            continue
        hint = f"; did you mean {near[0]}?" if (near := get_close_matches(first, names, 1)) else ""
        if entry is None:
            message = f"module {name} has no function register(region), and so registers no handler{hint}"
            yield _in_region(file, "handlers", name, message)
        else:
            handler = f"{name}:{function}"
            yield _at(entry, "handler", handler, f"module {name} has no function {function}{hint}")


def _not_startable(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Undefined transactions of ``start_transactions:``; none with ``handlers:``, whose modules may register any."""
    if file.handlers:
        return
    known = [each.name for each in definitions.transactions]
    for name in file.start_transactions:
        if name not in known:
            reason = f"is not defined, and no handlers: has a module for it; defined are {', '.join(known) or 'none'}"
            yield _in_region(file, "start_transactions", name, reason)


def _refused(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """The errors that creating the region raises."""
    arguments = {"definitions": definitions, "readonly": True, "store": None, **NO_PROGRAMS}
    try:
        Region.from_directory(file, **arguments).close()
    except DefinitionError as error:
        yield from error.problems
    except TdqError as error:
        yield Problem(str(_path(file)), 0, "", "", "", str(error))


def _unused_cards(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """DD cards that no queue names, if nothing else in the region could open them."""
    if file.job or file.handlers or file.cobol is not None:
        return
    known = {queue.dd for queue in definitions.tdqueues if isinstance(queue, ExtraQueue)}
    known |= {queue.ddname for queue in SUPPLIED_QUEUES.values() if queue.ddname}
    known |= {getattr(entry.resource, "ddname", "") or entry.resource.resource_name for entry in definitions.entries}
    for name in file.dd:
        if name not in known:
            yield _in_region(file, "dd", name, "no queue has this DD name")


def _no_card(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Queues that are read, and have neither a DD card nor a DSNAME; none where a job may have cards."""
    for entry in definitions.entries:
        queue = entry.resource
        if not isinstance(queue, ExtraQueue) or queue.typefile == "OUTPUT" or queue.dsname or queue.sysoutclass:
            continue
        if queue.dd not in file.dd and not file.job:
            message = "there is no DD card of this name in dd:, and the queue has no DSNAME: it cannot be opened"
            yield _at(entry, "ddname", queue.dd, message)


def _no_folders(file: RegionFile) -> Iterator[Problem]:
    """Folders of COBOL sources and copybooks that do not exist."""
    for key in ("sources", "copybooks") if file.cobol is not None else ():
        for folder in getattr(file.cobol, key):
            if not (file.directory / folder).is_dir():
                place = str(_path(file)), line_of(_path(file), "cobol", key), ""
                yield Problem(*place, f"cobol.{key}", folder, "there is no such folder")


def _no_queue(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Layouts for queues that do not exist."""
    queues = {queue.name for queue in definitions.tdqueues} | set(SUPPLIED_QUEUES)
    for name in file.layouts.keys() - queues:
        yield _in_region(file, "layouts", name, "there is no queue of this name, so the layout does nothing")


def _to_nothing(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Indirect queues whose target does not exist, and triggers of transactions that do not exist."""
    queues = {queue.name for queue in definitions.tdqueues} | set(
        SUPPLIED_QUEUES if file.supplied_queues == "YES" else ()
    )
    transactions = {each.name for each in definitions.transactions}
    for entry in definitions.entries:
        target = getattr(entry.resource, "indirectname", "")
        if target and target not in queues:
            yield _at(entry, "indirectname", target, "there is no queue of this name: requests would get QIDERR")
        transid, level = (getattr(entry.resource, name, "") for name in ("transid", "triggerlevel"))
        if level not in ("", 0, 1) and not transid:  # 1 is the default, which CSD listings show for every queue
            yield _at(entry, "triggerlevel", str(level), "starts no task, because the queue has no TRANSID")
        if transid and transid not in transactions:
            message = "is not defined: in CICS the trigger starts nothing (DFHTD0183); here a registered handler runs"
            yield _at(entry, "transid", transid, message)


def _no_connection(entries: Sequence[GroupEntry]) -> Iterator[Problem]:
    """Remote queues without a connection."""
    connections = {entry.resource.resource_name for entry in entries if entry.resource.kind == "CONNECTION"}
    for entry in entries:
        system = getattr(entry.resource, "remotesystem", "") if isinstance(entry.resource, RemoteQueue) else ""
        if system and system not in connections:
            yield _at(entry, "remotesystem", system, "there is no CONNECTION of this name: requests would get SYSIDERR")


def no_facility(entries: Sequence[GroupEntry]) -> Iterator[Problem]:
    """Triggers whose terminal or connection is not defined."""
    terminals = {entry.resource.resource_name for entry in entries if entry.resource.kind == "TERMINAL"}
    connections = {entry.resource.resource_name for entry in entries if entry.resource.kind == "CONNECTION"}
    for entry in entries:
        queue = entry.resource
        if not isinstance(queue, IntraQueue) or not queue.transid or not queue.triggerlevel:
            continue
        name = queue.facilityid or queue.name
        if queue.atifacility == "TERMINAL" and name not in terminals:
            message = "there is no TERMINAL of this name: the trigger's task waits for it. ATIFACILITY is TERMINAL, "
            yield _at(entry, "facilityid", name, f"{message}the default; FILE needs no terminal")
        elif queue.atifacility == "SYSTEM" and name not in connections:
            message = "there is no CONNECTION of this name: the trigger's task waits for it"
            yield _at(entry, "facilityid", name, message)


def _cobol_sources(file: RegionFile) -> set[str]:
    """The names of the programs in the folders of COBOL sources."""
    folders = () if file.cobol is None else [file.directory / folder for folder in file.cobol.sources]
    return {path.stem.upper() for folder in folders for path in folder.glob("*") if path.is_file()}


def _no_runaway(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Transactions whose RUNAWAY limits nothing, because their program is a Python function."""
    sources = _cobol_sources(file)
    for entry in definitions.entries:
        transaction = entry.resource
        if not isinstance(transaction, Transaction) or not transaction.runaway_ms:
            continue
        named = transaction.handler
        if (named.partition(":")[0] not in resolvers()) if named else transaction.program.upper() not in sources:
            message = "limits COBOL programs only: a Python function is never interrupted"
            yield _at(entry, "runaway", transaction.runaway, message)


def _no_program(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Transactions without a handler and without a COBOL source; none where a module or a job may register any."""
    if file.handlers or file.job:
        return
    sources = _cobol_sources(file)
    for entry in definitions.entries:
        transaction = entry.resource
        if not isinstance(transaction, Transaction) or transaction.handler:
            continue
        if transaction.remotesystem in ("", file.sysid) and transaction.program.upper() not in sources:
            message = (
                "the transaction has no handler, and the program has no source below `cobol: sources:`; unless a "
                "handler is registered, no task of it can be attached (DFHAC2016)"
            )
            yield _at(entry, "program", transaction.program, message)


def indirect_rings(definitions: Definitions) -> Iterator[Problem]:
    """Rings of indirect queues: each once, at the queue of it that is met first."""
    entries = {entry.resource.resource_name: entry for entry in definitions.entries if entry.resource.kind == "TDQUEUE"}
    followed: set[str] = set()
    for name in entries:
        way: list[str] = []
        following = name
        while following in entries and following not in followed:
            followed.add(following)
            way.append(following)
            following = getattr(entries[following].resource, "indirectname", "")
        if following in way:
            ring = [*way[way.index(following) :], following]
            reason = f"leads back to itself: {' leads to '.join(ring)}"
            yield _at(entries[following], "indirectname", ring[1], reason)


def _at(entry: GroupEntry, attribute: str, value: str, message: str) -> Problem:
    return Problem(entry.file, entry.line, entry.resource.title, attribute, value, message)


def _in_region(file: RegionFile, key: str, value: str, message: str) -> Problem:
    return Problem(str(_path(file)), line_of(_path(file), key, value), "", key, value, message)


def _path(file: RegionFile) -> Path:
    return file.directory / REGION_FILE_NAME
