"""What a whole process tree takes, from /proc: processor time, and the greatest sum of resident memory.

Spark's Java and its Python workers are children of the process that asked for a session, so a benchmark counts all of
it. Pages that several processes share (a store, a memory-mapped file) are counted in each: use ``pss`` for the sum.

Run as a program it watches a command: ``python tests/bench/_tree.py tdq pipeline run ...``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


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
    total = 0
    for pid in tree(root):
        try:
            if shared:
                total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
            else:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        except (OSError, IndexError, StopIteration):
            continue
    return total


@dataclass
class Watch:
    """Watches a tree while the block runs.

    Attributes:
        seconds, cpu: wall and processor time.
        peak: greatest sum of memory, bytes; each shared page counted once.
    """

    root: int = field(default_factory=os.getpid)
    every: float = 0.5
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._begun, self._cpu = time.perf_counter(), cpu_seconds(self.root)
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._stop.wait(self.every):
            self.peak = max(self.peak, resident(self.root, shared=False))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.seconds = time.perf_counter() - self._begun
        self.cpu = cpu_seconds(self.root) - self._cpu


if __name__ == "__main__":
    with subprocess.Popen(sys.argv[1:]) as child, Watch(child.pid) as watch:
        code = child.wait()
        peak = watch.peak
    print(f"{watch.seconds:.1f} s, peak {peak / 1e6:,.0f} MB", file=sys.stderr)
    sys.exit(code)
