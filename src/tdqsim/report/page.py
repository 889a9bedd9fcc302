"""A self-contained HTML page, which can be opened from a file, mailed, or kept by a build server.

Scripts of the page draw its charts and move its diagrams. Without scripts the page still shows every diagram and every
table. Colours follow the light or dark setting of the reader's system.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Final

from tdqsim import __version__
from tdqsim.errors import UsageError
from tdqsim.report._text import markup
from tdqsim.report.diagram_svg import FIGURE, DiagramPicture
from tdqsim.report.parts import PLOT, Drawing, Mark, Part, Ready, Section

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
"""The content security policy: the browser fetches nothing, whatever records contain."""


class Page:
    """A page to which sections are added.

    Args:
        title: the heading.
        mark: the overall result, shown below the heading.
        lead: an introduction of one or two sentences.
    """

    def __init__(self, title: str, mark: Mark | None = None, lead: str = "") -> None:
        self.title = title
        self.mark = mark
        self.lead = lead
        self.parts: list[Part] = []

    def add(self, title: str, *parts: Part, folded: bool = False, mark: Mark | None = None) -> None:
        """Add a section; one without parts is left out. A picture does not repeat the title of its section."""
        if parts:
            self.parts.append(Section(title, [_untitled(part, title) for part in parts], folded, mark))

    def html(self) -> Iterator[str]:
        """The page, in pieces."""
        yield (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<title>{markup(self.title)}</title><style>{_asset('page.css')}{_diagram_style(self.parts)}</style></head><body><main>"
        )
        yield f"<h1>{markup(self.title)}</h1>"
        if self.mark is not None:
            yield f'<p class="verdict {"good" if self.mark.good else "bad"}">{markup(self.mark.text)}</p>'
        yield f"<p>{markup(self.lead)}</p>" if self.lead else ""
        for part in self.parts:
            yield from part.html()
            yield "\n"
        yield f'<p class="quiet">tdqsim {markup(__version__)}</p></main>'
        if _has_picture(self.parts):
            yield f"<script>{_asset('page.js')}</script>"
        if _has(self.parts, DiagramPicture, FIGURE):
            yield f"<script>{_asset('diagram.js')}</script>"
        yield "</body></html>\n"

    def write(self, path: Path | str) -> Path:
        """Write the page to a file, which is either complete afterwards or unchanged.

        Raises:
            OSError: the file cannot be written.
        """
        target = Path(path)
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        fresh.unlink(missing_ok=True)  # do not write through a symbolic link of that name
        try:
            with fresh.open("x", encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(self.html())
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
        return target


def _untitled(part: Part, title: str) -> Part:
    if isinstance(part, Drawing | DiagramPicture) and part.title == title:
        return replace(part, title="", name=part.name or title)
    return part


def _has_picture(parts: Iterable[Part]) -> bool:
    return _has(parts, Drawing, PLOT)


def _has(parts: Iterable[Part], kind: type, beginning: str) -> bool:
    """Whether there is a part of a kind, or rendered markup that has the beginning of one."""
    return any(
        isinstance(part, kind)
        or (isinstance(part, Section) and _has(part.parts, kind, beginning))
        or (isinstance(part, Ready) and beginning in part.text)
        for part in parts
    )


def _diagram_style(parts: Iterable[Part]) -> str:
    return _asset("diagram.css") if _has(parts, DiagramPicture, FIGURE) else ""


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def check_target(path: Path | str) -> None:
    """Check that a page can be made and written there, before work that may take hours.

    Raises:
        TdqError: the folder does not exist, the file cannot be written, or its name is that of another kind of file.
    """
    target = Path(path)
    if target.suffix not in {"", ".html", ".htm"} and not target.is_dir():
        raise UsageError(f"{target}: the page is HTML; give a name that ends with .html")
    if target.is_dir():
        raise UsageError(f"{target}: this is a folder; the report is a file, such as {target / 'report.html'}")
    if not target.parent.is_dir():
        raise UsageError(f"{target}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target}: no file can be made in {target.parent}")
