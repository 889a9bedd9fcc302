"""``tdq probe``: programs for a real CICS region or IBM i, and the comparison of their answers with the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdqsim import probe
from tdqsim.cli import InputError, emit, emit_json

app = typer.Typer(
    no_args_is_help=True, help="Programs that try open rules on a real machine, and the comparison of their answers."
)


_OF_CICS = "With --cics"
_OF_IBMI = "With --ibmi"


@app.command()
def make(
    cics: Annotated[
        Path | None, typer.Option("--cics", metavar="DIR", help="Write the probe of a CICS region to a new folder.")
    ] = None,
    ibmi: Annotated[
        Path | None, typer.Option("--ibmi", metavar="DIR", help="Write the probe of an IBM i to a new folder.")
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="XX", help=f"{_OF_CICS}: two characters with which all names begin.")
    ] = "ZP",
    hlq: Annotated[
        str, typer.Option("--hlq", metavar="NAME", help=f"{_OF_CICS}: the high-level qualifiers of the data sets.")
    ] = "TDQPROBE",
    release: Annotated[
        str, typer.Option("--release", metavar="N.N", help=f"{_OF_CICS}: the release, which the answers name.")
    ] = "5.6",
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", metavar="ID", help=f"{_OF_CICS}: try only this rule; may be repeated."),
    ] = None,
    library: Annotated[
        str, typer.Option("--library", metavar="NAME", help=f"{_OF_IBMI}: the library that the probe creates.")
    ] = "TDQPROBE",
    library2: Annotated[
        str, typer.Option("--library2", metavar="NAME", help=f"{_OF_IBMI}: a second library that it creates.")
    ] = "TDQPROBE2",
    location: Annotated[
        str, typer.Option("--location", metavar="NAME", help=f"{_OF_IBMI}: a remote location that leads to itself.")
    ] = "",
    job: Annotated[
        str, typer.Option("--job", metavar="NUMBER/USER/NAME", help=f"{_OF_IBMI}: an active job of another user.")
    ] = "",
) -> None:
    """Write programs that try, on a real machine, the rules that no vendor's page confirms."""
    if (cics is None) == (ibmi is None):
        raise InputError("say for which machine: --cics DIR or --ibmi DIR")
    if rule and cics is None:
        raise InputError("--rule is for --cics; the Java client of --ibmi has the option rules=")
    if cics is not None:
        made = probe.write_cics_probe(cics, prefix=prefix.upper(), hlq=hlq.upper(), release=release, wanted=rule)
    else:
        assert ibmi is not None
        names = {"library": library.upper(), "library2": library2.upper()}
        made = list(probe.write_ibmi_probe(ibmi, **names, location=location.upper(), job=job.upper()))
    for path in made:
        emit(str(path))
    emit(f"Read {made[0].parent / 'README.md'} first.")


@app.command()
def compare(
    answers: Annotated[Path, typer.Argument(metavar="FILE", help="The answers of the machine.", show_default=False)],
    adopt: Annotated[
        Path | None,
        typer.Option("--adopt", metavar="FILE", help="Write a machine.yaml with the answers that can be adopted."),
    ] = None,
    machine: Annotated[
        Path | None,
        typer.Option("--machine", metavar="FILE", help="Compare with the simulator under this machine.yaml."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON output.")] = False,
) -> None:
    """Compare the answers of a real machine with the simulator. Exit code 1: they differ."""
    given = probe.read_answers(answers)
    found = probe.compare_with_simulator(given, machine)
    if adopt is not None:
        adopt.write_text(found.machine_yaml(), "utf-8")
    if json:
        emit_json(found.as_dict())
    else:
        emit(found.text())
        if adopt is not None:
            emit(f"\n{adopt}: the answers of {len(found.adoptable)} rules")
    if found.differences:
        raise typer.Exit(1)
