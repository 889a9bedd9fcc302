"""``tdq cobol``: COBOL CICS programs checked, compiled and run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli.output import emit_json

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

_Sources = Annotated[list[Path], typer.Argument(help="COBOL sources, or folders of them.", show_default=False)]
_Copybooks = Annotated[
    list[Path] | None, typer.Option("--copybooks", "-I", help="A folder of copybooks; may be repeated.")
]
_SUFFIXES = (".cbl", ".cob", ".cobol")


def _files(sources: list[Path]) -> list[Path]:
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            found += sorted(path for path in source.rglob("*") if path.suffix.lower() in _SUFFIXES)
        else:
            found.append(source)
    return found


@app.command()
def check(sources: _Sources, copybooks: _Copybooks = None) -> None:
    """Translate programs and say what is wrong with them; nothing is compiled."""
    from tdqsim.cobol import CobolError, Options  # noqa: PLC0415  (a command imports what it uses)
    from tdqsim.cobol.compiler import expand  # noqa: PLC0415
    from tdqsim.cobol.translate import translate  # noqa: PLC0415

    wrong = 0
    for source in _files(sources):
        try:
            found = translate(expand(source, Options(tuple(copybooks or ()))), str(source))
        except CobolError as error:
            wrong += 1
            typer.echo(str(error))
        else:
            typer.echo(f"{source}: {found.program}, {len(found.commands)} commands")
    if wrong:
        raise typer.Exit(1)


@app.command("compile")
def compile_(sources: _Sources, copybooks: _Copybooks = None) -> None:
    """Compile programs, and keep the modules for the regions that use them."""
    from tdqsim.cobol import CobolError, Options, compile_program  # noqa: PLC0415
    from tdqsim.cobol.handlers import default_cache  # noqa: PLC0415

    wrong = 0
    for source in _files(sources):
        try:
            found = compile_program(source, Options(tuple(copybooks or ())), default_cache())
        except CobolError as error:
            wrong += 1
            typer.echo(str(error))
        else:
            typer.echo(f"{source}: {found.program} compiled")
    if wrong:
        raise typer.Exit(1)


@app.command()
def survey(
    folder: Path,
    copybooks: _Copybooks = None,
    compile_only: Annotated[bool, typer.Option("--compile-only", help="Run nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Report of each CICS program in a folder whether it translates, compiles and runs."""
    from dataclasses import asdict  # noqa: PLC0415

    from tdqsim.cobol.survey import survey as found_in  # noqa: PLC0415

    counts = {"programs": 0, "translated": 0, "compiled": 0, "ran": 0}
    for found in found_in(folder, copybooks=copybooks or (), run=not compile_only):
        counts["programs"] += 1
        for name in ("translated", "compiled", "ran"):
            counts[name] += getattr(found, name) == "yes"
        if as_json:
            emit_json(asdict(found), indent=None)
        else:
            typer.echo(f"{found.translated:4}{found.compiled:4}{found.ran:4}{found.source}  {found.why}")
    if not as_json:
        typer.echo(", ".join(f"{number} {name}" for name, number in counts.items()))


@app.command()
def maps(source: Path) -> None:
    """Print the symbolic maps of a BMS source as a COBOL copybook."""
    from tdqsim.definitions.bms import parse_bms, symbolic_map  # noqa: PLC0415

    typer.echo(symbolic_map(parse_bms(source.read_text("latin-1"), str(source))), nl=False)
