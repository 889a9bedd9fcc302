"""The pages of the console, one module each: ``add(console)`` registers what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.server.console.pages import overview, queue, queues

if TYPE_CHECKING:
    from tdqsim.server.console.frame import Console

__all__ = ["add_pages"]

_PAGES = (overview, queues, queue)


def add_pages(console: Console) -> None:
    """Register all pages."""
    for page in _PAGES:
        page.add(console)
