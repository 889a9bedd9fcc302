"""The memory of a process and all its descendants: Python workers, pools, Java; the maximum in each stage.

A separate thread reads /proc twice a second. Pages that processes share are counted once for each process, so the
result is never too low.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_EVERY: Final = 0.5
_PROC: Final = Path("/proc")


class TreeMemory:
    """The maximum memory of the process tree since the last :meth:`take`."""

    def __init__(self) -> None:
        self._peak = 0
        self._over = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[TreeMemory]:
        """Measure until the end of the block."""
        looker = threading.Thread(target=self._look, name="memory of the tree", daemon=True)
        looker.start()
        try:
            yield self
        finally:
            self._over.set()
            looker.join()

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            self._peak = max(self._peak, tree_bytes(os.getpid()))

    def take(self) -> int:
        """The maximum in bytes; 0 where it cannot be measured."""
        peak, self._peak = max(self._peak, tree_bytes(os.getpid())), 0
        return peak


def tree_bytes(root: int) -> int:
    """The resident bytes of a process and its descendants; 0 where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}  # in pages
    for entry in _PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:  # the process has ended meanwhile
            continue
        pid = int(entry.parent.name)
        children[int(fields[1])].append(pid)
        sizes[pid] = int(fields[21])
    left, total = [root], 0
    while left:
        pid = left.pop()
        total += sizes.get(pid, 0)
        left += children[pid]
    return total * os.sysconf("SC_PAGE_SIZE") if total else 0
