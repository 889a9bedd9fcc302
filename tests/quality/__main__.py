"""``python -m tests.quality``: which commands, options and APIs of the vendors are simulated, and which of them tests hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import TdqError
from tests.quality import ablation
from tests.quality.ablation import Verdicts
from tests.quality.evidence import Evidence, load_evidence
from tests.quality.page import coverage_page, differences

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

_SHOWN = 10
_KEPT_AFTER = 20
"""How many verdicts are measured before they are written to the file."""


@app.command()
def coverage(
    evidence: Annotated[
        Path | None,
        typer.Option("--evidence", metavar="FILE", help="The file that pytest --tdq-evidence FILE has written."),
    ] = None,
    verdicts: Annotated[
        Path | None, typer.Option("--verdicts", metavar="FILE", help="The file that --ablate has written.")
    ] = None,
    write: Annotated[Path | None, typer.Option("--write", metavar="FILE", help="Write the page to a file.")] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Compare the file with the page, and fail if they differ."),
    ] = None,
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate",
            help="Run the tests in --evidence without each command, option, attribute, condition and receiver that "
            "--verdicts has no failing test for, and add to --verdicts which test fails.",
        ),
    ] = False,
    sample: Annotated[
        int,
        typer.Option("--sample", metavar="N", help="Run N tests of --verdicts again; fail if one no longer fails."),
    ] = 0,
    draw: Annotated[str, typer.Option("--draw", metavar="TEXT", help="What determines the sample.")] = "",
) -> None:
    """List which commands, options and APIs are simulated, accepted without effect, held by tests, or absent."""
    found = None if evidence is None else load_evidence(evidence)
    known = {} if verdicts is None else ablation.load_verdicts(verdicts)
    if sample:
        _check_sample(known, sample, draw)
        return
    if ablate:
        if found is None or verdicts is None:
            raise InputError("--ablate needs --evidence and --verdicts")
        _ablate(found, known, verdicts)
    page = coverage_page(found, known)
    if check is not None:
        changed = differences(check.read_text("utf-8"), page)
        if changed:
            more = [f"and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
            lines = "\n".join([*changed[:_SHOWN], *more])
            raise InputError(f"{check}: the page is out of date; write it with --write {check}\n{lines}")
    elif write is not None:
        stays_here(write).write_text(page, "utf-8")
    elif not ablate:
        emit(page.rstrip("\n"))


def _ablate(evidence: Evidence, known: Verdicts, path: Path) -> None:
    """Measure the claims without a verdict, and keep each verdict at once."""
    count = 0

    def progress(claim: str, test: str) -> None:
        nonlocal count
        count += 1
        known[claim] = test
        if count % _KEPT_AFTER == 0:
            ablation.save_verdicts(path, known)

    try:
        ablation.ablate(ablation.open_claims(evidence, known), progress)
    finally:
        ablation.save_verdicts(path, known)
    held = sum(map(bool, known.values()))
    emit(f"{count} claims measured; of {len(known)} in {path}, tests hold {held}")


def _check_sample(known: Verdicts, count: int, seed: str) -> None:
    """Check that tests still hold some of the claims that they held."""
    chosen = ablation.draw(known, count, seed)
    lost = [claim for claim, test in ablation.ablate(chosen).items() if not test]
    if lost:
        lines = "\n".join(f"{claim}: {chosen[claim][0]} passes without it, or does not pass" for claim in lost)
        raise InputError(f"tests no longer hold what they held; measure it again with --ablate\n{lines}")
    emit(f"{len(chosen)} claims drawn; a test fails without each of them")


def main(words: list[str] | None = None) -> int:
    """Run the command with these words; the exit code is 2 for a page or a verdict that is not true."""
    try:
        app(words, standalone_mode=False)
    except TdqError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
