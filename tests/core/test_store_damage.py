"""Stores damaged on purpose: an error that names the damage, or the right data; never other data, never a hang."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
import venv
from operator import attrgetter
from pathlib import Path

import lmdb
import pytest

from tdqsim.core.store import Entry, Order, Store
from tdqsim.core.store import check as storecheck
from tdqsim.core.store._meta import read_metas
from tdqsim.core.store._pages import PageFile
from tdqsim.errors import StoreDamaged, StoreError, StoreInUse, StoreMissing
from tests.core import _child

pytestmark = pytest.mark.usefixtures("checked_here")

PAGE = 4096
Contents = dict[bytes, list[bytes]]
ORDERS = {b"FIFO": Order.FIFO, b"LIFO": Order.LIFO, b"KEYED": Order.KEYED}


def make(path: Path, entries: int) -> Contents:
    """A store with some history: entries taken, queues dropped of which some entries are still there, long entries."""
    expected: Contents = {}
    dropped = []
    with Store(path) as store:
        for name, order in ORDERS.items():
            queue = store.durable.create_queue(name, order, 2 if order is Order.KEYED else 0)
            gone = store.durable.create_queue(b"GONE-" + name)
            for start in range(0, entries, 20):
                work, other = queue.work(), gone.work()
                for number in range(start, min(entries, start + 20)):
                    data = b"%s %d." % (name, number) * (300 if number % 31 == 30 else 3)
                    if order is Order.KEYED:
                        work.put_entry(Entry(data, b"%02d" % (number % 7), b"S" * 36, number))
                    else:
                        work.put(data)
                    other.put(b"never to be seen again")
                for _ in range(7):
                    work.take()
                store.durable.commit((work, other), {b"meta": b"data" * 1000})
            dropped.append(gone)
            expected[name] = [entry.data for entry in queue.entries()]
        plain = store.durable.create_queue(b"PLAIN")
        work = plain.work()
        expected[b"PLAIN"] = [b"plain %d" % number * 5 for number in range(entries)]
        for data in expected[b"PLAIN"]:
            work.put(data)
        store.durable.commit((work,))
        for gone in dropped:
            store.durable.drop(gone)
        volatile = store.volatile.create_queue(b"V")
        expected[b"V"] = [b"volatile %d" % number for number in range(entries)]
        for data in expected[b"V"]:
            volatile.put(data)
    return expected


def contents(path: Path) -> Contents:
    with Store(path) as store:
        return {
            queue.name: [entry.data for entry in queue.entries()]
            for half in (store.durable, store.volatile)
            for queue in half.queues()  # type: ignore[attr-defined]
            if queue.count
        }


def flip(path: Path, rng: random.Random, start: int = 0, stop: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(start, stop or len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def used(path: Path) -> int:
    """Bytes of the file up to the last that is not zero."""
    return len(path.read_bytes().rstrip(b"\0"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Contents]:
    path = tmp_path_factory.mktemp("whole") / "store"
    return path, make(path, 400)


@pytest.fixture
def copy(whole: tuple[Path, Contents], tmp_path: Path) -> tuple[Path, Contents]:
    shutil.copytree(whole[0], tmp_path / "store")
    return tmp_path / "store", whole[1]


def test_a_whole_store_is_sound_and_its_salvage_is_the_same(copy: tuple[Path, Contents], tmp_path: Path) -> None:
    path, expected = copy
    report = storecheck.check(path)
    assert report.sound, report
    assert report.entries == sum(map(len, expected.values()))
    saved = storecheck.salvage(path, tmp_path / "new")
    assert saved.saved == report.entries
    with Store(tmp_path / "new") as store:
        assert store.salvaged
        assert store.closed_clean
        assert store.durable.get_meta(b"meta") == b"data" * 1000
    assert contents(tmp_path / "new") == expected
    with Store(tmp_path / "new") as store:
        assert not store.salvaged
    assert contents(path) == expected


def subset(part: list[bytes], of: list[bytes]) -> bool:
    """Whether a list is another one with some left out, in the same order."""
    rest = iter(of)
    return all(any(each == other for other in rest) for each in part)


@pytest.mark.parametrize("rounds", [6, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("half", ["durable", "volatile"])
def test_flipped_bits_are_noticed_and_what_is_whole_is_saved(
    whole: tuple[Path, Contents], tmp_path: Path, half: str, rounds: int
) -> None:
    path, expected = whole
    noticed = 0
    for seed in range(rounds):
        rng = random.Random(seed)
        place = tmp_path / str(seed)
        shutil.copytree(path, place)
        file = place / half / "data.mdb"
        for _ in range(rng.choice([1, 1, 3])):
            flip(file, rng, 0, used(file))
        report = storecheck.check(place)
        noticed += not report.sound
        saved = storecheck.salvage(place, tmp_path / "new")
        with Store(tmp_path / "new") as store:
            found = {
                queue.name: [entry.data for entry in queue.entries()]
                for owner in (store.durable, store.volatile)
                for queue in owner.queues()  # type: ignore[attr-defined]
            }
        for name, records in found.items():
            if not name.startswith(b"LOST-"):
                assert subset(records, expected[name]), (seed, name)
        if report.sound:
            assert {name: records for name, records in found.items() if records} == expected, seed
        assert saved.saved == sum(map(len, found.values()))
        shutil.rmtree(tmp_path / "new")
        shutil.rmtree(place)
    assert noticed > rounds // 5  # the others were in pages that are free


@pytest.mark.skipif(not hasattr(os, "pread"), reason="the file is read otherwise here")
def test_a_page_that_the_system_cannot_read_is_told(
    copy: tuple[Path, Contents], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = copy[0] / "durable", os.pread
    file = PageFile(path, max(read_metas(path), key=attrgetter("txnid")))
    whole = len(list(file.records()))
    bad = max(file.reached)

    def refuse(fd: int, size: int, offset: int) -> bytes:
        if offset // PAGE == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(fd, size, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", refuse)
        assert 0 < len(list(file.records())) < whole
    file.close()
    assert file.problems == [f"page {bad} cannot be read: Input/output error"]


def test_an_entry_that_was_changed_is_an_error_that_names_queue_and_number(copy: tuple[Path, Contents]) -> None:
    path, expected = copy
    file = path / "durable" / "data.mdb"
    data = file.read_bytes()
    for wanted in (expected[b"FIFO"][50], expected[b"KEYED"][10], expected[b"PLAIN"][200]):
        at = data.find(wanted)
        changed = bytearray(data)
        while at >= 0:
            changed[at + 3] ^= 4
            at = data.find(wanted, at + 1)
        file.write_bytes(changed)
        with Store(path) as store:
            name = wanted.split()[0].replace(b"plain", b"PLAIN")
            queue = store.durable.queue(name)
            assert queue is not None
            with pytest.raises(
                StoreDamaged, match=rf"queue b'{name.decode()}': record -?[0-9]+ is damaged.*tdq store salvage"
            ):
                list(queue.entries())
        report = storecheck.check(path)
        assert {name for name, _ in report.damaged} == {name}
    file.write_bytes(data)


def test_keyed_entries_in_front_of_a_damaged_one_can_be_taken(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        queue = store.durable.create_queue(b"K", Order.KEYED, 1)
        work = queue.work()
        work.put_many([Entry(b"data of %d" % number, b"%d" % number) for number in range(6)])
        store.durable.commit((work,))
    file = tmp_path / "store" / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"data of 4", b"Data of 4"))
    with Store(tmp_path / "store") as store:
        damaged = store.durable.queue(b"K")
        assert damaged is not None
        work = damaged.work()
        assert [work.take() for _ in range(4)] == [b"data of %d" % number for number in range(4)]
        with pytest.raises(StoreDamaged, match="record 5 is damaged"):
            work.take()


def test_a_record_that_was_taken_and_is_there_again_is_told(tmp_path: Path) -> None:
    """As a fault of ours would leave it: put back in a transaction between two of the store's own."""

    def change(store: Store, data: bytes) -> None:
        found = store.durable.queue(b"Q")
        assert found is not None
        work = found.work()
        work.put(data) if data else work.take()
        store.durable.commit((work,))

    def entries(txn: lmdb.Transaction) -> dict[bytes, bytes]:
        return {bytes(key): bytes(value) for key, value in txn.cursor()}

    with Store(tmp_path / "store") as store:
        store.durable.create_queue(b"Q")
        change(store, b"first")
        change(store, b"second")
        with store.durable._env.begin() as txn:
            before = entries(txn)
        change(store, b"")
        with store.durable._env.begin(write=True) as txn:
            for key in before.keys() - entries(txn).keys():
                txn.put(key, before[key])
        change(store, b"third")
    report = storecheck.check(tmp_path / "store")
    assert report.problems == ("durable: queue b'Q': record 1 was taken long ago, but is still there",)
    assert not report.sound
    storecheck.salvage(tmp_path / "store", tmp_path / "new")
    assert contents(tmp_path / "new") == {b"Q": [b"second", b"third"]}


def test_a_queue_that_lost_all_its_records_goes_on_with_their_numbers(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        queue = store.durable.create_queue(b"Q")
        work = queue.work()
        for data in (b"taken", b"to be lost one", b"to be lost two"):
            work.put(data)
        store.durable.commit((work,))
        work = queue.work()
        work.take()
        store.durable.commit((work,))
    file = tmp_path / "store" / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"to be lost", b"to be LOST"))
    report = storecheck.salvage(tmp_path / "store", tmp_path / "new")
    assert [(queue.name, queue.count, queue.saved) for queue in report.queues] == [(b"Q", 2, 0)]
    with Store(tmp_path / "new") as store:
        found = store.durable.queue(b"Q")
        assert found is not None
        assert (found.count, found.now.first, found.now.last) == (0, 4, 3)


@pytest.mark.parametrize("index", [0, 1])
def test_either_meta_page_may_serve(copy: tuple[Path, Contents], index: int) -> None:
    """A meta page was written by halves: LMDB's other one is the commit before, and nothing of that is lost."""
    path, expected = copy
    with Store(path) as store:  # two more commits that change no queue
        store.durable.commit(meta={b"x": b"1"})
        store.durable.commit(meta={b"x": b"2"})
        store.close(clean=False)
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    data[index * PAGE + 16 : index * PAGE + 120] = bytes(104)
    file.write_bytes(data)
    with pytest.raises(StoreDamaged, match=f"meta page {index}"):
        Store(path, readonly=True)
    assert any(f"meta page {index}" in problem for problem in storecheck.check(path).problems)
    with Store(path) as store:
        assert any(f"meta page {index} of data.mdb was damaged" in note for note in store.notes)
        store.durable.commit(meta={b"x": b"3"})
        store.durable.commit(meta={b"x": b"4"})
    with Store(path) as store:
        assert store.notes == ()
        assert store.durable.get_meta(b"x") == b"4"
    assert contents(path) == expected
    assert storecheck.check(path).sound


@pytest.mark.parametrize("number", [1 << 40, 1 << 62, 1, 2, 3, 4])
def test_an_old_meta_page_with_a_wild_number_does_no_harm_to_a_store_that_was_closed(
    copy: tuple[Path, Contents], number: int
) -> None:
    """LMDB would go by the higher number; the store goes by the page that was sealed when it was closed.

    The other page might have been that of a later commit, so the store counts as not closed cleanly.
    """
    path, expected = copy
    right, old = read_metas(path / "durable")
    assert right.txnid == old.txnid + 1
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    at = old.index * PAGE + 16 + 128
    assert data[at : at + 8] == old.txnid.to_bytes(8, "little")
    data[at : at + 8] = (old.txnid ^ number).to_bytes(8, "little")
    file.write_bytes(data)
    as_next = old.txnid ^ number == right.txnid + 1  # then it looks like the commit after the clean close
    assert as_next or any(f"meta page {old.index}" in problem for problem in storecheck.check(path).problems)
    with Store(path) as store:
        assert as_next or any(f"meta page {old.index} of data.mdb was damaged" in note for note in store.notes)
        assert not store.closed_clean
    assert contents(path) == expected
    assert storecheck.check(path).sound


@pytest.mark.parametrize("behind", [1, 3])
def test_a_meta_page_is_the_one_before_only_if_its_number_is(copy: tuple[Path, Contents], behind: int) -> None:
    """After an end without a close the other page is of the commit before; a page of an older one was not written."""
    path, _ = copy
    with Store(path) as store:
        for value in (b"1", b"2", b"3", b"4"):
            store.durable.commit(meta={b"x": value})
        store.close(clean=False)
    newer, older = read_metas(path / "durable")
    assert older.txnid == newer.txnid - 1
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    at = older.index * PAGE + 16 + 128
    data[at : at + 8] = (newer.txnid - behind).to_bytes(8, sys.byteorder)
    file.write_bytes(data)
    with Store(path) as store:
        told = any(f"meta page {older.index} of data.mdb was damaged" in note for note in store.notes)
    assert told == (behind != 1)


def test_a_volatile_file_that_has_gone_since_the_store_was_closed_is_missed(copy: tuple[Path, Contents]) -> None:
    path, _ = copy
    (path / "volatile" / "made").unlink()
    with pytest.raises(StoreDamaged, match=r"volatile/made: the file is missing: .*; make it anew, as an empty file$"):
        Store(path)
    assert storecheck.check(path).problems == ("the volatile file is left out: volatile/made is missing",)
    (path / "volatile" / "made").touch()
    Store(path).close()
    shutil.rmtree(path / "volatile")
    with pytest.raises(StoreDamaged, match=r"volatile: the file data\.mdb is missing; `tdq store check`"):
        Store(path)


@pytest.mark.parametrize("rounds", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_damaged_meta_pages_never_open_the_wrong_way(whole: tuple[Path, Contents], tmp_path: Path, rounds: int) -> None:
    path, expected = whole
    place = tmp_path / "store"
    shutil.copytree(path, place)
    file = place / "durable" / "data.mdb"
    data = file.read_bytes()
    for seed in range(rounds):
        rng = random.Random(seed)
        shutil.rmtree(place)
        shutil.copytree(path, place)
        page = rng.choice([0, PAGE])
        flip(file, rng, page, page + 152)
        try:
            found = contents(place)
        except StoreError:
            continue
        assert found == expected, seed
    assert data


@pytest.mark.parametrize("size", [0, 100, PAGE, 2 * PAGE, 5 * PAGE + 17])
def test_a_file_that_was_cut_off_is_refused_before_lmdb_opens_it(copy: tuple[Path, Contents], size: int) -> None:
    path, _ = copy
    file = path / "durable" / "data.mdb"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(StoreDamaged, match=r"data\.mdb"):
        Store(path)
    assert not storecheck.check(path).sound


def test_a_missing_file_is_named(copy: tuple[Path, Contents]) -> None:
    path, _ = copy
    (path / "durable" / "data.mdb").unlink()
    with pytest.raises(StoreDamaged, match=r"data\.mdb is missing"):
        Store(path)


@pytest.fixture(scope="module")
def unclean(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, Contents]]:
    """Stores that were closed, and then opened and not closed cleanly after so many commits."""
    made = {}
    for commits in (0, 1, 5):
        path = tmp_path_factory.mktemp("unclean") / "store"
        expected = make(path, 20)
        store = Store(path)
        for number in range(commits):
            store.durable.commit(meta={b"x": b"%d" % number})
        store.close(clean=False)
        made[commits] = path, expected
    return made


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 60))])
@pytest.mark.parametrize("commits", [0, 1, 5])
def test_no_flipped_bit_of_the_meta_pages_lets_an_open_store_pass_for_one_that_was_closed(
    unclean: dict[int, tuple[Path, Contents]], tmp_path: Path, commits: int, seed: int
) -> None:
    """With no commit of its own the run has only removed the mark, and the page of the clean close is the other one."""
    path, (made, expected) = tmp_path / "store", unclean[commits]
    shutil.copytree(made, path)
    rng = random.Random(seed)
    newer = read_metas(path / "durable")[0]
    start = newer.index * PAGE
    flip(path / "durable" / "data.mdb", rng, start, start + 152)
    try:
        with Store(path) as store:
            assert not store.closed_clean
    except StoreDamaged:
        return
    assert contents(path) == expected


def test_what_had_to_be_set_right_is_said(copy: tuple[Path, Contents], caplog: pytest.LogCaptureFixture) -> None:
    path, _ = copy
    with Store(path) as store:
        assert store.notes == ()
    Store(path).close(clean=False)
    newest = read_metas(path / "durable")[0]
    file = path / "durable" / "data.mdb"
    data = bytearray(file.read_bytes())
    data[newest.index * PAGE + 16 : newest.index * PAGE + 48] = bytes(32)
    file.write_bytes(data)
    with Store(path) as store:
        assert "its last commit may be missing" in " ".join(store.notes)
    said = [record.message for record in caplog.records if record.name == "tdqsim.store"]
    assert len(said) == 1
    assert "its last commit may be missing" in said[0]


def test_what_a_store_was_after_a_failure_its_salvage_is_too(copy: tuple[Path, Contents], tmp_path: Path) -> None:
    path, _ = copy
    Store(path).close(clean=False)
    storecheck.salvage(path, tmp_path / "new")
    with Store(tmp_path / "new") as store:
        assert not store.closed_clean
        assert store.salvaged


def test_check_and_salvage_refuse_what_they_must(copy: tuple[Path, Contents], tmp_path: Path) -> None:
    path, _ = copy
    with pytest.raises(StoreMissing):
        storecheck.check(tmp_path / "nowhere")
    with Store(path), pytest.raises(StoreInUse):
        storecheck.check(path)
    with pytest.raises(StoreError, match="a store already"):
        storecheck.salvage(path, path)
    (tmp_path / "new" / "unfinished").mkdir(parents=True)  # as a salvage that was killed leaves it
    with pytest.raises(StoreError, match="a salvage to it has not ended; if it was killed, salvage to it again"):
        Store(tmp_path / "new")
    storecheck.salvage(path, tmp_path / "new")
    Store(tmp_path / "new").close()


def test_check_imports_only_the_modules_of_its_caller(copy: tuple[Path, Contents], tmp_path: Path) -> None:
    path, _ = copy
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("lmdb", "json", "tdqsim", "sortedcontainers"):
        (trap / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    venv.create(tmp_path / "env", symlinks=True)
    (installed,) = tmp_path.glob("env/lib/python*/site-packages")
    (installed / "trap.pth").write_text(f"{trap}\n")
    code = """
    import tdqsim.core.store.check as check
    os.chdir(sys.argv[2])
    os.environ["PYTHONPATH"] = sys.argv[2]
    sys.executable = sys.argv[3]
    print(check.check(Path(sys.argv[1])).sound)
    """
    status, out, errors = _child.run(code, path, trap, tmp_path / "env" / "bin" / "python")
    assert (status, out.strip()) == (0, "True"), errors
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("rounds", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_a_damaged_store_is_never_opened_with_other_data(
    whole: tuple[Path, Contents], tmp_path: Path, rounds: int
) -> None:
    """LMDB trusts its pages, so damage of one may end the process; but no wrong record may ever come out."""
    path, expected = whole
    code = """
    import random, shutil
    whole, place = Path(sys.argv[1]), Path(sys.argv[2])
    file = place / "durable" / "data.mdb"
    for seed in range(int(sys.argv[3])):
        shutil.copytree(whole, place)
        data, rng = bytearray(file.read_bytes()), random.Random(seed)
        data[rng.randrange(len(data.rstrip(b"\\0")))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        print("seed", seed, flush=True)
        child = os.fork()
        if not child:
            try:
                with Store(place) as store:
                    for queue in store.durable.queues():
                        for entry in queue.entries():
                            print(queue.name.hex(), entry.data.hex())
            except StoreError as error:
                print("refused", type(error).__name__)
            sys.stdout.flush()
            os._exit(0)
        print("status", os.waitpid(child, 0)[1], flush=True)
        shutil.rmtree(place)
    """
    status, out, errors = _child.run(code, path, tmp_path / "store", rounds)  # which forks: its children may end so
    assert status == 0, errors
    ended, seeds = 0, 0
    found: Contents = {}
    for word, value in (line.split() for line in out.splitlines()):
        if word == "seed":
            found.clear()
        elif word == "status":
            seeds += 1
            ended += value != "0"
            for name, records in found.items():
                assert subset(records, expected[name]), (seeds, name)
        elif word != "refused":
            found.setdefault(bytes.fromhex(word), []).append(bytes.fromhex(value))
    assert seeds == rounds
    assert ended <= rounds // 5


@pytest.mark.parametrize("half", ["durable", "volatile"])
@pytest.mark.parametrize("what", ["zeros", "another page", "noise"])
def test_after_an_unclean_end_a_damaged_page_is_refused_and_ends_no_process(
    tmp_path: Path, half: str, what: str
) -> None:
    """LMDB ends the process by an assertion when it meets such a page; here it never comes to that."""
    path = tmp_path / "store"
    expected = make(path, 150)
    store = Store(path)
    store.durable.commit(meta={b"x": b"1"})
    store.close(clean=False)
    code = """
    import random, shutil
    path, what = Path(sys.argv[1]), sys.argv[3]
    file = path / sys.argv[2] / "data.mdb"
    data = file.read_bytes()
    pages = range(2, len(data.rstrip(b"\\0")) // 4096 + 1)
    new = {"zeros": bytes(4096), "another page": data[3 * 4096 : 4 * 4096], "noise": random.Random(1).randbytes(4096)}
    for page in pages:
        image = data[: page * 4096] + new[what] + data[(page + 1) * 4096 :]
        if image == data:
            continue
        shutil.copytree(path, path.with_name("copy"), dirs_exist_ok=True)
        (path.with_name("copy") / sys.argv[2] / "data.mdb").write_bytes(image)
        try:
            with Store(path.with_name("copy")) as store:
                queues = [queue for half in (store.durable, store.volatile) for queue in half.queues()]
                print("opened", sum(len(list(queue.entries())) for queue in queues))
        except StoreDamaged as error:
            print("refused", error)
    """
    status, out, errors = _child.run(code, path, half, what)
    assert status == 0, errors
    said = out.splitlines()
    opened = {line for line in said if line.startswith("opened")}
    assert opened <= {f"opened {sum(map(len, expected.values()))}"}  # those pages were free
    assert sum(line.startswith("refused") for line in said) >= 1
    assert all("tdq store salvage" in line for line in said if line.startswith("refused"))
