"""Buttons that turn the pages of a long table, and the range of rows that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from tdqsim.server.console.controls import Block, Button

T = TypeVar("T")
_FAR: Final = 10**12
"""More pages than any table has."""


class Pager:
    """The pages of a table.

    Args:
        rows: the name of the rows, such as ``records``.
        turned: called when another page was selected; its result is awaited if possible.
        size: the number of rows on a page.

    Attributes:
        at: the position of the first row of the page, from 0.
        size: the number of rows on a page.
    """

    def __init__(self, rows: str, turned: Callable[[], object], size: int) -> None:
        self.at = 0
        self.size = size
        self._turned = turned
        self._count = -1
        with Block("nav", "tdq-row", aria_label=f"Pages of {rows}"):
            steps = (("First", -_FAR), ("Previous", -1), ("Next", 1), ("Last", _FAR))
            self._buttons = tuple(Button(label, partial(self._turn, pages), kind="plain") for label, pages in steps)
            self._range = Block("span", "tdq-dim", aria_live="polite")

    def _turn(self, pages: int) -> object:
        self.go_to(self.at + pages * self.size)
        return self._turned()

    def go_to(self, position: int) -> None:
        """Select the page that begins at a position; beyond the end, the last page.

        If the number of rows is unknown, the page after the present one is the furthest.
        """
        last = self.at + self.size if self._count < 0 else max(self._count - 1, 0) // self.size * self.size
        self.at = max(0, min(position, last))

    def page_of(self, rows: Sequence[T]) -> Sequence[T]:
        """The rows of the page, whose range is shown; a page beyond the end becomes the last page."""
        self._count = len(rows)
        self.go_to(self.at)
        page = rows[self.at : self.at + self.size]
        self.show(len(page), len(rows))
        return page

    def show(self, shown: int, count: int, refused: str = "") -> None:
        """Show the range of the page, and enable the buttons.

        Args:
            shown: the number of rows on the page.
            count: the number of all rows; -1 if it is unknown.
            refused: the reason why there are none, shown in place of the range.
        """
        self._count = count
        end = self.at + shown
        of = f" of {self._count:,}" if self._count >= 0 else ""
        self._range.say(refused or f"{self.at + 1 if shown else 0:,} to {end:,}{of}")
        more = end < self._count if self._count >= 0 else shown == self.size
        for button, on in zip(self._buttons, (self.at > 0, self.at > 0, more, more), strict=True):
            button.enable(on)

    def hide(self) -> None:
        """Show no range, and disable the buttons: there is no table."""
        self._range.say("")
        for button in self._buttons:
            button.enable(False)
