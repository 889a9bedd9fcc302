"""Definitions on the command line: check them, their schema, imports and exports, record layouts."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tdqsim import datasets, definitions
from tdqsim.cli import on_demand
from tdqsim.cli.completing import offering
from tdqsim.cli.errors import CommandFailed, Exit, InputError, warn
from tdqsim.cli.extensions import extension, extensions
from tdqsim.cli.output import emit, emit_json, emit_table
from tdqsim.core.spelling import did_you_mean
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tdqsim.definitions import Definitions, Note, RegionFile
    from tdqsim.definitions.imports import Imported
    from tdqsim.layouts import Layout
    from tdqsim.layouts.layout import LayoutRow

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
_BYTES_SHOWN = 16

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Source = Annotated[Path, typer.Argument(metavar="FILE", help="The text to read; - is standard input.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Exit code 0 although parts of the text were dropped or cut.")]
Target = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output.")
]
Encoding = Annotated[str, typer.Option(help="The encoding of the text: utf-8, latin-1, cp037 ...")]


@app.command("check")
def check(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Definition files, or directories of regions and systems.")
    ],
    notes: Annotated[
        bool,
        typer.Option(
            "--notes", help="List every attribute and resource without effect, instead of one line for each kind."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check definition files, and the directories of regions and systems; list all problems with their lines.

    For a region directory this includes errors that tdq run would refuse, such as an undefined transaction in start:.
    None of your code is run.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    checked: list[tuple[Path, Definitions]] = []
    for path in paths:
        try:
            loaded, file = _load_with_region(path)
            if file is not None:
                problems += on_demand.region_check.region_problems(file, loaded)
                warnings += on_demand.region_check.region_warnings(file, loaded)
                for name in extensions("check"):
                    errors, doubts = extension("check", name)(file, loaded)
                    problems += errors
                    warnings += doubts
            if not loaded.entries and path.name != "system.yaml" and not (path / "system.yaml").is_file():
                problems.append(
                    Problem(str(path), 0, "", "", "", "defines nothing; it needs a section such as tdqueue")
                )
            warnings += on_demand.region_check.indirect_rings(loaded)
            checked.append((path, loaded))
        except DefinitionError as error:
            problems += error.problems
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
        emit(f"{path}: {_counted(len(loaded.entries), 'resource')} in {_counted(len(loaded.groups), 'group')}")
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


_OWN_SCHEMAS: Final = ("definitions", "region", "pipeline", "system")
_KINDS: Final = (*_OWN_SCHEMAS, *extensions("schema"))
"""The kinds of files that have a schema; extensions bring some."""


@app.command("schema")
def schema(
    which: Annotated[
        str,
        typer.Argument(
            metavar="|".join(_KINDS), help="The kind of file.", autocompletion=offering([(name, "") for name in _KINDS])
        ),
    ] = "definitions",
) -> None:
    """Print the JSON schema of definition files, or of another kind of file, for editors that complete and check."""
    if which not in _KINDS:
        raise InputError(f"there is no schema {which}{did_you_mean(which, _KINDS)}; there are {', '.join(_KINDS)}")
    own = {
        "definitions": definitions.json_schema,
        "region": definitions.region_json_schema,
        "pipeline": definitions.pipeline_json_schema,
        "system": on_demand.systemfile.system_json_schema,
    }
    make = own[which] if which in own else extension("schema", which)
    emit_json(make())


# -- imports and exports ----------------------------------------------------------------------------------------------


@imports.command("csd")
def import_csd(source: Source, output: Target = None, encoding: Encoding = "utf-8", lenient: Lenient = False) -> None:
    """Read DFHCSDUP commands, or a LIST or EXTRACT listing."""
    imported = definitions.parse_csd_listing(_text(source, encoding), file=str(source))
    _write_imported(imported, output, lenient=lenient)


@imports.command("dct")
def import_dct(
    source: Source,
    output: Target = None,
    encoding: Encoding = "utf-8",
    group: Annotated[str, typer.Option(help="The group of the queues; default: that of the source.")] = "",
    lenient: Lenient = False,
) -> None:
    """Read DFHDCT or KIKDCT macro source."""
    imported = definitions.parse_dct(_text(source, encoding), file=str(source), group=group)
    _write_imported(imported, output, lenient=lenient)


@imports.command("cl")
def import_cl(source: Source, output: Target = None, encoding: Encoding = "utf-8", lenient: Lenient = False) -> None:
    """Read the CRTDTAQ commands in CL source."""
    _write_imported(definitions.parse_cl(_text(source, encoding), file=str(source)), output, lenient=lenient)


def _text(path: Path, encoding: str) -> str:
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


def _write_imported(imported: Imported, output: Path | None, *, lenient: bool) -> None:
    _write(definitions.dump_definitions(imported.definitions), output)
    for report in imported.reports:
        warn(str(report))
    count = len(imported.definitions.entries)
    if output is not None:
        emit(f"{output}: {_counted(count, 'resource')}, {_counted(len(imported.reports), 'remark')}")
    if not count:
        raise InputError("it contains nothing that can be defined")
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
    _write_exported(definitions.export_csd(resources), remarks, output, "no CICS resource")


@exports.command("dct")
def export_dct(paths: Paths, output: Target = None) -> None:
    """Write queues as DFHDCT macro source; report attributes that the macros cannot express."""
    _write_exported(*definitions.export_dct(_together(paths)), output, "no TDQUEUE")


@exports.command("cl")
def export_cl(paths: Paths, output: Target = None) -> None:
    """Write IBM i data queues as CRTDTAQ commands in CL source."""
    _write_exported(*definitions.export_cl(_together(paths)), output, "no DTAQ")


def _together(paths: list[Path]) -> Definitions:
    resources = definitions.Definitions()
    for path in paths:
        resources += _load(path)
    return resources


def _write_exported(text: str, remarks: list[str], output: Path | None, nothing: str) -> None:
    if not text:
        raise InputError(f"it contains {nothing} that can be written")
    _write(text, output)
    for remark in remarks:
        warn(remark)


# -- layouts ----------------------------------------------------------------------------------------------------------


class _Form(StrEnum):
    AUTO = "auto"
    COPYBOOK = "copybook"
    YAML = "yaml"


@app.command("layout")
def layout(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A COBOL copybook, or a layout in YAML.")],
    record: Annotated[str | None, typer.Option(help="The level 01 record, if the copybook has several.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Decode a record of this file.")] = None,
    number: Annotated[
        int | None, typer.Option(min=1, help="The number of the record in --data, from 1; default: 1.")
    ] = None,
    dcb: Annotated[
        str,
        typer.Option(
            metavar="DCB", help="The format of --data, such as RECFM=VB,LRECL=84; default: records end to end."
        ),
    ] = "",
    hexadecimal: Annotated[str | None, typer.Option("--hex", help="Decode these bytes.")] = None,
    code_page: Annotated[
        str | None, typer.Option(help="The code page of text; default: that of a YAML layout, otherwise 037.")
    ] = None,
    form: Annotated[_Form, typer.Option(help="The kind of FILE; default: by its name.")] = _Form.AUTO,
    as_json: Json = False,
) -> None:
    """Print a record layout as a table of offsets, and a record decoded by it."""
    record_layout = _layout(source, record, form)
    if code_page is not None:
        record_layout = record_layout.with_rules(code_page=code_page)
    sample = _sample(record_layout, data, number, hexadecimal, dcb)
    rows = record_layout.table()
    columns = ("level", "name", "picture", "usage", "offset", "length", "occurs", "redefines", "remarks")
    if as_json:
        fields = [{name: getattr(row, name) for name in (*columns, "position", "end")} for row in rows]
        values = None if sample is None else record_layout.decode(sample, corrupt="null")
        emit_json({"name": record_layout.name, "length": record_layout.length, "fields": fields, "record": values})
        if sample is not None:
            _check_length(record_layout, sample)
        return
    emit_table(
        columns, ([_indented(row, name) for name in columns] for row in rows), title=record_layout.name, fit=True
    )
    emit(f"length {record_layout.length}")
    if sample is not None:
        _emit_record(record_layout, sample)
        _check_length(record_layout, sample)


def _emit_record(layout: Layout, record: bytes) -> None:
    """Print a line for each elementary field, and a warning for each field whose bytes are not a valid value."""
    fields = layout.found_in(record)
    rows = ((item.offset, item.field, _shown_value(item.value), item.remark, _some(item.hex)) for item in fields)
    emit_table(
        ("offset", "field", "value", "remark", "bytes"), rows, title=f"record of {len(record)} bytes", empty=False,
        fit=True,
    )  # fmt: skip
    for item in layout.decode_with_corrupt(record)[1]:
        warn(f"{item.field} at offset {item.offset}: X'{item.hex}': {item.reason}")


def _some(digits: str) -> str:
    """The digits of the first bytes, and the number of the remaining ones."""
    more = len(digits) // 2 - _BYTES_SHOWN
    return digits if more <= 0 else f"{digits[: 2 * _BYTES_SHOWN]}... {more} more"


def _shown_value(value: object) -> str:
    """Text in quotes, so that its blanks are visible; an empty text for null."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _indented(row: LayoutRow, name: str) -> object:
    if name == "level":
        return f"{row.level:02d}"
    return f"{'  ' * (row.level // 5 if row.level < 50 else 0)}{row.name}" if name == "name" else getattr(row, name)


def _layout(source: Path, record: str | None, form: _Form) -> Layout:
    is_yaml = form is _Form.YAML or (form is _Form.AUTO and source.suffix in (".yaml", ".yml"))
    if not is_yaml:
        return on_demand.layouts.load_copybook(source).record(record)
    if record is not None:
        raise InputError("--record selects a record of a copybook; a YAML layout has only one")
    return on_demand.layouts.load_layout_yaml(source)


def _sample(layout: Layout, data: Path | None, number: int | None, hexadecimal: str | None, dcb: str) -> bytes | None:
    """The record to decode: given in hexadecimal, or read from a data set or from a file of records end to end."""
    if dcb and data is None:
        raise InputError("--dcb is the format of --data; give --data too")
    if number is not None and data is None:
        raise InputError("--number is the number of a record in --data; give --data too")
    if hexadecimal is not None:
        if data is not None:
            raise InputError("give --data or --hex, not both")
        return hex_bytes(hexadecimal)
    if data is None:
        return None
    number = number or 1
    if dcb:
        record = next(islice(datasets.read_records(data, datasets.parse_dcb(dcb)), number - 1, None), None)
        if record is None:
            raise InputError(f"{data}: there is no record {number}")
        return record
    with data.open("rb") as file:
        file.seek((number - 1) * layout.length)
        record = file.read(layout.length)
    if not record:
        raise InputError(f"{data}: there is no record {number} of {layout.length} bytes")
    return record


def _check_length(layout: Layout, record: bytes) -> None:
    """Fail for a record that does not have the length of its layout; it has been shown already."""
    least, most = layout.minimum_length, layout.length
    if len(record) < least:
        warn(
            f"the record has {len(record)} bytes; {layout.name} has {least if least == most else f'{least} to {most}'}"
        )
        raise typer.Exit(Exit.CONDITION)


def hex_bytes(text: str) -> bytes:
    """The bytes of hexadecimal digits, blanks allowed between them."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is not hexadecimal: expected pairs of 0-9 and A-F, optionally with blanks between them"
        ) from None
