"""The Python processes that Spark runs tasks in.

``python -m tdqsim.pipeline._worker`` is what a local session starts them with (``spark.python.daemon.module``): Spark's
own, except that a task whose rows nobody wants any more (``limit``, ``show``) ends without a traceback on the terminal.
"""

from __future__ import annotations

import gc
import sys
import traceback
from typing import Any

__all__ = ["hush", "main", "settle"]


def settle() -> None:
    """Take what is loaded out of the sight of the garbage collector, once in a process; called in a task.

    Spark's worker collects garbage after every task, which takes 40 ms of processor time with numpy, pandas and pyarrow
    loaded, and next to none after this.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        hush()


class _Traceback:
    """The daemon's ``traceback``, which does not tell of a pipe that Spark has closed: it has all it wanted."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Print the traceback of any other exception."""
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            traceback.print_exc()


def hush() -> None:
    """In a process that Spark's own daemon has forked: end without a traceback when Spark hangs up.

    A local session's tasks have :func:`main` for this; a cluster's, Connect's and the planners of streams come here.
    """
    daemon = sys.modules.get("__main__")
    if getattr(getattr(daemon, "__spec__", None), "name", "") == "pyspark.daemon":
        daemon.traceback = _Traceback  # type: ignore[union-attr]


hush()  # with the import, which is all that some of these processes do of this package


def main() -> None:
    """Be Spark's worker daemon."""
    from pyspark import daemon  # noqa: PLC0415 - an extra; settle() is called where it is loaded already

    serve = daemon.worker

    def quiet(sock: Any, authenticated: bool) -> int:
        try:
            return int(serve(sock, authenticated))
        except BrokenPipeError:
            return 1  # Spark has hung up: it has all the rows it wanted

    daemon.worker = quiet
    daemon.manager()


if __name__ == "__main__":
    main()
