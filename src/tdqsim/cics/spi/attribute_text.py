"""The attribute text of CREATE TDQUEUE: ``TYPE(INTRA) TRANSID(PAYP) TRIGGERLEVEL(5)``.

Keywords and keyword values may be abbreviated to any unique prefix and written in either case; only the value of
DESCRIPTION keeps its case. A fault is an :class:`AttributeFault` with the two halfwords that CREATE returns in RESP2.
Codes and messages are rows of ``facts/create_errors.tsv``. Source: CREATE TDQUEUE, CREATE commands RESP2 (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tdqsim.errors import TdqError
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES, table

if TYPE_CHECKING:
    from pydantic import ValidationError

    from tdqsim.definitions import Tdqueue

_ERRORS: Final = {int(row["code"]): row for row in table("create_errors")}
_CONFLICT_CODES: Final = {row["attribute"]: int(row["code"]) for row in table("create_conflicts")}
_KEYWORDS: Final = tuple(name for name in TDQUEUE_ATTRIBUTES if name not in ("TDQUEUE", "GROUP"))
_NUMBER_OF: Final = {name: number for number, name in enumerate(TDQUEUE_ATTRIBUTES, 1)}
_REQUIRED: Final = {"EXTRA": ("DDNAME",)}
"""Keywords that the syntax diagram of CREATE requires for a TYPE, although DEFINE has a default for them."""
_OWN_DEFAULTS: Final = {"EXTRA": {"recordsize": str(LIMITS["create_recordsize"])}}
"""Defaults of the syntax diagram of CREATE that differ from the defaults of DEFINE."""
_WORD: Final = re.compile(r"[^\s,()]+")
_KEEPS_CASE: Final = "DESCRIPTION"


class AttributeFault(TdqError):
    """An error in the attribute text.

    Attributes:
        code: the low halfword, 400 to 413.
        high: the high halfword: the offset in the text, counted from 0, or the number of the keyword.
        message_id: the DFHCA message.
    """

    def __init__(self, code: int, high: int, detail: str) -> None:
        self.code = code
        self.high = high
        self.message_id = _ERRORS[code]["message"]
        self.detail = detail
        super().__init__(f"{self.message_id} {detail}")

    @property
    def resp2(self) -> int:
        """Both halfwords as one fullword."""
        return self.high << 16 | self.code


def _fault(code: int, keyword: str, detail: str) -> AttributeFault:
    return AttributeFault(code, _NUMBER_OF[keyword], f"{keyword} {detail}")


def _keyword(word: str, offset: int) -> str:
    """The full name of an abbreviated keyword; an abbreviation that IBM documents need not be unique."""
    upper = word.upper()
    if upper in _KEYWORDS:
        return upper
    matches = [name for name in _KEYWORDS if name.startswith(upper)]
    published = [name for name in matches if upper.startswith(TDQUEUE_ATTRIBUTES[name].abbreviation or name)]
    if len(matches) == 1 or len(published) == 1:
        return (published or matches)[0]
    if not matches:
        raise AttributeFault(401, offset, f"{word} at offset {offset} is not an attribute of TDQUEUE")
    raise AttributeFault(402, offset, f"{word} at offset {offset} may be {' or '.join(matches)}")


def _close(text: str, opening: int) -> int:
    """The offset of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for offset in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[offset], 0)
        if not depth:
            return offset
    raise AttributeFault(400, opening, f"the parenthesis at offset {opening} is not closed")


def split_attributes(text: str) -> dict[str, str]:
    """Split the text into attributes by full keyword name; values are as written, without leading and trailing blanks.

    Raises:
        AttributeFault: the text is not a sequence of keywords with operands, or a keyword is unknown, ambiguous,
            repeated or without operand.
    """
    attributes: dict[str, str] = {}
    offset = 0
    while offset < len(text):
        if text[offset] in ", \t\r\n":
            offset += 1
            continue
        match = _WORD.match(text, offset)
        if match is None:
            raise AttributeFault(400, offset, f"{text[offset]} at offset {offset} belongs to no keyword")
        keyword = _keyword(match.group(), offset)
        if keyword in attributes:
            raise _fault(406, keyword, "is given twice")
        offset = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        if text[offset : offset + 1] != "(":
            raise _fault(412, keyword, "has no operand")
        closing = _close(text, offset)
        value = text[offset + 1 : closing].strip()
        if not value and keyword != _KEEPS_CASE:
            raise _fault(412, keyword, "has no operand")
        attributes[keyword] = value
        offset = closing + 1
    return attributes


def _whole_value(keyword: str, value: str) -> str:
    """The value in upper case, with an abbreviated keyword value expanded."""
    if keyword == _KEEPS_CASE:
        return value
    upper = value.upper()
    allowed = TDQUEUE_ATTRIBUTES[keyword].values
    if not allowed or upper in allowed:
        return upper
    fits = [candidate for candidate in allowed if candidate.startswith(upper)]
    if len(fits) != 1:
        raise _fault(410, keyword, f"({value}) must be one of {', '.join(allowed)}")
    return fits[0]


def _queue_type(values: Mapping[str, str]) -> str:
    queue_type = values.get("TYPE", "")
    if not queue_type and "REMOTESYSTEM" not in values:
        raise _fault(404, "TYPE", "is missing, and so is REMOTESYSTEM")
    for keyword in values:
        types = TDQUEUE_ATTRIBUTES[keyword].types
        if len(types) == 1 and types[0] not in (queue_type, "REMOTE"):
            raise _fault(407, keyword, f"does not go with TYPE({queue_type or 'omitted'})")
    return queue_type


def definition_from_text(name: str, text: str) -> Tdqueue:
    """The TDQUEUE definition that an attribute text describes.

    Raises:
        AttributeFault: the syntax is wrong (see :func:`split_attributes`), a value is not allowed, a required keyword
            is missing, or two keywords exclude each other.
    """
    from pydantic import ValidationError  # noqa: PLC0415  (pydantic is slow to import)

    from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES  # noqa: PLC0415

    values = {keyword: _whole_value(keyword, value) for keyword, value in split_attributes(text).items()}
    queue_type = _queue_type(values)
    given = {keyword.lower(): value for keyword, value in values.items() if keyword != "TYPE"}
    defaults = _OWN_DEFAULTS.get(queue_type, {})
    try:
        made = TDQUEUE_CLASSES[queue_type](name=name, **(defaults | given))  # type: ignore[arg-type]
    except ValidationError as error:
        raise _model_fault(error, {"TDQUEUE": name, **values}) from None
    for keyword in _REQUIRED.get(queue_type, ()):
        if keyword not in values:
            raise _fault(403, keyword, "is required")
    return made


def _model_fault(error: ValidationError, values: Mapping[str, str]) -> AttributeFault:
    first = error.errors(include_url=False)[0]
    context = first.get("ctx", {})
    if "conflicts" in context:
        attribute, words = context["conflicts"][0]
        keyword = attribute.upper()
        return _fault(_CONFLICT_CODES.get(keyword, 413) if keyword in values else 403, keyword, words)
    keyword = str(first["loc"][0]).upper() if first["loc"] else "TYPE"
    keyword = "TDQUEUE" if keyword == "NAME" else keyword
    if first["type"] == "missing":
        return _fault(403, keyword, "is required")
    return _fault(410, keyword, f"({values.get(keyword, '')}) {first['msg']}")
