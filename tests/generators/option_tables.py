"""Writes the tables in the guide that are made from facts: ``python -m tests.generators.option_tables``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import tdqsim
from tdqsim.facts import table
from tdqsim.pipeline.option_table import declared_options
from tests.generators import core_tables

_GUIDE: Final = Path(tdqsim.__file__).parent / "guide"
_TABLE: Final = re.compile(
    r"(?<=\n)\| (?:option|option group|option of INQUIRE|attribute|condition|field of the signature|number|messages of|offset"
    r"|variable) \|.*\n"
    r"(?:\|.*\n)+"
)
_QSAM: Final = {
    "option": "option", "for": "applies", "values": "values", "default": "default", "under cobol": "cobol",
    "status": "status", "note": "note",
}  # fmt: skip
_QUEUES: Final = {
    "option": "option", "of": "formats", "use": "use", "values": "values", "default": "default", "meaning": "meaning",
}  # fmt: skip


def _reference_table(name: str, columns: Mapping[str, str], **only: str) -> str:
    """Options as a table in Markdown, for the reference.

    Args:
        name: the table that declares them.
        columns: the cells shown, by the headings of their columns.
        only: show only rows that have these cells.
    """
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    for option in declared_options(name).values():
        if all(option.row[cell] == value for cell, value in only.items()):
            cells = {**option.row, "option": f"`{option.name}`", "values": option.allowed}
            lines.append(f"| {' | '.join(cells[cell] for cell in columns.values())} |")
    return "\n".join(lines) + "\n"


def _qsam_tables() -> list[str]:
    groups = dict.fromkeys(row["group"] for row in table("qsam_options"))
    return [_reference_table("qsam_options", _QSAM, group=group) for group in groups] + [_uses_table()]


def _uses_table() -> str:
    """What a write does with the options of a read, by group."""
    uses = ("both", "write", "read", "read only")
    lines = ["| option group | of reads and writes | of writes | of reads, no effect on a write | refused by a write |"]
    lines.append(f"|{' --- |' * (len(uses) + 1)}")
    groups: dict[str, dict[str, list[str]]] = {}
    for row in table("qsam_options"):
        if row["status"] != "absent":
            groups.setdefault(row["group"], {}).setdefault(row["applies"], []).append(f"`{row['option']}`")
    for group, names in groups.items():
        lines.append(f"| {group} | {' | '.join(', '.join(names.get(use, [])) for use in uses)} |")
    return "\n".join(lines) + "\n"


def _queue_tables() -> list[str]:
    return [_reference_table("queue_options", _QUEUES)]


PAGES: Final = {
    "qsam-options": _qsam_tables, "queue-sources": _queue_tables, "browse": core_tables.inquire_options,
    "definitions": core_tables.attributes, "conditions": core_tables.conditions, "ibmi": core_tables.apis, "signatures": core_tables.signatures,
}  # fmt: skip
"""The chapters with such tables, and what makes the tables, in their order."""


def with_tables(chapter: str) -> str:
    """The text of a chapter with its tables made anew."""
    tables = iter(PAGES[chapter]())
    return _TABLE.sub(lambda _: next(tables), (_GUIDE / f"{chapter}.md").read_text("utf-8"))


if __name__ == "__main__":
    for name in PAGES:
        (_GUIDE / f"{name}.md").write_text(with_tables(name), "utf-8")
