"""``tdq dtaq``: IBM i data queues from the command line.

If a server has the store or the directory of the system, each command is a job in the server. Otherwise each command
opens the system in the store, runs one job, and closes it; list, describe, peek and dump can also read a store that
another process is using, and show its last commit. Queues are named ``LIB/NAME``, or ``NAME``, which is searched in the
library list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from tdqsim import definitions
from tdqsim.cli import on_demand
from tdqsim.cli.completing import offered_data_queues
from tdqsim.cli.errors import InputError
from tdqsim.cli.extensions import extension
from tdqsim.cli.output import Json, emit, emit_json, emit_table, record_value, shown_record
from tdqsim.cli.target import store_path, with_options
from tdqsim.core.control import Address
from tdqsim.core.hexadecimal import hex_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tdqsim.cli.served import AnyJob, ServedEntry
    from tdqsim.ibmi import DataQueueEntry, KeyOrder

dtaq_app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="IBM i data queues: libraries, data queues, entries."
)
app = dtaq_app

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", "-s", metavar="DIR", envvar="TDQ_STORE", help="The system's store.", parser=store_path),
]
SystemOption = Annotated[
    Path | None,
    typer.Option("--system", metavar="DIR", envvar="TDQ_SYSTEM", help="A system directory (with system.yaml)."),
]
ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", envvar="TDQ_SERVER", help="A server that has the system (guide: serve)."),
]
UserOption = Annotated[str | None, typer.Option("--user", "-u", help="The user profile of the job; default: QSECOFR.")]
CcsidOption = Annotated[int, typer.Option("--ccsid", help="CCSID of text.")]
HexOption = Annotated[bool, typer.Option("--hex", help="Hexadecimal digits instead of text, of keys too.")]
KeyOption = Annotated[str | None, typer.Option("--key", "-k", help="The key of a keyed queue.")]
OrderOption = Annotated[str, typer.Option("--key-order", help="GT LT NE EQ GE LE, with a key.")]
QueueArgument = Annotated[
    str, typer.Argument(metavar="LIB/NAME", help="The data queue.", autocompletion=offered_data_queues)
]

_USER: Final = "QSECOFR"
_SYSTEM_FILE: Final = "system.yaml"


@dataclass
class _At:
    """The system that a command works on, and the user.

    Attributes:
        store: its store, or None.
        directory: its directory, or None.
        server: the address of a server that has it; empty for none.
        user: the profile of the job; empty for QSECOFR or, in a server, for the user who has signed on.
    """

    store: Path | None
    directory: Path | None
    server: str
    user: str

    def __post_init__(self) -> None:
        if self.directory is not None and not (self.directory / _SYSTEM_FILE).is_file():
            raise InputError(f"{self.directory}: not a system directory; it has no {_SYSTEM_FILE}")

    @contextmanager
    def job(self, ccsid: int = 37, *, create: bool = False, looking: bool = False) -> Iterator[AnyJob]:
        """A job in the server that has the system, otherwise in the store, which the command then uses exclusively.

        Raises:
            InputError: no option selects a system.
        """
        target = self.store if self.store is not None else self.directory
        if self.server or (target is not None and Address.find(target) is not None):
            with extension("server", "job")(self.server, target, self.user, ccsid) as served:
                if served is not None:
                    yield served
                    return
        if self.store is None:
            served_too = "" if self.directory is None else f"; no server has {self.directory}"
            raise InputError(f"this command needs a store: give --store DIR{served_too}")
        with on_demand.local_system.local_job(
            self.store, self.directory, self.user or _USER, ccsid, create=create, looking=looking
        ) as job:
            yield job


_OPTIONS: Final = {"store": StoreOption, "system": SystemOption, "server": ServerOption, "user": UserOption}


def _at(store: Path | None, system: Path | None, server: str | None, user: str | None) -> _At:
    return _At(store, system, server or "", user or "")


def _at_system(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that works on a system: options that select the system replace its first parameter."""
    return with_options(function, _OPTIONS, _at)


def _split(queue: str) -> tuple[str, str]:
    library, _, name = queue.rpartition("/")
    return name, library or "*LIBL"


def _bytes(job: AnyJob, text: str, *, as_hex: bool, what: str) -> bytes:
    if not as_hex:
        return job.page.encode(text)
    try:
        return hex_bytes(text)
    except ValueError as error:
        raise InputError(f"{what} {text!r}: with --hex, {error}") from None


def _key(job: AnyJob, key: str | None, *, as_hex: bool) -> bytes | None:
    return None if key is None else _bytes(job, key, as_hex=as_hex, what="--key")


@dtaq_app.command("create")
@_at_system
def create(
    at: _At,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Definition files (YAML) or folders.")],
    libraries: Annotated[bool, typer.Option("--create-libraries", help="Create missing libraries.")] = False,
) -> None:
    """Create the data queues of definition files, all or none; creates the store if it does not exist."""
    loaded = definitions.load_definitions(*files)
    if not loaded.dtaqs:
        raise InputError(f"{', '.join(map(str, files))}: no data queue (dtaq:) is defined, so there is none to create")
    with at.job(create=True) as job:
        for name in job.create_queues(loaded, create_libraries=libraries):
            emit(f"{name} created")


@dtaq_app.command("delete")
@_at_system
def delete(at: _At, queue: QueueArgument) -> None:
    """Delete a data queue with its entries (DLTDTAQ)."""
    with at.job() as job:
        emit(job.dltdtaq(*_split(queue))[-1])


_LISTED: Final = (
    "data_queue_library", "data_queue_name", "data_queue_type", "sequence", "key_length", "maximum_message_length",
    "current_messages", "current_message_allocation", "maximum_messages", "text_description",
)  # fmt: skip


@dtaq_app.command("list")
@_at_system
def list_queues(
    at: _At,
    library: Annotated[str, typer.Argument(metavar="LIBRARY", help="A library, or a generic name (APP*).")] = "*",
    as_json: Json = False,
) -> None:
    """List data queues: the rows of DATA_QUEUE_INFO."""
    with at.job(looking=True) as job:
        rows = [{**row} for row in job.data_queue_info(library)]
    if as_json:
        emit_json(rows)
        return
    columns = ("library", "queue", "type", "sequence", "key", "length", "messages", "allocated", "maximum", "text")
    emit_table(
        [name.upper() for name in columns],
        [tuple(row[name] for name in _LISTED) for row in rows],
    )


@dtaq_app.command("describe")
@_at_system
def describe(at: _At, queue: QueueArgument, as_json: Json = False) -> None:
    """Describe a data queue: the fields of RDQD0100, and of RDQD0200 for a DDM queue (QMHQRDQD)."""
    with at.job(looking=True) as job:
        records = {"RDQD0100": job.qmhqrdqd(*_split(queue), "RDQD0100")}
        if records["RDQD0100"]["type_of_data_queue"] == on_demand.ibmi.layout("RDQD0100")["type_of_data_queue"].ddm:
            records["RDQD0200"] = job.qmhqrdqd(*_split(queue), "RDQD0200")
    if as_json:
        emit_json(records)
        return
    for name, record in records.items():
        fields = on_demand.ibmi.layout(name).fields
        rows = [
            (field.offset, field.field, value.hex().upper() if isinstance(value, bytes) else value)
            for field, value in zip(fields, record.values(), strict=True)
        ]
        emit_table(["OFFSET", "FIELD", "VALUE"], rows, title=name)


@dtaq_app.command("send")
@_at_system
def send(
    at: _At,
    queue: QueueArgument,
    data: Annotated[str, typer.Argument(metavar="DATA", help="The entry, as text or with --hex.")],
    *,
    key: KeyOption = None,
    as_hex: HexOption = False,
    ccsid: CcsidOption = 37,
) -> None:
    """Send one entry (QSNDDTAQ)."""
    with at.job(ccsid) as job:
        content = _bytes(job, data, as_hex=as_hex, what="DATA")
        job.qsnddtaq(*_split(queue), content, _key(job, key, as_hex=as_hex))


@dtaq_app.command("receive")
@_at_system
def receive(
    at: _At,
    queue: QueueArgument,
    *,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many entries at most.")] = 1,
    as_hex: HexOption = False,
    as_json: Json = False,
    ccsid: CcsidOption = 37,
) -> None:
    """Receive entries, removing them (QRCVDTAQ without a wait); an empty queue is not an error."""
    with at.job(ccsid) as job:
        entries: list[DataQueueEntry | ServedEntry] = []
        wanted = _key(job, key, as_hex=as_hex)
        while len(entries) < count:
            entry = job.qrcvdtaq(*_split(queue), 0, cast("KeyOrder", order.upper()), wanted)
            if entry is None:
                break
            entries.append(entry)
        if as_json:
            emit_json([_shown(job, entry.data, entry.key, entry.sender) for entry in entries])
            return
        for entry in entries:
            emit(shown_record(entry.data, job.page, as_hex=as_hex))


def _shown(job: AnyJob, data: bytes, key: bytes | None, sender: object) -> dict[str, object]:
    return {
        **record_value(data, job.page),
        "key": key.hex().upper() if key else None,
        "sender": None if sender is None else str(sender),
    }


@dtaq_app.command("peek")
@_at_system
def peek(
    at: _At,
    queue: QueueArgument,
    *,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many entries at most.")] = 100,
    as_hex: HexOption = False,
    as_json: Json = False,
    ccsid: CcsidOption = 37,
) -> None:
    """Show entries in the queue's order, removing none: the rows of DATA_QUEUE_ENTRIES."""
    name, library = _split(queue)
    with at.job(ccsid, looking=True) as job:
        wanted = _key(job, key, as_hex=as_hex)
        rows = list(job.data_queue_entries(name, library, wanted, cast("KeyOrder", order.upper()), limit=limit))
        if as_json:
            emit_json([_row(job, row) for row in rows])
            return
        emit_table(
            ["N", "ENQUEUED", "KEY", "SENDER", "LENGTH", "DATA"], [_cells(job, row, as_hex=as_hex) for row in rows]
        )


def _cells(job: AnyJob, row: ServedEntry, *, as_hex: bool) -> tuple[object, ...]:
    key = None if row.key is None else shown_record(row.key, job.page, as_hex=as_hex)
    shown = shown_record(row.data, job.page, as_hex=as_hex)
    return row.position, row.enqueued.replace("T", " "), key, row.sender, len(row.data), shown


def _row(job: AnyJob, row: ServedEntry) -> dict[str, object]:
    return {"position": row.position, "enqueued": row.enqueued, **_shown(job, row.data, row.key, row.sender)}


@dtaq_app.command("clear")
@_at_system
def clear(
    at: _At,
    queue: QueueArgument,
    *,
    key: KeyOption = None,
    order: OrderOption = "EQ",
    as_hex: HexOption = False,
) -> None:
    """Clear a queue (QCLRDTAQ); with --key, only the entries of a keyed queue whose keys satisfy the relation."""
    with at.job() as job:
        gone = job.qclrdtaq(*_split(queue), cast("KeyOrder", order.upper()), _key(job, key, as_hex=as_hex))
        emit(f"{gone} {'entry' if gone == 1 else 'entries'} cleared")


@dtaq_app.command("seed")
@_at_system
def seed(
    at: _At,
    queue: QueueArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of text or JSON; - for standard input.")],
    ccsid: CcsidOption = 37,
) -> None:
    """Send the entries of a file: a line of text each, or the JSON lines that dump writes."""
    with at.job(ccsid) as job:
        try:
            lines = sys.stdin if file == "-" else Path(file).read_text("utf-8").split("\n")
            entries = on_demand.ibmi.parse_seed(job, lines, file=file)
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: not text in UTF-8: {error.reason} at offset {error.start}") from None
        count = job.seed_entries(*_split(queue), entries)
        emit(f"{count} {'entry' if count == 1 else 'entries'} sent")


@dtaq_app.command("dump")
@_at_system
def dump(at: _At, queue: QueueArgument, ccsid: CcsidOption = 37) -> None:
    """Write every entry as a JSON line, removing none; seed reads them back."""
    with at.job(ccsid, looking=True) as job:
        for line in job.dump_entries(*_split(queue)):
            emit_json(line, indent=None)
