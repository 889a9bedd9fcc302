"""``tdq store``: look through a store, and save what is whole of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli.errors import Exit
from tdqsim.cli.output import emit, emit_json, emit_table

if TYPE_CHECKING:
    from tdqsim.core.store.check import StoreReport

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)
store = typer.Typer(rich_markup_mode=None, help="Check a store, and salvage a damaged one.", no_args_is_help=True)
app.add_typer(store, name="store")

Where = Annotated[Path, typer.Argument(metavar="STORE", help="The store's directory.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@store.command("check")
def check(path: Where, as_json: Json = False) -> None:
    """Look at every entry of a store that nobody has open; exit code 3 when something is damaged."""
    from tdqsim.core.store import check as storecheck  # noqa: PLC0415  (a command imports what it uses)

    report = storecheck.check(path)
    _show(report, as_json=as_json, saved=False)
    if not report.sound:
        raise typer.Exit(Exit.STORE)


@store.command("salvage")
def salvage(
    path: Where,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory of the new store.")],
    as_json: Json = False,
) -> None:
    """Put everything that is whole into a new store; the damaged one is not changed."""
    from tdqsim.core.store import check as storecheck  # noqa: PLC0415

    _show(storecheck.salvage(path, target), as_json=as_json, saved=True)


def _show(report: StoreReport, *, as_json: bool, saved: bool) -> None:
    rows = [
        {
            "environment": queue.environment,
            "queue": queue.name.decode("ascii", "backslashreplace"),
            "order": queue.order,
            "entries": queue.count,
            "whole": queue.whole,
            "damaged": len(queue.damaged),
            **({"saved": queue.saved} if saved else {}),
        }
        for queue in report.queues
    ]
    if as_json:
        emit_json({"path": str(report.path), "ok": report.sound, "problems": list(report.problems), "queues": rows})
        return
    for problem in report.problems:
        emit(problem)
    if rows:
        emit_table(tuple(rows[0]), ([row[name] for name in row] for row in rows))
    emit(f"{report.path}: {'whole' if report.sound else 'damaged'}")
