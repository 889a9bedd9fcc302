"""Text that came from somewhere, made fit for a page.

Names, records and messages are hostile until shown otherwise. On the page they stand in three places, each with its own
way out: in markup, in the labels of a picture (where the plotting library reads some markup of its own), and in JSON
inside a script element, which ends at the first ``</script`` whatever JSON thinks.
"""

from __future__ import annotations

import json
from html import escape
from typing import Final

__all__ = ["brief", "in_script", "label", "markup", "visible"]

_CUT: Final = " ..."
_IN_SCRIPT: Final = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"})


def visible(text: str) -> str:
    """Text in which every character can be seen: controls, and what turns the direction of text, as their numbers."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else _number(each) for each in text)


def _number(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def brief(text: str, most: int) -> str:
    """Text of at most so many characters, cut with dots."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def markup(text: object) -> str:
    """Text as it stands between tags and in attributes."""
    return escape(visible(str(text)))


def label(text: object, most: int = 80) -> str:
    """Text as it stands in a picture: the library reads ``<b>`` and entities there, and ``%{`` in some places."""
    return escape(visible(brief(str(text), most)), quote=False).replace("%{", "%&#123;")


def in_script(value: object) -> str:
    """A value as JSON that can stand inside a script element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)
