"""``tdq guide``: the chapters of the guide, which are part of the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.chapters import CHAPTERS, GROUPS, chapter_text
from tdqsim.cli.completing import beginning
from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit, emit_table, on_terminal
from tdqsim.core.spelling import did_you_mean

app = typer.Typer(rich_markup_mode=None)


def chapter(name: str) -> str:
    """The text of a chapter, as Markdown.

    Raises:
        InputError: there is no such chapter.
    """
    if name not in CHAPTERS:
        meant = did_you_mean(name, CHAPTERS) or f"; it has: {', '.join(CHAPTERS)}"
        raise InputError(f"the guide has no chapter {name!r}{meant}")
    return chapter_text(name)


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The sections of a chapter, each as its heading and its text; lines that begin with # in code are not headings."""
    heading, lines, in_code = "", list[str](), False
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if line.startswith("#") and not in_code:
            yield heading, "\n".join(lines)
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def _offered_chapters(incomplete: str) -> list[tuple[str, str]]:
    return beginning(((each.name, each.title) for each in CHAPTERS.values()), incomplete)


def _list() -> None:
    for group in GROUPS:
        rows = [(each.name, each.title, each.purpose) for each in CHAPTERS.values() if each.group == group]
        emit_table(("chapter", "title", "what it is for"), rows, title=f"{group}:")
        emit()
    emit("tdq guide CHAPTER shows a chapter.\ntdq guide --search WORDS searches them.")


def _search(wanted: str) -> None:
    words = wanted.casefold().split()
    if not words:
        raise InputError("--search: expected one or more words")
    rows = []
    for name in CHAPTERS:
        for heading, text in sections(chapter_text(name)):
            if all(word in f"{heading}\n{text}".casefold() for word in words):
                first = next((line for line in text.splitlines() if words[0] in line.casefold()), "")
                rows.append((name, heading, first.strip()))
    if not rows:
        raise InputError(f"no section of the guide contains {wanted!r}")
    emit_table(("chapter", "section", "first line"), rows)


def _show(text: str) -> None:
    """Print a chapter; on a terminal formatted and in a pager."""
    if not on_terminal():
        emit(text.rstrip("\n"))
        return
    os.environ.setdefault("LESS", "FRX")  # less: keep colours, and do not wait for a key if the text fits on the screen
    console = on_demand.console.Console()
    with console.pager(styles=True):
        console.print(on_demand.markdown.Markdown(text))


@app.command("guide")
def guide(
    name: Annotated[
        str,
        typer.Argument(
            metavar="CHAPTER", help="The chapter to show; default: list them.", autocompletion=_offered_chapters
        ),
    ] = "",
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="List the sections that contain all of these words.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the whole guide as a site.")] = None,
) -> None:
    """Read the guide: list its chapters, show or search them, or write all of them as a site."""
    if html is not None:
        from tdqsim.cli.site import write_site  # noqa: PLC0415  (an extra)

        count = write_site(html)
        emit(f"{html}/index.html and {count} chapters")
    elif search is not None:
        _search(search)
    elif name:
        _show(chapter(name))
    else:
        _list()
