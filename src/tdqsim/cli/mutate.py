"""``tdq mutate``: make small mistakes in handlers and COBOL programs, and report whether the tests notice them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.errors import Exit, InputError
from tdqsim.cli.output import emit, emit_json, emit_table
from tdqsim.cli.progress import Bar
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.testing.mutation import MutationReport

app = typer.Typer(rich_markup_mode=None)


@app.command("mutate")
def mutate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...",
            help="Python and COBOL sources, or directories of them; default: the current directory.",
        ),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="ARGUMENT", help="An argument of pytest, such as a test file; repeatable."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="The number of copies of the project that run in parallel.")
    ] = 1,
    limit: Annotated[
        float,
        typer.Option(
            "--limit", metavar="SECONDS", min=0, help="The time limit of a mutant; default: 3 times the tests + 10."
        ),
    ] = 0,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="SECONDS", min=0, help="The time limit of the whole run; 0 for none.")
    ] = 0,
    most: Annotated[
        int, typer.Option("--most", min=0, help="The maximum number of mutants, chosen by --seed; 0 for all.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="The seed of --most.")] = 1,
    least: Annotated[
        float,
        typer.Option("--least", metavar="PERCENT", min=0, max=100, help="The exit code is 1 if fewer are killed."),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write every mutant as JSON.")] = False,
) -> None:
    """Make small mistakes in handlers and COBOL programs, run the tests, and list the mistakes that no test notices.

    The mistakes: a SYNCPOINT is left out, two commands are swapped, a command names another queue, a response is not
    checked, a record is one byte short, a handler stops before QZERO. The tests run in a copy of the current directory
    by pytest; your files are not changed. A mutant is killed when a test fails, and survives when all pass.
    """
    mutation = on_demand.mutation
    here = Path()
    try:
        with Bar(wanted=not as_json) as bar:
            report = mutation.mutate(
                here, mutation.sources_in(paths or [here]), tests or (), jobs=jobs, limit=limit,
                seconds=seconds or float("inf"), most=most, seed=seed,
                progress=lambda done, total: bar.update("mutants", done, total),
            )  # fmt: skip
    except UsageError as error:
        raise InputError(str(error)) from error
    if as_json:
        emit_json(report.as_dict())
    else:
        _show(report)
    if report.percent < least:
        raise typer.Exit(Exit.CONDITION)


def _show(report: MutationReport) -> None:
    kinds = on_demand.mutation.DESCRIPTIONS
    if not report.judgements:
        emit("no mutants: no command was found that can be altered")
        return
    for judged in report.judgements:
        mutant = judged.mutant
        if judged.outcome in ("survived", "timed out", "broken"):
            where = f"{os.fspath(mutant.path)}:{mutant.line}"
            emit(f"{judged.outcome}: {where}: {mutant.command}: {kinds[mutant.kind]}: {mutant.change}")
    not_loaded = [each.mutant.path for each in report.judgements if each.outcome == "not loaded"]
    for path in dict.fromkeys(not_loaded):
        emit(f"not loaded: {path}: the tests pass without it; it has {not_loaded.count(path)} mutants")
    counts = report.counts
    outcomes = [name for name in ("killed", "survived", "not loaded", "timed out", "broken", "not run") if counts[name]]
    table: Counter[tuple[str, str]] = Counter((each.mutant.kind, each.outcome) for each in report.judgements)
    made = {each.mutant.kind for each in report.judgements}
    rows = [(kind, *(table[kind, name] for name in outcomes)) for kind in kinds if kind in made]
    emit_table(("kind", *outcomes), rows)
    emit(
        f"{counts['killed']} of {len(report.judgements)} mutants killed; "
        f"the tests take {report.seconds:.1f} s on unaltered code"
    )
