"""Translate EXEC CICS text into a call of a declared command, and store the result in host variables.

This module contains no rules for single commands: the words of a command, their kinds and lengths come from its
declaration (:mod:`tdqsim.cics.kernel.command`), so every declared command can be written as text. Translation has three
steps:

1. *Resolve* (once for each distinct text): find the command, check that every word is one of its options and that no
  required option is missing.
2. *Bind*: read the host variables and convert them by kind (name, data, storage, number, CVDA).
3. *Deliver*: store the results in the receivers. After a condition the receivers are unchanged, except for READQ TD
  with LENGERR: INTO gets the truncated record and LENGTH the true length. Storage that the command may change (COMMAREA
  of LINK) is returned even after a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final

from tdqsim.cics.kernel.abstime import unpack_abstime
from tdqsim.cics.kernel.command import COMMANDS, Command, CommandOption
from tdqsim.cics.kernel.handling import AID_NAMES
from tdqsim.cics.text.exec_text import (
    AddressOf,
    Argument,
    ExecText,
    HexLiteral,
    LengthOf,
    NumberLiteral,
    Option,
    Reference,
    TextLiteral,
    TranslationError,
    parse_exec,
)
from tdqsim.cics.text.host_variables import HostVariableError, HostVariables, Label, Labels, Received, Variables
from tdqsim.core.codepage import CodePage
from tdqsim.facts import EIBFN, Cvda, Resp, table

_RANGES: Final = {"halfword": (-(2**15), 2**15 - 1), "fullword": (-(2**31), 2**31 - 1)}
COMMON_OPTIONS: Final = ("RESP", "RESP2", "NOHANDLE")
"""The options of every command; each of them prevents a condition from being raised."""
LENGTHS: Final = ("LENGTH", "FLENGTH")
"""The receivers of the length, where a command returns bytes."""
_RESOLVED_KEPT: Final = 1024
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The command and options of a text.

    Attributes:
        source: the parsed text.
        command: the command.
        sends: (declared option, option in the text) for each option with an input value.
        receives: the same for each receiver.
        keywords: (declared option, CVDA) for each CVDA given as a keyword, such as ENABLED.
        common: RESP, RESP2 and NOHANDLE by name, as far as given.
        names: the condition names of HANDLE CONDITION or IGNORE CONDITION, or the keys of HANDLE AID.
    """

    source: ExecText
    command: Command
    sends: tuple[tuple[CommandOption, Option], ...]
    receives: tuple[tuple[CommandOption, Option], ...]
    keywords: tuple[tuple[CommandOption, Cvda], ...]
    common: Mapping[str, Option]
    names: tuple[Option, ...] = ()


@dataclass(slots=True)
class BoundCommand:
    """A resolved text with the values of its host variables: a call that can be made.

    Attributes:
        resolved: the resolved text.
        arguments: the positional arguments of the method.
        keywords: the keyword arguments.
        quiet: whether NOHANDLE, RESP or RESP2 was given.
    """

    resolved: Resolved
    arguments: list[Any] = field(default_factory=list)
    keywords: Received = field(default_factory=dict)
    quiet: bool = False


# -- finding the command -----------------------------------------------------------------------------------------------


_NOT_SIMULATED: Final = {row["name"] for row in table("security_commands")}
"""The types of resources that commands of CICS name; one that has a command here never gets as far as this."""


@cache
def _by_verb(_known: int) -> Mapping[str, tuple[tuple[frozenset[str], Command], ...]]:
    """Verb -> (other words of the name, command), most words first. ``_known``: the number of commands, a cache key."""
    by_verb: dict[str, list[tuple[frozenset[str], Command]]] = {}
    for command in COMMANDS.values():
        verb, *others = command.name.split()
        by_verb.setdefault(verb, []).append((frozenset(others), command))
    return {verb: tuple(sorted(rows, key=lambda row: -len(row[0]))) for verb, rows in by_verb.items()}


def _command(source: ExecText) -> Command:
    verb = source.options[0]
    rows = _by_verb(len(COMMANDS)).get(verb.word)
    if rows is None or verb.argument is not None:
        known = any(name.split()[0] == verb.word for name in EIBFN)
        more = "; CICS has it, and here only COBOL programs may: it works with addresses" if known else ""
        raise source.error(f"{verb.word} is not a command{more}", verb.offset)
    words = [option.word for option in source.options[1:]]
    if verb.word.endswith("Q") and not {"TD", "TS"} & set(words):
        words.append("TS")
    fitting = [row for row in rows if row[0] <= set(words)]
    if fitting:  # prefer the name with most words; of equals, the one whose word comes first in the text
        return min(fitting, key=lambda row: (-len(row[0]), min((words.index(word) for word in row[0]), default=0)))[1]
    if len(rows) == 1 and rows[0][0] <= rows[0][1].receives.keys():
        return rows[0][1]  # ASKTIME without its ABSTIME
    names = ", ".join(sorted(command.name for _others, command in rows))
    of_cics = next((word for word in words[:1] if word in _NOT_SIMULATED), None)
    why = f": {verb.word} {of_cics} is not simulated" if of_cics else ""
    raise source.error(f"no command {verb.word} has these options{why}; there are {names}", verb.offset)


@cache
def _keywords(name: str) -> Mapping[str, str]:
    return {row["keyword"]: row["option"] for row in table("cvda_keywords") if row["command"] == name}


@cache
def _synonyms(name: str) -> Mapping[str, str]:
    return {row["word"]: row["option"] for row in table("exec_words") if row["command"] == name}


@cache
def _exclusive(name: str) -> list[list[set[str]]]:
    """The alternatives of a command of which at most one may be given; an alternative is a set of options."""
    rows = [row["alternatives"].split() for row in table("exec_exclusive") if row["command"] == name]
    return [[set(alternative.split("/")) for alternative in row] for row in rows]


@cache
def _defaults(name: str) -> Mapping[str, str]:
    return {row["option"]: row["value"] for row in table("exec_defaults") if row["command"] == name}


@lru_cache(_RESOLVED_KEPT)
def resolve(text: str, *, bare: bool = False) -> Resolved:
    """Find the command of a text and its options.

    Args:
        text: the text, with or without EXEC CICS and END-EXEC.
        bare: values need no quotes and receivers need no variable (CECI).

    Raises:
        TranslationError: the text is not a command, or an option is unknown, given twice, missing, or lacks an argument
            or has one that is not allowed.
    """
    source = parse_exec(text, bare=bare)
    if bare:
        source = _in_full(source)
    return _Resolver(source, _command(source), bare=bare).resolved()


def _in_full(source: ExecText) -> ExecText:
    """A CECI text with its words expanded: a unique prefix is an abbreviation of a word of the command."""
    verb, *rest = source.options
    verb = _expanded(verb, _verbs_with(rest, _by_verb(len(COMMANDS))))
    rows = _by_verb(len(COMMANDS)).get(verb.word, ())
    names = frozenset[str]().union(*(words for words, _command_of_them in rows))
    rest[:1] = [_expanded(option, names) for option in rest[:1]]
    named = replace(source, options=(verb, *rest))
    if not rows:
        return named
    command = _command(named)
    name = command.name
    known = {option.word for option in command.options} | {
        *_keywords(name),
        *_synonyms(name),
        *COMMON_OPTIONS,
        *name.split(),
    }
    return replace(source, options=(verb, *(_expanded(option, known) for option in rest)))


def _verbs_with(
    rest: Sequence[Option], verbs: Mapping[str, tuple[tuple[frozenset[str], Command], ...]]
) -> Collection[str]:
    """The verbs with a command whose name has the second word, such as TD; all verbs if no command has it."""
    second = rest[0].word if rest else ""
    fitting = [verb for verb, rows in verbs.items() if any(second in words for words, _command_of_them in rows)]
    return fitting if second and fitting else verbs.keys()


def _expanded(option: Option, words: Collection[str]) -> Option:
    matches = [] if option.word in words else [word for word in words if word.startswith(option.word)]
    return replace(option, word=matches[0]) if len(matches) == 1 else option


class _Resolver:
    """Assigns the words of one text to the options of its command."""

    def __init__(self, source: ExecText, command: Command, *, bare: bool) -> None:
        self.source = source
        self.command = command
        self.bare = bare
        self.sends: list[tuple[CommandOption, Option]] = []
        self.receives: list[tuple[CommandOption, Option]] = []
        self.keywords: list[tuple[CommandOption, Cvda]] = []
        self.common: dict[str, Option] = {}
        self.names: list[Option] = []
        self.cvdas: dict[str, str] = {}
        self.parameters = {option.word: option for option in command.options if not option.receiver}
        self.receivers = {option.word: option for option in command.options if option.receiver}

    def resolved(self) -> Resolved:
        words: set[str] = set()
        name = self.command.name.split()[1:]
        for option in self._without_noise():
            if option.word in words:
                raise self.source.error(f"{option.word} is given twice", option.offset)
            words.add(option.word)
            is_option = option.word in self.parameters or option.word in self.receivers
            if option.word not in name or option.argument is not None or is_option:
                self._sort(option)
        self._check_missing(words)
        self._check_exclusive(words)
        return Resolved(
            self.source, self.command, tuple(self.sends), tuple(self.receives), tuple(self.keywords), self.common,
            tuple(self.names),
        )  # fmt: skip

    def _without_noise(self) -> Iterator[Option]:
        """The words after the verb, with synonyms replaced by the option's name, without words that have no effect."""
        synonyms = _synonyms(self.command.name)
        for option in map(self._default, self.source.options[1:]):
            if option.word not in synonyms:
                yield option
            elif synonyms[option.word]:
                yield replace(option, word=synonyms[option.word])

    def _default(self, option: Option) -> Option:
        """The option, with its default argument if it has none."""
        if option.argument is None and (value := _defaults(self.command.name).get(option.word)) is not None:
            return replace(option, argument=TextLiteral(value))
        return option

    def _sort(self, option: Option) -> None:
        word = option.word
        if word in COMMON_OPTIONS:
            self._common(option)
        elif word in self.parameters or word in self.receivers:
            self._declared(option)
        elif word in _keywords(self.command.name):
            declared = self.parameters[_keywords(self.command.name)[word]]
            if option.argument is not None:
                raise self.source.error(f"{word} takes no argument", option.argument_offset)
            self._once(declared, option)
            self.keywords.append((declared, Cvda[word]))
        elif word in _names(self.command):
            if option.argument is not None and self.command.name == "IGNORE CONDITION":
                raise self.source.error(f"{word} takes no argument", option.argument_offset)
            self.names.append(option)
        else:
            own = sorted({*self.parameters, *self.receivers, *_keywords(self.command.name)} - {"NOHANDLE"})
            names = [_NAMED[self.command.name]] if self.command.name in _NAMED else []
            allowed = ", ".join([*own, *names, *COMMON_OPTIONS])
            message = f"{word} is not an option of {self.command.name}; allowed are {allowed}"
            raise TranslationError(message, self.source.text, option.offset, word)

    def _once(self, declared: CommandOption, option: Option) -> None:
        """Refuse a second word for one CVDA: ENABLED and DISABLED, or ENABLED and ENABLESTATUS."""
        other = self.cvdas.setdefault(declared.word, option.word)
        if other != option.word:
            raise self.source.error(f"{option.word} and {other} both give {declared.word}; give one", option.offset)

    def _common(self, option: Option) -> None:
        if option.word == "NOHANDLE":
            if option.argument is not None:
                raise self.source.error("NOHANDLE takes no argument", option.argument_offset)
        elif not isinstance(option.argument, Reference):
            raise self.source.error(f"{option.word} needs the name of a host variable", option.offset)
        self.common[option.word] = option

    def _declared(self, option: Option) -> None:
        word = option.word
        sent, received = self.parameters.get(word), self.receivers.get(word)
        if sent is not None and sent.kind == "flag":
            if option.argument is not None:
                raise self.source.error(f"{word} takes no argument", option.argument_offset)
            self.sends.append((sent, option))
            return
        if option.argument is None and not (self.bare and received is not None):
            raise self.source.error(f"{word} needs an argument in parentheses", option.offset)
        if received is not None:
            if option.argument is not None and not isinstance(option.argument, (Reference, AddressOf)):
                if sent is None:
                    cure = f": write {word}(&{word[0]}), and CECI shows what it received" if self.bare else ""
                    message = f"{word} must name a host variable that receives{cure}"
                    raise self.source.error(message, option.argument_offset)
            else:
                self.receives.append((received, option))
        if sent is not None and option.argument is not None:
            if sent.kind == "cvda":
                self._once(sent, option)
            self.sends.append((sent, option))

    def _check_missing(self, words: set[str]) -> None:
        given = words | {declared.word for declared, _cvda in self.keywords}
        if self.command.name in _NAMED and not self.names:
            needed = f"{self.command.name} needs {_NAMED[self.command.name]}"
            raise self.source.error(needed, self.source.options[0].offset)
        for option in (*self.parameters.values(), *(() if self.bare else self.receivers.values())):
            if option.required and option.word not in given:
                raise self.source.error(f"{self.command.name} needs {option.word}", self.source.options[0].offset)
        areas = {"INTO", "SET"} | (self.parameters.keys() & {"NODATA"})
        if not self.bare and {"INTO", "SET"} <= self.receivers.keys() and len(given & areas) != 1:
            raise self.source.error(f"{self.command.name} needs either INTO or SET", self.source.options[0].offset)

    def _check_exclusive(self, words: set[str]) -> None:
        for alternatives in _exclusive(self.command.name):
            given = [min(each) for each in map(words.intersection, alternatives) if each]
            if len(given) > 1:
                raise self.source.error(f"{given[0]} and {given[1]} exclude each other", self.source.options[0].offset)


_NAMED: Final = {
    "HANDLE CONDITION": "names of conditions",
    "IGNORE CONDITION": "names of conditions",
    "HANDLE AID": "names of keys",
}


def _names(command: Command) -> Collection[str]:
    """The words that a command takes in addition to its options: names of conditions or keys."""
    if command.name == "HANDLE AID":
        return AID_NAMES
    return Resp.__members__ if command.name in _NAMED else ()


# -- binding -----------------------------------------------------------------------------------------------------------


def bind(
    resolved: Resolved,
    variables: Variables,
    page: CodePage,
    labels: Labels = MappingProxyType({}),
) -> BoundCommand:
    """Read the host variables of a resolved text.

    Raises:
        TranslationError: a variable is missing or not suitable for its option.
    """
    host = HostVariables(variables, page)
    call = BoundCommand(resolved, quiet=bool(resolved.common))
    received = {option.word for _declared, option in resolved.receives}
    for declared, option in resolved.sends:
        if declared.kind == "label":
            call.keywords[declared.parameter] = _callable(option, host, resolved.source, labels)
            continue
        try:
            optional = option.word in received and not declared.required
            value = _value(declared, option, host, also_received=optional)
        except HostVariableError as error:
            raise option_error(resolved.source, option, error) from error
        if value is not _MISSING:
            call.keywords[declared.parameter] = value
    call.keywords.update((declared.parameter, cvda) for declared, cvda in resolved.keywords)
    _most_received(resolved, host, call)
    _check_areas(resolved, host, call)
    _bind_names(resolved, host, call, labels)
    if call.quiet and resolved.command.option("NOHANDLE") is not None:
        call.keywords["nohandle"] = True
    return call


def _most_received(resolved: Resolved, host: HostVariables, call: BoundCommand) -> None:
    """Set the LENGTH argument: the longest record to receive.

    With INTO, if LENGTH is omitted or its variable has no value yet, it is the size of the area that INTO names, if
    any. With SET, LENGTH is only a receiver: its value before the command is ignored.
    """
    for declared, option in resolved.receives:
        if declared.word == "SET":
            call.keywords.pop("length", None)
        if declared.word == "INTO" and call.keywords.get("length") is None:
            size = _area_length(option, host, resolved.source)
            if size is not None and "length" in _parameters(resolved.command):
                call.keywords["length"] = size


def _parameters(command: Command) -> set[str]:
    return {option.parameter for option in command.options}


def option_error(source: ExecText, option: Option, error: HostVariableError) -> TranslationError:
    """The error for an option's argument, with its column in the text; the message names the option once."""
    text = str(error)
    named = text if text.startswith(f"{option.word} ") else f"{option.word}: {text}"
    return source.error(named, option.argument_offset)


def _area_length(option: Option, host: HostVariables, source: ExecText) -> int | None:
    """The size of the area that a receiver names; None if it names no area."""
    if not isinstance(option.argument, Reference):
        return None
    try:
        return host.area_length(option.argument)
    except HostVariableError as error:
        raise option_error(source, option, error) from error


def _check_areas(resolved: Resolved, host: HostVariables, call: BoundCommand) -> None:
    """Refuse a command that would make CICS write beyond an area, before it is executed."""
    length = call.keywords.get("length")
    for declared, option in resolved.receives:
        size = _area_length(option, host, resolved.source)
        needed = length if declared.word == "INTO" else declared.length
        if size is not None and needed is not None and needed > size:
            raise resolved.source.error(
                f"{option.word}: {option.argument} has {size} bytes and may receive {needed}: "
                "CICS would write beyond it",
                option.argument_offset,
            )
    fits_from(resolved, call.keywords)


def fits_from(resolved: Resolved, keywords: Mapping[str, object]) -> None:
    """Refuse a LENGTH that goes beyond FROM."""
    sent, length = keywords.get("from_"), keywords.get("length")
    if isinstance(sent, bytes) and isinstance(length, int) and length > len(sent):
        places = (option.argument_offset for declared, option in resolved.sends if declared.parameter == "length")
        raise resolved.source.error(
            f"LENGTH {length} is more than the {len(sent)} bytes of FROM: CICS would read beyond it", next(places, 0)
        )


def _bind_names(resolved: Resolved, host: HostVariables, call: BoundCommand, labels: Labels) -> None:
    if resolved.command.name == "IGNORE CONDITION":
        call.arguments += [option.word for option in resolved.names]
        return
    for option in resolved.names:
        call.keywords[option.word] = (
            None if option.argument is None else _callable(option, host, resolved.source, labels)
        )


def _callable(option: Option, host: HostVariables, source: ExecText, labels: Labels) -> Label:
    label = labels.get(str(option.argument))
    if label is not None:
        return label
    named = option.argument
    try:
        target = host.value(named) if isinstance(named, Reference) and host.knows(named) else None
    except HostVariableError as error:
        raise option_error(source, option, error) from error
    if not callable(target):
        shown = f"{option.word}({named})" if isinstance(named, Reference) else option.word
        raise source.error(
            f"{shown} needs a label that a function stands for, or a host variable that holds a callable",
            option.argument_offset,
        )
    return target  # type: ignore[no-any-return]


def _raw(argument: Argument, host: HostVariables) -> Any:
    if isinstance(argument, (TextLiteral, HexLiteral, NumberLiteral)):
        return argument.value
    if isinstance(argument, LengthOf):
        return host.length_of(argument.reference)
    if isinstance(argument, AddressOf):
        raise HostVariableError("ADDRESS OF can only receive")
    return host.value(argument)


def _value(declared: CommandOption, option: Option, host: HostVariables, *, also_received: bool) -> Any:
    """The value of one option, converted by its kind; a LENGTH whose variable has no value yet counts as omitted."""
    argument = option.argument
    if declared.kind == "flag":
        return True
    assert argument is not None
    if also_received and isinstance(argument, Reference) and (not host.knows(argument) or host.value(argument) is None):
        return _MISSING
    if isinstance(argument, NumberLiteral) and argument.bare and declared.kind in ("name", "data", "storage"):
        return convert(declared, argument.text, host)
    raw = _raw(argument, host)
    if also_received and isinstance(raw, bytearray) and declared.kind in _RANGES:
        raw = raw[: declared.length]  # an area: the input has the same length as the output
    return convert(declared, raw, host)


def convert(declared: CommandOption, raw: object, host: HostVariables) -> Any:
    """Convert a program's value to the kind of an option.

    Raises:
        HostVariableError: the value is not suitable for the option.
    """
    what = declared.word
    if declared.kind == "name":
        text = host.as_text(raw, what)
        return text[: declared.length] if declared.length else text  # as moved to a field of that length
    if declared.kind == "data":
        return host.as_bytes(raw, what)
    if declared.kind == "storage":
        return raw if isinstance(raw, bytearray) else bytearray(host.as_bytes(raw, what))
    if declared.kind == "abstime" and isinstance(raw, (bytes, bytearray)):
        try:
            return unpack_abstime(bytes(raw))
        except ValueError as error:
            raise HostVariableError(f"{what}: {error}") from error
    if declared.kind == "abstime":
        return host.as_number(raw, what)
    if declared.kind in _RANGES:
        number = host.as_number(raw, what)
        low, high = _RANGES[declared.kind]
        if not low <= number <= high:
            raise HostVariableError(f"{what} must be from {low} to {high}, not {number}")
        return number
    if declared.kind == "cvda":
        if isinstance(raw, str) and raw.strip().upper() in Cvda.__members__:
            return Cvda[raw.strip().upper()]
        if isinstance(raw, str):
            raise HostVariableError(f"{what} must be a CVDA, by its name or number, not {raw!r}")
        return host.as_number(raw, what)
    return raw


# -- delivering -------------------------------------------------------------------------------------------------------


def deliver(call: BoundCommand, result: object, variables: Variables, page: CodePage) -> Received:
    """Store the results in the receivers.

    Args:
        call: the call.
        result: the result of the method, or the data of a condition (its ``received``).
        variables: the host variables.
        page: the code page.

    Returns:
        The values received, by option.

    Raises:
        TranslationError: a receiver is an area too short for its value.
    """
    host = HostVariables(variables, page)
    received: Received = {}
    says_itself = hasattr(result, "as_dict")
    if hasattr(result, "_asdict") and not says_itself:
        result = {name.upper(): value for name, value in result._asdict().items()}
    elif isinstance(result, tuple) and not says_itself:
        words = [declared.word for declared, _option in call.resolved.receives]
        result = dict(zip(words, result, strict=True))
    for declared, option in call.resolved.receives:
        value = _returned(declared, result, call, page)
        if value is _MISSING:
            continue
        received[declared.word] = value
        reference = option.argument.reference if isinstance(option.argument, AddressOf) else option.argument
        if isinstance(reference, Reference):
            try:
                host.store(reference, value, declared.length or None)
            except HostVariableError as error:
                raise option_error(call.resolved.source, option, error) from error
    return received


def give_back(call: BoundCommand, variables: Variables, page: CodePage) -> Received:
    """Store the new contents of storage options in their host variables: as text if the variable was text, else bytes.

    Returns:
        The contents, by option.
    """
    host = HostVariables(variables, page)
    changed: Received = {}
    for declared, option in call.resolved.sends:
        if declared.kind != "storage" or not isinstance(option.argument, Reference):
            continue
        contents = bytes(call.keywords[declared.parameter])
        held = host.value(option.argument)
        if isinstance(held, str) or bytes(held) != contents:
            host.store(option.argument, page.decode(contents) if isinstance(held, str) else contents)
        changed[declared.word] = contents
    return changed


def _returned(declared: CommandOption, result: object, call: BoundCommand, page: CodePage) -> Any:
    if result is None:
        return _MISSING
    if declared.kind == "pointer" and hasattr(result, "image"):
        return result.image(page)
    if isinstance(result, (bytes, bytearray)):  # a record, and its length
        return len(result) if declared.word in LENGTHS else bytes(result)
    if hasattr(result, "as_dict"):
        result = result.as_dict()
    if isinstance(result, Mapping):
        return result.get(declared.word, _MISSING)
    return result if len(call.resolved.receives) == 1 else _MISSING
