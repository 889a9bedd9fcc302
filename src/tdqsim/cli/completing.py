"""Shell completion of arguments: queues, transactions and region directories, as far as definitions contain them.

Completion reads definition files, or the store if nothing else is given; it runs none of the user's programs and calls
no server. If something cannot be read, nothing is offered: completion has no place for an error message, and the
command itself will report the error.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.selection import supplied
from tdqsim.errors import TdqError

if TYPE_CHECKING:
    from tdqsim.cli.target import RegionTarget

Offer = tuple[str, str]
"""A word, and its description."""
_REGION_FILE: Final = "region.yaml"


def offered_queues(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The queues of the definitions; also region directories, if one may stand first."""
    target = _target(ctx)
    own = [] if target is None else beginning(_read(lambda: _queues(target)), incomplete.upper())
    return own if ctx.params.get("names") else own + offered_regions(ctx, incomplete)


def offered_transactions(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The transaction ids of the definitions, and those that queues start."""
    target = _target(ctx)
    return [] if target is None else beginning(_read(lambda: _transactions(target)), incomplete.upper())


def offered_directories(incomplete: str) -> list[Offer]:
    """The region directories in the current directory; other paths are completed by the shell."""
    offers = ((path.parent.name, "region directory") for path in sorted(Path().glob(f"*/{_REGION_FILE}")))
    return [] if "/" in incomplete else beginning(offers, incomplete)


def offered_options(incomplete: str) -> list[Offer]:
    """The options of INQUIRE TDQUEUE; in a list with commas, completes the last one."""
    before, comma, last = incomplete.rpartition(",")
    options = beginning(((name, "") for name in sorted(on_demand.facts.INQUIRE_OPTIONS["TDQUEUE"])), last.upper())
    return [(f"{before}{comma}{name}", about) for name, about in options]


def offered_data_queues(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The data queues in the store, as LIB/NAME."""
    store = ctx.params.get("store")
    if store is None or not Path(store).is_dir():
        return []
    return beginning(_read(lambda: _data_queues(Path(store))), incomplete.upper())


def _read(offers: Callable[[], Iterable[Offer]]) -> Iterable[Offer]:
    """The offers, or nothing if they cannot be read; messages on the way are suppressed."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(TdqError, OSError):
        return offers()
    return ()


def offering(offers: Iterable[Offer]) -> Callable[[str], list[Offer]]:
    """A completion function for a value with a few possible words, each with its description."""

    def offered(incomplete: str) -> list[Offer]:
        return beginning(offers, incomplete)

    return offered


def beginning(offers: Iterable[Offer], start: str) -> list[Offer]:
    """The offers that begin with the typed text."""
    return [offer for offer in offers if offer[0].startswith(start)]


def offered_regions(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Region directories, if one may be the first argument because nothing else selects the region."""
    return [] if ctx.params.get("region") else offered_directories(incomplete)


def _target(ctx: typer.Context) -> RegionTarget | None:
    """The region of the command that is being typed.

    While the value of an option is missing, the parser leaves the arguments as words.
    """
    given = ctx.params
    directory = given.get("region") or next((word for word in ctx.args if (Path(word) / _REGION_FILE).is_file()), None)
    try:
        target = on_demand.target.RegionTarget(
            _path(directory), list(given.get("definitions") or ()), _path(given.get("store"))
        )
    except TdqError:
        return None
    return None if target.empty else target


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _data_queues(store: Path) -> list[Offer]:
    with on_demand.local_system.local_job(store, None, "QSECOFR", 37, create=False, looking=True) as job:
        rows = job.data_queue_info("*ALL")
    return [
        (f"{row['data_queue_library']}/{row['data_queue_name']}", str(row["text_description"] or "")) for row in rows
    ]


def _queues(target: RegionTarget) -> list[Offer]:
    if target.directory is None and not target.definitions:
        return _queues_of_store(target)
    queues = target.load_definitions().tdqueues
    return [(queue.name, queue.description or queue.type or "REMOTE") for queue in queues]


def _queues_of_store(target: RegionTarget) -> list[Offer]:
    with on_demand.target.reading_here(target) as region:
        unused = supplied(region)
        queues = [(info.tdqueue.rstrip(), info.type.name) for info in region.browse_tdqueue("TYPE")]
    return [offer for offer in queues if offer[0] not in unused]


def _transactions(target: RegionTarget) -> list[Offer]:
    definitions = target.load_definitions()
    transactions = {each.name: each.description or "transaction" for each in definitions.transactions}
    for queue in definitions.tdqueues:
        transid = getattr(queue, "transid", "")
        if transid:
            transactions.setdefault(transid, f"started by {queue.name}")
    return sorted(transactions.items())
