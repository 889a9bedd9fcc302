"""The Python processes that Spark runs tasks in.

``python -m tdqsim.pipeline._worker`` is what a local session starts them with (``spark.python.daemon.module``). It is
Spark's own daemon, in a process whose standard error leaves one thing out: that Spark has closed the connection, since
the rows were enough for ``limit`` or ``show``, or since the session ends. What a task fails with goes to Spark.

Those in which Spark plans a read or write are not started by a module that a session can name, nor are a cluster's;
there the modules of the data sources, which they import, see to it by :func:`quieten`.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from typing import Any, TextIO

__all__ = ["Quiet", "main", "quieten", "settle"]


@cache  # to ask the collector whether it was done takes milliseconds
def settle() -> None:
    """Take what is loaded out of the sight of the garbage collector, once in a process; called in a task.

    Spark's worker collects garbage after every task, which takes 40 ms of processor time with numpy and pyarrow
    loaded, and next to none after this.
    """
    gc.freeze()


class Quiet:
    """Standard error without the messages about a connection that the other side has closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, unless it is written where such an error is handled."""
        return len(text) if isinstance(sys.exc_info()[1], BrokenPipeError) else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def quieten() -> None:
    """Leave that one thing out in this process, if it is one of Spark's; once."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if getattr(spec, "name", "") == "pyspark.daemon" and not isinstance(sys.stderr, Quiet):
        sys.stderr = Quiet(sys.stderr)


def main() -> None:
    """Be Spark's worker daemon."""
    from pyspark import daemon  # noqa: PLC0415 - an extra; settle() is called where it is loaded already

    sys.stderr = Quiet(sys.stderr)
    daemon.manager()


if __name__ == "__main__":
    main()
