"""Escape untrusted text for a page.

Names, records and messages may be hostile. They appear in three places of a page, and each needs its own escaping: in
markup; in the labels of a chart, which a script sets as text; and in JSON inside a script element, which ends at the
first ``</script`` even inside a JSON string.
"""

from __future__ import annotations

import json
from html import escape
from typing import Final

_CUT: Final = " ..."
_IN_SCRIPT: Final = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"})


def visible(text: str) -> str:
    """Text with only visible characters: control characters and those that change the text direction become numbers."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else _number(each) for each in text)


def _number(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def brief(text: str, most: int) -> str:
    """The text, truncated with dots to at most ``most`` characters."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def markup(text: object) -> str:
    """Text escaped for HTML, between tags and in attributes."""
    return escape(visible(str(text)))


def label(text: object, most: int = 80) -> str:
    """Text for a chart, truncated and with only visible characters; a script sets it as text."""
    return visible(brief(str(text), most))


def in_script(value: object) -> str:
    """A value as JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)
