"""Commands for records: read and write."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim import datasets
from tdqsim.cli import on_demand
from tdqsim.cli.completing import offered_queues
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.output import Json, emit, emit_json, record_value, shown_record
from tdqsim.cli.target import RegionTarget, changing, checked_queues, options_of, takes_target
from tdqsim.cli.watch import behind
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import ConversionError, TdqError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(rich_markup_mode=None)

Queue = Annotated[
    str, typer.Argument(metavar="QUEUE", help="The queue.", autocompletion=offered_queues, callback=checked_queues)
]
Texts = Annotated[
    list[str] | None, typer.Argument(metavar="RECORD", help="Records as text, or hexadecimal with --hex.")
]
Hex = Annotated[bool, typer.Option("--hex", help="Hexadecimal digits instead of text.")]
Page = Annotated[
    str | None, typer.Option("--code-page", metavar="PAGE", help="The code page of text; default: the region's.")
]
Source = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Records from a file; - is standard input.")
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="RECFM", help="The record format of FILE: LF (lines of text), or F, FB, V, VB, RDW ..."
    ),
]
Lrecl = Annotated[int, typer.Option("--lrecl", min=0, help="The record length of FILE, for the F formats.")]


@app.command("read")
@takes_target(changes=True)
def read(
    target: RegionTarget,
    queue: Queue,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="The number of records.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="Until QZERO.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the bytes of the records to this file.")
    ] = None,
    page: Page = None,
    as_hex: Hex = False,
    as_json: Json = False,
) -> None:
    """READQ TD: read records, which removes them from the queue. Exit code 1 with QZERO if there are fewer."""
    short: TdqError | None = None
    taken = 0
    target.require_records()
    with changing(target) as region, nullcontext() if output is None else stays_here(output).open("wb") as file:
        table = codepage(page or options_of(region).code_page)
        if region.inquire_tdqueue(queue.upper(), "OPENSTATUS").openstatus.name == "CLOSED":
            region.set_tdqueue(queue.upper(), openstatus="OPEN")  # open an input data set; others stay closed
        values = []
        while everything or taken < count:
            try:
                record = region.readq_td(queue.upper())
            except TdqError as condition:  # of a region here or in a server
                if getattr(condition, "resp", None) != on_demand.facts.Resp.QZERO:
                    raise
                short = condition
                break
            taken += 1
            if file is not None:
                file.write(record)
            elif as_json:
                values.append(record_value(record, table))
            else:
                emit(shown_record(record, table, as_hex=as_hex))
        if as_json and (values or short is None or everything):
            emit_json(values)
    if short is not None and not everything:
        if as_json and not taken:
            raise short
        warn(str(short))
        raise typer.Exit(Exit.CONDITION)


@app.command("write")
@takes_target(changes=True)
def write(
    target: RegionTarget,
    queue: Queue,
    records: Texts = None,
    source: Source = None,
    recfm: Format = "LF",
    lrecl: Lrecl = 0,
    page: Page = None,
    as_hex: Hex = False,
    without_task: Annotated[
        bool, typer.Option("--seed", help="Without a task: no trigger fires, no handler runs, nothing is counted.")
    ] = False,
) -> None:
    """WRITEQ TD: add records to a queue, all in one task. Triggers fire, handlers run; with --seed none.

    The exit code is 1 if a task that it has started abends, or a trigger starts nothing.
    """
    if without_task:
        _seed(target, queue, records, source, recfm, lrecl, page, as_hex=as_hex)
        return
    with changing(target, start=True) as region, behind(region) as outcome:
        incoming = _incoming(records, source, recfm, lrecl, page or options_of(region).code_page, as_hex=as_hex)
        try:
            written = region.writeq_td_all(queue.upper(), incoming)
        except UsageError as error:  # more records than fit in one request to a server
            raise InputError(str(error)) from None
    emit(f"{queue.upper()}: {written} written")
    outcome.tell()


def _seed(
    target: RegionTarget,
    queue: str,
    records: list[str] | None,
    source: Path | None,
    recfm: str,
    lrecl: int,
    page: str | int | CodePage | None,
    *,
    as_hex: bool,
) -> None:
    with changing(target) as region:
        incoming = _incoming(records, source, recfm, lrecl, page or options_of(region).code_page, as_hex=as_hex)
        seeded = region.seed(queue.upper(), incoming)
    emit(f"{queue.upper()}: {seeded} seeded")


def hex_bytes(text: str) -> bytes:
    """The bytes of hexadecimal digits, blanks allowed between them."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is not hexadecimal: expected pairs of 0-9 and A-F, optionally with blanks between them"
        ) from None


def _incoming(
    records: list[str] | None, source: Path | None, recfm: str, lrecl: int, page: str | int | CodePage, *, as_hex: bool
) -> Iterator[bytes]:
    """The records that the user gave, as arguments or in a file.

    Raises:
        InputError: neither or both were given, or a record is invalid.
    """
    table = codepage(page)
    if bool(records) == (source is not None):
        raise InputError("give records as arguments, or in a file by --file (- is standard input)")
    if records:
        return iter([hex_bytes(text) if as_hex else table.encode(text) for text in records])
    assert source is not None
    if recfm.upper() == "LF":
        return _lines(source, table, as_hex=as_hex)
    return _from_data_set(source, recfm, lrecl)


def _lines(source: Path, table: CodePage, *, as_hex: bool) -> Iterator[bytes]:
    with sys.stdin if str(source) == "-" else source.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            text = line.removesuffix("\n").removesuffix("\r")
            try:
                yield hex_bytes(text) if as_hex else table.encode(text)
            except ConversionError as error:
                raise InputError(f"{source}: line {number}: {error}") from None
            except UnicodeDecodeError as error:
                raise InputError(f"{source}: after line {number}: not UTF-8 text ({error.reason})") from None


def _from_data_set(source: Path, recfm: str, lrecl: int) -> Iterator[bytes]:
    if str(source) == "-":
        raise InputError("standard input can only be read as lines of text; name a file")
    return datasets.read_records(
        source, datasets.parse_dcb(f"RECFM={recfm.upper()}" + (f",LRECL={lrecl}" if lrecl else ""), "--format")
    )
