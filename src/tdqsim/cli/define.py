"""Definitions on the command line: check them, their schemas, imports and exports."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tdqsim import definitions
from tdqsim.cli import on_demand
from tdqsim.cli.completing import offering
from tdqsim.cli.errors import CommandFailed, Exit, InputError, warn
from tdqsim.cli.extensions import extension, extensions
from tdqsim.cli.output import Json, emit, emit_json
from tdqsim.core.spelling import did_you_mean
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tdqsim.definitions import Definitions, Note, RegionFile
    from tdqsim.definitions.group import GroupEntry
    from tdqsim.definitions.imports import Imported

app = typer.Typer(rich_markup_mode=None)
imports = typer.Typer(
    rich_markup_mode=None, help="Convert CSD, DCT and CL text to definition files in YAML.", no_args_is_help=True
)
exports = typer.Typer(
    rich_markup_mode=None, help="Convert definition files to CSD, DCT and CL text.", no_args_is_help=True
)
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")

_EBCDIC_LINE_END = "\x85"  # NEL, the decoded X'15'
_CARD = 80

Source = Annotated[Path, typer.Argument(metavar="FILE", help="The text to read; - is standard input.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Exit code 0 although parts of the text were dropped or cut.")]
Target = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output.")
]
Encoding = Annotated[str, typer.Option(help="The encoding of the text: utf-8, latin-1, cp037 ...")]


_OWN_SCHEMAS: Final = ("definitions", "region", "pipeline", "system")
_KINDS: Final = (*_OWN_SCHEMAS, *extensions("schema"))
"""The kinds of files that have a schema; extensions bring some."""


@app.command("check")
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Definition files, or directories of regions and systems."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help=f"Check nothing; print the JSON schema with which editors check a kind of file: {', '.join(_KINDS)}.",
            autocompletion=offering([(name, "") for name in _KINDS]),
        ),
    ] = None,
    notes: Annotated[
        bool,
        typer.Option(
            "--notes", help="List every attribute and resource without effect, instead of one line for each kind."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check definition files, and the directories of regions and systems; list all problems with their lines.

    For a region directory this includes errors that tdq run would refuse, such as an undefined transaction in
    start_transactions:. None of your code is run.
    """
    if schema is not None:
        _emit_schema(schema, paths)
        return
    if not paths:
        raise InputError("name a definition file or the directory of a region or system; . is this directory")
    problems: list[Problem] = []
    warnings: list[Problem] = []
    checked: list[tuple[Path, Definitions]] = []
    alone: list[GroupEntry] = []  # of files without a region, which may define terminals for each other
    with on_demand.target.no_plugins():
        for path in paths:
            try:
                loaded, file = _load_with_region(path)
                for errors, doubts in _findings(path, loaded, file):
                    problems += errors
                    warnings += doubts
                if not loaded.entries and path.name != "system.yaml" and not (path / "system.yaml").is_file():
                    problems.append(definitions.defines_nothing(path))
                alone += loaded.entries if file is None else ()
                warnings += on_demand.region_check.indirect_rings(loaded)
                checked.append((path, loaded))
            except DefinitionError as error:
                problems += error.problems
    warnings += on_demand.region_check.no_facility(alone)
    if as_json:
        shown = {"problems": [_fields(item) for item in problems], "warnings": [_fields(item) for item in warnings]}
        emit_json({"ok": not problems, **shown, "files": _counts(checked)})
    else:
        _tell(checked, every=notes)
        for warning in warnings:
            warn(f"warning: {warning}")
    if problems:
        if not as_json:
            raise DefinitionError(problems)
        raise typer.Exit(Exit.INPUT)


def _findings(
    path: Path, loaded: Definitions, file: RegionFile | None
) -> Iterator[tuple[list[Problem], list[Problem]]]:
    """The errors and the warnings beyond the definitions of a region directory, or of a file that is checked alone."""
    check = on_demand.region_check
    if file is None:
        yield check.handlers_alone(path, loaded)
        return
    yield check.region_problems(file, loaded), check.region_warnings(file, loaded)
    for name in extensions("check"):
        yield extension("check", name)(file, loaded)


def _load(path: Path) -> Definitions:
    return _load_with_region(path)[0]


def _load_with_region(path: Path) -> tuple[Definitions, RegionFile | None]:
    """The definitions of a file, or of a directory; for a region directory its region.yaml too."""
    system = path.parent if path.name == "system.yaml" else path
    if (system / "system.yaml").is_file() and path.name != "region.yaml":
        return on_demand.systemfile.load_system_file(system)[1], None
    if path.name != "region.yaml" and not (path / "region.yaml").is_file():
        return definitions.load_definitions(path), None
    file = definitions.load_region_file(path)
    if file.layouts:
        on_demand.layout_of_queue.queue_layouts(file)
    if file.policy:
        definitions.load_policy_file(file.policy)
    return file.load_definitions(), file


def _counts(checked: list[tuple[Path, Definitions]]) -> list[dict[str, object]]:
    return [
        {"path": str(path), "resources": len(loaded.entries), "notes": [_fields(note) for note in loaded.notes]}
        for path, loaded in checked
    ]


def _fields(item: Problem | Note) -> dict[str, object]:
    return item._asdict()


def _tell(checked: list[tuple[Path, Definitions]], *, every: bool) -> None:
    for path, loaded in checked:
        groups = f" in {_counted(len(loaded.groups), 'group')}" if loaded.groups else ""  # data queues have none
        emit(f"{path}: {_counted(len(loaded.entries), 'resource')}{groups}")
        for line in loaded.notes if every else _by_kind(loaded.notes):
            emit(f"  {line}")


def _by_kind(notes: Iterable[Note]) -> Iterator[str]:
    """The notes; those about attributes and resources without effect become one line for each kind of resource."""
    kinds: dict[str, list[Note]] = {}
    for note in notes:
        if note.message == on_demand.group.NO_EFFECT:
            kinds.setdefault(note.resource.partition("(")[0], []).append(note)
        else:
            yield str(note)
    for kind, subjects in kinds.items():
        if len(subjects) == 1:
            yield str(subjects[0])
            continue
        resources = _counted(len({(note.file, note.line, note.resource) for note in subjects}), "resource")
        attributes = {note.attribute for note in subjects if note.attribute}
        what = f"{_counted(len(attributes), 'attribute')} of {resources}" if attributes else resources
        yield f"{kind}: {what} {'has' if what.startswith('1 ') else 'have'} no effect; --notes lists them"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _emit_schema(kind: str, paths: list[Path] | None) -> None:
    """Print the JSON schema of a kind of file.

    Raises:
        InputError: there is no such kind, or there are paths to check too.
    """
    if kind not in _KINDS:
        raise InputError(f"there is no schema {kind}{did_you_mean(kind, _KINDS)}; there are {', '.join(_KINDS)}")
    if paths:
        raise InputError("--schema checks nothing: give no path with it")
    own = {
        "definitions": definitions.json_schema,
        "region": definitions.region_json_schema,
        "pipeline": definitions.pipeline_json_schema,
        "system": on_demand.systemfile.system_json_schema,
    }
    emit_json((own[kind] if kind in own else extension("schema", kind))())


# -- imports and exports ----------------------------------------------------------------------------------------------


@imports.command("csd")
def import_csd(source: Source, output: Target = None, encoding: Encoding = "utf-8", lenient: Lenient = False) -> None:
    """Read DFHCSDUP commands, or a LIST or EXTRACT listing."""
    imported = definitions.parse_csd_listing(source_text(source, encoding), file=str(source))
    _write_imported(imported, source, output, lenient=lenient)


@imports.command("dct")
def import_dct(
    source: Source,
    output: Target = None,
    encoding: Encoding = "utf-8",
    group: Annotated[str, typer.Option(help="The group of the queues; default: that of the source.")] = "",
    lenient: Lenient = False,
) -> None:
    """Read DFHDCT or KIKDCT macro source."""
    imported = definitions.parse_dct(source_text(source, encoding), file=str(source), group=group)
    _write_imported(imported, source, output, lenient=lenient)


@imports.command("cl")
def import_cl(source: Source, output: Target = None, encoding: Encoding = "utf-8", lenient: Lenient = False) -> None:
    """Read the CRTDTAQ commands in CL source."""
    _write_imported(
        definitions.parse_cl(source_text(source, encoding), file=str(source)), source, output, lenient=lenient
    )


def source_text(path: Path, encoding: str) -> str:
    """The text of a file, or of the standard input for ``-``."""
    limit = on_demand.facts.LIMITS["definition_file_bytes"]
    with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"{path}: longer than {limit} bytes; is it definition text?")
    try:
        return _in_lines(data.decode(encoding))
    except LookupError:
        raise InputError(f"--encoding {encoding}: no such encoding; utf-8, latin-1 and cp037 are some") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: line {line}: byte X'{data[error.start]:02X}' is not {encoding}; give its encoding by --encoding"
        ) from None


def _in_lines(text: str) -> str:
    """Text with line ends: converts those of EBCDIC, and adds them to card images without any."""
    if "\n" in text:
        return text
    if _EBCDIC_LINE_END in text:
        return text.replace(_EBCDIC_LINE_END, "\n")
    if len(text) > _CARD and len(text) % _CARD == 0:
        return "\n".join(text[at : at + _CARD] for at in range(0, len(text), _CARD))
    return text


def _write_imported(imported: Imported, source: Path, output: Path | None, *, lenient: bool) -> None:
    name = "standard input" if str(source) == "-" else str(source)
    for report in imported.reports:
        warn(f"{name}: {report}")
    count = len(imported.definitions.entries)
    if not count:
        raise InputError(f"{name}: contains nothing that can be defined")
    _write(definitions.dump_definitions(imported.definitions), output)
    if output is not None:
        emit(f"{output}: {_counted(count, 'resource')}, {_counted(len(imported.reports), 'remark')}")
    faults = sum(report.fault for report in imported.reports)
    if faults and not lenient:
        raise CommandFailed(f"{_counted(faults, 'part')} of the text dropped or cut; --lenient accepts that")


def _write(text: str, output: Path | None) -> None:
    if output is None:
        emit(text.rstrip("\n"))
    else:
        stays_here(output).write_text(text, "utf-8")


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Definition files, or directories of regions and systems.")
]


@exports.command("csd")
def export_csd(paths: Paths, output: Target = None) -> None:
    """Write definitions as DFHCSDUP DEFINE commands; report resources that are not of CICS."""
    resources = _together(paths)
    remarks = [f"DTAQ({queue.resource_name}): is not a CICS resource; left out" for queue in resources.dtaqs]
    _write_exported(paths, definitions.export_csd(resources), remarks, output, "no CICS resource")


@exports.command("dct")
def export_dct(paths: Paths, output: Target = None) -> None:
    """Write queues as DFHDCT macro source; report attributes that the macros cannot express."""
    _write_exported(paths, *definitions.export_dct(_together(paths)), output, "no TDQUEUE")


@exports.command("cl")
def export_cl(paths: Paths, output: Target = None) -> None:
    """Write IBM i data queues as CRTDTAQ commands in CL source."""
    _write_exported(paths, *definitions.export_cl(_together(paths)), output, "no DTAQ")


def _together(paths: list[Path]) -> Definitions:
    resources = definitions.Definitions()
    for path in paths:
        resources += _load(path)
    return resources


def _write_exported(paths: list[Path], text: str, remarks: list[str], output: Path | None, nothing: str) -> None:
    if not text:
        raise InputError(f"{', '.join(map(str, paths))}: contains {nothing} that can be written")
    _write(text, output)
    for remark in remarks:
        warn(remark)
