"""File control: keys, generic keys, updates, browses, alternate indexes, backout."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, TdqError
from tdqsim.cics.files import DataFile, Path

KEYS = (b"A1", b"A2", b"B1", b"C9")


@pytest.fixture
def region():
    with Region([]) as region:
        data = DataFile(keylength=2, recordsize=20)
        for key in KEYS:
            data.put(key, key + b" record")
        region.files.define("ACCT", data, recoverable=True)
        yield region


@pytest.fixture
def task(region):
    with region.task() as task:
        yield task


def refused(call, *args, **options):
    with pytest.raises(Condition) as caught:
        call(*args, **options)
    return caught.value.name, caught.value.resp2


@pytest.mark.parametrize(("length", "position"), [(0, 0), (256, 0), (4, -1), (4, 17)])
def test_a_key_lies_in_the_record(length, position):
    with pytest.raises(TdqError, match=f"a key of {length} bytes at {position}: allowed are 1 to 255 bytes inside"):
        DataFile(keylength=length, keyposition=position, recordsize=20 if length == 4 else 1000)
    assert DataFile(keylength=4, keyposition=16, recordsize=20).keyposition == 16
    assert DataFile(keylength=255, recordsize=255).keylength == 255


def test_a_full_key(task):
    assert task.read_file("ACCT", b"B1").data == b"B1 record"
    assert refused(task.read_file, "ACCT", b"B2") == ("NOTFND", 80)


def test_gteq_takes_the_next_higher(task):
    assert task.read_file("ACCT", b"B2", gteq=True).ridfld == b"C9"
    assert refused(task.read_file, "ACCT", b"D0", gteq=True) == ("NOTFND", 80)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"keylength": 1, "generic": True}, b"A1"),
        ({"keylength": 0, "generic": True}, b"A1"),
        ({"keylength": 1, "generic": True, "gteq": True}, b"A1"),
    ],
)
def test_a_generic_key(task, options, key):
    assert task.read_file("ACCT", b"AX", **options).ridfld == key


@pytest.mark.parametrize(
    ("options", "resp2"),
    [
        ({"keylength": 2, "generic": True}, 25),
        ({"generic": True}, 25),
        ({"keylength": 1}, 26),
        ({"keylength": -1, "generic": True}, 42),
    ],
)
def test_a_keylength_that_does_not_fit(task, options, resp2):
    assert refused(task.read_file, "ACCT", b"A1", **options) == ("INVREQ", resp2)


def test_a_record_too_long_is_cut_and_comes_with_its_length(task):
    with pytest.raises(Condition) as caught:
        task.read_file("ACCT", b"A1", 4)
    assert (caught.value.name, caught.value.resp2, caught.value.data, caught.value.length) == (
        "LENGERR",
        11,
        b"A1 r",
        9,
    )


def test_names_and_operations_are_looked_at_first(region, task):
    region.files.define("LOOK", DataFile(keylength=2), operations=("READ",))
    assert refused(task.read_file, "NONE", b"A1") == ("FILENOTFOUND", 1)
    assert refused(task.write_file, "LOOK", b"A1", b"A1") == ("INVREQ", 20)
    region.files.find("LOOK", "READ").enablestatus = "DISABLED"
    assert refused(task.read_file, "LOOK", b"A1") == ("DISABLED", 50)


def test_update_and_delete_need_a_record_that_is_held(task):
    assert refused(task.rewrite_file, "ACCT", b"A1 new") == ("INVREQ", 30)
    assert refused(task.delete_file, "ACCT") == ("INVREQ", 31)
    task.read_file("ACCT", b"A1", update=True)
    assert refused(task.read_file, "ACCT", b"A2", update=True) == ("INVREQ", 28)
    task.rewrite_file("ACCT", b"A1 new")
    assert task.read_file("ACCT", b"A1").data == b"A1 new"
    task.read_file("ACCT", b"A1", update=True)
    task.delete_file("ACCT")
    assert refused(task.read_file, "ACCT", b"A1") == ("NOTFND", 80)


def test_a_record_that_is_not_read_for_update_has_no_token(task):
    assert task.read_file("ACCT", b"A1").token == 0
    task.startbr("ACCT", b"A1")
    assert task.readnext("ACCT").token == 0
    assert task.read_file("ACCT", b"A1", token=0).token != 0


def test_tokens_hold_several_records(task):
    first = task.read_file("ACCT", b"A1", token=0).token
    second = task.read_file("ACCT", b"A2", token=0).token
    task.rewrite_file("ACCT", b"A2 second", token=second)
    task.rewrite_file("ACCT", b"A1 first", token=first)
    assert refused(task.rewrite_file, "ACCT", b"A1 again", token=first) == ("INVREQ", 47)


def held_until(region, name, release):
    """Whether a second task gets the record, which the first holds, after ``release`` and after the first has ended."""

    def second(task):
        return task.read_file(name, b"A1", update=True).data

    with region.task() as first:
        first.read_file(name, b"A1", update=True)
        handle = region.start(second)
        region.run()
        assert not handle.done
        release(first)
        region.run()
        released = handle.done
        assert refused(first.rewrite_file, name, b"A1 late") == ("INVREQ", 30)
    region.run()
    assert handle.result() == b"A1 record"
    return released


def test_unlock_lets_another_task_have_the_record(region):
    data = DataFile(keylength=2, recordsize=20)
    data.put(b"A1", b"A1 record")
    region.files.define("NORECOV", data)
    assert held_until(region, "NORECOV", lambda first: first.unlock("NORECOV"))


@pytest.mark.rule("FILE-UNLOCK-NO-TOKEN")
def test_unlock_without_a_token_releases_no_record_that_is_held_by_a_token(task):
    first = task.read_file("ACCT", b"A1", token=0).token
    task.read_file("ACCT", b"A2", update=True)
    task.unlock("ACCT")
    assert refused(task.rewrite_file, "ACCT", b"A2 new") == ("INVREQ", 30)
    task.unlock("ACCT")
    task.rewrite_file("ACCT", b"A1 new", token=first)


def two_tasks(region, first, second):
    """The results of two tasks; each function may suspend."""
    handles = [region.start(program) for program in (first, second)]
    region.run()
    return handles


@pytest.mark.parametrize("recoverable", [True, False])
def test_a_record_that_its_holder_deletes_is_not_found_by_the_task_that_waits_for_it(region, recoverable):
    region.files.define("FILE", DataFile(keylength=2), recoverable=recoverable)
    with region.task() as task:
        task.write_file("FILE", b"A1 record", b"A1")

    def first(task):
        task.read_file("FILE", b"A1", update=True)
        task.suspend()
        task.delete_file("FILE")

    def second(task):
        return refused(task.read_file, "FILE", b"A1", update=True)

    assert two_tasks(region, first, second)[1].result() == ("NOTFND", 80)


def test_a_record_whose_deletion_is_backed_out_cannot_be_added_again(region):
    def first(task):
        task.delete_file("ACCT", b"A1")
        task.suspend()
        task.syncpoint_rollback()

    def second(task):
        return refused(task.write_file, "ACCT", b"A1 second", b"A1")

    assert two_tasks(region, first, second)[1].result() == ("DUPREC", 150)
    with region.task() as task:
        assert task.read_file("ACCT", b"A1").data == b"A1 record"


def test_delete_with_a_key_waits_for_the_holder_of_the_record(region):
    region.files.define("NORECOV", DataFile(keylength=2))
    with region.task() as task:
        task.write_file("NORECOV", b"A1 record", b"A1")

    def first(task):
        task.read_file("NORECOV", b"A1", update=True)
        task.suspend()
        task.rewrite_file("NORECOV", b"A1 new")

    def second(task):
        return task.delete_file("NORECOV", b"A1")

    assert two_tasks(region, first, second)[1].result() == {"NUMREC": 1}
    with region.task() as task:
        assert refused(task.read_file, "NORECOV", b"A1") == ("NOTFND", 80)


def test_read_for_update_without_a_token_beside_one_with_a_token(task):
    token = task.read_file("ACCT", b"A1", token=0).token
    task.read_file("ACCT", b"A2", update=True)
    task.rewrite_file("ACCT", b"A2 new")
    task.rewrite_file("ACCT", b"A1 new", token=token)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_ridfld_may_be_any_bytes(task, kind):
    assert task.write_file("ACCT", kind(b"A3 record"), kind(b"A3")) == {"RIDFLD": b"A3"}
    assert task.read_file("ACCT", kind(b"A3"), update=True).data == b"A3 record"
    task.rewrite_file("ACCT", kind(b"A3 new"))
    task.startbr("ACCT", kind(b"A3"))
    assert task.readnext("ACCT", kind(b"A3")).data == b"A3 new"
    assert task.delete_file("ACCT", kind(b"A3")) == {"NUMREC": 1}


@pytest.mark.parametrize("ridfld", [b"", b"\1", b"\0\0\1"])
def test_a_relative_record_number_has_four_bytes(region, ridfld):
    region.files.define("RRDS", DataFile("RRDS"))
    with region.task() as task:
        with pytest.raises(TdqError, match=r"RIDFLD has . bytes; a relative record number has 4"):
            task.write_file("RRDS", b"record", ridfld)
        assert refused(task.write_file, "RRDS", b"record", bytes(4)) == ("ILLOGIC", 110)
        assert refused(task.read_file, "RRDS", bytes(4), rrn=True) == ("NOTFND", 80)


def test_unlock_with_a_token_releases_only_its_record(task):
    first = task.read_file("ACCT", b"A1", token=0).token
    second = task.read_file("ACCT", b"A2", token=0).token
    task.unlock("ACCT", token=first)
    assert refused(task.rewrite_file, "ACCT", b"A1 new", token=first) == ("INVREQ", 47)
    task.rewrite_file("ACCT", b"A2 new", token=second)
    assert task.read_file("ACCT", b"A2").data == b"A2 new"
    assert refused(task.unlock, "ACCT", token=first) == ("INVREQ", 47)


def test_delete_with_a_token_deletes_its_record(task):
    first = task.read_file("ACCT", b"A1", token=0).token
    task.read_file("ACCT", b"A2", token=0)
    task.delete_file("ACCT", token=first)
    assert refused(task.read_file, "ACCT", b"A1") == ("NOTFND", 80)
    assert task.read_file("ACCT", b"A2").data == b"A2 record"


def test_the_receivers_of_read_as_text(task):
    got = {"KEY": b"B1"}
    task.execute("READ FILE('ACCT') RIDFLD(KEY) INTO(REC) LENGTH(LEN) UPDATE TOKEN(HELD)", got)
    assert (got["REC"], got["LEN"]) == (b"B1 record", 9)
    task.rewrite_file("ACCT", b"B1 new", token=got["HELD"])
    task.execute("READ FILE('ACCT') RIDFLD(KEY) SET(PTR) LENGTH(LEN)", got)
    assert (bytes(got["PTR"]), got["LEN"]) == (b"B1 new", 6)


def test_the_receivers_of_a_browse_as_text(task):
    got = {"KEY": b"A2"}
    task.execute("STARTBR FILE('ACCT') RIDFLD(KEY)", got)
    task.execute("READNEXT FILE('ACCT') INTO(REC) LENGTH(LEN) RIDFLD(KEY)", got)
    assert (got["REC"], got["LEN"], got["KEY"]) == (b"A2 record", 9, b"A2")
    task.execute("READNEXT FILE('ACCT') SET(PTR) LENGTH(LEN) RIDFLD(KEY)", got)
    assert (bytes(got["PTR"]), got["KEY"]) == (b"B1 record", b"B1")
    got["LEN"] = 20
    task.execute("READPREV FILE('ACCT') INTO(REC) LENGTH(LEN) RIDFLD(KEY)", got)
    assert (got["REC"], got["LEN"], got["KEY"]) == (b"B1 record", 9, b"B1")
    task.execute("READPREV FILE('ACCT') SET(PTR) LENGTH(LEN) RIDFLD(KEY)", got)
    assert (bytes(got["PTR"]), got["LEN"], got["KEY"]) == (b"A2 record", 9, b"A2")


def test_length_says_how_much_is_written_and_how_much_of_a_record_a_browse_may_give(task):
    task.write_file("ACCT", b"D1 record", b"D1", 4)
    assert task.read_file("ACCT", b"D1").data == b"D1 r"
    task.read_file("ACCT", b"D1", update=True)
    task.rewrite_file("ACCT", b"D1 other", 5)
    assert task.read_file("ACCT", b"D1").data == b"D1 ot"
    task.startbr("ACCT", b"A1")
    for read in (task.readnext, task.readprev):
        with pytest.raises(Condition) as caught:
            read("ACCT", length=3)
        assert (caught.value.name, caught.value.resp2, caught.value.data) == ("LENGERR", 11, b"A1 ")


@pytest.mark.parametrize("command", ["READ", "READNEXT"])
def test_lengerr_leaves_the_length_of_the_whole_record_in_length(task, command):
    task.startbr("ACCT", b"A2")
    got = {"KEY": b"A2", "LEN": 6}
    with pytest.raises(Condition, match="LENGERR"):
        task.execute(f"{command} FILE('ACCT') INTO(REC) LENGTH(LEN) RIDFLD(KEY)", got)
    assert (got["REC"], got["LEN"], got["KEY"]) == (b"A2 rec", 9, b"A2")


def test_write(task):
    task.write_file("ACCT", b"B2 record", b"B2")
    assert refused(task.write_file, "ACCT", b"B2 record", b"B2") == ("DUPREC", 150)
    assert refused(task.write_file, "ACCT", b"Z" * 21, b"ZZ") == ("LENGERR", 12)
    assert refused(task.write_file, "ACCT", b"XX", b"YY")[0] == "INVREQ"


def test_a_generic_delete_counts(task):
    assert task.delete_file("ACCT", b"A", keylength=1, generic=True) == {"NUMREC": 2}
    assert refused(task.delete_file, "ACCT", b"A", keylength=1, generic=True) == ("NOTFND", 80)


def test_a_backout_undoes_the_changes_of_a_recoverable_file(region):
    with region.task() as task:
        task.write_file("ACCT", b"NN new", b"NN")
        task.delete_file("ACCT", b"A1")
        task.read_file("ACCT", b"A2", update=True)
        task.rewrite_file("ACCT", b"A2 changed")
        task.syncpoint_rollback()
        assert task.read_file("ACCT", b"A1").data == b"A1 record"
        assert task.read_file("ACCT", b"A2").data == b"A2 record"
        assert refused(task.read_file, "ACCT", b"NN") == ("NOTFND", 80)


def test_a_backout_restores_the_record_before_its_first_change(region):
    with region.task() as task:
        for record in (b"A1 first", b"A1 second"):
            task.read_file("ACCT", b"A1", update=True)
            task.rewrite_file("ACCT", record)
        task.syncpoint_rollback()
        assert task.read_file("ACCT", b"A1").data == b"A1 record"


def test_gteq_waits_for_each_record_that_another_task_deletes_meanwhile(region):
    def delete(key, times):
        def program(task):
            task.read_file("ACCT", key, update=True)
            for _ in range(times):
                task.suspend()
            task.delete_file("ACCT")

        return program

    def second(task):
        return task.read_file("ACCT", b"A1", gteq=True, update=True).data

    *_, handle = [region.start(program) for program in (delete(b"A1", 1), delete(b"A2", 4), second)]
    region.run()
    assert handle.result() == b"B1 record"


def test_unlock_by_another_name_leaves_a_record_locked_that_was_changed_under_recovery(region):
    region.files.define("SAME", region.files.known["ACCT"].data)

    def second(task):
        return task.read_file("SAME", b"A1", update=True).data

    with region.task() as first:
        first.read_file("ACCT", b"A1", update=True)
        first.rewrite_file("ACCT", b"A1 first")
        first.read_file("SAME", b"A1", update=True)
        first.unlock("SAME")
        handle = region.start(second)
        region.run()
        assert not handle.done
        first.syncpoint_rollback()
    region.run()
    assert handle.result() == b"A1 record"


def test_reads_for_update_are_counted_apart(region, task):
    task.read_file("ACCT", b"A1")
    task.read_file("ACCT", b"A2", update=True)
    task.read_file("ACCT", b"B1", token=0)
    requests = region.files.known["ACCT"].requests
    assert (requests["reads"], requests["update_reads"]) == (1, 2)


def test_a_second_update_waits_for_the_first(region):
    seen = []

    def second(task):
        task.read_file("ACCT", b"A1", update=True)
        seen.append(task.read_file("ACCT", b"A1").data)

    with region.task() as first:
        first.read_file("ACCT", b"A1", update=True)
        first.rewrite_file("ACCT", b"A1 first")
        handle = region.start(second)
        region.run()
        assert seen == []
    region.run()
    handle.result()
    assert seen == [b"A1 first"]


# -- browses --------------------------------------------------------------------------------------------------------


def test_forward_and_back_gives_the_same_record_again(task):
    task.startbr("ACCT", b"A2")
    assert [task.readnext("ACCT").ridfld for _ in range(2)] == [b"A2", b"B1"]
    assert [task.readprev("ACCT").ridfld for _ in range(2)] == [b"B1", b"A2"]
    assert task.readnext("ACCT").ridfld == b"A2"


def test_the_end_does_not_end_the_browse(task):
    task.startbr("ACCT", b"C0")
    assert task.readnext("ACCT").ridfld == b"C9"
    assert refused(task.readnext, "ACCT") == ("ENDFILE", 90)
    assert task.readprev("ACCT").ridfld == b"C9"


def test_readprev_from_the_end_of_the_file(task):
    task.startbr("ACCT", b"\xff\xff")
    assert task.readprev("ACCT").ridfld == b"C9"


def test_readprev_right_after_startbr_needs_that_very_record(task):
    task.startbr("ACCT", b"B0")
    assert refused(task.readprev, "ACCT") == ("NOTFND", 80)


def test_a_changed_ridfld_moves_the_browse(task):
    task.startbr("ACCT", b"A1")
    assert task.readnext("ACCT", b"A1").ridfld == b"A1"
    assert task.readnext("ACCT", b"B0").ridfld == b"B1"
    assert task.readprev("ACCT", b"A2").ridfld == b"A2"


def test_resetbr_moves_the_browse(task):
    task.startbr("ACCT", b"A1")
    assert task.readnext("ACCT").ridfld == b"A1"
    task.resetbr("ACCT", b"B1")
    assert [task.readnext("ACCT").ridfld for _ in range(2)] == [b"B1", b"C9"]
    task.resetbr("ACCT", b"B2")
    assert task.readnext("ACCT").ridfld == b"C9"
    assert refused(task.resetbr, "ACCT", b"D0") == ("NOTFND", 80)


def test_resetbr_moves_the_browse_of_its_reqid(task):
    task.startbr("ACCT", b"A1")
    task.startbr("ACCT", b"A1", reqid=1)
    task.resetbr("ACCT", b"B1", reqid=1)
    assert (task.readnext("ACCT").ridfld, task.readnext("ACCT", reqid=1).ridfld) == (b"A1", b"B1")
    assert (task.readnext("ACCT").ridfld, task.readprev("ACCT", reqid=1).ridfld) == (b"A2", b"B1")
    assert refused(task.resetbr, "ACCT", b"B1", reqid=2) == ("INVREQ", 36)


@pytest.mark.parametrize("verb", ["startbr", "resetbr"])
def test_where_a_browse_begins(task, verb):
    def begin(key, **options):
        task.startbr("ACCT", b"A1")
        if verb == "startbr":
            task.endbr("ACCT")
        getattr(task, verb)("ACCT", key, **options)
        found = task.readnext("ACCT").ridfld
        task.endbr("ACCT")
        return found

    assert begin(b"B0") == b"B1"
    assert begin(b"B1", equal=True) == b"B1"
    assert begin(b"BX", keylength=1, generic=True) == b"B1"
    assert refused(begin, b"B0", equal=True) == ("NOTFND", 80)
    task.endbr("ACCT", nohandle=True)
    assert refused(begin, b"B0", keylength=1) == ("INVREQ", 26)


@pytest.mark.parametrize("verb", ["startbr", "resetbr"])
@pytest.mark.parametrize(("organisation", "word", "second"), [("ESDS", "rba", 6), ("RRDS", "rrn", 2)])
def test_a_browse_by_number(region, task, verb, organisation, word, second):
    region.files.define("NUMB", DataFile(organisation, recordsize=20))
    task.write_file("NUMB", b"first ", (1).to_bytes(4, "big"))
    task.write_file("NUMB", b"second", (2).to_bytes(4, "big"))
    number = second.to_bytes(4, "big")
    task.startbr("NUMB", bytes(4), **{word: True})
    if verb == "startbr":
        task.endbr("NUMB")
    getattr(task, verb)("NUMB", number, **{word: True})
    found = task.readnext("NUMB")
    assert (found.data, found.ridfld) == (b"second", number)
    assert task.read_file("NUMB", number, **{word: True}).data == b"second"


def test_a_record_is_deleted_by_its_number(region, task):
    region.files.define("SLOT", DataFile("RRDS", recordsize=20))
    task.write_file("SLOT", b"seven", bytes([0, 0, 0, 7]))
    assert task.delete_file("SLOT", bytes([0, 0, 0, 7]), rrn=True) == {"NUMREC": 1}
    assert refused(task.read_file, "SLOT", bytes([0, 0, 0, 7]), rrn=True) == ("NOTFND", 80)


def test_browses_have_names_and_end(task):
    assert refused(task.startbr, "ACCT", b"D0") == ("NOTFND", 80)
    assert refused(task.readnext, "ACCT") == ("INVREQ", 34)
    task.startbr("ACCT", b"A1")
    assert refused(task.startbr, "ACCT", b"A1") == ("INVREQ", 33)
    task.startbr("ACCT", b"C9", reqid=1)
    assert (task.readnext("ACCT", reqid=1).ridfld, task.readnext("ACCT").ridfld) == (b"C9", b"A1")
    task.endbr("ACCT", reqid=1)
    assert refused(task.endbr, "ACCT", reqid=1) == ("INVREQ", 35)
    assert refused(task.readprev, "ACCT", reqid=1) == ("INVREQ", 41)
    task.syncpoint()
    assert refused(task.readnext, "ACCT") == ("INVREQ", 34)


def test_a_generic_browse_does_not_go_back(task):
    task.startbr("ACCT", b"A", keylength=1, generic=True)
    task.readnext("ACCT")
    assert refused(task.readprev, "ACCT") == ("INVREQ", 24)


# -- alternate indexes ----------------------------------------------------------------------------------------------


def test_equal_alternate_keys_raise_dupkey_but_for_the_last(region, task):
    data = DataFile(keylength=2, recordsize=20)
    region.files.define("CITY", Path(data, keylength=4, keyposition=2))
    for key, city in ((b"K3", b"ROM "), (b"K1", b"ROM "), (b"K2", b"ROM "), (b"K4", b"OSLO")):
        data.put(key, key + city)
    task.startbr("CITY", b"ROM ")
    met = []
    for _ in range(3):
        try:
            met.append(("NORMAL", task.readnext("CITY").data))
        except Condition as condition:
            met.append((condition.name, condition.data))
    assert met == [("DUPKEY", b"K3ROM "), ("DUPKEY", b"K1ROM "), ("NORMAL", b"K2ROM ")]


def test_rewrite_moves_a_record_to_its_new_alternate_key(region, task):
    data = DataFile(keylength=2, recordsize=20)
    region.files.define("BASE", data)
    region.files.define("CITY", Path(data, keylength=4, keyposition=2, unique=True))
    task.write_file("BASE", b"K1ROM ", b"K1")
    task.write_file("BASE", b"K2OSLO", b"K2")
    task.read_file("BASE", b"K1", update=True)
    assert refused(task.rewrite_file, "BASE", b"K1OSLO") == ("DUPREC", 150)
    task.rewrite_file("BASE", b"K1ROM 2")
    task.read_file("BASE", b"K1", update=True)
    task.rewrite_file("BASE", b"K1BERN")
    assert task.read_file("CITY", b"BERN").data == b"K1BERN"
    assert refused(task.read_file, "CITY", b"ROM ") == ("NOTFND", 80)


# -- other organisations --------------------------------------------------------------------------------------------


def test_an_esds_gives_addresses_and_deletes_nothing(region, task):
    region.files.define("LOG", DataFile("ESDS", recordsize=20))
    assert task.write_file("LOG", b"12345") == {"RIDFLD": bytes(4)}
    assert task.write_file("LOG", b"678") == {"RIDFLD": bytes([0, 0, 0, 5])}
    assert task.read_file("LOG", bytes([0, 0, 0, 5]), rba=True).data == b"678"
    task.read_file("LOG", bytes(4), rba=True, update=True)
    task.rewrite_file("LOG", b"54321")
    assert task.write_file("LOG", b"9") == {"RIDFLD": bytes([0, 0, 0, 8])}
    assert refused(task.delete_file, "LOG", bytes(4), rba=True) == ("INVREQ", 21)


def test_the_address_of_a_record_that_was_written_is_received_as_text(region, task):
    region.files.define("LOG", DataFile("ESDS", recordsize=20))
    got = {"REC": b"12345", "AT": b"\xff\xff\xff\xff"}
    task.execute("WRITE FILE('LOG') FROM(REC) RIDFLD(AT) RBA", got)
    task.execute("WRITE FILE('LOG') FROM(REC) RIDFLD(AT) RBA", got)
    assert got["AT"] == bytes([0, 0, 0, 5])


def test_an_rrds_has_numbers(region, task):
    region.files.define("SLOT", DataFile("RRDS", recordsize=20))
    task.write_file("SLOT", b"seven", bytes([0, 0, 0, 7]))
    assert refused(task.write_file, "SLOT", b"again", bytes([0, 0, 0, 7])) == ("DUPREC", 150)
    task.startbr("SLOT", bytes([0, 0, 0, 1]), rrn=True)
    assert task.readnext("SLOT").ridfld == bytes([0, 0, 0, 7])


def test_a_file_is_disabled_and_enabled_again(task):
    task.set_file("ACCT", enablestatus=24)
    assert refused(task.read_file, "ACCT", b"A1")[0] == "DISABLED"
    task.set_file("ACCT", enablestatus=23)
    assert task.read_file("ACCT", b"A1").data == b"A1 record"


def test_inquire_file_goes_over_all_files_and_shows_their_states():
    with Region([]) as region:
        region.files.define("ONE", DataFile(keylength=2, recordsize=20))
        region.files.define("TWO", DataFile("ESDS"), operations=("READ",), recoverable=True)
        with region.task() as task:
            task.set_file("ONE", openstatus=19)
            task.inquire_file_start()
            found = [task.inquire_file_next("OPENSTATUS", "ENABLESTATUS", "TYPE", "ADD") for _ in range(2)]
            with pytest.raises(Condition) as caught:
                task.inquire_file_next("TYPE")
            task.inquire_file_end()
    assert (caught.value.name, caught.value.resp2) == ("END", 2)
    assert [info.as_dict() for info in found] == [
        {"FILE": "ONE     ", "OPENSTATUS": 19, "ENABLESTATUS": 33, "TYPE": 6, "ADD": 41},
        {"FILE": "TWO     ", "OPENSTATUS": 18, "ENABLESTATUS": 23, "TYPE": 5, "ADD": 42},
    ]


def test_a_browse_turns_at_a_record_that_was_deleted(task):
    task.startbr("ACCT", b"A2")
    assert task.readnext("ACCT").ridfld == b"A2"
    task.delete_file("ACCT", b"A2")
    assert refused(task.readprev, "ACCT") == ("NOTFND", 80)
    assert task.readnext("ACCT").ridfld == b"B1"
    assert [task.readprev("ACCT").ridfld for _ in range(2)] == [b"B1", b"A1"]
    task.delete_file("ACCT", b"A1")
    assert task.readnext("ACCT").ridfld == b"B1"


def test_a_browse_of_a_path_turns_at_a_record_that_was_deleted(region, task):
    region.files.define("CODE", Path(region.files.known["ACCT"].data, keylength=2, keyposition=0))
    task.startbr("CODE", b"A2")
    assert task.readnext("CODE").ridfld == b"A2"
    task.delete_file("ACCT", b"A2")
    assert refused(task.readprev, "CODE") == ("NOTFND", 80)
    assert [task.readnext("CODE").data, task.readprev("CODE").data] == [b"B1 record", b"B1 record"]


def test_a_record_that_the_task_deletes_by_its_key_is_no_longer_held(task):
    task.read_file("ACCT", b"A1", update=True)
    task.delete_file("ACCT", b"A1")
    assert refused(task.rewrite_file, "ACCT", b"A1 new") == ("INVREQ", 30)
    assert refused(task.read_file, "ACCT", b"A1") == ("NOTFND", 80)
