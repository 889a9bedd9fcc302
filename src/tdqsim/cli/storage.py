"""``tdq store``: check a store, salvage a damaged one, compact and back up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.errors import Exit
from tdqsim.cli.output import Json, emit, emit_json, emit_table

if TYPE_CHECKING:
    from tdqsim.core.store.check import StoreReport

app = typer.Typer(rich_markup_mode=None)
store = typer.Typer(rich_markup_mode=None, help="Check, salvage, compact and back up stores.", no_args_is_help=True)
app.add_typer(store, name="store")

Where = Annotated[Path, typer.Argument(metavar="STORE", help="The store's directory.")]


@store.command("check")
def check(path: Where, as_json: Json = False) -> None:
    """Check every entry of a store that no process has open; exit code 3 if something is damaged."""
    report = on_demand.check.check(path)
    _show(report, as_json=as_json, saved=False)
    if not report.sound:
        raise typer.Exit(Exit.STORE)


@store.command("salvage")
def salvage(
    path: Where,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory of the new store.")],
    as_json: Json = False,
) -> None:
    """Copy everything that is undamaged into a new store; the damaged store is not changed."""
    _show(on_demand.check.salvage(path, target), as_json=as_json, saved=True)


@store.command("compact")
def compact(path: Where, as_json: Json = False) -> None:
    """Return the unused space of a store's files to the disk."""
    before = _size(path)
    report = on_demand.check.compact(path)
    _say(report, f"{before} bytes before, {_size(path)} now", as_json=as_json)


@store.command("backup")
def backup(
    path: Where,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The directory of the copy.")],
    as_json: Json = False,
) -> None:
    """Copy a store, which a process may have open, and check the copy."""
    _say(on_demand.check.backup(path, target), f"copied to {target}: whole", as_json=as_json)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("*/data.mdb"))


def _say(report: StoreReport, what: str, *, as_json: bool) -> None:
    if as_json:
        emit_json({"path": str(report.path), "ok": report.sound, "format": report.format, "entries": report.entries})
    else:
        emit(f"{report.path}: {what}; {report.entries} entries")


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
        emit_json(
            {
                "path": str(report.path),
                "ok": report.sound,
                "problems": list(report.problems),
                "queues": rows,
            }
        )
        return
    for problem in report.problems:
        emit(problem)
    if rows:
        emit_table(tuple(rows[0]), ([row[name] for name in row] for row in rows))
    emit(f"{report.path}: {'whole' if report.sound else 'damaged'}")
