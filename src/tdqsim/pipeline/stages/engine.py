"""Running a stage's function over its tasks: in this process, or as Spark tasks; the results are the same.

Tasks that run programs of the user's, which may end the process that they are in, are done by one of their own.

Below a size, starting Spark and its workers costs more than it saves; ``auto`` then stays in this process and says so.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.stages.arguments import one_of
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, keep_only, outdate, publish_json, write_manifest

__all__ = ["Engine", "EngineName", "StageFailed", "Task", "choose", "run_stage"]

EngineName = Literal["local", "spark", "auto"]
ROUNDS = 4
"""How often what is left of a stage is tried again when a worker process died."""
LOCAL_ROUNDS = 64
"""The same where one process does it all: each death is of one region, which is a row after two of them."""

_INTERRUPTED = 128 + signal.SIGINT
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""
_OURS = "tdqsim.errors.DatasetError: "
_FEW_LINES = 3
"""More lines are the frames of an error."""
ENGINES = ("local", "spark", "auto")
_ROW = pa.schema([("bucket", pa.int32()), ("body", pa.string())])


class StageFailed(DatasetError):
    """A stage could not be finished; the message names it, its buckets, and what the last attempt said."""


class Task(Protocol):
    """One task of a stage: plain values, so that it can travel to a worker."""

    @property
    def run(self) -> Path:
        """The run's directory."""

    @property
    def bucket(self) -> int:
        """Which bucket it makes."""

    @property
    def inputs(self) -> str:
        """Digest of everything its outcome depends on."""

    @property
    def weight(self) -> int:
        """How much work it is, in any unit: the heaviest go first."""


T = TypeVar("T", bound=Task)


@dataclass
class Engine:
    """Where tasks run.

    Attributes:
        name: ``local`` or ``spark``.
        why: why it was chosen, in a sentence for people.
        spark: the session, made when the first stage needs it.
        say: told what happens, for people.
    """

    name: Literal["local", "spark"]
    why: str = ""
    spark: Any = None
    say: Callable[[str], None] = field(default=lambda _: None)

    def session(self) -> Any:
        """The Spark session; a local one is made when none was handed in."""
        if self.spark is None:
            from tdqsim.pipeline.session import session  # noqa: PLC0415  (starts a JVM)

            self.spark = session(name="tdqsim pipeline")
        return self.spark

    def map(self, tasks: Sequence[Any], function: Callable[[Any], Receipt], *, apart: bool = False) -> list[Receipt]:
        """The function's receipt for each task, in the order of the tasks.

        Args:
            tasks: the tasks.
            function: does one.
            apart: not in this process, which it may end; receipts that have been put where they belong are not given.
        """
        if self.name == "local":
            return _apart(tasks, function) if apart and _may_fork() else [function(task) for task in tasks]
        from tdqsim.pipeline.session import progress, run_tasks  # noqa: PLC0415

        spark = self.session()
        sign = tasks[0].run / "manifest" / f"{uuid4().hex}.failed"
        try:
            with progress(spark):
                rows = run_tasks(spark, tasks, partial(_answer, function, sign), _ROW)
        finally:
            sign.unlink(missing_ok=True)
        found = [json.loads(row["body"]) for row in rows]
        for each in found:
            if "error" in each:
                raise _Told(each["error"], ours=each["ours"])
        return [Receipt.from_json(each) for each in found]


class _Told(Exception):
    """What a task raised in a worker; ``ours`` when it is for the user as it is."""

    def __init__(self, text: str, *, ours: bool) -> None:
        super().__init__(text)
        self.ours = ours


class _Died(Exception):
    """The process of the tasks ended before they were done."""


def _may_fork() -> bool:
    """Whether a copy of this process can be made: one with other threads may wait for ever for what they held."""
    waits = signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    return sys.platform == "linux" and waits and threading.active_count() == 1


def _apart(tasks: Sequence[Any], function: Callable[[Any], Receipt]) -> list[Receipt]:
    """Do tasks one after another in a copy of this process. Their receipts are where they have put them.

    Raises:
        _Told: a task raised something.
        _Died: the process ended before they were done.
    """
    sign, parent = tasks[0].run / "manifest" / f"{uuid4().hex}.failed", os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of Arrow's and numpy's, which provide for it
        child = os.fork()
    if not child:
        _work(tasks, function, sign, parent)
    status = None
    try:
        _, status = os.waitpid(child, 0)
        if sign.is_file():
            told = json.loads(sign.read_text("utf-8"))
            raise _Told(told["error"], ours=told["ours"])
    finally:
        sign.unlink(missing_ok=True)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        raise _Died(f"its process ended with status {code}")
    return []


def _work(tasks: Sequence[Any], function: Callable[[Any], Receipt], sign: Path, parent: int) -> NoReturn:
    """Be the process that does the tasks; whatever happens, nothing of the other one's is done at the end."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)  # nobody waits for what it would go on to do
        for task in tasks if os.getppid() == parent else ():
            _answer(function, sign, task)
        sys.stdout.flush()
        sys.stderr.flush()
        code = 0
    except KeyboardInterrupt:
        code = _INTERRUPTED
    finally:
        os._exit(code)


def _answer(function: Callable[[Any], Receipt], sign: Path, task: Any) -> Iterable[dict[str, Any]]:
    """A task's receipt or its error, as a row: an error that Spark sees is tried again, and told with all its frames.

    The first error is put down at the sign, and tasks that have not begun by then do not begin.
    """
    try:
        body = json.loads(sign.read_text("utf-8")) if sign.is_file() else function(task).as_json()
    except Exception as error:  # noqa: BLE001  (it is raised again where the stage was started)
        body = {"error": _text_of(error), "ours": isinstance(error, TdqError)}
        with suppress(OSError, DatasetError):
            publish_json(sign, body)
    return [{"bucket": task.bucket, "body": json.dumps(body)}]


def _text_of(error: Exception) -> str:
    if isinstance(error, TdqError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return f"{type(error).__name__}: {error}"


def choose(
    wanted: EngineName, *, records: int, size: int, spark: Any = None, say: Callable[[str], None] | None = None
) -> Engine:
    """The engine for a run.

    Args:
        wanted: ``auto`` decides by size.
        records: how many records or operations there are.
        size: how many bytes they are.
        spark: a session that there is already.
        say: told what happens, for people.

    Raises:
        NotAllowed: there is no such engine.
    """
    talk = say or (lambda _: None)
    one_of("--engine", wanted, ENGINES)
    if wanted != "auto":
        return Engine(wanted, "as asked", spark, talk)
    if records >= BOUNDS["spark_pays_records"] or size >= BOUNDS["spark_pays_bytes"]:
        return Engine("spark", f"{records:,} records, {size:,} bytes: enough for Spark to pay", spark, talk)
    why = (
        f"{records:,} records, {size:,} bytes: Spark pays from {BOUNDS['spark_pays_records']:,} records or "
        f"{BOUNDS['spark_pays_bytes']:,} bytes; the same functions run in this process (--engine spark insists)"
    )
    return Engine("local", why, None, talk)


def run_stage(
    engine: Engine, stage: str, run: Path, tasks: Sequence[T], function: Callable[[T], Receipt], folder: str = "", *,
    apart: bool = False,
) -> list[Receipt]:  # fmt: skip
    """Do what is not done yet of a stage, heaviest first, then publish its manifest.

    A worker process that dies takes its Spark job with it: what is left is tried again, a few times.

    Args:
        engine: where tasks run.
        stage: its name.
        run: the run's directory.
        tasks: all its tasks, done or not.
        function: does one of them.
        folder: the folder of the run's directory that is this stage's own: what an earlier run with other arguments
            left there goes, before the manifest is published.
        apart: the function may end the process that it is in.

    Raises:
        StageFailed: it could not be finished.
        TdqError: what the function raised in this process.
    """
    receipts = Receipts(run, stage)
    done: dict[int, Receipt] = {}

    def look() -> list[T]:
        """Take up the receipts there are; what is left, heaviest first."""
        done.update((t.bucket, found) for t in tasks if (found := receipts.get(t.bucket, t.inputs)) is not None)
        return sorted((t for t in tasks if t.bucket not in done), key=lambda t: (-t.weight, t.bucket))

    rounds = LOCAL_ROUNDS if engine.name == "local" and apart else ROUNDS
    work = partial(engine.map, apart=True) if apart else engine.map
    for attempt in range(1, rounds + 1):
        left = look()
        if not left:
            break
        outdate(run, stage)
        for task in left:  # a receipt for other inputs must not outlive the files it is for
            receipts.forget(task.bucket)
        if done and attempt == 1:
            engine.say(f"{stage}: {len(done)} of {len(tasks)} buckets were done before; {len(left)} are left")
        try:
            done.update((receipt.bucket, receipt) for receipt in work(left, function))
        except Exception as error:
            if attempt == rounds or not _died(error):
                raise _told(stage, left, error) from error
            engine.say(f"{stage}: a worker died; what is left is tried again")
    if len(done) < len(tasks):
        look()
    ordered = [done[task.bucket] for task in sorted(tasks, key=lambda task: task.bucket)]
    if folder:
        keep_only(run, folder, ordered)
    write_manifest(run, stage, ordered)
    return ordered


def _died(error: Exception) -> bool:
    """Whether a worker process went away, which another attempt may survive; not an error of the task's own."""
    if isinstance(error, (_Died, TdqError, _Told)):
        return isinstance(error, _Died)
    text = str(error)
    return "Python worker exited unexpectedly" in text or "crashed" in text or "ExecutorLostFailure" in text


def _told(stage: str, left: Sequence[Any], error: Exception) -> Exception:
    """An error of ours as it is; one that came through Spark by what the worker said at its end."""
    if isinstance(error, TdqError):
        return error
    if isinstance(error, _Told) and error.ours:
        return DatasetError(str(error))
    if (said := _said(error)).startswith(_OURS):
        return DatasetError(said.removeprefix(_OURS))
    text = str(error) if isinstance(error, _Told) else said
    return StageFailed(f"{stage}: {len(left)} buckets are left; run it again to go on with them. {text}")


def _said(error: Exception) -> str:
    """What matters of an error that may be one of Spark's, with the frames of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("tdqsim.")]
    if said:
        return said[-1]
    return _text_of(error) if len(lines) < _FEW_LINES else lines[0]
