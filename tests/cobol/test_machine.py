"""What programs meet in the machine and in Language Environment: data exceptions, checks, the clock, DISPLAY."""

from __future__ import annotations

import warnings

import pytest
from freezegun import freeze_time

from tdqsim import Abend, Region, define_tdqueue
from tdqsim.cobol import CobolError, CobolPrograms, CobolWarning
from tdqsim.errors import DefinitionError, UsageError
from tdqsim.facts import Cvda
from tests.rules import rule

pytestmark = pytest.mark.cobc

ZONED = """
01 X PIC X(4) VALUE {value}.
01 D REDEFINES X PIC 9(4).
01 S REDEFINES X PIC S9(4).
01 P REDEFINES X PIC S9(7) COMP-3.
01 N PIC 9(6) VALUE 999999.
01 Q PIC S9(7) COMP-3 VALUE 1.
01 T.
   05 E PIC 9(4) OCCURS 3.
01 I PIC 9 VALUE 2.
"""
SHOW = "\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC\nGOBACK."


def run(workshop, value: str, statements: str, **checks: str) -> list[bytes]:
    """Run statements on an item of four bytes; returns what N held."""
    workshop.program("PROBE", ZONED.format(value=value), statements + SHOW)
    programs = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "compiled", **checks)
    handle = workshop.region.start(programs.handler("PROBE"))
    workshop.region.run()
    handle.result()
    return workshop.out()


@pytest.mark.parametrize(
    ("value", "statement", "moved"),
    [
        ("SPACES", "MOVE D TO N", b"000000"),
        ("LOW-VALUES", "MOVE D TO N", b"000000"),
        ("'AB12'", "MOVE D TO N", b"001212"),  # UNPK of PACK: the right halves of C1 C2 F1 F2
        ("'  12'", "ADD D TO 1 GIVING N", b"000013"),
        ("'12 4'", "COMPUTE N = D * 1", b"001204"),
        ("'  1}'", "IF S = -10 MOVE 1 TO N END-IF", b"000001"),
        ("'  12'", "IF D = 12 MOVE 1 TO N END-IF", b"000001"),
        ("'  12'", "ADD 1 TO D MOVE D TO N", b"000013"),
        ("'1   '", "MOVE X TO N", b"001000"),  # text is an unsigned integer of its length
        ("'12.5'", "MOVE X TO N IF N NOT NUMERIC MOVE 7 TO N END-IF", b"000007"),
        ("'12.5'", "MOVE X TO I MOVE I TO N", b"000005"),
        ("' -12'", "MOVE X TO Q IF Q > 0 MOVE Q TO N END-IF", b"000012"),
        ("SPACES", "IF D = SPACES MOVE 1 TO N END-IF", b"000001"),
        ("SPACES", "IF D NOT NUMERIC MOVE 1 TO N END-IF", b"000001"),
    ],
)
def test_zoned_items_without_digits_are_read_as_pack_reads_them(workshop, value, statement, moved):
    assert run(workshop, value, statement) == [moved]


@pytest.mark.parametrize(
    ("value", "statement", "said"),
    [
        ("SPACES", "ADD 1 TO D", "'D' not numeric: '    ' X'20202020'"),
        ("SPACES", "COMPUTE N = S + 1", "'S' not numeric: '    ' X'20202020'"),
        ("'1,23'", "ADD D TO N", "'D' not numeric: '1,23' X'312C3233'"),
        ("SPACES", "IF D = 5 MOVE 1 TO N END-IF", "'D' not numeric"),
        ("SPACES", "IF S > N MOVE 1 TO N END-IF", "'S' not numeric"),
        ("SPACES", "IF P = 0 MOVE 1 TO N END-IF", "'P' not numeric"),
        ("SPACES", "IF P > Q MOVE 1 TO N END-IF", "'P' not numeric"),
        ("SPACES", "PERFORM D TIMES ADD 1 TO N END-PERFORM", "'D' not numeric"),
        ("SPACES", "MOVE P TO N", "'P' not numeric"),
        ("'12.5'", "MOVE X TO Q", "' not numeric: '12.5'"),
        ("'12.5'", "MOVE X TO N ADD 1 TO N", "'N' not numeric: '0012.5'"),
        ("X'12345678'", "MOVE P TO Q", "'P' not numeric: '.4Vx' X'12345678'"),
        ("SPACES", "MOVE SPACES TO T IF E (I) = 7 MOVE 1 TO N END-IF", "'E (2)' not numeric"),
    ],
)
def test_decimal_instructions_refuse_what_is_no_number(workshop, value, statement, said):
    with pytest.raises(Abend) as met:
        run(workshop, value, statement)
    assert met.value.code == "ASRA"
    reason = str(met.value.cause)
    assert "data exception (S0C7)" in reason
    assert said in reason
    assert "PROBE.cbl:15" in reason


def test_a_handle_abend_label_takes_a_data_exception_of_a_comparison(workshop):
    workshop.program(
        "HANDLED",
        "01 X PIC X(4) VALUE SPACES.\n01 D REDEFINES X PIC 9(4).",
        """
        EXEC CICS HANDLE ABEND LABEL(FAILED) END-EXEC
        IF D = 1 EXEC CICS WRITEQ TD QUEUE('OUT') FROM('ONE') END-EXEC END-IF
        GOBACK.
        FAILED.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM('HANDLED') END-EXEC
        GOBACK.
        """,
    )
    workshop.run("HANDLED")
    assert workshop.out() == [b"HANDLED"]


OUT_OF_RANGE = [
    ("MOVE 4 TO I MOVE E (I) TO N", "subscript of 'E' out of bounds: 4"),
    ("MOVE 3 TO I MOVE X (I:3) TO X", "reference modification of 'X' out of bounds"),
]


@pytest.mark.parametrize(("statement", "said"), OUT_OF_RANGE)
def test_subscripts_are_checked_unless_that_is_switched_off(workshop, statement, said):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(run(workshop, "'1234'", statement, ssrange="OFF")) == 1
    with pytest.warns(CobolWarning, match=said):
        run(workshop, "'1234'", statement, ssrange="WARN")
    with pytest.raises(Abend) as met:
        run(workshop, "'1234'", statement)
    assert "out of bounds" in str(met.value.cause)


def test_zoned_senders_of_move_are_checked_only_when_that_is_asked_for(workshop):
    said = r"PROBE.cbl:15: NUMCHECK: 'D' not numeric: '    ' X'20202020'"
    with pytest.warns(CobolWarning, match=said):
        assert run(workshop, "SPACES", "MOVE D TO N", zoned_move="WARN") == [b"000000"]
    with pytest.raises(Abend) as met:
        run(workshop, "SPACES", "MOVE D TO N", zoned_move="ABEND")
    assert "NUMCHECK" in str(met.value.cause)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(workshop, "SPACES", "MOVE D TO N", numcheck="ABEND")


def test_numcheck_finds_what_the_machine_takes(workshop):
    with pytest.warns(CobolWarning, match="NUMCHECK: 'D' not numeric: '  12'"):
        assert run(workshop, "'  12'", "ADD 1 TO D MOVE D TO N", numcheck="WARN") == [b"000013"]
    with pytest.raises(Abend):
        run(workshop, "'  12'", "ADD 1 TO D", numcheck="ABEND")


SCALED = """
01 P PIC S9(3)PP COMP-3.
01 Q PIC S9(4)P COMP-3 VALUE -12340.
01 SHOWN PIC -(6)9.
01 N PIC S9(7) SIGN TRAILING SEPARATE.
01 Z PIC S9(3)PP SIGN LEADING VALUE 5600.
01 B PIC 9(2)PPP COMP.
01 AHEAD PIC SVPP99 VALUE .0012.
01 W PIC 9(4) COMP.
"""


def test_numbers_whose_picture_has_p(workshop):
    """The compiler counts P as a digit of the item, and the run-time then takes other digits than it has."""
    steps = (
        "MOVE 1200 TO P MOVE P TO SHOWN", "MOVE Q TO SHOWN", "ADD 300 TO P MOVE P TO SHOWN",
        "MOVE Z TO P MOVE P TO SHOWN MOVE 1500 TO P", "MOVE 8870395 TO B MOVE B TO SHOWN",
        "MOVE AHEAD TO W MOVE W TO SHOWN",
    )  # fmt: skip
    put = "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC\n"
    computed = "COMPUTE N = P + 1\nIF P = 1500 EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC END-IF\nGOBACK."
    workshop.program("SCALED", SCALED, "".join(f"{step}\n{put}" for step in steps) + computed)
    workshop.run("SCALED")
    assert workshop.out() == [b"   1200", b" -12340", b"   1500", b"   5600", b"  70000", b"      0", b"0001501+"]
    workshop.program("BEFORE", "01 P PIC SVPP99 COMP-3.\n01 Q PIC P9\n COMP-5.", "MOVE .01 TO Q\nGOBACK.")
    with pytest.raises(CobolError) as error:
        workshop.run("BEFORE")
    found = [problem.partition("BEFORE.cbl:")[2].partition(" before")[0] for problem in error.value.problems]
    assert found == ["5: P PICTURE SVPP99 COMP-3: P", "6: Q PICTURE P9 COMP-5: P"]


EXPRESSIONS = """
01 A PIC S9(5) COMP-3 VALUE 1.
01 B PIC S9(5) COMP-3 VALUE 3.
01 C PIC S9(5) COMP-3 VALUE 100.
01 X PIC S9(3)V99 COMP-3 VALUE 1.25.
01 F COMP-2 VALUE 1.
01 TAB.
   05 E PIC 9 OCCURS 5 INDEXED BY IX VALUE 2.
01 N PIC 9(6) VALUE 999999.
01 M PIC 9(4)V99.
"""


@pytest.mark.parametrize(
    ("statement", "result"),
    [
        # dmax is the most decimals of results and of operands other than divisors; a quotient keeps that many, or
        # those of the dividend less those of the divisor
        ("COMPUTE N = A / B * C", b"000000"),
        ("COMPUTE N = A / B * 100", b"000000"),
        ("COMPUTE N = (A / B) * (100)", b"000000"),
        ("COMPUTE N = A / B * 100.0", b"000030"),
        ("COMPUTE N = A / B * 100 * X", b"000041"),  # 0.33 * 100 * 1.25
        ("COMPUTE N = A / B * .5 + 100 / B * 2", b"000066"),  # 0.3 * 0.5 + 33.3 * 2
        ("COMPUTE N = A * 100 / B", b"000033"),
        ("COMPUTE N = B * 5 + X", b"000016"),  # other results keep all decimals
        ("COMPUTE N = X * 1.255 * B * 10000", b"047062"),
        ("COMPUTE N = 100 * (A / B)", b"000000"),
        ("COMPUTE N = X / B * 100", b"000041"),
        ("COMPUTE N = C / X * 100", b"008000"),
        ("COMPUTE N = C / X / 3 * 100", b"002600"),
        ("COMPUTE N = X * X / B * 1000", b"000520"),  # the product has four decimals, and so has the quotient
        ("COMPUTE N M = A / B * 100", b"000033"),
        ("COMPUTE N = A / B * 100 * F", b"000033"),  # in floating point
        ("COMPUTE N = (A / B * 30) ** 2", b"000000"),
        ("COMPUTE N = (A / B * 50) ** 0.5", b"000004"),  # in floating point
        ("SET IX TO 1 COMPUTE N = A / B * 100 + E (IX + 1)", b"000002"),
        ("IF A / B * 100 = 0 COMPUTE N = C / B * -2 + C", b"000034"),
        ("EVALUATE TRUE WHEN A / B * 100 > 5 MOVE 1 TO N WHEN OTHER MOVE 2 TO N END-EVALUATE", b"000002"),
    ],
)
def test_a_quotient_in_an_expression_keeps_few_decimals(workshop, statement, result):
    workshop.program("QUOTIENT", EXPRESSIONS, statement + "." + SHOW)
    workshop.run("QUOTIENT")
    assert workshop.out() == [result]
    names = [item.name for item in workshop.programs.module("QUOTIENT").symbols.items]
    assert not [name for name in names if name.startswith("DFHEI-")]


@pytest.mark.parametrize(
    ("statement", "result"),
    [
        ("COMPUTE N = F * 2.5", b"000003"),
        ("COMPUTE N M = F + 1.5 COMPUTE N = 5 / B", b"000001"),
        ("MOVE 4.5 TO F IF F > 4 COMPUTE N = 5 / B", b"000001"),
        ("ADD 2.7 TO F ADD F F GIVING N", b"000007"),
        ("MOVE 2.5 TO F MOVE F TO N", b"000003"),
        ("MOVE 0.96 TO F MOVE F TO ED MOVE ED TO M COMPUTE N = M * 10", b"000010"),
        ("COMPUTE N = C ** 0.3", b"000004"),
        ("COMPUTE N = F * 5 / B", b"000002"),
        ("COMPUTE N = F * FUNCTION SUM(A X) + .4", b"000003"),
        ("MOVE FUNCTION SQRT(3) TO N", b"000002"),
        ("COMPUTE N = FUNCTION NUMVAL('12.7')", b"000013"),
        ("MOVE FUNCTION NUMVAL-C('$1,012.5') TO N", b"001013"),
        ("MOVE FUNCTION NUMVAL('123456789012345678') TO N", b"345678"),
    ],
)
def test_a_result_in_floating_point_is_rounded(workshop, statement, result):
    workshop.program("FLOATS", f"{EXPRESSIONS}01 ED PIC Z9.9.", statement + "." + SHOW)
    workshop.run("FLOATS")
    assert workshop.out() == [result]


EDITED = """
01 L PIC S9(9) SIGN LEADING VALUE 841407092.
01 P PIC S9(7)V99 COMP-3 VALUE -1407092.25.
01 B PIC 9(9) COMP VALUE 841407000.
01 E1 PIC +ZZ9.
01 E2 PIC +++9.
01 E3 PIC -ZZ9.99.
01 E4 PIC $ZZ9.
01 E5 PIC $$$9.
01 E6 PIC +***9.
01 E7 PIC ZZ9-.
01 E8 PIC --9.
01 E9 PIC +ZZZ.
01 F1 PIC $,$$$,999.
01 F2 PIC $$,$$9.
01 F3 PIC +$$,$$9.
01 F4 PIC +$ZZ9.
01 F5 PIC -$$,$$9.
01 F6 PIC $$,$$$.$$.
01 D COMP-2 VALUE 7092.25.
"""


def test_the_leading_digits_of_a_longer_number_suppress_no_zeros(workshop):
    moves = ("L TO E1", "L TO E2", "P TO E3", "L TO E4", "L TO E5", "L TO E6", "P TO E7", "P TO E8", "B TO E9",
             "841407092 TO E1", "-2 TO E1", "B TO F1", "L TO F2", "P TO F3", "-2 TO F4",
             "L TO F5", "P TO F5", "D TO F6")  # fmt: skip
    put = "EXEC CICS WRITEQ TD QUEUE('OUT') FROM({}) END-EXEC"
    steps = [f"MOVE {move}\n{put.format(move[-2:])}" for move in moves]
    workshop.program("EDITED", EDITED, "\n".join([*steps, f"COMPUTE F6 = P / -3\n{put.format('F6')}", "GOBACK."]))
    workshop.run("EDITED")
    assert workshop.out() == [
        b"+ 92", b" +92", b"- 92.25", b"$ 92", b" $92", b"+7092", b" 92-", b"-92", b"    ", b"+ 92", b"-  2",
        b" $407,000", b"$7,092", b"-$7,092", b"-$  2",
        b" $7,092", b"-$7,092", b"$7,092.25", b"$9,030.75",
    ]  # fmt: skip


def test_a_policy_is_one_of_three(workshop):
    with pytest.raises(UsageError, match="ssrange is 'maybe'; it may be OFF, WARN, ABEND"):
        run(workshop, "SPACES", "MOVE D TO N", ssrange="maybe")
    with pytest.raises(UsageError, match=r"runaway is 0\.5; it may be a number of milliseconds, or 0 for never"):
        run(workshop, "SPACES", "MOVE D TO N", runaway=0.5)


DATES = """
01 DATE-6 PIC 9(6).
01 DATE-8 PIC 9(8).
01 DAY-5 PIC 9(5).
01 DAY-7 PIC 9(7).
01 WEEKDAY PIC 9.
01 TIME-8 PIC 9(8).
01 NOW PIC X(21).
01 SECONDS PIC 9(5).
01 YEAR-4 PIC 9(4).
01 WINDOW-8 PIC 9(8).
01 WINDOW-7 PIC 9(7).
01 FORMATTED PIC X(28).
"""


@freeze_time("2024-03-09 22:15:30")
@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        (
            "UTC",
            "240310 20240310 24070 2024070 7 22153000 2024031022153000+0000 10 80130 1975 20740101 1975001 2024-03-10T22:15:30.00+00:00",
        ),
        (
            "Asia/Kolkata",
            "240311 20240311 24071 2024071 1 03453000 2024031103453000+0530 11 13530 1975 20740101 1975001 2024-03-11T03:45:30.00+05:30",
        ),
    ],
)
def test_dates_follow_the_clock_of_the_region(tmp_path, zone, shown):
    with Region([define_tdqueue(name="OUT", type="INTRA")], time_zone=zone) as region:
        (tmp_path / "DATES.cbl").write_text(
            "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. DATES.\n       DATA DIVISION.\n"
            "       WORKING-STORAGE SECTION.\n"
            + "".join(f"       {line}\n" for line in DATES.strip().splitlines())
            + "       01 LINE-1 PIC X(160) VALUE SPACES.\n       PROCEDURE DIVISION.\n"
            "           EXEC CICS DELAY FOR HOURS(24) END-EXEC\n"
            "           ACCEPT DATE-6 FROM DATE\n           ACCEPT DATE-8 FROM DATE YYYYMMDD\n"
            "           ACCEPT DAY-5 FROM DAY\n           ACCEPT DAY-7 FROM DAY YYYYDDD\n"
            "           ACCEPT WEEKDAY FROM DAY-OF-WEEK\n           ACCEPT TIME-8 FROM TIME\n"
            "           MOVE FUNCTION CURRENT-DATE TO NOW\n"
            "           COMPUTE SECONDS = FUNCTION SECONDS-PAST-MIDNIGHT\n"
            "           COMPUTE YEAR-4 = FUNCTION YEAR-TO-YYYY(75)\n"
            "           COMPUTE WINDOW-8 =\n             FUNCTION DATE-TO-YYYYMMDD(740101, 50)\n"
            "           COMPUTE WINDOW-7 = FUNCTION DAY-TO-YYYYDDD(75001)\n"
            "           MOVE FUNCTION FORMATTED-CURRENT-DATE(\n"
            "             'YYYY-MM-DDThh:mm:ss.ss+hh:mm') TO FORMATTED\n"
            "           STRING DATE-6 ' ' DATE-8 ' ' DAY-5 ' ' DAY-7 ' ' WEEKDAY ' '\n"
            "             TIME-8 ' ' NOW ' ' FUNCTION CURRENT-DATE(7:2) ' ' SECONDS\n"
            "             ' ' YEAR-4 ' ' WINDOW-8 ' ' WINDOW-7 ' ' FORMATTED\n"
            "             DELIMITED BY SIZE INTO LINE-1\n"
            "           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LINE-1) END-EXEC\n           GOBACK.\n"
        )
        programs = CobolPrograms(region, sources=[tmp_path], cache=tmp_path / "compiled")
        handle = region.start(programs.handler("DATES"))
        region.run()
        handle.result()
        assert region.peek("OUT")[0].decode().rstrip() == shown


@freeze_time("2024-03-09 22:15:30")
def test_display_writes_to_cese_with_the_prefix_of_language_environment(workshop):
    workshop.program(
        "SAYS",
        "01 N PIC S9(3) COMP-3 VALUE -7.\n01 L PIC X(140) VALUE ALL '0123456789'.\n01 H PIC S9(4) COMP VALUE 12.\n"
        "01 Z PIC S9(3) VALUE 12.\n01 C5 PIC 9(4) COMP-5 VALUE 12.\n01 F COMP-1 VALUE -0.125.\n01 D COMP-2 VALUE 12.5.\n"
        "01 PT POINTER VALUE NULL.\n01 BITS PIC X(8) VALUE HIGH-VALUES.\n01 NAN REDEFINES BITS COMP-2.",
        """
        DISPLAY 'N IS ' N
        DISPLAY H ' ' Z ' ' C5 ' ' F D FUNCTION NUMVAL('12.5')
        DISPLAY PT ' ' NAN
        DISPLAY 'ONE, ' WITH NO ADVANCING
        DISPLAY 'TWO' UPON CONSOLE
        DISPLAY L
        DISPLAY 'THE END' WITH NO ADVANCING
        EXEC CICS ABEND ABCODE('OOPS') END-EXEC.
        """,
    )
    handle = workshop.region.start(workshop.programs.handler("SAYS"), transid="SAYT")
    workshop.region.run()
    with pytest.raises(Abend, match="OOPS"):
        handle.result()
    prefix = "     SAYT 20240309221530 "
    records = [workshop.region.options.code_page.decode(record) for record in workshop.region.peek("CESE")]
    digits = "0123456789" * 14
    assert records == [
        f"{prefix}N IS 00P",
        f"{prefix}0012 01B 00012 -.12500000E 00 .12500000000000000E 02 .12500000000000000E 02",
        f"{prefix}0x0000000000000000 NaN",
        f"{prefix}ONE, TWO",
        f"{prefix}{digits[:132]}",
        f"{prefix}{digits[132:]}",
        f"{prefix}THE END",
    ]


def test_without_cese_display_goes_to_stdout(workshop, capsys):
    workshop.program("SAYS", "01 N PIC 9 VALUE 7.", "DISPLAY 'N IS ' N\nGOBACK.")
    workshop.region.set_tdqueue("CESE", openstatus=Cvda.CLOSED)
    workshop.run("SAYS")
    assert capsys.readouterr().out == "N IS 7\n"


def test_region_yaml_sets_the_checks(workshop):
    workshop.program("PROBE", ZONED.format(value="SPACES"), "MOVE D TO N" + SHOW)
    (workshop.folder / "defs.yaml").write_text(
        "group: G\ntdqueue:\n  - {name: OUT, type: INTRA}\ntransaction:\n  - {name: PROB, program: PROBE}\n"
    )
    (workshop.folder / "region.yaml").write_text(
        "definitions: [defs.yaml]\ncobol:\n  sources: [.]\n  cache: cache\n  zoned_move: abend\n"
    )
    with Region.from_directory(workshop.folder) as region:
        handle = region.start("PROB")
        region.run()
        with pytest.raises(Abend) as met:
            handle.result()
        assert "NUMCHECK: 'D' not numeric" in str(met.value.cause)


def test_region_yaml_refuses_other_policies(workshop):
    (workshop.folder / "region.yaml").write_text("cobol:\n  ssrange: YES\n")
    with pytest.raises(DefinitionError, match="ssrange"):
        Region.from_directory(workshop.folder)


DIVISIONS = {
    "DIVIDE P BY Z GIVING R": "decimal-divide exception (S0CB)",
    "COMPUTE R = P / Z": "decimal-divide exception (S0CB)",
    "COMPUTE X = X / Y": "fixed-point-divide exception (S0C9)",
    "DIVIDE Y INTO X": "fixed-point-divide exception (S0C9)",
    "COMPUTE F = F / G": "HFP-divide exception (S0CF)",
    "IF P / Z > 1 MOVE 1 TO R END-IF": "decimal-divide exception (S0CB)",
    "EVALUATE P / Z WHEN 1 MOVE 1 TO R END-EVALUATE": "decimal-divide exception (S0CB)",
    "PERFORM UNTIL P / Z > 1 MOVE 1 TO R END-PERFORM": "decimal-divide exception (S0CB)",
    "COMPUTE R = 1 / (P - 5)": "decimal-divide exception (S0CB)",
    "DIVIDE X BY Y GIVING X REMAINDER R": "fixed-point-divide exception (S0C9)",
    "DIVIDE P BY Z GIVING R ON SIZE ERROR CONTINUE END-DIVIDE": "",
    "COMPUTE X = X / Y ON SIZE ERROR CONTINUE END-COMPUTE": "",
    "COMPUTE R = Z / P": "",
    "COMPUTE R = P / H": "",
}


@pytest.mark.rule("COBOL-ZERO-DIVIDE")
@pytest.mark.parametrize("statement", DIVISIONS)
def test_division_by_zero_is_asra_unless_the_statement_handles_it(workshop, statement):
    said = DIVISIONS[statement]
    workshop.program(
        "DIVZERO",
        """
        01 P PIC S9(5) COMP-3 VALUE 5.
        01 Z PIC S9(5) COMP-3 VALUE 0.
        01 H PIC SV9(5) COMP-3 VALUE 0.5.
        01 R PIC S9(5) COMP-3 VALUE 1.
        01 X PIC S9(8) COMP VALUE 5.
        01 Y PIC S9(8) COMP VALUE 0.
        01 F COMP-1 VALUE 1.
        01 G COMP-2 VALUE 0.
        """,
        f"{statement}.\nGOBACK.",
    )
    if not said:
        workshop.run("DIVZERO")
        return
    with pytest.raises(Abend) as caught:
        workshop.run("DIVZERO")
    assert caught.value.code == rule("COBOL-ZERO-DIVIDE").message == "ASRA"
    assert f"DIVZERO.cbl:14: {said}: division by zero without ON SIZE ERROR" in str(caught.value.cause)


def test_a_call_of_a_wrong_procedure_pointer_is_asra(workshop):
    """S0C1 on the mainframe, or S0C4, S0C5, S0C6, as the address has it."""
    storage = "01 P USAGE PROCEDURE-POINTER.\n01 Q REDEFINES P PIC 9(18) COMP-5."
    workshop.program("JUMPS", storage, "MOVE 4660 TO Q\nCALL P\nGOBACK.")
    with pytest.raises(Abend, match=r"abend ASRA: .*JUMPS\.cbl:9: signal 11 \(Segmentation fault\) at address 0x1234"):
        workshop.run("JUMPS")


DIFFERENCES = {
    "COMPUTE R = FUNCTION MOD(A Z)": b"000",
    "COMPUTE R = FUNCTION REM(A Z)": b"000",
    "COMPUTE R = FUNCTION SQRT(M)": b"000",
    "COMPUTE R = FUNCTION LOG(Z)": b"000",
    "COMPUTE R = Z ** Z": b"001",
    "COMPUTE R = M ** 0.5": b"777",
}


def test_functions_and_powers_without_a_result_go_on(workshop):
    """Listed in the guide as differences: on the mainframe the run-time ends the program with a message."""
    statements = [f"MOVE 777 TO R {each}\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(R) END-EXEC" for each in DIFFERENCES]
    storage = "01 A PIC S9(3) VALUE 5.\n01 Z PIC S9(3) VALUE 0.\n01 M PIC S9(3) VALUE -4.\n01 R PIC 9(3)."
    workshop.program("NORESULT", storage, "\n".join([*statements, "GOBACK."]))
    workshop.run("NORESULT")
    assert workshop.out() == list(DIFFERENCES.values())


TAKES_A_NUMBER = [
    "ADD 1 TO BAD", "ADD BAD TO X", "SUBTRACT BAD FROM X", "MULTIPLY BAD BY X", "DIVIDE BAD INTO X",
    "COMPUTE X = BAD + 1", "COMPUTE X = BAD ON SIZE ERROR CONTINUE END-COMPUTE", "COMPUTE X = FUNCTION MAX(BAD X)",
    "COMPUTE X = FUNCTION SUM(BAD X)", "COMPUTE X = FUNCTION INTEGER(BAD)", "IF BAD = 1 CONTINUE END-IF",
    "IF BAD > X CONTINUE END-IF", "IF BAD POSITIVE CONTINUE END-IF", "EVALUATE BAD WHEN 1 CONTINUE END-EVALUATE",
    "EVALUATE TRUE WHEN BAD = 2 CONTINUE END-EVALUATE", "PERFORM BAD TIMES CONTINUE END-PERFORM",
    "PERFORM UNTIL BAD > 3 MOVE 4 TO BAD END-PERFORM", "GO TO A1 DEPENDING ON BAD", "MOVE T (BAD) TO TX",
    "MOVE TX (BAD:1) TO TX (1:1)", "SET I TO BAD", "SET I UP BY BAD",
    "STRING 'A' DELIMITED BY SIZE INTO TX WITH POINTER BAD END-STRING",
    "UNSTRING TX DELIMITED BY ',' INTO TX WITH POINTER BAD END-UNSTRING", "INSPECT TX TALLYING BAD FOR ALL 'A'",
]  # fmt: skip
PACKED_ONLY = [
    "MOVE BAD TO E", "MOVE BAD TO X", "MOVE BAD TO P", "MOVE BAD TO TX",
    "PERFORM VARYING X FROM BAD BY 1 UNTIL X > 3 CONTINUE END-PERFORM",
]  # fmt: skip
TAKES_NO_NUMBER = ["IF BAD NUMERIC CONTINUE END-IF", "INITIALIZE BAD", "MOVE 1 TO BAD", "DISPLAY BAD UPON CONSOLE"]


@pytest.mark.parametrize(
    ("usage", "statement", "fails"),
    [(usage, each, True) for usage in ("", "COMP-3") for each in TAKES_A_NUMBER]
    + [(usage, each, bool(usage)) for usage in ("", "COMP-3") for each in PACKED_ONLY]
    + [(usage, each, False) for usage in ("", "COMP-3") for each in TAKES_NO_NUMBER]
    + [("COMP", each, False) for each in (*TAKES_A_NUMBER[:2], *PACKED_ONLY)],
)
def test_a_statement_that_takes_a_number_is_a_data_exception_without_one(workshop, usage, statement, fails):
    """A binary item has no invalid contents."""
    workshop.program(
        "TAKES",
        f"""
        01 B.
           05 BAD PIC S9(4) {usage}.
        01 X PIC S9(8) COMP VALUE 5.
        01 P PIC S9(5) COMP-3 VALUE 5.
        01 E PIC ZZZZ9.
        01 G.
           05 T PIC X(5) OCCURS 3 INDEXED BY I.
        01 TX PIC X(9) VALUE 'AAA'.
        """,
        f"MOVE ALL '*' TO B\n{statement}.\nA1.\nGOBACK.",
    )
    if not fails:
        workshop.run("TAKES")
        return
    with pytest.raises(Abend, match=r"TAKES\.cbl:15: data exception \(S0C7\): 'BAD' not numeric: '\*\*\*") as caught:
        workshop.run("TAKES")
    assert caught.value.code == "ASRA"


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("ADD 99999 TO P", "00004"),
        ("MULTIPLY 99999 BY P", "99995"),
        ("COMPUTE P = 10 ** 9", "00000"),
        ("ADD 9999 TO H MOVE H TO P", "09998"),
    ],
)
def test_an_overflow_is_no_exception(workshop, statement, shown):
    """Language Environment masks the overflow exceptions (S0C8, S0CA): the digits on the left are lost."""
    workshop.program(
        "OVER",
        "01 P PIC S9(5) COMP-3 VALUE 5.\n01 H PIC S9(4) COMP VALUE 9999.\n01 N PIC 9(5).",
        f"{statement}\nMOVE P TO N\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC\nGOBACK.",
    )
    workshop.run("OVER")
    assert workshop.out() == [shown.encode()]


NO_VALUE = "01 P PIC S9(9)V99 COMP-3.\n01 D PIC S9(5).\n01 ONE PIC S9 COMP-3.\n01 B PIC S9(4) COMP.\n01 T PIC X(4)."
INITIAL = {
    ("ZEROS", "ADD 1 TO P"): b"    ",
    ("ZEROS", "ADD 1 TO D B"): b"    ",
    ("UNDEFINED", "ADD 1 TO P"): b"",
    ("UNDEFINED", "ADD 1 TO D"): b"",
    ("UNDEFINED", "IF ONE = 1 MOVE 'ONE' TO T END-IF"): b"",
    ("UNDEFINED", "MOVE 1 TO P D ADD P TO D"): b"\xaa" * 4,
    ("LOW-VALUES", "ADD 1 TO P"): b"",
    ("LOW-VALUES", "ADD 1 TO D"): b"",
    ("LOW-VALUES", "ADD 1 TO B"): b"\0\0\0\0",
    ("SPACES", "ADD 1 TO P"): b"",
    ("SPACES", "ADD 1 TO B"): b"    ",
    ("", "ADD 1 TO P"): b"",
    ("", "ADD 1 TO B"): b"\0\0\0\0",
}


@pytest.mark.parametrize(("initial", "statement"), INITIAL)
def test_items_without_value_begin_as_the_setting_says(workshop, initial, statement):
    """An empty setting is the default; an empty record stands for a data exception."""
    expected = INITIAL[initial, statement]
    workshop.program("NOVALUE", NO_VALUE, f"{statement}.\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC\nGOBACK.")
    chosen = {"initial": initial} if initial else {}
    workshop.programs = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "c", **chosen)
    if expected:
        workshop.run("NOVALUE")
        assert workshop.out() == [expected]
        return
    said = r"NOVALUE\.cbl:11: data exception \(S0C7\): '.*' not numeric: .* \(items without VALUE begin so; on the"
    with pytest.warns(CobolWarning, match=said) as told, pytest.raises(Abend, match=said):
        workshop.run("NOVALUE")
    assert len(told) == 1


def test_a_program_that_handles_a_data_exception_of_an_item_without_value_is_told_of(workshop):
    workshop.program(
        "HANDLES",
        "01 P PIC S9(9) COMP-3.",
        "EXEC CICS HANDLE ABEND LABEL(A1) END-EXEC\nADD 1 TO P.\nA1.\nGOBACK.",
    )
    with pytest.warns(CobolWarning, match="items without VALUE begin so") as told:
        workshop.run("HANDLES")
    assert len(told) == 1
    workshop.run("HANDLES")  # nothing is told twice


@pytest.mark.parametrize(("setting", "abends"), [("", True), ("  initial: ZEROS\n", False)])
def test_a_region_directory_has_the_setting_too(workshop, setting, abends):
    workshop.program("NOVALUE", NO_VALUE, "ADD 1 TO P\nGOBACK.")
    (workshop.folder / "defs.yaml").write_text("group: G\ntransaction:\n  - {name: NOVA, program: NOVALUE}\n")
    (workshop.folder / "region.yaml").write_text(f"definitions: [defs.yaml]\ncobol:\n  sources: [.]\n{setting}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CobolWarning)
        with Region.from_directory(workshop.folder) as region:
            handle = region.start("NOVA")
            region.run()
            assert (handle.abend is not None) is abends


def test_region_yaml_refuses_another_initial_value(workshop):
    (workshop.folder / "region.yaml").write_text("cobol:\n  initial: NOTHING\n")
    with pytest.raises(DefinitionError, match="initial"):
        Region.from_directory(workshop.folder)
