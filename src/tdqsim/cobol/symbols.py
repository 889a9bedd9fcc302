"""A program's items and statements, read from the compiler's output: its listing, its C text, the module's symbols.

The listing contains the items of each section with level, size and picture; offsets follow from the sizes. The C text
says which C variable is the storage of each item of level 01 or 77, and the module's symbol table gives the address of
the variable. Each statement is marked by a number: the file in the bits above 20, the line in the bits below.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_ROW: Final = re.compile(r"^(?P<size>\d{5,})\s+(?P<kind>\S+)\s+(?P<level>\d\d)\s+(?P<name>\S+)\s*(?P<text>.*)$")
_SECTION: Final = re.compile(r"^\s+(?P<name>WORKING-STORAGE|LOCAL-STORAGE|LINKAGE|FILE)\s+SECTION\s*$")
_PROGRAM: Final = re.compile(r"^\s+PROGRAM\s+\S+\s*$")
_OCCURS: Final = re.compile(r"OCCURS (?:\d+ TO )?(\d+)")
_REDEFINES: Final = re.compile(r"REDEFINES (\S+)")
_STORAGE: Final = re.compile(r"^static (?:cob_u8_t|int)\s+(b_\d+)(?:\[\d+\])?[^;]*;\s*/\* (.+?) \*/", re.MULTILINE)
_BASED: Final = re.compile(r"^static unsigned char\s*\*(b_\d+) = NULL;\s*/\* (.+?) \*/", re.MULTILINE)
_PASSED: Final = re.compile(r"^static unsigned char\s*\*(last_b_\d+);", re.MULTILINE)
_MARK: Final = re.compile(r"module->module_stmt = 0x([0-9A-F]+);|(cob_trace_stmt) ?\(")
_VERB_OR_MARK: Final = re.compile(r"module->module_stmt = 0x([0-9A-F]+);|cob_trace_stmt ?\((st_\d+)\)")
_VERB: Final = re.compile(r'\b(st_\d+)\b[^;=]*=\s*"([^"]+)"\s*;')
_HEADER_OR_MARK: Final = re.compile(
    r"/\* Line: \d+\s*: (?:Paragraph|Section)\s+(\S+)|module->module_stmt = 0x([0-9A-F]+);|(cob_trace_stmt) ?\("
)
_SOURCES: Final = re.compile(r"st_source_files\[\]\s*=\s*\{(.*?)\};", re.DOTALL)
_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PACKED: Final = re.compile(r"COMP(UTATIONAL)?-3|PACKED", re.IGNORECASE)
_SIGNED: Final = re.compile(r"S[9V(P]", re.IGNORECASE)
LINE_BITS: Final = 20
"""The compiler marks a statement by a number: the line is in the low bits, as many as this, and the file above them."""
_TOP: Final = (1, 77)
_SHOWN: Final = ("WORKING-STORAGE", "LOCAL-STORAGE", "LINKAGE")
_CONTROL: Final = "DFHEI-CONTROL"
"""The item that the translator adds; it is hidden from users."""
LOCAL_SYMBOL: Final = "dfh_local_"
"""The beginning of the symbol, before the program's name, of the address of LOCAL-STORAGE; 0 while it has none."""
PERFORM_SYMBOLS: Final = {"frame_ptr": "dfh_performed_", "frame_stack": "dfh_performs_"}
"""The beginning of the symbol, before the program's name, of each variable of the stack of PERFORMs."""
_PERFORM_ROOM: Final = 255
"""How many entries the compiler gives that stack."""
_ADDED: Final = "DFHEI-"
"""The beginning of the names of paragraphs that the translator adds."""
_BOUNDARY: Final = 16
"""The alignment of each 01 and 77 in LOCAL-STORAGE, in bytes."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a program.

    Attributes:
        name: its name, in upper case; FILLER for none.
        level: 01 to 49, or 77.
        kind: GROUP, ALPHANUMERIC, NUMERIC, POINTER and so on, as in the listing.
        picture: picture and usage, as in the listing.
        size: bytes of one occurrence.
        offset: from the beginning of its 01.
        above: the names of the groups that it is in, the nearest first.
        dimensions: (number of occurrences, bytes from one to the next) for each table that it is in, the outermost
            first.
        root: the name of its 01 or 77, with a number if that is FILLER.
    """

    name: str
    level: int
    kind: str
    picture: str
    size: int
    offset: int
    above: tuple[str, ...]
    dimensions: tuple[tuple[int, int], ...]
    root: str

    @property
    def is_packed(self) -> bool:
        """Whether it is a number with USAGE COMP-3."""
        return _PACKED.search(self.picture) is not None

    @property
    def is_signed(self) -> bool:
        """Whether its picture has a sign."""
        return _SIGNED.match(self.picture) is not None


@dataclass(frozen=True, slots=True)
class Variable:
    """The storage of an item of level 01 or 77.

    Attributes:
        name: the item's.
        offset: where it is in the module; for an item of the LINKAGE SECTION, where its address is.
        size: its size in bytes; for the LINKAGE SECTION, that of a pointer.
        linkage: whether a pointer holds its address: an item of the LINKAGE SECTION or of LOCAL-STORAGE.
        local: for an item of LOCAL-STORAGE, its offset from that address; else -1.
    """

    name: str
    offset: int
    size: int
    linkage: bool
    local: int = -1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or a section.

    Attributes:
        name: its name, in upper case.
        header: the mark of its header.
        first: the mark of its first statement, which may be in a later paragraph if it has none; 0 if there is none.
    """

    name: str
    header: int
    first: int


@dataclass(frozen=True, slots=True)
class Performs:
    """The stack of the active PERFORMs of a program.

    Attributes:
        program: its PROGRAM-ID as part of a C name.
        last: the offset in the module of the address of the last entry.
        stack: the offset of the stack.
        entry: the size of an entry in bytes.
    """

    program: str
    last: int
    stack: int
    entry: int


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbols of one program.

    Attributes:
        items: its items in the order of the source.
        variables: the storage of its 01 and 77 items.
        entry: the offset of the program's entry in the module.
        sources: its files, by the number in a statement's mark.
        statements: the marks of its statements.
        paragraphs: its paragraphs and sections in the order of the source.
        performs: where it and the programs inside it keep their active PERFORMs.
        repeated: the mark of each line with two or more statements of one verb, and the verbs of all its statements.
    """

    items: tuple[Item, ...]
    variables: tuple[Variable, ...]
    entry: int
    sources: tuple[str, ...]
    statements: tuple[int, ...]
    paragraphs: tuple[Paragraph, ...] = ()
    performs: tuple[Performs, ...] = ()
    repeated: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def place(self, mark: int) -> tuple[str, int]:
        """The user's file and line of a mark."""
        return self.sources[mark >> LINE_BITS], mark & (1 << LINE_BITS) - 1

    def as_json(self) -> dict[str, Any]:
        """A JSON object for :meth:`from_json`."""
        return {
            "items": [[getattr(item, name) for name in Item.__slots__] for item in self.items],
            "variables": [[each.name, each.offset, each.size, each.linkage, each.local] for each in self.variables],
            "entry": self.entry,
            "sources": self.sources,
            "statements": self.statements,
            "paragraphs": [[each.name, each.header, each.first] for each in self.paragraphs],
            "performs": [[each.program, each.last, each.stack, each.entry] for each in self.performs],
            "repeated": self.repeated,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Symbols:
        """Make the symbols from the object of :meth:`as_json`."""
        items = tuple(
            Item(
                name=row[0],
                level=row[1],
                kind=row[2],
                picture=row[3],
                size=row[4],
                offset=row[5],
                above=tuple(row[6]),
                dimensions=tuple((count, step) for count, step in row[7]),
                root=row[8],
            )
            for row in kept["items"]
        )
        variables = tuple(Variable(*row) for row in kept["variables"])
        return cls(
            items,
            variables,
            kept["entry"],
            tuple(kept["sources"]),
            tuple(kept["statements"]),
            tuple(Paragraph(*row) for row in kept["paragraphs"]),
            tuple(Performs(*row) for row in kept["performs"]),
            tuple((mark, tuple(verbs)) for mark, verbs in kept["repeated"]),
        )


def read_symbols(folder: Path, name: str, entry: str, using: Sequence[str]) -> Symbols:
    """Read the symbols from the compiler's output in a folder.

    Args:
        folder: the folder with ``NAME.c``, ``NAME.c.h``, ``NAME.c.l*.h``, ``NAME.lst`` and ``NAME.so``.
        name: the stem of those files.
        entry: the C name of the program's entry.
        using: the names after USING of the PROCEDURE DIVISION.
    """
    local = next(
        (
            text
            for path in sorted(folder.glob(f"{name}.c.l*.h"))
            if f"local variables for '{name}'" in (text := path.read_text("utf-8", "replace"))
        ),
        "",
    )
    text = (folder / f"{name}.c").read_text("utf-8", "replace")
    places = dict(_elf_symbols((folder / f"{name}.so").read_bytes()))
    shared = (folder / f"{name}.c.h").read_text("utf-8", "surrogateescape")  # GLOBAL items are declared there
    sources = _SOURCES.search(shared)
    statements = sorted(_statements(text))
    listing = (folder / f"{name}.lst").read_text("utf-8", "replace").splitlines()
    variables = list(_variables(local, shared, places, using))
    pointer = places.get(f"{LOCAL_SYMBOL}{entry}")
    if pointer is not None:
        variables += _locals(listing, pointer[0])
    return Symbols(
        tuple(_items(listing)),
        tuple(variables),
        places.get(entry, (0, 0))[0],
        tuple(_NAME.findall(sources[1])) if sources else (),
        tuple(statements),
        tuple(_paragraphs(text)),
        tuple(_performs(places)),
        tuple(_repeated(text, dict(_VERB.findall(f"{text}\n{shared}\n{local}")))),
    )


def _statements(text: str) -> set[int]:
    """The marks of the statements; a statement on the same line as the one before it has no mark."""
    marks, mark = set(), 0
    for number, statement in _MARK.findall(text):
        if statement:
            marks.add(mark)
        else:
            mark = int(number, 16)
    return marks - {0}


def _repeated(text: str, names: Mapping[str, str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    verbs: dict[int, list[str]] = {}
    mark = 0
    for number, variable in _VERB_OR_MARK.findall(text):
        if number:
            mark = int(number, 16)
        else:
            verbs.setdefault(mark, []).append(names.get(variable, ""))
    return ((each, tuple(of_line)) for each, of_line in verbs.items() if len(set(of_line)) < len(of_line))


def _paragraphs(text: str) -> Iterator[Paragraph]:
    mark, waiting = 0, list[tuple[str, int]]()
    for name, number, statement in _HEADER_OR_MARK.findall(text):
        if name:
            waiting.append((name.upper(), 0))
        elif number:
            mark = int(number, 16)
            waiting = [(each, header or mark) for each, header in waiting]
        elif statement:
            yield from (Paragraph(each, header, mark) for each, header in waiting if not each.startswith(_ADDED))
            waiting.clear()
    yield from (Paragraph(each, header, 0) for each, header in waiting if not each.startswith(_ADDED))


def _performs(places: dict[str, tuple[int, int]]) -> Iterator[Performs]:
    last, stack = PERFORM_SYMBOLS["frame_ptr"], PERFORM_SYMBOLS["frame_stack"]
    for name, (offset, _size) in places.items():
        program = name.removeprefix(last)
        if program != name and stack + program in places:
            start, size = places[stack + program]
            yield Performs(program, offset, start, size // _PERFORM_ROOM)


def _variables(local: str, shared: str, places: dict[str, tuple[int, int]], using: Sequence[str]) -> Iterator[Variable]:
    storage = [(variable, name, False) for variable, name in _STORAGE.findall(f"{local}\n{shared}")]
    storage += [(variable, name, True) for variable, name in _BASED.findall(local)]
    storage += [(variable, name, True) for variable, name in zip(_PASSED.findall(local), using, strict=False)]
    for variable, name, linkage in storage:
        if variable in places:
            offset, size = places[variable]
            yield Variable(name.upper(), offset, size, linkage)


def _locals(listing: Iterable[str], pointer: int) -> Iterator[Variable]:
    """The 01 and 77 items of LOCAL-STORAGE, consecutive from the address that a pointer holds at run time."""
    fillers = place = 0
    for section, row in _rows(listing):
        if int(row["level"]) not in _TOP or section not in _SHOWN:
            continue
        name = row["name"].upper()
        if name == "FILLER":
            fillers += 1
            name = f"FILLER {fillers}"
        if section == "LOCAL-STORAGE" and not _REDEFINES.search(row["text"]):
            yield Variable(name, pointer, 8, linkage=True, local=place)
            place += -(-int(row["size"]) // _BOUNDARY) * _BOUNDARY


# -- the symbol table of a shared object -----------------------------------------------------------------------------


def _elf_symbols(module: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Name, value and size of each symbol of a 64-bit ELF file; numbers that the compiler appends to names are cut."""
    if module[:5] != b"\x7fELF\x02":
        return
    order = "<" if module[5] == 1 else ">"
    start, entry_size, entries = (
        *struct.unpack_from(f"{order}Q", module, 40),
        *struct.unpack_from(f"{order}HH", module, 58),
    )
    headers = [struct.unpack_from(f"{order}IIQQQQIIQQ", module, start + at * entry_size) for at in range(entries)]
    for _name, kind, _flags, _address, offset, size, link, _info, _align, each in headers:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = headers[link][4]
        for at in range(offset, offset + size, each):
            name, _i, _o, _section, value, length = struct.unpack_from(f"{order}IBBHQQ", module, at)
            end = module.index(b"\0", strings + name)
            yield module[strings + name : end].decode("latin-1").partition(".")[0], (value, length)


# -- the listing -----------------------------------------------------------------------------------------------------


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """The section and the row of each item; a row that does not fit on one line continues on the next."""
    section, programs = "", 0
    for line in lines:
        programs += _PROGRAM.match(line) is not None
        if programs > 1:  # the items of nested programs are not shown
            return
        heading = _SECTION.match(line)
        if heading:
            section = heading["name"]
        elif section and (row := _ROW.match(line)):
            yield section, row


def _items(lines: Iterable[str]) -> Iterator[Item]:
    """The items of WORKING-STORAGE, LOCAL-STORAGE and LINKAGE with their offsets."""
    fillers = 0
    group: list[re.Match[str]] = []
    for section, row in _rows(lines):
        if section not in _SHOWN:
            continue
        if int(row["level"]) in _TOP:
            yield from _group(group, fillers)
            fillers += row["name"] == "FILLER"
            group = [row]
        elif int(row["level"]) < 50:
            group.append(row)
    yield from _group(group, fillers)


def _group(rows: list[re.Match[str]], fillers: int) -> Iterator[Item]:
    """The items of one 01."""
    if not rows or rows[0]["name"].upper() == _CONTROL:
        return
    root = f"FILLER {fillers}" if rows[0]["name"] == "FILLER" else rows[0]["name"].upper()
    stack: list[tuple[int, Item, int]] = []  # level, the group, and the offset after its last item
    starts: dict[str, int] = {}
    for row in rows:
        level, size = int(row["level"]), int(row["size"])
        while stack and stack[-1][0] >= level:
            stack.pop()
        occurs, redefines = _OCCURS.search(row["text"]), _REDEFINES.search(row["text"])
        count = int(occurs[1]) if occurs else 1
        # the size in the listing includes all occurrences for a group, but only one for an elementary item
        if row["kind"] == "GROUP":
            size //= count
        offset = 0
        above: tuple[str, ...] = ()
        tables: tuple[tuple[int, int], ...] = ()
        if stack:
            group, filled = stack[-1][1], stack[-1][2]
            offset = starts.get(redefines[1].upper(), filled) if redefines else filled
            above, tables = (group.name, *group.above), group.dimensions
            stack[-1] = (stack[-1][0], group, max(filled, offset + size * count))
        if occurs:
            tables = (*tables, (count, size))
        item = Item(row["name"].upper(), level, row["kind"], row["text"], size, offset, above, tables, root)
        starts[item.name] = offset
        stack.append((level, item, offset))
        yield item
