"""The chapters of the guide, as the tables of ``guide/index.md`` list them.

Most chapters are files of the folder ``guide``. Those of :data:`tdqsim.cli.rule_pages.PAGES` are rendered from the
tables of facts, or from docstrings, each time they are read.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Final, NamedTuple


class Chapter(NamedTuple):
    """A chapter.

    Attributes:
        group: the part of the guide it belongs to.
        name: as in ``tdq guide NAME``, and the name of its file.
        title: its heading.
        purpose: what you use it for, in a sentence.
    """

    group: str
    name: str
    title: str
    purpose: str


def chapter_file(name: str) -> resources.abc.Traversable:
    """A file of the package's folder ``guide``."""
    return resources.files("tdqsim").joinpath("guide", name)


_ROW: Final = re.compile(r"\| (?:\[(.+)\]\((.+)\.md\)|(.+) \(`tdq guide (.+)`\)) \| (.+) \|")
"""A row of the index: the title and file of a chapter, or the title and name of a rendered one, and the purpose."""


def _listed() -> dict[str, Chapter]:
    chapters, group = {}, ""
    for line in chapter_file("index.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif row := _ROW.fullmatch(line):
            title, name = (row[1], row[2]) if row[1] else (row[3], row[4])
            chapters[name] = Chapter(group, name, title, row[5])
    return chapters


CHAPTERS: Final = _listed()
"""Every chapter by name, in the order of the guide."""

GROUPS: Final = tuple(dict.fromkeys(each.group for each in CHAPTERS.values()))
"""The parts of the guide, in order."""


def chapter_text(name: str) -> str:
    """The text of a chapter, as Markdown."""
    from tdqsim.cli.rule_pages import PAGES  # noqa: PLC0415  (reads the tables of rules, which few chapters need)

    page = PAGES.get(name)
    return chapter_file(f"{name}.md").read_text("utf-8") if page is None else page()
