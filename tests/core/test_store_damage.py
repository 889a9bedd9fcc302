"""Stores damaged on purpose: an error that names the damage, or the right data; never other data, never a hang."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tdqsim.core.store import Environment, Order, Store, _entry, _examine
from tdqsim.core.store import _store as store_module
from tdqsim.core.store import check as storecheck
from tdqsim.core.store._examine import examine, rescue
from tdqsim.core.store._lockfile import LockFile
from tdqsim.core.store.check import look_through
from tdqsim.errors import StoreDamaged, StoreError, StoreFull, StoreInUse, StoreMissing, StoreVersionError
from tests.core import _child

PAGE = 4096
QUEUES = {b"FIFO": Order.FIFO, b"LIFO": Order.LIFO, b"KEYED": Order.KEYED}
Contents = dict[tuple[str, bytes], list[bytes]]


def make(path: Path, entries: int) -> Contents:
    """A store with some history: entries taken, cleared, queues dropped, long entries."""
    expected: Contents = {}
    with Store(path) as store:
        for half in ("volatile", "durable"):
            env = getattr(store, half)
            for name, order in QUEUES.items():
                queue = env.create_queue(name, order=order, key_length=2 if order is Order.KEYED else 0)
                gone = env.create_queue(b"GONE-" + name)
                for number in range(entries):
                    data = b"%s %s %d" % (half.encode(), name, number) * (200 if number % 31 == 30 else 1)
                    queue.put(data, b"%02d" % (number % 7) if order is Order.KEYED else b"")
                    gone.put(b"never to be seen again")
                    if number % 3 == 2:
                        queue.take()
                    if number % 20 == 0:
                        env.commit()
                env.drop_queue(gone.name)
                expected[half, name] = [entry.data for entry in queue.entries()]
            env.put_meta(b"meta", b"data")
            env.commit()
    return expected


def flip(data: bytearray, rng: random.Random, used: int) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(used)] ^= 1 << rng.randrange(8)


def flip_in_a_head(data: bytearray, rng: random.Random, used: int) -> None:
    data[rng.randrange(used // PAGE) * PAGE + rng.randrange(64)] ^= 1 << rng.randrange(8)


def zero_a_page(data: bytearray, rng: random.Random, used: int) -> None:
    at = rng.randrange(used // PAGE) * PAGE
    data[at : at + PAGE] = bytes(PAGE)


def copy_a_page(data: bytearray, rng: random.Random, used: int) -> None:
    one, two = (rng.randrange(used // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE] = data[two : two + PAGE]


def copy_a_page_with_its_number(data: bytearray, rng: random.Random, used: int) -> None:
    one, two = (rng.randrange(2, used // PAGE) * PAGE for _ in range(2))
    data[one + 8 : one + PAGE] = data[two + 8 : two + PAGE]


def scramble(data: bytearray, rng: random.Random, used: int) -> None:
    at = rng.randrange(used)
    length = rng.randrange(1, 600)
    data[at : at + length] = rng.randbytes(len(data[at : at + length]))


def cut(data: bytearray, rng: random.Random, used: int) -> None:
    del data[rng.randrange(used) if rng.random() < 0.5 else used - PAGE :]


DAMAGES: list[Callable[[bytearray, random.Random, int], None]] = [
    flip, flip_in_a_head, zero_a_page, copy_a_page, copy_a_page_with_its_number, scramble, cut,
]  # fmt: skip


def used(data: bytearray, name: str) -> int:
    """How many bytes of a file were ever used."""
    if name == "journal":
        return len(data.rstrip(b"\0"))
    last = max(int.from_bytes(data[at + 16 + 120 : at + 16 + 128], "little") for at in (0, PAGE))
    return min((last + 1) * PAGE, len(data))


def damage(path: Path, seed: int) -> str:
    """Damage one file; return how."""
    rng = random.Random(seed)
    file = path / rng.choice(["volatile/data.mdb", "durable/data.mdb", "durable/journal"])
    if not file.exists():
        file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    kind = rng.choice(DAMAGES)
    kind(data, rng, max(used(data, file.name), 4 * PAGE))
    file.write_bytes(data)
    return kind.__name__


def read_all(path: Path) -> tuple[dict[str, list[str]], str]:
    """Take everything out of a store; what came out, and the error that ended it."""
    seen: dict[str, list[str]] = {}
    try:
        with Store(path) as store:
            for half in ("volatile", "durable"):
                for name in QUEUES:
                    out = seen[f"{half} {name.decode()}"] = []
                    queue = getattr(store, half).queue(name)
                    if queue is None:
                        out.append("queue lost")
                        continue
                    while (data := queue.take()) is not None:
                        out.append(data.decode())
    except StoreError as error:
        return seen, f"{type(error).__name__}: {error}"
    return seen, ""


def judge(expected: Contents, seen: dict[str, list[str]], error: str) -> None:
    """Everything, or with an error the beginning of it."""
    for (half, name), datas in expected.items():
        wanted = [data.decode() for data in datas]
        got = seen.get(f"{half} {name.decode()}")
        if error:
            assert got is None or got == wanted[: len(got)], (half, name)
        else:
            assert got == wanted, (half, name)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Contents]:
    path = tmp_path_factory.mktemp("small") / "store"
    return path, make(path, 60)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Contents]:
    path = tmp_path_factory.mktemp("large") / "store"
    return path, make(path, 3000)


def copy_of(path: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(path, target)
    return target


def try_small(small: tuple[Path, Contents], tmp_path: Path, seeds: range) -> dict[str, int]:
    path, expected = small
    outcome = {"refused": 0, "harmless": 0}
    for seed in seeds:
        place = copy_of(path, tmp_path / "damaged")
        damage(place, seed)
        report = examine(place)
        seen, error = read_all(copy_of(place, tmp_path / "used"))
        judge(expected, seen, error)
        assert not error or report["problems"] or any(queue[5] for queue in report["queues"]), (seed, error)
        rescue(place, tmp_path / f"saved-{seed}")
        check_saved(tmp_path / f"saved-{seed}")
        shutil.rmtree(tmp_path / f"saved-{seed}")
        outcome["refused" if error else "harmless"] += 1
    return outcome


def check_saved(path: Path) -> None:
    """Whatever was salvaged was put there once, and is in order: entries of an old page may be among it."""
    with Store(path) as store:
        for half in ("volatile", "durable"):
            for queue in getattr(store, half).queues():
                for entry in queue.entries():
                    if entry.data != b"never to be seen again":
                        where, name, number = entry.data.split()[:3]
                        assert where.decode() == half
                        assert queue.name in (name, b"GONE-" + name) or queue.name.startswith(b"LOST-")
                        assert len(entry.data) > 1000 or int(number) == entry.seq - 1


def test_a_damaged_small_store_never_gives_other_data(small, tmp_path):
    outcome = try_small(small, tmp_path, range(24))
    assert outcome["refused"] > 8
    assert outcome["harmless"] > 1


@pytest.mark.parametrize("flag", [0x10, 0x8000], ids=["dirty", "keep"])
def test_marks_that_belong_in_memory_are_noticed_in_the_file(small, tmp_path, flag):
    """LMDB would take them for its own, and leave such a page out of its next commit."""
    path, expected = small
    refused = 0
    for half in ("volatile", "durable"):
        whole = (path / half / "data.mdb").read_bytes()
        for at in range(2 * PAGE, len(whole), PAGE):
            if int.from_bytes(whole[at : at + 8], "little") != at // PAGE:
                continue  # never used
            place = copy_of(path, tmp_path / "damaged")
            data = bytearray(whole)
            data[at + 10 : at + 12] = (int.from_bytes(data[at + 10 : at + 12], "little") | flag).to_bytes(2, "little")
            (place / half / "data.mdb").write_bytes(data)
            report = examine(place)
            seen, error = read_all(place)
            judge(expected, seen, error)
            assert bool(error) is bool(report["problems"]), (half, at // PAGE)
            refused += bool(error)
    assert refused > 4


def leaves(data: bytes) -> list[int]:
    """Where leaf pages of at least 20 records lie that say their own number; some may be free."""
    pages = range(2 * PAGE, len(data), PAGE)
    heads = [(at, int.from_bytes(data[at : at + 8], "little"), data[at + 10], data[at + 12]) for at in pages]
    return [at for at, number, flags, lower in heads if number * PAGE == at and flags == 2 and lower > 16 + 40]


def without_some_records(data: bytearray, at: int, _other: int) -> None:
    lower = int.from_bytes(data[at + 12 : at + 14], "little")
    data[at + 12 : at + 14] = (lower - 20).to_bytes(2, "little")


def with_anothers_records(data: bytearray, at: int, other: int) -> None:
    data[at + 8 : at + PAGE] = data[other + 8 : other + PAGE]


def with_two_records_changed_over(data: bytearray, at: int, _other: int) -> None:
    data[at + 16 : at + 18], data[at + 18 : at + 20] = data[at + 18 : at + 20], data[at + 16 : at + 18]


def with_a_key_of_another_length(data: bytearray, at: int, _other: int) -> None:
    node = at + int.from_bytes(data[at + 20 : at + 22], "little")
    data[node + 6 : node + 8] = (4000).to_bytes(2, "little")


def with_a_longer_value(data: bytearray, at: int, _other: int) -> None:
    """LMDB would move what lies behind it by that length when the record is taken."""
    data[at + int.from_bytes(data[at + 20 : at + 22], "little")] ^= 8


SHAPES = [
    without_some_records,
    with_a_longer_value,
    with_anothers_records,
    with_two_records_changed_over,
    with_a_key_of_another_length,
]


@pytest.mark.parametrize("reshape", SHAPES)
def test_a_page_that_would_lead_lmdb_astray_is_seen_at_the_opening(large, tmp_path, reshape):
    """Not only in the smallest stores: a queue would go on behind the records that are not found."""
    path, _ = large
    whole = (path / "durable" / "data.mdb").read_bytes()
    refused = 0
    for at, other in list(pairwise(leaves(whole)))[::40]:
        place = copy_of(path, tmp_path / "damaged")
        data = bytearray(whole)
        reshape(data, at, other)
        (place / "durable" / "data.mdb").write_bytes(data)
        report = examine(place)
        if report["problems"]:
            with pytest.raises(StoreDamaged, match="tdq store salvage"):
                Store(place)
            refused += 1
        else:  # a page that was free
            Store(place).close()
    assert refused


READ = """
import json
from tests.core.test_store_damage import read_all
print(json.dumps(read_all(Path(sys.argv[1]))))
"""


def try_large(large: tuple[Path, Contents], tmp_path: Path, seeds: range) -> dict[str, int]:
    """Large stores are not looked through when they are opened: LMDB may end the process, which must be a child."""
    path, expected = large
    outcome = {"refused": 0, "harmless": 0, "died": 0}
    for seed in seeds:
        place = copy_of(path, tmp_path / "damaged")
        damage(place, seed)
        report = examine(place)
        code, out, err = _child.run(READ, place)
        if code < 0:
            assert report["problems"], (seed, code)
            outcome["died"] += 1
            continue
        assert code == 0, (seed, err)
        seen, error = json.loads(out)
        judge(expected, seen, error)
        outcome["refused" if error else "harmless"] += 1
    return outcome


def test_a_damaged_large_store_never_gives_other_data(large, tmp_path):
    outcome = try_large(large, tmp_path, range(4))
    assert outcome["refused"] > 0


@pytest.mark.slow
def test_thousands_of_damages_never_give_other_data(small, large, tmp_path):
    print(try_small(small, tmp_path, range(1000, 4000)))
    print(try_large(large, tmp_path, range(1000, 1500)))


def test_check_names_a_damaged_entry_and_salvage_saves_the_others(tmp_path):
    path = tmp_path / "store"
    with Store(path) as store:
        queue = store.durable.create_queue(b"PAYQ")
        for number in range(1, 11):
            queue.put(b"record number %d." % number)
        store.durable.put_meta(b"m", b"d")
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"record number 4.", b"record NUMBER 4."))
    report = storecheck.check(path)
    assert not report.sound
    assert report.damaged == ((b"PAYQ", 4),)
    with Store(path) as store:
        queue = store.durable.queue(b"PAYQ")
        assert [queue.take() for _ in range(3)] == [b"record number 1.", b"record number 2.", b"record number 3."]
        for read in (queue.take, queue.take_entry, queue.peek, lambda: queue.get(4), lambda: list(queue.entries())):
            with pytest.raises(StoreDamaged, match=r"queue b'PAYQ': entry 4 is damaged.*tdq store salvage"):
                read()
        assert queue.count == 7
        with pytest.raises(StoreInUse):
            storecheck.check(path)
    saved = storecheck.salvage(path, tmp_path / "saved")
    assert (saved.saved, saved.entries, saved.damaged) == (6, 6, ((b"PAYQ", 4),))
    assert storecheck.check(tmp_path / "saved").sound
    with Store(tmp_path / "saved") as store:
        queue = store.durable.queue(b"PAYQ")
        assert [entry.seq for entry in queue.entries()] == [5, 6, 7, 8, 9, 10]
        assert queue.put(b"next") == 11
        assert store.durable.get_meta(b"m") == b"d"
    with pytest.raises(StoreError, match="there is a store already"):
        storecheck.salvage(path, tmp_path / "saved")


def test_a_sound_store_is_salvaged_whole(small, tmp_path):
    path, expected = small
    place = copy_of(path, tmp_path / "copy")
    report = storecheck.salvage(place, tmp_path / "saved")
    assert report.sound
    assert report.saved == sum(len(datas) for datas in expected.values())
    seen, error = read_all(tmp_path / "saved")
    assert error == ""
    judge(expected, seen, error)


def test_there_must_be_a_store_to_check(tmp_path):
    with pytest.raises(StoreMissing, match="no store"):
        storecheck.check(tmp_path)


def test_a_check_that_takes_too_long_is_ended(small, tmp_path):
    with pytest.raises(StoreDamaged, match=r"within 0\.001 seconds"):
        storecheck.check(copy_of(small[0], tmp_path / "copy"), timeout=0.001)


def test_damaged_meta_data_is_refused(tmp_path):
    path = tmp_path / "store"
    with Store(path) as store:
        store.durable.put_meta(b"the key", b"the value that was put")
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"value that was", b"VALUE that was"))
    with pytest.raises(StoreDamaged, match="meta data b'the key' is damaged"):
        Store(path)


def test_what_was_damaged_since_the_machine_stopped_is_refused(tmp_path):
    path = tmp_path / "store"
    store = Store(path)
    store.durable.create_queue(b"Q").put(b"some data in the queue")
    store.durable.commit()
    store.close(clean=False)
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"some data", b"SOME data"))
    (path / "lock").write_text("1 another-boot\n")
    for _ in range(2):  # nor is it taken the second time
        with pytest.raises(StoreDamaged, match="entry 1 of queue b'Q' is damaged"):
            Store(path)


def swap(path: Path, *names: str) -> None:
    """Exchange the files of these names between the halves of a store."""
    for name in names:
        one, two = path / "volatile" / name, path / "durable" / name
        one.rename(path / "aside")
        if two.exists():
            two.rename(one)
        (path / "aside").rename(two)


def two_halves(path: Path, *, data: bytes = b"one", clean: bool = True) -> Path:
    """A store with a queue in each half."""
    store = Store(path)
    for environment in (store.volatile, store.durable):
        environment.create_queue(b"Q").put(environment.path.name.encode() + b" " + data)
        environment.commit()
    store.close(clean=clean)
    return path


@pytest.mark.parametrize("mixed", ["swapped", "another store's", "an older one"])
def test_check_reports_halves_that_are_not_one_store(tmp_path, mixed):
    """What refuses the start is what the check lists, as the refusal promises."""
    path = two_halves(tmp_path / "store")
    if mixed == "swapped":
        swap(path, "data.mdb")
    elif mixed == "another store's":
        shutil.copy(two_halves(tmp_path / "other") / "volatile" / "data.mdb", path / "volatile" / "data.mdb")
    else:
        shutil.copytree(path, tmp_path / "old")
        with Store(path) as store:
            store.volatile.queue(b"Q").put(b"newer")
        shutil.copy(tmp_path / "old" / "volatile" / "data.mdb", path / "volatile" / "data.mdb")
    with pytest.raises(StoreDamaged) as refused:
        Store(path)
    report = storecheck.check(path)
    assert not report.sound
    reason = str(refused.value).partition(": ")[2].partition(";")[0]
    assert any(reason in problem for problem in report.problems), report.problems


def test_salvage_puts_swapped_halves_where_they_belong(tmp_path):
    path = two_halves(tmp_path / "store")
    swap(path, "data.mdb")
    assert storecheck.salvage(path, tmp_path / "saved").saved == 2
    with Store(tmp_path / "saved") as store:
        assert store.volatile.queue(b"Q").take() == b"volatile one"
        assert store.durable.queue(b"Q").take() == b"durable one"


def test_salvage_takes_no_half_for_the_other(tmp_path):
    path = two_halves(tmp_path / "store")
    shutil.copy(path / "durable" / "data.mdb", path / "volatile" / "data.mdb")
    report = storecheck.salvage(path, tmp_path / "saved")
    assert report.saved == 1
    assert any("files were swapped" in problem for problem in report.problems)
    with Store(tmp_path / "saved") as store:
        assert store.volatile.queue(b"Q") is None
        assert store.durable.queue(b"Q").take() == b"durable one"


@pytest.mark.parametrize("clean", [True, False])
def test_a_salvaged_store_ended_as_the_damaged_one_did(tmp_path, clean):
    storecheck.salvage(two_halves(tmp_path / "store", clean=clean), tmp_path / "saved")
    with Store(tmp_path / "saved") as store:
        assert store.closed_clean is clean
        assert store.volatile.queue(b"Q").take() == b"volatile one"


@pytest.mark.parametrize("clean", [True, False])
def test_salvage_leaves_a_store_in_its_way_alone(tmp_path, clean):
    path, target = two_halves(tmp_path / "store"), two_halves(tmp_path / "target", clean=clean)
    before = {file: file.read_bytes() for file in target.rglob("*") if file.is_file()}
    for wrong in (target, path):
        with pytest.raises(StoreError, match=f"{wrong.name}: there is a store already"):
            storecheck.salvage(path, wrong)
    assert {file: file.read_bytes() for file in target.rglob("*") if file.is_file()} == before
    with Store(target) as store:
        assert store.closed_clean is clean


def test_a_salvage_that_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    path = two_halves(tmp_path / "store")
    with Store(path) as store:
        store.durable.put_meta(b"m", b"d")

    def fail(*_arguments, **_options):
        raise StoreFull("the disk is full")

    monkeypatch.setattr(Environment, "put_meta", fail)
    with pytest.raises(StoreFull):
        rescue(path, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    monkeypatch.undo()
    rescue(path, tmp_path / "saved")
    assert [file.name for file in sorted((tmp_path / "saved").iterdir())] == ["durable", "lock", "volatile"]


def test_a_target_that_somebody_has_is_named(tmp_path):
    path = two_halves(tmp_path / "store")
    (tmp_path / "saved").mkdir()
    lock = LockFile(tmp_path / "saved" / "lock")
    with pytest.raises(StoreInUse, match=f"{tmp_path / 'saved'}: .*process {os.getpid()}"):
        storecheck.salvage(path, tmp_path / "saved")
    lock.release()


def test_a_newer_version_is_neither_checked_nor_salvaged(tmp_path, monkeypatch):
    path = two_halves(tmp_path / "store")
    monkeypatch.setattr(_examine, "FORMAT", _entry.FORMAT - 1)
    with pytest.raises(StoreVersionError, match=f"format {_entry.FORMAT}; this tdqsim reads up to {_entry.FORMAT - 1}"):
        examine(path)
    with pytest.raises(StoreVersionError):
        rescue(path, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("name", ["data.mdb", "lock.mdb"])
@pytest.mark.parametrize("half", ["volatile", "durable"])
def test_what_the_system_refuses_is_not_called_damage(tmp_path, half, name):
    path = two_halves(tmp_path / "store")
    (path / half / name).unlink()
    (path / half / name).mkdir()
    with pytest.raises(StoreError, match=f"{half}.*{name}.*Is a directory") as refused:
        Store(path)
    assert type(refused.value) is StoreError


LOOK = """
import sys
from pathlib import Path
from tdqsim.core.store import check as storecheck
from tdqsim.core.store import Store
path, saved = map(Path, sys.argv[1:])
print(storecheck.check(path).sound, storecheck.salvage(path, saved).saved)
with Store(path, readonly=True) as store:
    print(store.durable.queue(b"Q").peek().data)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the permissions of Unix")
def test_a_store_that_may_not_be_written_can_be_looked_at(tmp_path):
    path = two_halves(tmp_path / "store")
    for file in (path / "lock", *(path / half / "data.mdb" for half in ("volatile", "durable"))):
        file.chmod(0o444)
    command = [sys.executable, "-c", LOOK, str(path), str(tmp_path / "saved")]
    if os.geteuid() == 0:  # whom no permission stops
        without = [f"--{which}=-dac_override,-dac_read_search" for which in ("bounding-set", "inh-caps")]
        if shutil.which("setpriv") is None or subprocess.run(["setpriv", *without, "true"], check=False).returncode:
            pytest.skip("needs setpriv")
        command = ["setpriv", *without, *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True 2\nb'durable one'\n", "")


@pytest.mark.parametrize("at", ["look", "new", "rename"])
def test_what_is_done_after_the_machine_stopped_is_done_again_when_it_is_killed(tmp_path, monkeypatch, at):
    """Until it is done, the store goes on saying that it was left by another start of the machine."""
    path = two_halves(tmp_path / "store", clean=False)
    (path / "lock").write_text("1 another-boot\n")

    def killed(*_arguments, **_options):
        raise KeyboardInterrupt

    what = {"look": (store_module, "look_through"), "new": (store_module, "make_half"), "rename": (Path, "rename")}[at]
    monkeypatch.setattr(*what, killed)
    with pytest.raises(KeyboardInterrupt):
        Store(path)
    monkeypatch.undo()
    looked = []
    monkeypatch.setattr(store_module, "look_through", lambda place: looked.append(place) or look_through(place))
    for _ in range(2):
        store = Store(path)
        assert store.volatile.queue(b"Q") is None
        assert store.durable.queue(b"Q").peek().data == b"durable one"
        store.close(clean=False)
    assert looked == [path]


@pytest.mark.parametrize("free", [False, True], ids=["records", "free pages"])
@pytest.mark.parametrize(("entries", "size"), [(5, 20), (300, 20), (3000, 20), (3000, 1500)])
def test_a_tree_of_the_wrong_depth_is_seen_at_the_opening(tmp_path, entries, size, free):
    """LMDB believes the depth in its meta page, and would end the process when it takes a record away."""
    path = tmp_path / "store"
    with Store(path) as store:
        queue = store.durable.create_queue(b"Q")
        for number in range(entries):
            queue.put(b"record %d" % number + b" " * size)
        store.durable.commit()
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    for page in (0, 1):
        at = page * PAGE + (46 if free else 94)
        data[at] = data[at] + 1 if data[at] < 2 else 0
    file.write_bytes(data)
    with pytest.raises(StoreDamaged, match=r"pages deep.*tdq store salvage"):
        Store(path)
    assert not storecheck.check(path).sound
    assert storecheck.salvage(path, tmp_path / "saved").saved == entries
