"""Mount the console below a path of the HTTP application."""

from __future__ import annotations

import logging
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from nicegui import core, ui
from nicegui.logging import log
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from tdqsim import __version__, report
from tdqsim.server.audit import one_line
from tdqsim.server.console.callers import Callers
from tdqsim.server.console.frame import Console
from tdqsim.server.console.live import Live
from tdqsim.server.console.live_flows import LiveFlows
from tdqsim.server.console.message_checks import end_on_errors, guarded
from tdqsim.server.console.messages import MessageLog
from tdqsim.server.console.pages import add_pages
from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate

PREFIX: Final = "/console"
_DIAGRAMS: Final = [Path(report.__file__).parent / name for name in ("diagram.css", "diagram.js")]
_OWN: Final = [Path(__file__).parent / "static" / name for name in ("console.css", "connection.js")]
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'"
)
"""Nothing is loaded from other sites. unsafe-eval is needed because Vue compiles the templates of the console."""
_HEADERS: Final = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


def mount(app: FastAPI, host: Host, gate: Gate) -> Console:
    """Serve the console below ``/console``; only once in a process, because NiceGUI has one application per process.

    Args:
        app: the HTTP application.
        host: the regions and systems.
        gate: identifies the users.
    """
    log.addFilter(_in_one_line)
    live = Live(host)
    console = Console(host, live, LiveFlows(host, live), Callers(gate), MessageLog(), PREFIX)
    for region in host.regions.values():
        host.engine.outside(partial(console.messages.listen, region)).result()
    add_pages(console)
    for path in (*_OWN, *_DIAGRAMS):
        core.app.add_static_file(local_file=path, url_path=f"/{path.name}")
        address = f"{PREFIX}/{path.name}?{__version__}"
        tag = (
            f'<link rel="stylesheet" href="{address}">'
            if path.suffix == ".css"
            else f'<script src="{address}"></script>'
        )
        ui.add_head_html(tag, shared=True)
    core.app.add_exception_handler(404, _not_found)
    core.app.config.socket_io_js_transports = ["websocket"]
    # The bar that Quasar shows during uploads has no name for screen readers; the status line shows their result.
    core.app.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.run_with(
        app, title="tdqsim", mount_path=PREFIX, dark=None, language="en-US", tailwind=False, favicon="▤",
        binding_refresh_interval=None, show_welcome_message=False, reconnect_timeout=5.0,
    )  # fmt: skip
    route = app.router.routes[-1]
    assert isinstance(route, Mount), route
    end_on_errors(core.sio, console.callers.name_of)
    route.app = _with_headers(guarded(route.app, console.callers.name_of))
    return console


async def _not_found(request: Request, error: Exception) -> Response:
    """The answer for a page that does not exist: why, and the way back."""
    why = str(getattr(error, "detail", "")) or "Not Found"
    if why == "Not Found":
        why = f"there is no page {request.url.path}"
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Not found - tdqsim</title><style>:root{{color-scheme:light dark;font-family:system-ui,sans-serif}}"
        f"body{{max-width:40rem;margin:10vh auto;padding:0 1rem}}</style><main><h1>Not found</h1>"
        f'<p>{escape(one_line(why))}.</p><p><a href="{PREFIX}/">Overview</a></p></main></html>'
    )
    return HTMLResponse(page, status_code=404)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Make log records of NiceGUI safe: they contain the requested path of pages that do not exist."""
    record.msg, record.args = one_line(record.getMessage()), ()
    return True


def _with_headers(pages: ASGIApp) -> ASGIApp:
    """The pages, with security headers for browsers."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await pages(scope, receive, sending)

    return answer
