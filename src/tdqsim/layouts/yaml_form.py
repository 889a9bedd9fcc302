"""Layouts written in YAML, for users without a copybook.

.. code-block:: yaml

    layout: DAILY-TRANSACTION
    code_page: "037"
    fields:
      - {name: TRAN-ID, picture: X(16)}
      - {name: AMOUNT, picture: S9(9)V99}
      - name: LINES
        occurs: {minimum: 0, maximum: 9, depending_on: LINE-COUNT}
        fields:
          - {name: QUANTITY, picture: S9(4), usage: COMP}
      - {filler: 20}

A field has the clauses of a copybook as keys: ``picture``, ``usage``, ``sign`` (such as ``LEADING SEPARATE``),
``occurs``, ``redefines``, ``synchronized``, ``justified``, ``blank_when_zero``, ``value``, ``conditions`` (a mapping of
names to a value or list of values) and ``code_page``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tdqsim.errors import LayoutError
from tdqsim.layouts._items import NAME_RULE, USAGES, ConditionName, DataItem, Occurs, Sign, is_name, occurs_problem
from tdqsim.layouts._offsets import place_items
from tdqsim.layouts._source import SourcePlace, bad, read_bounded
from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.layout import Layout
from tdqsim.layouts.picture import Picture, parse_picture

MAX_YAML = 4 * 1024 * 1024
MAX_DEPTH = 49
MAX_NODES = 500_000
_NESTING = 2 * MAX_DEPTH + 10  # a field is a mapping in a list
_TOO_DEEP = f"the layout is nested more than {_NESTING} levels deep"
RECORD_KEYS = ("layout", "code_page", "floating_point", "native_little_endian", "variable_size_occurs", "fields")
FIELD_KEYS = (
    "name", "filler", "picture", "usage", "sign", "occurs", "redefines", "synchronized", "justified", "blank_when_zero",
    "value", "conditions", "code_page", "fields",
)  # fmt: skip
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_layout_yaml(text: str, *, file: str = "<layout>", code_page: str = "037") -> Layout:
    """Parse one layout from YAML.

    Args:
        text: the YAML.
        file: the file name for messages.
        code_page: the code page of text in records, unless the layout names another.

    Raises:
        LayoutError: the text is not valid YAML, or not a layout; the message names file, line, column, key and what is
            allowed.
    """
    if len(text) > MAX_YAML:
        raise LayoutError(f"{file}:1:1: the layout has {len(text)} characters; at most {MAX_YAML} are read")
    try:
        _check_nesting(text, file)
        root = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else f"{file}:1:1"
        problem = f"no YAML: {getattr(error, 'problem', None) or error}"
        if "nesting depth" in problem:  # libyaml has its own limit, and may reach it before _check_nesting does
            problem = _TOO_DEEP
        raise LayoutError(f"{place}: {problem}") from error
    reader = _Reader(file)
    keys = reader.mapping(root, RECORD_KEYS, "the layout")
    if "fields" not in keys:
        raise LayoutError(f"{file}:1:1: fields: the layout has no list of fields")
    items = [reader.field(node, 1) for node in reader.sequence(keys["fields"], "fields")]
    fields, renames = place_items(items)
    options: dict[str, Any] = {"code_page": code_page}
    options |= {name: reader.scalar(keys[name], name) for name in ("code_page", "floating_point") if name in keys}
    little = (
        reader.flag(keys["native_little_endian"], "native_little_endian") if "native_little_endian" in keys else False
    )
    name = reader.scalar(keys["layout"], "layout") if "layout" in keys else Path(file).stem
    occurs: Any = (
        reader.scalar(keys["variable_size_occurs"], "variable_size_occurs")
        if "variable_size_occurs" in keys
        else "shift_record"
    )
    try:
        return Layout(name, fields, Rules(native_little_endian=little, **options), renames, occurs)
    except LayoutError as error:
        raise LayoutError(f"{file}: {error}") from None


def _check_nesting(text: str, file: str) -> None:
    """Refuse a text nested so deeply that composing it would overflow the C stack and end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _NESTING:
            mark = event.start_mark
            place = SourcePlace(file, mark.line + 1, mark.column + 1) if mark else SourcePlace(file, 1, 1)
            raise bad(place, "", _TOO_DEEP)


def load_layout_yaml(path: str | Path, *, code_page: str = "037") -> Layout:
    """Load a layout from a YAML file; ``code_page`` is that of text in records, unless the layout names another.

    Raises:
        LayoutError: the file cannot be read, or is not a layout.
    """
    try:
        text = read_bounded(Path(path), MAX_YAML).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path}: {error}") from error
    return parse_layout_yaml(text, file=str(path), code_page=code_page)


class _Reader:
    """Reads YAML nodes, which keep their line; counts them, because aliases can expand a small text without limit."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes = 0

    def place(self, node: yaml.Node | None) -> SourcePlace:
        if node is None:
            return SourcePlace(self.file, 1, 1)
        self.nodes += 1
        place = SourcePlace(self.file, node.start_mark.line + 1, node.start_mark.column + 1)
        if self.nodes > MAX_NODES:
            raise bad(place, "", f"the layout has more than {MAX_NODES} values")
        return place

    def mapping(self, node: yaml.Node | None, allowed: tuple[str, ...], what: str) -> dict[str, yaml.Node]:
        place = self.place(node)
        if not isinstance(node, yaml.MappingNode):
            raise bad(place, what, f"expected a mapping with the keys {', '.join(allowed)}")
        entries: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self.scalar(key, what)
            if (allowed and name not in allowed) or name in entries:
                raise bad(
                    self.place(key), name[:40], f"unknown or given twice; allowed in {what}: {', '.join(allowed)}"
                )
            entries[name] = value
        return entries

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        place = self.place(node)
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise bad(place, what, "expected a list with at least one entry")
        return list(node.value)

    def scalar(self, node: yaml.Node, what: str) -> str:
        place = self.place(node)
        if not isinstance(node, yaml.ScalarNode) or not isinstance(node.value, str):
            raise bad(place, what, "expected a single value")
        return node.value

    def number(self, node: yaml.Node, what: str) -> int:
        text = self.scalar(node, what)
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            raise bad(self.place(node), what, f"{text[:40]!r} is not a whole number")
        return int(text)

    def flag(self, node: yaml.Node, what: str) -> bool:
        text = self.scalar(node, what).lower()
        if text not in ("true", "false"):
            raise bad(self.place(node), what, f"{text[:40]!r}: must be true or false")
        return text == "true"

    def field(self, node: yaml.Node, level: int) -> DataItem:
        keys = self.mapping(node, FIELD_KEYS, "a field")
        place = self.place(node)
        if level > MAX_DEPTH:
            raise bad(place, "fields", f"groups are nested more than {MAX_DEPTH} deep")
        if ("name" in keys) == ("filler" in keys):
            raise bad(place, "name", "a field needs a name, or filler")
        item = DataItem(level, "FILLER", place)
        if "name" in keys:
            item.name = self.scalar(keys["name"], "name")
            if not is_name(item.name):
                raise bad(self.place(keys["name"]), f"name {item.name[:40]!r}", NAME_RULE)
        else:
            self._filler(item, keys["filler"])
        self._clauses(item, keys)
        if "fields" in keys:
            item.children = [self.field(child, level + 1) for child in self.sequence(keys["fields"], "fields")]
        return item

    def _filler(self, item: DataItem, node: yaml.Node) -> None:
        """Read ``filler: 20``, which is twenty characters, or ``filler: true``, which needs a picture or fields."""
        text = self.scalar(node, "filler")
        if text.lower() != "true":
            item.picture = self._picture(node, f"X({self.number(node, 'filler')})", "filler")

    def _picture(self, node: yaml.Node, text: str, what: str) -> Picture:
        try:
            return parse_picture(text)
        except LayoutError as error:
            raise bad(self.place(node), what, str(error)) from None

    def _clauses(self, item: DataItem, keys: dict[str, yaml.Node]) -> None:
        if "picture" in keys:
            item.picture = self._picture(keys["picture"], self.scalar(keys["picture"], "picture"), "picture")
        if "usage" in keys:
            word = self.scalar(keys["usage"], "usage").upper()
            if word not in USAGES:
                raise bad(
                    self.place(keys["usage"]),
                    "usage",
                    f"{word[:40]!r} is not known; allowed: {', '.join(sorted(USAGES))}",
                )
            item.usage = USAGES[word]
        if "sign" in keys:
            item.sign = self._sign(keys["sign"])
            item.seen.add("SIGN")
        if "occurs" in keys:
            item.occurs = self._occurs(keys["occurs"])
        item.redefines = self.scalar(keys["redefines"], "redefines") if "redefines" in keys else None
        item.code_page = self.scalar(keys["code_page"], "code_page") if "code_page" in keys else None
        item.sync = "synchronized" in keys and self.flag(keys["synchronized"], "synchronized")
        item.justified = "justified" in keys and self.flag(keys["justified"], "justified")
        item.blank_when_zero = "blank_when_zero" in keys and self.flag(keys["blank_when_zero"], "blank_when_zero")
        item.values = self._values(keys["value"]) if "value" in keys else ()
        item.conditions = self._conditions(keys["conditions"]) if "conditions" in keys else []

    def _sign(self, node: yaml.Node) -> Sign:
        words = self.scalar(node, "sign").upper().split()
        if words not in (["LEADING"], ["TRAILING"], ["LEADING", "SEPARATE"], ["TRAILING", "SEPARATE"]):
            raise bad(self.place(node), "sign", "must be LEADING or TRAILING, with or without SEPARATE")
        return Sign(words[0] == "LEADING", len(words) > 1)

    def _occurs(self, node: yaml.Node) -> Occurs:
        if isinstance(node, yaml.ScalarNode):
            low = high = self.number(node, "occurs")
            depending = None
        else:
            keys = self.mapping(node, ("minimum", "maximum", "depending_on"), "occurs")
            if not {"maximum", "depending_on"} <= set(keys):
                raise bad(self.place(node), "occurs", "needs maximum and depending_on; or give a number")
            low = self.number(keys["minimum"], "minimum") if "minimum" in keys else 0
            high = self.number(keys["maximum"], "maximum")
            depending = self.scalar(keys["depending_on"], "depending_on")
        occurs = Occurs(low, high, depending)
        if problem := occurs_problem(occurs):
            raise bad(self.place(node), "occurs", problem)
        return occurs

    def _values(self, node: yaml.Node) -> tuple[tuple[str, str | None], ...]:
        nodes = self.sequence(node, "value") if isinstance(node, yaml.SequenceNode) else [node]
        values: list[tuple[str, str | None]] = []
        for entry in nodes:
            if isinstance(entry, yaml.SequenceNode):
                pair = [self.scalar(part, "value") for part in self.sequence(entry, "value")]
                if len(pair) != 2:
                    raise bad(self.place(entry), "value", "a range has two values: [from, through]")
                values.append((pair[0], pair[1]))
            else:
                values.append((self.scalar(entry, "value"), None))
        return tuple(values)

    def _conditions(self, node: yaml.Node) -> list[ConditionName]:
        keys = self.mapping(node, (), "conditions")
        return [ConditionName(name, self._values(value)) for name, value in keys.items()]
