"""The Python processes that Spark runs tasks in.

``python -m tdqsim.pipeline._worker`` is what a local session starts them with (``spark.python.daemon.module``): Spark's
own, except that one that Spark has hung up on (the rows were enough for ``limit`` or ``show``, the session ends) ends
without a traceback on the terminal, and that one which waits for its next task gives back the memory of the last. What
a task itself fails with goes to Spark and is not concerned.
"""

from __future__ import annotations

import builtins
import ctypes
import gc
import sys
import traceback
from functools import cache
from types import ModuleType
from typing import Any

__all__ = ["hush", "main", "settle"]


@cache  # to ask the collector whether it was done takes milliseconds
def settle() -> None:
    """Take what is loaded out of the sight of the garbage collector, once in a process; called in a task.

    Spark's worker collects garbage after every task, which takes 40 ms of processor time with numpy, pandas and pyarrow
    loaded, and next to none after this.
    """
    gc.freeze()
    hush()


def _hung_up() -> bool:
    """Whether the error at hand is that Spark has closed the connection: it has all it wanted, or it ends."""
    return isinstance(sys.exc_info()[1], BrokenPipeError)


class _Traceback:
    """The daemon's ``traceback``, which does not tell of a connection that Spark has closed."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Print the traceback of any other exception."""
        if not _hung_up():
            traceback.print_exc()


def _print(*words: Any, **rest: Any) -> None:
    """The daemon's ``print``: it tells of output that could not be flushed, as older ones do instead of raising."""
    if not _hung_up():
        builtins.print(*words, **rest)  # noqa: T201 - Spark's own message


def _quieten(daemon: ModuleType) -> None:
    daemon.traceback = _Traceback  # type: ignore[attr-defined]
    daemon.print = _print  # type: ignore[attr-defined]


def hush() -> None:
    """In a process that Spark's own daemon has forked: end without a traceback when Spark hangs up.

    A local session's tasks have :func:`main` for this; a cluster's, Connect's and those that plan come here.
    """
    daemon = sys.modules.get("__main__")
    if daemon is not None and getattr(daemon.__spec__, "name", "") == "pyspark.daemon":
        _quieten(daemon)


hush()  # with the import, which is all that some of these processes do of this package


def main() -> None:
    """Be Spark's worker daemon."""
    from pyspark import daemon  # noqa: PLC0415 - an extra; settle() is called where it is loaded already

    _quieten(daemon)
    serve = daemon.worker

    def served(sock: Any, authenticated: bool) -> int:
        try:
            return int(serve(sock, authenticated))
        finally:
            _give_back()

    daemon.worker = served
    daemon.manager()


def _give_back() -> None:
    """What Arrow and the C library keep for what comes next, hundreds of megabytes, goes to the machine."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others give back by themselves
        if trim is not None:
            trim(0)


if __name__ == "__main__":
    main()
