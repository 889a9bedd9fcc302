"""A viewer for print data sets: it shows the effect of the control character in the first byte of each record.

The records are not changed: control characters are part of the data, and only a printer, or this viewer, interprets
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.datasets.dcb import PrintControl
from tdqsim.facts import table

_FORM_FEED: Final = "\f"
_OVERSTRUCK: Final = frozenset(" _")


class _Motion(NamedTuple):
    before: str
    after: str
    write: bool


_ASA: Final = {
    row["code"]: _Motion(row["before"], row["after"], row["write"] == "YES")
    for row in table("printcontrol")
    if row["kind"] == "asa"
}
_MACHINE: Final = {
    int(row["code"], 16): _Motion(row["before"], row["after"], row["write"] == "YES")
    for row in table("printcontrol")
    if row["kind"] == "machine"
}
_SINGLE_ASA: Final = _Motion("1", "", write=True)
_SINGLE_MACHINE: Final = _Motion("", "1", write=True)


def render(records: Iterable[bytes], control: PrintControl, code_page: CodePage | str = "037") -> Iterator[str]:
    """Return the printed lines of records with the kind of control; without control, each record is a line."""
    if control is PrintControl.ASA:
        return render_asa(records, code_page)
    if control is PrintControl.MACHINE:
        return render_machine(records, code_page)
    text = codepage(code_page).printable
    return (text(record).rstrip() for record in records)


def render_asa(records: Iterable[bytes], code_page: CodePage | str = "037") -> Iterator[str]:
    """Return the printed lines of records with ASA control characters (RECFM=FBA, VBA).

    A skip to channel 1 yields a line with one form feed before the first line of the new page. A skip to another
    channel, whose position is defined only in the printer's forms control, and an unknown control character are treated
    as a single space.
    """
    text = codepage(code_page).printable
    return _print((_ASA.get(text(record[:1]), _SINGLE_ASA), text(record[1:])) for record in records if record)


def render_machine(records: Iterable[bytes], code_page: CodePage | str = "037") -> Iterator[str]:
    """Return the printed lines of records with machine control characters (RECFM=FBM, VBM); see :func:`render_asa`."""
    text = codepage(code_page).printable
    return _print((_MACHINE.get(record[0], _SINGLE_MACHINE), text(record[1:])) for record in records if record)


def _print(records: Iterable[tuple[_Motion, str]]) -> Iterator[str]:
    """Move the paper and print; yield each line when the paper moves on from it."""
    line, fresh = "", True  # fresh: nothing has been printed on the current line
    first = True  # the first record: a report that begins with a skip to a new page gets no empty page before it
    for motion, text in records:
        if motion.before and not (fresh and motion.before in {"1", "CH1"}):
            yield from _leave(line, motion.before, fresh=fresh)
            line = line if motion.before == "0" else ""
        if motion.write:
            line, fresh = _overprint(line, text), False
        if motion.after and not (first and fresh and motion.after == "CH1"):
            yield from _leave(line, motion.after, fresh=fresh and motion.after.startswith("CH"))
            line, fresh = (line, fresh) if motion.after == "0" else ("", True)
        first = False
    if not fresh:
        yield line.rstrip()


def _leave(line: str, movement: str, *, fresh: bool) -> Iterator[str]:
    """Yield the lines that are complete when the paper moves on from ``line``."""
    lines = 1 if movement.startswith("CH") else int(movement)
    if lines and not fresh:
        yield line.rstrip()
    yield from [""] * (lines - 1)
    if movement == "CH1":
        yield _FORM_FEED


def _overprint(line: str, text: str) -> str:
    """Merge two texts printed on one line: the later character shows, unless it is a blank or underscores another."""
    width = max(len(line), len(text))
    pairs = zip(line.ljust(width), text.ljust(width), strict=True)
    return "".join(below if above in _OVERSTRUCK and below != " " else above for below, above in pairs)
