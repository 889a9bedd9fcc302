"""What tests have exercised, recorded while they run: ``pytest --tdq-evidence FILE``.

A row of the coverage page counts as done only if a test that *passed* has exercised it: issued the command, used the
option, met the condition, defined the attribute, asked for the value, called the API, caused the message, or has the
mark of the rule. Nothing is read from the sources of tests, and conditions that a fault plan has raised do not count.
Several runs may add to one file, and so do the processes of pytest-xdist.

What can be exercised is named by its kind and its words, such as ``condition WRITEQ TD LENGERR``.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.spi.info import Info
from tdqsim.definitions import Definitions
from tdqsim.errors import UsageError
from tdqsim.facts import table
from tdqsim.ibmi import DECLARATIONS, EscapeMessage, Job

__all__ = ["Evidence", "EvidenceRecorder", "load_evidence"]

_KEPT: Final = 3
_PLANNED: Final = "a planned fault"
_MANY: Final = 5_000


class Evidence:
    """What has been exercised, with the number of tests that did, and the names of the first three.

    Args:
        found: number and names of tests, by what they exercised.
    """

    def __init__(self, found: Mapping[str, tuple[int, Iterable[str]]] | None = None) -> None:
        self._found = {name: (count, sorted(tests)[:_KEPT]) for name, (count, tests) in (found or {}).items()}

    @property
    def empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self._found

    def of(self, *names: str) -> str:
        """The first test that exercised one of these, for a cell of the page; empty if there is none."""
        tests = [test for name in names for test in self._found.get(name, (0, []))[1]]
        return min(tests, default="")

    def add(self, thing: str, test: str) -> None:
        """Record that a test has exercised something."""
        count, tests = self._found.get(thing, (0, []))
        if test not in tests:
            self._found[thing] = count + 1, sorted([*tests, test])[:_KEPT]

    def merge(self, values: Mapping[str, tuple[int, Iterable[str]]]) -> None:
        """Add the record of another process, as made by :meth:`as_dict`."""
        for thing, (more, tests) in values.items():
            count, own = self._found.get(thing, (0, []))
            self._found[thing] = count + int(more), sorted({*own, *map(str, tests)})[:_KEPT]

    def as_dict(self) -> dict[str, tuple[int, list[str]]]:
        """The record as it is written to a file."""
        return {thing: (count, tests) for thing, (count, tests) in sorted(self._found.items())}


def load_evidence(path: Path) -> Evidence:
    """Read evidence from a file.

    Raises:
        UsageError: the file has no evidence.
    """
    evidence = Evidence()
    try:
        evidence.merge(json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path}: this is no evidence of tests; pytest --tdq-evidence {path} writes it: {error}"
        ) from error
    return evidence


class EvidenceRecorder:
    """Records what a test exercises while it runs, and keeps that if the test passes.

    Attributes:
        evidence: of the tests that passed.
    """

    def __init__(self) -> None:
        self.evidence = Evidence()
        self._now: set[str] = set()

    def begin(self) -> None:
        """A test begins."""
        self._now.clear()

    def passed(self, test: str, rules: Iterable[str]) -> None:
        """The test has passed; ``rules`` are the ids of its marks."""
        for thing in (*self._now, *(f"rule {rule}" for rule in rules)):
            self.evidence.add(thing, test)

    def note(self, *words: str) -> None:
        """Record something that the running test has exercised."""
        self._now.add(" ".join(words))

    # -- where it looks -------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Record from now to the end of the process."""
        self._install_commands()
        self._install_definitions()
        self._install_ibmi()

    def _install_commands(self) -> None:
        for name, command in COMMANDS.items():
            for owner in (Task, Region):
                function = getattr(owner, command.method, None)
                if callable(function) and not (owner is Region and command.method == "start"):
                    setattr(owner, command.method, self._command(name, function))
        self._install_values(Info)
        write: Callable[..., None] = Messages.write

        @wraps(write)
        def noted(messages: Messages, message: str, **inserts: object) -> None:
            self.note("message", message)
            write(messages, message, **inserts)

        Messages.write = noted  # type: ignore[method-assign, assignment]

    def _command(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        parameters = list(inspect.signature(function).parameters)[1:]

        @wraps(function)
        def issue(owner: Region | Task, *args: object, **kwargs: object) -> object:
            self.note("command", name)
            for parameter in (*parameters[: len(args)], *kwargs):
                self.note("option", name, parameter.rstrip("_").upper())
            for value in args:
                if name.startswith("INQUIRE") and isinstance(value, str):
                    self.note("asked", value.upper())
            try:
                result = function(owner, *args, **kwargs)
            except Condition as condition:
                if _PLANNED not in condition.detail:
                    self.note("condition", name, condition.resp.name)
                raise
            self._answered(name, owner)
            return result

        return issue

    def _answered(self, name: str, owner: Region | Task) -> None:
        """Record the condition of a command that returned, which NOHANDLE or HANDLE CONDITION allows."""
        eib, met = getattr(owner, "eib", None), getattr(owner, "condition", None)
        if eib is not None and eib.eibresp and met is not None and _PLANNED not in met.detail:
            self.note("condition", name, met.resp.name)

    def _install_values(self, info: Any) -> None:
        """Record the values of an answer that the test reads, by name or all at once."""
        by_name, by_item, whole = info.__getattr__, info.__getitem__, info.as_dict

        def attribute(answer: Info, name: str) -> object:
            value = by_name(answer, name)
            self.note("asked", name.upper())
            return value

        def item(answer: Info, option: str) -> object:
            self.note("asked", option.upper())
            return by_item(answer, option)

        def everything(answer: Info, *, plain: bool = False) -> Mapping[str, object]:
            values: Mapping[str, object] = whole(answer, plain=plain)
            for option in values:
                self.note("asked", option)
            return values

        info.__getattr__, info.__getitem__, info.as_dict = attribute, item, everything

    def _install_definitions(self) -> None:
        begin: Callable[..., None] = Definitions.__init__

        @wraps(begin)
        def watched(definitions: Definitions, *args: object, **kwargs: object) -> None:
            begin(definitions, *args, **kwargs)
            for entry in definitions.entries if len(definitions.entries) <= _MANY else ():
                resource = entry.resource
                group = ("group",) if resource.group else ()
                for attribute in (*group, *resource.attributes(), *resource.without_effect):
                    self.note("attribute", resource.kind, attribute.upper())

        Definitions.__init__ = watched  # type: ignore[method-assign, assignment]

    def _install_ibmi(self) -> None:
        formats = frozenset(row["format"].partition(".")[0] for row in table("ibmi_formats"))
        for name, declaration in DECLARATIONS.items():
            function = getattr(Job, declaration.method, None)
            if callable(function):
                setattr(Job, declaration.method, self._api(name, function, formats))
        for method in ("call", "command"):  # the name of the API, or text that begins with that of the command
            setattr(Job, method, self._api("", getattr(Job, method), formats))

    def _api(self, declared: str, function: Callable[..., object], formats: frozenset[str]) -> Callable[..., object]:
        @wraps(function)
        def call(job: Job, *args: object, **kwargs: object) -> object:
            name = declared or re.split(r"[\s(]", "".join(map(str, args[:1])).strip())[0].upper()
            if name not in DECLARATIONS:
                return function(job, *args, **kwargs)
            self.note("api", name)
            planned = job.system.faults is not None
            try:
                result = function(job, *args, **kwargs)
            except EscapeMessage as error:
                for message in () if planned else (error.message, *error.diagnostics):
                    self.note("message", message.message_id)
                    self.note("api-message", name, message.message_id)
                raise
            for value in (*args, *kwargs.values()):
                if isinstance(value, str) and value.upper() in formats:
                    self.note("format", value.upper())
            return result

        return call
