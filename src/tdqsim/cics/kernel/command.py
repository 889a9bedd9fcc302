"""The declaration of commands: each is written once, as a typed Python function whose first parameter is the task.

``@command("ASSIGN", conditions="INVREQ")`` decorates a function that only does the command's work. It registers the
function in :data:`COMMANDS` and returns the complete command: the function wrapped in the steps that every command has
(see :mod:`~tdqsim.cics.kernel.issue`). ``@declared(...)`` registers a function that is a complete command already, such
as the three transient data requests. :mod:`tdqsim.cics.commands` makes methods of them.

The text form, the argument checks and the coverage table use the signature, which is read at first use: the parameter
``queue`` is the option QUEUE, a trailing underscore (``from_``) is dropped, and :class:`Opt` in an ``Annotated`` hint
gives kind and length. Options through which a program receives a value are not parameters in Python, where the command
returns the value; ``receives`` declares them.
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
    ParamSpec,
    TypeVar,
    get_args,
    get_type_hints,
)

from tdqsim.cics.kernel.eib import SPI_VERBS
from tdqsim.cics.kernel.issue import issued
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.named import NamedTuple
from tdqsim.errors import WrongValue
from tdqsim.facts import EIBFN, Cvda, Resp

if TYPE_CHECKING:
    from inspect import Parameter

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
S = TypeVar("S", bound=TaskBase)
T = TypeVar("T")

OptionKind = Literal[
    "name", "data", "storage", "halfword", "fullword", "flag", "cvda", "pointer", "label", "abstime", "value",
]  # fmt: skip
"""The kind of an option: a blank-padded name, a data area that is read, storage that the command may change, a number,
a keyword alone, a CVDA, a pointer, a callable."""


class Opt(NamedTuple):
    """The properties of one option: in ``Annotated`` for a parameter, in ``receives`` for a receiver.

    Attributes:
        kind: its kind.
        length: the length in bytes of a name or area; 0 if it is not fixed.
        word: the option's name in CICS, when it is not the parameter's name in upper case.
        required: for a receiver: whether the command must have it.
        secret: whether its value is not for logs: a password, or text for a person. Records never are, see
            :attr:`CommandOption.is_shown`.
    """

    kind: OptionKind
    length: int = 0
    word: str = ""
    required: bool = False
    secret: bool = False


# Types for the signatures of commands. ``help()`` shows these names; the docstring of Task explains them.
Name1OrNone = Annotated[str | None, Opt("name", 1)]
Name4 = Annotated[str, Opt("name", 4)]
Name4OrNone = Annotated[str | None, Opt("name", 4)]
Name8 = Annotated[str, Opt("name", 8)]
Name8OrNone = Annotated[str | None, Opt("name", 8)]
Password8 = Annotated[str, Opt("name", 8, secret=True)]
Password8OrNone = Annotated[str | None, Opt("name", 8, secret=True)]
Name16OrNone = Annotated[str | None, Opt("name", 16)]
Halfword = Annotated[int, Opt("halfword", 2)]
HalfwordOrNone = Annotated[int | None, Opt("halfword", 2)]
Fullword = Annotated[int, Opt("fullword", 4)]
FullwordOrNone = Annotated[int | None, Opt("fullword", 4)]
From = Annotated[bytes, Opt("data", word="FROM")]
Flag = Annotated[bool, Opt("flag")]
Cvda4 = Annotated[int, Opt("cvda", 4)]
NOT_AN_OPTION: Final = Opt("value", word="-")
"""For a parameter that exists only in Python, such as the result of RETURN: the CICS command has no such option."""


def to_cvda(value: Any) -> Cvda | None:
    """The CVDA with this name or number; None if there is none. True and False are no numbers here."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return Cvda.__members__.get(value.strip().upper())
    try:
        return Cvda(value)
    except ValueError:
        return None


class CommandOption(NamedTuple):
    """One option of a command.

    Attributes:
        word: its name in CICS, such as ``NOSUSPEND``.
        parameter: the Python parameter; empty for a receiver.
        kind: its kind.
        length: the length in bytes; 0 if it is not fixed.
        required: whether the command must have it.
        receiver: whether the program receives a value through it.
        secret: see :class:`Opt`.
    """

    word: str
    parameter: str
    kind: OptionKind
    length: int
    required: bool
    receiver: bool
    secret: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether logs show its value: not that of a secret, and no record or other area that a program sends."""
        is_area = self.kind in ("data", "storage", "value") and not self.length
        return not self.secret and (self.receiver or not is_area)


class Command:
    """One EXEC CICS command as declared.

    Attributes:
        name: such as ``READQ TD``.
        method: the name of the function and of the task's method, such as ``readq_td``.
        function: the function as written; with :func:`command` it does only the work of the command.
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
        """The two bytes of EIBFN after the command."""
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
        import inspect  # noqa: PLC0415  (needed only for the declaration, not to run the command)

        return tuple(inspect.signature(self.function).parameters.values())[1:]

    @cached_property
    def options(self) -> tuple[CommandOption, ...]:
        """Its options: parameters in order, then receivers. NOHANDLE, which is common to all commands, is included."""
        hints = _hints(self.function)
        options = []
        for parameter in self.parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                opt = _opt_of(hints.get(parameter.name))
                if opt == NOT_AN_OPTION:
                    continue
                word = opt.word or parameter.name.rstrip("_").upper()
                required = parameter.default is parameter.empty
                option = CommandOption(word, parameter.name, opt.kind, opt.length, required, receiver=False)
                options.append(option._replace(secret=opt.secret))
        for word, opt in self.receives.items():
            options.append(CommandOption(word, "", opt.kind, opt.length, opt.required, receiver=True))
        return tuple(options)

    def option(self, word: str) -> CommandOption | None:
        """The option with this word, or None. A word may be both a parameter and a receiver (LENGTH of READQ TD)."""
        return next((option for option in self.options if option.word == word), None)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a command; names that its module imports for type checkers only are Any."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    names = dict(getattr(function, "__func__", function).__globals__)
    while True:
        try:
            return get_type_hints(function, names, include_extras=True)
        except NameError as missing:
            names[missing.name] = Any


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
        raise WrongValue(f"command {name} is declared twice: {COMMANDS[name].function} and {function}")
    raised = frozenset(Resp[condition] for condition in conditions.split())
    COMMANDS[name] = Command(name, function, raised, receives or {})


def declared(name: str, conditions: str = "", receives: Mapping[str, Opt] | None = None) -> Callable[[F], F]:
    """Declare a function that is a complete command: it sets the EIB itself, and passes conditions to ``respond``.

    Args:
        name: the command's name in the manuals.
        conditions: names of the conditions it can raise, separated by blanks.
        receives: the options through which a program receives a value, by word.
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
    """Declare a function that does the work of a command, and make the complete command from it.

    Args:
        name: the command's name in the manuals.
        conditions: names of the conditions it can raise, separated by blanks.
        receives: the options through which a program receives a value, by word.
        resource: the parameter, the first after the task, whose value EIBRSRCE shows; most commands have none.
        otherwise: what the command returns after a condition that is not raised; if it is a function, the result of
            calling it with the command's positional arguments.
    """

    def declare(work: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
        _register(name, work, conditions, receives)
        return issued(name, work, resource=resource, otherwise=otherwise)

    return declare
