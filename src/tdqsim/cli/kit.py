"""``tdq coverage``: what of the vendors' surface is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit

__all__ = ["app"]

app = typer.Typer()


@app.command("coverage")
def coverage(
    tests: Annotated[Path | None, typer.Option("--tests", metavar="DIR", help="Name the tests of each rule.")] = None,
    write: Annotated[Path | None, typer.Option("--write", metavar="FILE", help="Write the page to a file.")] = None,
    check: Annotated[Path | None, typer.Option("--check", metavar="FILE", help="Fail when the file differs.")] = None,
) -> None:
    """List what of the vendors' surface is done, accepted without effect, or absent."""
    from tdqsim.testing.coverage import coverage_page  # noqa: PLC0415  (imports every room)

    page = coverage_page(tests)
    if check is not None:
        if check.read_text("utf-8") != page:
            raise InputError(f"{check}: the page is not what the declarations say; write it anew with --write {check}")
    elif write is not None:
        write.write_text(page, "utf-8")
    else:
        emit(page.rstrip("\n"))
