"""The declaration of commands: each is written once, as a typed Python function whose first parameter is the task.

``@command("ASSIGN", conditions="INVREQ")`` over a function that does the work alone registers it in :data:`COMMANDS`
and gives the command back: the same function with what surrounds every command around it (see
:mod:`~tdqsim.cics.kernel.issue`). ``@declared(...)`` registers a function that is the whole command already, as the
three transient data requests are. :mod:`tdqsim.cics.commands` hangs them all on the task and the region.

What the text form, the argument checks and the coverage table need is read from the signature when it is first asked
for: a parameter ``queue`` is the option QUEUE, a trailing underscore (``from_``) is dropped, :class:`Opt` in an
``Annotated`` hint gives kind and length. Options that a program receives are no parameters in Python (they are the
return value); they are declared by ``receives``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Final,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    get_args,
    get_type_hints,
)

from tdqsim.cics.kernel.eib import SPI_VERBS
from tdqsim.cics.kernel.issue import issued
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.facts import EIBFN, Cvda, Resp

if TYPE_CHECKING:
    from inspect import Parameter

__all__ = [
    "COMMANDS",
    "NOT_AN_OPTION",
    "Command",
    "CommandOption",
    "Cvda4",
    "Flag",
    "From",
    "Fullword",
    "FullwordOrNone",
    "Halfword",
    "HalfwordOrNone",
    "Name1",
    "Name1OrNone",
    "Name4",
    "Name4OrNone",
    "Name8",
    "Name8OrNone",
    "Name16OrNone",
    "Opt",
    "OptionKind",
    "command",
    "declared",
    "to_cvda",
]

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
S = TypeVar("S", bound=TaskBase)
T = TypeVar("T")

OptionKind = Literal[
    "name", "data", "storage", "halfword", "fullword", "flag", "cvda", "pointer", "label", "abstime", "value",
]  # fmt: skip
"""What an option holds: a blank-padded name, a data area that is read, storage that the command may change, a number, a
keyword alone, a CVDA, a pointer, a callable."""


class Opt(NamedTuple):
    """What ``Annotated`` says of one parameter, or ``receives`` of one receiver.

    Attributes:
        kind: what the option holds.
        length: bytes of a name or area; 0 when it is free.
        word: the vendor's word for it, when it is not the parameter's name in upper case.
        required: for a receiver: whether the command must have it.
    """

    kind: OptionKind
    length: int = 0
    word: str = ""
    required: bool = False


# What the signatures of commands are written with; ``help()`` shows these names, and the task's docstring tells them.
Name1 = Annotated[str, Opt("name", 1)]
Name1OrNone = Annotated[str | None, Opt("name", 1)]
Name4 = Annotated[str, Opt("name", 4)]
Name4OrNone = Annotated[str | None, Opt("name", 4)]
Name8 = Annotated[str, Opt("name", 8)]
Name8OrNone = Annotated[str | None, Opt("name", 8)]
Name16OrNone = Annotated[str | None, Opt("name", 16)]
Halfword = Annotated[int, Opt("halfword", 2)]
HalfwordOrNone = Annotated[int | None, Opt("halfword", 2)]
Fullword = Annotated[int, Opt("fullword", 4)]
FullwordOrNone = Annotated[int | None, Opt("fullword", 4)]
From = Annotated[bytes, Opt("data", word="FROM")]
Flag = Annotated[bool, Opt("flag")]
Cvda4 = Annotated[int, Opt("cvda", 4)]
NOT_AN_OPTION: Final = Opt("value", word="-")
"""For a parameter that Python alone has, such as the result of RETURN: the command has no such option."""


def to_cvda(value: Any) -> Cvda | None:
    """The CVDA that a name or number means; None when there is none."""
    if isinstance(value, str):
        return Cvda.__members__.get(value.strip().upper())
    try:
        return Cvda(value)
    except ValueError:
        return None


class CommandOption(NamedTuple):
    """One option of a command.

    Attributes:
        word: the vendor's word, such as ``NOSUSPEND``.
        parameter: the Python parameter; empty for a receiver.
        kind: what it holds.
        length: bytes; 0 when free.
        required: whether the command must have it.
        receiver: whether the program gets something through it.
    """

    word: str
    parameter: str
    kind: OptionKind
    length: int
    required: bool
    receiver: bool


class Command:
    """One EXEC CICS command as declared.

    Attributes:
        name: such as ``READQ TD``.
        method: the function's name, and so that of the task's method, such as ``readq_td``.
        function: the function, as it is written: of a command made by :func:`command` the work alone.
        conditions: the conditions it can raise.
        receives: the receivers by word.
        spi: whether it is a system programming command; its EIBRCODE is then the RESP number.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], conditions: frozenset[Resp], receives: Mapping[str, Opt]
    ) -> None:
        self.name = name
        self.method = function.__name__
        self.function = function
        self.conditions = conditions
        self.receives = receives
        self.spi = name.split(" ", 1)[0] in SPI_VERBS

    def __repr__(self) -> str:
        return f"<Command {self.name}>"

    @property
    def eibfn(self) -> bytes:
        """The two bytes that EIBFN shows after it."""
        return EIBFN[self.name]

    @cached_property
    def group(self) -> str:
        """The name of the module that declares it, such as ``td``."""
        return self.function.__module__.rpartition(".")[2]

    @cached_property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the function after the task."""
        import inspect  # noqa: PLC0415  (only who asks for a declaration needs it)

        return tuple(inspect.signature(self.function).parameters.values())[1:]

    @cached_property
    def options(self) -> tuple[CommandOption, ...]:
        """Its options: parameters in order, then receivers. ``nohandle`` is the common NOHANDLE of every command."""
        hints = get_type_hints(self.function, _names(self.function), include_extras=True)
        found = []
        for parameter in self.parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                opt = _opt_of(hints.get(parameter.name))
                if opt == NOT_AN_OPTION:
                    continue
                word = opt.word or parameter.name.rstrip("_").upper()
                required = parameter.default is parameter.empty
                found.append(CommandOption(word, parameter.name, opt.kind, opt.length, required, receiver=False))
        for word, opt in self.receives.items():
            found.append(CommandOption(word, "", opt.kind, opt.length, opt.required, receiver=True))
        return tuple(found)

    def option(self, word: str) -> CommandOption | None:
        """The option with this word, or None. A word may be both a parameter and a receiver (LENGTH of READQ TD)."""
        return next((option for option in self.options if option.word == word), None)


_NOT_THERE: Final = (
    "Abend", "Callable", "Condition", "Iterator", "Mapping", "Sequence", "StatisticsRecord", "TaskBase",
)  # fmt: skip


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """The module's names for resolving hints; those imported for type checkers only mean nothing here."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    names = dict(getattr(function, "__func__", function).__globals__)
    for missing in _NOT_THERE:
        names.setdefault(missing, Any)
    return names


def _opt_of(hint: Any) -> Opt:
    for part in (hint, *get_args(hint)):
        for extra in getattr(part, "__metadata__", ()):
            if isinstance(extra, Opt):
                return extra
    return Opt("flag") if hint is bool else Opt("value")


COMMANDS: dict[str, Command] = {}
"""Every declared command by name."""


def _register(name: str, function: Callable[..., Any], conditions: str, receives: Mapping[str, Opt] | None) -> None:
    if name in COMMANDS:
        raise ValueError(f"command {name} is declared twice: {COMMANDS[name].function} and {function}")
    raised = frozenset(Resp[condition] for condition in conditions.split())
    COMMANDS[name] = Command(name, function, raised, receives or {})


def declared(name: str, conditions: str = "", receives: Mapping[str, Opt] | None = None) -> Callable[[F], F]:
    """Declare a function that is a whole command: it sets the EIB itself, and ends a condition by ``respond``.

    Args:
        name: the command as the manuals call it.
        conditions: names of the conditions it can raise, separated by blanks.
        receives: the options through which a program receives something, by word.
    """

    def declare(function: F) -> F:
        _register(name, function, conditions, receives)
        return function

    return declare


def command(
    name: str,
    conditions: str = "",
    receives: Mapping[str, Opt] | None = None,
    *,
    resource: str = "",
    otherwise: Any = None,
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], T]]:
    """Declare a function that does the work of a command, and make the command of it.

    Args:
        name: the command as the manuals call it.
        conditions: names of the conditions it can raise, separated by blanks.
        receives: the options through which a program receives something, by word.
        resource: the parameter, the first after the task, that EIBRSRCE shows; none for most commands.
        otherwise: what the command returns after a condition that is not raised; a function is asked for it, with the
            command's positional arguments.
    """

    def declare(work: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        _register(name, work, conditions, receives)
        return issued(name, work, resource=resource, otherwise=otherwise)

    return declare
