"""Messages as the host servers send them: in replies to commands and program calls, and beside a refused sign-on."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError
from tdqsim.ibmi import Message
from tdqsim.server.hostservers.frames import block

__all__ = ["message_blocks", "refusal_blocks"]

_EBCDIC = codepage(37)
_FIXED, _MESSAGE, _REFUSAL_COUNT, _REFUSAL = 0x1102, 0x1106, 0x112A, 0x112B
_TYPES = {"completion": "01", "diagnostic": "02", "informational": "04", "escape": "15"}


def message_blocks(messages: Sequence[Message], page: CodePage, *, fixed: bool = False) -> bytes:
    """Their number and a block for each, in the form of variable or of fixed length, which has no second-level text."""
    form, point = (_fixed, _FIXED) if fixed else (_fields, _MESSAGE)
    return len(messages).to_bytes(2, "big") + b"".join(block(point, form(one, page)) for one in messages)


def refusal_blocks(messages: Sequence[Message]) -> bytes:
    """The blocks that tell of messages in a reply of the sign-on server."""
    count = block(_REFUSAL_COUNT, len(messages).to_bytes(2, "big"))
    return count + b"".join(block(_REFUSAL, _fields(one, _EBCDIC)) for one in messages)


def _heads(sent: Message) -> tuple[bytes, bytes, bytes, bytes]:
    """Type, id, message file and its library."""
    kind, message_id = _EBCDIC.encode(_TYPES.get(sent.kind, "02")), _EBCDIC.encode(f"{sent.message_id:<7}")
    return kind, message_id, _EBCDIC.encode(f"{'QCPFMSG':<10}"), _EBCDIC.encode(f"{'QSYS':<10}")


def _fields(sent: Message, page: CodePage) -> bytes:
    ccsid = page.ccsid.to_bytes(4, "big")
    fields = (*_heads(sent), _shown(sent.text, page), sent.message_data, _shown(sent.help, page))
    lengths = b"".join(len(one).to_bytes(4, "big") + one for one in fields)
    return ccsid + ccsid + sent.severity.to_bytes(2, "big") + lengths


def _fixed(sent: Message, page: CodePage) -> bytes:
    kind, message_id, file, library = _heads(sent)
    text = _shown(sent.text, page)
    lengths = len(sent.message_data).to_bytes(2, "big") + len(text).to_bytes(2, "big")
    return message_id + kind + sent.severity.to_bytes(2, "big") + file + library + lengths + sent.message_data + text


def _shown(text: str, page: CodePage) -> bytes:
    """Text in a code page; a character that it has not is a question mark."""
    try:
        return page.encode(text)
    except ConversionError:
        return b"".join(_character(one, page) for one in text)


def _character(one: str, page: CodePage) -> bytes:
    try:
        return page.encode(one)
    except ConversionError:
        return page.encode("?")
