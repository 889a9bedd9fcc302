"""BMS source: defaults, inherited operands, bounds and continuation of DFHMSD, DFHMDI and DFHMDF."""

from __future__ import annotations

import pytest

from tdqsim.definitions.bms import parse_bms


def mapset(fields, operands="", of_map=""):
    return parse_bms(f"S        DFHMSD TYPE=MAP{operands}\nM        DFHMDI SIZE=(24,80){of_map}\n{fields}")


def test_mode_and_attrb_that_are_not_given():
    made = mapset("A        DFHMDF POS=(1,1),LENGTH=256\n")
    assert made.mode == "OUT"
    assert made.maps[0].fields[0].attributes == ("ASKIP", "NORM")
    assert made.maps[0].fields[0].length == 256


def test_color_of_the_field_the_map_and_the_mapset():
    fields = "A        DFHMDF POS=(1,1),LENGTH=1,COLOR=RED\nB        DFHMDF POS=(2,1),LENGTH=1\n"
    of_map = mapset(fields, ",COLOR=GREEN", ",COLOR=BLUE").maps[0]
    assert [each.color for each in of_map.fields] == ["RED", "BLUE"]
    assert mapset(fields, ",COLOR=GREEN").maps[0].fields[1].color == "GREEN"


@pytest.mark.parametrize(("picture", "length"), [("S9(4)V99", 6), ("ZZ9", 3)])
def test_the_length_of_a_field_is_that_of_its_picture(picture, length):
    assert mapset(f"A        DFHMDF POS=(1,1),PICIN='{picture}'\n").maps[0].fields[0].length == length


def test_a_continuation_ends_before_the_mark_in_column_72():
    first = "A        DFHMDF POS=(1,1),LENGTH=70,".ljust(71) + "X"
    second = " " * 15 + "INITIAL='" + "a" * 47 + "X"
    assert mapset(f"{first}\n{second}\n{' ' * 15}bc'\n").maps[0].fields[0].initial == "a" * 47 + "bc"


def test_dsatts_have_the_order_of_the_symbolic_map():
    assert mapset("A        DFHMDF POS=(1,1),LENGTH=1\n", ",DSATTS=(HILIGHT,COLOR)").maps[0].attributes == (
        "COLOR",
        "HILIGHT",
    )


@pytest.mark.parametrize(("storage", "second"), [("", "01 NO REDEFINES MO."), (",STORAGE=AUTO", "01 NO.")])
def test_the_second_map_redefines_the_first_without_storage_auto(storage, second):
    field = "A        DFHMDF POS=(1,1),LENGTH=1\n"
    text = mapset(f"{field}N        DFHMDI SIZE=(24,80)\n{field}", storage).copybook()
    assert second in [line.strip() for line in text.splitlines()]
