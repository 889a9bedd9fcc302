"""The base classes of pages, and their registration.

A browser that opens a page gets an object of its class. Its ``build`` adds the elements, keeps those that change as
attributes, and shows them for the first time.
"""

from __future__ import annotations

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.server.console.frame import PAGES_OF_A_REGION, Console, Visit, frame
from tdqsim.server.console.live import RegionView


class ConsolePage:
    """A page in one browser.

    Args:
        visit: the browser and its user.
    """

    def __init__(self, visit: Visit) -> None:
        self.visit = visit

    async def build(self) -> None:
        """Add the contents of the page."""
        raise NotImplementedError

    async def refresh(self) -> None:
        """Show the present state; a page without it changes only by what its user does."""


class RegionPage(ConsolePage):
    """A page of a region.

    Args:
        visit: the browser and its user.
        view: the state of the region.
    """

    def __init__(self, visit: Visit, view: RegionView) -> None:
        super().__init__(visit)
        self.view, self.region = view, view.region

    def href(self, *parts: str) -> str:
        """The address of a page of the region."""
        return self.visit.href("regions", self.region.applid, *parts)


def region_name(console: Console, name: str) -> str:
    """The APPLID of a served region.

    Raises:
        HTTPException: 404: no region of that name is served.
    """
    if name.upper() not in console.host.regions:
        raise HTTPException(404, f"no region {name} is served")
    return name.upper()


def region_page(console: Console, here: str, page: type[RegionPage]) -> None:
    """Register the page of a region at ``/regions/{region}/HERE``; its title is its name in the bar."""

    @ui.page(f"/regions/{{region}}/{here}")
    async def show(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, PAGES_OF_A_REGION[here], region=name, here=here) as visit:
            await page(visit, console.live.view(name)).build()
