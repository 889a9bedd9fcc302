"""Containers: what is put, moved, deleted and browsed."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region


@pytest.fixture
def task():
    with Region([]) as region, region.task() as task:
        task.put_container("ONE", b"first", channel="CH")
        task.put_container("TWO", b"second", channel="CH")
        yield task


def names(task, channel):
    token = task.startbrowse_container(channel=channel)
    found = []
    while True:
        name = task.getnext_container(token, nohandle=True)
        if task.eib.eibresp:
            return found
        found.append(name)


def refused(call, *args, **options):
    with pytest.raises(Condition) as caught:
        call(*args, **options)
    return caught.value.name, caught.value.resp2


def test_a_deleted_container_is_gone_and_the_others_stay(task):
    task.delete_container("ONE", channel="CH")
    assert names(task, "CH") == ["TWO"]
    assert refused(task.get_container, "ONE", channel="CH") == ("CONTAINERERR", 10)
    assert refused(task.delete_container, "ONE", channel="CH") == ("CONTAINERERR", 10)


def test_a_moved_container_has_its_data_under_the_new_name_in_place_of_what_was_there(task):
    task.move_container("ONE", "TWO", channel="CH", tochannel="CH")
    assert names(task, "CH") == ["TWO"]
    assert task.get_container("TWO", channel="CH").data == b"first"


def test_a_container_moves_to_another_channel(task):
    task.move_container("ONE", "GOT", channel="CH", tochannel="NEW")
    assert (names(task, "CH"), names(task, "NEW")) == (["TWO"], ["GOT"])
    assert task.get_container("GOT", channel="NEW").data == b"first"


@pytest.mark.rule("CHAN-MOVE-CURRENT")
def test_move_without_tochannel_moves_to_the_current_channel(task):
    assert refused(task.move_container, "ONE", "GOT", channel="CH") == ("INVREQ", 4)

    def owner(task):
        task.put_container("ONE", b"own", channel="OWN")
        task.move_container("ONE", "GOT", channel="OWN")
        task.move_container("GOT", "GOT")

    task.region.programs.register("OWNER", owner)
    task.link("OWNER", channel="CH")
    assert names(task, "CH") == ["ONE", "TWO", "GOT"]
    assert task.get_container("GOT", channel="CH").data == b"own"


@pytest.mark.rule("CHAN-BYTEOFFSET")
@pytest.mark.parametrize(("offset", "data"), [(0, b"first"), (3, b"st"), (5, b""), (6, b""), (-1, b"first")])
def test_byteoffset_below_zero_is_zero(task, offset, data):
    assert task.get_container("ONE", channel="CH", byteoffset=offset).data == data


@pytest.mark.rule("CHAN-CREATED-BY-LINK")
def test_link_creates_its_channel_in_the_scope_of_the_caller(task):
    task.region.programs.register("SERVER", lambda task: task.put_container("REPLY", b"made"))
    task.link("SERVER", channel="NEW")
    assert task.get_container("REPLY", channel="NEW").data == b"made"
    task.link("SERVER", channel="NEW")
    assert names(task, "NEW") == ["REPLY"]


def test_a_browse_that_has_ended_has_no_token_and_others_go_on(task):
    first, second = task.startbrowse_container(channel="CH"), task.startbrowse_container(channel="CH")
    task.endbrowse_container(first)
    assert refused(task.getnext_container, first) == ("TOKENERR", 3)
    assert refused(task.endbrowse_container, first) == ("TOKENERR", 3)
    assert task.getnext_container(second) == "ONE"


def test_a_browse_that_begins_when_another_has_ended_leaves_those_that_are_open(task):
    task.put_container("TWO", b"x", channel="CH")
    first, second = task.startbrowse_container(channel="CH"), task.startbrowse_container(channel="CH")
    assert task.getnext_container(second) == "ONE"
    task.endbrowse_container(first)
    third = task.startbrowse_container(channel="CH")
    assert [task.getnext_container(second), task.getnext_container(third)] == ["TWO", "ONE"]


def test_flength_cuts_what_is_put_and_what_is_got(task):
    task.put_container("ONE", b"abcdef", channel="CH", length=4)
    assert task.get_container("ONE", channel="CH").data == b"abcd"
    with pytest.raises(Condition) as caught:
        task.get_container("ONE", channel="CH", length=3)
    assert (caught.value.name, caught.value.data, caught.value.length) == ("LENGERR", b"abc", 4)


def test_append_and_prepend_add_to_what_is_there(task):
    task.put_container("ONE", b"-end", channel="CH", append=True)
    task.put_container("ONE", b"begin-", channel="CH", prepend=True)
    assert task.get_container("ONE", channel="CH").data == b"begin-first-end"


def test_byteoffset_and_nodata(task):
    assert task.get_container("ONE", channel="CH", byteoffset=2).data == b"rst"
    found = task.get_container("TWO", channel="CH", nodata=True)
    assert (found.data, found.length) == (None, 6)


@pytest.mark.parametrize(
    "kind", [{"char": True}, {"fromccsid": 37}, {"fromcodepage": "IBM037"}], ids=["CHAR", "FROMCCSID", "FROMCODEPAGE"]
)
def test_a_code_page_makes_a_container_char(task, kind):
    task.put_container("TEXT", b"abc", channel="CH", **kind)
    assert refused(task.put_container, "TEXT", b"x", channel="CH", bit=True) == ("INVREQ", 33)
    task.put_container("TEXT", b"x", channel="CH", char=True)
    assert refused(task.put_container, "ONE", b"x", channel="CH", **kind) == ("INVREQ", 33)


def test_the_receivers_of_get_container_as_text(task):
    got = {}
    task.execute("GET CONTAINER('TWO') CHANNEL('CH') INTO(REC) FLENGTH(LEN)", got)
    assert (got["REC"], got["LEN"]) == (b"second", 6)
    task.execute("GET CONTAINER('TWO') CHANNEL('CH') SET(PTR) FLENGTH(LEN)", got)
    assert bytes(got["PTR"]) == b"second"
    task.execute("STARTBROWSE CONTAINER CHANNEL('CH') BROWSETOKEN(TOKEN)", got)
    task.execute("GETNEXT CONTAINER(NAME) BROWSETOKEN(TOKEN)", got)
    assert got["NAME"].rstrip() == "ONE"


def test_lengerr_leaves_the_length_of_the_whole_container_in_flength(task):
    got = {"LEN": 3}
    with pytest.raises(Condition, match="LENGERR"):
        task.execute("GET CONTAINER('TWO') CHANNEL('CH') INTO(REC) FLENGTH(LEN)", got)
    assert (got["REC"], got["LEN"]) == (b"sec", 6)
