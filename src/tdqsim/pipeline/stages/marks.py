"""Marks of what a worker process works on, so that its death can be laid at a region's door.

A mark is a small file for each attempt at a bucket: written in place, since a process that dies leaves what it wrote.
A bucket that is done again finds the marks of attempts whose process is gone.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tdqsim.core.portable import write_at
from tdqsim.pipeline.publishing import alive

__all__ = ["Marks"]


class Marks:
    """The marks of one attempt at a bucket.

    Args:
        folder: where they are.
        bucket: the bucket.
        inputs: digest of what its outcome depends on; marks of other inputs say nothing.
    """

    def __init__(self, folder: Path, bucket: int, inputs: str) -> None:
        self._inputs = inputs
        self._host = socket.gethostname()
        self._longest = 0
        self._deaths: Counter[str] = Counter()
        self._old: list[Path] = []
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob(f"{bucket:05d}.*.working")):
            self._look(path)
        self._path = folder / f"{bucket:05d}.{uuid.uuid4().hex[:12]}.working"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)

    def _look(self, path: Path) -> None:
        try:
            found: dict[str, Any] = json.loads(path.read_text("utf-8") or "{}")
        except (OSError, ValueError):
            return
        if found.get("host") == self._host and _alive(int(found.get("pid", 0))):
            return  # the same bucket is done twice at once
        self._old.append(path)
        if found.get("inputs") == self._inputs and found.get("region"):
            self._deaths[str(found["region"])] += 1

    def deaths(self, region: str) -> int:
        """How many processes died while they worked on a region."""
        return self._deaths[region]

    @contextmanager
    def working_on(self, region: str) -> Iterator[None]:
        """Mark the region while the block runs; an exception takes the mark away, a death does not."""
        self._write(region)
        try:
            yield
        finally:
            self._write("")

    def _write(self, region: str) -> None:
        mark = {"inputs": self._inputs, "region": region, "host": self._host, "pid": os.getpid()}
        text = json.dumps(mark).encode()
        self._longest = max(self._longest, len(text))
        write_at(self._file, text.ljust(self._longest), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        os.close(self._file)
        self._path.unlink(missing_ok=True)
        if error is None:
            for path in self._old:
                path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    """Whether a process of this machine is there, and is not this one, which has nothing else under way."""
    return pid not in (0, os.getpid()) and alive(pid)
