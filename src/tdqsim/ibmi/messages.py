"""Messages: the escape, diagnostic and completion messages that a program sees.

An API creates a :class:`Message`. A Python caller gets it as a raised :class:`EscapeMessage`, a caller of the byte form
in the error code structure, if it passes one. The texts and the layouts of the message data are the rows of
``facts/cpf_messages.tsv``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tdqsim import facts
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import TdqError, WrongValue
from tdqsim.facts import table
from tdqsim.ibmi.layouts import pack_binary, shown_char

if TYPE_CHECKING:
    from tdqsim.facts import Rule

DTAQ = "DTAQ"
"""The object type in message data: without the asterisk."""

MESSAGE_TYPES: Mapping[str, str] = MappingProxyType(
    {"completion": "01", "diagnostic": "02", "informational": "04", "escape": "15"}
)
"""The two digits for each kind of message."""

_VARIABLE = re.compile(r"&(\d)")


class MessageDescription(NamedTuple):
    """One message of the message file.

    Attributes:
        id: the message id, such as ``CPF9801``.
        kind: ``escape``, ``diagnostic`` or ``completion``.
        severity: 0 to 99.
        text: the first-level text, with &1 and so on for its variables.
        data: the kind and the length in bytes of each variable; the length may be 0.
        confidence: the degree of confidence.
        source: the source of the text.
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
        """The number of values it needs: one for each variable whose length is not 0."""
        return _number_of_values(self.data)


@cache
def _number_of_values(data: tuple[tuple[str, int], ...]) -> int:
    return len([length for _, length in data if length])


@cache
def _template(text: str) -> Callable[..., str]:
    """A text with &1 and so on, as the function that puts the values there; they follow an argument without meaning."""
    return _VARIABLE.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}")).format


def _texts(described: MessageDescription, values: Sequence[str | int]) -> tuple[str, str]:
    """First- and second-level text with a value for each variable."""
    return _template(described.text)("", *values), _template(described.help)("", *values)


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
        message_id: the message id, such as ``CPF9801``.
        kind: ``escape``, ``diagnostic`` or ``completion``.
        severity: 0 to 99.
        text: the first-level text with its variables filled in.
        message_data: the bytes of the variables, in the CCSID of the job.
        help: the second-level text with its variables filled in.
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
    """Create a message with its text and data.

    Args:
        message_id: the id of a message in the message file.
        values: one value for each variable whose length is not 0, in order.
        page: the code page of the data; by default 037.
        kind: the kind, if it is not the usual one, as for an escape message that is sent on as a diagnostic.

    Raises:
        KeyError: there is no such message.
        ValueError: the number of values is not the number of variables.
    """
    described = MESSAGES[message_id]
    if len(values) != described.values:
        raise WrongValue(f"{message_id} has {described.values} variables, {len(values)} values were given")
    page = page if page is not None else codepage(37)
    remaining, filled, data = iter(values), [], b""
    for what, length in described.data:
        filled.append(next(remaining) if length else "")
        if length:
            data += pack_binary(int(filled[-1])) if what == "B" else shown_char(str(filled[-1]), length, page)
    text, help_text = _texts(described, filled)
    return Message(message_id, kind or described.kind, described.severity, text, data, help_text)


def filled_text(described: MessageDescription, data: bytes | None, page: CodePage) -> tuple[str, str]:
    """First- and second-level text of a message with the variables from its data filled in.

    Without data the variables stay as &1 and so on. Data that is too short is padded, character fields with blanks.
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
    return _texts(described, filled)


class EscapeMessage(TdqError):
    """An API or command ended with an escape message.

    Attributes:
        message: the message.
        message_id: its id, such as ``CPF9801``.
        text: its text with the variables filled in.
        message_data: the bytes of its variables.
        severity: 0 to 99.
        diagnostics: the messages that were sent before it and give the cause.
        rule: the id of the rule that it rests on, where the message was sent for one rule only; else empty.
    """

    def __init__(self, sent: Message, diagnostics: tuple[Message, ...] = (), rule: str = "") -> None:
        self.message = sent
        self.message_id = sent.message_id
        self.text = sent.text
        self.message_data = sent.message_data
        self.severity = sent.severity
        self.diagnostics = diagnostics
        self.rule = rule
        super().__init__("\n  ".join(str(one) for one in (sent, *diagnostics)))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of behaviour that it rests on, or may rest on; see :func:`tdqsim.facts.rules_of`."""
        return (facts.rules()[self.rule],) if self.rule else facts.rules_of(self.message_id)

    @property
    def doubt(self) -> str:
        """A remark on the rules that it rests on, if no vendor source shows them; else empty."""
        return facts.doubt(facts.unconfirmed(self.rules))
