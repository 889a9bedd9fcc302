"""Turn data description entries into fields: inherit usage, compute lengths and offsets, resolve redefinitions.

Lengths and alignments are those of Enterprise COBOL for z/OS (USAGE, SYNCHRONIZED and OCCURS clauses of its language
reference). SYNCHRONIZED aligns on 2 bytes for binary items up to four digits, on 4 for longer ones, COMP-1, INDEX and
pointers, on 8 for COMP-2. If the item is the first one in its group, the slack bytes precede the group. A table element
that contains aligned items is padded so that all occurrences have the same alignment.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tdqsim.layouts._items import DataItem, Sign, Usage
from tdqsim.layouts._source import bad
from tdqsim.layouts.fields import Field, FieldType
from tdqsim.layouts.picture import MAX_DIGITS, Picture

MAX_RECORD = 1 << 24
BINARY_DIGITS, BYTE_DIGITS = 18, 2
BINARIES = frozenset({Usage.BINARY, Usage.COMP_5, Usage.COMP_9})
FIXED_LENGTH = {
    Usage.COMP_1: 4, Usage.COMP_2: 8, Usage.INDEX: 4, Usage.POINTER_32: 4, Usage.FUNCTION_POINTER: 4,
    Usage.PROCEDURE_POINTER: 8,
}  # fmt: skip
WITHOUT_PICTURE = frozenset(FIXED_LENGTH) | {Usage.POINTER}
POINTERS = frozenset({Usage.POINTER, Usage.POINTER_32, Usage.FUNCTION_POINTER, Usage.PROCEDURE_POINTER})


@dataclass(slots=True)
class _State:
    """The state while the items of one record are placed: counters of fillers, and the names so far.

    ``known`` contains each field under its name, and under the pair of each enclosing group's name and its own.
    ``doubles`` contains the path of a group together with each name that more than one field in it has. ``tables`` are
    the paths of the tables that enclose the current item, ``inside`` those that enclose each placed field; ``variable``
    are the tables of variable length.
    """

    pointer_size: int
    long_binary: bool
    nearest_counter: bool
    known: dict[tuple[str, ...], list[Field]] = field(default_factory=dict)
    doubles: set[tuple[str, ...]] = field(default_factory=set)
    tables: list[tuple[str, ...]] = field(default_factory=list)
    inside: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    variable: list[Field] = field(default_factory=list)
    fillers: int = 0
    group_fillers: int = 0


def place_items(
    items: list[DataItem], *, pointer_size: int = 4, long_binary: bool = False, nearest_counter: bool = False
) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Compute the offsets of the items of one record; return its fields and its RENAMES aliases.

    Args:
        items: the entries of the record.
        pointer_size: bytes of USAGE POINTER.
        long_binary: accept binary items of more digits than a compiler does, in as many bytes as they need.
        nearest_counter: a name in DEPENDING ON that matches several fields refers to the last of them.

    Raises:
        LayoutError: clauses contradict each other; the message names line, column and clause.
    """
    state = _State(pointer_size, long_binary, nearest_counter)
    data = [item for item in items if item.level != 66]
    fields, _ = _siblings(data, 0, (), None, state)
    renames = [_rename(item, state) for root in items for item in _renamed(root)]
    return fields, tuple(renames)


def _renamed(root: DataItem) -> list[DataItem]:
    return [root] if root.level == 66 else [item for child in root.children for item in _renamed(child)]


def _siblings(
    items: list[DataItem], start: int, path: tuple[str, ...], parent: DataItem | None, state: _State
) -> tuple[tuple[Field, ...], int]:
    """Place items one after another; return the fields and the offset after them."""
    fields: list[Field] = []
    taken: dict[str, int] = {}
    sharing: dict[str, Field] = {}
    end = start
    for item in items:
        if item.level == 66:
            continue
        _inherit(item, parent)
        if item.redefines is not None:
            target = _target(item, sharing, taken)
            placed = _field(item, target.offset, path, state, redefines=target.path, taken=taken)
            if placed.slack:
                raise bad(item.place, item.label, f"SYNCHRONIZED does not fit where {target.name} begins")
            end = max(end, placed.offset + placed.size)
        else:
            sharing = {}
            placed = _field(item, end, path, state, redefines=None, taken=taken)
            end = placed.offset + placed.size
        if end > MAX_RECORD:
            raise bad(item.place, item.label, f"the record becomes longer than {MAX_RECORD} bytes")
        sharing[placed.name.upper()] = placed
        fields.append(placed)
    return tuple(fields), end


def _inherit(item: DataItem, parent: DataItem | None) -> None:
    """Apply USAGE, SIGN and SYNCHRONIZED of a group to an item in it."""
    if parent is None:
        return
    if parent.usage is not None:
        if item.usage is not None and item.usage is not parent.usage and not (item.children or item.picture is None):
            raise bad(item.place, item.label, f"USAGE {item.usage} is not that of its group, {parent.usage}")
        item.usage = item.usage or parent.usage
    numeric = item.picture is not None and item.picture.category == "numeric" and item.picture.signed
    if item.sign is None and (item.children or numeric):
        item.sign = parent.sign
    if item.sync is False and parent.sync:
        item.sync = True


def _remember(placed: Field, state: _State) -> None:
    name = placed.name.upper()
    if placed.key.upper() != name:
        state.doubles.add((*placed.path[:-1], name))
    if placed.depending_on is not None:
        state.variable.append(placed)
    for group in [(), *((key.upper(),) for key in dict.fromkeys(placed.path[:-1]))]:
        state.known.setdefault((*group, name), []).append(placed)


def _target(item: DataItem, sharing: dict[str, Field], taken: dict[str, int]) -> Field:
    """Return the field that an item redefines: between the two there may be only other redefinitions of that field.

    Args:
        item: the redefinition.
        sharing: by name, the last field before it that is no redefinition, and the redefinitions of that field.
        taken: the names in the group so far.
    """
    name = str(item.redefines).upper()
    known = sharing.get(name)
    if known is None and name in taken:
        raise bad(
            item.place, "REDEFINES", f"{item.label} does not follow {item.redefines}: other fields stand between them"
        )
    if known is None:
        allowed = "REDEFINES follows the item that it redefines, at the same level"
        raise bad(item.place, "REDEFINES", f"there is no {item.redefines} before {item.name} at its level; {allowed}")
    if known.depending_on is not None:
        raise bad(item.place, "REDEFINES", f"{known.name} is a table of variable length")
    return known


def _field(
    item: DataItem,
    offset: int,
    path: tuple[str, ...],
    state: _State,
    *,
    redefines: tuple[str, ...] | None,
    taken: dict[str, int],
) -> Field:
    kind = _type(item, long_binary=state.long_binary)
    start = offset + (-offset) % _alignment(item, state, first_only=True)
    key = _key(item, kind, state, taken)
    inner = (*path, key)
    children: tuple[Field, ...] = ()
    depending = _depending(item, path, state)
    if kind is FieldType.GROUP:
        if item.occurs:
            state.tables.append(inner)
        children, end = _siblings(item.children, start, inner, item, state)
        if item.occurs:
            state.tables.pop()
        length = end - start
    else:
        length = _length(item, kind, state)
    if item.occurs:
        length += (-length) % _alignment(item, state, first_only=False)
    placed = Field(
        name=item.name, key=key, path=inner, level=item.level, type=kind, offset=start, length=length,
        picture=item.picture,
        usage=item.usage or _natural(item), digits=_digits(item, kind), scale=item.picture.scale if item.picture else 0,
        signed=_signed(item, kind), sign=_sign(item), occurs=item.occurs, depending_on=depending, redefines=redefines,
        justified=item.justified, blank_when_zero=item.blank_when_zero, children=children,
        conditions=tuple(item.conditions),
        values=item.values, code_page=item.code_page, slack=start - offset, place=item.place,
    )  # fmt: skip
    _remember(placed, state)
    state.inside[inner] = tuple(state.tables)
    return placed


def _key(item: DataItem, kind: FieldType, state: _State, taken: dict[str, int]) -> str:
    """Return the key of an item: its name, with a number if another item of the group has the same name.

    COBOL allows such names as long as nothing refers to them.
    """
    if item.is_filler:
        if kind is FieldType.GROUP:
            state.group_fillers += 1
            return f"FILLER-{state.group_fillers}"
        state.fillers += 1
        return f"FILLER-P{state.fillers}"
    name, key = item.name.upper(), item.name
    while key.upper() in taken:
        taken[name] += 1
        key = f"{item.name}-{taken[name]}"
    taken[key.upper()] = 1
    return key


def _natural(item: DataItem) -> Usage:
    """Return the usage of an item without USAGE: NATIONAL for PIC N, DISPLAY-1 for PIC G, otherwise DISPLAY."""
    category = item.picture.category if item.picture else ""
    return {"national": Usage.NATIONAL, "dbcs": Usage.DISPLAY_1}.get(category, Usage.DISPLAY)


def _signed(item: DataItem, kind: FieldType) -> bool:
    if kind in (FieldType.GROUP, FieldType.BYTES):
        return False
    return item.usage in (Usage.COMP_1, Usage.COMP_2, Usage.INDEX) or (item.picture is not None and item.picture.signed)


def _sign(item: DataItem) -> Sign | None:
    """Return the SIGN clause, or the equivalent for the sign of an edited number."""
    mask = item.picture.mask if item.picture is not None else ""
    if mask[:1] in ("+", "-") or mask[-1:] in ("+", "-"):
        return Sign(leading=mask[0] in "+-", separate=True)
    return item.sign


def _digits(item: DataItem, kind: FieldType) -> int:
    if item.picture is None:
        return 9 if item.usage is Usage.INDEX else 0
    return item.picture.digits if kind is not FieldType.BYTES else 0


def _type(item: DataItem, *, long_binary: bool) -> FieldType:
    """Return the type of an item; refuse clauses that exclude each other."""
    if item.children:
        return _group_type(item)
    if item.picture is None:
        if item.usage not in WITHOUT_PICTURE:
            raise bad(item.place, item.label, "an elementary item needs a PICTURE; a group needs items below it")
        return _pictureless(item)
    if item.usage is Usage.COMP_6 and item.picture.category == "alphanumeric":
        # Cobrix's COMP-3U counts bytes under X, where 9 counts digits.
        item.picture = replace(item.picture, category="numeric", digits=2 * item.picture.length)
    kind = _with_picture(item, item.picture, long_binary=long_binary)
    numeric = kind in (FieldType.ZONED, FieldType.NATIONAL_DIGITS)
    if item.sign and not (numeric and item.picture.category == "numeric"):
        # A SIGN inherited from a group is ignored where it cannot apply; on the item itself it is an error.
        if "SIGN" in item.seen:
            raise bad(item.place, "SIGN", f"{item.label}: only signed numeric DISPLAY or NATIONAL items can have it")
        item.sign = None
    if item.sign and item.sign.separate and not item.picture.signed:
        item.picture = replace(item.picture, signed=True)  # SEPARATE implies a sign even without S
    if item.sign and not item.picture.signed:
        raise bad(item.place, "SIGN", f"{item.label}: the PICTURE has no S")
    if item.blank_when_zero and not (numeric or kind is FieldType.EDITED):
        raise bad(item.place, "BLANK WHEN ZERO", f"{item.label}: only numeric DISPLAY and edited items can have it")
    if item.justified and kind not in (FieldType.TEXT, FieldType.NATIONAL, FieldType.DBCS):
        raise bad(item.place, "JUSTIFIED", f"{item.label}: only text items can have it")
    return kind


def _group_type(item: DataItem) -> FieldType:
    for clause, value in (
        ("PICTURE", item.picture),
        ("JUSTIFIED", item.justified),
        ("BLANK WHEN ZERO", item.blank_when_zero),
    ):
        if value:
            raise bad(item.place, clause, f"{item.label} is a group, which cannot have it")
    return FieldType.GROUP


def _pictureless(item: DataItem) -> FieldType:
    if item.usage in POINTERS:
        return FieldType.BYTES
    return FieldType.BINARY if item.usage is Usage.INDEX else FieldType.FLOAT


def _with_picture(item: DataItem, picture: Picture, *, long_binary: bool) -> FieldType:
    usage = item.usage or _natural(item)
    if usage in WITHOUT_PICTURE:
        raise bad(item.place, "PICTURE", f"{item.label}: USAGE {usage} has no PICTURE")
    category = picture.category
    if category == "numeric":
        numeric = {
            Usage.DISPLAY: FieldType.ZONED, Usage.NATIONAL: FieldType.NATIONAL_DIGITS, Usage.BINARY: FieldType.BINARY,
            Usage.COMP_5: FieldType.BINARY, Usage.COMP_9: FieldType.BINARY,
            Usage.PACKED_DECIMAL: FieldType.PACKED, Usage.COMP_6: FieldType.PACKED,
        }.get(usage)  # fmt: skip
        if numeric is None:
            raise bad(item.place, "USAGE", f"{item.label}: {usage} cannot be combined with PICTURE {picture.text}")
        _check_numeric(item, picture, usage, long_binary=long_binary)
        return numeric
    if category in ("alphanumeric", "alphabetic") and usage in (Usage.BINARY, Usage.COMP_5):
        return FieldType.BYTES
    allowed = {
        "national": (Usage.NATIONAL, FieldType.NATIONAL),
        "dbcs": (Usage.DISPLAY_1, FieldType.DBCS),
        "numeric-edited": (Usage.DISPLAY, FieldType.ZONED if picture.mask else FieldType.EDITED),
    }.get(category, (Usage.DISPLAY, FieldType.TEXT))
    if category == "national" and usage is Usage.DISPLAY_1:
        return FieldType.DBCS
    if category in ("numeric-edited", "external-float") and usage is Usage.NATIONAL:
        return FieldType.NATIONAL
    if usage is not allowed[0]:
        raise bad(item.place, "USAGE", f"{item.label}: {usage} cannot be combined with PICTURE {picture.text}")
    return allowed[1]


def _check_numeric(item: DataItem, picture: Picture, usage: Usage, *, long_binary: bool) -> None:
    if usage in BINARIES and picture.digits > BINARY_DIGITS and not long_binary:
        raise bad(
            item.place,
            "PICTURE",
            f"{item.label}: a binary item has at most {BINARY_DIGITS} digits, not {picture.digits}",
        )
    if picture.mask and usage is not Usage.DISPLAY:
        raise bad(item.place, "USAGE", f"{item.label}: {usage} cannot be combined with PICTURE {picture.text}")
    if picture.digits > MAX_DIGITS:
        raise bad(item.place, "PICTURE", f"{item.label}: a numeric item has at most {MAX_DIGITS} digits")
    if usage is Usage.COMP_6 and picture.signed:
        raise bad(item.place, "PICTURE", f"{item.label}: COMP-6 has no sign")


def _length(item: DataItem, kind: FieldType, state: _State) -> int:
    """Return the number of bytes of one occurrence of an elementary item."""
    usage = item.usage or _natural(item)
    if item.picture is None:
        return state.pointer_size if usage is Usage.POINTER else FIXED_LENGTH[usage]
    if kind is FieldType.BINARY:
        return _binary_length(item.picture.digits, usage)
    if kind is FieldType.PACKED:
        return (item.picture.digits + 1) // 2 if usage is Usage.COMP_6 else item.picture.digits // 2 + 1
    width = 2 if kind in (FieldType.NATIONAL, FieldType.DBCS, FieldType.NATIONAL_DIGITS) else 1
    separate = 1 if item.sign and item.sign.separate else 0
    return (item.picture.length + separate) * width


def _binary_length(digits: int, usage: Usage) -> int:
    """Return 2, 4 or 8 bytes; 1 for a short COMP-9; for more than 18 digits as many as a signed number needs."""
    if digits > BINARY_DIGITS:
        return int(10**digits).bit_length() // 8 + 1
    if usage is Usage.COMP_9 and digits <= BYTE_DIGITS:
        return 1
    return 2 if digits <= 4 else 4 if digits <= 9 else 8


def _alignment(item: DataItem, state: _State, *, first_only: bool) -> int:
    """Return the alignment of an item in bytes: that of its first elementary item, or the largest of any in it."""
    if item.children:
        inside = [child for child in item.children if child.level != 66 and child.redefines is None]
        for child in inside:
            _inherit(child, item)
        chosen = inside[:1] if first_only else inside
        return max((_alignment(child, state, first_only=first_only) for child in chosen), default=1)
    if not item.sync:
        return 1
    usage = item.usage or Usage.DISPLAY
    if usage in BINARIES and item.picture and item.picture.category == "numeric":
        return min(_binary_length(item.picture.digits, usage), 4)
    if usage is Usage.POINTER:
        return state.pointer_size
    return {Usage.COMP_1: 4, Usage.COMP_2: 8, Usage.INDEX: 4, Usage.POINTER_32: 4, Usage.FUNCTION_POINTER: 4,
            Usage.PROCEDURE_POINTER: 8}.get(usage, 1)  # fmt: skip


def _depending(item: DataItem, path: tuple[str, ...], state: _State) -> tuple[str, ...] | None:
    """Return the path of the DEPENDING ON field: an integer before the table, not in a table without the item."""
    if item.occurs is None or item.occurs.depending_on is None:
        return None
    written = item.occurs.depending_on
    parts = [part.upper() for part in written.split(".")]
    candidates = state.known.get(tuple(parts[-2:]), [])
    fitting = (known for known in reversed(candidates) if _qualifies(known, parts))
    counter = next(fitting, None)
    if counter is None:
        problem = f"there is no {written} before it in the record, which begins at its level 01"
        raise bad(item.place, "OCCURS DEPENDING ON", f"{item.label}: {problem}")
    group = counter.path[:-1]
    if not state.nearest_counter and path[: len(group)] != group and (other := next(fitting, None)) is not None:
        names = " or ".join(" OF ".join(reversed(known.path)) for known in (other, counter))
        raise bad(item.place, "OCCURS DEPENDING ON", f"{item.label}: {written} is ambiguous: {names}")
    if (*counter.path[:-1], parts[-1]) in state.doubles:
        raise bad(item.place, "OCCURS DEPENDING ON", f"{item.label}: there is more than one {written} in its group")
    around = state.inside[counter.path]
    whole = (counter.is_numeric and counter.scale <= 0) or counter.type is FieldType.TEXT
    if not whole or counter.occurs or around != tuple(state.tables[: len(around)]):
        raise bad(
            item.place,
            "OCCURS DEPENDING ON",
            f"{written} must be a whole number, not in a table that {item.name} is not in",
        )
    return counter.path


def _qualifies(known: Field, parts: list[str]) -> bool:
    """Return whether the qualifiers appear in the field's path in order, not necessarily next to each other."""
    groups = iter(part.upper() for part in known.path[:-1])
    return all(part in groups for part in parts[:-1])


def _rename(item: DataItem, state: _State) -> Field:
    """Return a RENAMES alias: for one elementary item it has its type, otherwise it is text over the whole range."""
    first_name, last_name = item.renames or ("", None)
    first, last = (_single(item, name, state) for name in (first_name, last_name or first_name))
    if last.offset + last.length < first.offset + first.length or last.offset < first.offset:
        raise bad(item.place, "RENAMES", f"{last_name} does not come after {first_name}")
    end = last.offset + last.length
    if table := next((known for known in state.variable if first.offset <= known.offset < end), None):
        raise bad(item.place, "RENAMES", f"{item.label}: {table.name}, a table of variable length, cannot be renamed")
    length = end - first.offset
    if last_name is None and not first.is_group:
        return replace(
            first,
            name=item.name,
            key=item.name,
            path=(item.name,),
            level=66,
            place=item.place,
            conditions=tuple(item.conditions),
        )
    return Field(
        name=item.name, key=item.name, path=(item.name,), level=66, type=FieldType.TEXT, offset=first.offset,
        length=length, conditions=tuple(item.conditions), place=item.place,
    )  # fmt: skip


def _single(item: DataItem, name: str, state: _State) -> Field:
    parts = name.upper().split(".")
    fields = [known for known in state.known.get((parts[-1],), []) if _qualifies(known, parts)]
    if len(fields) != 1:
        raise bad(
            item.place,
            "RENAMES",
            f"{item.label}: {'there is no' if not fields else 'there is more than one'} {name} in the record",
        )
    if fields[0].level in (1, 77) or fields[0].occurs or state.inside[fields[0].path]:
        raise bad(
            item.place, "RENAMES", f"{item.label}: {name} is a record, a table or in one, which cannot be renamed"
        )
    return fields[0]
