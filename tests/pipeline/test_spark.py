"""What only Spark can show: that the data source is wired right. The rest is tested without it."""

from __future__ import annotations

from decimal import Decimal

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
import pyarrow as pa

from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.pipeline.qsam import register
from tdqsim.pipeline.sessions import local_settings, run_tasks, session

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


def test_segment_ids_in_parts_of_so_many_records(spark, path):
    frame = read(spark, path, segment_field="KIND", segment_id_level0="C", segment_id_level1="P", segment_id_prefix="A", input_split_records=100)  # fmt: skip
    rows = frame.orderBy("ID").select("Seg_Id0", "Seg_Id1").collect()
    assert [tuple(row) for row in rows[698:700]] == [("A_0_698", None), ("A_0_698", "A_0_698_L1_1")]
    assert len({row.Seg_Id0 for row in rows}) == 500


def test_one_dataframe_may_be_filtered_again_and_again(spark, path):
    frame = read(spark, path)
    assert [frame.filter("KIND = 'C'").count(), frame.count(), frame.filter("ID < 10").count(), frame.count()] == [
        500,
        1000,
        10,
        1000,
    ]


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


def test_a_frame_is_divided_by_columns_or_leaves_nothing(spark, path, tmp_path):
    frame = read(spark, path).limit(6)
    options = {"copybook_contents": COPYBOOK, "record_format": "VB"}
    write = frame.write.format("qsam").options(partition_by="KIND", **options).mode("append")
    write.save(str(tmp_path / "tree"))
    kinds = {row["KIND"] for row in frame.collect()}
    assert {each.name for each in (tmp_path / "tree").iterdir()} == {*(f"KIND={kind}" for kind in kinds), "_SUCCESS"}
    assert read(spark, str(tmp_path / "tree"), record_format="VB").count() == 6
    wrong = frame.selectExpr("*").withColumn("ID", frame["ID"] + 100_000).repartition(2)
    with pytest.raises(Exception, match=r"record 1: ID: '100\d\d\d' does not fit; allowed: 5 digits"):
        wrong.write.format("cobol").options(**options).mode("append").save(str(tmp_path / "new" / "out"))
    assert [each.name for each in tmp_path.iterdir() if each.name not in ("tree", path.rpartition("/")[2])] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"copybok": "x"}, "option copybok is not known"),
        (
            {"mode": "failfast", "record_format": "F", "debug_ignore_file_size": "true"},
            "record 1, record at offset 0: field ID",
        ),
        ({"data_paths": "/none/there"}, "path and data_paths exclude each other"),
    ],
)
def test_errors_reach_the_user_in_words(spark, path, options, words):
    with pytest.raises(Exception, match=words):
        read(spark, path, **options).collect()


def test_in_a_session_of_ones_own_the_error_of_a_task_is_not_logged_again(spark):
    log4j = spark._jvm.org.apache.logging.log4j
    names = ["org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager"]
    for name in names:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.WARN)
    register(spark)
    assert [log4j.LogManager.getLogger(name).isFatalEnabled() for name in names] == [False, False]


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
