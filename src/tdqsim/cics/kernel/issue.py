"""The steps around the work of every command: checks, hooks and recorder, the EIB, and the turn of other tasks.

The order of the steps is:

1. The command is refused without effect when the task or the region has ended, or another thread issues it.
2. A hook is called; it may raise a condition instead of the work.
3. The work is done.
4. The outcome is put into the EIB; a condition is handled as NOHANDLE, HANDLE and IGNORE say
   (:mod:`~tdqsim.cics.kernel.handling`).
5. The hook and the recorder are notified.
6. If the program outside the dispatcher issues the command, tasks that are ready get their turn.

READQ TD, WRITEQ TD and DELETEQ TD keep the same order, each in a separate function.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.eib import completion
from tdqsim.cics.kernel.task import TaskBase, let_others_run, refuse, respond
from tdqsim.cics.model.region import RegionData
from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.core.spelling import did_you_mean
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from inspect import Signature

P = ParamSpec("P")
S = TypeVar("S", bound=TaskBase)
T = TypeVar("T")


def check_flag(name: str, word: str, value: object) -> None:
    """Refuse a value other than True and False for an option without a value: a text such as ``"NO"`` would be true.

    Raises:
        UsageError: the value is neither True nor False.
    """
    if value is not True and value is not False:
        raise UsageError(f"{name}: {word} is {value!r:.40}; allowed are True and False")


def new_name(command: str, word: str, value: str, longest: int) -> str:
    """A name that a command gives to something new, without its padding.

    Raises:
        UsageError: it is too long; as text it would be cut.
    """
    name = value.rstrip(" ")
    if len(name) > longest:
        raise UsageError(f"{command}: {word} has at most {longest} characters: {value!r:.40}")
    return name


def check_options(name: str, words: Iterable[str], allowed: Collection[str]) -> None:
    """Refuse a word that is not an option of a command.

    Raises:
        UsageError: a word is not an option; the text lists the allowed ones.
    """
    for word in words:
        if word not in allowed:
            meant = did_you_mean(word, allowed)
            raise UsageError(f"{word} is not an option of {name}{meant}; allowed are {', '.join(allowed)}")


@cache
def _signature(work: Callable[..., object]) -> Signature:
    import inspect  # noqa: PLC0415  (needed only with a hook or recorder)

    return inspect.signature(work)


def issued(
    name: str, work: Callable[Concatenate[S, P], T], *, resource: str, otherwise: Any
) -> Callable[Concatenate[S, P], T]:
    """The command whose work is a function; see :func:`tdqsim.cics.kernel.command.command`."""
    done = completion(name)
    flags = frozenset(each for each, hint in work.__annotations__.items() if hint in {"Flag", "bool"})

    def arguments(task: S, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of the call by parameter name, for hook and recorder."""
        bound = _signature(work).bind(task, *args, **kwargs).arguments
        return {each: value for each, value in list(bound.items())[1:] if each != "nohandle"}

    @wraps(work)
    def issue(task: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        region = task._region
        if task._ended or region.closed or get_ident() != region.dispatcher.thread:
            refuse(task, name)
        if kwargs:
            for each in kwargs.keys() & flags:
                check_flag(name, each, kwargs[each])
        shown = ""
        if resource:
            first = args[0] if args else kwargs.get(resource)
            shown = first if isinstance(first, str) else ""
        given = None
        try:
            if region.is_watched:
                given = arguments(task, args, kwargs)
                if region.hook is not None:
                    region.hook.before(task, name, given)
            value = work(task, *args, **kwargs)
            task.eib.last = completion(name, shown) if resource else done
        except Condition as condition:
            if given is not None:
                _notify(region, task, name, given, condition)
            nohandle = bool(kwargs.get("nohandle"))
            instead = cast("T", otherwise(*args) if callable(otherwise) else otherwise)
            return respond(task, condition, name, shown.rstrip(" "), nohandle=nohandle, otherwise=instead)
        except BARE as error:
            raise_wrong_type(error, name, work, (task, *args), kwargs, "region.encode")
            raise
        if given is not None:
            _notify(region, task, name, given, value)
        if task._outside:
            let_others_run(task)
        return value

    return issue


def _notify(region: RegionData, task: TaskBase, name: str, given: Mapping[str, object], outcome: object) -> None:
    if region.hook is not None:
        region.hook.after(task, name, given, outcome)
    if region.recorder is not None:
        region.recorder.command(task, name, given, outcome)
