"""``tdq dtaq``: IBM i data queues from the command line.

Each command opens the system in a store, does one thing in a job, and closes it; list, describe, peek and dump also
look at a store that another process is using, and show its last commit. Queues are named ``LIB/NAME``, or ``NAME`` to
be found in the library list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit, emit_json, emit_table, record_value, shown_record
from tdqsim.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from tdqsim.definitions import Definitions
    from tdqsim.ibmi import DataQueueEntriesRow, DataQueueEntry, Job

__all__ = ["app", "dtaq_app"]

dtaq_app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="IBM i data queues: libraries, data queues, entries."
)
app = dtaq_app

StoreOption = Annotated[
    Path | None, typer.Option("--store", "-s", metavar="DIR", envvar="TDQ_STORE", help="The system's store.")
]
UserOption = Annotated[str, typer.Option("--user", "-u", help="The user profile of the job.")]
CcsidOption = Annotated[int, typer.Option("--ccsid", help="CCSID of text.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]
HexOption = Annotated[bool, typer.Option("--hex", help="Bytes are given and shown in hexadecimal.")]
KeyOption = Annotated[str | None, typer.Option("--key", "-k", help="The key of a keyed queue.")]
OrderOption = Annotated[str, typer.Option("--order", help="GT LT NE EQ GE LE, with a key.")]
QueueArgument = Annotated[str, typer.Argument(metavar="LIB/NAME", help="The data queue.")]

_USER = "QSECOFR"


@contextmanager
def _job(
    store: Path | None, user: str, ccsid: int = 37, *, create: bool = False, looking: bool = False
) -> Iterator[Job]:
    from tdqsim.ibmi import ParameterError, System  # noqa: PLC0415  (only what the command needs)

    if store is None:
        raise InputError("this command needs a store to work on: --store DIR")
    try:
        with System("TDQSYS", store, create=create, readonly=looking) as system:  # noqa: SIM117
            with system.job("TDQ", user=user, ccsid=ccsid) as job:
                yield job
    except ParameterError as error:
        raise InputError(str(error)) from None


def _split(queue: str) -> tuple[str, str]:
    library, _, name = queue.upper().rpartition("/")
    return name, library or "*LIBL"


def _bytes(job: Job, text: str, *, as_hex: bool, what: str) -> bytes:
    if not as_hex:
        return job.page.encode(text)
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InputError(f"{what} {text!r}: with --hex, pairs of hexadecimal digits are needed") from None


def _key(job: Job, key: str | None, *, as_hex: bool) -> bytes | None:
    return None if key is None else _bytes(job, key, as_hex=as_hex, what="--key")


@dtaq_app.command("create")
def create(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Definition files (YAML) or folders.")],
    store: StoreOption = None,
    libraries: Annotated[bool, typer.Option("--libraries", help="Create libraries that are not there.")] = False,
) -> None:
    """Create the data queues of definition files, all or none; the store is made when there is none."""
    from tdqsim.definitions import load_definitions  # noqa: PLC0415

    definitions = load_definitions(*files)
    with _job(store, _USER, create=True) as job:
        try:
            created = job.system.install(definitions, create_libraries=libraries)
        except DefinitionError as error:
            raise DefinitionError([_placed(problem, definitions) for problem in error.problems]) from None
        for queue in created:
            emit(f"{queue.qualified} created")


def _placed(problem: Problem, definitions: Definitions) -> Problem:
    """A problem of the installation with its file and line, and with this command's own way out."""
    file, line = definitions.place_of(problem.resource)
    message = problem.message.replace("create it with crtlib", "--libraries creates those that are not there")
    return replace(problem, file=file or problem.file, line=line, message=message)


@dtaq_app.command("delete")
def delete(queue: QueueArgument, store: StoreOption = None, user: UserOption = _USER) -> None:
    """Delete a data queue with its entries (DLTDTAQ)."""
    with _job(store, user) as job:
        job.dltdtaq(queue.upper())
        emit(str(job.joblog[-1]))


@dtaq_app.command("list")
def list_queues(
    library: Annotated[str, typer.Argument(metavar="[LIBRARY]", help="A library, or a generic name (APP*).")] = "*",
    store: StoreOption = None,
    user: UserOption = _USER,
    as_json: JsonOption = False,
) -> None:
    """List data queues: the rows of DATA_QUEUE_INFO."""
    with _job(store, user, looking=True) as job:
        rows = job.qsys2.data_queue_info(data_queue_library=library)
    if as_json:
        emit_json([row._asdict() for row in rows])
        return
    columns = ("library", "queue", "type", "sequence", "key", "length", "messages", "allocated", "maximum", "text")
    emit_table(
        [name.upper() for name in columns],
        [
            (row.data_queue_library, row.data_queue_name, row.data_queue_type, row.sequence, row.key_length,
             row.maximum_message_length, row.current_messages, row.current_message_allocation, row.maximum_messages,
             row.text_description)
            for row in rows
        ],
    )  # fmt: skip


@dtaq_app.command("describe")
def describe(
    queue: QueueArgument, store: StoreOption = None, user: UserOption = _USER, as_json: JsonOption = False
) -> None:
    """Describe a data queue: the fields of RDQD0100, and of RDQD0200 for a DDM queue (QMHQRDQD)."""
    from tdqsim.ibmi import layout  # noqa: PLC0415

    with _job(store, user, looking=True) as job:
        records: list[tuple[str, Any]] = [("RDQD0100", job.qmhqrdqd(*_split(queue)))]
        if records[0][1].type_of_data_queue == layout("RDQD0100")["type_of_data_queue"].ddm:
            records.append(("RDQD0200", job.qmhqrdqd(*_split(queue), "RDQD0200")))
    if as_json:
        emit_json({name: record._asdict() for name, record in records})
        return
    for name, record in records:
        fields = layout(name).fields
        rows = [
            (field.offset, field.field, value.hex().upper() if isinstance(value, bytes) else value)
            for field, value in zip(fields, record, strict=True)
        ]
        emit_table(["OFFSET", "FIELD", "VALUE"], rows, title=name)


@dtaq_app.command("send")
def send(
    queue: QueueArgument,
    data: Annotated[str, typer.Argument(metavar="DATA", help="The entry, as text or with --hex.")],
    *,
    store: StoreOption = None,
    key: KeyOption = None,
    as_hex: HexOption = False,
    ccsid: CcsidOption = 37,
    user: UserOption = _USER,
) -> None:
    """Send one entry (QSNDDTAQ)."""
    with _job(store, user, ccsid) as job:
        content = _bytes(job, data, as_hex=as_hex, what="DATA")
        job.qsnddtaq(*_split(queue), content, _key(job, key, as_hex=as_hex))


@dtaq_app.command("receive")
def receive(
    queue: QueueArgument,
    *,
    store: StoreOption = None,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many entries at most.")] = 1,
    as_hex: HexOption = False,
    as_json: JsonOption = False,
    ccsid: CcsidOption = 37,
    user: UserOption = _USER,
) -> None:
    """Receive entries, removing them (QRCVDTAQ without a wait); an empty queue gives nothing."""
    with _job(store, user, ccsid) as job:
        found: list[DataQueueEntry] = []
        wanted = _key(job, key, as_hex=as_hex)
        while len(found) < count:
            entry = job.qrcvdtaq(*_split(queue), 0, order.upper(), wanted)
            if entry is None:
                break
            found.append(entry)
        if as_json:
            emit_json([_shown(job, entry.data, entry.key, entry.sender) for entry in found])
            return
        for entry in found:
            emit(shown_record(entry.data, job.page, as_hex=as_hex))


def _shown(job: Job, data: bytes, key: bytes | None, sender: Any) -> dict[str, Any]:
    return {
        **record_value(data, job.page),
        "key": key.hex().upper() if key else None,
        "sender": None if sender is None else str(sender),
    }


@dtaq_app.command("peek")
def peek(
    queue: QueueArgument,
    *,
    store: StoreOption = None,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many entries at most.")] = 100,
    as_hex: HexOption = False,
    as_json: JsonOption = False,
    ccsid: CcsidOption = 37,
    user: UserOption = _USER,
) -> None:
    """Show entries in the queue's order, removing none: the rows of DATA_QUEUE_ENTRIES."""
    name, library = _split(queue)
    with _job(store, user, ccsid, looking=True) as job:
        wanted = _key(job, key, as_hex=as_hex)
        selection = ("ALL", None, None) if wanted is None else ("KEY", wanted, order.upper())
        rows = job.qsys2.data_queue_entries(name, library, *selection, limit=limit)
        if as_json:
            emit_json([_row(job, row) for row in rows])
            return
        emit_table(
            ["N", "ENQUEUED", "KEY", "SENDER", "LENGTH", "DATA"], [_cells(job, row, as_hex=as_hex) for row in rows]
        )


def _cells(job: Job, row: DataQueueEntriesRow, *, as_hex: bool) -> tuple[Any, ...]:
    data = row.message_data_binary
    key = None if row.key_data is None else shown_record(row.key_data, job.page, as_hex=as_hex)
    stamp = row.message_enqueue_timestamp.isoformat(" ")
    shown = shown_record(data, job.page, as_hex=as_hex)
    return row.ordinal_position, stamp, key, row.sender_job_name, len(data), shown


def _row(job: Job, row: DataQueueEntriesRow) -> dict[str, Any]:
    shown = _shown(job, row.message_data_binary, row.key_data, row.sender_job_name)
    return {"position": row.ordinal_position, "enqueued": row.message_enqueue_timestamp.isoformat(), **shown}


@dtaq_app.command("clear")
def clear(
    queue: QueueArgument,
    *,
    store: StoreOption = None,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    as_hex: HexOption = False,
    user: UserOption = _USER,
) -> None:
    """Clear a queue, or of a keyed one the entries whose keys are in a relation to --key (QCLRDTAQ)."""
    with _job(store, user) as job:
        gone = job.qclrdtaq(*_split(queue), order.upper(), _key(job, key, as_hex=as_hex))
        emit(f"{gone} {'entry' if gone == 1 else 'entries'} cleared")


@dtaq_app.command("seed")
def seed(
    queue: QueueArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of text or JSON; - for standard input.")],
    store: StoreOption = None,
    ccsid: CcsidOption = 37,
    user: UserOption = _USER,
) -> None:
    """Send the entries of a file: a line of text each, or the JSON lines that dump writes."""
    from tdqsim.ibmi import parse_seed, seed_entries  # noqa: PLC0415

    with _job(store, user, ccsid) as job:
        try:
            lines = sys.stdin if file == "-" else Path(file).read_text("utf-8").splitlines()
            entries = parse_seed(job, lines, file=file)
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: not text in UTF-8: {error.reason} at offset {error.start}") from None
        count = seed_entries(job, *_split(queue), entries)
        emit(f"{count} {'entry' if count == 1 else 'entries'} sent")


@dtaq_app.command("dump")
def dump(queue: QueueArgument, store: StoreOption = None, ccsid: CcsidOption = 37, user: UserOption = _USER) -> None:
    """Write every entry as a JSON line, removing none; seed reads them back."""
    from tdqsim.ibmi import dump_entries  # noqa: PLC0415

    with _job(store, user, ccsid, looking=True) as job:
        for line in dump_entries(job, *_split(queue)):
            emit_json(line, indent=None)
