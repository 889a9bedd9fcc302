"""The log of a server: one format for everything that the process logs, on standard error.

The server itself and the audit log by structlog, regions and libraries through the standard library. Both ways end
here in the same form: readable lines, or a JSON object for each line. The keys are the vendor's names: applid, transid,
task, userid, queue, resp. Times are UTC.
"""

from __future__ import annotations

import logging
from typing import Final, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_OFTEN: Final = ("tdqsim.cics", "asyncio", "nicegui", "uvicorn", "uvicorn.error", "engineio", "socketio", "multipart")
"""Regions and libraries whose informative events are so many that only the level ``debug`` shows them."""


def configure_log(form: LogFormat, level: LogLevel, stream: TextIO) -> None:
    """Configure the log of this process.

    Args:
        form: ``text`` for readable lines, ``json`` for a JSON object on each line.
        level: the lowest level that is logged.
        stream: where it is written.
    """
    begin: list[Processor] = [structlog.stdlib.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True)]
    end = _renderers(form, colors=stream.isatty())
    structlog.configure(
        processors=[*begin, *end],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, _with_values, *begin],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *end],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("tdqsim").setLevel(_LEVELS[level])
    for name in _OFTEN:
        logging.getLogger(name).setLevel(logging.DEBUG if level == "debug" else max(_LEVELS[level], logging.WARNING))


def _renderers(form: LogFormat, *, colors: bool) -> list[Processor]:
    if form == "text":
        # A traceback shows no values of variables: they may be records or passwords.
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _with_values(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """The values of an event of a region, which the standard library's record has as text and as an attribute."""
    values = getattr(event["_record"], "tdqsim_event", None)
    return event if values is None else {**event, **values}
