"""What a restart finds of temporary storage and of files: by model, by recoverability, by how the last run ended."""

from __future__ import annotations

import pytest

from tdqsim import Abend, Condition, Region, TdqError, state
from tdqsim.cics.files import DataFile
from tdqsim.definitions import dump_definitions, export_csd, parse_csd, parse_definitions
from tests.rules import expect_rule


class Runs:
    """Runs of one region on one store."""

    def __init__(self, folder) -> None:
        self.folder = folder

    def begin(self, **arguments) -> Region:
        region = Region([], store=self.folder / "store", **arguments)
        region.ts.define_model("REC", recovery=True)
        region.ts.define_model("MAIN", location="MAIN")
        region.ts.define_model("AUX", location="AUXILIARY")
        return region

    def file(self, region: Region, **options) -> DataFile:
        data = DataFile(keylength=2)
        data.put(b"A1", b"A1 first")
        region.files.define("ACCT", data, kept=True, **options)
        return data


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def items(region: Region, queue: str) -> list[bytes]:
    """What a program finds on a queue."""
    if queue not in region.ts.queues:
        return []
    numitems = region.readq_ts(queue, item=1).numitems
    return [region.readq_ts(queue, item=number).data for number in range(1, numitems + 1)]


def fill(region: Region) -> None:
    for queue in ("REC1", "AUX1", "MAIN1"):
        for data in (b"one", b"two"):
            region.writeq_ts(queue, data)
    region.writeq_ts("M2", b"one", main=True)
    region.writeq_ts("AUX3", b"one", main=True)  # its model says AUXILIARY, which counts


def test_a_queue_that_is_shorter_than_at_the_warm_start_before_is_as_short_after_the_next_one(runs):
    region = runs.begin()
    fill(region)
    for left in ([b"short"], [b"short"], []):
        region.close()
        region = runs.begin()
        region.deleteq_ts("AUX1")
        for data in left:
            region.writeq_ts("AUX1", data)
    region.close()
    with runs.begin() as region:
        assert items(region, "AUX1") == []


@pytest.mark.rule("TS-RESTART-WARM", "TS-RESTART-EMERGENCY", "TS-RESTART-COLD")
@pytest.mark.parametrize(
    ("clean", "arguments", "left"),
    [
        (True, {}, {"REC1", "AUX1"}),
        (False, {}, {"REC1"}),
        (True, {"start": "COLD"}, set()),
        (False, {"start": "COLD"}, set()),
    ],
)
def test_which_queues_a_start_finds(runs, clean, arguments, left):
    region = runs.begin()
    fill(region)
    region.close(clean=clean)
    with runs.begin(**arguments) as region:
        for queue in ("REC1", "AUX1", "MAIN1", "M2"):
            assert items(region, queue) == ([b"one", b"two"] if queue in left else []), queue
        assert items(region, "AUX3") == ([b"one"] if "AUX1" in left else [])


def test_queues_that_an_emergency_restart_has_lost_do_not_come_back(runs):
    region = runs.begin()
    fill(region)
    region.close()
    region = runs.begin()
    region.close(clean=False)
    runs.begin().close()
    with runs.begin() as region:
        assert items(region, "AUX1") == []
        assert items(region, "REC1") == [b"one", b"two"]


def test_a_backout_undoes_writes_rewrites_and_deletes_of_a_recoverable_queue(runs):
    with runs.begin() as region:
        fill(region)
        for change in (
            lambda task: task.writeq_ts("REC1", b"three"),
            lambda task: task.writeq_ts("REC1", b"other", item=1, rewrite=True),
            lambda task: task.deleteq_ts("REC1"),
            lambda task: task.writeq_ts("RECNEW", b"new"),
        ):

            def fails(task, change=change):
                change(task)
                task.abend("OOPS")

            handle = region.start(fails)
            region.run()
            with pytest.raises(Abend, match="OOPS"):
                handle.result()
            assert items(region, "REC1") == [b"one", b"two"]
            assert items(region, "RECNEW") == []


def test_what_was_not_committed_is_gone_after_a_failure_and_what_was_is_there(runs):
    region = runs.begin()
    fill(region)
    task = region.task().__enter__()
    task.writeq_ts("REC1", b"done", item=2, rewrite=True)
    task.syncpoint()
    task.writeq_ts("REC1", b"not done")
    task.writeq_ts("REC2", b"not done")
    region.close(clean=False)
    with runs.begin() as region:
        assert items(region, "REC1") == [b"one", b"done"]
        assert items(region, "REC2") == []
        region.deleteq_ts("REC1")
    with runs.begin() as region:
        assert items(region, "REC1") == []


@pytest.mark.rule("TS-RECOVERABLE-WAITS")
@pytest.mark.parametrize(
    "change", [lambda task: task.writeq_ts("REC1", b"other"), lambda task: task.deleteq_ts("REC1")]
)
@pytest.mark.parametrize("end", ["syncpoint", "syncpoint_rollback"])
def test_another_task_waits_for_a_change_of_a_recoverable_queue_to_the_syncpoint(runs, change, end):
    told = []

    def holds(task):
        task.writeq_ts("REC2", b"held")
        for _ in range(9):
            task.suspend()
        told.append("held to the end")

    def waits_for_what_is_held(task):
        task.writeq_ts("REC2", b"other")

    def writes(task):
        task.writeq_ts("REC1", b"mine")
        told.append("written")
        task.suspend()
        told.append("goes on")
        getattr(task, end)()

    def changes(task):
        change(task)
        told.append("changed")

    with runs.begin() as region:
        region.writeq_ts("REC1", b"before")
        for program in (holds, waits_for_what_is_held, writes, changes):
            region.start(program)
        region.run()
        assert items(region, "REC2") == [b"held", b"other"]
    assert told == ["written", "goes on", "changed", "held to the end"]


@pytest.mark.rule("TS-WRITE-DELETED")
def test_no_write_to_a_recoverable_queue_behind_its_delete_before_the_syncpoint(runs):
    with runs.begin() as region, region.task() as task:
        task.writeq_ts("REC1", b"one")
        task.deleteq_ts("REC1")
        expect_rule("TS-WRITE-DELETED", task.writeq_ts, "REC1", b"two")
        task.syncpoint()
        assert task.writeq_ts("REC1", b"two").item == 1


@pytest.mark.parametrize(
    ("prefix", "options", "said"),
    [
        ("", {}, "1 to 16"),
        ("X" * 17, {}, "1 to 16"),
        ("A", {"location": "DISK"}, "AUXILIARY and MAIN"),
        ("A", {"location": "MAIN", "recovery": True}, "not recoverable"),
    ],
)
def test_a_model_that_cannot_be(runs, prefix, options, said):
    with runs.begin() as region, pytest.raises(TdqError, match=said):
        region.ts.define_model(prefix, **options)


@pytest.mark.rule("FILE-RESTART")
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("arguments", [{}, {"start": "COLD"}, {"start": "INITIAL"}])
def test_a_kept_file_is_as_it_was_left_however_the_region_ended(runs, clean, arguments):
    region = runs.begin()
    runs.file(region)
    with region.task() as task:
        task.write_file("ACCT", b"B1 second", b"B1")
        task.delete_file("ACCT", b"A1")
    region.close(clean=clean)
    with runs.begin(**arguments) as region:
        data = runs.file(region)
        assert dict(data.records) == {b"B1": b"B1 second"}


def test_a_recoverable_kept_file_has_what_was_committed(runs):
    region = runs.begin()
    runs.file(region, recoverable=True)
    task = region.task().__enter__()
    task.write_file("ACCT", b"B1 done", b"B1")
    task.syncpoint()
    task.write_file("ACCT", b"C1 not done", b"C1")
    task.delete_file("ACCT", b"A1")
    region.close(clean=False)
    with runs.begin() as region:
        assert dict(runs.file(region, recoverable=True).records) == {b"A1": b"A1 first", b"B1": b"B1 done"}


def test_an_emptied_file_stays_empty_and_one_in_order_of_entry_goes_on_behind_its_end(runs):
    region = runs.begin()
    runs.file(region)
    region.files.define("LOG", DataFile("ESDS"), kept=True)
    with region.task() as task:
        task.delete_file("ACCT", b"A1")
        for text in (b"one", b"three"):
            task.write_file("LOG", text, b"")
    region.close(clean=False)
    with runs.begin() as region:
        assert not runs.file(region).records
        log = DataFile("ESDS")
        region.files.define("LOG", log, kept=True)
        with region.task() as task:
            task.write_file("LOG", b"next", b"")
        assert list(log.records.values()) == [b"one", b"three", b"next"]
        assert max(log.records) == (8).to_bytes(4, "big")


# -- in doubt --------------------------------------------------------------------------------------------------------


def append_twice(task) -> None:
    task.writeq_ts("REC1", b"three")
    task.writeq_ts("REC1", b"four")


def rewrite_twice(task) -> None:
    for data in (b"other", b"else"):
        task.writeq_ts("REC1", data, item=1, rewrite=True)


QUEUE_CHANGES = {
    "append": (append_twice, [b"one", b"two", b"three", b"four"]),
    "rewrite": (rewrite_twice, [b"else", b"two"]),
    "delete": (lambda task: [task.deleteq_ts(name, nohandle=True) for name in ("REC1", "RECNONE")], []),
}
FILE_CHANGES = {
    "write": (lambda task: task.write_file("ACCT", b"B2 new", b"B2"), {b"A1": b"A1 first", b"B2": b"B2 new"}),
    "delete": (lambda task: task.delete_file("ACCT", b"A1"), {}),
}


def rewrite_record(task) -> None:
    task.read_file("ACCT", b"A1", update=True)
    task.rewrite_file("ACCT", b"A1 other")


FILE_CHANGES["rewrite"] = (rewrite_record, {b"A1": b"A1 other"})


def in_doubt(region: Region, change) -> None:
    """Leave a unit of work that has made a change, prepared, to a coordinator that is gone."""
    with region.task() as task:
        change(task)
        branch = region.recovery.branch("TX1", task)
    assert branch.prepare()


@pytest.mark.rule("TS-LOCKED")
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("what", QUEUE_CHANGES)
def test_what_a_unit_of_work_in_doubt_did_to_a_recoverable_queue_is_with_it_in_the_next_run(runs, what, commit, clean):
    change, changed = QUEUE_CHANGES[what]
    region = runs.begin()
    for data in (b"one", b"two"):
        region.writeq_ts("REC1", data)
    in_doubt(region, change)
    for _restart in range(2):
        region.close(clean=clean)
        region = runs.begin()
        expect_rule("TS-LOCKED", region.writeq_ts, "REC1", b"more")
        expect_rule("TS-LOCKED", region.deleteq_ts, "REC1")
        assert items(region, "REC1") == changed
    branch = region.recovery.branch("TX1")
    (branch.commit if commit else branch.back_out)()
    wanted = changed if commit else [b"one", b"two"]
    assert items(region, "REC1") == wanted
    assert list(region.ts.queues) == (["REC1"] if wanted else [])
    region.close(clean=clean)
    with runs.begin() as region:
        assert items(region, "REC1") == wanted
        assert region.writeq_ts("REC1", b"more").numitems == len(wanted) + 1


@pytest.mark.rule("FILE-LOCKED")
@pytest.mark.parametrize("defined", ["before", "behind"])
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("what", FILE_CHANGES)
def test_what_a_unit_of_work_in_doubt_did_to_a_kept_file_is_with_it_in_the_next_run(runs, what, commit, clean, defined):
    change, changed = FILE_CHANGES[what]
    region = runs.begin()
    runs.file(region, recoverable=True)
    in_doubt(region, change)
    for _restart in range(2):
        region.close(clean=clean)
        region = runs.begin()
    if defined == "before":
        data = runs.file(region, recoverable=True)
        assert dict(data.records) == changed
        locked = next(iter(changed.keys() - {b"A1"}), b"A1")
        with region.task() as task:
            if locked in data.records:
                expect_rule("FILE-LOCKED", task.read_file, "ACCT", locked, update=True)
            else:
                expect_rule("FILE-LOCKED", task.write_file, "ACCT", locked + b" again", locked)
    branch = region.recovery.branch("TX1")
    (branch.commit if commit else branch.back_out)()
    wanted = changed if commit else {b"A1": b"A1 first"}
    if defined == "before":
        assert dict(data.records) == wanted
    else:
        assert dict(runs.file(region, recoverable=True).records) == wanted
    region.close(clean=clean)
    with runs.begin() as region:
        data = runs.file(region, recoverable=True)
        assert dict(data.records) == wanted
        with region.task() as task:
            task.write_file("ACCT", b"Z9", b"Z9")


def test_a_queue_stays_what_its_model_made_of_it(runs):
    region = runs.begin()
    region.writeq_ts("REC1", b"one")
    region.close()
    region = Region([], store=runs.folder / "store")  # without models
    region.writeq_ts("REC1", b"two")
    region.close()
    with runs.begin() as region:
        assert items(region, "REC1") == [b"one", b"two"]


# -- TSMODEL ---------------------------------------------------------------------------------------------------------

CSD = """\
DEFINE TSMODEL(ORDERS) GROUP(ORD) PREFIX(ORD) RECOVERY(YES) SECURITY(NO)
DEFINE TSMODEL(ORDMAIN) GROUP(ORD) PREFIX(ORDM) LOCATION(MAIN)
DEFINE TSMODEL(ALL) GROUP(ORD) PREFIX(O)
"""


def test_models_come_from_csd_text_and_the_longest_prefix_counts(tmp_path):
    found = parse_csd(CSD).definitions
    assert parse_csd(export_csd(found)).definitions.tsmodels == found.tsmodels
    for clean in (True, False):
        with Region(found, store=tmp_path / f"store-{clean}") as region:
            for queue in ("ORD1", "ORDM1", "OTHER"):
                region.writeq_ts(queue, b"one")
            with region.task() as task:
                task.writeq_ts("ORD1", b"two")
                task.writeq_ts("OTHER", b"two")
                task.syncpoint_rollback()
            assert (items(region, "ORD1"), items(region, "OTHER")) == ([b"one"], [b"one", b"two"])
            region.close(clean=clean)
        with Region([], store=tmp_path / f"store-{clean}") as region:  # the catalogue has the models
            assert items(region, "ORD1") == [b"one"]
            assert items(region, "ORDM1") == []
            assert items(region, "OTHER") == ([b"one", b"two"] if clean else [])
            assert region.ts.recoverable("ORDX")
            assert region.ts.model("ORDMX").location == "MAIN"


def test_models_come_from_yaml_and_one_of_the_same_name_takes_its_place(tmp_path):
    text = dump_definitions(parse_csd(CSD).definitions)
    with Region(parse_definitions(text)) as region:
        assert region.ts.recoverable("ORD")
        other = parse_csd("DEFINE TSMODEL(ORDERS) GROUP(ORD) PREFIX(ORD)").definitions
        assert state.planned_installs(region, other)[0][2:] == ("changed", ("RECOVERY YES -> NO",))
        region.install(other)
        assert state.planned_installs(region, other)[0][2:] == ("unchanged", ())
        assert not region.ts.recoverable("ORD")
        assert len(region.ts.models) == 3


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ("PREFIX(X) LOCATION(MAIN) RECOVERY(YES)", "is allowed with location AUXILIARY only"),
        ("LOCATION(MAIN)", "is required"),
        ("PREFIX(SEVENTEEN-LETTERS)", "16"),
        ("PREFIX(X) LOCATION(DISK)", "AUXILIARY"),
    ],
)
def test_a_model_that_is_none_is_told(attributes, told):
    reports = parse_csd(f"DEFINE TSMODEL(BAD) GROUP(ORD) {attributes}").reports
    assert any(told in report.message for report in reports), reports


def test_names_that_are_not_latin_1_are_kept_apart_over_a_restart(runs):
    queues = ("REC\u20ac", "REC?", "AUX\u20ac", "AUX?", "A" * 16, "\u20ac" * 16)
    with runs.begin(code_page=1140) as region:
        for queue in queues:
            region.writeq_ts(queue, queue.encode())
            region.writeq_ts(queue, b"two")
    with runs.begin(code_page=1140) as region:
        assert {queue: items(region, queue) for queue in queues} == {
            queue: [queue.encode(), b"two"] for queue in queues
        }
        region.deleteq_ts(queues[0])
    with runs.begin(code_page=1140) as region:
        assert items(region, queues[0]) == []
        assert items(region, queues[1]) == [b"REC?", b"two"]


def test_a_name_longer_than_16_characters_is_not_valid(runs):
    with runs.begin() as region:
        with pytest.raises(Condition, match=r"INVREQ .* is not a valid queue name"):
            region.writeq_ts("R" * 17, b"one")
        assert not region.ts.queues
