"""The words of the sources, kept beside the tables of facts that they prove.

``tests/facts/sources/TABLE.txt`` belongs to one table. It begins with the columns that name a row (``key``) and those that hold a
fact (``facts``). Sections follow, each with a ``source`` and its lines: names and numbers as the source prints them, for the rows that
the table has. ``reads`` is the regular expression that finds the facts of a line. Its groups are named after columns; ``code_1`` and
``code_2`` together are the column ``code``, and ``of: COLUMN=TEXT`` gives a cell that all lines share. ``also: kind BINARY=B`` reads a word of a column for the one that the table has, ``instead: values ["a", "b"]`` a part of it.
``counts: offset
length`` is for a source that prints lengths alone: each offset is the sum of the lengths before it; fields that the table does not have
are named ``beside``. ``against`` keeps what a source says otherwise.

A fact that no kept source has stands in a section whose source begins with ``none:`` and the reason, so that a maintainer sees what
rests on memory alone. ``python -m tests.facts._sources`` writes these sections anew; the others come from the source only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tdqsim.facts import table

FOLDER = Path(__file__).parent / "sources"
NONE = "none: "

Fact = tuple[tuple[str, ...], str]
"""The key of a row and a column; without a column, the row itself."""


@dataclass
class Section:
    """The words of one source: ``number`` is the line of the file at which they begin."""

    source: str
    head: dict[str, list[str]] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)

    @property
    def proves(self) -> bool:
        """Whether it is a source, and not the list of what has none."""
        return not self.source.startswith(NONE)


@dataclass
class Words:
    """What is kept for a table."""

    name: str
    key: list[str]
    facts: list[str]
    sections: list[Section]


def tables_with_words() -> list[str]:
    """The tables whose facts have words or are listed."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def words(name: str) -> Words:
    """The file of a table."""
    found = Words(name, [], [], [])
    for number, line in enumerate((FOLDER / f"{name}.txt").read_text("utf-8").split("\n"), 1):
        if not line.startswith("# "):
            if line.strip():
                found.sections[-1].lines.append((number, line))
            continue
        word, _, rest = line[2:].partition(": ")
        if word == "key":
            found.key = rest.split()
        elif word == "facts":
            found.facts = rest.split()
        elif word == "source":
            found.sections.append(Section(rest))
        else:
            found.sections[-1].head.setdefault(word, []).append(rest)
    return found


def said(kept: Words, section: Section) -> list[tuple[int, tuple[str, ...], dict[str, str]]]:
    """What the lines of a section say: the line, the key of a row and its cells by column.

    Raises:
        ValueError: a line has words that its pattern does not read.
    """
    columns = [*kept.key, *kept.facts]
    if not section.proves:
        rows = [(number, [cell(each) for each in line.split("\t")]) for number, line in section.lines]
        found = [(number, dict(zip(columns, cells, strict=True))) for number, cells in rows]
    else:
        shared = dict(each.split("=", 1) for each in section.head.get("of", []))
        spelt = {tuple(each.split("=", 1)) for each in section.head.get("also", [])}
        parts = [each.split(" ", 1) for each in section.head.get("instead", [])]
        column, size = section.head["counts"][0].split() if "counts" in section.head else ("", "")
        beside = {word for each in section.head.get("beside", []) for word in each.split()}
        at = 0
        pattern = re.compile(section.head["reads"][0])
        found = []
        for number, line in section.lines:
            if rest := pattern.sub("", line).strip(" |,;"):
                raise ValueError(f"sources/{kept.name}.txt:{number}: {rest!r} is not read by {pattern.pattern}")
            for match in pattern.finditer(line):
                cells = dict(shared)
                for group, text in match.groupdict("").items():
                    name = re.sub(r"_\d$", "", group)
                    word = next((to for of, to in spelt if of == f"{name} {text.strip()}"), text.strip())
                    for part in (part for of, part in parts if of == name):
                        word = word.replace(*json.loads(part))
                    cells[name] = cells.get(name, "") + word
                if column:
                    cells[column] = str(at)
                    at += int(cells[size])
                if cells[kept.key[-1]] not in beside:
                    found.append((number, cells))
    return [(number, tuple(cells.pop(each) for each in kept.key), cells) for number, cells in found]


def rows_of(kept: Words) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of the table by their key."""
    return {tuple(row[each] for each in kept.key): row for row in table(kept.name)}


def proved(kept: Words) -> set[Fact]:
    """The facts that a source's words say."""
    return {
        (key, column)
        for section in kept.sections
        if section.proves
        for _, key, cells in said(kept, section)
        for column in ({*cells} & {*kept.facts} or {""})
    }


def cell(text: str) -> str:
    """A cell as it stands in a list of facts without a source: in quotation marks if it is empty or has blanks around it."""
    return json.loads(text) if text.startswith('"') else text


def quoted(text: str) -> str:
    """The opposite of ``cell``; ``...`` in the place of a fact that a source has."""
    return json.dumps(text, ensure_ascii=False) if text != text.strip() or not text or text[0] == '"' else text


PROVED = "..."


def without_source(kept: Words) -> dict[str, list[str]]:
    """The lines that must stand in the file for facts without a source, by their reason."""
    have = proved(kept)
    found: dict[str, list[str]] = {}
    for key, row in rows_of(kept).items():
        cells = [PROVED if (key, each) in have else quoted(row[each]) for each in kept.facts]
        if all(each == PROVED for each in cells) and (cells or (key, "") in have):
            continue
        degree = row.get("confidence", "")
        reason = row.get("source", "")
        found.setdefault(f"{degree + ', ' if degree else ''}{reason}", []).append(
            "\t".join([*map(quoted, key), *cells])
        )
    return found


def write(name: str) -> None:
    """Writes the lists of facts without a source of one table anew."""
    path = FOLDER / f"{name}.txt"
    text = re.split(rf"\n+# source: {NONE}", path.read_text("utf-8"), maxsplit=1)[0].rstrip("\n") + "\n"
    for reason, lines in without_source(words(name)).items():
        text += f"\n# source: {NONE}{reason}\n" + "".join(f"{line}\n" for line in lines)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    for each in tables_with_words():
        write(each)
