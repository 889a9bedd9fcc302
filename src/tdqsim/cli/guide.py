"""``tdq guide``: the chapters of the guide, which are part of the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli.completing import beginning
from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit, emit_table, on_terminal

__all__ = ["app", "chapter", "chapters"]

app = typer.Typer(rich_markup_mode=None)


def chapters() -> dict[str, str]:
    """The names of the chapters and the heading of each, in the order of reading."""
    files = {entry.name.removesuffix(".md"): entry for entry in _folder().iterdir() if entry.name.endswith(".md")}
    order = _folder().joinpath("ORDER").read_text("utf-8").split()
    names = [name for name in order if name in files] + sorted(files.keys() - set(order))
    return {name: files[name].read_text("utf-8").partition("\n")[0].lstrip("# ") for name in names}


def chapter(name: str) -> str:
    """The text of a chapter, as Markdown.

    Raises:
        InputError: there is no such chapter.
    """
    known = chapters()
    if name not in known:
        raise InputError(f"the guide has no chapter {name!r}; it has: {', '.join(known)}")
    return _folder().joinpath(f"{name}.md").read_text("utf-8")


def _folder() -> resources.abc.Traversable:
    return resources.files("tdqsim").joinpath("guide")


def _offered_chapters(incomplete: str) -> list[tuple[str, str]]:
    return beginning(chapters().items(), incomplete)


@app.command("guide")
def guide(
    name: Annotated[
        str,
        typer.Argument(
            metavar="CHAPTER", help="The chapter to show; without it, the list.", autocompletion=_offered_chapters
        ),
    ] = "",
    html: Annotated[Path | None, typer.Option(metavar="DIR", help="Write all of it as a site.")] = None,
) -> None:
    """Read the guide: queues, definitions, handlers, recovery, data sets and the rest."""
    if html is not None:
        from tdqsim.cli.site import write_site  # noqa: PLC0415  (an extra)

        known = chapters()
        count = write_site(html, known, {each: chapter(each) for each in known})
        emit(f"{html}/index.html and {count - 1} chapters")
        return
    if not name:
        emit_table(("chapter", "about"), chapters().items())
        return
    text = chapter(name)
    if not on_terminal():
        emit(text.rstrip("\n"))
        return
    from rich.console import Console  # noqa: PLC0415  (only where a person looks)
    from rich.markdown import Markdown  # noqa: PLC0415

    Console().print(Markdown(text))
