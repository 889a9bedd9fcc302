"""Add the console to the application, if its packages are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.responses import RedirectResponse

from tdqsim.server.host import Host
from tdqsim.server.http.access import PREFIX, Gate


def add_console(app: FastAPI, host: Host, gate: Gate) -> None:
    """Add the console at ``/`` and ``/console``; without its packages these lead to the page of the API."""
    has_console = find_spec("nicegui") is not None
    if has_console:
        import_module("tdqsim.server.console").mount(app, host, gate)  # slow to import, and may not be installed

    @app.get("/console", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def begin() -> RedirectResponse:
        """The first page."""
        return RedirectResponse("/console/" if has_console else f"{PREFIX}/")
