"""The JSON API under ``/api/v1``, with its OpenAPI document.

Every request is authenticated (:mod:`~tdqsim.server.http.access`) and executed in the engine's thread as its user, so
that the security policy of the region applies. Requests that wait are suspended tasks. Long lists of records and queues
are returned in pages, so that an answer never has a million records.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from fastapi.routing import APIRoute

from tdqsim import __version__
from tdqsim.errors import TdqError
from tdqsim.server.alerts import Alerts
from tdqsim.server.answers.process import ServerHealth, ServerReadiness
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.cmci.serving import add_cmci
from tdqsim.server.host import Host
from tdqsim.server.http import data_queues, events, ibmi, notices, operating, output, queues, records, work
from tdqsim.server.http.access import PREFIX, Gate
from tdqsim.server.http.document import describe, page_of
from tdqsim.server.http.events import Streams
from tdqsim.server.http.guard import install_guard
from tdqsim.server.http.metrics import exposition
from tdqsim.server.http.problems import DOCUMENTED, answer_for, not_valid
from tdqsim.server.http.signon import add_sign_on
from tdqsim.server.servefile import Cmci

MODULES: Final = (queues, records, work, operating, output, ibmi, data_queues, notices, events)
"""The modules with ``routes``, which ``facts/operations.tsv`` lists."""

_ABOUT: Final = (
    "CICS regions with transient data queues, IBM i systems with data queues: commands, records, tasks, time."
)


def application(
    host: Host,
    gate: Gate,
    *,
    request_seconds: float = BOUNDS["request_seconds"],
    any_host: bool = False,
    cmci: Cmci | None = Cmci(),  # noqa: B008  (frozen)
) -> FastAPI:
    """The HTTP application that serves a host.

    Args:
        host: the regions and systems.
        gate: identifies the users.
        request_seconds: the time limit for the body of a request.
        any_host: whether to accept any Host header; beyond loopback the server does not know its names.
        cmci: the settings of the management interface; None if it is not served.
    """
    app = FastAPI(
        title="tdqsim", version=__version__, openapi_url=f"{PREFIX}/openapi.json", docs_url=None, redoc_url=None,
        description=_ABOUT, responses=DOCUMENTED, redirect_slashes=False,
        generate_unique_id_function=_id_of,
    )  # fmt: skip
    app.openapi = partial(describe, app)  # type: ignore[method-assign]  # as FastAPI documents it
    app.state.streams = Streams()
    app.state.alerts = Alerts(host)
    for kind in (TdqError, TimeoutError):
        app.add_exception_handler(kind, answer_for)
    app.add_exception_handler(RequestValidationError, not_valid)
    gate.install(app)
    install_guard(app, BOUNDS["body_bytes"], request_seconds, any_host=any_host)
    authenticate = add_sign_on(app, gate)
    _add_process(app, host, gate)
    app.state.host = host
    for module in MODULES:
        app.router.routes.extend(module.routes.routes)
    if cmci is not None:
        add_cmci(app, host, gate, authenticate, cmci)
    return app


def _id_of(route: APIRoute) -> str:
    """The operationId of a route that is not in ``facts/operations.tsv``: the function's name in camel case."""
    first, *others = route.name.split("_")
    return first + "".join(map(str.capitalize, others))


def _add_process(app: FastAPI, host: Host, gate: Gate) -> None:
    @app.get("/health", tags=["process"])
    async def health() -> ServerHealth:
        """Whether the process answers."""
        return {"status": "up"}

    @app.get("/ready", tags=["process"], response_model=ServerReadiness)
    async def ready() -> JSONResponse:
        """Whether regions or systems are served, none of them has ended, and the server accepts calls."""
        ended = [each.closed for each in host.regions.values()] + [each.closed for each in host.systems.values()]
        up = host.engine.running and bool(ended) and not any(ended)
        return JSONResponse({"status": "ready" if up else "not ready"}, status_code=200 if up else 503)

    @app.get("/metrics", tags=["process"], response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Metrics for Prometheus."""
        return PlainTextResponse(
            await host.ask(lambda: exposition(host, len(gate.sessions))), media_type="text/plain; version=0.0.4"
        )

    @app.get(PREFIX, include_in_schema=False)
    @app.get(f"{PREFIX}/", include_in_schema=False)
    async def document() -> Any:
        """The description of the API as a page."""
        return HTMLResponse(page_of(app.openapi()))
