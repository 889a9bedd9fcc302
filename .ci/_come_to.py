"""The builtin ``come_to`` in every process of a copy that .ci/mutants.py has marked: which test came to which place."""

from __future__ import annotations

import builtins
import os

FILE = "TDQ_MUTANTS_COME"


class Log:
    """Lines appended to the file that the environment names, each once by a process."""

    def __init__(self) -> None:
        self.file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND) if FILE in os.environ else None
        self.seen: set[tuple[int, str]] = set()

    def come_to(self, place: int) -> None:
        test = os.environ.get("TDQ_MUTANTS_TEST", "")
        if self.file is not None and (place, test) not in self.seen:
            self.seen.add((place, test))
            os.write(self.file, f"{place}\t{test}\n".encode())


builtins.come_to = Log().come_to  # type: ignore[attr-defined]
