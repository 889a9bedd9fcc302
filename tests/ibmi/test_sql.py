"""SQL statements around the data queue services of QSYS2."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from tdqsim.ibmi import System
from tdqsim.ibmi.sql_text import SqlError
from tests.rules import expect_rule


@pytest.fixture
def system():
    with System() as made:
        with made.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/FIFOQ", maxlen=100, senderid="*YES")
            job.crtdtaq("QGPL/K", maxlen=100, seq="*KEYED", keylen=3)
        yield made


@pytest.fixture
def job(system):
    with system.job(user="QSECOFR") as made:
        yield made


def sent(job, *texts, queue="FIFOQ"):
    for one in texts:
        job.qsnddtaq(queue, "QGPL", one.encode("cp037"))


def values(job, text, *parameters):
    return job.sql(text, *parameters).rows


CALLS = [
    "CALL QSYS2.SEND_DATA_QUEUE(MESSAGE_DATA => 'hello', DATA_QUEUE => 'FIFOQ', DATA_QUEUE_LIBRARY => 'QGPL')",
    "call qsys2.send_data_queue('hello', 'FIFOQ', 'QGPL');",
    "call qsys2.send_data_queue(data_queue_library => 'QGPL', data_queue => 'FIFOQ', message_data => 'hel' || 'lo')",
    "-- a comment\nCALL QSYS2.SEND_DATA_QUEUE_BINARY(BX'8885939396', 'FIFOQ' /* here */, 'QGPL')",
    "CALL QSYS2.SEND_DATA_QUEUE(X'8885939396', 'FIFOQ')",
    "CALL SEND_DATA_QUEUE('hello', 'FIFOQ', '*LIBL', NULL, 'NO')",
]


@pytest.mark.parametrize("text", CALLS)
def test_call_of_a_send_in_each_form(job, text):
    assert job.sql(text) == (None, (), 0)
    assert values(job, "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL')) AS X") == (
        ("hello",),
    )


def test_parameter_markers(job):
    job.sql("CALL QSYS2.SEND_DATA_QUEUE(?, ?, ?)", "one", "FIFOQ", "QGPL")
    job.sql("CALL QSYS2.SEND_DATA_QUEUE_BINARY(?, CAST(? AS VARCHAR(10)), 'QGPL')", "E2C1", "FIFOQ")
    text = "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE(DATA_QUEUE => ?, WAIT_TIME => ?)) X"
    assert values(job, text, "FIFOQ", "0") == (("one",),)
    assert values(job, text, "FIFOQ", 0) == (("SA",),)
    with pytest.raises(SqlError) as refused:
        job.sql(text, "FIFOQ")
    assert (refused.value.code, refused.value.state) == (-313, "07001")


def test_columns_of_a_receive_and_their_types(job):
    sent(job, "abc")
    result = job.sql("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL'))")
    assert [(one.name, one.type) for one in result.columns] == [
        ("MESSAGE_DATA", "CLOB"), ("MESSAGE_DATA_UTF8", "CLOB"), ("MESSAGE_DATA_BINARY", "BLOB"),
        ("KEY_DATA", "VARCHAR"), ("SENDER_JOB_NAME", "VARCHAR"), ("SENDER_CURRENT_USER", "VARCHAR"),
    ]  # fmt: skip
    (row,) = result.rows
    assert (row[0], row[2], row[3], row[5]) == ("abc", b"\x81\x82\x83", None, "QSECOFR")
    assert result.update_count == -1
    assert values(job, "SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL'))") == ()


def test_text_keys(job):
    for key in ("030", "010", "020"):
        job.sql("CALL QSYS2.SEND_DATA_QUEUE(?, 'K', 'QGPL', KEY_DATA => ?)", f"data {key}", key)
    job.sql("CALL QSYS2.SEND_DATA_QUEUE('padded', 'K', 'QGPL', lpad(3, 3, 0))")
    text = (
        "SELECT KEY_DATA, CAST(MESSAGE_DATA AS CHAR(10)) FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE"
        "('K', 'QGPL', KEY_DATA => '020', KEY_ORDER => 'GE'))"
    )
    assert values(job, text) == (("020", "data 020  "),)
    entries = "SELECT KEY_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('K', 'QGPL', 'KEY', '010', 'NE'))"
    assert values(job, entries) == (("003",), ("030",))
    with pytest.raises(SqlError, match="CPF9506") as refused:
        job.sql("CALL QSYS2.SEND_DATA_QUEUE('x', 'K', 'QGPL', '1')")
    assert (refused.value.code, refused.value.state) == (-443, "38501")


def test_entries_with_order_and_fetch(job):
    sent(job, *"abcde")
    assert values(
        job,
        "SELECT ORDINAL_POSITION, MESSAGE_DATA M FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FIFOQ', DATA_QUEUE_LIBRARY => 'QGPL'))"
        " AS A WHERE A.ORDINAL_POSITION BETWEEN 2 AND 4 AND MESSAGE_DATA <> 'c' ORDER BY ORDINAL_POSITION DESC"
        " FETCH FIRST 5 ROWS ONLY",
    ) == ((4, "d"), (2, "b"))
    assert values(job, "SELECT COUNT(*) FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FIFOQ', 'QGPL')) X") == ((5,),)
    job.sql("CALL QSYS2.CLEAR_DATA_QUEUE('FIFOQ', 'QGPL');")
    assert values(job, "SELECT COUNT(*) FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FIFOQ', 'QGPL')) X") == ((0,),)


def test_info_view_with_short_names(job):
    sent(job, "a", "b")
    for view in ("QSYS2.DATA_QUEUE_INFO", "qsys2.dtaq_info"):
        assert values(
            job, f"select DTAQ, cur_msgs from {view} where DATA_QUEUE_LIBRARY = 'QGPL' and dtaq like 'FIFO%'"
        ) == (("FIFOQ", 2),)
    result = job.sql("SELECT * FROM QSYS2.DATA_QUEUE_INFO ORDER BY CURRENT_MESSAGES DESC FETCH FIRST ROW ONLY")
    assert len(result.columns) == 25
    assert result.rows[0][:5] == ("QGPL", "FIFOQ", "STANDARD", 100, "FIFO")


def test_set_schema_stays_with_the_job_until_it_is_set_again(job):
    other = job.system.job("OTHER")
    for schema, current in (("APPLIB", "APPLIB"), ("DEFAULT", "*LIBL")):
        job.sql(f"SET SCHEMA {schema}")
        assert values(job, "VALUES CURRENT SCHEMA") == ((current,),)
        assert values(other, "VALUES CURRENT SCHEMA") == (("*LIBL",),)


PENDING = (
    "select count(*) as thecount from qsys2.db_transaction_info where JOB_NAME = qsys2.job_name"
    " and (local_record_changes_pending = 'YES' or local_object_changes_pending = 'YES')"
)
EXPRESSIONS = [
    ("VALUES 1", 1), ("VALUES CURRENT SCHEMA", "*LIBL"), ("SELECT CURRENT SERVER FROM SYSIBM.SYSDUMMY1", "TDQSYS"),
    ("select 'it''s' from sysibm/sysdummy1", "it's"), ("VALUES LPAD(3, 8, 0)", "00000003"), ("VALUES 7 / 2", 3),
    ("VALUES DEC(7, 5, 2) / 2 * 2", Decimal(7)), ("VALUES HEX('AB')", "C1C2"), ("VALUES SUBSTR('hello', 2, 3)", "ell"),
    ("VALUES LENGTH(TRIM('  a b '))", 3), ("VALUES CAST('12' AS INTEGER) + 1", 13), ("VALUES CAST(NULL AS CHAR(3))", None),
    ("VALUES COALESCE(NULL, 'x')", "x"), ("VALUES INTERPRET(BX'12345C' AS DECIMAL(5, 2))", Decimal("123.45")),
    ("VALUES INTERPRET(BX'F1F2F3' AS NUMERIC(3, 0))", 123), ("VALUES INTERPRET(BX'00000102' AS INTEGER)", 258),
    ("VALUES CAST(SUBSTR('AB', 2) AS BINARY(2))", b"\xc2\x00"), ("VALUES UPPER('a') CONCAT LOWER('B')", "Ab"),
    ("VALUES TO_CHAR(CAST('2026-01-31 12:00:01' AS TIMESTAMP), 'DD.MM.YYYY HH24:MI')", "31.01.2026 12:00"),
    ("VALUES CAST('2026-01-31' AS TIMESTAMP)", datetime.fromisoformat("2026-01-31")),
    ("SELECT COUNT(*) FROM QSYS2.SYSVIEWS WHERE TABLE_SCHEMA = 'QSYS2' AND TABLE_NAME = 'DATA_QUEUE_INFO'", 1),
    (PENDING, 0),
    ("VALUES CAST('2026-01-31-12.30.00.5' AS TIMESTAMP)", datetime(2026, 1, 31, 12, 30, 0, 500000)),
    ("VALUES DIGITS(DEC(-1.5, 5, 2))", "00150"), ("VALUES DIGITS(7)", "0000000007"), ("VALUES 2147483648 * 2", 4294967296),
    ("SELECT 1 FROM SYSIBM.SYSDUMMY1 WHERE 'a*[b' LIKE 'a!%[_' ESCAPE '!' OR 'a%[b' LIKE 'a!%[_' ESCAPE '!'", 1),
    ("SELECT 1 FROM SYSIBM.SYSDUMMY1 WHERE CURRENT TIMESTAMP > '2020-01-31-00.00.00'", 1),
    ("VALUES QSYS2.QCMDEXC('CRTLIB LIB(NEWLIB)')", 1), ("VALUES QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE)')", -1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), EXPRESSIONS)
def test_value_of_an_expression(job, text, value):
    assert values(job, text) == ((value,),)


REFUSED = [
    ("select 1", -104, "42601", "END-OF-STATEMENT"),
    ("SELEC * FROM X", -104, "42601", "SELEC"),
    ("VALUES 1; VALUES 2", -104, "42601", "VALUES"),
    ("CALL QSYS2.SEND_DATA_QUEUE(DATA_QUEUE => 'FIFOQ', 'x')", -104, "42601", "'x'"),
    ("VALUES 'open", -104, "42601", "'open"),
    ("SELECT NOPE FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL'))", -206, "42703", "NOPE"),
    ("SELECT Y.MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL')) X", -206, "42703", "Y.MESSAGE_DATA"),
    ("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', REMOVE_MESSAGE => 'YES'))", -440, "42884", "REMOVE_MESSAGE"),
    ("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE())", -440, "42884", "DATA_QUEUE is missing"),
    ("SELECT * FROM TABLE(QSYS2.DATA_QUEUE_INFO(DATA_QUEUE => 'Q'))", -440, "42884", "view"),
    ("SELECT * FROM QSYS2.RECEIVE_DATA_QUEUE", -204, "42704", "table function"),
    ("SELECT * FROM MYLIB.ORDERS", -204, "42704", "ORDERS"),
    ("CALL MYLIB.PROC(1)", -204, "42704", "PROC"),
    ("VALUES SOUNDEX('x')", -204, "42704", "LPAD"),
    ("CREATE TRIGGER T AFTER INSERT ON X BEGIN END", -84, "42612", "SEND_DATA_QUEUE"),
    ("INSERT INTO X SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL'))", -84, "42612", "INSERT"),
    ("SELECT * FROM QSYS2.DATA_QUEUE_INFO A JOIN X ON 1 = 1", -84, "42612", "JOIN"),
    ("SELECT DISTINCT DTAQ FROM QSYS2.DATA_QUEUE_INFO", -84, "42612", "DISTINCT"),
    ("SELECT * FROM QSYS2.DATA_QUEUE_INFO GROUP BY DTAQ", -84, "42612", "GROUP"),
    ("SELECT COUNT(*), DTAQ FROM QSYS2.DATA_QUEUE_INFO", -122, "42803", "COUNT"),
    ("VALUES " + "(" * 60 + "1" + ")" * 60, -101, "54001", "complex"),
    ("VALUES " + "1+" * 5000 + "1", -101, "54001", "complex"),
    ("CALL QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE)')", -443, "38501", "[CPF2105]"),
    ("CALL QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE) and more', 23.00000)", -443, "38501", "[CPF2105]"),
    ("CALL QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE)', 0)", -443, "38501", "COMMAND_LENGTH is 0; allowed are numbers from 1"),
    ("CALL QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE)', 'x')", -420, "22018", "number"),
    ("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('NONE', 'QGPL'))", -443, "38501", "[CPF9801]"),
    ("SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL', 'MAYBE'))", -443, "38501", "MAYBE"),
    ("VALUES CAST('x' AS INTEGER)", -420, "22018", "number"),
    ("VALUES 1 / 0", -802, "22012", "division"),
    ("VALUES 2147483647 * 2", -802, "22003", "too many digits"),
    ("VALUES CAST(2147483648 AS INTEGER)", -406, "22003", "too many digits"),
    ("VALUES " + "9" * 5000, -405, "42820", "out of range"),
    ("VALUES DEC(7, 5, 200)", -604, "42611", "DECIMAL(5, 200)"),
    ("VALUES CAST('x' AS CHAR(999999999))", -604, "42611", "CHAR(999999999)"),
    ("VALUES CAST('2026-01-31T00:00:00+01:00' AS TIMESTAMP)", -180, "22007", "timestamp"),
    ("SELECT 1 FROM SYSIBM.SYSDUMMY1 WHERE '' LIKE '" + "%" * 4001 + "'", -132, "42824", "pattern"),
    ("SELECT LENGTH(COUNT(*)) FROM QSYS2.DATA_QUEUE_INFO", -84, "42612", "COUNT(*)"),
    ("SELECT * FROM (SELECT 1 FROM SYSIBM.SYSDUMMY1)", -84, "42612", "a nested table"),
    ("VALUES 1E5", -84, "42612", "floating-point"),
    ("VALUES HEX(5)", -84, "42612", "HEX of a value of type INTEGER"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "state", "word"), REFUSED)
def test_refused_statement_takes_no_entry(job, text, code, state, word):
    sent(job, "stays")
    with pytest.raises(SqlError) as refused:
        job.sql(text)
    assert (refused.value.code, refused.value.state) == (code, state)
    assert word in str(refused.value)
    assert values(job, "SELECT MESSAGE_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FIFOQ', 'QGPL'))") == (("stays",),)


RULES = [
    ("QSYS2-SQL-SYNTAX", "VALUES 1; VALUES 2", -104, "42601"),
    ("QSYS2-SQL-NOT-SERVED", "INSERT INTO X SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL'))", -84, "42612"),
    ("QSYS2-SQL-COLUMN", "SELECT NOPE FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL')) X", -206, "42703"),
    ("QSYS2-SQL-ARGUMENT", "SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', MOVE => 'YES')) X", -440, "42884"),
    ("QSYS2-SQL-ARGUMENT", "CALL QSYS2.SEND_DATA_QUEUE('x')", -440, "42884"),
    ("QSYS2-SQL-OBJECT", "SELECT * FROM MYLIB.ORDERS", -204, "42704"),
    ("QSYS2-SQL-MARKERS", "CALL QSYS2.SEND_DATA_QUEUE(?, 'FIFOQ', 'QGPL')", -313, "07001"),
    ("QSYS2-SQL-MESSAGE", "CALL QSYS2.QCMDEXC('DLTDTAQ DTAQ(QGPL/NONE)')", -443, "38501"),
    ("QSYS2-SQL-BINARY", "CALL QSYS2.SEND_DATA_QUEUE_BINARY('no hex', 'FIFOQ', 'QGPL')", -302, "22023"),
    ("QSYS2-SQL-UNDO", "SELECT INT(MESSAGE_DATA) FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL')) X", -420, "22018"),
    ("QSYS2-SQL-COUNT", "SELECT COUNT(*), DTAQ FROM QSYS2.DATA_QUEUE_INFO", -122, "42803"),
    ("QSYS2-SQL-LIMIT", "VALUES " + "(" * 60 + "1" + ")" * 60, -101, "54001"),
]  # fmt: skip


@pytest.mark.rule(*dict.fromkeys(one[0] for one in RULES))
@pytest.mark.parametrize(("rule_id", "text", "code", "state"), RULES)
def test_rule_of_a_refused_statement_and_the_entry_stays(job, rule_id, text, code, state):
    sent(job, "stays")
    refused = expect_rule(rule_id, job.sql, text)
    assert (refused.code, refused.state) == (code, state)
    assert values(job, "SELECT MESSAGE_DATA FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('FIFOQ', 'QGPL'))") == (("stays",),)


def test_receive_that_waits(system):
    def receive(job):
        return job.sql("SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFOQ', 'QGPL', WAIT_TIME => -1)) X")

    started = system.start(receive, user="QSECOFR")
    system.dispatcher.run_ready()
    with system.job(user="QSECOFR") as job:
        job.sql("CALL QSYS2.SEND_DATA_QUEUE('now', 'FIFOQ', 'QGPL')")
    assert started.result().rows == (("now",),)
