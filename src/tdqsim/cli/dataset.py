"""``tdq dataset``: the layout of a record; and, of packages that stand on the core, what a file is."""

from __future__ import annotations

import json
from enum import StrEnum
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim import datasets
from tdqsim.cli import on_demand
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.extensions import extensions
from tdqsim.cli.output import Json, emit, emit_json, emit_table
from tdqsim.cli.records import hex_bytes

if TYPE_CHECKING:
    from tdqsim.layouts import Layout
    from tdqsim.layouts.layout import LayoutRow

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Find out what a file is; show and decode records by a copybook. tdq dataset FILE is tdq dataset look FILE.",
)
for _each in extensions("dataset").values():
    app.registered_commands += import_module(_each.place).app.registered_commands

_BYTES_SHOWN = 16


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
        corrupt = _emit_record(record_layout, sample)
        if corrupt and data is not None and not dcb:
            warn(f"if {data} has record descriptor words, give its format by --dcb; tdq dataset {data} finds it out")
        _check_length(record_layout, sample)


def _emit_record(layout: Layout, record: bytes) -> bool:
    """Print a line for each elementary field, and a warning for each field whose bytes are not a valid value.

    Returns:
        Whether there is such a field.
    """
    fields = layout.found_in(record)
    rows = ((item.offset, item.field, _shown_value(item.value), item.remark, _some(item.hex)) for item in fields)
    emit_table(
        ("offset", "field", "value", "remark", "bytes"), rows, title=f"record of {len(record)} bytes", empty=False,
        fit=True,
    )  # fmt: skip
    corrupt = layout.decode_with_corrupt(record)[1]
    for item in corrupt:
        warn(f"{item.field} at offset {item.offset}: X'{item.hex}': {item.reason}")
    return bool(corrupt)


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
