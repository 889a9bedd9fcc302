"""The cases of the probe for IBM i: the reader of ``ibmi_cases.txt``, whose first lines describe its form.

One file is the source of all probe programs: the Java client interprets it on the machine, the CL program and the SQL
script are generated from it, and :mod:`tdqsim.probe.ibmi_run` interprets it on a simulated system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from tdqsim.probe.answers import FORMAT, MAGIC, MARKER, Observation

NAMES: Final = ("LIB", "LIB2", "USER2", "JOB", "LOCATION")
"""The parameters of the cases; the first two always have a value."""

FIELDS: Final[Mapping[str, str]] = {
    "show": "DATA", "number": "NUMBER", "same": "SAME", "journal": "TYPES", "silence": "SECONDS",
    "frame": "RETCODE", "signed": "RETCODE", "code": "RETURNED",
}  # fmt: skip
"""The field of an observation, by the kind of its step. The results of all other kinds are message ids.

A message id may also follow these values, after a slash. RETURNED gives how a message was returned: as an escape
message, in the error code, or not at all.
"""
MESSAGE: Final = "MESSAGE"
"""The field of a message id; further messages of the same step have the fields MESSAGE-2 and so on."""


class IbmiStep(NamedTuple):
    """One step of a case.

    Attributes:
        label: the label; empty for a step that prepares.
        job: 0 for the main job, otherwise the number of another one.
        waits: whether to continue with the next step without waiting for this one.
        words: the words of the step; the first is its kind.
        text: the step without its first word, as written.
    """

    label: str
    job: int
    waits: bool
    words: tuple[str, ...]
    text: str

    @property
    def kind(self) -> str:
        """The kind of the step."""
        return self.words[0]


class IbmiCase(NamedTuple):
    """The steps that observe one rule; ``last`` are the steps that always run at the end."""

    rule: str
    alone: bool
    slow: bool
    steps: tuple[IbmiStep, ...]
    last: tuple[IbmiStep, ...]


def probe_text(name: str) -> str:
    """A text of the probe: its cases, or a program with places for them and for the values of its header."""
    text = files("tdqsim.probe").joinpath(f"ibmi_{name}.txt").read_text("utf-8")
    return text.replace("{HEADER}", f"{MAGIC} {FORMAT} IBMI").replace("{MARKER}", MARKER)


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the parameters replaced by their values."""
    for name in sorted(NAMES, key=len, reverse=True):
        text = text.replace("&" + name, values.get(name, ""))
    return text


def observations(rule: str, step: IbmiStep, value: str) -> Iterator[Observation]:
    """The observations of a step: one, or one for each message id."""
    label, field = step.label.upper(), FIELDS.get(step.kind)
    ids = value
    if field is not None:
        found, _, ids = value.partition("/")
        yield Observation(rule, label, field, found)
    for number, each in enumerate(ids.split(), 1):
        yield Observation(rule, label, MESSAGE if number == 1 else f"{MESSAGE}-{number}", each)


@cache
def cases() -> tuple[IbmiCase, ...]:
    """All cases in order."""
    return _read()[0]


@cache
def not_tried() -> Mapping[str, str]:
    """The rules that no program can observe, each with the reason."""
    return _read()[1]


def _read() -> tuple[tuple[IbmiCase, ...], Mapping[str, str]]:
    found: list[IbmiCase] = []
    reasons: dict[str, str] = {}
    for line in probe_text("cases").splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "case":
            rule, *flags = rest.split()
            found.append(IbmiCase(rule, "alone" in flags, "slow" in flags, (), ()))
        elif word == "untried":
            rule, _, reason = rest.partition(": ")
            reasons[rule] = reason
        elif word == "end":
            found[-1] = found[-1]._replace(last=(*found[-1].last, _step(rest)))
        else:
            found[-1] = found[-1]._replace(steps=(*found[-1].steps, _step(line.strip())))
    return tuple(found), reasons


def _step(text: str) -> IbmiStep:
    label, equals, rest = text.partition(" = ")
    if not equals or " " in label:
        label, rest = "", text
    job, waits = 0, False
    kind, _, tail = rest.partition(" ")
    if kind in ("other", "start"):
        number, _, rest = tail.partition(" ")
        job, waits = int(number), kind == "start"
    words = tuple(rest.split())
    return IbmiStep(label, job, waits, words, rest.partition(" ")[2])
