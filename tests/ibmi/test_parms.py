"""Typed parameters: bytes and values, what does not fit, what may be left out or null."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tdqsim.core.codepage import codepage
from tdqsim.ibmi import EscapeMessage, ParameterError, Parm
from tests.ibmi.conftest import e
from tests.rules import expect_rule

PAGE = codepage(37)
IMAGES = [
    ("CHAR(5)", "Ab", "C182404040"),
    ("VARCHAR(4)", "A b", "0003C14082"),
    ("DATA(3)", b"\x00\xff\x01", "00FF01"),
    ("UCS2(3)", "né", "006E00E90020"),
    ("PACKED(5:0)", -12, "00012D"),
    ("PACKED(5:0)", 99999, "99999F"),
    ("PACKED(7:2)", Decimal("-12345.67"), "1234567D"),
    ("PACKED(4:0)", 1234, "01234F"),
    ("ZONED(4:0)", 123, "F0F1F2F3"),
    ("ZONED(5:2)", Decimal("-1.05"), "F0F0F1F0D5"),
    ("INT(3)", -1, "FF"),
    ("INT(5)", -2, "FFFE"),
    ("INT(10)", 258, "00000102"),
    ("INT(20)", -(2**63), "8000000000000000"),
    ("UNS(10)", 2**32 - 1, "FFFFFFFF"),
    ("FLOAT(8)", -1.5, "BFF8000000000000"),
    ("FLOAT(4)", 0.25, "3E800000"),
    ("IND", True, "F1"),
    ("IND", False, "F0"),
    ("PACKED(63:60)", Decimal("-123." + "4" * 60), "123" + "4" * 60 + "D"),
]


@pytest.mark.parametrize(("kind", "value", "image"), IMAGES)
def test_images(kind, value, image):
    parm = Parm("P", kind)
    assert parm.encode(value, PAGE).hex().upper() == image
    assert parm.length == (6 if kind == "VARCHAR(4)" else len(image) // 2)
    assert parm.decode(bytes.fromhex(image) + b"more", PAGE) == value
    assert type(parm.decode(bytes.fromhex(image), PAGE)) is type(value)


LINE = [Parm("item", "CHAR(3)"), Parm("count", "INT(5)")]
COMPOSED = [
    (Parm("A", "INT(5)", dim=3), [1, -1, 256], "0001FFFF0100"),
    (Parm("A", "PACKED(3:1)", dim=1), [Decimal("1.5")], "015F"),
    (Parm("A", "VARCHAR(2)", dim=2), ["a", ""], "0001810000000000"),
    (Parm("D", "DS", fields=LINE), {"item": "ab", "count": 7}, "8182400007"),
    (
        Parm("D", "ds", dim=2, fields=LINE),
        [{"item": "a", "count": 1}, {"item": "b", "count": 2}],
        "81404000018240400002",
    ),
    (
        Parm(
            "D", "DS", fields=[Parm("flag", "IND"), Parm("lines", "DS", dim=2, fields=LINE), Parm("sum", "ZONED(3:0)")]
        ),
        {"flag": True, "lines": [{"item": "", "count": 0}, {"item": "xyz", "count": -2}], "sum": -5},
        "F14040400000A7A8A9FFFEF0F0D5",
    ),
]


@pytest.mark.parametrize(("parm", "value", "image"), COMPOSED)
def test_data_structures_and_arrays(parm, value, image):
    raw = bytes.fromhex(image)
    assert parm.encode(value, PAGE).hex().upper() == image
    assert parm.length == len(raw)
    assert parm.decode(raw + b"more", PAGE) == value


@pytest.mark.parametrize(
    ("parm", "value", "said"),
    [
        (Parm("A", "INT(5)", dim=2), [1], "2 values"), (Parm("A", "INT(5)", dim=2), [1, 2, 3], "2 values"),
        (Parm("A", "CHAR(1)", dim=2), "ab", "2 values"), (Parm("A", "INT(5)", dim=2), 5, "2 values"),
        (Parm("A", "INT(5)", dim=2), [1, 1 << 20], "does not fit"), (Parm("D", "DS", fields=LINE), {"item": "a"}, "item, count"),
        (Parm("D", "DS", fields=LINE), {"item": "a", "count": 1, "more": 2}, "item, count"),
        (Parm("D", "DS", fields=LINE), ("a", 1), "item, count"), (Parm("D", "DS", fields=LINE), {"item": "abcd", "count": 1}, "item: "),
    ],
)  # fmt: skip
def test_composed_values_that_do_not_fit(parm, value, said):
    with pytest.raises(ParameterError, match=said):
        parm.encode(value, PAGE)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"type": "DS"}, "a DS needs subfields"), ({"type": "DS", "fields": [LINE[0], LINE[0]]}, "different names"),
        ({"type": "INT(5)", "fields": LINE}, "only a DS has subfields"), ({"type": "INT(5)", "dim": 0}, "dim 0"),
        ({"type": "DS", "fields": [Parm("a", "IND", use="out")]}, "passed as its DS"),
        ({"type": "DS", "fields": [Parm("a", "IND", optional=True)]}, "passed as its DS"),
        ({"type": "CHAR(60000)", "dim": 60000}, "3600000000 bytes"),
    ],
)  # fmt: skip
def test_composed_types_that_are_none(keywords, said):
    with pytest.raises(ParameterError, match=said):
        Parm("P", **keywords)


def test_a_program_with_structures_and_arrays(system, job):
    def total(_job, order, weights):
        amount = sum(line["count"] for line in order["lines"])
        return {**order, "sum": amount}, [2 * one for one in weights]

    system.register_program(
        "APPLIB/TOTAL", total,
        [Parm("order", "DS", use="inout", fields=COMPOSED[-1][0].fields), Parm("weights", "FLOAT(8)", use="inout", dim=2)],
    )  # fmt: skip
    order = bytearray.fromhex("F14040400005A7A8A90003F0F0F0")
    weights = bytearray(Parm("w", "FLOAT(8)", dim=2).encode([0.5, 4.0], PAGE))
    job.call_program("APPLIB/TOTAL", parameters=[order, weights])
    assert order.hex().upper() == "F14040400005A7A8A90003F0F0F8"
    assert Parm("w", "FLOAT(8)", dim=2).decode(weights, PAGE) == [1.0, 8.0]
    with pytest.raises(EscapeMessage, match="MCH1202"):
        job.call_program("APPLIB/TOTAL", parameters=[bytearray(b"\xf2" + order[1:]), weights])
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        job.call_program("APPLIB/TOTAL", parameters=[order, weights[:15]])


def test_other_signs_and_blanks():
    assert Parm("P", "PACKED(3:0)").decode(b"\x12\x3c", PAGE) == 123
    assert Parm("P", "PACKED(3:0)").decode(b"\x12\x3b", PAGE) == -123
    assert Parm("P", "ZONED(2:0)").decode(b"\x41\xc2", PAGE) == 12  # only the last zone counts
    assert Parm("P", "CHAR(3)").decode(e(" a "), PAGE) == " a"
    assert Parm("P", "ZONED(3:2)").encode(Decimal("1.5"), PAGE) == b"\xf1\xf5\xf0"
    assert Parm("P", "PACKED(3:2)").encode(Decimal("0E+9"), PAGE) == b"\x00\x0f"
    assert Parm("P", "PACKED(3:0)").encode(Decimal("1E+2"), PAGE) == b"\x10\x0f"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("CHAR(2)", "abc"), ("CHAR(2)", 5), ("CHAR(2)", "東"), ("VARCHAR(2)", "abc"), ("DATA(2)", b"a"), ("UCS2(1)", "ab"),
        ("PACKED(3:0)", 1000), ("PACKED(3:0)", -1000), ("PACKED(3:0)", Decimal("1.5")), ("PACKED(3:2)", 10),
        ("PACKED(3:0)", True), ("PACKED(3:0)", 1.0), ("PACKED(3:0)", Decimal("NaN")), ("PACKED(3:0)", Decimal("1E+999999")),
        ("ZONED(2:0)", 100), ("INT(3)", 128), ("UNS(3)", -1), ("INT(5)", "5"), ("FLOAT(4)", 1e300), ("FLOAT(8)", "x"),
        ("IND", 1),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(kind, value):
    with pytest.raises(ParameterError, match="parameter P "):
        Parm("P", kind).encode(value, PAGE)


@pytest.mark.parametrize(
    "kind",
    ["", "CHAR", "CHAR(0)", "CHAR(65536)", "CHAR(5:2)", "PACKED(64:0)", "PACKED(3:4)", "INT(4)", "INT", "FLOAT(5)", "IND(1)",
     "DATE", "PACKED(5:2", "CHAR(-1)"],
)  # fmt: skip
def test_types_that_are_none(kind):
    with pytest.raises(ParameterError, match="parameter P: type"):
        Parm("P", kind)


def test_declarations_that_no_program_has(system):
    with pytest.raises(ParameterError, match="use 'both'"):
        Parm("P", "IND", use="both")
    with pytest.raises(ParameterError, match="parameter B: it follows an optional one"):
        system.register_program("QGPL/P", print, [Parm("A", "IND", optional=True), Parm("B", "IND")])


@pytest.fixture
def price(system):
    seen = []

    def program(job, item, quantity, limit):
        seen.append((job.name, item, quantity, limit))
        if quantity == 0:
            return None, None
        return quantity + 1, quantity * Decimal("9.95")

    system.register_program(
        "APPLIB/PRICE", program,
        [
            Parm("item", "CHAR(5)"), Parm("quantity", "PACKED(5:0)", use="inout"), Parm("total", "ZONED(7:2)", use="out"),
            Parm("limit", "INT(10)", optional=True, omissible=True),
        ],
    )  # fmt: skip
    return seen


def test_values_go_in_and_come_back(job, price):
    quantity, total = bytearray.fromhex("00012FEE"), bytearray(b"\xee" * 9)
    job.call_program("APPLIB/PRICE", parameters=[e("ABC  rest"), quantity, total, b"\0\0\0\5"])
    assert price == [("WORKER", "ABC", 12, 5)]
    assert quantity.hex().upper() == "00013FEE"
    assert total == e("0011940") + b"\xee\xee"
    for more in ([], [None]):  # *NOPASS and *OMIT
        job.call_program("APPLIB/PRICE", parameters=[e("ABC  "), bytearray(b"\0\0\x0f"), total, *more])
        assert price[-1] == ("WORKER", "ABC", 0, None)
        assert total == e("0011940") + b"\xee\xee"  # None leaves what is there


@pytest.mark.rule("PGM-COUNT")
@pytest.mark.rule("PGM-SHORT")
@pytest.mark.rule("PGM-NULL")
@pytest.mark.rule("PGM-DECIMAL")
@pytest.mark.rule("PGM-LITERAL-OUT")
def test_storage_that_the_program_does_not_take(job, price):
    item, quantity, total = e("ABC  "), bytearray.fromhex("00012F"), bytearray(7)

    def call(*parameters):
        job.call_program("APPLIB/PRICE", parameters=parameters)

    expect_rule("PGM-COUNT", call, item, quantity)
    expect_rule("PGM-COUNT", call, item, quantity, total, b"\0\0\0\5", b"x")
    expect_rule("PGM-SHORT", call, item[:4], quantity, total)
    expect_rule("PGM-SHORT", call, item, quantity, bytearray(6))
    expect_rule("PGM-NULL", call, item, None, total)
    expect_rule("PGM-DECIMAL", call, item, bytearray(b"\x40\x40\x40"), total)
    expect_rule("PGM-LITERAL-OUT", call, item, quantity, bytes(7))
    assert price == []
    assert (quantity.hex(), total) == ("00012f", bytes(7))


def test_what_is_returned_fits_as_a_whole_or_nothing_is_written(system, job):
    answers = iter([(1, 1000), (1,), 5, (1, 2, 3), None])
    system.register_program(
        "APPLIB/TWO", lambda _job: next(answers), [Parm("a", "INT(10)", use="out"), Parm("b", "PACKED(3:0)", use="out")]
    )
    one, two = bytearray(4), bytearray(2)
    for _ in range(5):
        with pytest.raises(ParameterError):
            job.call_program("APPLIB/TWO", parameters=[one, two])
    assert (one, two) == (bytes(4), bytes(2))


def test_a_typed_program_called_from_cl_and_submitted(system, job, price):
    system.register_program(
        "APPLIB/ORDER", lambda job, *values: price.append((job.name, *values)),
        [Parm("who", "CHAR(10)"), Parm("amount", "PACKED(15:5)"), Parm("note", "CHAR(40)", optional=True)],
    )  # fmt: skip
    text = "a text that is longer than thirty-two chars"
    job.command("CALL APPLIB/ORDER ('Mr. O''Hara' -12.5)")
    job.command(f"CALL PGM(APPLIB/ORDER) PARM(X'C1C2' +7 '{text}')")
    job.command("CALL PGM(APPLIB/ORDER) PARM((AB (*CHAR 10)) ('.5' (*DEC 15 5)))")
    assert price == [
        ("WORKER", "Mr. O'Hara", Decimal("-12.5"), None), ("WORKER", "AB", 7, text[:40]), ("WORKER", "AB", Decimal("0.5"), None),
    ]  # fmt: skip
    started = job.command("SBMJOB CMD(CALL PGM(APPLIB/ORDER) PARM(X'C1C2' 7)) JOB(NIGHT) JOBQ(APPLIB/BATCH)")
    started.result()
    assert price[-1] == ("NIGHT", "AB", 7, None)
    assert job.joblog[-1].text == f"Job {started.job.qualified_name} submitted to job queue BATCH in library APPLIB."


@pytest.mark.parametrize(
    "parm", ["(5 (*DEC 2 9))", "(5 (*INTEGER 4))", "(500 (*DEC 2 0))", "(X (*DEC 5 0))", "(2 (*LGL))", "((1 2) 3)"]
)
def test_values_with_types_that_do_not_fit(job, price, parm):
    with pytest.raises(EscapeMessage, match="CPF0006") as caught:
        job.command(f"CALL PGM(APPLIB/PRICE) PARM({parm} 1)")
    assert [one.message_id for one in caught.value.diagnostics] == ["CPD0084"]
    assert price == []
