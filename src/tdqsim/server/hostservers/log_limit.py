"""A limit for warnings that any client on the network can cause: the first in a minute are logged, others counted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 60.0
_MOST: Final = 10


class LogLimit:
    """Logs at most ten warnings a minute.

    Args:
        log: the logger.
        now: the time in seconds.
    """

    def __init__(self, log: logging.Logger, now: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._now = now
        self._since = now()
        self._count = 0

    def warning(self, text: str, *values: object) -> None:
        """Log a warning, or count it."""
        if self._now() - self._since >= _SECONDS:
            if self._count > _MOST:
                self._log.warning("%d more warnings of this kind were not logged", self._count - _MOST)
            self._since, self._count = self._now(), 0
        self._count += 1
        if self._count <= _MOST:
            self._log.warning(text, *values)
