"""Messages in the format of the host servers: in replies to commands and program calls, and for refused sign-ons."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.hosting import CodePage, codepage, shown_bytes
from tdqsim.ibmi import MESSAGE_TYPES, Message
from tdqsim.server.hostservers.frames import block

_EBCDIC = codepage(37)
_FIXED, _MESSAGE, _REFUSAL_COUNT, _REFUSAL = 0x1102, 0x1106, 0x112A, 0x112B


def message_blocks(messages: Sequence[Message], page: CodePage, *, fixed: bool = False) -> bytes:
    """The number of messages, and a block for each: variable, or of fixed length without second-level text."""
    form, point = (_fixed, _FIXED) if fixed else (_fields, _MESSAGE)
    return len(messages).to_bytes(2, "big") + b"".join(block(point, form(one, page)) for one in messages)


def refusal_blocks(messages: Sequence[Message]) -> bytes:
    """The blocks of messages in a reply of the sign-on server."""
    count = block(_REFUSAL_COUNT, len(messages).to_bytes(2, "big"))
    return count + b"".join(block(_REFUSAL, _fields(one, _EBCDIC)) for one in messages)


def _heads(sent: Message) -> tuple[bytes, bytes, bytes, bytes]:
    """Type, id, message file and its library."""
    kind, message_id = (
        _EBCDIC.encode(MESSAGE_TYPES.get(sent.kind, MESSAGE_TYPES["diagnostic"])),
        _EBCDIC.encode(f"{sent.message_id:<7}"),
    )
    return kind, message_id, _EBCDIC.encode(f"{'QCPFMSG':<10}"), _EBCDIC.encode(f"{'QSYS':<10}")


def _fields(sent: Message, page: CodePage) -> bytes:
    ccsid = page.ccsid.to_bytes(4, "big")
    fields = (*_heads(sent), shown_bytes(sent.text, page), sent.message_data, shown_bytes(sent.help, page))
    lengths = b"".join(len(one).to_bytes(4, "big") + one for one in fields)
    return ccsid + ccsid + sent.severity.to_bytes(2, "big") + lengths


def _fixed(sent: Message, page: CodePage) -> bytes:
    kind, message_id, file, library = _heads(sent)
    text = shown_bytes(sent.text, page)
    lengths = len(sent.message_data).to_bytes(2, "big") + len(text).to_bytes(2, "big")
    return message_id + kind + sent.severity.to_bytes(2, "big") + file + library + lengths + sent.message_data + text
