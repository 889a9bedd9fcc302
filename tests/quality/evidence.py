"""What tests have exercised, recorded while they run (``pytest --tdq-evidence FILE``), and what ablation takes away.

What tests can exercise is a *claim*, named by its kind and its words: ``command UNLOCK``, ``option READ TOKEN``,
``condition WRITEQ TD LENGERR``, ``receiver READ LENGTH``, ``attribute FILE RECORDFORMAT``, ``api QSNDDTAQ``,
``api-message QSNDDTAQ CPF9801``, ``message DFHTD0183``. A test that passed and issued the command, gave the option
another value than its default, met the condition, received the value, installed the attribute and so on is evidence
for the claim. Nothing is read from the sources of tests, and conditions that a fault plan has raised do not count.
Several runs may add to one file, and so do the processes of pytest-xdist.

That a test has exercised a claim does not mean that it would notice its absence. So the places that record a claim can
also take it away, one claim at a time (:mod:`~tests.quality.ablation`): the command does nothing, the option is
dropped (an option that must be there is given another value), the attribute is reset to its default, the condition or
message is another one, the receiver gets nothing. All forms of a command (Python, EXEC CICS text, COBOL) come through
these places.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.kernel.command import COMMANDS, Command
from tdqsim.cics.kernel.eib import completion, failure
from tdqsim.cics.queues.messages import Messages
from tdqsim.cics.spi.install import InstallPlan
from tdqsim.definitions import Definitions, Resource
from tdqsim.errors import UsageError
from tdqsim.facts import Resp, table
from tdqsim.facts.info import Info
from tdqsim.ibmi import DECLARATIONS, EscapeMessage, Job
from tests.quality._without import another, received_words, without_attribute, without_receiver

__tracebackhide__ = True  # the frames between a test and the package are not those of the user

_KEPT: Final = 30
_PARAMETERS: Final = 3
_PLANNED: Final = "a planned fault"
_COMMON: Final = ("", "nohandle")
"""The parameters that are no claims: that of receivers, and NOHANDLE, which all commands have."""
_MANY: Final = 5_000
_OTHER_MESSAGE: Final = "CPF0000"
_NO_CANDIDATE: Final = 10_000_000
"""Added to the size of a test that holds no claim."""
_SHORT: Final = 3
"""The length of words that are found in many names of tests."""
_SLOW: Final = 1_000_000
"""Added to the size of a test that takes more than a second, so that quicker ones come first."""


class Evidence:
    """Which tests have exercised a claim: for each, the thirty that exercise the fewest other claims.

    Args:
        found: size (the number of claims that the test exercises) and node id of tests, by claim.
    """

    def __init__(self, found: Mapping[str, Iterable[tuple[int, str]]] | None = None) -> None:
        self._found: dict[str, list[tuple[int, str]]] = {}
        self.merge(found or {})

    @property
    def empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self._found

    def of(self, *claims: str) -> str:
        """The first test that exercised one of these, for a cell of the page; empty if there is none."""
        tests = [test.partition("[")[0] for claim in claims for _size, test in self._found.get(claim, ())]
        return min(tests, default="")

    def tests(self, claim: str) -> list[str]:
        """The node ids of tests that may hold a claim; those that exercise little else come first."""
        return [test for size, test in self._found.get(claim, ()) if size < _NO_CANDIDATE]

    def claims(self) -> Iterator[str]:
        """Every claim that a test has exercised."""
        return iter(sorted(self._found))

    def add(self, claim: str, test: str, size: int = 0) -> None:
        """Record that a test has exercised a claim."""
        self.merge({claim: [(size, test)]})

    def merge(self, values: Mapping[str, Iterable[tuple[int, str]]]) -> None:
        """Add the record of another process, as made by :meth:`as_dict`."""
        for claim, tests in values.items():
            known = {test: size for size, test in self._found.get(claim, ())}
            known |= {str(test): int(size) for size, test in tests}
            self._found[claim] = _chosen(sorted((size, test) for test, size in known.items()))

    def as_dict(self) -> dict[str, list[tuple[int, str]]]:
        """The record as it is written to a file."""
        return dict(sorted(self._found.items()))


def _chosen(tests: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first tests, of each function not more than a few of its parameters."""
    of_function: Counter[str] = Counter()
    chosen = []
    for size, test in tests:
        function = test.partition("[")[0]
        of_function[function] += 1
        if of_function[function] <= _PARAMETERS:
            chosen.append((size, test))
    return chosen[:_KEPT]


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
    """Records the claims that a test exercises while it runs, and keeps them if the test passes.

    Attributes:
        evidence: of the tests that passed.
        ablated: the claim that is taken away wherever it is exercised; empty for none.
    """

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.ablated = ""
        self._now: set[str] = set()
        self._answers: dict[int, tuple[Info, str]] = {}

    def begin(self) -> None:
        """A test begins."""
        self._now.clear()
        self._answers.clear()

    def passed(self, test: str, rules: Iterable[str], seconds: float = 0.0, *, two_forms: bool = False) -> None:
        """The test has passed.

        Args:
            test: its node id.
            rules: the ids of its marks.
            seconds: how long it took.
            two_forms: whether it compares two forms of a command, which both lack what is taken away: it holds no claim.
        """
        size = len(self._now) + (_SLOW if seconds > 1 else 0) + (_NO_CANDIDATE if two_forms else 0)
        for claim in (*self._now, *(f"rule {rule}" for rule in rules)):
            word = claim.rpartition(" ")[2].lower()
            named = len(word) > _SHORT and word in test.lower() and not two_forms
            self.evidence.add(claim, test, 0 if named else size)  # a test that is named after it probably holds it

    def note(self, *words: str) -> bool:
        """Record a claim that the running test has exercised.

        Returns:
            Whether the claim is to be taken away.
        """
        claim = " ".join(words)
        self._now.add(claim)
        return claim == self.ablated

    # -- where it looks -------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Record from now to the end of the process."""
        for command in COMMANDS.values():
            for owner in (Task, Region):
                function = getattr(owner, command.method, None)
                if callable(function) and not (owner is Region and command.method == "start"):
                    setattr(owner, command.method, self._command(command, function))
        self._install_values(Info)
        self._install_messages()
        self._install_definitions()
        self._install_ibmi()

    def _command(self, command: Command, function: Callable[..., object]) -> Callable[..., object]:
        name = command.name
        words = {option.parameter: option.word for option in command.options if option.parameter not in _COMMON}
        parameters = [each for each in command.parameters if each.kind is not each.VAR_POSITIONAL]
        known = {each.name: each for each in parameters}

        def given(parameter: str, value: object) -> tuple[bool, object]:
            """Whether the argument is kept, and its value."""
            declared, word = known.get(parameter), words.get(parameter, "")
            if declared is None or not word or value is declared.default or value == declared.default:
                return True, value
            if not self.note("option", name, word):
                return True, value
            required = declared.default is declared.empty
            return required, another(value) if required else declared.default

        @wraps(function)
        def issue(owner: Region | Task, *args: object, **kwargs: object) -> object:
            if self.note("command", name):
                if isinstance(owner, Task):
                    owner.eib.last = completion(name)
                return None
            at = min(len(args), len(parameters))
            args = (*(given(parameters[i].name, args[i])[1] for i in range(at)), *args[at:])
            checked = {parameter: given(parameter, value) for parameter, value in kwargs.items()}
            kwargs = {parameter: value for parameter, (kept, value) in checked.items() if kept}
            try:
                result = function(owner, *args, **kwargs)
            except Condition as condition:
                if condition.command in ("", name):
                    self._met(name, condition)
                raise
            self._answered(name, owner)
            return self._received(command, args, result)

        return issue

    def _met(self, name: str, condition: Condition) -> bool:
        """Record a condition; whether it was made another one."""
        if _PLANNED in condition.detail or not self.note("condition", name, condition.resp.name):
            return False
        condition.resp = Resp.INVREQ if condition.resp is not Resp.INVREQ else Resp.LENGERR
        return True

    def _answered(self, name: str, owner: Region | Task) -> None:
        """Record the condition of a command that returned, which NOHANDLE or HANDLE CONDITION allows."""
        eib, met = getattr(owner, "eib", None), getattr(owner, "condition", None)
        if eib is not None and eib.eibresp and met is not None and met.command == name and self._met(name, met):
            eib.last = failure(met)

    def _received(self, command: Command, args: tuple[object, ...], result: object) -> object:
        """Record the receivers of a result; returns it without the one that is taken away."""
        if isinstance(result, Info):
            self._answers[id(result)] = (result, command.name)
        asked = [str(each).upper() for each in args]
        for word in received_words(command, result, asked):
            claim = ("receiver", command.name, word)
            ablated = " ".join(claim) == self.ablated if isinstance(result, Info) else self.note(*claim)
            if ablated:
                return without_receiver(result, word, asked.index(word) if word in asked else 0)
        return result

    def _install_values(self, info: Any) -> None:
        """Record the values of an answer that the test reads, by name or all at once."""
        by_name, by_item, whole = info.__getattr__, info.__getitem__, info.as_dict

        def read(answer: Info, option: str) -> None:
            found, command = self._answers.get(id(answer), (None, ""))
            if found is answer:
                self.note("receiver", command, option.upper())

        def attribute(answer: Info, name: str) -> object:
            value = by_name(answer, name)
            read(answer, name)
            return value

        def item(answer: Info, option: str) -> object:
            read(answer, option)
            return by_item(answer, option)

        def everything(answer: Info, *, plain: bool = False) -> Mapping[str, object]:
            values: Mapping[str, object] = whole(answer, plain=plain)
            for option in values:
                read(answer, option)
            return values

        info.__getattr__, info.__getitem__, info.as_dict = attribute, item, everything

    def _install_messages(self) -> None:
        write: Callable[..., None] = Messages.write

        @wraps(write)
        def noted(messages: Messages, message: str, **inserts: object) -> None:
            if not self.note("message", message):
                write(messages, message, **inserts)

        Messages.write = noted  # type: ignore[method-assign, assignment]

    def _install_definitions(self) -> None:
        begin: Callable[..., None] = Definitions.__init__
        commit: Callable[..., None] = InstallPlan.commit

        @wraps(begin)
        def watched(definitions: Definitions, *args: object, **kwargs: object) -> None:
            begin(definitions, *args, **kwargs)
            for entry in definitions.entries if len(definitions.entries) <= _MANY else ():
                for attribute in entry.resource.without_effect:
                    self.note("attribute", entry.resource.kind, attribute.upper())

        @wraps(commit)
        def installed(plan: InstallPlan, resources: Iterable[Resource], *more: object) -> None:
            given = list(resources)
            commit(plan, self._installed(given) if len(given) <= _MANY else given, *more)

        Definitions.__init__ = watched  # type: ignore[method-assign, assignment]
        InstallPlan.commit = installed  # type: ignore[method-assign, assignment]

    def _installed(self, resources: Iterable[Resource]) -> Iterator[Resource]:
        """Record the attributes of what is installed; gives it without the attribute that is taken away."""
        for each in resources:
            resource: Resource | None = each
            group = {"group": each.group} if each.group else {}
            for attribute in (*group, *each.attributes(), *(["type"] if each.kind == "TDQUEUE" else [])):
                field = type(each).model_fields.get(attribute)
                default = None if field is None else field.get_default(call_default_factory=True)
                if getattr(each, attribute) != default and self.note("attribute", each.kind, attribute.upper()):
                    resource = without_attribute(each, attribute)
            if resource is not None:
                yield resource

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
            if self.note("api", name):
                return None
            planned = job.system.faults is not None
            try:
                result = function(job, *args, **kwargs)
            except EscapeMessage as error:
                for message in () if planned else (error.message, *error.diagnostics):
                    ablated = self.note("message", message.message_id)
                    if message.message_id in {use.message_id for use in DECLARATIONS[name].messages}:
                        ablated |= self.note("api-message", name, message.message_id)
                    if ablated:
                        _change(error, message.message_id)
                raise
            for value in (*args, *kwargs.values()):
                if isinstance(value, str) and value.upper() in formats:
                    self.note("format", value.upper())
            return result

        return call


def _change(error: EscapeMessage, message_id: str) -> None:
    """Make a message of an escape another one: the escape itself, or a diagnostic message before it, which goes."""
    if error.message_id == message_id:
        error.message_id = _OTHER_MESSAGE
        error.message = error.message._replace(message_id=_OTHER_MESSAGE)
    error.args = tuple(str(each).replace(message_id, _OTHER_MESSAGE) for each in error.args)
    error.diagnostics = tuple(each for each in error.diagnostics if each.message_id != message_id)
