"""Extrapartition queues: a queue's requests on a data set.

A queue is tied to a DD name. The DD card of the region wins; without one, DSNAME or SYSOUTCLASS of the definition is
allocated dynamically when the queue is opened and freed when it is closed; an output queue with neither goes to the
spool, as CICS allocates it to JES. What the definition leaves out of the data control block comes from the DD card, and
then from the data set.

Requests are for input only or output only. A read moves a position and takes nothing away: closing and opening reads
the data set again from its start (REWIND is kept for tapes, and files are none). A block in error raises IOERR once;
the next read goes on behind it (ERROROPTION SKIP) or begins with what it held (ERROROPTION IGNORE). A request that
meets the end makes EMPTYSTATUS EMPTY, one that meets no room makes it FULL, until the next open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.authority import why_not_for
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues.kinds import set_openstatus
from tdqsim.cics.queues.open_data_set import actual
from tdqsim.datasets import (
    Allocation,
    BlockError,
    DatasetFault,
    Dcb,
    DDCard,
    DDTable,
    Disposition,
    ErrorOption,
    PrintControl,
    RecordError,
    RecordFormat,
    SpaceExhausted,
    Spooling,
)
from tdqsim.errors import DatasetError
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.queue import ExtraTdQueue
    from tdqsim.datasets import DatasetReader, DatasetWriter, InternalReader
    from tdqsim.definitions import ExtraQueue

__all__ = ["DataSet", "Report", "dcb_of"]

Report = Callable[[str, dict[str, object]], None]
"""Told of what CICS writes a message about: the message id, empty where we know none, and its inserts."""

_SPOOLED: Final = "*"
_SYSUID: Final = "&SYSUID"  # the user of the region, who submits the job
_NOT_SAID: Final = int(TDQUEUE_ATTRIBUTES["RECORDSIZE"].default)
_X37: Final = "DFHTD0240"
_CONTROLS: Final = {"": None, "A": PrintControl.ASA, "M": PrintControl.MACHINE}
_ERROPTS: Final = {"IGNORE": ErrorOption.ACC, "SKIP": ErrorOption.SKP}


def dcb_of(definition: ExtraQueue) -> Dcb:
    """What a definition says of the data control block.

    Without RECORDFORMAT the format is not defined. Without BLOCKFORMAT the records are blocked when BLOCKSIZE
    has room for several. RECORDSIZE counts only when it was given: its default of 1 stands for "not said", also where
    a listing shows it, unless there are fixed-length records, which can be of one byte.
    """
    said = definition.recordformat == "FIXED" or definition.recordsize != _NOT_SAID
    recordsize = definition.recordsize if said and definition.given("recordsize") else 0
    return Dcb(
        recfm=_recfm_of(definition, recordsize),
        lrecl=recordsize,
        blksize=definition.blocksize,
        control=_CONTROLS[definition.printcontrol],
        bufno=definition.databuffers,
    )


def _recfm_of(definition: ExtraQueue, recordsize: int) -> RecordFormat | None:
    if not definition.recordformat:
        return None
    fixed = definition.recordformat == "FIXED"
    overhead = 0 if fixed else LIMITS["bdw_length"]
    blocked = definition.blockformat == "BLOCKED" or (
        not definition.blockformat and definition.blocksize > recordsize + overhead > overhead
    )
    if fixed:
        return RecordFormat.FB if blocked else RecordFormat.F
    return RecordFormat.VB if blocked else RecordFormat.V


def _on_spool(dcb: Dcb, owner: str) -> Dcb:
    """The format of SYSOUT, which is stored in its own form: as defined, else variable-length records."""
    return (dcb if dcb.recfm is not None else Dcb(RecordFormat.V).or_else(dcb)).checked(owner, output=True)


def _submit_for(task: TaskData | None, reader: InternalReader, jobuserid: str) -> None:
    """Tell the internal reader who writes the next card, and as whom jobs without USER run: JOBUSERID.

    A job for the region's own user needs no USER. The task's user must be a surrogate of the USER that a JOB statement
    names. Source: Security when using a TDQ to submit JCL (IBM Docs).
    """
    if task is None:
        return
    reader.submitter = f"{task.transid} {task.number}"
    reader.job_user = "" if jobuserid == task._region.region_user else jobuserid
    reader.check_user = partial(_check_job_user, task)


def _check_job_user(task: TaskData, user: str) -> None:
    why = why_not_for(task, task._region.region_user if user == _SYSUID else user)
    if why:
        raise Condition(Resp.NOTAUTH, detail=f"user {task.userid} may not submit a job with USER={user} ({why})")


class DataSet:
    """The data set of one extrapartition queue.

    Args:
        queue: the queue; its ``openstatus`` and ``emptystatus`` are kept here.
        dds: the DDs of the region.
        spooling: where SYSOUT of the region is kept.
        report: called with each event about which CICS writes a message.
    """

    __slots__ = (
        "_allocation",
        "_dds",
        "_dynamic",
        "_gone",
        "_queue",
        "_reader",
        "_report",
        "_said",
        "_spooling",
        "_writer",
    )

    def __init__(self, queue: ExtraTdQueue, dds: DDTable, spooling: Spooling, report: Report) -> None:
        self._queue = queue
        self._dds = dds
        self._spooling = spooling
        self._report = report
        self._reader: DatasetReader | None = None
        self._writer: DatasetWriter | None = None
        self._allocation: Allocation | None = None
        self._said: Dcb | None = None
        self._dynamic = False
        self._gone: DatasetFault | None = None

    # -- open and close -------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the data set; nothing happens when it is open.

        A DD with FREE=CLOSE is used up by its close. An input queue is opened again all the same, and its reads fail.

        Raises:
            Condition: IOERR: it cannot be allocated or opened; the queue stays closed.
        """
        queue = self._queue
        if queue.openstatus is Cvda.OPEN:
            return
        try:
            self._allocation = allocation = self._allocate()
            self._open(allocation)
        except (DatasetFault, OSError) as error:
            gone = error if isinstance(error, DatasetFault) and self._is_used_up() else None
            self._free()
            if gone is not None:
                self._gone = gone
                set_openstatus(queue, Cvda.OPEN)
                queue.emptystatus = Cvda.NOTEMPTY
                return
            self._report("", {"queue": queue.name, "dd": queue.definition.dd, "reason": str(error)})
            raise Condition(Resp.IOERR, detail=str(error)) from error
        set_openstatus(queue, Cvda.OPEN)
        queue.emptystatus = Cvda.NOTEMPTY
        self._read_on()
        # SYSOUT has no writer yet, and the internal reader must know who writes.
        queue.put = None if self._writer is None or allocation.card.writer else self._writer.put

    def _is_used_up(self) -> bool:
        """Whether this is an input queue whose DD was freed by its close."""
        return not self._queue.output and self._allocation is not None and self._allocation.freed

    def _input(self) -> DatasetReader:
        """The reader of an input queue that is open.

        Raises:
            Condition: IOERR: the queue was opened again, and its DD was freed when it was closed.
        """
        if self._gone is not None:
            raise Condition(Resp.IOERR, detail=str(self._gone)) from self._gone
        assert self._reader is not None, "the state table lets nobody read a queue that is not open for input"
        return self._reader

    def _read_on(self) -> None:
        """The queue's short way begins where the reader stands; iterating is the reader's fastest way."""
        self._queue.get = None if self._reader is None else partial(next, iter(self._reader), None)

    def _open(self, allocation: Allocation) -> None:
        definition = self._queue.definition
        dcb, disposition, owner = dcb_of(definition), Disposition(definition.disposition), f"queue {self._queue.name}"
        if not self._queue.output:
            backward = definition.typefile == "RDBACK"
            self._reader = allocation.open_input(dcb, backward=backward, disposition=disposition, owner=owner)
        elif not allocation.card.sysout or allocation.card.writer:
            self._writer = allocation.open_output(dcb, disposition=disposition, owner=owner)
        else:  # a spool data set is made by its first record: regions have many message queues and write to few
            self._said = _on_spool(dcb.or_else(allocation.card.dcb), owner)

    def _allocate(self) -> Allocation:
        definition = self._queue.definition
        allocation = self._dds.get(definition.dd)
        if allocation is not None:
            return allocation
        if definition.dsname:
            card = DDCard(definition.dd, dsname=definition.dsname)
        elif definition.sysoutclass or self._queue.output:
            card = DDCard(definition.dd, sysout=definition.sysoutclass or _SPOOLED)
        else:
            raise DatasetFault(
                f"queue {self._queue.name}",
                f"there is no DD card {definition.dd}, and the definition has no DSNAME; give one of them",
            )
        self._dynamic = True
        return self._dds.allocate(card)

    def _free(self) -> None:
        self._queue.get = self._queue.put = None
        self._reader = self._writer = self._allocation = self._said = self._gone = None
        if self._dynamic:
            self._dynamic = False
            self._dds.free(self._queue.definition.dd)

    def close(self) -> None:
        """Write what is buffered and close; nothing happens when it is closed.

        Raises:
            Condition: IOERR: there was no room for the last block. The queue is still open; the next close ends it
                without that block, as after an x37 abend.
        """
        queue = self._queue
        if queue.openstatus is not Cvda.OPEN:
            return
        try:
            for opened in (self._reader, self._writer):
                if opened is not None:
                    opened.close()
        except DatasetFault as error:
            self._report(_X37, {"queue": queue.name, "reason": str(error)})
            raise Condition(Resp.IOERR, detail=str(error)) from error
        set_openstatus(queue, Cvda.CLOSED)
        queue.emptystatus = Cvda.NOTAPPLIC
        self._free()

    def abandon(self, *, clean: bool = True) -> None:
        """Close without fail, as when a region ends: what cannot be written is lost.

        Args:
            clean: False writes nothing any more, as when the region is killed.
        """
        if self._writer is not None and not clean:
            self._writer.abandon()
        for _ in range(2):
            try:
                self.close()
            except Condition:
                continue
            return

    # -- requests -------------------------------------------------------------------------------------------------

    def read(self, _task: TaskData | None) -> bytes:
        """The next record.

        Raises:
            Condition: QZERO at the end, each time; IOERR for a block in error, once.
        """
        reader = self._input()
        try:
            record = reader.get()
        except DatasetFault as error:
            raise self.refused(error) from error
        if record is None:
            self._queue.emptystatus = Cvda.EMPTY
            raise Condition(Resp.QZERO, detail="the data set is at its end")
        return record

    def write(self, task: TaskData | None, data: bytes) -> None:
        """Add a record.

        Raises:
            Condition: NOTAUTH: a JOB statement names a USER for whom the task's user may not submit jobs; LENGERR: its
                length is not what the data set takes; NOSPACE: no room for it (EMPTYSTATUS becomes
                FULL); IOERR: the system failed the write. In each case it was not written.
        """
        try:
            writer = self._writer if self._writer is not None and self._said is None else self._spooled(data)
            if self._allocation is not None and self._allocation.card.writer:
                _submit_for(task, cast("InternalReader", writer), self._queue.definition.jobuserid)
            writer.put(data)
        except DatasetFault as error:
            raise self.refused(error) from error

    def drain(self) -> Iterator[bytes]:
        """The records behind the position, as fast as the reader delivers them; each moves the position.

        Raises:
            DatasetFault: as the reader says; :meth:`refused` makes a condition of it.
        """
        if self._gone is not None:
            raise self._gone
        return iter(self._input())

    def write_all(self, records: Sequence[bytes]) -> None:
        """Write records and count them as writes of the queue, also those before one that fails.

        Raises:
            DatasetFault: as the writer says; :meth:`refused` makes a condition of it.
        """
        writer = self._writer
        assert writer is not None, "the queue is not open for output"
        before = writer.records_written
        try:
            writer.put_all(records)
        finally:
            self._queue.writes += writer.records_written - before

    def refused(self, error: DatasetError) -> Condition:
        """The condition that a failure of the reader or writer is to a program; sets EMPTYSTATUS, writes a message."""
        if isinstance(error, RecordError):
            return Condition(Resp.LENGERR, detail=str(error))
        if isinstance(error, SpaceExhausted):
            self._queue.emptystatus = Cvda.FULL
            self._report(_X37, {"queue": self._queue.name, "reason": str(error)})
            return Condition(Resp.NOSPACE, detail=str(error))
        if isinstance(error, BlockError) and self._reader is not None:
            if self._queue.definition.erroroption == "IGNORE":
                self._reader.accept_block()
            self._read_on()  # an iterator that has raised is at its end
        return Condition(Resp.IOERR, detail=str(error))

    def foresee_read(self, pause: Callable[[], object] | None = None) -> bytes:
        """The record that :meth:`read` would give, looked for beside the reader.

        What was read already is passed over, at no cost where records are of one length.

        Args:
            pause: called while that takes time, so that others can have a turn.

        Raises:
            Condition: QZERO, IOERR: it would give none.
        """
        reader, allocation, definition = self._input(), self._allocation, self._queue.definition
        assert allocation is not None, "an open data set is allocated"
        met = 0
        with allocation.look(dcb_of(definition), backward=definition.typefile == "RDBACK") as look:
            if not reader.blocks_in_error:  # those that were met are looked for one by one
                look.skip(reader.records_read, pause)
            while True:
                try:
                    record = next(islice(look, reader.records_read - look.records_read, None), None)
                except BlockError as error:
                    met += 1
                    if met > reader.blocks_in_error:
                        raise Condition(Resp.IOERR, detail=str(error)) from error
                    if definition.erroroption == "IGNORE":
                        look.accept_block()
                else:
                    if record is None:
                        raise Condition(Resp.QZERO, detail="the data set is at its end")
                    return record

    def foresee_write(self, size: int) -> None:
        """See whether :meth:`write` would take a record of ``size`` bytes. A full disk shows only when it is written.

        Raises:
            Condition: LENGERR, NOSPACE: it would not.
        """
        dcb, writer = self.dcb, self._writer
        if dcb is not None and (fault := dcb.length_fault(size)):
            raise Condition(Resp.LENGERR, detail=fault)
        if writer is not None and not writer.has_room(size):
            raise Condition(Resp.NOSPACE, detail="the space of the data set is used up")

    def _spooled(self, data: bytes) -> DatasetWriter:
        """The writer of SYSOUT, made by the first record whose length is right."""
        allocation, said = self._allocation, self._said
        assert allocation is not None, "the state table lets nobody write to a queue that is not open for output"
        if said is not None and (fault := said.length_fault(len(data))):
            raise RecordError(f"queue {self._queue.name}", fault)
        if self._writer is None:
            self._writer = allocation.open_output(dcb_of(self._queue.definition), owner=f"queue {self._queue.name}")
        return self._writer

    # -- see and seed ---------------------------------------------------------------------------------------------

    def records(self, skip: int = 0, pause: Callable[[], object] | None = None) -> Iterator[bytes]:
        """What a look at the data set shows, one by one: on input the records not yet read, on output all of them.

        Looking at an open output data set writes its current block as it is, so that the file holds what was written.

        Args:
            skip: how many to pass over first.
            pause: called while that takes time, so that others can have a turn; what is open or allocated may change.
        """
        readers, left = (self._written(), skip) if self._queue.output else self._unread(skip)
        for reader in readers:
            with reader:
                reader.skip(left, pause)
                left -= reader.records_read
                yield from reader

    def peek(self) -> list[bytes]:
        """:meth:`records` as a list."""
        return list(self.records())

    def _written(self) -> Iterable[DatasetReader]:
        with self._allocated() as allocation:
            card = allocation.card
            if card.sysout:
                spool = self._spooling.spool
                return map(spool.look, [each for each in spool.datasets() if each.ddname == card.name])
            if allocation.path is None:
                return ()
            if self._writer is not None:
                self._writer.trunc()
            return [allocation.look(dcb_of(self._queue.definition) if self._writer is None else self._writer.dcb)]

    def _unread(self, skip: int) -> tuple[Iterable[DatasetReader], int]:
        """What reads the data set from its start, and how many records to pass over with those already read."""
        definition = self._queue.definition
        read = self._reader.records_read if self._reader is not None else 0
        with self._allocated() as allocation:
            if allocation.path is None:
                return (), 0
            backward, eropt = definition.typefile == "RDBACK", _ERROPTS[definition.erroroption]
            return [allocation.look(dcb_of(definition), backward=backward, eropt=eropt)], read + skip

    @contextmanager
    def _allocated(self) -> Iterator[Allocation]:
        """The queue's allocation, made for the moment when the queue is closed."""
        if self._allocation is not None:
            yield self._allocation
            return
        try:
            yield self._allocate()
        finally:
            self._free()

    def seed(self, records: list[bytes]) -> None:
        """Make the data set hold these records: before an input queue is read, or in place of what an output queue has.

        Raises:
            Condition: INVREQ: the queue is open and a record has been read; LENGERR, NOSPACE, IOERR as :meth:`write`.
        """
        if self._reader is not None and self._reader.records_read:
            raise Condition(Resp.INVREQ, detail="records of the data set have been read; close the queue, then seed it")
        was_open = self._queue.openstatus is Cvda.OPEN
        self.close()
        dcb = dcb_of(self._queue.definition)
        with (
            _as_conditions(),
            self._allocated() as allocation,
            allocation.open_output(dcb, disposition=Disposition.OLD, owner="a seed") as writer,
        ):
            writer.put_all(records)
        if was_open:
            self.open()

    # -- what INQUIRE shows ---------------------------------------------------------------------------------------

    def inquire(self, option: str) -> str | int | None:
        """What is true of the open data set for an option of INQUIRE TDQUEUE; None where the definition says it."""
        return None if self._allocation is None else actual(option, self._allocation, self.dcb)

    @property
    def dcb(self) -> Dcb | None:
        """The data control block of the open data set; None when it is closed or nothing is known of it."""
        if self._said is not None:
            return self._said
        opened = self._reader or self._writer
        return None if opened is None or not opened.dcb.recfm else opened.dcb


@contextmanager
def _as_conditions() -> Iterator[None]:
    """What goes wrong with a data set on output, as the condition a program sees."""
    try:
        yield
    except RecordError as error:
        raise Condition(Resp.LENGERR, detail=str(error)) from error
    except SpaceExhausted as error:
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    except DatasetFault as error:
        raise Condition(Resp.IOERR, detail=str(error)) from error
