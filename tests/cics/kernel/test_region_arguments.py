"""The arguments of a region are checked by the validators of region.yaml."""

from __future__ import annotations

import pytest

from tdqsim import Region, SecurityOptions, StartOptions, SystemOptions
from tdqsim.definitions.regionfile import load_region_file
from tdqsim.errors import DefinitionError, UsageError

_BAD = {
    "applid": ["", "TOOLONGAPPLID", "a", 5],
    "sysid": ["TOOLONG", 5, "A B", ""],
    "dfltuser": ["TOOLONGUSER", ""],
    "regionuserid": ["", "a b"],
    "release": ["75", "9999", 750],
    "start": ["HOT", "cold start", 1],
    "tdintra": ["YES"],
    "cmdsec": ["NO"],
    "ressec": ["YES"],
}
_GROUPED = {
    "dfltuser": lambda value: {"security": SecurityOptions(dfltuser=value)},
    "regionuserid": lambda value: {"security": SecurityOptions(regionuserid=value)},
    "cmdsec": lambda value: {"security": SecurityOptions(cmdsec=value)},
    "ressec": lambda value: {"security": SecurityOptions(ressec=value)},
    "tdintra": lambda value: {"start": StartOptions(tdintra=value)},
    "release": lambda value: {"system": SystemOptions(release=value)},
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in _BAD.items() for value in values])
def test_a_region_refuses_what_region_yaml_refuses(name, value, tmp_path):
    with pytest.raises(UsageError) as caught:
        Region(**_GROUPED[name](value) if name in _GROUPED else {name: value})
    assert str(caught.value).startswith(f"{name} = {value!r}: must be ")
    if isinstance(value, str) and value:  # in a file a number is text, and an empty value is the default
        (tmp_path / "region.yaml").write_text(f"{name}: {value}\n")
        with pytest.raises(DefinitionError) as refused:
            load_region_file(tmp_path)
        assert refused.value.problems[0].message == str(caught.value).partition(": ")[2]


def test_a_keyword_in_lower_case_is_not_taken_for_another():
    with pytest.raises(UsageError, match="start = 'initial': must be INITIAL"):
        Region(start="initial")


def test_what_region_yaml_accepts_is_accepted():
    with Region(
        applid="PAYREGN",
        sysid="PAY1",
        security=SecurityOptions(dfltuser="ANNA", regionuserid="BERT"),
        system=SystemOptions(release="0730"),
    ) as region:
        assert (region.applid, region.options.sysid, region.options.release) == ("PAYREGN", "PAY1", "0730")


def test_one_name_for_handlers_is_not_taken_letter_by_letter():
    with pytest.raises(TypeError, match=r"handlers is 'abc'; allowed is a list of names of modules, such as \['abc'\]"):
        Region(handlers="abc")


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ("abc", "groups is 'abc'; allowed is the groups of each user: groups={'ANNA': ['PAYTEAM']}"),
        (["abc"], "groups is ['abc']; allowed is the groups of each user: groups={'ANNA': ['PAYTEAM']}"),
        ({"BOB": "OPERS"}, "groups['BOB'] is 'OPERS'; allowed is a list of names, such as ['OPERS']"),
        ({"BOB": None}, "groups['BOB'] is None; allowed is a list of names"),
    ],
)
def test_groups_of_another_form_are_refused(groups, text):
    with pytest.raises(TypeError) as refused:
        Region(security=SecurityOptions(groups=groups))
    assert str(refused.value) == text


def test_a_group_takes_what_it_does_not_give_from_region_yaml(tmp_path):
    (tmp_path / "region.yaml").write_text(
        "cmdsec: ALWAYS\nressec: ALWAYS\ndfltuser: ANNA\ntdintra: EMPTY\nmxt: 20\nrelease: '0730'\n"
    )
    given = {
        "security": SecurityOptions(cmdsec="ASIS", groups={"BOB": ["PAYTEAM"]}),
        "start": StartOptions(type="COLD"),
        "system": SystemOptions(mxt=50),
    }
    with Region.from_directory(tmp_path, **given) as region:
        options = region.options
        assert (options.cmdsec, options.ressec, options.dfltuser) == ("ASIS", "ALWAYS", "ANNA")
        assert (options.tdintra, options.mxt, options.release) == ("EMPTY", 50, "0730")
        assert (options.groups, region.recovery.start_type) == ({"BOB": ["PAYTEAM"]}, "INITIAL")


def test_a_policy_or_type_alone_stands_for_its_group(tmp_path):
    (tmp_path / "region.yaml").write_text("ressec: ALWAYS\nsecurity: {queues: {}}\nstart: COLD\ntdintra: EMPTY\n")
    with Region.from_directory(tmp_path, security=None, start="AUTO") as region:
        assert (region.security, region.options.ressec, region.options.tdintra) == (None, "ALWAYS", "EMPTY")


def test_the_contents_of_region_yaml_stand_for_the_directory(tmp_path):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\n")
    with Region.from_directory(load_region_file(tmp_path), sysid="PAY1") as region:
        assert (region.applid, region.options.sysid) == ("PAYREGN", "PAY1")


def test_another_value_is_no_group_of_system_options():
    with pytest.raises(TypeError, match="'0730' is not a SystemOptions"):
        Region(system="0730")
