"""What IBM i data queues cost beside CICS queues, beside themselves when they are larger, and beside an empty call."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle, islice
from pathlib import Path

import lmdb
import pytest

from tdqsim.ibmi import Job, System
from tests.bench._ratio import compare, report
from tests.bench._table import hold

pytestmark = pytest.mark.bench
DATA = b"x" * 80


NO_PAIR = 45
"""The bar of a pair of WRITEQ TD and READQ TD of a non-recoverable queue in a started task, in empty calls."""
BARS = {"plain": 1.5, "LIFO": 2, "SENDERID(*YES)": 2, "through *LIBL": 2, "by key among 10,000": 4}


def test_pairs_of_send_and_receive():
    with System("SYS1") as system, system.job() as outside:
        keywords = {
            "PLAIN": {}, "LIFO": {"seq": "*LIFO"}, "SIGNED": {"senderid": "*YES"}, "KEYED": {"seq": "*KEYED", "keylen": 8},
        }  # fmt: skip
        for name, more in keywords.items():
            outside.crtdtaq(f"QGPL/{name}", maxlen=100, **more)
        for number in range(10_000):
            outside.qsnddtaq("KEYED", "QGPL", DATA, number.to_bytes(8, "big"))

        def measure(job):
            def pairs(name: str, library: str = "QGPL", key: bytes | None = None):
                def run(n: int) -> None:
                    for _ in range(n):
                        job.qsnddtaq(name, library, DATA, key)
                        job.qrcvdtaq(name, library, 0, "EQ", key)

                return run

            contenders = {
                "plain": pairs("PLAIN"), "LIFO": pairs("LIFO"), "SENDERID(*YES)": pairs("SIGNED"),
                "through *LIBL": pairs("PLAIN", "*LIBL"),
                "by key among 10,000": pairs("KEYED", key=(5000).to_bytes(8, "big")),
            }  # fmt: skip
            return compare(contenders, n=3000, cpu=True)

        costs = system.start(measure).result()
        report("a pair of send and receive, in empty calls", costs)
        for name, times in BARS.items():
            hold(times * NO_PAIR, costs[name].ratio, f"IBM i, a pair, {name}, in empty calls")


def test_a_forced_pair_beside_its_two_bare_commits(tmp_path: Path):
    with System("SYS1", store=tmp_path / "system") as system, system.job() as job:
        job.crtdtaq("QGPL/FORCED", maxlen=100, force="*YES")
        bare = system.store.durable.create_queue(b"9999")

        def pairs(n: int) -> None:
            for _ in range(n):
                job.qsnddtaq("FORCED", "QGPL", DATA)
                job.qrcvdtaq("FORCED", "QGPL")

        def commits(n: int) -> None:
            for _ in range(n):
                work = bare.work()
                work.put(DATA)
                system.store.durable.commit((work,))
                work = bare.work()
                work.take()
                system.store.durable.commit((work,))

        costs = compare({"a FORCE(*YES) pair": pairs}, n=200, reference=commits, reference_n=200, cpu=True)
        report("FORCE(*YES), in two commits of the store", costs)
        hold(2, costs["a FORCE(*YES) pair"].ratio, "IBM i, a FORCE(*YES) pair, to its two commits")
        bare.durable.drop(bare)


def test_keyed_receives_among_many(tmp_path: Path):
    with System("SYS1", store=tmp_path / "system", memory_bytes=1 << 28) as system, system.job() as job:
        contenders = {}
        for size in (1_000, 300_000):
            name = f"K{size}"
            job.crtdtaq(dtaq=f"QGPL/{name}", maxlen=100, seq="*KEYED", keylen=8, size=["*MAX2GB", 16])
            for number in range(size):
                job.qsnddtaq(name, "QGPL", DATA, number.to_bytes(8, "big"))
            for order in ("EQ", "GE"):
                steps = cycle([(number * 7919 % size).to_bytes(8, "big") for number in range(1000)])

                def run(n: int, name=name, order=order, steps=steps) -> None:
                    for _ in range(n):
                        got = job.qrcvdtaq(name, "QGPL", 0, order, next(steps))
                        job.qsnddtaq(name, "QGPL", DATA, got.key)

                contenders[f"{order} among {size:,}"] = run
        costs = compare(contenders, n=1000, cpu=True)
        report("a keyed receive (and the send that puts it back), in empty calls", costs)
        for order in ("EQ", "GE"):
            ratio = costs[f"{order} among 300,000"].ratio / costs[f"{order} among 1,000"].ratio
            hold(3, ratio, f"IBM i, a keyed receive, {order}, among 300,000, to among 1,000")
        job.qclrdtaq("QGPL/K300000")


@pytest.mark.parametrize(("order", "most"), [("any key", 9), ("the next key", 3), ("the lowest key", 2.5)])
def test_keyed_pairs_beyond_memory(tmp_path: Path, order: str, most: float):
    """Among a million entries with a limit of 64 MB, beside a thousand, and LMDB alone with batches of as many."""
    few, many, at_once = 1_000, 1_000_000, 512
    step, search = 7919 if order == "any key" else 1, "GE" if order == "the lowest key" else "EQ"
    env = lmdb.open(str(tmp_path), map_size=1 << 32, sync=False, readahead=False)
    with env, System("SYS1", store=tmp_path / "system", memory_bytes=1 << 26) as system, system.job() as job:

        def pairs(size: int) -> Callable[[int], None]:
            name, places = f"K{size}", count(0, step)
            job.crtdtaq(f"QGPL/{name}", maxlen=100, seq="*KEYED", keylen=8, size=["*MAX2GB", 16])
            for number in range(size):
                job.qsnddtaq(name, "QGPL", DATA, (number * 7919 % size).to_bytes(8, "big"))

            def run(n: int) -> None:
                for place in islice(places, n):
                    if search == "GE":
                        assert job.qrcvdtaq(name, "QGPL", 0, "GE", bytes(8)).key == place.to_bytes(8, "big")
                        job.qsnddtaq(name, "QGPL", DATA, (place + size).to_bytes(8, "big"))
                    else:
                        key = (place % size).to_bytes(8, "big")
                        assert job.qrcvdtaq(name, "QGPL", 0, "EQ", key).key == key
                        job.qsnddtaq(name, "QGPL", DATA, key)

            return run

        beyond, within, places = pairs(many), pairs(few), count(0, step)
        with env.begin(write=True) as txn:
            txn.cursor().putmulti((number.to_bytes(8, "big"), DATA) for number in range(many))

        def alone(n: int) -> None:
            for _ in range(n // at_once):
                keys = [(place % many).to_bytes(8, "big") for place in islice(places, at_once)]
                for key in keys:
                    with env.begin() as txn:
                        txn.get(key)
                with env.begin(write=True) as txn:
                    for key in sorted(keys):
                        txn.delete(key)
                    for key in sorted(keys):
                        txn.put(key, DATA)

        costs = compare({"within": within, "beyond": beyond, "LMDB alone": alone}, n=10 * at_once, cpu=True)
        report(f"a keyed pair, {order}, in empty calls", costs)
        ratio = {name: cost.ratio / costs["within"].ratio for name, cost in costs.items()}
        hold(most, ratio["beyond"], f"IBM i, a keyed pair, {order}, beyond memory, to within it", wanted=2.5)
        assert system.store.volatile.overflowed


def test_a_keyed_queue_fills_beyond_memory(tmp_path: Path):
    """Sends with scattered keys to a queue beyond a limit of 64 MB, beside sends to one in memory."""
    with (
        System("WITHIN", store=tmp_path / "within", memory_bytes=1 << 29) as within,
        System("BEYOND", store=tmp_path / "beyond", memory_bytes=1 << 26) as beyond,
        within.job() as job, beyond.job() as other,
    ):  # fmt: skip

        def sends(job: Job) -> Callable[[int], None]:
            job.crtdtaq("QGPL/K", maxlen=100, seq="*KEYED", keylen=8, size=["*MAX2GB", 16])
            places = count(0, 7919)

            def run(n: int) -> None:
                for place in islice(places, n):
                    job.qsnddtaq("K", "QGPL", DATA, (place % 1_000_000).to_bytes(8, "big"))

            run(300_000)
            return run

        contenders = {"within": sends(job), "beyond": sends(other)}
        assert beyond.store.volatile.overflowed
        costs = compare(contenders, n=70_000, rounds=5, cpu=True)
        report("a send to a keyed queue, in empty calls", costs)
        ratio = costs["beyond"].ratio / costs["within"].ratio
        hold(3.5, ratio, "IBM i, filling a keyed queue beyond memory, to within it", wanted=2.5)
        assert not within.store.volatile.overflowed


def test_qmhrdqm_of_a_hundred_thousand(tmp_path: Path):
    with System("SYS1", store=tmp_path / "system") as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/MANY", maxlen=100)
        for _ in range(100_000):
            job.qsnddtaq("MANY", "QGPL", DATA)
        stored = next(system.queues()).stored
        receiver, room, selection = bytearray(20_000_000), (20_000_000).to_bytes(4, "big"), b"\xc1@@@\0\0\0d"

        def retrieve(form: str) -> None:
            job.call("QMHRDQM", receiver, room, form, "QGPL/MANY", selection, 8, "RDQS0100", bytes(4))

        costs = compare(
            {
                "RDQM0100 A, bytes": lambda _: retrieve("RDQM0100"),
                "RDQM0200 A, bytes": lambda _: retrieve("RDQM0200"),
                "RDQM0100 A, records": lambda _: job.qmhrdqm("MANY", "QGPL"),
            },
            n=1, rounds=5, reference=lambda _: sum(1 for _ in stored.entries()), reference_n=1, cpu=True,
        )  # fmt: skip
        for name, cost in costs.items():
            hold(6, cost.ratio, f"QMHRDQM of 100,000 entries, {name}, to walks over the queue")


def test_qmhrdqm_of_a_short_receiver_reads_what_fits():
    with System("SYS1") as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/KEYED", maxlen=100, seq="*KEYED", keylen=4, size=["*MAX2GB", 1])
        for number in range(50_000):
            job.qsnddtaq("KEYED", "QGPL", DATA, number.to_bytes(4, "big"))
        stored = next(system.queues()).stored
        receiver, selection = bytearray(1000), b"\xd9@@@\0\0\0d"

        def retrieve(form: str) -> None:
            job.call(
                "QMHRDQM", receiver, (1000).to_bytes(4, "big"), form, "QGPL/KEYED", selection, 8, "RDQS0100", bytes(4)
            )

        costs = compare(
            {"RDQM0100": lambda _: retrieve("RDQM0100"), "RDQM0200": lambda _: retrieve("RDQM0200")},
            n=1, rounds=5, reference=lambda _: sum(1 for _ in stored.entries()), reference_n=1, cpu=True,
        )  # fmt: skip
        hold(
            0.1, costs["RDQM0100"].ratio, "QMHRDQM R of 50,000 keys, short receiver, RDQM0100, to walks over the queue"
        )
        hold(
            0.5, costs["RDQM0200"].ratio, "QMHRDQM R of 50,000 keys, short receiver, RDQM0200, to walks over the queue"
        )


FEW, MANY = 500, 4_000


def among(setting: Callable[[System, Job, int], Callable[[], object]]) -> float:
    """What one turn of some work costs among MANY others, to what it costs among FEW."""
    with System("FEW") as few, System("MANY") as many:
        contenders = {}
        for system, size in ((few, FEW), (many, MANY)):
            turn = setting(system, system.job("SETUP", user="QSECOFR"), size)

            def run(n: int, turn: Callable[[], object] = turn) -> None:
                for _ in range(n):
                    turn()

            contenders[f"{setting.__name__}, {size:,}"] = run
        costs = compare(contenders, n=100, rounds=7, cpu=True)
        report(f"{setting.__name__}, in empty calls", costs)
        first, second = costs.values()
        return second.ratio / first.ratio


def waiting_receives(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)

    def receive(own: Job) -> None:
        while True:
            own.qrcvdtaq("Q", "QGPL", -1)

    for _ in range(size):
        system.start(receive)
    system.dispatcher.run_ready()
    return lambda: job.qsnddtaq("Q", "QGPL", b"x")


def receives_that_wait_for_a_key(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10, seq="*KEYED", keylen=4)

    def receive(own: Job, key: bytes) -> None:
        while True:
            own.qrcvdtaq("Q", "QGPL", -1, "EQ", key)

    keys = [number.to_bytes(4, "big") for number in range(size)]
    for key in keys:
        system.start(receive, key)
    system.dispatcher.run_ready()
    turns = cycle(reversed(keys))
    return lambda: job.qsnddtaq("Q", "QGPL", b"x", next(turns))


def waits_with_a_limit(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)

    def receive(own: Job) -> None:
        while True:
            own.qrcvdtaq("Q", "QGPL", 90_000)

    for _ in range(size):
        system.start(receive)
    system.dispatcher.run_ready()
    return lambda: job.qsnddtaq("Q", "QGPL", b"x")


def active_jobs(system: System, job: Job, size: int) -> Callable[[], object]:
    for _ in range(size):
        system.job("ACTIVE")

    def turn() -> None:
        with system.job("ANOTHER") as another:
            another.qsnddtaq("QGPL/Q", "", b"x")

    job.crtdtaq("QGPL/Q", maxlen=10)
    return turn


def data_queues(system: System, job: Job, size: int) -> Callable[[], object]:
    for number in range(size):
        job.crtdtaq(f"QGPL/Q{number}", maxlen=10)
    system.crtlib("OTHER")

    def turn() -> None:
        job.crtdtaq("QGPL/ONE", maxlen=10)
        job.movobj("QGPL/ONE", "OTHER")
        job.rnmobj("OTHER/ONE", "TWO")
        job.dltdtaq("OTHER/TWO")

    return turn


def journal_entries(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)
    job.crtjrn("QGPL/J")
    job.strjrnobj("QGPL/Q", "QGPL/J")
    for _ in range(size // 2):
        job.qsnddtaq("Q", "QGPL", b"x")
        job.qrcvdtaq("Q", "QGPL")

    def turn() -> None:
        job.qsnddtaq("Q", "QGPL", b"x")
        job.qrcvdtaq("Q", "QGPL")

    return turn


def holders_of_a_lock(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)
    for _ in range(size):
        system.job("HOLDER").alcobj([("QGPL/Q", "*SHRRD")])

    def turn() -> None:
        job.alcobj([("QGPL/Q", "*SHRUPD")])
        job.dlcobj([("QGPL/Q", "*SHRUPD")])

    return turn


def locks_of_one_job(_system: System, job: Job, size: int) -> Callable[[], object]:
    names = [f"QGPL/Q{number}" for number in range(size)]
    for name in names:
        job.crtdtaq(name, maxlen=10)
        job.alcobj([(name, "*EXCL")])
    turns = cycle(names)

    def turn() -> None:
        name = next(turns)
        job.dlcobj([(name, "*EXCL")])
        job.alcobj([(name, "*EXCL")])

    return turn


def waits_for_a_lock(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)
    job.crtdtaq("QGPL/GO", maxlen=10)

    def take_turns(own: Job) -> None:
        while True:
            own.alcobj([("QGPL/Q", "*EXCL")], 32_767)
            own.qrcvdtaq("GO", "QGPL", -1)
            own.dlcobj([("QGPL/Q", "*EXCL")])

    for _ in range(size):
        system.start(take_turns)
    system.dispatcher.run_ready()
    return lambda: job.qsnddtaq("GO", "QGPL", b"x")


def waits_for_the_lock_of_another_object(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)
    job.crtdtaq("QGPL/OTHER", maxlen=10)
    job.alcobj([("QGPL/OTHER", "*EXCL")])
    for _ in range(size):
        system.start(lambda own: own.alcobj([("QGPL/OTHER", "*SHRRD")], 32_767))
    system.dispatcher.run_ready()

    def turn() -> None:
        job.alcobj([("QGPL/Q", "*EXCL")])
        job.dlcobj([("QGPL/Q", "*EXCL")])

    return turn


def users_with_an_authority(system: System, job: Job, size: int) -> Callable[[], object]:
    job.crtdtaq("QGPL/Q", maxlen=10)
    users = [system.crtusrprf(f"U{number}").name for number in range(size)]
    job.grtobjaut("QGPL/Q", users, "*USE")
    turns = cycle(users)

    def turn() -> None:
        user = next(turns)
        job.grtobjaut("QGPL/Q", user, "*CHANGE")
        job.rvkobjaut("QGPL/Q", user, "*ALL")
        job.grtobjaut("QGPL/Q", user, "*USE")

    return turn


def user_profiles(system: System, _job: Job, size: int) -> Callable[[], object]:
    numbers = count()
    for _ in range(size):
        system.crtusrprf(f"U{next(numbers)}")
    return lambda: system.crtusrprf(f"U{next(numbers)}")


@pytest.mark.parametrize(
    "setting",
    [
        waiting_receives, receives_that_wait_for_a_key, waits_with_a_limit, active_jobs, data_queues, journal_entries,
        holders_of_a_lock, locks_of_one_job, waits_for_a_lock, waits_for_the_lock_of_another_object,
        users_with_an_authority, user_profiles,
    ],
)  # fmt: skip
def test_eight_times_as_many_others_cost_one_turn_no_more(setting):
    hold(2.5, among(setting), f"IBM i, {setting.__name__.replace('_', ' ')}, {MANY:,} of them, to {FEW:,}", wanted=1.5)
