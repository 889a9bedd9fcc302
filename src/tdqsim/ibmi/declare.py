"""The declaration of each API and command: its typed Python function, read once at import.

``@declare("QCLRDTAQ")`` records the function's signature together with the parameters and messages of the manual
(``facts/ibmi_api_parameters.tsv``, ``facts/ibmi_api_messages.tsv``), and makes it a method of a job. The byte form,
help, documentation and the coverage table use these records.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from tdqsim.errors import WrongValue
from tdqsim.facts import table
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.job_core import JobBase, JobCore

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
T = TypeVar("T")


class ApiParameter(NamedTuple):
    """One parameter of an API in its manual.

    Attributes:
        number: its position, from 1.
        name: the manual's name.
        use: ``in``, ``out`` or ``io``.
        kind: ``C`` characters, ``B`` signed binary, ``P`` packed decimal, ``H`` bytes.
        length: the length in bytes; None when the caller passes it.
        group: 0 for a required parameter, otherwise the number of its optional group.
        python: the corresponding argument(s) of the Python method; ``-`` for none.
    """

    number: int
    name: str
    use: str
    kind: str
    length: int | None
    group: int
    python: str


class MessageUse(NamedTuple):
    """A message that an API may send; ``how`` is ``real``, or ``fault`` when only a planned fault sends it here."""

    message_id: str
    how: str


class Declaration(NamedTuple):
    """The declaration of an API or command of a job; for help: ``print(DECLARATIONS['QRCVDTAQ'].help())``.

    Attributes:
        name: the vendor's name.
        method: the name of the job's method.
        signature: the method's signature, without the job.
        summary: the first line of the method's docstring.
        parameters: the parameters of the byte form; none for a command.
        messages: the messages that it may send.
    """

    name: str
    method: str
    signature: inspect.Signature
    summary: str
    parameters: tuple[ApiParameter, ...]
    messages: tuple[MessageUse, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of parameters allowed in the byte form; an optional group requires the groups before it."""
        groups = sorted({parameter.group for parameter in self.parameters})
        return tuple(sum(1 for parameter in self.parameters if parameter.group <= group) for group in groups)

    @property
    def error_code(self) -> int | None:
        """Position of the error code parameter, from 0; None when the API has none."""
        return next((p.number - 1 for p in self.parameters if p.name == "Error code"), None)

    def help(self) -> str:
        """The declaration as text for people."""
        lines = [f"{self.name}: {self.summary}", f"  Python: job.{self.method}{self.signature}"]
        for p in self.parameters:
            group = f" (optional group {p.group})" if p.group else ""
            lines.append(f"  {p.number:2} {p.use:3} {p.kind}{p.length or '*'} {p.name}{group}")
        if self.messages:
            lines.append("  messages: " + " ".join(use.message_id for use in self.messages))
        return "\n".join(lines)


_declarations: dict[str, Declaration] = {}
DECLARATIONS = MappingProxyType(_declarations)
"""Every API and command by name."""


def record(name: str, function: Callable[..., object]) -> None:
    """Record a function as the Python form of an API or command.

    Raises:
        ValueError: the function has no argument that the parameter table names, or the name is declared already.
    """
    signature = inspect.signature(function)
    own = list(signature.parameters.values())[1:]
    parameters, messages = _parameters(name), _messages(name)
    missing = {word for p in parameters if p.python != "-" for word in p.python.split()} - {p.name for p in own}
    if missing or name in _declarations:
        raise WrongValue(f"{name}: declared twice, or its function has no argument {', '.join(sorted(missing))}")
    summary = (inspect.getdoc(function) or "").split("\n")[0]
    shown = signature.replace(parameters=own)
    _declarations[name] = Declaration(name, function.__name__, shown, summary, parameters, messages)


def declare(
    name: str,
) -> Callable[[Callable[Concatenate[JobCore, P], T]], Callable[Concatenate[JobBase, P], T]]:
    """Record a function as an API or command, and make it a method of a job."""

    def make(function: Callable[Concatenate[JobCore, P], T]) -> Callable[Concatenate[JobBase, P], T]:
        record(name, function)
        return job_command(function)

    return make


def declare_hot(name: str) -> Callable[[F], F]:
    """Record an API whose function is itself the job's method, which saves a call in the hottest APIs."""

    def make(method: F) -> F:
        record(name, method)
        return method

    return make


def declared_program(name: str, *parameters: tuple[str, str, str, int | None, int]) -> Declaration:
    """Declare a program without a Python form; a parameter is name, use, kind, length and optional group."""
    made = tuple(ApiParameter(number, *one, "-") for number, one in enumerate(parameters, 1))
    return Declaration(name, "", inspect.Signature(), "", made, ())


def _parameters(name: str) -> tuple[ApiParameter, ...]:
    return tuple(
        ApiParameter(int(row["number"]), row["parameter"], row["use"], row["kind"],
                  None if row["length"] == "*" else int(row["length"]), int(row["group"]), row["python"])
        for row in table("ibmi_api_parameters")
        if row["api"] == name
    )  # fmt: skip


def _messages(name: str) -> tuple[MessageUse, ...]:
    return tuple(MessageUse(row["message"], row["how"]) for row in table("ibmi_api_messages") if row["api"] == name)
