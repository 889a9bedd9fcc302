"""Parse COBOL copybooks into layouts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

from tdqsim.core.codepage import codepage
from tdqsim.errors import LayoutError, UnknownName
from tdqsim.layouts._items import PERIOD, DataItem, read_items
from tdqsim.layouts._offsets import place_items
from tdqsim.layouts._source import read_bounded, read_source
from tdqsim.layouts._tokens import CopyResolver, read_tokens
from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.fields import Field, FieldType
from tdqsim.layouts.layout import Layout

SourceFormat = Literal["auto", "fixed", "free"]
MEMBER_SUFFIXES = ("", ".cpy", ".cbl", ".cob", ".copy", ".cobol", ".inc")
MAX_COPYBOOK = 4 * 1024 * 1024
EBCDIC_BLANK, CARD = b"\x40", 80
EBCDIC_LINE_END = re.compile(rb"\x0D?[\x15\x25\x0A]")


@dataclass(frozen=True, slots=True)
class Copybook:
    """The records that one copybook defines.

    Attributes:
        file: the file name.
        records: one layout for each level 01 or 77 item, or a single one if there is no level 01.
        whole: all records one after the other as a single record, for readers that support only one record.
    """

    file: str
    records: tuple[Layout, ...]
    whole: Layout

    def record(self, name: str | None = None) -> Layout:
        """Return the layout of one record; without a name, of the only record.

        Names are not case-sensitive. If no record has the name as written, ``_`` also stands for ``-``.

        Raises:
            LayoutError: there is no record of that name, or there are several and no name; the message lists them.
        """
        if name is None and len(self.records) == 1:
            return self.records[0]
        upper = (name or "").upper()
        matching = [layout for layout in self.records if layout.name.upper() == upper]
        if not matching and upper:
            loose = upper.replace("_", "-")
            matching = [layout for layout in self.records if layout.name.upper().replace("_", "-") == loose]
        if len(matching) != 1:
            names = ", ".join(layout.name for layout in self.records)
            problem = f"no record {name!r}" if name is not None else "more than one record"
            raise LayoutError(f"{self.file}: the copybook has {problem}; it has {names}")
        return matching[0]

    def without(self, *names: str) -> Layout:
        """Return the other records, one after the other as a single record.

        Args:
            names: the records to leave out, such as the header and trailer of a file.

        Raises:
            LayoutError: no such record, none is left, or a remaining record redefines one that is left out.
        """
        omitted = {self.record(name).name.upper() for name in names}
        remaining = [record for record in self.records if record.name.upper() not in omitted]
        if len(remaining) == 1 or not omitted:
            return remaining[0] if len(remaining) == 1 else self.whole
        if not remaining:
            raise LayoutError(f"{self.file}: no record is left besides {', '.join(names)}")
        fields: list[Field] = []
        shift = 0
        for item in self.whole.fields:
            if item.name.upper() in omitted:
                shift += 0 if item.redefines else item.size
            else:
                fields.append(_moved(item, shift, omitted))
        return replace(self.whole, fields=tuple(fields))


class _Placing(TypedDict):
    """The options of :func:`place_items`."""

    pointer_size: int
    long_binary: bool
    nearest_counter: bool


def parse_copybook(
    text: str,
    *,
    file: str = "<copybook>",
    source_format: SourceFormat = "auto",
    columns: tuple[int, int] = (6, 72),
    library: CopyResolver | None = None,
    pointer_size: Literal[4, 8] = 4,
    long_binary: bool = False,
    nearest_counter: bool = False,
    rules: Rules | None = None,
) -> Copybook:
    """Parse a copybook.

    Args:
        text: the text of the copybook.
        file: the file name for messages.
        source_format: fixed or free reference format; ``auto`` determines it from the columns.
        columns: for fixed format, the number of columns before the indicator, and the last column of the text.
        library: finds the members that COPY names; see :func:`copybook_library`.
        pointer_size: bytes of USAGE POINTER: 4, or 8 under LP(64).
        long_binary: accept binary items of 19 to 38 digits, which no compiler does, in as many bytes as they need.
        nearest_counter: True: a name in DEPENDING ON that matches several fields refers to the last of them, as in
            Cobrix. False: it is refused as ambiguous, as by compilers, unless the table is in the group of the last.
        rules: code page and number formats of the layouts.

    Raises:
        LayoutError: the text is not a copybook; the message names file, line, column and clause.
    """
    source = read_source(text, file, source_format=source_format, columns=columns)
    try:
        tokens = read_tokens(source, library, source_format=source_format, columns=columns)
        items = read_items(tokens)
    except LayoutError as error:
        raise _explained(error, source.note) from None
    if not any(item.level not in (66, 88) for item in items):
        raise LayoutError(f"{file}:1:1: the copybook defines no field")
    chosen, groups = rules or Rules(), _records(items)
    placing = _Placing(pointer_size=pointer_size, long_binary=long_binary, nearest_counter=nearest_counter)
    if len(groups) == 1:
        only = _layout(groups[0], file, chosen, placing)
        return Copybook(file, (only,), only)
    fields, renames = place_items(items, **placing)
    for first, *_ in groups:
        first.redefines = None  # 01 B REDEFINES A: they share bytes above; the layout of B itself does not include A
    records = tuple(_layout(group, file, chosen, placing) for group in groups)
    return Copybook(file, records, Layout(Path(file).stem, fields, chosen, renames))


def _explained(error: LayoutError, note: str) -> LayoutError:
    """The error, with what was read otherwise than it appears, such as a period after the last column."""
    if note.startswith("nothing after column"):
        return LayoutError(str(error).replace(PERIOD, note)) if PERIOD in str(error) else error
    return LayoutError(f"{error}; {note}") if note else error


def load_copybook(path: str | Path, *, encoding: str = "utf-8", **options: object) -> Copybook:
    """Parse a copybook file, with the options of :func:`parse_copybook`.

    By default, members that COPY names are searched for in the directory of the file.

    Raises:
        LayoutError: the file cannot be read, or is not a copybook.
    """
    path = Path(path)
    options.setdefault("library", copybook_library(path.parent))
    return parse_copybook(read_copybook(path, encoding=encoding), file=str(path), **options)  # type: ignore[arg-type]


def read_copybook(path: Path, *, encoding: str = "utf-8") -> str:
    """Return the text of a copybook file that was downloaded as text or in binary.

    Raises:
        LayoutError: the file cannot be read, or is too large for a copybook.
    """
    return _text(read_bounded(path, MAX_COPYBOOK), encoding)


def _text(data: bytes, encoding: str = "utf-8") -> str:
    """Decode a downloaded member: ASCII text, or EBCDIC as lines or as records of 80 bytes."""
    if data.count(EBCDIC_BLANK) * 8 > len(data) and b" " not in data:
        if EBCDIC_LINE_END.search(data):
            lines = EBCDIC_LINE_END.split(data)
        else:
            lines = [data[at : at + CARD] for at in range(0, len(data), CARD)]
        return "\n".join(codepage("037").decode(line) for line in lines)
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return data.decode("latin-1")  # comments in a national code page; the COBOL words themselves are ASCII


def merge_copybooks(books: Sequence[Copybook]) -> Copybook:
    """Merge copybooks, each for another kind of record of one data set, into one whose records share their bytes.

    Raises:
        LayoutError: there is no copybook, two records have the same name, or the records of a copybook follow each
            other.
    """
    if not books:
        raise LayoutError("there is no copybook to merge")
    tops: list[Field] = []
    for book in books:
        fields = book.whole.fields if len(book.records) > 1 or not book.whole.root else (_group(book.whole),)
        if any(item.redefines is None for item in fields[1:]):
            names = ", ".join(item.name for item in fields)
            raise LayoutError(
                f"{book.file}: {names} follow each other; a merged copybook has one record, or others redefine it"
            )
        tops += fields
    first, taken = tops[0], set[str]()
    for item in tops:
        if item.key.upper() in taken:
            raise LayoutError(f"more than one of the copybooks has a record {item.name}")
        taken.add(item.key.upper())
    whole = (first, *(replace(item, redefines=first.path) for item in tops[1:]))
    files, rules = ", ".join(book.file for book in books), books[0].whole.rules
    records = tuple(record for book in books for record in book.records)
    return Copybook(files, records, Layout(Path(books[0].file).stem, whole, rules))


def copybook_library(*folders: str | Path) -> CopyResolver:
    """Return a resolver that finds COPY members in folders, regardless of case, with the usual suffixes.

    It raises LookupError for a member that does not exist, LayoutError for one that cannot be read or is too large.
    """
    places = [Path(folder) for folder in folders]

    def resolve(name: str, library: str) -> tuple[str, str]:
        if not name or any(mark in name for mark in ("/", "\\", "..", "\x00")):
            raise UnknownName(f"{name[:60]!r} is not a member name")
        file_names = {(name + suffix).lower() for suffix in MEMBER_SUFFIXES}
        for folder in [
            place / library for place in places if library and ".." not in library and "/" not in library
        ] + places:
            entries = folder.iterdir() if folder.is_dir() else ()
            members = sorted(entry for entry in entries if entry.name.lower() in file_names and not entry.is_dir())
            if members:
                return str(members[0]), _text(read_bounded(members[0], MAX_COPYBOOK))
        raise UnknownName(f"no member {name} in {', '.join(map(str, places))}")

    return resolve


def _records(items: list[DataItem]) -> list[list[DataItem]]:
    """Group items into records: level 01 and 77 begin a record; items without a level 01 form one record together."""
    groups: list[list[DataItem]] = []
    for item in items:
        if item.level in (1, 77) or not groups or (groups[-1][0].level in (1, 77) and item.level != 66):
            groups.append([item])
        else:
            groups[-1].append(item)
    return groups


def _layout(items: list[DataItem], file: str, rules: Rules, placing: _Placing) -> Layout:
    fields, renames = place_items(items, **placing)
    if len(fields) == 1 and fields[0].level == 1 and fields[0].is_group:
        inner = tuple(_rooted(child) for child in fields[0].children)
        return Layout(fields[0].name, inner, rules, renames, root=fields[0].name)
    name = items[0].name if items[0].level in (1, 77) else Path(file).stem
    return Layout(name, fields, rules, renames)


def _moved(item: Field, shift: int, omitted: set[str]) -> Field:
    """Return the field with its offset reduced by ``shift``, the size of the omitted records before it."""
    if item.redefines is not None and item.redefines[0].upper() in omitted:
        raise LayoutError(f"field {'.'.join(item.path)} needs {'.'.join(item.redefines)}, which is left out")
    return replace(
        item, offset=item.offset - shift, children=tuple(_moved(child, shift, omitted) for child in item.children)
    )


def _group(layout: Layout) -> Field:
    """Return the level 01 group that contained the fields of a layout."""
    root = layout.root
    children = tuple(_under(root, child) for child in layout.fields)
    return Field(root, root, (root,), 1, FieldType.GROUP, 0, layout.length, children=children)


def _under(root: str, item: Field) -> Field:
    return replace(
        item,
        path=(root, *item.path),
        redefines=item.redefines and (root, *item.redefines),
        depending_on=item.depending_on and (root, *item.depending_on),
        children=tuple(_under(root, child) for child in item.children),
    )


def _rooted(item: Field) -> Field:
    """Return the field with paths that do not include the record's name."""
    return replace(
        item,
        path=item.path[1:],
        redefines=item.redefines and item.redefines[1:],
        depending_on=item.depending_on and item.depending_on[1:],
        children=tuple(_rooted(child) for child in item.children),
    )
