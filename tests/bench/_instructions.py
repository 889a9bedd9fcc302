"""Counts the bytecode instructions that each command of this package executes: ``python -m tests.bench._instructions``.

The count is exact and the same on every machine with the same version of Python, where a time differs by two between
machines. Each path is warmed up, since Python builds caches at the first calls, and then counted over 20 executions:
what happens at every hundredth record only, such as a page that is allocated, is a small part of one.

The counting is a trace function in each greenlet. Run it in a process of its own: other trace functions, and wrappers
around commands such as those that collect evidence, would count too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import count, islice, product
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import greenlet
import pydantic

from tdqsim import Region, Task, define_tdqueue, define_transaction
from tdqsim.definitions import Definitions
from tdqsim.ibmi import Job, System

_DATA = b"x" * 100
_WARM = 200
_PACKAGES = str(Path(pydantic.__file__).parents[1])
_TIMES = 20
_SHOWN = 40
_FEW, _MANY = 200, 500


class Counting:
    """Counts the instructions of the code that runs inside its ``with`` block, in all greenlets."""

    def __init__(self) -> None:
        self.codes: Counter[CodeType] = Counter()

    def _trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.codes[frame.f_code] += 1
        return self._trace

    def __enter__(self) -> Self:
        greenlet.settrace(lambda *_: sys.settrace(self._trace))  # a trace function belongs to one greenlet
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        greenlet.settrace(None)
        sys.settrace(None)

    def of_one(self, times: int) -> float:
        """The instructions of one execution, without those of this class, and of packages that may change."""
        ours = {Counting.__exit__.__code__, Counting.__enter__.__code__, Counting._trace.__code__}
        counted = (
            n for code, n in self.codes.items() if not code.co_filename.startswith(_PACKAGES) and code not in ours
        )
        return sum(counted) / times

    def show(self, name: str, times: int) -> None:
        """Write the dearest functions of a path that the command line names, for whoever looks for a cause."""
        if name in sys.argv[1:]:
            print(f"{name}: instructions, function", file=sys.stderr)
            for code, count in self.codes.most_common(_SHOWN):
                place = f"{code.co_filename.rpartition('tdqsim/')[-1]}:{code.co_firstlineno}"
                print(f"{count / times:9.1f}  {place} {code.co_qualname}", file=sys.stderr)


def counted(run: Callable[[Callable[..., object]], object], path: Callable[[Any], object], name: str) -> float:
    """The instructions of one execution of a path in a task or job, which ``run`` starts."""
    counting = Counting()

    def program(owner: object) -> None:
        for _ in range(_WARM):
            path(owner)
        with counting:
            for _ in range(_TIMES):
                path(owner)

    run(program)
    counting.show(name, _TIMES)
    return counting.of_one(_TIMES)


def cics_paths(region: Region) -> dict[str, Callable[[Task], object]]:
    data = {"D": _DATA}
    return {
        "WRITEQ and READQ": lambda t: (t.writeq_td("NOQ", _DATA), t.readq_td("NOQ")),
        "WRITEQ and READQ outside a task": lambda _: (region.writeq_td("NOQ", _DATA), region.readq_td("NOQ")),
        "WRITEQ and READQ, INDIRECT": lambda t: (t.writeq_td("ALIA", _DATA), t.readq_td("ALIA")),
        "WRITEQ and READQ, LENGTH": lambda t: (t.writeq_td("NOQ", _DATA, 100), t.readq_td("NOQ", 100)),
        "LOGICAL unit of work": lambda t: (t.writeq_td("LOG1", t.readq_td("LOG1")), t.syncpoint()),
        "PHYSICAL WRITEQ and READQ": lambda t: (t.writeq_td("PHYQ", _DATA), t.readq_td("PHYQ")),
        "WRITEQ and SUSPEND": lambda t: (t.writeq_td("NOQ", _DATA), t.suspend()),
        "WRITEQ and SUSPEND, with its trigger": lambda t: (t.writeq_td("TRGQ", _DATA), t.suspend()),
        "INQUIRE of one option": lambda t: t.inquire_tdqueue("NOQ", "NUMITEMS"),
        "INQUIRE of all options": lambda t: t.inquire_tdqueue("NOQ"),
        "EXEC text of WRITEQ": lambda t: t.execute("WRITEQ TD QUEUE('NOQ') FROM(D)", data),
    }


def ibmi_paths() -> dict[str, Callable[[Job], object]]:
    key, keys = (500).to_bytes(8, "big"), count()

    def next_key(job: Job) -> None:
        job.qsnddtaq("KEYD", "QGPL", _DATA, each := (next(keys) % 1000).to_bytes(8, "big"))
        job.qrcvdtaq("KEYD", "QGPL", 0, "EQ", each)

    return {
        "QSNDDTAQ and QRCVDTAQ": lambda j: (j.qsnddtaq("PLAIN", "QGPL", _DATA), j.qrcvdtaq("PLAIN", "QGPL", 0)),
        "QSNDDTAQ and QRCVDTAQ, keyed": lambda j: (
            j.qsnddtaq("KEYD", "QGPL", _DATA, key),
            j.qrcvdtaq("KEYD", "QGPL", 0, "EQ", key),
        ),
        "QSNDDTAQ and QRCVDTAQ, keyed, of the next key": next_key,
    }


def of_cics(store: Path) -> dict[str, float]:
    queues = [
        define_tdqueue(name="NOQ", type="INTRA"),
        define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NOQ"),
        define_tdqueue(name="LOG1", type="INTRA", recovstatus="LOGICAL"),
        define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
        define_tdqueue(name="TRGQ", type="INTRA", transid="TRIG", triggerlevel=1, atifacility="FILE"),
        define_transaction(name="TRIG"),
    ]
    size = {"control_intervals": 10_000_000}
    with Region(queues, supplied_queues=False, store=store, dfhintra=size) as region:
        region.register("TRIG", lambda _: None)
        region.seed("LOG1", [_DATA] * 1000)
        region.seed("PHYQ", [_DATA] * 100)
        return {
            name: counted(lambda program: region.start(program).result(), path, name)
            for name, path in cics_paths(region).items()
        }


def of_ibmi() -> dict[str, float]:
    found = {}
    for budget, more in ((1 << 24, ""), (1 << 17, ", on the disk")):
        with System("S1", memory_bytes=budget) as system:
            with system.job() as job:
                job.crtdtaq("QGPL/PLAIN", maxlen=100)
                job.crtdtaq("QGPL/KEYD", maxlen=100, seq="*KEYED", keylen=8)
                for number in range(1000):
                    job.qsnddtaq("KEYD", "QGPL", _DATA, number.to_bytes(8, "big"))
            for name, path in ibmi_paths().items():
                if ", keyed" in name or not more:
                    found[name + more] = counted(lambda program: system.start(program).result(), path, name + more)
    return found


def of_definitions(place: Path) -> dict[str, float]:
    """Install and warm restart, for a further definition: what 300 more of them add."""
    letters = "ABDEFGHIJKLMNOPQRSTUVWXYZ"
    names = ["".join(each) for each in islice(product(letters, repeat=4), _MANY)]
    queues = [define_tdqueue(name=name, type="INTRA") for name in names]
    found: dict[str, list[float]] = {"install of a definition": [], "restart of a definition": []}
    for some in (_FEW, _FEW, _MANY):  # the first round only warms up
        store = place / f"{len(found['restart of a definition'])}"
        for name, given in zip(found, (Definitions.of(queues[:some]), None), strict=True):
            counting = Counting()
            with counting:
                region = Region(given, supplied_queues=False, store=store)
            region.close()
            found[name].append(counting.of_one(1))
            if some == _MANY:
                counting.show(name, _MANY)
    return {name: (many - few) / (_MANY - _FEW) for name, (_, few, many) in found.items()}


def of_data_queues(place: Path) -> dict[str, float]:
    """CRTDTAQ, and the next start of the system, for a further data queue."""
    found: dict[str, list[float]] = {"CRTDTAQ": [], "restart of a data queue": []}
    for some in (_FEW // 8, _FEW // 8, _FEW // 4):  # the first round only warms up
        store = place / f"S{len(found['CRTDTAQ'])}"
        with System("S1", store=store) as system, system.job() as job, Counting() as counting:
            for number in range(some):
                job.crtdtaq(f"QGPL/Q{number}", maxlen=100)
        found["CRTDTAQ"].append(counting.of_one(1))
        counting.show("CRTDTAQ", some)
        with Counting() as counting:
            system = System("S1", store=store)
        system.close()
        found["restart of a data queue"].append(counting.of_one(1))
        counting.show("restart of a data queue", some)
    return {name: (many - few) / (_FEW // 8) for name, (_, few, many) in found.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        print(
            json.dumps(
                {**of_cics(place / "paths"), **of_ibmi(), **of_definitions(place), **of_data_queues(place)}, indent=1
            )
        )
