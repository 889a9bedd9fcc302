"""Messages as data: what a program sees as an escape, a diagnostic or a completion message.

Inside an API there is one :class:`Message`. A Python caller sees it as a raised :class:`EscapeMessage`; a caller of the
byte form that passes an error code structure finds it there. The texts and the layouts of their data are the rows of
``facts/cpf_messages.tsv``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.ibmi.layouts import pack_binary, shown_char

__all__ = [
    "DTAQ",
    "MESSAGES",
    "MESSAGE_TYPES",
    "EscapeMessage",
    "Message",
    "MessageDescription",
    "filled_text",
    "message",
]

DTAQ = "DTAQ"
"""The object type as message data holds it: without its asterisk."""

MESSAGE_TYPES: Mapping[str, str] = MappingProxyType(
    {"completion": "01", "diagnostic": "02", "informational": "04", "escape": "15"}
)
"""The two digits that stand for the kind of a message."""

_VARIABLE = re.compile(r"&(\d)")


class MessageDescription(NamedTuple):
    """One message of the message file.

    Attributes:
        id: such as ``CPF9801``.
        kind: ``escape``, ``diagnostic`` or ``completion``.
        severity: 0 to 99.
        text: the first-level text, with &1 and so on for its variables.
        data: kind and length in bytes of each variable; length 0 exists.
        confidence: how sure we are.
        source: where it comes from.
        help: the second-level text: cause and recovery, in our words.
    """

    id: str
    kind: str
    severity: int
    text: str
    data: tuple[tuple[str, int], ...]
    confidence: str
    source: str
    help: str = ""

    @property
    def values(self) -> int:
        """How many values it takes: one for each variable that has bytes."""
        return sum(1 for _, length in self.data if length)


_HELP = {row["id"]: row["help"] for row in table("cpf_help")}


def _described(row: Mapping[str, str]) -> MessageDescription:
    fields = () if row["data"] == "-" else tuple((part[0], int(part[1:])) for part in row["data"].split())
    return MessageDescription(row["id"], row["kind"], int(row["severity"]), row["text"], fields, row["confidence"],
                              row["source"], _HELP.get(row["id"], ""))  # fmt: skip


MESSAGES: Mapping[str, MessageDescription] = MappingProxyType(
    {row["id"]: _described(row) for row in table("cpf_messages")}
)
"""The message file, by id."""


class Message(NamedTuple):
    """One message that was sent.

    Attributes:
        message_id: such as ``CPF9801``.
        kind: ``escape``, ``diagnostic`` or ``completion``.
        severity: 0 to 99.
        text: with its variables filled in.
        message_data: the variables' bytes, in the CCSID of the job.
        help: the second-level text, likewise filled in.
    """

    message_id: str
    kind: str
    severity: int
    text: str
    message_data: bytes
    help: str = ""

    def __str__(self) -> str:
        return f"{self.message_id} {self.text}"


def message(message_id: str, *values: str | int, page: CodePage | None = None, kind: str | None = None) -> Message:
    """A message with its text and data made up.

    Args:
        message_id: a row of the message file.
        values: one for each variable that takes bytes, in order.
        page: code page of the data; 037 when not given.
        kind: another kind than the usual one, for an escape that is sent on as a diagnostic.

    Raises:
        KeyError: there is no such message.
        ValueError: another number of values than the message has variables.
    """
    described = MESSAGES[message_id]
    if len(values) != described.values:
        raise ValueError(f"{message_id} has {described.values} variables, {len(values)} values were given")
    page = page if page is not None else codepage(37)
    remaining = iter(values)
    filled = ["" if length == 0 else next(remaining) for _, length in described.data]
    data = b"".join(_variable(what, *field, page) for what, field in zip(filled, described.data, strict=True))
    text, help_text = (
        _VARIABLE.sub(lambda found: str(filled[int(found[1]) - 1]), one) for one in (described.text, described.help)
    )
    return Message(message_id, kind or described.kind, described.severity, text, data, help_text)


def filled_text(described: MessageDescription, data: bytes | None, page: CodePage) -> tuple[str, str]:
    """First- and second-level text of a message with the variables of its data filled in.

    Without data they stay as &1 and so on. Data that is too short has blanks for the rest, as a character field would.
    """
    if data is None:
        return described.text, described.help
    filled, at = [], 0
    for kind, length in described.data:
        part = data[at : at + length].ljust(length, page.encode(" ") if kind == "C" else b"\0")
        filled.append(
            page.printable(part).rstrip(" ") if kind == "C" else str(int.from_bytes(part, "big", signed=True))
        )
        at += length
    text, help_text = (
        _VARIABLE.sub(lambda found: filled[int(found[1]) - 1], one) for one in (described.text, described.help)
    )
    return text, help_text


def _variable(value: str | int, kind: str, length: int, page: CodePage) -> bytes:
    return pack_binary(int(value)) if kind == "B" else shown_char(str(value), length, page)


class EscapeMessage(TdqError):
    """An API or command ended with an escape message.

    Attributes:
        message: the message.
        message_id: its id, such as ``CPF9801``.
        text: its text, variables filled in.
        message_data: the bytes of its variables.
        severity: 0 to 99.
        diagnostics: messages sent before it, with the cause.
    """

    def __init__(self, sent: Message, diagnostics: tuple[Message, ...] = ()) -> None:
        self.message = sent
        self.message_id = sent.message_id
        self.text = sent.text
        self.message_data = sent.message_data
        self.severity = sent.severity
        self.diagnostics = diagnostics
        super().__init__("\n  ".join(str(one) for one in (sent, *diagnostics)))
