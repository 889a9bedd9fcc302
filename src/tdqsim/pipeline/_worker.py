"""The Python processes that Spark runs tasks in.

``python -m tdqsim.pipeline._worker`` is what a local session starts them with (``spark.python.daemon.module``): Spark's
own, except that a task whose rows nobody wants any more (``limit``, ``show``) ends without a traceback on the terminal.
"""

from __future__ import annotations

import gc
from typing import Any

__all__ = ["main", "settle"]


def settle() -> None:
    """Take what is loaded out of the sight of the garbage collector, once in a process; called in a task.

    Spark's worker collects garbage after every task, which takes 40 ms of processor time with numpy, pandas and pyarrow
    loaded, and next to none after this.
    """
    if not gc.get_freeze_count():
        gc.freeze()


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
