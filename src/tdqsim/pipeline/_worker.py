"""The Python worker processes in which Spark runs tasks.

A local session starts them with ``python -m tdqsim.pipeline._worker`` (``spark.python.daemon.module``). This is Spark's
own daemon, but its standard error leaves out one message: that Spark has closed the connection. Spark closes it when
``limit`` or ``show`` have enough rows and when the session ends. The errors of tasks still reach Spark.

A session cannot name the module of the processes in which Spark plans a read or write, nor of a cluster's workers.
There, the modules of the data sources, which those processes import, call :func:`quieten`.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from typing import Any, TextIO


@cache  # reading the collector's state takes milliseconds
def settle() -> None:
    """Exclude the objects that exist now from garbage collection, once in a process; called in a task.

    Spark's worker collects garbage after every task. With numpy and pyarrow loaded that takes 40 ms of processor time,
    and almost none after this call.
    """
    gc.freeze()


class Quiet:
    """Standard error without the messages about a connection that the other side has closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, unless it is the report of such an error."""
        return len(text) if isinstance(sys.exc_info()[1], BrokenPipeError) else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def quieten() -> None:
    """Filter standard error of this process if Spark started it; has an effect once."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if getattr(spec, "name", "") == "pyspark.daemon" and not isinstance(sys.stderr, Quiet):
        sys.stderr = Quiet(sys.stderr)


def main() -> None:
    """Run Spark's worker daemon."""
    from pyspark import daemon  # noqa: PLC0415 - an extra; settle() is called where it is loaded already

    sys.stderr = Quiet(sys.stderr)
    daemon.manager()


if __name__ == "__main__":
    main()
