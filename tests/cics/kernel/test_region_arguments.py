"""The arguments of a region are checked by the validators of region.yaml."""

from __future__ import annotations

import pytest

from tdqsim import Region
from tdqsim.definitions.regionfile import load_region_file
from tdqsim.errors import DefinitionError, UsageError

_BAD = {
    "applid": ["", "TOOLONGAPPLID", "a", 5],
    "sysid": ["TOOLONG", 5, "A B", ""],
    "default_user": ["TOOLONGUSER", ""],
    "region_user": ["", "a b"],
    "release": ["75", "9999", 750],
    "start": ["HOT", "cold start", 1],
    "tdintra": ["YES"],
    "cmdsec": ["NO"],
    "ressec": ["YES"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in _BAD.items() for value in values])
def test_a_region_refuses_what_region_yaml_refuses(name, value, tmp_path):
    with pytest.raises(UsageError) as caught:
        Region(**{name: value})
    assert str(caught.value).startswith(f"{name} = {value!r}: must be ")
    if isinstance(value, str) and value:  # in a file a number is text, and an empty value is the default
        key = "start_type" if name == "start" else name
        (tmp_path / "region.yaml").write_text(f"{key}: {value}\n")
        with pytest.raises(DefinitionError) as refused:
            load_region_file(tmp_path)
        assert refused.value.problems[0].message == str(caught.value).partition(": ")[2]


def test_a_keyword_in_lower_case_is_not_taken_for_another():
    with pytest.raises(UsageError, match="start = 'initial': must be INITIAL"):
        Region(start="initial")


def test_what_region_yaml_accepts_is_accepted():
    with Region(applid="PAYREGN", sysid="PAY1", default_user="ANNA", region_user="BERT", release="0730") as region:
        assert (region.applid, region.options.sysid, region.options.release) == ("PAYREGN", "PAY1", "0730")


def test_one_name_for_handlers_is_not_taken_letter_by_letter():
    with pytest.raises(
        TypeError, match=r"handlers is 'abc'; allowed is a list of names of modules: handlers=\['abc'\]"
    ):
        Region(handlers="abc")


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ("abc", "groups is 'abc'; allowed is the groups of each user: groups={'ANNA': ['PAYTEAM']}"),
        (["abc"], "groups is ['abc']; allowed is the groups of each user: groups={'ANNA': ['PAYTEAM']}"),
        ({"BOB": "OPERS"}, "groups['BOB'] is 'OPERS'; allowed is a list of names of groups"),
        ({"BOB": None}, "groups['BOB'] is None; allowed is a list of names of groups"),
    ],
)
def test_groups_of_another_form_are_refused(groups, text):
    with pytest.raises(TypeError) as refused:
        Region(groups=groups)
    assert str(refused.value) == text
