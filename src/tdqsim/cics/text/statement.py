"""Compiled statements: a text is translated once; later executions only move values.

Most statements name only *plain* host variables: they exist, are spelled as in the dict, and no receiver is an area.
For these, a list of getters (one for each option) reads the arguments, and a list of names stores the results. All
other statements (qualified names, subscripts, areas, storage that a command changes, variables that are spelled
differently or do not exist yet, labels) use the slower, general functions :func:`~tdqsim.cics.text.translator.bind` and
:func:`~tdqsim.cics.text.translator.deliver`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tdqsim.cics.kernel.command import CommandOption
from tdqsim.cics.text.exec_text import HexLiteral, NumberLiteral, Option, Reference, TextLiteral
from tdqsim.cics.text.host_variables import HostVariableError, HostVariables, Received, Variables
from tdqsim.cics.text.translator import LENGTHS, BoundCommand, Resolved, convert, fits_from, option_error, resolve
from tdqsim.core.codepage import CodePage
from tdqsim.facts.info import Info

_KEPT: Final = 1024
_HALFWORD: Final = 2**15
_FULLWORD: Final = 2**31

Getter = Callable[[Variables, HostVariables], Any]


class _Input(NamedTuple):
    """One option with an input value: the parameter, the function that reads the value, and the option for messages.

    ``also_received``: the command also stores a value in the same host variable, and does not need one in it.
    """

    parameter: str
    get: Getter
    option: Option
    also_received: bool


class TranslatedStatement:
    """A translated text, for one code page.

    Attributes:
        resolved: the command and options of the text.
        method: the name of the method of the task.
        before: the positional parameters before ``*options``; None for a command without ``*options``.
        wanted: the names of the receivers, as ``*options``.
        outputs: (word, name of the host variable or empty) for each receiver, if all are plain.
        responses: the same for RESP and RESP2.
    """

    __slots__ = (
        "_constants", "_drops_length", "_inputs", "_is_plain", "_names", "before", "method", "outputs", "resolved",
        "responses", "wanted",
    )  # fmt: skip

    def __init__(self, resolved: Resolved, page: CodePage) -> None:
        command = resolved.command
        self.resolved = resolved
        self.method = command.method
        self._is_plain = not resolved.names and all(
            declared.kind not in ("label", "storage") for declared, _ in resolved.sends
        )
        self._constants: Received = {declared.parameter: cvda for declared, cvda in resolved.keywords}
        self._inputs: list[_Input] = []
        host = HostVariables({}, page)
        received = {option.word for _declared, option in resolved.receives}
        for declared, option in resolved.sends:
            self._add_input(declared, option, host, also_received=option.word in received and not declared.required)
        if len({*self._constants, *(each.parameter for each in self._inputs)}) < len(resolved.keywords) + len(
            resolved.sends
        ):
            self._is_plain = False  # an option is given twice: the general path raises the error
        if resolved.common and command.option("NOHANDLE") is not None:
            self._constants["nohandle"] = True
        self._drops_length = any(declared.word == "SET" for declared, _option in resolved.receives)
        self.outputs = self._plain_names([(declared.word, option) for declared, option in resolved.receives])
        common = [(word, option) for word, option in resolved.common.items() if word != "NOHANDLE"]
        self.responses = self._plain_names(common)
        self._names = tuple(name for _word, name in (*self.outputs, *self.responses) if name)
        self.before, self.wanted = _positional(resolved)

    def _add_input(self, declared: CommandOption, option: Option, host: HostVariables, *, also_received: bool) -> None:
        argument = option.argument
        if declared.kind == "flag":
            self._constants[declared.parameter] = True
        elif isinstance(argument, TextLiteral | HexLiteral | NumberLiteral):
            is_name = isinstance(argument, NumberLiteral) and argument.bare and declared.kind in ("name", "data")
            try:
                value = convert(declared, argument.text if is_name else argument.value, host)  # type: ignore[union-attr]
            except HostVariableError:
                self._is_plain = False  # the general path raises the error, with its column
            else:
                self._constants[declared.parameter] = value
        elif _is_simple(argument) and declared.kind != "label":
            assert isinstance(argument, Reference)
            get = _getter(declared, argument.name, also_received=also_received)
            self._inputs.append(_Input(declared.parameter, get, option, also_received))
        else:
            self._is_plain = False

    def _plain_names(self, given: list[tuple[str, Option]]) -> tuple[tuple[str, str], ...]:
        names = []
        for word, option in given:
            argument = option.argument
            if argument is None:  # CECI shows it without a variable
                names.append((word, ""))
                continue
            if not _is_simple(argument):
                self._is_plain = False
                continue
            assert isinstance(argument, Reference)
            names.append((word, argument.name))
        return tuple(names)

    def arguments(self, variables: Variables, host: HostVariables) -> Received | None:
        """The keyword arguments; None if the statement or the value of a variable is not plain.

        Raises:
            TranslationError: a value is not suitable for its option.
        """
        if not self._is_plain:
            return None
        for name in self._names:
            if name not in variables:
                if variables and host.knows(Reference(name)):  # spelled differently in the dict: not plain
                    return None
            elif variables[name].__class__ is bytearray:
                return None
        keywords = self._constants.copy()
        for parameter, get, option, also_received in self._inputs:
            try:
                value = get(variables, host)
            except KeyError:
                if also_received:  # the program has not stored a value in it yet
                    continue
                return None  # it may be spelled differently
            except HostVariableError as error:
                raise option_error(self.resolved.source, option, error) from error
            if value is not None:
                keywords[parameter] = value
        if self._drops_length:
            keywords.pop("length", None)
        if "from_" in keywords:
            fits_from(self.resolved, keywords)
        return keywords

    def receive(self, result: object, variables: Variables) -> Received | None:
        """Store the result in plain receivers; None if it is neither a record nor the result of an inquiry."""
        if not self.outputs:
            return {}
        if result.__class__ is bytes:
            received = {word: len(result) if word in LENGTHS else result for word, _name in self.outputs}
        elif isinstance(result, Info):
            values = result.as_dict()
            received = {word: values[word] for word, _name in self.outputs if word in values}
        else:
            return None
        for word, name in self.outputs:
            if name and word in received:
                variables[name] = received[word]
        return received

    def bound(self, keywords: Received) -> BoundCommand:
        """The call in the form that the general functions use."""
        return BoundCommand(self.resolved, keywords=keywords, quiet=bool(self.resolved.common))


def _is_simple(argument: object) -> bool:
    return isinstance(argument, Reference) and not (argument.qualifiers or argument.subscripts or argument.part)


def _getter(declared: CommandOption, name: str, *, also_received: bool) -> Getter:
    """A function that reads a plain host variable: KeyError if it does not exist, None if it has no value yet."""
    kind, length = declared.kind, declared.length

    def get_name(variables: Variables, host: HostVariables) -> Any:
        raw = variables[name]
        if raw.__class__ is str:
            return raw[:length] if length else raw
        return None if raw is None and also_received else convert(declared, raw, host)

    def get_data(variables: Variables, host: HostVariables) -> Any:
        raw = variables[name]
        if raw.__class__ is bytes:
            return raw
        return None if raw is None and also_received else convert(declared, raw, host)

    limit = _HALFWORD if kind == "halfword" else _FULLWORD

    def get_number(variables: Variables, host: HostVariables) -> Any:
        raw = variables[name]
        if raw.__class__ is int and -limit <= raw < limit:
            return raw
        return None if raw is None and also_received else convert(declared, raw, host)

    def get_other(variables: Variables, host: HostVariables) -> Any:
        raw = variables[name]
        return None if raw is None and also_received else convert(declared, raw, host)

    getters = {"name": get_name, "data": get_data, "halfword": get_number, "fullword": get_number}
    return getters.get(kind, get_other)


def _positional(resolved: Resolved) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    parameters = resolved.command.parameters
    if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None, ()
    own = resolved.command.name.split()  # the name returned by a browse is not an option: it is always returned
    wanted = tuple(declared.word for declared, _option in resolved.receives if declared.word not in own)
    return tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD), wanted


@lru_cache(_KEPT)
def statement(text: str, page: CodePage, *, bare: bool = False) -> TranslatedStatement:
    """The compiled statement of a text, from a cache.

    Raises:
        TranslationError: the text is not a command; see :func:`~tdqsim.cics.text.translator.resolve`.
    """
    return TranslatedStatement(resolve(text, bare=bare), page)
