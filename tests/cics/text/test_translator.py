from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.cics import COMMANDS, TranslationError
from tdqsim.cics.files import DataFile
from tdqsim.cics.kernel.abstime import unpack_abstime
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp
from tests.cics.spi.helpers import region
from tests.rules import expect_rule


@pytest.fixture
def reg(tmp_path):
    with region(tmp_path) as made:
        yield made


@pytest.fixture
def task(reg):
    with reg.task() as made:
        yield made


def test_write_and_read_back(task):
    host = {"WS-REC": b"hello", "ws_len": 5}
    task.execute("EXEC CICS WRITEQ TD QUEUE('PAYQ') FROM(WS-REC) LENGTH(WS-LEN) END-EXEC", host)
    task.execute("WRITEQ TD QUEUE('PAYQ') FROM(X'C1C2')")
    task.execute("WRITEQ TD QUEUE('PAYQ') FROM('AB')")
    received = task.execute("READQ TD QUEUE('PAYQ') INTO(OUT) LENGTH(L)", host)
    assert (host["OUT"], host["L"], received) == (b"hello", 5, {"INTO": b"hello", "LENGTH": 5})
    task.execute("READQ TD QUEUE('PAYQ') SET(ADDRESS OF REC) LENGTH(L)", host)
    assert (host["REC"], host["L"]) == (b"\xc1\xc2", 2)
    assert task.execute("READQ TD QUEUE('PAYQ') INTO(OUT)", host)["INTO"] == b"\xc1\xc2"


@pytest.mark.rule("EXEC-AREA-FILLED", "EXEC-LENGTH-DEFAULT")
def test_a_bytearray_is_an_area_of_fixed_length(task):
    for record in (b"12345678", b"abc", b"1234567890"):
        task.writeq_td("PAYQ", record)
    area = bytearray(b"........")
    host = {"REC": area, "LEN": None}
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN)", host)
    assert (area, host["LEN"]) == (b"12345678", 8)
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC)", host)
    assert area == b"abc45678"
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)", host)
    assert (area, host["R"]) == (b"12345678", int(Resp.LENGERR))


@pytest.mark.parametrize("area", [bytes, bytearray])
def test_a_browse_goes_where_the_key_in_the_area_says(reg, task, area):
    data = DataFile(keylength=2, recordsize=20)
    for key in (b"A1", b"B1", b"C1"):
        data.put(key, key + b" record")
    reg.files.define("ACCT", data)
    host = {"K": area(b"A1")}
    task.execute("STARTBR FILE('ACCT') RIDFLD(K)", host)
    task.execute("READNEXT FILE('ACCT') INTO(R) RIDFLD(K)", host)
    host["K"] = area(b"C1")
    task.execute("READNEXT FILE('ACCT') INTO(R) RIDFLD(K)", host)
    assert host["R"] == b"C1 record"


@pytest.mark.rule("EXEC-LENGTH-SET")
@pytest.mark.parametrize("before", [None, 0, -1, 2, 100])
def test_with_set_the_length_is_received_only(task, before):
    task.writeq_td("PAYQ", b"record")
    host = {"P": None, "L": before}
    task.execute("READQ TD QUEUE('PAYQ') SET(P) LENGTH(L)", host)
    assert host == {"P": b"record", "L": 6}


@pytest.mark.rule("EXEC-AREA-FILLED")
@pytest.mark.parametrize(
    ("area", "resp", "after"),
    [("000A", 0, "0005"), ("0003", 22, "0005"), ("0000000A", 22, "0005000A"), ("00030000", 22, "00050000")],
)
def test_a_length_that_is_an_area_is_its_first_halfword_on_the_way_in_too(task, area, resp, after):
    task.writeq_td("PAYQ", b"short")
    host = {"LEN": bytearray.fromhex(area), "R": 99}
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R)", host)
    assert (host["R"], host["LEN"].hex().upper()) == (resp, after)


@pytest.mark.rule("EXEC-RESP")
def test_resp_and_resp2_instead_of_a_condition(task):
    host = {"REC": b"before", "LEN": 10}
    assert task.execute("READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R) RESP2(R2)", host) == {}
    assert host == {"REC": b"before", "LEN": 10, "R": int(Resp.QZERO), "R2": 0}
    task.execute("INQUIRE TDQUEUE('NOQ') NUMITEMS(N) RESP(R) RESP2(R2)", host)
    assert (host["R"], host["R2"], "N" in host) == (int(Resp.QIDERR), 1, False)
    task.execute("DELETEQ TD QUEUE('NOQ') NOHANDLE", host)
    assert task.eib.eibresp is Resp.QIDERR
    task.execute("DELETEQ TD QUEUE('PAYQ') RESP(R)", host)
    assert host["R"] == 0


def test_inquire_into_values_and_areas(task):
    host = {"T": bytearray(4), "D": bytearray(8), "W": bytearray(b"??????????"), "Q": "PAYQ"}
    task.execute("INQUIRE TDQUEUE(Q) TYPE(T) NUMITEMS(N) ATITRANID(W) DEFINETIME(D) ENABLESTATUS(E) ATIUSERID(U)", host)
    info = task.inquire_tdqueue("PAYQ")
    assert int.from_bytes(host["T"], "big") == Cvda.INTRA == 222
    assert (host["N"], host["E"], host["U"]) == (0, Cvda.ENABLED, "CICSUSER")
    assert host["W"] == "PAYP".encode("cp037") + b"??????"
    assert unpack_abstime(bytes(host["D"])) == info.definetime


@pytest.mark.rule("EXEC-BEYOND-AREA")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("READQ TD QUEUE('PAYQ') INTO(A) LENGTH(L)", "A has 4 bytes and may receive 9"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(A) LENGTH(L)", "LENGTH 9 is more than the 4 bytes of FROM"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('ABC') LENGTH(4)", "LENGTH 4 is more than the 3 bytes of FROM"),
        ("CREATE TDQUEUE('NEWQ') ATTRIBUTES('TYPE(INTRA)') ATTRLEN(12)", "ATTRLEN 12 is more than the 11"),
        ("WRITE OPERATOR TEXT('ABC') TEXTLENGTH(4)", "TEXTLENGTH 4 is more than the 3"),
        ("WRITE OPERATOR TEXT(A) TEXTLENGTH(L)", "TEXTLENGTH 9 is more than the 4"),
        ("BIF DEEDIT FIELD(A) LENGTH(L)", "LENGTH 9 is more than the 4 bytes of FIELD"),
        ("INQUIRE TDQUEUE('PAYQ') ATIUSERID(A)", "A has 4 bytes and may receive 8"),
        ("INQUIRE TDQUEUE('PAYQ') NUMITEMS(A(1:2))", "A\\(1:2\\) has 2 bytes and may receive 4"),
    ],
)
def test_what_would_go_beyond_an_area_is_refused_before(task, text, words):
    task.writeq_td("PAYQ", b"123456789")
    with pytest.raises(TdqError, match=words):
        task.execute(text, {"A": bytearray(4), "L": 9})
    assert task.inquire_tdqueue("PAYQ").numitems == 1
    assert not task.region.diagnostics.operator
    assert "NEWQ" not in task.region.tdqueues


@pytest.mark.rule("EXEC-BEYOND-AREA")
def test_the_whole_of_an_area_that_ends_with_blanks_is_not_beyond_it(task):
    host = {"A": bytearray("TYPE(INTRA)         ".encode("cp037")), "F": bytearray("1A2   ".encode("cp037"))}
    task.execute("CREATE TDQUEUE('NEWQ') ATTRIBUTES(A) ATTRLEN(LENGTH OF A)", host)
    task.execute("WRITE OPERATOR TEXT(A) TEXTLENGTH(LENGTH OF A)", host)
    task.execute("BIF DEEDIT FIELD(F) LENGTH(LENGTH OF F)", host)
    assert task.region.diagnostics.operator[-1] == "TYPE(INTRA)"
    assert bytes(host["F"]).decode("cp037") == "000012"


@pytest.mark.rule("EXEC-NAME-CUT")
def test_a_name_longer_than_its_field_is_cut(task):
    task.execute("WRITEQ TD QUEUE('PAYQUEUE') FROM('A')")
    task.execute("WRITEQ TD QUEUE(Q) FROM('A')", {"Q": b"\xd7\xc1\xe8\xd8\x40\x40"})
    assert task.inquire_tdqueue("PAYQ").numitems == 2


def test_groups_tables_and_parts(task):
    host = {
        "CARD": {"NUMBER": b"4711", "LINES": [b"one", bytearray(b"xxxxx")]},
        "I": 2,
        "AREA": bytearray(b".........."),
    }
    task.execute("WRITEQ TD QUEUE('PAYQ') FROM(NUMBER OF CARD)", host)
    task.execute("WRITEQ TD QUEUE('PAYQ') FROM(LINES IN CARD(1))", host)
    task.execute("WRITEQ TD QUEUE('PAYQ') FROM(NUMBER OF CARD(2:2))", host)
    task.execute("READQ TD QUEUE('PAYQ') INTO(AREA(3:4)) ", host)
    assert host["AREA"] == b"..4711...."
    task.execute("READQ TD QUEUE('PAYQ') INTO(LINES OF CARD(I))", host)
    assert host["CARD"]["LINES"][1] == b"onexx"
    task.execute("READQ TD QUEUE('PAYQ') INTO(NUMBER OF CARD)", host)
    assert host["CARD"]["NUMBER"] == b"71"


@pytest.mark.rule("EXEC-HANDLE")
def test_handle_and_ignore_condition_as_text(task):
    met = []
    task.execute("HANDLE CONDITION QZERO(AT-END) ERROR(FAILED)", {"at_end": met.append, "failed": met.append})
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC)")
    task.execute("READQ TD QUEUE('NOQ') INTO(REC)")
    assert [condition.resp for condition in met] == [Resp.QZERO, Resp.QIDERR]
    task.execute("HANDLE CONDITION QZERO ERROR")
    task.execute("IGNORE CONDITION QZERO QIDERR")
    task.execute("READQ TD QUEUE('PAYQ') INTO(REC)")
    task.execute("READQ TD QUEUE('NOQ') INTO(REC)")
    assert len(met) == 2


def test_assign_as_text(task):
    host = {"S": bytearray(4)}
    task.execute("ASSIGN USERID(U) SYSID(S) STARTCODE(C)", host)
    assert (host["U"].rstrip(), host["S"], host["C"].rstrip()) == ("CICSUSER", "TDQ1".encode("cp037"), "U")
    task.execute("ASSIGN APPLID(A)", host)
    assert host["A"].rstrip() == "TDQREGN"
    task.execute("ASSIGN QNAME(Q) RESP(R)", host)
    assert (host["R"], "Q" in host) == (int(Resp.INVREQ), False)


@pytest.mark.rule("FORMATTIME-DEFAULT-SEPARATORS")
def test_formattime_as_text(task):
    host = {"T": bytearray(8), "D": bytearray(10)}
    task.execute("ASKTIME ABSTIME(T)", host)
    task.execute("FORMATTIME ABSTIME(T) YYYYMMDD(D) DATESEP('-') TIME(X) TIMESEP", host)
    now = task.formattime(unpack_abstime(bytes(host["T"])), datesep="-", timesep=":")
    assert (host["D"].decode("cp037"), host["X"]) == (now.yyyymmdd, now.time)
    host = {"A": 2837962864820}
    task.execute("FORMATTIME ABSTIME(A) DDMMYY(X) DATESEP YEAR(Y) DAYOFWEEK(W)", host)
    assert (host["X"], host["Y"], host["W"]) == ("06/12/89", 1989, 3)
    with pytest.raises(TranslationError, match=r"not (an|the) ABSTIME"):
        task.execute("FORMATTIME ABSTIME(A) YEAR(Y)", {"A": bytes(8)})


@pytest.mark.rule("FORMATTIME-INVREQ")
def test_what_is_no_abstime(task):
    expect_rule("FORMATTIME-INVREQ", task.formattime, -1)


@pytest.mark.parametrize("length", ["LENGTH(WORD)", "LENGTH(99999)"])
def test_an_error_names_its_option_once(reg, length):
    with pytest.raises(TdqError) as caught:
        reg.execute(f"WRITEQ TD QUEUE('PAYQ') FROM('A') {length}", {"WORD": "x"})
    assert str(caught.value).count("LENGTH") == 1
    assert str(caught.value).startswith("column ")


@pytest.mark.rule("EXEC-REFUSED-BEFORE")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FROBNICATE TD", "FROBNICATE is not a command"),
        ("GETMAIN SET(P) FLENGTH(9)", "GETMAIN is not a command; CICS has it, and here only COBOL programs may"),
        ("INQUIRE SYSDUMPCODE('PAY1')", "has these options: INQUIRE SYSDUMPCODE is not simulated; there are INQUIRE"),
        ("SET SYSDUMPCODE('PAY1')", "has these options: SET SYSDUMPCODE is not simulated; there are SET"),
        ("READQ TD QUEUE('PAYQ')", "either INTO or SET"),
        ("READQ TD QUEUE('PAYQ') INTO(A) SET(B)", "either INTO or SET"),
        ("READQ TD INTO(A)", "needs QUEUE"),
        ("WRITEQ TD QUEUE('PAYQ')", "needs FROM"),
        (
            "WRITEQ TD QUEUE('PAYQ') FROM(A) INTO(B)",
            "INTO is not an option of WRITEQ TD; allowed are FROM, LENGTH, QUEUE, SYSID",
        ),
        (
            "RETURN VALUE(A)",
            "VALUE is not an option of RETURN; allowed are CHANNEL, COMMAREA, IMMEDIATE, LENGTH, TRANSID,",
        ),
        ("WRITEQ TD QUEUE('PAYQ') FROM(NOWHERE)", "no host variable NOWHERE"),
        ("WRITEQ TD QUEUE(PAYQ) FROM('A')", "no host variable PAYQ"),
        ("WRITEQ TD QUEUE('PAYQ') QUEUE('PAYQ') FROM('A')", "given twice"),
        ("WRITEQ TD QUEUE('PAYQ') FROM", "needs an argument"),
        ("INQUIRE TDQUEUE NEXT TYPE(NUM)", "TDQUEUE needs an argument"),
        ("ASKTIME ABSTIME", "ABSTIME needs an argument"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(NUM)", "FROM must be bytes or text, not int"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(DEC)", "FROM must be bytes or text, not Decimal"),
        ("WRITEQ TD QUEUE(5) FROM('A')", "QUEUE must be text, not int"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('A') LENGTH(99999)", "LENGTH must be from -32768 to 32767"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('A') LENGTH('5')", "whole number"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('A') LENGTH(2)", "^column 42: LENGTH 2 is more than the 1 bytes of FROM"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('A') RESP(5)", "RESP needs the name"),
        ("WRITEQ TD QUEUE('PAYQ') FROM('A') NOHANDLE(5)", "takes no argument"),
        ("READQ TD QUEUE('PAYQ') INTO(A) NOSUSPEND(5)", "takes no argument"),
        ("READQ TD QUEUE('PAYQ') INTO('A')", "must name a host variable"),
        (
            "SET TDQUEUE('PAYQ') DISABLED ENABLESTATUS(CV)",
            "^column 30: ENABLESTATUS and DISABLED both give ENABLESTATUS",
        ),
        ("SET TDQUEUE('PAYQ') ENABLED DISABLED", "^column 29: DISABLED and ENABLED both give ENABLESTATUS; give one$"),
        ("SET TDQUEUE('PAYQ') DISABLED(5)", "takes no argument"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(TAB(3))", "not in 1 to 2"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(NUM(1))", "not a table"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(BYTES(3:9))", "not all in 1 to 5"),
        ("WRITEQ TD QUEUE('PAYQ') FROM(BYTES OF NUM)", "that is a group"),
        ("HANDLE CONDITION QZERO(NUM)", "holds a callable"),
        ("HANDLE CONDITION NONSENSE", "not an option"),
        ("HANDLE CONDITION QZERO(NOLABEL)", r"^column 24: QZERO\(NOLABEL\) needs a label that a function stands for"),
        ("HANDLE CONDITION", "^column 1: HANDLE CONDITION needs names of conditions$"),
        ("IGNORE CONDITION RESP(NUM)", "^column 1: IGNORE CONDITION needs names of conditions$"),
        ("HANDLE AID", "^column 1: HANDLE AID needs names of keys$"),
        ("IGNORE CONDITION QZERO(NUM)", "^column 24: QZERO takes no argument$"),
    ],
)
def test_text_that_cannot_be_translated_is_refused_and_nothing_executed(task, text, words):
    host = {"NUM": 5, "DEC": Decimal(1), "TAB": [b"a", b"b"], "BYTES": b"12345", "CV": 23, "A": b"x"}
    before = dict(host)
    with pytest.raises(TranslationError, match=words) as caught:
        task.execute(text, host)
    assert 1 <= caught.value.column <= len(text) + 1
    assert host == before
    assert task.inquire_tdqueue("PAYQ", "NUMITEMS", "ENABLESTATUS").as_dict() == {
        "NUMITEMS": 0, "ENABLESTATUS": Cvda.ENABLED,
    }  # fmt: skip


def test_a_receiver_too_short_for_its_value_is_named(task):
    with pytest.raises(TranslationError, match="DDNAME: D has 4 bytes and may receive 8"):
        task.execute("INQUIRE TDQUEUE('EXTO') DDNAME(D)", {"D": bytearray(4)})


@pytest.mark.rule("EXEC-DECLARED")
def test_the_words_and_kinds_of_options():
    for command in COMMANDS.values():
        for option in command.options:
            assert option.word == option.word.upper()
            assert option.kind in (
                "name", "data", "storage", "halfword", "fullword", "flag", "cvda", "pointer", "label", "abstime", "value",
            )  # fmt: skip


WORDS = [
    "READQ",
    "WRITEQ",
    "DELETEQ",
    "INQUIRE",
    "SET",
    "TD",
    "TDQUEUE",
    "QUEUE('PAYQ')",
    "QUEUE(Q)",
    "INTO(R)",
    "FROM(R)",
]
WORDS += [
    "LENGTH(L)",
    "LENGTH(LENGTH OF R)",
    "NOSUSPEND",
    "RESP(X)",
    "RESP2(Y)",
    "NOHANDLE",
    "NUMITEMS(N)",
    "TYPE(T)",
    "START",
]
WORDS += [
    "NEXT",
    "END",
    "DISABLED",
    "ENABLED",
    "TRIGGERLEVEL(5)",
    "SYSID('CICB')",
    "SYNCPOINT",
    "ROLLBACK",
    "SET(P)",
    "(",
    ")",
    "'",
]
WORDS += [
    "ASSIGN",
    "EXTRACT",
    "STATISTICS",
    "RESID('PAYQ')",
    "OPENSTATUS(L)",
    "ATITRANID(Q)",
    "CREATE",
    "ATTRIBUTES(Q)",
    "ENQ",
]


@settings(
    max_examples=2 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))
def test_any_words_are_a_command_or_refused_with_our_own_errors(reg, text):
    with suppress(TdqError), reg.task() as task:
        task.execute(text, {"Q": "PAYQ", "R": bytearray(10), "L": 5})


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("READQ TS QUEUE('Q') INTO(A) ITEM(1) NEXT", "ITEM", "NEXT"),
        ("START TRANSID('T') INTERVAL(1) TIME(2)", "INTERVAL", "TIME"),
        ("START TRANSID('T') INTERVAL(1) AFTER SECONDS(2) HOURS(1)", "INTERVAL", "HOURS"),
        ("START TRANSID('T') FROM(A) CHANNEL('C')", "FROM", "CHANNEL"),
        ("DELAY INTERVAL(1) FOR MINUTES(2)", "INTERVAL", "MINUTES"),
        ("READ FILE('F') RIDFLD(A) INTO(A) EQUAL GTEQ", "EQUAL", "GTEQ"),
        ("DELETE FILE('F') RIDFLD(A) TOKEN(A)", "RIDFLD", "TOKEN"),
        ("RETURN TRANSID('T') COMMAREA(A) CHANNEL('C')", "COMMAREA", "CHANNEL"),
        ("ENQ RESOURCE(A) UOW TASK", "UOW", "TASK"),
        ("EXTRACT STATISTICS FILE PROGRAM RESID('F') SET(A)", "FILE", "PROGRAM"),
    ],
)
def test_options_that_exclude_each_other(task, text, first, second):
    with pytest.raises(TranslationError, match=f"{first} and {second} exclude each other"):
        task.execute(text, {"A": bytearray(4)})
