"""What a whole process tree takes, from /proc: processor time, and the greatest sum of resident memory.

Spark's Java and its Python workers are children of the process that asked for a session, so a benchmark counts all of
it. Pages that several processes share (a store, a memory-mapped file) are counted in each: use ``pss`` for the sum.

Run as a program it watches a command: ``python tests/bench/_tree.py tdq pipeline run ...``.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LIBC = ctypes.CDLL(None)
_KCMP, _MEMORY = {"x86_64": 312, "aarch64": 272}.get(platform.machine()), 1


def tree(root: int) -> list[int]:
    """A process and everything it has started, however far down."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for each in found:
        found += children.get(each, [])
    return found


def cpu_seconds(root: int) -> float:
    """Processor time of the tree, of children that have ended too."""
    total = 0
    for pid in tree(root):
        try:
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except (OSError, IndexError):
            continue
    return total / _TICK


def resident(root: int, *, shared: bool = True) -> int:
    """Bytes of memory of the tree; without ``shared`` each shared page is counted once (slower)."""
    return sum(by_program(root, shared=shared).values())


def by_program(root: int, *, shared: bool = True) -> Counter[str]:
    """Bytes of memory of the tree by the name of the program, as :func:`resident` counts them."""
    found: Counter[str] = Counter()
    for pid in tree(root):
        try:
            if _borrows(pid):
                continue
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            if shared:
                found[name] += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
            else:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                found[name] += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        except (OSError, IndexError, StopIteration):
            continue
    return found


def _borrows(pid: int) -> bool:
    """Whether a process has the memory of its parent, as one that Java starts has until its program is loaded."""
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return _KCMP is not None and _LIBC.syscall(_KCMP, pid, parent, _MEMORY, 0, 0) == 0


@dataclass
class Watch:
    """Watches a tree while the block runs.

    Attributes:
        seconds, cpu: wall and processor time.
        peak: greatest sum of memory, bytes; each shared page counted once.
        parts: what each program had of it.
        resident: greatest sum of resident memory, bytes; shared pages counted in each process.
    """

    root: int = field(default_factory=os.getpid)
    every: float = 0.5
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    resident: int = 0

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._begun, self._cpu = time.perf_counter(), cpu_seconds(self.root)
        self._most = self._cpu
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._stop.wait(self.every):
            self._most = max(self._most, cpu_seconds(self.root))  # Java may end when its parent has gone
            parts = by_program(self.root, shared=False)
            if parts.total() > self.peak:
                self.peak, self.parts = parts.total(), parts
            self.resident = max(self.resident, resident(self.root))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.seconds = time.perf_counter() - self._begun
        self.cpu = max(self._most, cpu_seconds(self.root)) - self._cpu

    def told(self) -> str:
        """Seconds and memory, in a line."""
        parts = ", ".join(f"{name} {size >> 20:,}" for name, size in self.parts.most_common() if size >> 20)
        cpu = f"{self.seconds:.1f} s ({self.cpu:.1f} s of processors)"
        return f"{cpu}, peak {self.peak >> 20:,} MB ({parts}), resident {self.resident >> 20:,} MB"


def watched(command: Sequence[str | Path], *, every: float = 0.5) -> tuple[int, Watch]:
    """Run a command to its end: its exit code, and what its tree took."""
    with subprocess.Popen(command) as child:
        with Watch(child.pid, every) as watch:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # what it took can be seen until it is waited for
        return child.wait(), watch


if __name__ == "__main__":
    code, watch = watched(sys.argv[1:])
    print(watch.told(), file=sys.stderr)
    sys.exit(code)
