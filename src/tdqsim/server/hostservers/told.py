"""Messages as the host servers send them: in replies to commands and program calls, and beside a refused sign-on."""

from __future__ import annotations

from collections.abc import Sequence

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError
from tdqsim.ibmi import Message
from tdqsim.server.hostservers.frames import block

__all__ = ["message_blocks", "refusal_blocks"]

_EBCDIC = codepage(37)
_MESSAGE, _REFUSAL_COUNT, _REFUSAL = 0x1106, 0x112A, 0x112B
_TYPES = {"completion": "01", "diagnostic": "02", "informational": "04", "escape": "15"}


def message_blocks(messages: Sequence[Message], page: CodePage) -> bytes:
    """Their number and a block for each, in the variable-length form."""
    return len(messages).to_bytes(2, "big") + b"".join(block(_MESSAGE, _fields(one, page)) for one in messages)


def refusal_blocks(messages: Sequence[Message]) -> bytes:
    """The blocks that tell of messages in a reply of the sign-on server."""
    count = block(_REFUSAL_COUNT, len(messages).to_bytes(2, "big"))
    return count + b"".join(block(_REFUSAL, _fields(one, _EBCDIC)) for one in messages)


def _fields(sent: Message, page: CodePage) -> bytes:
    ccsid = page.ccsid.to_bytes(4, "big")
    fields = (
        *(_EBCDIC.encode(one) for one in (_TYPES.get(sent.kind, "02"), f"{sent.message_id:<7}", f"{'QCPFMSG':<10}")),
        _EBCDIC.encode(f"{'QSYS':<10}"), _shown(sent.text, page), sent.message_data, _shown(sent.help, page),
    )  # fmt: skip
    return (
        ccsid + ccsid + sent.severity.to_bytes(2, "big") + b"".join(len(one).to_bytes(4, "big") + one for one in fields)
    )


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
