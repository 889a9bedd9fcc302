"""What a region says to whoever runs it: events through the standard library's logging."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["RegionLog"]


class RegionLog:
    """The region's logger: structlog's events through the standard library, and so silent until that is configured.

    structlog is imported with the first event that anybody listens for: it costs more than the rest of a small command.
    """

    __slots__ = ("_applid", "_log", "_structured")

    def __init__(self, applid: str) -> None:
        self._applid = applid
        self._structured: Any = None
        self._log = logging.getLogger("tdqsim.cics")
        if not self._log.handlers:
            self._log.addHandler(logging.NullHandler())

    def info(self, event: str, **values: Any) -> None:
        """Something that happened as it should."""
        if self._log.isEnabledFor(logging.INFO):
            self._bound().info(event, **values)

    def warning(self, event: str, **values: Any) -> None:
        """Something that a test may want to know of."""
        if self._log.isEnabledFor(logging.WARNING):
            self._bound().warning(event, **values)

    def error(self, event: str, **values: Any) -> None:
        """Something that went wrong in the region itself."""
        if self._log.isEnabledFor(logging.ERROR):
            self._bound().error(event, **values)

    def _bound(self) -> Any:
        if self._structured is None:
            import structlog  # noqa: PLC0415  (see the class)

            renderer = structlog.processors.KeyValueRenderer(key_order=["event"])
            processors: list[Any] = [structlog.stdlib.filter_by_level, renderer]
            self._structured = structlog.wrap_logger(
                self._log,
                processors=processors,
                wrapper_class=structlog.stdlib.BoundLogger,
                cache_logger_on_first_use=True,
            ).bind(applid=self._applid)
        return self._structured
