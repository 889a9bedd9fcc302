"""Reading and writing data sets against the fastest plain Python loop that does the same parsing.

The plain loops know the format and trust the file; ours checks every length. The figure wanted is at least a third of
their rate, that is a ratio of at most 3: of a reader and a writer alone, and of READQ TD and WRITEQ TD of all records of
a queue. What a request costs that is a call of its own is reported beside it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from struct import Struct

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.datasets import open_reader, open_writer, parse_dcb, read_records, write_records
from tests.bench._ratio import compare, report
from tests.bench._table import hold

pytestmark = pytest.mark.bench

COUNT = 200_000
TWO_GIGABYTES = 2_000_000_000
FB = parse_dcb("RECFM=FB,LRECL=80,BLKSIZE=27920")
VB = parse_dcb("RECFM=VB,LRECL=259,BLKSIZE=27998")


def records(dcb, count=COUNT):
    return [b"A" * (80 if dcb.recfm.fixed else 20 + number % 200) for number in range(count)]


def plain_fixed_read(path):
    with path.open("rb") as file:
        while data := file.read(80 * 4096):
            for at in range(0, len(data), 80):
                yield data[at : at + 80]


def plain_variable_read(path):
    unpack = Struct(">H").unpack_from
    with path.open("rb") as file:
        while head := file.read(4):
            size = unpack(head)[0] - 4
            block = file.read(size)
            at = 0
            while at < size:
                following = at + unpack(block, at)[0]
                yield block[at + 4 : following]
                at = following


def plain_fixed_write(path, source):
    with path.open("wb", buffering=27920) as file:
        write = file.write
        for record in source:
            write(record)


def plain_variable_write(path, source):
    pack = Struct(">HH").pack
    with path.open("wb", buffering=0) as file:
        block, used = [], 4
        for record in source:
            size = len(record) + 4
            if used + size > 27998:
                file.write(pack(used, 0) + b"".join(block))
                block, used = [], 4
            block.append(pack(size, 0) + record)
            used += size
        file.write(pack(used, 0) + b"".join(block))


def consume(source):
    for _ in source:
        pass


def get_all(path, dcb):
    with open_reader(path, dcb) as reader:
        get = reader.get
        while get() is not None:
            pass


def put_each(path, dcb, source):
    with open_writer(path, dcb) as writer:
        put = writer.put
        for record in source:
            put(record)


@pytest.mark.parametrize(("dcb", "plain"), [(FB, plain_fixed_read), (VB, plain_variable_read)], ids=["FB80", "VB"])
def test_reading(tmp_path, dcb, plain):
    path = tmp_path / "data"
    write_records(path, records(dcb), dcb)
    assert list(plain(path)) == list(read_records(path, dcb))
    costs = compare(
        {
            "read_records": lambda _: consume(read_records(path, dcb)),
            "reader.get() each": lambda _: get_all(path, dcb),
        },
        n=1,
        rounds=7,
        reference=lambda _: consume(plain(path)),
        reference_n=1,
    )
    report(f"{dcb.text}: {COUNT} records read, against the plain loop", costs)
    hold(3, costs["read_records"].ratio, f"data sets, {dcb.text}: read_records, to the plain loop")
    hold(3, costs["reader.get() each"].ratio, f"data sets, {dcb.text}: reader.get() each, to the plain loop")


@pytest.mark.parametrize(("dcb", "plain"), [(FB, plain_fixed_write), (VB, plain_variable_write)], ids=["FB80", "VB"])
def test_writing(tmp_path, dcb, plain):
    path, source = tmp_path / "data", records(dcb)
    plain(path, source)
    wanted = path.read_bytes()
    write_records(path, source, dcb)
    assert path.read_bytes() == wanted
    costs = compare(
        {
            "write_records": lambda _: write_records(path, source, dcb),
            "writer.put() each": lambda _: put_each(path, dcb, source),
        },
        n=1,
        rounds=7,
        reference=lambda _: plain(path, source),
        reference_n=1,
    )
    report(f"{dcb.text}: {COUNT} records written, against the plain loop", costs)
    hold(3, costs["write_records"].ratio, f"data sets, {dcb.text}: write_records, to the plain loop")
    hold(3, costs["writer.put() each"].ratio, f"data sets, {dcb.text}: writer.put() each, to the plain loop")


@pytest.fixture
def region(tmp_path):
    """A queue for input and one for output of each format, tied to files of these names."""
    definitions = []
    for kind, dcb in (("FB", FB), ("VB", VB)):
        common = {
            "type": "EXTRA", "blockformat": "BLOCKED", "recordformat": "FIXED" if kind == "FB" else "VARIABLE",
            "recordsize": dcb.lrecl, "blocksize": dcb.blksize, "opentime": "DEFERRED",
        }  # fmt: skip
        definitions.append(define_tdqueue(name=f"{kind}I", **common))
        definitions.append(define_tdqueue(name=f"{kind}O", typefile="OUTPUT", **common))
    with Region(definitions=definitions, dd={queue.name: tmp_path / queue.name for queue in definitions}) as made:
        yield made


def reopened(region, queue):
    region.set_tdqueue(queue, openstatus="CLOSED")
    region.set_tdqueue(queue, openstatus="OPEN")
    return queue


def read_each(region, queue, count):
    def program(task):
        read = task.readq_td
        for _ in range(count):
            read(queue)

    handle = region.start(program)
    region.run()
    handle.result()


def write_each(region, queue, source):
    def program(task):
        write = task.writeq_td
        for record in source:
            write(queue, record)

    handle = region.start(program)
    region.run()
    handle.result()


@pytest.mark.parametrize(
    ("dcb", "kind", "plain"), [(FB, "FB", plain_fixed_read), (VB, "VB", plain_variable_read)], ids=["FB80", "VB"]
)
def test_reading_through_the_queue(tmp_path, region, dcb, kind, plain):
    path, queue = tmp_path / f"{kind}I", f"{kind}I"
    write_records(path, records(dcb), dcb)
    costs = compare(
        {
            "readq_td_all": lambda _: consume(region.readq_td_all(reopened(region, queue))),
            "readq_td each": lambda _: read_each(region, reopened(region, queue), COUNT),
        },
        n=1,
        rounds=5,
        reference=lambda _: consume(plain(path)),
        reference_n=1,
    )
    report(f"{dcb.text}: {COUNT} records read through a queue, against the plain loop", costs)
    hold(3, costs["readq_td_all"].ratio, f"data sets, {dcb.text}: readq_td_all, to the plain loop")


@pytest.mark.parametrize(
    ("dcb", "kind", "plain"), [(FB, "FB", plain_fixed_write), (VB, "VB", plain_variable_write)], ids=["FB80", "VB"]
)
def test_writing_through_the_queue(tmp_path, region, dcb, kind, plain):
    source, queue = records(dcb), f"{kind}O"
    costs = compare(
        {
            "writeq_td_all": lambda _: region.writeq_td_all(reopened(region, queue), source),
            "writeq_td each": lambda _: write_each(region, reopened(region, queue), source),
        },
        n=1,
        rounds=5,
        reference=lambda _: plain(tmp_path / "plain", source),
        reference_n=1,
    )
    report(f"{dcb.text}: {COUNT} records written through a queue, against the plain loop", costs)
    hold(3, costs["writeq_td_all"].ratio, f"data sets, {dcb.text}: writeq_td_all, to the plain loop")


# VmHWM, not ru_maxrss: that one is inherited from the process that started this one.
READ = """
import sys
from pathlib import Path
from tdqsim.datasets import parse_dcb, read_records
def peak():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
before = peak()
count = sum(1 for _ in read_records(sys.argv[1], parse_dcb(sys.argv[2])))
print(count, before, peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("dcb", [FB, VB], ids=["FB80", "VB"])
def test_two_gigabytes_in_constant_memory(tmp_path, dcb):
    path, block, size = tmp_path / "data", records(dcb, 100_000), 0
    with open_writer(path, dcb) as writer:
        while size < TWO_GIGABYTES:
            writer.put_all(block)
            size = path.stat().st_size
        count = writer.records_written
    done = subprocess.run([sys.executable, "-c", READ, str(path), dcb.text], capture_output=True, text=True, check=True)
    path.unlink()
    seen, before, after = map(int, done.stdout.split())
    assert seen == count
    hold(10, (after - before) / 1000, f"data sets, {dcb.text}: {size / 1e9:.1f} GB read, MB more at the highest")
