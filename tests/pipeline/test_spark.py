"""What only Spark can show: that the data source is wired right. The rest is tested without it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
import pyarrow as pa

from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.pipeline.session import local_settings, run_tasks, session

pytestmark = [
    pytest.mark.spark,
    # Spark's own modules and sockets: warnings of theirs are no errors of ours.
    pytest.mark.filterwarnings("ignore"),
]

COPYBOOK = "01 R. 05 KIND PIC X. 05 ID PIC 9(5). 05 AMOUNT PIC S9(5)V99 COMP-3. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 G. 10 A PIC X."


def record(number):
    amount = f"{number:07d}{'cd'[number % 2]}"
    return f"{'CP'[number % 2]}{number:05d}".encode("cp037") + bytes.fromhex(amount) + "2abcz".encode("cp037")


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "data"
    write_records(found, (record(number) for number in range(1000)), Dcb(RecordFormat.VB, lrecl=84, blksize=4000))
    return str(found)


def read(spark, path, **options):
    reader = spark.read.format("qsam").option("copybook_contents", COPYBOOK).option("record_format", "VB")
    return reader.options(**options).load(path)


def test_dataframe_and_sql(spark, path):
    frame = read(spark, path, generate_record_id=True, generate_corrupt_fields=True)
    assert frame.schema.simpleString() == (
        "struct<File_Id:int,Record_Id:bigint,Record_Byte_Length:int,KIND:string,ID:int,AMOUNT:decimal(7,2),N:int,T:array<string>,"
        "G:struct<A:string>,_corrupt_fields:array<struct<field_name:string,raw_value:binary,offset:int>>>"
    )
    frame.createOrReplaceTempView("records")
    found = spark.sql("SELECT KIND, count(*) n, sum(AMOUNT) s FROM records GROUP BY KIND ORDER BY KIND").collect()
    total = sum(range(1, 1000, 2))
    assert [(row.KIND, row.n) for row in found] == [("C", 500), ("P", 500)]
    assert found[1].s == -Decimal(total) / 100
    first = frame.orderBy("Record_Id").first()
    assert (first["T"], first["G"].A, first["_corrupt_fields"]) == (["a", "b"], "z", [])


def test_a_schema_of_fewer_columns_and_sql_alone(spark, path):
    assert read(spark, path).select("ID").agg({"ID": "max"}).collect()[0][0] == 999
    few = (
        spark.read.format("qsam")
        .schema("ID int")
        .option("copybook_contents", COPYBOOK)
        .option("record_format", "VB")
        .load(path)
    )
    assert few.columns == ["ID"]
    assert few.count() == 1000
    spark.sql(
        f"CREATE TEMPORARY VIEW v USING qsam OPTIONS (path '{path}', copybook_contents '{COPYBOOK}', record_format 'VB')"
    )
    assert spark.sql("SELECT max(ID) FROM v").first()[0] == 999
    spark.catalog.dropTempView("v")


def test_one_dataframe_may_be_filtered_again_and_again(spark, path):
    frame = read(spark, path)
    assert [frame.filter("KIND = 'C'").count(), frame.count(), frame.filter("ID < 10").count(), frame.count()] == [
        500,
        1000,
        10,
        1000,
    ]


def test_filters_are_pushed_when_asked(spark, path):
    assert read(spark, path, push_filters=True).filter("KIND = 'C' AND ID >= 990").count() == 5


def test_written_and_read_back(spark, path, tmp_path):
    target = tmp_path / "out"
    frame = read(spark, path)
    frame.write.format("qsam").options(copybook_contents=COPYBOOK, record_format="FB").mode("overwrite").save(
        str(target)
    )
    data = target.read_bytes()
    assert (len(data), data[:15]) == (15 * 1000, record(0)[:13] + b"\x00" + record(0)[-1:])
    raw = spark.read.format("qsam").options(record_format="VB").load(path).repartitionByRange(3, "Record_Bytes")
    raw.write.format("qsam").options(record_format="VB").mode("append").save(str(tmp_path / "raw"))
    assert spark.read.format("qsam").options(record_format="VB").load(str(tmp_path / "raw")).count() == 1000
    frame.limit(3).write.format("qsam").options(copybook_contents=COPYBOOK, record_format="V", output="directory").mode(
        "append"
    ).save(str(tmp_path / "dir"))
    assert read(spark, str(tmp_path / "dir"), record_format="V").count() == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"copybok": "x"}, "option copybok is not known"),
        ({"mode": "failfast", "record_format": "F"}, "record 1, record at offset 0: field ID"),
        ({"data_paths": "/none/there"}, "no such file"),
    ],
)
def test_errors_reach_the_user_in_words(spark, path, options, words):
    with pytest.raises(Exception, match=words):
        read(spark, path, **options).collect()


def test_tasks_give_their_rows_in_the_order_of_the_items(spark):
    schema = pa.schema([("n", pa.int64()), ("name", pa.string())])
    found = run_tasks(spark, [3, 1, 2], lambda item: [{"n": item * 10, "name": str(i)} for i in range(item)], schema)
    assert [row["n"] for row in found] == [30, 30, 30, 10, 20, 20]
    assert run_tasks(spark, [], lambda _: [], schema) == []


def test_an_existing_session_is_taken_as_it_is(spark):
    assert session(spark) is spark


def test_local_settings_are_loopback_and_quiet(spark):
    from tdqsim.pipeline.java import find_java

    settings = local_settings(find_java())
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


ALONE = """
import sys
from tdqsim.pipeline.session import session
spark = session({how})
frame = spark.read.format("qsam").options(copybook_contents={copybook!r}, record_format="VB").load({path!r})
print("found", frame.filter("KIND = 'C'").count(), frame.count())
"""


def run_alone(path, how, **environ):
    code = ALONE.format(how=how, copybook=COPYBOOK, path=path)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAVA_HOME", "SPARK_", "PYSPARK_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=kept | environ, timeout=300
    )
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr


@pytest.mark.slow
def test_without_java_on_the_machine(path, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "rm", "chmod", "ps", "dirname", "env", "sh", "uname"):
        for folder in ("/bin", "/usr/bin"):
            if (Path(folder) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(folder) / name)
    assert run_alone(path, "", PATH=str(tools), TDQ_CACHE=str(tmp_path / "cache")) == "found 500 1000"


@contextmanager
def processes():
    """Starts processes of Spark's own, and ends just these."""
    import pyspark

    from tdqsim.pipeline.java import find_java

    home, started = Path(pyspark.__file__).parent, []

    def start(*arguments):
        environ = {
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.2)
    raise AssertionError(f"nothing listens on port {port}")


@pytest.mark.slow
def test_on_a_connect_server_in_this_process(path):
    assert run_alone(path, 'remote="local[2]"') == "found 500 1000"


@pytest.mark.slow
def test_on_a_connect_server(path):
    port = free_port()
    with processes() as start:
        start("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--conf", f"spark.connect.grpc.binding.port={port}",
              "--conf", "spark.ui.enabled=false", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")  # fmt: skip
        wait_for(port)
        assert run_alone(path, f'remote="sc://127.0.0.1:{port}"') == "found 500 1000"


@pytest.mark.slow
def test_on_a_standalone_master_with_two_workers(path):
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
        for _ in range(2):
            start(
                "org.apache.spark.deploy.worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--host",
                "127.0.0.1",
                f"spark://127.0.0.1:{port}",
            )
        how = f'master="spark://127.0.0.1:{port}", config={{"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}}'
        assert run_alone(path, how) == "found 500 1000"


@pytest.mark.slow
def test_on_a_cluster_of_two_executors(path):
    assert run_alone(path, 'master="local-cluster[2,1,1024]"') == "found 500 1000"
