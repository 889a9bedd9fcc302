"""The JSON API under ``/api/v1``, with its OpenAPI document.

Every request is signed on (:mod:`~tdqsim.server.http.access`) and carried out in the engine's thread as its user, so
that the region's security policy decides what it may do. Waiting requests are parked tasks. A million records are never
in one answer: records and queues come in pages.
"""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from tdqsim import __version__
from tdqsim.errors import TdqError
from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate
from tdqsim.server.http.common import BOUNDS, PREFIX
from tdqsim.server.http.data_queues import add_data_queues
from tdqsim.server.http.document import page_of
from tdqsim.server.http.events import Streams, add_events
from tdqsim.server.http.guard import install_guard
from tdqsim.server.http.ibmi import add_systems
from tdqsim.server.http.metrics import exposition
from tdqsim.server.http.operating import add_operating
from tdqsim.server.http.output import add_output
from tdqsim.server.http.problems import DOCUMENTED, answer_for, not_valid
from tdqsim.server.http.queues import add_queues, add_regions
from tdqsim.server.http.records import add_records
from tdqsim.server.http.signon import add_sign_on
from tdqsim.server.http.work import add_work

__all__ = ["application"]

_ABOUT: Final = (
    "CICS regions with transient data queues, IBM i systems with data queues: commands, records, tasks, time."
)


def application(
    host: Host, gate: Gate, *, request_seconds: float = BOUNDS["request_seconds"], any_host: bool = False
) -> FastAPI:
    """The HTTP application that serves a host.

    Args:
        host: what is served.
        gate: who may ask.
        request_seconds: in which the body of a request must arrive.
        any_host: whatever name a request gives to this host is served; beyond loopback it cannot be known.
    """
    app = FastAPI(
        title="tdqsim", version=__version__, openapi_url=f"{PREFIX}/openapi.json", docs_url=None, redoc_url=None,
        description=_ABOUT, responses=DOCUMENTED, redirect_slashes=False,
    )  # fmt: skip
    app.state.streams = Streams()
    for kind in (TdqError, TimeoutError):
        app.add_exception_handler(kind, answer_for)
    app.add_exception_handler(RequestValidationError, not_valid)
    gate.install(app)
    install_guard(app, BOUNDS["body_bytes"], request_seconds, any_host=any_host)
    add_sign_on(app, gate)
    _add_process(app, host, gate)
    groups = (
        add_regions, add_queues, add_records, add_work, add_operating, add_output, add_systems, add_data_queues,
    )  # fmt: skip
    for add in groups:
        add(app, host)
    add_events(app, host, app.state.streams)
    return app


def _add_process(app: FastAPI, host: Host, gate: Gate) -> None:
    @app.get("/health", tags=["process"])
    async def health() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "up"}

    @app.get("/ready", tags=["process"])
    async def ready() -> JSONResponse:
        """Whether regions or systems are served and calls are taken."""
        up = host.engine.running and bool(host.regions or host.systems)
        return JSONResponse({"status": "ready" if up else "not ready"}, status_code=200 if up else 503)

    @app.get("/metrics", tags=["process"], response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Counts and depths for Prometheus."""
        return PlainTextResponse(
            await host.ask(lambda: exposition(host, len(gate.sessions))), media_type="text/plain; version=0.0.4"
        )

    @app.get(PREFIX, include_in_schema=False)
    @app.get(f"{PREFIX}/", include_in_schema=False)
    async def document() -> Any:
        """The API as a page."""
        return HTMLResponse(page_of(app.openapi()))
