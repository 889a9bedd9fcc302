"""Records as text: in a code page, as a hexadecimal dump, or as the fields of a layout."""

from __future__ import annotations

from typing import Final

from tdqsim.errors import UsageError
from tdqsim.hosting import CodePage
from tdqsim.layouts import Layout, parse_copybook

_LINE: Final = 16
_MOST_FIELDS: Final = 400
_LONGEST_COPYBOOK: Final = 65536


def text_of(record: bytes, page: CodePage, most: int) -> str:
    """A record as text with a dot for each unprintable byte; truncated after ``most`` bytes, with a note."""
    shown = page.printable(record[:most])
    return shown if len(record) <= most else f"{shown} ... ({len(record) - most:,} bytes more)"


def dump(record: bytes, page: CodePage, most: int) -> str:
    """A record in hexadecimal and as text, 16 bytes on each line."""
    lines = []
    for at in range(0, min(len(record), most), _LINE):
        part = record[at : at + _LINE]
        digits = " ".join(part[four : four + 4].hex().upper() for four in range(0, len(part), 4))
        lines.append(f"{at:05X}  {digits:<35}  {page.printable(part)}")
    if len(record) > most:
        lines.append(f"... {len(record) - most:,} bytes more")
    return "\n".join(lines)


def fields(record: bytes, layout: Layout) -> list[str]:
    """The elementary fields of a record, one on each line: name, value, and a remark about an invalid value."""
    all_fields = layout.found_in(record)
    lines = []
    for each in all_fields[:_MOST_FIELDS]:
        value = "" if each.value is None else str(each.value)
        if each.value is None:
            value = f"X'{each.hex}'" if each.remark else "(null)"
        lines.append(f"{each.field} = {value}{f'  ({each.remark})' if each.remark else ''}")
    if len(all_fields) > _MOST_FIELDS:
        lines.append(f"... {len(all_fields) - _MOST_FIELDS:,} fields more")
    return lines


def layout_of(copybook: str, page: CodePage) -> Layout:
    """The layout of the first record of a copybook, in a code page.

    Raises:
        TdqError: the text is not a copybook, contains COPY, or is too long.
    """
    if len(copybook) > _LONGEST_COPYBOOK:
        raise UsageError(f"a copybook of {len(copybook):,} characters: at most {_LONGEST_COPYBOOK:,} are allowed")
    records = parse_copybook(copybook).records
    if not records:
        raise UsageError("the copybook has no record")
    return records[0].with_rules(code_page=page.name)
