"""The console's controls: native controls of the browser with labels, and buttons.

A browser may send anything. A :class:`Control` therefore stores only text of limited length, a number within its
limits, or one of its options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Final, Literal, TypeAlias

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

_LONGEST: Final = 100_000
_LONGEST_NAME: Final = 200
Kind = Literal["text", "number", "area", "select", "check", "password"]
Value: TypeAlias = str | float | bool | None
Handler: TypeAlias = Callable[[], object]
"""Called for an event; its result is awaited if possible."""


class Control(Element, component="static/control.js"):
    """A labelled control.

    Args:
        label: its label.
        kind: text, number, area (several lines), select or check.
        value: the initial value.
        options: the values of a select with their labels.
        hint: shown while a text is empty.
        mono: whether it contains data, shown in a monospaced font.
        grow: whether it takes the remaining space.
        lines: the number of lines of an area.
        least: the minimum of a number.
        most: the maximum of a number.
        on_change: called when the value has changed.
        on_enter: called when Enter was pressed in it.

    """

    def __init__(
        self,
        label: str,
        kind: Kind = "text",
        value: Value = "",
        *,
        options: Mapping[str, str] | None = None,
        hint: str = "",
        mono: bool = False,
        grow: bool = False,
        lines: int = 3,
        least: float | None = None,
        most: float | None = None,
        on_change: Handler | None = None,
        on_enter: Handler | None = None,
    ) -> None:
        super().__init__()
        self._value: Value = value
        self._kind = kind
        self._options = dict(options or {})
        self._bounds = (least, most)
        self._changed = on_change
        self.props.update(
            {
                "label": label,
                "kind": kind,
                "value": value,
                "options": _shown(self._options),
                "hint": hint,
                "mono": mono,
                "grow": grow,
                "lines": lines,
                "least": least,
                "most": most,
                "step": "any" if kind == "number" else None,
            }
        )
        self.on("changed", lambda event: self._take(event.args))
        if on_enter is not None:
            self.on("enter", on_enter)

    @property
    def text(self) -> str:
        """The text, or the selected option."""
        return self._value if isinstance(self._value, str) else ""

    @property
    def number(self) -> float | None:
        """The number; None if it is missing or out of its limits."""
        return self._value if isinstance(self._value, int | float) else None

    @property
    def checked(self) -> bool:
        """Whether it is checked."""
        return self._value is True

    def put(self, value: Value) -> None:
        """Set the value."""
        self._value = value
        self.props["value"] = value
        self.run_method("put", value)

    def offer(self, options: Mapping[str, str]) -> None:
        """Replace the options of a select; a value that is no longer among them becomes the first one."""
        if options != self._options:
            self._options = dict(options)
            self.props["options"] = _shown(self._options)
            self.update()
            self.put(self._clean(self._value))

    def _take(self, sent: object) -> object:
        self._value = self._clean(sent)
        return self._changed() if self._changed is not None else None

    def _clean(self, sent: object) -> Value:
        if self._kind == "check":
            return sent is True
        if self._kind == "number":
            return _number(sent, *self._bounds)
        if self._kind == "select":
            return sent if isinstance(sent, str) and sent in self._options else next(iter(self._options), "")
        return str(sent)[:_LONGEST] if sent is not None else ""


def _shown(options: Mapping[str, str]) -> list[dict[str, str]]:
    """The options of a select as the browser gets them."""
    return [{"value": key, "label": name} for key, name in options.items()]


def _number(sent: object, least: float | None, most: float | None) -> float | None:
    if not isinstance(sent, str | int | float):
        return None
    try:
        number = float(sent)
    except (OverflowError, ValueError):
        return None
    if isnan(number) or (least is not None and number < least) or (most is not None and number > most):
        return None
    return number


class TextFile(Element, component="static/text_file.js"):
    """A control that reads a text file of the user.

    Args:
        label: its label.
        most: the maximum size in bytes.
        on_read: called with the name and the text of the file; its result is awaited if possible.
        on_large: called with the name of a file that is larger.
        accept: the suffixes of the offered files, such as ``.json,.txt``.
    """

    def __init__(
        self,
        label: str,
        most: int,
        on_read: Callable[[str, str], object],
        on_large: Callable[[str], object],
        *,
        accept: str = "",
    ) -> None:
        super().__init__()
        self.props.update({"label": label, "accept": accept, "most": most})
        self._most, self._on_read, self._on_large = most, on_read, on_large
        self._received = ""
        self.on("piece", lambda event: self._take(event.args))

    def _take(self, piece: dict[str, object]) -> object:
        """Add a piece; a browser may send anything, so a piece at a wrong place drops the file."""
        name, text = str(piece.get("name"))[:_LONGEST_NAME], piece.get("text")
        before = self._received if piece.get("at") else ""
        self._received = ""
        if not isinstance(text, str) or len(before) + len(text) > self._most:
            return self._on_large(name)
        if piece.get("at") != len(before):
            return None
        if piece.get("last") is not True:
            self._received = before + text
            return None
        return self._on_read(name, before + text)


class Block(TextElement):
    """An HTML element.

    Args:
        tag: its tag.
        classes: its classes.
        words: its text, never markup.
        attributes: its attributes; ``_`` in a name becomes ``-``.
    """

    def __init__(self, tag: str, classes: str = "", words: str = "", **attributes: str) -> None:
        super().__init__(tag=tag, text=words)
        if classes:
            self.classes(classes)
        for name, value in attributes.items():
            self.props[name.rstrip("_").replace("_", "-")] = value

    def say(self, words: str, classes: str | None = None) -> None:
        """Change the text, and the classes if given."""
        if classes is not None:
            self.classes(replace=classes)
        self.set_text(words)


def card(label: str, heading: str | None = None) -> Block:
    """A section of a page with a heading.

    Args:
        label: its name for screen readers.
        heading: the heading; default: the label, empty for none.
    """
    section = Block("section", "tdq-card", aria_label=label)
    words = label if heading is None else heading
    if words:
        with section:
            Block("h2", words=words)
    return section


class Button(TextElement):
    """A button.

    Args:
        label: its label.
        act: called when it is pressed.
        kind: ``plain`` or ``danger``; empty for a primary button.
        title: a description, if the label is not sufficient.
    """

    def __init__(self, label: str, act: Handler, *, kind: str = "", title: str = "") -> None:
        super().__init__(tag="button", text=label)
        self.classes(f"tdq-button {kind}".strip())
        self.props["type"] = "button"
        if title:
            self.props["aria-label"] = title
        self.on("click", act)

    def enable(self, on: bool) -> None:
        """Enable or disable the button."""
        if bool(self.props.get("disabled")) is on:
            self.props["disabled"] = not on
            self.update()
