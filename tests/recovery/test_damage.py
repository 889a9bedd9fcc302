"""A region on a store that was damaged on purpose: refused, or the damaged record reported; never other data."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.files import DataFile
from tdqsim.cli import main
from tdqsim.core.store import Store
from tdqsim.core.store import check as storecheck
from tdqsim.definitions import define_tsmodel
from tdqsim.errors import StoreDamaged, StoreError
from tdqsim.facts import Resp
from tests import apart
from tests.recovery.helpers import NAMES, WRITEQ, again, make, prepared, queue, queues
from tests.rules import rule

pytestmark = pytest.mark.usefixtures("checked_here")

Contents = dict[str, list[str]]
IN_DOUBT = "in doubt"


def damage(path: Path, seed: int) -> None:
    """Flip a bit, blank a stretch or cut off the end of one of the store's files."""
    rng = random.Random(seed)
    file = path / rng.choice(["volatile", "durable"]) / "data.mdb"
    if not file.exists():
        file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    used = max(len(bytes(data).rstrip(b"\0")), 4 * 4096)
    at = rng.randrange(min(used, len(data)))
    kind = rng.choice(["bit", "blank", "cut"])
    if kind == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "blank":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    else:
        del data[at:]
    file.write_bytes(data)


def spoil(path: Path, old: bytes, new: bytes) -> None:
    """Write over bytes wherever the store has them."""
    for file in path.glob("*/data.mdb"):
        file.write_bytes(file.read_bytes().replace(old, new))


def write_each(region: Region, name: str, records: Iterable[bytes]) -> None:
    """Every record in a unit of work of its own: those of one unit of work lie together, and are damaged together."""
    for record in records:
        region.writeq_td(name, record)


def fill(path: Path, records: int, *, clean: bool) -> Contents:
    """A region's store with some history; what it holds."""
    region = make(*queues(), queue("LOG2"), store=path)
    for number in range(records):
        for name in NAMES.values():
            region.writeq_td(name, b"%s %d " % (name.encode(), number) * (150 if number % 17 == 16 else 1))
            if number % 3 == 2:
                region.readq_td(name)
    prepared(region, (WRITEQ, "LOG2"))
    held = {name: [record.decode() for record in region.peek(name)] for name in NAMES.values()}
    held["LOG2"] = []
    held[IN_DOUBT] = ["new"]
    region.close(clean=clean)
    if not clean:
        held["NOQ"] = []
    return held


def use(path: Path) -> tuple[Contents, str]:
    """Start a region and read everything; what came, and what ended it."""
    seen: Contents = {}
    try:
        region = Region(store=path)
    except StoreError as error:
        return seen, f"{type(error).__name__}: {error}"
    problem = "".join(region.store.notes)  # that the last commit may be missing, which prepared the unit of work
    try:
        for name in (*NAMES.values(), "LOG2"):
            seen[name] = []
            while (record := region.readq_td(name, nohandle=True)) != b"":
                seen[name].append(record.decode())
            if (why := last_answer(region, name)) not in ("QZERO", "LOCKED"):
                problem = f"{name}: {why}"
        if region.recovery.shunted or not problem:
            (uow,) = region.recovery.shunted.values()
            seen[IN_DOUBT] = [data.decode() for work in uow.works.values() for data in work.written]
    except (StoreError, Condition) as error:  # ROLLEDBACK: the commit of a read met it
        problem = f"{type(error).__name__}: {error}"
    finally:
        region.close(clean=False)
    return seen, problem


def last_answer(region: Region | Task, name: str) -> str:
    try:
        region.readq_td(name)
    except Condition as condition:
        return f"{condition.name}{f': {condition.detail}' if condition.resp is Resp.IOERR else ''}"
    return "NORMAL"


def judge(expected: Contents, seen: Contents, problem: str) -> str:
    """Everything, or with a problem the beginning of it and no more."""
    if not problem:
        assert seen == expected
        return "harmless"
    for name, records in seen.items():
        assert records == expected[name][: len(records)], (name, problem)
    return "reported" if seen else "refused"


@pytest.fixture(scope="module", params=[True, False], ids=["closed", "failed"])
def small(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "store"
    return path, fill(path, 60, clean=request.param)


def copy_of(path: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(path, target))


def try_damages(small: tuple[Path, Contents], tmp_path: Path, seeds: range) -> Counter[str]:
    path, expected = small
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        place = copy_of(path, tmp_path / "damaged")
        damage(place, seed)
        outcomes[judge(expected, *use(place))] += 1
    return outcomes


def test_a_damaged_store_is_refused_or_the_damage_is_reported(small, tmp_path):
    outcomes = try_damages(small, tmp_path, range(36))
    assert outcomes["refused"] > 6
    assert outcomes["harmless"] > 3


MANY = """
import json, sys
from pathlib import Path
from tests.recovery.test_damage import copy_of, damage, use
store, place = map(Path, sys.argv[1:3])
for seed in range(*map(int, sys.argv[3:])):
    damage(copy_of(store, place), seed)
    print(json.dumps(use(place)), flush=True)
"""


def try_many(store: Path, expected: Contents, place: Path, seeds: range) -> Counter[str]:
    """As :func:`try_damages`, in processes of their own.

    LMDB trusts its file, and may end the process: then the check must say what is wrong.
    """
    outcomes: Counter[str] = Counter()
    seed = seeds.start
    while seed < seeds.stop:
        done = apart.run("-c", MANY, store, place, seed, seeds.stop, cwd=apart.ROOT)
        for line in done.stdout.splitlines():
            outcomes[judge(expected, *json.loads(line))] += 1
            seed += 1
        if done.returncode < 0:
            damage(copy_of(store, place), seed)
            assert not storecheck.check(place).sound, seed
            outcomes["died"] += 1
            seed += 1
        else:
            assert done.returncode == 0, (seed, done.stderr)
    return outcomes


@pytest.mark.slow
def test_thousands_of_damages(small, tmp_path):
    path, expected = small
    outcomes = try_many(path, expected, tmp_path / "damaged", range(10_000, 12_000))
    print(outcomes)
    assert outcomes["died"] < 20


@pytest.mark.slow
def test_many_damages_of_a_large_store(tmp_path):
    expected = fill(tmp_path / "store", 4000, clean=True)
    print(try_many(tmp_path / "store", expected, tmp_path / "damaged", range(200)))


@pytest.mark.parametrize("how", ["the key has another letter", "the node is blank", "the key is that of an entry"])
def test_a_unit_of_work_whose_record_no_search_finds_is_damage(tmp_path, how):
    """The pages are those that LMDB could have written; nothing may be missing even so."""
    path = tmp_path / "store"
    fill(path, 3, clean=True)
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    at = -1
    while (at := data.find(b"\x01uow/", at + 1)) >= 0:
        if how == "the node is blank":
            data[at - 8 : at + 24] = bytes(32)  # from the header that LMDB puts before the key
        elif how == "the key has another letter":
            data[at + 1 : at + 2] = b"t"
        else:
            data[at : at + 1] = b"\x81"
    file.write_bytes(data)
    with pytest.raises(
        StoreDamaged, match=r"record under the key|order of keys|nodes of the wrong length|keys out of order"
    ):
        Region(store=path)


def test_a_damaged_record_is_ioerr_and_keeps_its_place(tmp_path):
    path = tmp_path / "store"
    region = make(store=path)
    for name in NAMES.values():
        write_each(region, name, [b"%s record %d" % (name.encode(), number) for number in (1, 2, 3)])
    region.close()
    spoil(path, b" record 2", b" RECORD 2")
    with make(store=path) as region:
        for name in NAMES.values():
            before = 0 if name == NAMES["NO"] else 1  # the close has written those of NOQ together
            for _ in range(before):
                assert region.readq_td(name).endswith(b"record 1")
            for _ in range(2):
                with pytest.raises(Condition, match=f"IOERR.*queue b'{name}'.*damaged.*tdq store salvage"):
                    region.readq_td(name)
            region.writeq_td(name, b"goes on")
            assert region.inquire_tdqueue(name, "NUMITEMS").numitems == 4 - before
            region.deleteq_td(name)
            region.writeq_td(name, b"works again")
            assert region.readq_td(name) == b"works again"


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_records_of_one_unit_of_work_are_damaged_together(tmp_path, damaged):
    """None of them is read as if it were whole; those of the units of work before are, and nothing is gone."""
    path = tmp_path / "store"
    region = make(store=path)
    region.writeq_td("LOGQ", b"before")
    with region.task() as task:
        for number in range(3):
            task.writeq_td("LOGQ", b"record %d" % number)
    region.close()
    spoil(path, b"record %d" % damaged, b"RECORD %d" % damaged)
    with make(store=path) as region:
        assert region.readq_td("LOGQ") == b"before"
        for _ in range(2):
            assert last_answer(region, "LOGQ").startswith("IOERR")
        with region.task() as one, region.task() as other:
            for task in (one, other, one):  # who has met it keeps nobody waiting
                assert last_answer(task, "LOGQ").startswith("IOERR")
        assert region.inquire_tdqueue("LOGQ", "NUMITEMS").numitems == 3


@pytest.mark.rule("REC-DAMAGED-RECORD")
@pytest.mark.parametrize("alone", [True, False], ids=["one a control interval", "all in one"])
@pytest.mark.parametrize("damaged", [0, 1, 2])
@pytest.mark.parametrize("kind", NAMES)
def test_those_before_a_damaged_record_are_read_wherever_it_lies(tmp_path, kind, damaged, alone):
    """A damaged head does not keep the region from starting; the read of its neighbour is not lost."""
    path, name = tmp_path / "store", NAMES[kind]
    room = {"ci_size": 512, "control_intervals": 8}
    records = [b"record %d" % number + b" " * 300 * alone for number in range(3)]
    region = make(store=path, dfhintra=room)
    write_each(region, name, records)
    region.close()
    spoil(path, b"record %d" % damaged, b"RECORD %d" % damaged)
    whole = 0 if kind == "NO" else damaged  # the close has written those of a queue in memory together
    with make(store=path, dfhintra=room) as region:
        for before in records[:whole]:
            assert region.readq_td(name) == before
        for _ in range(2):
            with pytest.raises(Condition, match=f"queue b'{name}'.*damaged.*tdq store salvage") as caught:
                region.readq_td(name)
            row = rule("REC-DAMAGED-RECORD")
            assert (caught.value.resp, caught.value.resp2) == (Resp[row.resp], int(row.resp2))
        assert region.inquire_tdqueue(name, "NUMITEMS").numitems == 3 - whole
        assert not region.recovery.units
        region.deleteq_td(name)
        for record in (records * 3)[:7]:
            region.writeq_td(name, record)  # all room is there again
        assert region.readq_td(name) == records[0]


def test_check_and_salvage_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "store"
    expected = fill(path, 30, clean=True)
    assert main(["store", "check", str(path)]) == 0
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"LOGQ 20 ", b"LOGQ !! "))
    assert main(["store", "check", str(path)]) == 3
    assert main(["store", "salvage", str(path), str(tmp_path / "saved")]) == 0
    output = capsys.readouterr().out
    assert "LOGQ" in output
    assert main(["store", "check", str(tmp_path / "saved")]) == 0
    seen, problem = use(tmp_path / "saved")
    assert problem == ""
    assert seen["LOGQ"] == [record for record in expected["LOGQ"] if not record.startswith("LOGQ 20 ")]
    assert seen[IN_DOUBT] == ["new"]
    assert {name: seen[name] for name in ("PHYQ", "LOG2")} == {name: expected[name] for name in ("PHYQ", "LOG2")}


def test_records_without_their_region_are_not_thrown_away(tmp_path):
    from tdqsim.core.store import Store

    with Store(tmp_path / "store") as store:
        work = store.durable.create_queue(b"LOGQ").work()
        work.put(b"one")
        store.durable.commit((work,))
    with pytest.raises(StoreDamaged, match=r"LOGQ has 1 records.*START=COLD"):
        make(store=tmp_path / "store")
    with make(store=tmp_path / "store", start="COLD") as region:
        assert region.peek("LOGQ") == []


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_unit_of_work_in_doubt_takes_no_other_record_than_it_read(tmp_path, lost):
    """Salvage leaves a hole where a record was; the commit must not take one that was not read instead."""
    path = tmp_path / "store"
    region = make(store=path)
    write_each(region, "LOGQ", [b"record 0", b"record 1", b"record 2", b"record 3"])
    assert region.readq_td("LOGQ") == b"record 0"
    prepared(region, ("READQ", "LOGQ"))
    region.close()
    spoil(path, b"record %d" % lost, b"RECORD %d" % lost)
    storecheck.salvage(path, tmp_path / "saved")
    with make(store=tmp_path / "saved") as region:
        region.recovery.branch("XA1").commit()
        unread = [b"record %d" % number for number in (2, 3) if number != lost]
        # record 1 may come a second time when another is lost: that is said by salvage, and nothing is missing
        assert region.peek("LOGQ") == ([] if lost == 1 else [b"record 1"]) + unread


@pytest.mark.parametrize("clean", [True, False])
def test_a_store_without_its_last_page(tmp_path, clean):
    path = tmp_path / "store"
    expected = fill(path, 60, clean=clean)
    for half in ("durable", "volatile") if clean else ("durable",):  # what is volatile was in memory
        place = copy_of(path, tmp_path / half)
        file = place / half / "data.mdb"
        used = max(int.from_bytes(file.read_bytes()[at + 136 : at + 144], "little") for at in (0, 4096)) + 1
        with file.open("r+b") as opened:
            opened.truncate((used - 1) * 4096)
        assert judge(expected, *use(place)) == "refused"


def test_files_of_two_stores_are_not_mixed(tmp_path):
    for name in ("one", "two"):
        fill(tmp_path / name, 10, clean=True)
    shutil.copy(tmp_path / "one" / "volatile" / "data.mdb", tmp_path / "two" / "volatile" / "data.mdb")
    with pytest.raises(StoreDamaged, match="belongs to another store"):
        Region(store=tmp_path / "two")
    Store(tmp_path / "one").close(clean=False)  # after a clean close it is noticed by the number of the last commit
    shutil.copy(tmp_path / "one" / "durable" / "data.mdb", tmp_path / "one" / "volatile" / "data.mdb")
    with pytest.raises(StoreDamaged, match="swapped"):
        Region(store=tmp_path / "one")


def test_an_older_half_is_noticed_after_a_clean_close(tmp_path):
    path = tmp_path / "store"
    fill(path, 10, clean=True)
    shutil.copytree(path, tmp_path / "old")
    with make(store=path) as region:
        region.writeq_td("NOQ", b"newer")
        region.readq_td("LOGQ")
    for half in ("durable", "volatile"):
        place = copy_of(path, tmp_path / "mixed")
        shutil.copy(tmp_path / "old" / half / "data.mdb", place / half / "data.mdb")
        with pytest.raises(StoreDamaged, match="has changed since the store was closed"):
            Region(store=place)


@pytest.mark.parametrize("records", [5, 2000], ids=["small", "large"])
@pytest.mark.parametrize("key", [b"cat/TDQUEUE/LOGQ", b"uow/", b"region/"])
def test_damaged_records_of_the_region_are_refused_by_name(tmp_path, key, records):
    path = tmp_path / "store"
    fill(path, records, clean=False)
    Store(path).close(clean=False)  # what was committed last is in the journal until the store is opened again
    file = path / "durable" / "data.mdb"
    data = file.read_bytes()
    assert key in data
    damaged = bytearray(data)
    at = -1
    while (at := data.find(key, at + 1)) >= 0:  # older copies of the page too
        damaged[at + len(key) + 12] ^= 1
    file.write_bytes(damaged)
    seen, problem = use(path)
    assert not seen
    assert "StoreDamaged" in problem
    assert "tdq store" in problem


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "backed out"])
@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_a_unit_of_work_in_doubt_survives_damage_to_what_it_has_read(tmp_path, damaged, commit):
    """Its log record has cursors, not records: the region starts, and only who reads the damaged record is told."""
    path = tmp_path / "store"
    records = [b"record 1", b"record 2", b"record 3"]
    region = make(store=path)
    write_each(region, "LOGQ", records)
    prepared(region, ("READQ", "LOGQ"), ("READQ", "LOGQ"), (WRITEQ, "LOGQ"))
    region.close()
    spoil(path, b"record %d" % damaged, b"RECORD %d" % damaged)
    with make(store=path) as region:
        (uow,) = region.recovery.shunted.values()
        assert [last_answer(region, "LOGQ"), len(uow.locks)] == ["LOCKED", 2]
        branch = region.recovery.branch("XA1")
        if commit:
            branch.commit()
        else:
            branch.back_out()
        expected = [*records[2:], b"new"] if commit else records
        bad = records[damaged - 1]
        for record in expected[: expected.index(bad) if bad in expected else None]:
            assert region.readq_td("LOGQ") == record
        assert last_answer(region, "LOGQ").startswith("IOERR" if bad in expected else "QZERO")


@pytest.mark.rule("REC-INDOUBT-LOST")
@pytest.mark.parametrize("bit", range(0, 8 * 24, 13))
def test_a_salvaged_store_starts_without_the_definition_of_a_queue_with_a_unit_of_work_in_doubt(tmp_path, caplog, bit):
    """One bit of its catalogue entry: the records are kept for who installs the queue anew."""
    path, key = tmp_path / "store", b"cat/TDQUEUE/LOGQ"
    records = [b"record %d" % number for number in range(30)]
    region = make(store=path)
    write_each(region, "LOGQ", records)
    prepared(region, ("READQ", "LOGQ"), (WRITEQ, "LOGQ"))
    region.close(clean=False)
    Store(path).close(clean=False)
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    at = -1
    while (at := data.find(key, at + 1)) >= 0:  # older copies of the page too
        data[at + len(key) + bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)
    storecheck.salvage(path, tmp_path / "saved")
    with make(store=tmp_path / "saved") as region:
        (uow_id,) = region.recovery.shunted
        (lost,) = [line for line in caplog.messages if rule("REC-INDOUBT-LOST").message in line]
        assert f"uow='{uow_id.hex().upper()}' queue='LOGQ' reads=1 writes=1 deleted=False" in lost
        with pytest.raises(Condition, match="QIDERR"):
            region.peek("LOGQ")
        region.install([queue("LOGQ")])
        assert region.peek("LOGQ") == records


@pytest.mark.parametrize("number", [1, 3])
def test_an_item_of_temporary_storage_that_a_salvage_has_lost_takes_no_other_along(tmp_path, number):
    model = define_tsmodel(name="KEPT", prefix="REC", recovery="YES")
    region = make(model, store=tmp_path)
    with region.task() as task:
        for name, item in product(("REC1", "REC2"), (b"1", b"2", b"3")):
            task.writeq_ts(name, item)
    with region.task() as task:
        task.writeq_ts("REC2", b"rewritten", item=2, rewrite=True)
        task.writeq_ts("REC2", b"added")
        assert region.recovery.branch("XA1", task).prepare()
    region.close(clean=False)
    with Store(tmp_path) as store:
        lost = [key for key, item in store.durable.metas(b"ts/r/") if item == b"%d" % number]
        store.durable.commit((), dict.fromkeys(lost, None))
    left = [item for item in (b"1", b"2", b"3") if item != b"%d" % number]
    region = make(model, store=tmp_path)
    assert [(notice.id, notice.resource) for notice in region.notices] == [("TDQ0073", "TSQUEUE(REC2)")]
    region.recovery.branch("XA1").commit()
    region.writeq_ts("REC1", b"added")
    with again(region, tmp_path) as region:
        assert [region.ts.queues[name].items for name in ("REC1", "REC2")] == [[*left, b"added"]] * 2


def test_a_kept_file_whose_first_entry_a_salvage_has_lost_has_its_records(tmp_path):
    for _ in range(2):
        data = DataFile(keylength=2)
        with make(store=tmp_path) as region, region.task() as task:
            region.files.define("ACCT", data, kept=True)
            if not data.records:
                task.write_file("ACCT", b"A1 record", b"A1")
        assert data.records == {b"A1": b"A1 record"}
        with Store(tmp_path) as store:
            assert [key for key, _ in store.durable.metas(b"file/")] == [b"file/ACCT    ", b"file/ACCT    A1"]
            store.durable.commit((), {b"file/ACCT    ": None})


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "failed"])
def test_a_salvaged_store_is_started_as_the_damaged_one_would_have_been(tmp_path, clean):
    path = tmp_path / "store"
    region = make(store=path)
    for name in NAMES.values():
        region.seed(name, [b"one", b"two"])
    task = region.task()
    assert task.readq_td("PHYQ") == b"one"
    region.close(clean=clean)
    storecheck.salvage(path, tmp_path / "saved")
    with make(store=tmp_path / "saved") as region:
        assert region.recovery.start_type == ("WARM" if clean else "EMERGENCY")
        assert region.peek("NOQ") == ([b"one", b"two"] if clean else [])
        assert region.peek("PHYQ") == ([b"two"] if clean else [b"one", b"two"])
        assert region.peek("LOGQ") == [b"one", b"two"]


def test_definitions_that_a_salvaged_catalogue_has_otherwise_are_named(tmp_path):
    """The region's own record is lost, and one definition: that one is installed anew, another one is ignored."""
    path, saved = tmp_path / "store", tmp_path / "saved"
    make(store=path).close()
    spoil(path, b"region/cold_start", b"region/cold_stRRt")
    spoil(path, b"cat/TDQUEUE/PHYQ", b"cat/TDQUEUE/PHXX")
    storecheck.salvage(path, saved)
    given = [queue("PHYQ"), queue("LOGQ", "NO"), queue("NOQ", "NO")]
    with Region(iter(given), store=saved, supplied_queues=False) as region:
        said = {notice.id: notice.reason for notice in region.notices}
    assert set(said) == {"TDQ0012", "TDQ0069"}
    assert "installed anew: ['PHYQ']." in said["TDQ0012"]
    assert "are different there: TDQUEUE(LOGQ)." in said["TDQ0069"]


@pytest.mark.rule("REC-SALVAGED-DEFINITIONS")
@pytest.mark.parametrize("step", [8192, pytest.param(1000, marks=pytest.mark.slow)])
def test_whatever_a_salvage_saved_the_store_starts_and_all_of_it_can_be_read(tmp_path, caplog, step):
    """The file is cut off anywhere: the catalogue may be lost, or the region's own record, or everything."""
    path = tmp_path / "store"
    with make(store=path) as region:
        for number in range(100):
            for name in ("LOGQ", "PHYQ"):
                region.writeq_td(name, b"%d" % number + b"x" * (number * 37 % 400))
    file = path / "durable" / "data.mdb"
    whole = file.read_bytes()
    for size in range(4096, len(whole.rstrip(b"\0")), step):
        file.write_bytes(whole[:size])
        saved = tmp_path / f"saved{size}"
        report = storecheck.salvage(path, saved)
        count = {each.name.decode(): each.saved for each in report.queues}
        for start in ("EMERGENCY", "WARM"):
            with make(store=saved) as region:
                assert region.recovery.start_type == start
                for name in ("LOGQ", "PHYQ"):
                    assert len(region.peek(name)) == count.get(name, 0)
    assert any(rule("REC-SALVAGED-DEFINITIONS").message in line for line in caplog.messages)


def test_the_commit_of_a_unit_of_work_in_doubt_needs_nothing_of_what_it_has_read(tmp_path):
    """Not even what kind of record it was: the byte that says so is damaged."""
    path = tmp_path / "store"
    region = make(store=path)
    write_each(region, "LOGQ", [b"record 1", b"record 2"])
    prepared(region, ("READQ", "LOGQ"))
    region.close()
    file = path / "durable" / "data.mdb"
    raw = bytearray(file.read_bytes())
    at, head = raw.index(b"record 1"), 1
    while at >= 0:  # in every copy of the page
        raw[at - head] ^= 0x10
        at = raw.find(b"record 1", at + 1)
    file.write_bytes(raw)
    with make(store=path) as region:
        region.recovery.branch("XA1").commit()
        assert region.peek("LOGQ") == [b"record 2"]
    with make(store=path) as region:
        assert region.readq_td("LOGQ") == b"record 2"
        assert last_answer(region, "LOGQ").startswith("QZERO")


def test_who_meets_damage_is_in_nobodys_way(tmp_path):
    path = tmp_path / "store"
    region = make(store=path)
    region.seed("LOGQ", [b"record 1"])
    region.close()
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"record 1", b"RECORD 1"))
    with make(store=path) as region, region.task() as first, region.task() as second:
        for task in (first, second):
            task.readq_td("LOGQ", nohandle=True)
            assert task.eib.eibresp is Resp.IOERR
            assert not task._uow.locks


ZEROED = """
import shutil, sys
from pathlib import Path
from tdqsim import Region, RegionClosed, StoreDamaged, define_tdqueue

place, copy, step = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
kinds = {"LOGQ": "LOGICAL", "PHYQ": "PHYSICAL", "NONQ": "NO"}
queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in kinds.items()]
with Region(queues, store=place) as region:
    for name in kinds:
        region.seed(name, [b"%04d" % number * 20 for number in range(300)])
ends = {"refused": 0, "same": 0}
for half in ("durable", "volatile"):
    data = (place / half / "data.mdb").read_bytes()
    for page in range(2, len(data) // 4096, step):
        shutil.copytree(place, copy)
        with (copy / half / "data.mdb").open("r+b") as file:
            file.seek(page * 4096)
            file.write(bytes(4096))
        try:
            with Region(queues, store=copy) as region:
                for name in kinds:
                    expected = [b"%04d" % number * 20 for number in range(300)]
                    assert region.peek(name) == expected, (half, page)
                    taken = 300 if step == 1 else 30
                    assert [region.readq_td(name) for _ in range(taken)] == expected[:taken], (half, page)
            ends["same"] += 1
        except StoreDamaged:
            ends["refused"] += 1
        shutil.rmtree(copy)
print(ends["refused"] > 20 // step)
"""


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["some pages", "all"])
def test_a_page_that_is_zeroed_after_a_clean_end_is_refused_and_ends_no_process(tmp_path, step):
    """In a process of its own, which an assertion of LMDB would end."""
    done = apart.run("-c", ZEROED, tmp_path / "store", tmp_path / "copy", step)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
