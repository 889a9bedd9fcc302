"""``tdq csd``: DFHCSDUP commands on the CSD that a region keeps in its store.

Before the region's first start the commands work on the store alone, and that start is an initial one, which installs
the lists of GRPLIST. Later they work on the region: INSTALL changes what its next start finds.

The exit code is made of the return code of DFHCSDUP, which the last line of the listing has: 0 and 4 give 0, 8 gives 1,
12 gives 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.define import source_text
from tdqsim.cli.errors import Exit, InputError
from tdqsim.cli.output import emit
from tdqsim.cli.target import RegionTarget, changing, takes_target

if TYPE_CHECKING:
    from tdqsim.cics import Csd

app = typer.Typer(rich_markup_mode=None)

_EXITS: Final = {0: Exit.OK, 4: Exit.OK, 8: Exit.CONDITION, 12: Exit.INPUT}


@app.command("csd")
@takes_target(changes=True)
def csd(
    target: RegionTarget,
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="The commands, or a job with them; - is the standard input.")
    ] = Path("-"),
    user: Annotated[str, typer.Option(help="The user of the job: CHANGEUSRID; default: the default user.")] = "",
    encoding: Annotated[str, typer.Option(help="The encoding of FILE, such as cp037.")] = "utf-8",
) -> None:
    """DFHCSDUP: DEFINE, ALTER, ADD, COPY, DELETE, LIST, EXTRACT on the CSD in the store; INSTALL too.

    The exit code is 0 for the return codes 0 and 4, 1 for 8 (refused), 2 for 12 (not understood).
    """
    text = source_text(source, encoding)
    name = "stdin" if str(source) == "-" else str(source)
    with target.served() as served:
        if served is not None:
            if user:
                raise InputError("--user: a server takes the user who has signed on")
            answer = served.dfhcsdup(text, file=name)
            emit("\n".join(answer["lines"]))
            _end(answer["return_code"])
            return
    with _csd(target) as found:
        job = on_demand.csdup.Dfhcsdup(found.by(user, agent="CSDBATCH"), str(target.store))
        for line in job.run(text, file=name):
            emit(line)
    _end(job.return_code)


def _end(return_code: int) -> None:
    if _EXITS[return_code]:
        raise typer.Exit(_EXITS[return_code])


@contextmanager
def _csd(target: RegionTarget) -> Iterator[Csd]:
    """The CSD of the region, or of a store in which no region was started."""
    file = target.region_file()
    with on_demand.region_core.unstarted_store(target.require_store()) as store:
        if store is not None:
            clock = on_demand.clock.Clock()
            yield on_demand.csd.csd_in(store, clock, file.zone, release=file.release, dfltuser=file.dfltuser)
            return
    with changing(target) as region:
        assert isinstance(region, on_demand.cics.Region)
        yield region.csd
