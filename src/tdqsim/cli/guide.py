"""``tdq guide``: the chapters of the guide, which are part of the package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final, NamedTuple

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
        meant = did_you_mean(name, CHAPTERS) or "; tdq guide lists the chapters"
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


_SHOWN: Final = 15
_WIDTH: Final = 100
_IN_HEADING: Final = 8.0
_IN_TITLE: Final = 4.0
_MOST_FOR_TEXT: Final = 4
_MADE: Final = -4.0
"""Pages that list every rule have every word."""
_SMALL: Final = frozenset({"a", "an", "and", "for", "in", "is", "my", "no", "not", "of", "on", "the", "to", "why"})


class _Hit(NamedTuple):
    """A section that has words that were searched for; hits are sorted by their first three fields."""

    missing: int
    score: float
    order: int
    chapter: str
    heading: str
    line: str


def _search(wanted: str) -> None:
    given = dict.fromkeys(wanted.casefold().split())
    if not given:
        raise InputError("--search: expected one or more words")
    words = [each for each in given if each not in _SMALL] or list(given)
    from tdqsim.cli.rule_pages import PAGES  # noqa: PLC0415  (reads the tables of rules, which few commands need)

    places = ((name, heading, text) for name in CHAPTERS for heading, text in sections(chapter_text(name)))
    hits = sorted(_hit(words, order, place[0] in PAGES, *place) for order, place in enumerate(places))
    found = [each for each in hits if each.missing == hits[0].missing < len(words)]
    if not found:
        raise InputError(f"no section of the guide contains {wanted!r}")
    emit_table(("chapter", "section", "line"), [(each.chapter, each.heading, each.line) for each in found[:_SHOWN]])
    if found[0].missing:
        emit("(no section has all of the words)")
    if len(found) > _SHOWN:
        emit(f"and {len(found) - _SHOWN} more sections")


def _hit(words: Iterable[str], order: int, made: bool, chapter: str, heading: str, text: str) -> _Hit:
    """How well a section fits: words count most in its heading, then in its chapter's title."""
    head, title, body = heading.casefold(), CHAPTERS[chapter].title.casefold(), text.casefold()
    score, missing = _MADE if made else 0.0, 0
    for word in words:
        begins = re.compile(rf"\b{re.escape(word)}")
        times = len(begins.findall(body))
        missing += word not in head and word not in body
        score += min(times, _MOST_FOR_TEXT)
        score += _IN_HEADING * bool(begins.search(head)) + _IN_TITLE * bool(begins.search(title))
    lines = text.splitlines()
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words), default="")
    score += 2 * sum(word in best.casefold() for word in words)  # together in one line
    return _Hit(missing, -score, order, chapter, heading, _excerpt(best.strip(), words))


def _excerpt(line: str, words: Iterable[str]) -> str:
    """The part of a line around the first of the words, without the marks of a table."""
    line = " ".join(line.strip("|").replace("|", " ").split())
    at = min((at for word in words if (at := line.casefold().find(word)) >= 0), default=0)
    begin = max(0, min(at - _WIDTH // 3, len(line) - _WIDTH))
    part = line[begin : begin + _WIDTH]
    return f"{'... ' if begin else ''}{part}{' ...' if begin + _WIDTH < len(line) else ''}"


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
        str | None,
        typer.Argument(
            metavar="CHAPTER", help="The chapter to show; default: list them.", autocompletion=_offered_chapters
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="List the sections that fit these words best.")
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
