"""The checks of ``tdq check`` for a region directory, beyond its definitions: errors that ``tdq run`` would refuse.

None of the user's code is run. The region is created as for a command that only reads; modules are searched for but not
imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tdqsim.cics import Region
from tdqsim.cics.region_arguments import from_region_file
from tdqsim.cli.place import NO_PROGRAMS
from tdqsim.definitions import ExtraQueue
from tdqsim.definitions.regionfile import REGION_FILE_NAME, line_of
from tdqsim.errors import DefinitionError, Problem, TdqError
from tdqsim.facts import SUPPLIED_QUEUES

if TYPE_CHECKING:
    from tdqsim.definitions import Definitions, RegionFile
    from tdqsim.definitions.group import GroupEntry


def region_problems(file: RegionFile, definitions: Definitions) -> list[Problem]:
    """The problems that prevent the start of a region of this directory."""
    return [*_not_startable(file, definitions)] or [*_refused(file, definitions)]


def region_warnings(file: RegionFile, definitions: Definitions) -> list[Problem]:
    """Names without a target, which are warnings because a region accepts them, or another Python may have them.

    A missing module is only a warning because a pre-commit hook runs in an environment without the user's packages.
    """
    return [*_missing_modules(file, definitions), *_unused_cards(file, definitions), *_to_nothing(file, definitions)]


def _missing_modules(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Modules that ``tdq run`` would not find, neither in the directory nor on Python's path."""
    for name in file.handlers:
        if not _is_module(name, file.directory):
            yield _in_region(file, "handlers", name, _no_module(name))
    module = file.job.partition(":")[0]
    if file.job and not _is_module(module, file.directory):
        yield _in_region(file, "job", file.job, _no_module(module))
    prefixes = _prefixes()
    for entry in definitions.entries:
        handler = getattr(entry.resource, "handler", "")
        module = handler.partition(":")[0]
        if module == "cobol":
            program = handler.partition(":")[2]
            yield _at(entry, "handler", handler, f"write program: {program} instead of handler: {handler}")
        elif handler and module not in prefixes and not _is_module(module, file.directory):
            yield _at(entry, "handler", handler, _no_module(module))


def _no_module(name: str) -> str:
    return f"there is no module {name}, neither in the region directory nor installed for this Python; run needs it"


def _is_module(name: str, directory: Path) -> bool:
    """Whether Python would find a module, without importing it or the packages that it is in."""
    top, *below = name.split(".")
    if top in sys.stdlib_module_names and name in sys.modules:
        return True  # such as os.path, whose parent is not a package
    try:
        spec = PathFinder.find_spec(top, [str(directory)]) or find_spec(top)
    except ValueError:  # it is loaded, but has no spec
        return True
    for at, _ in enumerate(below, 1):
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = PathFinder.find_spec(".".join([top, *below[:at]]), [*spec.submodule_search_locations])
    return spec is not None


def _prefixes() -> set[str]:
    """The prefixes (before the colon) of handlers that are not Python modules."""
    return {each.name for each in metadata.entry_points(group="tdqsim.handlers")}


def _not_startable(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Undefined transactions of ``start:``; none with ``handlers:``, because these modules may register any."""
    if file.handlers:
        return
    known = [each.name for each in definitions.transactions]
    for name in file.start:
        if name not in known:
            reason = f"is not defined, and no handlers: has a module for it; defined are {', '.join(known) or 'none'}"
            yield _in_region(file, "start", name, reason)


def _refused(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """The errors that creating the region raises."""
    arguments = {"definitions": definitions, "readonly": True, "store": None, **NO_PROGRAMS}
    try:
        Region(**from_region_file(file, arguments)).close()
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


def _to_nothing(file: RegionFile, definitions: Definitions) -> Iterator[Problem]:
    """Indirect queues whose target does not exist, and triggers of transactions that do not exist."""
    queues = {queue.name for queue in definitions.tdqueues} | set(SUPPLIED_QUEUES if file.supplied == "YES" else ())
    transactions = {each.name for each in definitions.transactions}
    for entry in definitions.entries:
        target = getattr(entry.resource, "indirectname", "")
        if target and target not in queues:
            yield _at(entry, "indirectname", target, "there is no queue of this name: requests would get QIDERR")
        transid = getattr(entry.resource, "transid", "")
        if transid and transid not in transactions and not file.handlers:
            yield _at(
                entry,
                "transid",
                transid,
                "is not defined: the trigger starts nothing (DFHTD0183) unless a handler is registered for it",
            )


def indirect_rings(definitions: Definitions) -> Iterator[Problem]:
    """Rings of indirect queues."""
    entries = {entry.resource.resource_name: entry for entry in definitions.entries if entry.resource.kind == "TDQUEUE"}
    for name, entry in entries.items():
        way = [name]
        while following := getattr(entries[way[-1]].resource, "indirectname", ""):
            if following == name:
                ring = " leads to ".join([*way, name])
                yield _at(entry, "indirectname", way[1] if len(way) > 1 else name, f"leads back to itself: {ring}")
            if following in way or following not in entries:
                break
            way.append(following)


def _at(entry: GroupEntry, attribute: str, value: str, message: str) -> Problem:
    return Problem(entry.file, entry.line, entry.resource.title, attribute, value, message)


def _in_region(file: RegionFile, key: str, value: str, message: str) -> Problem:
    return Problem(str(_path(file)), line_of(_path(file), key, value), "", key, value, message)


def _path(file: RegionFile) -> Path:
    return file.directory / REGION_FILE_NAME
