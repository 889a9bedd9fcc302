"""Putting the console below a path of the HTTP application."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI
from nicegui import app as pages_app
from nicegui import core, ui
from starlette.responses import RedirectResponse
from starlette.routing import Mount

from tdqsim.server.console.door import Door, Gate
from tdqsim.server.console.frame import Console
from tdqsim.server.console.live import Live
from tdqsim.server.console.messages import MessageLog
from tdqsim.server.console.pages import add_pages
from tdqsim.server.host import Host
from tdqsim.server.http.guard import Guard

__all__ = ["PREFIX", "mount"]

PREFIX: Final = "/console"


def mount(app: FastAPI, host: Host, guard: Guard) -> Console:
    """Serve the console below ``/console``; once in a process, since NiceGUI has one application in each.

    Args:
        app: the HTTP application.
        host: what is served.
        guard: who may ask.
    """
    console = Console(host, Live(host), Door(guard), MessageLog(), PREFIX)
    for region in host.regions.values():
        host.engine.outside(lambda region=region: console.messages.listen(region)).result()
    add_pages(console)
    ui.add_head_html(f'<link rel="stylesheet" href="{PREFIX}/console.css">', shared=True)
    core.app.config.socket_io_js_transports = ["websocket"]
    ui.run_with(
        app, title="tdqsim", mount_path=PREFIX, dark=None, language="en-US", tailwind=False, favicon="▤",
        binding_refresh_interval=None, show_welcome_message=False, reconnect_timeout=5.0,
    )  # fmt: skip
    route = app.router.routes[-1]
    assert isinstance(route, Mount), route
    route.app = Gate(route.app, console.door, PREFIX)

    @app.get("/", include_in_schema=False)
    async def to_console() -> RedirectResponse:
        return RedirectResponse(f"{PREFIX}/")

    return console
