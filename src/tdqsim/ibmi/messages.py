"""Messages: the escape, diagnostic and completion messages that a program sees.

An API creates a :class:`Message`. A Python caller gets it as a raised :class:`EscapeMessage`, a caller of the byte form
in the error code structure, if it passes one. The texts and the layouts of the message data are the rows of
``facts/cpf_messages.tsv``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count, groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tdqsim import facts
from tdqsim.core.codepage import CodePage, codepage, shown_bytes
from tdqsim.errors import TdqError, WrongValue
from tdqsim.facts import table
from tdqsim.ibmi.layouts import pack_binary

if TYPE_CHECKING:
    from tdqsim.facts import Rule

DTAQ = "DTAQ"
"""The object type in message data: without the asterisk."""

MESSAGE_TYPES: Mapping[str, str] = MappingProxyType(
    {"completion": "01", "diagnostic": "02", "informational": "04", "escape": "15"}
)
"""The two digits for each kind of message."""

_VARIABLE = re.compile(r"&(\d)")
_Part: TypeAlias = Callable[[Sequence[str | int], CodePage], bytes]
"""Makes a part of the data of a message from all values, in a code page."""


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
        return _form(self.id).values


class _Form(NamedTuple):
    """How a message is made of its values; each function gets all of them.

    Attributes:
        values: how many values there are.
        text: makes the first-level text.
        help: makes the second-level text.
        data: make the data; adjacent variables of characters are one part.
    """

    values: int
    text: Callable[..., str]
    help: Callable[..., str]
    data: tuple[_Part, ...]


@cache
def _form(message_id: str) -> _Form:
    described = MESSAGES[message_id]
    numbers = count()
    fields = [f"{{{next(numbers)}}}" if length else "" for _, length in described.data]
    variables = enumerate((kind, length) for kind, length in described.data if length)
    data = tuple(_data_of(kind, list(run)) for kind, run in groupby(variables, lambda one: one[1][0]))
    text, help_text = _template(described.text, fields), _template(described.help, fields)
    return _Form(next(numbers), text, help_text, data)


def _template(text: str, fields: Sequence[str]) -> Callable[..., str]:
    """A text with &1 and so on, as the function that puts the values there."""
    return _VARIABLE.sub(lambda one: fields[int(one[1]) - 1], text.replace("{", "{{").replace("}", "}}")).format


def _data_of(kind: str, run: Sequence[tuple[int, tuple[str, int]]]) -> _Part:
    """Makes the data of adjacent variables of a kind; each has the place of its value, and its length."""
    if kind == "B":
        return lambda values, _page: b"".join(pack_binary(int(values[at])) for at, _ in run)
    form = "".join(f"{{{at}!s:<{length}.{length}}}" for at, (_, length) in run).format
    return lambda values, page: shown_bytes(form(*values), page)


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
    described, form = MESSAGES[message_id], _form(message_id)
    if len(values) != form.values:
        raise WrongValue(f"{message_id} has {form.values} variables, {len(values)} values were given")
    page = page if page is not None else codepage(37)
    data = b"".join([part(values, page) for part in form.data])
    text, help_text = form.text(*values), form.help(*values)
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
        if length:
            text = page.printable(part).rstrip(" ") if kind == "C" else str(int.from_bytes(part, "big", signed=True))
            filled.append(text)
        at += length
    form = _form(described.id)
    return form.text(*filled), form.help(*filled)


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
