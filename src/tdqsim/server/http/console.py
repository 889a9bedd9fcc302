"""The console in the browser, where its packages are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.responses import RedirectResponse

from tdqsim.server.host import Host
from tdqsim.server.http.access import Gate
from tdqsim.server.http.common import PREFIX

__all__ = ["add_console"]


def add_console(app: FastAPI, host: Host, gate: Gate) -> None:
    """Add the console, and let ``/`` lead to it; else to the page of the API."""
    there = find_spec("nicegui") is not None and find_spec("tdqsim.server.console") is not None
    start = "/console/" if there else f"{PREFIX}/"

    @app.get("/", include_in_schema=False)
    async def begin() -> RedirectResponse:
        """The page to begin with."""
        return RedirectResponse(start)

    if there:
        import_module("tdqsim.server.console").mount(app, host, gate)  # it takes a second, and may not be there
