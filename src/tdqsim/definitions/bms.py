"""BMS map definitions: parses DFHMSD, DFHMDI and DFHMDF macros to mapsets, and generates symbolic maps for COBOL.

The source is assembler: a name in column 1, the macro, and operands up to the first blank outside quotes. A mark in
column 72 continues a statement at column 16 of the next line; ``*`` in column 1 begins a comment. A field inherits an
operand from its map, and a map from its mapset. Source: DFHMSD, DFHMDI, DFHMDF, Using complex fields (IBM Docs); the
layout of symbolic maps is that of the macros' output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tdqsim.errors import DefinitionError, Problem, WrongValue
from tdqsim.facts import table

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("bms") if row["value"].isdigit()}
_SUFFIXES: Final = {
    row["name"].removeprefix("suffix_"): row["value"] for row in table("bms") if row["name"].startswith("suffix_")
}
"""The suffix of the byte for each word of DSATTS, in the fixed order of the bytes."""
_EXTATT: Final = ("COLOR", "HILIGHT", "PS", "VALIDN")
_STATEMENT: Final = re.compile(r"^(?P<name>\S*)\s+(?P<macro>DFHMSD|DFHMDI|DFHMDF)(?:\s+(?P<rest>.*))?$", re.DOTALL)


def _width(columns: int) -> int:
    """The columns of a line; for a map without a size those of the screen."""
    return columns or _BOUNDS["columns"]


@dataclass(frozen=True, slots=True)
class BmsField:
    """One field of a map.

    Attributes:
        name: its name; empty for a field that programs cannot access.
        line, column: the position of its attribute byte in the map, from 1.
        length: the bytes of data, 0 to 256.
        attributes: the words of ATTRB.
        initial: INITIAL, the text that is displayed when the program supplies none.
        xinit: XINIT, the same as bytes in the screen's code page.
        occurs: OCCURS, the number of consecutive fields with this name; 0 for a single field.
        group: GRPNAME.
        picin, picout: pictures of the symbolic map; empty for X(length).
        color, hilight: COLOR and HILIGHT of the field, map or mapset; empty for none.
    """

    name: str
    line: int
    column: int
    length: int
    attributes: tuple[str, ...]
    initial: str
    xinit: bytes = b""
    occurs: int = 0
    group: str = ""
    picin: str = ""
    picout: str = ""
    color: str = ""
    hilight: str = ""

    @property
    def numeric(self) -> bool:
        """Whether received data is right-justified with zeros."""
        return "NUM" in self.attributes


@dataclass(frozen=True, slots=True)
class BmsMap:
    """One map.

    Attributes:
        name: 1 to 7 characters.
        lines, columns: its size; 0 for the size of the screen.
        line, column: its position on the screen, from 1.
        control: the words of CTRL.
        attributes: the words of DSATTS, in the order of their bytes.
        fields: its fields in the order of the source.
    """

    name: str
    lines: int
    columns: int
    line: int
    column: int
    control: tuple[str, ...]
    attributes: tuple[str, ...]
    fields: tuple[BmsField, ...]

    @property
    def width(self) -> int:
        """Columns of a line."""
        return _width(self.columns)


@dataclass(frozen=True, slots=True)
class Mapset:
    """A mapset.

    Attributes:
        name: 1 to 7 characters.
        mode: IN, OUT or INOUT.
        tioapfx: whether the symbolic maps begin with 12 bytes for CICS.
        storage: the operand STORAGE or BASE: empty, AUTO or BASE=name.
        maps: its maps.
    """

    name: str
    mode: str
    tioapfx: bool
    storage: str
    maps: tuple[BmsMap, ...]

    def copybook(self) -> str:
        """The symbolic maps: a copybook with the input and output records of the maps.

        In both records each named field consists of three bytes, its attribute bytes and its data. A map without named
        fields and without TIOAPFX gets records of one byte, because a COBOL group must have an item.
        """
        lines: list[str] = []
        for number, each in enumerate(self.maps):
            lines += _symbolic(self, each, self.maps[0].name if number else "")
        return "\n".join(f"       {line}" for line in lines) + "\n"


@dataclass(slots=True)
class _Macro:
    name: str
    macro: str
    operands: dict[str, str]
    line: int


@dataclass(slots=True)
class _Building:
    macro: _Macro
    fields: list[BmsField] = field(default_factory=list)


def parse_bms(text: str, file: str = "<bms>") -> Mapset:
    """Read the source of one mapset.

    Raises:
        DefinitionError: every problem found, with file and line.
    """
    problems: list[Problem] = []
    mapset: _Macro | None = None
    maps: list[_Building] = []
    for macro in _macros(text, file, problems):
        if macro.macro == "DFHMSD":
            if macro.operands.get("TYPE", "").upper() == "FINAL":
                break
            mapset = mapset or macro
        elif mapset is None:
            problems.append(_problem(file, macro, "it stands before the DFHMSD of its mapset"))
        elif macro.macro == "DFHMDI":
            maps.append(_Building(macro))
        elif not maps:
            problems.append(_problem(file, macro, "it stands before the DFHMDI of its map"))
        else:
            _add_field(macro, maps[-1], mapset, file, problems)
    if mapset is None:
        problems.append(Problem(file, 1, "mapset", "DFHMSD", "", "there is no DFHMSD"))
    if problems or mapset is None:
        raise DefinitionError(problems)
    return _mapset(mapset, maps)


def _problem(file: str, macro: _Macro, message: str) -> Problem:
    return Problem(file, macro.line, f"{macro.macro} {macro.name}".strip(), macro.macro, macro.name, message)


# -- assembler --------------------------------------------------------------------------------------------------------


def _macros(text: str, file: str, problems: list[Problem]) -> Iterator[_Macro]:
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        number, statement = at + 1, lines[at]
        at += 1
        if statement.startswith("*") or not statement.strip():
            continue
        joined = statement[:71].rstrip() if len(statement) <= 71 else statement[:71]
        while len(statement) > 71 and statement[71] != " " and at < len(lines):
            statement = lines[at]
            at += 1
            joined = _joined(joined, statement)
        match = _STATEMENT.match(joined)
        if match is None:
            continue
        try:
            operands = _operands(match["rest"] or "")
        except ValueError as error:
            problems.append(Problem(file, number, match["macro"], "operands", joined[:60], str(error)))
            continue
        yield _Macro(match["name"].upper(), match["macro"], operands, number)


def _joined(before: str, line: str) -> str:
    """Join a statement with its continuation line, without the blanks after operands that end before column 72."""
    rest = line[15:71]
    return (before if _in_quotes(before) else before.rstrip()) + (rest if len(line) > 71 else rest.rstrip())


def _in_quotes(text: str) -> bool:
    return text.count("'") % 2 == 1


def _operands(text: str) -> dict[str, str]:
    """Parse operands such as ``A=1,B=(X,Y),C='it''s'``, which end at the first blank outside quotes."""
    operands: dict[str, str] = {}
    for part in _parts(text.lstrip()):
        word, _, value = part.partition("=")
        operands[word.strip().upper()] = value.strip()
    return operands


def _parts(text: str) -> list[str]:
    """The operands, split at commas outside parentheses and quotes."""
    parts, depth, quoted, begin = [], 0, False, 0
    for at, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
        elif character == " " and depth == 0:
            return [part for part in [*parts, text[begin:at]] if part]
    if quoted:
        raise WrongValue("a quote is not closed")
    return [part for part in [*parts, text[begin:]] if part.strip()]


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip().upper() for word in value.strip("()").split(",") if word.strip())


def _initial(value: str) -> str:
    if value and not (len(value) > 1 and value[0] == value[-1] == "'"):
        raise WrongValue(f"INITIAL={value}: it must be text in apostrophes")
    return value[1:-1].replace("''", "'").replace("&&", "&")


def _xinit(value: str) -> bytes:
    try:
        return bytes.fromhex(value.removeprefix("'").removesuffix("'"))
    except ValueError:
        raise WrongValue(f"XINIT={value}: allowed are pairs of hexadecimal digits") from None


# -- maps and fields --------------------------------------------------------------------------------------------------


def _inherited(word: str, *macros: _Macro) -> str:
    return next((macro.operands[word] for macro in macros if word in macro.operands), "")


def _add_field(macro: _Macro, building: _Building, mapset: _Macro, file: str, problems: list[Problem]) -> None:
    try:
        building.fields.append(_field(macro, building, mapset))
    except ValueError as error:
        problems.append(_problem(file, macro, str(error)))


def _field(macro: _Macro, building: _Building, mapset: _Macro) -> BmsField:
    operands = macro.operands
    line, column = _position(operands.get("POS", ""), _width(_size(building.macro)[1]), building.fields)
    picture = operands.get("PICIN") or operands.get("PICOUT") or ""
    initial, xinit = _initial(operands.get("INITIAL", "")), _xinit(operands.get("XINIT", ""))
    if initial and xinit:
        raise WrongValue("INITIAL and XINIT exclude each other")
    if "LENGTH" in operands:
        length = _number("LENGTH", operands["LENGTH"])
    else:
        length = _picture_size(picture) or len(initial or xinit)
    if not 0 <= length <= _BOUNDS["longest"]:
        raise WrongValue(f"LENGTH={length}: allowed are 1 to {_BOUNDS['longest']}")
    if "OCCURS" in operands and "GRPNAME" in operands:
        raise WrongValue("OCCURS and GRPNAME exclude each other")
    words = _words(operands["ATTRB"]) if "ATTRB" in operands else ("ASKIP", "NORM")
    return BmsField(
        macro.name,
        line,
        column,
        length,
        words,
        initial,
        xinit,
        _number("OCCURS", operands["OCCURS"]) if "OCCURS" in operands else 0,
        operands.get("GRPNAME", "").upper(),
        operands.get("PICIN", "").strip("'"),
        operands.get("PICOUT", "").strip("'"),
        _inherited("COLOR", macro, building.macro, mapset),
        _inherited("HILIGHT", macro, building.macro, mapset),
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _number(word: str, value: str) -> int:
    if not _is_number(value) or len(value) > 5:
        raise WrongValue(f"{word}={value}: it must be a number")
    return int(value)


def _position(value: str, columns: int, before: Sequence[BmsField]) -> tuple[int, int]:
    """Line and column of the attribute byte. A single number counts from 0; by default it follows the last field."""
    if not value:
        if not before:
            return 1, 1
        at = (before[-1].line - 1) * columns + before[-1].column + before[-1].length
        return at // columns + 1, at % columns + 1
    words = _words(value)
    if len(words) == 2 and all(map(_is_number, words)):
        return int(words[0]), int(words[1])
    if len(words) == 1 and _is_number(words[0]):
        return int(words[0]) // columns + 1, int(words[0]) % columns + 1
    raise WrongValue(f"POS={value}: it must be a number or (line,column)")


def _picture_size(picture: str) -> int:
    text = picture.strip("'").upper()
    size = 0
    for symbol, count in re.findall(r"([A-Z0-9$,.*/+-])(?:\(([0-9]{1,3})\))?", text):
        size += 0 if symbol in "SV" else int(count or 1)
    return size


def _size(macro: _Macro) -> tuple[int, int]:
    words = _words(macro.operands.get("SIZE", ""))
    return (int(words[0]), int(words[1])) if len(words) == 2 and all(map(_is_number, words)) else (0, 0)


def _mapset(macro: _Macro, maps: Sequence[_Building]) -> Mapset:
    storage = macro.operands.get("STORAGE", "").upper()
    if "BASE" in macro.operands:
        storage = f"BASE={macro.operands['BASE'].upper()}"
    return Mapset(
        macro.name,
        macro.operands.get("MODE", "OUT").upper(),
        macro.operands.get("TIOAPFX", "NO").upper() == "YES",
        storage,
        tuple(_map(building, macro) for building in maps),
    )


def _map(building: _Building, mapset: _Macro) -> BmsMap:
    macro = building.macro
    lines, columns = _size(macro)
    at = [int(value) if _is_number(value := macro.operands.get(word, "1")) else 1 for word in ("LINE", "COLUMN")]
    control = _words(_inherited("CTRL", macro, mapset))
    return BmsMap(macro.name, lines, columns, at[0], at[1], control, _dsatts(macro, mapset), tuple(building.fields))


def _dsatts(macro: _Macro, mapset: _Macro) -> tuple[str, ...]:
    for each in (macro, mapset):
        if "DSATTS" in each.operands:
            words = _words(each.operands["DSATTS"])
            return tuple(word for word in _SUFFIXES if word in words)
        if "EXTATT" in each.operands:
            return (
                tuple(word for word in _SUFFIXES if word in _EXTATT) if each.operands["EXTATT"].upper() == "YES" else ()
            )
    return ()


# -- symbolic maps ----------------------------------------------------------------------------------------------------


def _symbolic(mapset: Mapset, each: BmsMap, first: str) -> list[str]:
    prefix = [" 02 FILLER PIC X(12)."] if mapset.tioapfx else []
    if not prefix and not any(one.name for one in each.fields):
        prefix = [" 02 FILLER PIC X."]
    onto = ""
    if mapset.storage.startswith("BASE="):
        onto = f" REDEFINES {mapset.storage[5:]}"
    elif first and mapset.storage != "AUTO":
        onto = f" REDEFINES {first}{'O' if mapset.mode == 'OUT' else 'I'}"
    if mapset.mode == "OUT":
        return [f"01 {each.name}O{onto}.", *prefix, *_output(each, alone=True)]
    lines = [f"01 {each.name}I{onto}.", *prefix, *_input(each)]
    if mapset.mode == "INOUT":
        lines += [f"01 {each.name}O REDEFINES {each.name}I.", *prefix, *_output(each, alone=False)]
    return lines


def _picture(picture: str, length: int) -> str:
    return f"PIC {picture}." if picture else f"PIC X({length})."


def _input(each: BmsMap) -> list[str]:
    lines: list[str] = []
    extra = len(each.attributes)
    group = ""
    for one in each.fields:
        if not one.name:
            continue
        level, head = _group(one, group, lines)
        group = one.group
        if one.occurs:
            lines.append(f" 02 {one.name}D OCCURS {one.occurs} TIMES.")
            level = "03"
        if not head:
            lines.append(f"  {level} {one.name}I {_picture(one.picin, one.length)}")
            continue
        name = one.name
        lines += [f"  {level} {name}L COMP PIC S9(4).", f"  {level} {name}F PIC X."]
        if not one.occurs:
            lines += [f"  {level} FILLER REDEFINES {name}F.", f"   04 {name}A PIC X."]
        if extra:
            lines.append(f"  {level} FILLER PIC X({extra}).")
        lines.append(f"  {level} {name}I {_picture(one.picin, one.length)}")
    return lines


def _group(one: BmsField, group: str, lines: list[str]) -> tuple[str, bool]:
    """The level of a field's items, and whether it has its own attribute byte, as only the first of a group does."""
    if not one.group:
        return "02", True
    if one.group != group:
        lines.append(f" 02 {one.group}.")
        return "03", True
    return "03", False


def _output(each: BmsMap, *, alone: bool) -> list[str]:
    lines: list[str] = []
    tables = 0
    group = ""
    for one in each.fields:
        if not one.name:
            continue
        level, head = _group(one, group, lines) if alone else ("02", one.group != group or not one.group)
        group = one.group
        own = alone
        if one.occurs:
            tables += 1
            lines.append(f" 02 DFHMS{tables} OCCURS {one.occurs} TIMES.")
            level, own = "03", True
        if head:
            lines += _attribute_items(one.name, each.attributes, level, own=own)
        lines.append(f"  {level} {one.name}O {_picture(one.picout, one.length)}")
    return lines


def _attribute_items(name: str, attributes: Sequence[str], level: str, *, own: bool) -> list[str]:
    first = [f"  {level} FILLER PIC X(2).", f"  {level} {name}A PIC X."] if own else [f"  {level} FILLER PIC X(3)."]
    return [*first, *(f"  {level} {name}{suffix_of(word)} PIC X." for word in attributes)]


def suffix_of(word: str) -> str:
    """The suffix of the byte for a word of DSATTS."""
    return _SUFFIXES[word]
