"""The log of a region: events through the standard library's logging."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger

    from structlog.stdlib import BoundLogger


class RegionLog:
    """The region's logger: structlog events through the standard library, if a handler is configured there.

    Without one, Python would print the bare event; the region's notices (:mod:`tdqsim.core.notices`) are clearer.
    structlog is imported with the first event that has a handler, since the import costs more than the rest of a small
    command. As long as nothing has imported ``logging``, there is no handler.
    """

    __slots__ = ("_applid", "_structured")

    def __init__(self, applid: str) -> None:
        self._applid = applid
        self._structured: BoundLogger | None = None

    def info(self, event: str, **values: object) -> None:
        """Log an expected event."""
        self._log("INFO", event, values)

    def warning(self, event: str, **values: object) -> None:
        """Log an event that a test may need."""
        self._log("WARNING", event, values)

    def error(self, event: str, **values: object) -> None:
        """Log an error in the region itself."""
        self._log("ERROR", event, values)

    def _log(self, level: str, event: str, values: dict[str, object]) -> None:
        if "logging" not in sys.modules:
            return
        import logging  # noqa: PLC0415  (see the class)

        log = logging.getLogger("tdqsim.cics")
        if log.isEnabledFor(getattr(logging, level)) and log.hasHandlers():
            getattr(self._bound(log), level.lower())(event, **values)

    def _bound(self, log: Logger) -> BoundLogger:
        if self._structured is None:
            import structlog  # noqa: PLC0415  (see the class)

            as_text = structlog.processors.KeyValueRenderer(key_order=["event"])

            def render(logger: Logger, name: str, event: Any) -> tuple[tuple[str], dict[str, Any]]:
                """The event as text; its values are also in the record, for a log of another format."""
                error = event.pop("exc_info", None)
                return (as_text(logger, name, dict(event)),), {"extra": {"tdqsim_event": event}, "exc_info": error}

            self._structured = structlog.wrap_logger(
                log,
                processors=[structlog.stdlib.filter_by_level, render],
                wrapper_class=structlog.stdlib.BoundLogger,
                cache_logger_on_first_use=True,
            ).bind(applid=self._applid)
        return self._structured
