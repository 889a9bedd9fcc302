"""Extrapartition queues: requests on a data set.

A queue has a DD name. A DD card of the region takes precedence; without one, DSNAME or SYSOUTCLASS of the definition is
allocated dynamically when the queue is opened and freed when it is closed. An output queue with neither goes to the
spool, as CICS allocates it to JES. Attributes of the data control block that the definition omits come from the DD
card, and then from the data set.

A data set is for input only or output only. A read advances a position and removes nothing: after the data set is
closed and opened it is read again from its start (REWIND applies only to tapes). A block in error raises IOERR once;
the next read continues after it (ERROROPTION SKIP) or with its contents (ERROROPTION IGNORE). A request that reaches
the end sets EMPTYSTATUS to EMPTY, one that gets no space sets it to FULL, until the next open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.authority import check_surrogate
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues.binding import set_openstatus
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

Report = Callable[[str, dict[str, object]], None]
"""Called for an event about which CICS writes a message: with the message ID, empty if unknown, and its inserts."""

_SPOOLED: Final = "*"
_SYSUID: Final = "&SYSUID"  # means the user of the region, which submits the job
_NOT_GIVEN: Final = int(TDQUEUE_ATTRIBUTES["RECORDSIZE"].default)
_X37: Final = "DFHTD0240"
_CONTROLS: Final = {"": None, "A": PrintControl.ASA, "M": PrintControl.MACHINE}
_ERROPTS: Final = {"IGNORE": ErrorOption.ACC, "SKIP": ErrorOption.SKP}


def dcb_of(definition: ExtraQueue) -> Dcb:
    """The data control block of a definition.

    Without RECORDFORMAT the format is not defined. Without BLOCKFORMAT the records are blocked if BLOCKSIZE is more
    than a block with one record of RECORDSIZE needs. RECORDSIZE is used only if it was given: its default of 1 means
    "not given", even if a listing shows it, except for fixed-length records, which can have one byte.
    """
    is_given = definition.recordformat == "FIXED" or definition.recordsize != _NOT_GIVEN
    recordsize = definition.recordsize if is_given and definition.given("recordsize") else 0
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


def _with_record_format(dcb: Dcb, owner: str) -> Dcb:
    """The format of SYSOUT, which is stored in its own form, and of DUMMY: as defined, else variable-length records."""
    return (dcb if dcb.recfm is not None else Dcb(RecordFormat.V).or_else(dcb)).checked(owner, output=True)


def _submit_for(task: TaskData | None, reader: InternalReader, jobuserid: str) -> None:
    """Set the user who writes the next card to the internal reader, and the user of jobs without USER.

    That is JOBUSERID of the queue, otherwise the region's own user. The task's user must be a surrogate of the USER
    that a JOB statement names. Source: Security when using a TDQ to submit JCL (IBM Docs).
    """
    if task is None:
        return
    reader.submitter = f"{task.transid} {task.number}"
    reader.job_user = jobuserid or task._region.options.regionuserid
    reader.check_user = partial(_check_job_user, task)


def _check_job_user(task: TaskData, user: str) -> None:
    words = f"user {task.userid} may not submit a job with USER={user}"
    check_surrogate(
        task, task._region.options.regionuserid if user == _SYSUID else user, "SUBMIT",
        unknown=Condition(Resp.NOTAUTH, detail=f"{words} (unknown user)"),
        refused=Condition(Resp.NOTAUTH, detail=f"{words} (surrogate)"),
    )  # fmt: skip


class DataSet:
    """The data set of one extrapartition queue.

    Args:
        queue: the queue; its ``openstatus`` and ``emptystatus`` are maintained here.
        dds: the DDs of the region.
        spooling: the SYSOUT data sets of the region.
        report: called with each event about which CICS writes a message.
    """

    __slots__ = (
        "_allocation",
        "_dds",
        "_dynamic",
        "_gone",
        "_is_made_by_mod",
        "_queue",
        "_reader",
        "_report",
        "_spooling",
        "_sysout_dcb",
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
        self._sysout_dcb: Dcb | None = None
        self._dynamic = self._is_made_by_mod = False
        self._gone: DatasetFault | None = None

    # -- open and close -------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the data set; does nothing if it is open.

        A DD with FREE=CLOSE is deallocated by its first close. An input queue can be opened again, but its reads fail.

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
        # SYSOUT has no writer yet, and the internal reader must know the user for each record.
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
            raise Condition(Resp.IOERR, detail=str(self._gone), rule="EX-FREE-CLOSE") from self._gone
        assert self._reader is not None, "the state table refuses a read of a queue that is not open for input"
        return self._reader

    def _read_on(self) -> None:
        """Set the queue's ``get`` to an iterator at the reader's position; iterating is the reader's fastest method."""
        self._queue.get = None if self._reader is None else partial(next, iter(self._reader), None)

    def _open(self, allocation: Allocation) -> None:
        definition = self._queue.definition
        dcb, disposition, owner = dcb_of(definition), Disposition(definition.disposition), f"queue {self._queue.name}"
        if allocation.card.is_dummy and (said := dcb.or_else(allocation.card.dcb)).recfm is None:
            dcb = _with_record_format(said, owner)
        if not self._queue.output:
            backward = definition.typefile == "RDBACK"
            self._reader = allocation.open_input(dcb, backward=backward, disposition=disposition, owner=owner)
        elif not allocation.card.sysout or allocation.card.writer:
            self._is_made_by_mod = self._dynamic and disposition is Disposition.MOD and not allocation.is_there
            self._writer = allocation.open_output(dcb, disposition=disposition, owner=owner)
        else:  # a spool data set is created by its first record: of many message queues a region writes to few
            self._sysout_dcb = _with_record_format(dcb.or_else(allocation.card.dcb), owner)

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
        self._reader = self._writer = self._allocation = self._sysout_dcb = self._gone = None
        if self._dynamic:
            self._dynamic = False
            self._dds.free(self._queue.definition.dd)

    def close(self) -> None:
        """Write what is buffered and close; does nothing if it is closed.

        Raises:
            Condition: IOERR: there was no space for the last block. The queue is still open; the next close closes it
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
            self._report(_X37, {"queue": queue.name, "ddname": queue.definition.dd, "reason": str(error)})
            raise Condition(Resp.IOERR, detail=str(error)) from error
        set_openstatus(queue, Cvda.CLOSED)
        queue.emptystatus = Cvda.NOTAPPLIC
        if self._is_made_by_mod:
            self._report("made_by_mod", {"queue": queue.name, "dd": queue.definition.dd})
        self._free()

    def abandon(self, *, clean: bool = True) -> None:
        """Close unconditionally, as at the end of a region: what cannot be written is lost.

        Args:
            clean: False writes nothing, as when the region is killed.
        """
        if self._writer is not None and not clean:
            self._writer.abandon()
        try:
            self.close()
        except Condition as error:
            definition = self._queue.definition
            self._report("last_block_lost", {"queue": definition.name, "dd": definition.dd, "reason": error.detail})
            self.close()  # the second close gives up the block

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
            raise Condition(Resp.QZERO, detail="the data set is at its end", rule="EX-END")
        return record

    def write(self, task: TaskData | None, data: bytes) -> None:
        """Add a record.

        Raises:
            Condition: NOTAUTH: a JOB statement names a USER for whom the task's user may not submit jobs; LENGERR: its
                length is not valid for the data set; NOSPACE: there is no space for it (EMPTYSTATUS becomes FULL);
                IOERR: the operating system could not write it. In each case it was not written.
        """
        try:
            writer = self._writer if self._writer is not None and self._sysout_dcb is None else self._spooled(data)
            if self._allocation is not None and self._allocation.card.writer:
                _submit_for(task, cast("InternalReader", writer), self._queue.definition.jobuserid)
            writer.put(data)
        except DatasetFault as error:
            raise self.refused(error) from error

    def drain(self) -> Iterator[bytes]:
        """Read the records after the position, as fast as the reader can; each moves the position.

        Raises:
            DatasetFault: raised by the reader; :meth:`refused` converts it to a condition.
        """
        if self._gone is not None:
            raise self._gone
        return iter(self._input())

    def write_all(self, records: Sequence[bytes]) -> None:
        """Write records, counting each as a write, up to the first that fails.

        Raises:
            DatasetFault: raised by the writer; :meth:`refused` converts it to a condition.
        """
        writer = self._writer
        assert writer is not None, "the queue is not open for output"
        before = writer.records_written
        try:
            writer.put_all(records)
        finally:
            self._queue.writes += writer.records_written - before

    def refused(self, error: DatasetError) -> Condition:
        """The condition for an error of the reader or writer; also sets EMPTYSTATUS and writes a message."""
        if isinstance(error, RecordError):
            return self._length_error(str(error))
        if isinstance(error, SpaceExhausted):
            self._queue.emptystatus = Cvda.FULL
            definition = self._queue.definition
            self._report(_X37, {"queue": self._queue.name, "ddname": definition.dd, "reason": str(error)})
            return Condition(Resp.NOSPACE, detail=str(error))
        if isinstance(error, BlockError) and self._reader is not None:
            if self._queue.definition.erroroption == "IGNORE":
                self._reader.accept_block()
            self._read_on()  # an iterator that has raised an exception is exhausted
            return self._block_error(error)
        return Condition(Resp.IOERR, detail=str(error))

    def _length_error(self, detail: str) -> Condition:
        """The condition for a record that does not fit the data set."""
        fixed = self.dcb is not None and self.dcb.recfm is not None and self.dcb.recfm.fixed
        rule = "EX-SYSOUT-LENGTH" if self._sysout_dcb else "EX-FIXED-LENGTH" if fixed else "EX-VARIABLE-LENGTH"
        return Condition(Resp.LENGERR, detail=detail, rule=rule)

    def _block_error(self, error: BlockError) -> Condition:
        """The condition for a block in error of an input data set."""
        ignored = self._queue.definition.erroroption == "IGNORE"
        return Condition(Resp.IOERR, detail=str(error), rule="EX-IOERR-IGNORE" if ignored else "EX-IOERR-SKIP")

    def foresee_read(self, pause: Callable[[], object] | None = None) -> bytes:
        """The record that :meth:`read` would return, found with a second reader.

        Records that were read already are skipped, without cost if all records have one length.

        Args:
            pause: called from time to time, so that other tasks can run.

        Raises:
            Condition: QZERO, IOERR: :meth:`read` would raise it.
        """
        reader, allocation, definition = self._input(), self._allocation, self._queue.definition
        assert allocation is not None, "an open data set is allocated"
        errors = 0
        with allocation.look(dcb_of(definition), backward=definition.typefile == "RDBACK") as look:
            if not reader.blocks_in_error:  # blocks in error among those read must be found one by one
                look.skip(reader.records_read, pause)
            while True:
                try:
                    record = next(islice(look, reader.records_read - look.records_read, None), None)
                except BlockError as error:
                    errors += 1
                    if errors > reader.blocks_in_error:
                        raise self._block_error(error) from error
                    if definition.erroroption == "IGNORE":
                        look.accept_block()
                else:
                    if record is None:
                        raise Condition(Resp.QZERO, detail="the data set is at its end", rule="EX-END")
                    return record

    def foresee_write(self, size: int) -> None:
        """Check whether :meth:`write` would accept a record of ``size`` bytes. A full disk is detected only by a write.

        Raises:
            Condition: LENGERR, NOSPACE: :meth:`write` would raise it.
        """
        dcb, writer = self.dcb, self._writer
        if dcb is not None and (fault := dcb.length_fault(size)):
            raise self._length_error(fault)
        if writer is not None and not writer.has_room(size):
            raise Condition(Resp.NOSPACE, detail="the space of the data set is used up")

    def _spooled(self, data: bytes) -> DatasetWriter:
        """The writer of SYSOUT, created by the first record with a valid length."""
        allocation, dcb = self._allocation, self._sysout_dcb
        assert allocation is not None, "the state table refuses a write to a queue that is not open for output"
        if dcb is not None and (fault := dcb.length_fault(len(data))):
            raise RecordError(f"queue {self._queue.name}", fault)
        if self._writer is None:
            self._writer = allocation.open_output(dcb_of(self._queue.definition), owner=f"queue {self._queue.name}")
        return self._writer

    # -- inspect and seed -----------------------------------------------------------------------------------------

    def records(self, skip: int = 0, pause: Callable[[], object] | None = None) -> Iterator[bytes]:
        """The records for inspection, one by one: of an input data set those not yet read, of an output data set all.

        For an open output data set the incomplete current block is written first, so that the file holds all records.

        Args:
            skip: the number of records to skip.
            pause: called from time to time, so that other tasks can run; they may
                open, close or allocate data sets.
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
        """Readers of the data set from its start, and the number of records to skip, including those already read."""
        definition = self._queue.definition
        read = self._reader.records_read if self._reader is not None else 0
        with self._allocated() as allocation:
            if allocation.path is None:
                return (), 0
            backward, eropt = definition.typefile == "RDBACK", _ERROPTS[definition.erroroption]
            return [allocation.look(dcb_of(definition), backward=backward, eropt=eropt)], read + skip

    @contextmanager
    def _allocated(self) -> Iterator[Allocation]:
        """The allocation of the queue; a temporary one if the queue is closed."""
        if self._allocation is not None:
            yield self._allocation
            return
        try:
            yield self._allocate()
        finally:
            self._free()

    def seed(self, records: list[bytes]) -> None:
        """Replace the records of the data set; an input queue must not have been read.

        Raises:
            Condition: INVREQ: the queue is open and a record has been read; LENGERR, NOSPACE, IOERR as :meth:`write`.
        """
        if self._reader is not None and self._reader.records_read:
            raise Condition(Resp.INVREQ, detail="records of the data set have been read; close the queue, then seed it")
        was_open = self._queue.openstatus is Cvda.OPEN
        self.close()
        dcb = dcb_of(self._queue.definition)
        try:
            with (
                _as_conditions(),
                self._allocated() as allocation,
                allocation.open_output(dcb, disposition=Disposition.OLD, owner="a seed") as writer,
            ):
                writer.put_all(records)
        finally:
            if was_open:
                self.open()

    # -- INQUIRE --------------------------------------------------------------------------------------------------

    def inquire(self, option: str) -> str | int | None:
        """The value of an option of INQUIRE TDQUEUE from the open data set; None if the definition has the value."""
        return None if self._allocation is None else actual(option, self._allocation, self.dcb)

    @property
    def dcb(self) -> Dcb | None:
        """The data control block of the open data set; None if it is closed or its attributes are unknown."""
        if self._sysout_dcb is not None:
            return self._sysout_dcb
        opened = self._reader or self._writer
        return None if opened is None or not opened.dcb.recfm else opened.dcb


@contextmanager
def _as_conditions() -> Iterator[None]:
    """Convert errors of an output data set to the conditions that a program gets."""
    try:
        yield
    except RecordError as error:
        raise Condition(Resp.LENGERR, detail=str(error)) from error
    except SpaceExhausted as error:
        raise Condition(Resp.NOSPACE, detail=str(error)) from error
    except DatasetFault as error:
        raise Condition(Resp.IOERR, detail=str(error)) from error
