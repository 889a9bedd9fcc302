"""Putting the console below a path of the HTTP application."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from nicegui import core, ui
from nicegui.logging import log
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from tdqsim import __version__
from tdqsim.server.console.door import Door
from tdqsim.server.console.frame import Console
from tdqsim.server.console.live import Live
from tdqsim.server.console.messages import MessageLog
from tdqsim.server.console.pages import add_pages
from tdqsim.server.console.wire import guarded, only_in_order
from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate, one_line

__all__ = ["PREFIX", "mount"]

PREFIX: Final = "/console"
_STYLE: Final = Path(__file__).parent / "static" / "console.css"
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'"
)
"""Nothing is fetched from elsewhere. Vue makes functions of the console's own templates (unsafe-eval)."""
_HEADERS: Final = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


def mount(app: FastAPI, host: Host, gate: Gate) -> Console:
    """Serve the console below ``/console``; once in a process, since NiceGUI has one application in each.

    Args:
        app: the HTTP application.
        host: what is served.
        gate: who may ask.
    """
    log.addFilter(_in_one_line)
    console = Console(host, Live(host), Door(gate), MessageLog(), PREFIX)
    for region in host.regions.values():
        host.engine.outside(partial(console.messages.listen, region)).result()
    add_pages(console)
    core.app.add_static_file(local_file=_STYLE, url_path="/console.css")
    ui.add_head_html(f'<link rel="stylesheet" href="{PREFIX}/console.css?{__version__}">', shared=True)
    core.app.config.socket_io_js_transports = ["websocket"]
    ui.run_with(
        app, title="tdqsim", mount_path=PREFIX, dark=None, language="en-US", tailwind=False, favicon="▤",
        binding_refresh_interval=None, show_welcome_message=False, reconnect_timeout=5.0,
    )  # fmt: skip
    route = app.router.routes[-1]
    assert isinstance(route, Mount), route
    only_in_order(core.sio, console.door.name_of)
    route.app = _with_headers(guarded(route.app, console.door.name_of))
    return console


def _in_one_line(record: logging.LogRecord) -> bool:
    """NiceGUI tells of pages that are not there, in the words of whoever asked for them."""
    record.msg, record.args = one_line(record.getMessage()), ()
    return True


def _with_headers(pages: ASGIApp) -> ASGIApp:
    """The pages, with what browsers are to hold them to."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await pages(scope, receive, sending)

    return answer
