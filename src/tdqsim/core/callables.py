"""Checks of the functions that users pass: handlers, programs, exits, scenarios.

A call of an async function, an async generator function or a generator function runs none of its lines: it returns an
object that somebody has to drive, which nothing here does. A task of such a handler would end normally without having
done anything, so it is refused where it is passed. So is a function that cannot take the arguments that it will be
called with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType, CoroutineType, FunctionType
from typing import Final

from tdqsim.errors import WrongType

_KINDS: Final = {0x80: "an async function", 0x200: "an async generator", 0x20: "a generator"}
"""CO_COROUTINE, CO_ASYNC_GENERATOR and CO_GENERATOR of inspect: functions that run none of their lines when called."""
_LAZY: Final = sum(_KINDS)


def why_unusable(call: object, *arguments: str, more: bool = False) -> str:
    """Why something cannot serve as a handler or program, as the end of a sentence; empty if it can.

    Args:
        call: the object: a function, a bound method, a partial, or an object with ``__call__``.
        arguments: the names of the positional arguments that it is called with, for the message.
        more: whether it may be called with further arguments.
    """
    if type(call) is FunctionType and not more:  # the usual case, in a fraction of the time of inspect
        code, given = call.__code__, len(arguments)
        fewest = code.co_argcount - len(call.__defaults__ or ())
        if not code.co_flags & _LAZY and not code.co_kwonlyargcount and fewest <= given <= code.co_argcount:
            return ""
    if not callable(call):
        return f"{call!r:.40} cannot be called"
    kind = _lazy_kind(call)
    if kind:
        return (
            f"{_named(call)} is {kind}: calling it runs none of its lines; allowed is a function with neither async "
            "nor yield"
        )
    import inspect  # noqa: PLC0415  (slow to import, and not needed for a plain function)

    try:
        signature = inspect.signature(call, follow_wrapped=False)
    except (ValueError, TypeError):
        return ""  # a callable written in C may have none
    try:
        (signature.bind_partial if more else signature.bind)(*arguments)
    except TypeError as error:
        shown = f"{', '.join(arguments)}{', ...' if more else ''}"
        return f"{_named(call)} cannot be called as ({shown}): {error}"
    return ""


def why_no_hook(hook: object, *methods: str) -> str:
    """Why an object cannot serve as a hook with these methods, as the end of a sentence; empty if it can."""
    reasons = ((name, why_unusable(getattr(hook, name, None), more=True)) for name in methods)
    return next((f"its method {name}: {reason}" for name, reason in reasons if reason), "")


def refuse_coroutine(value: object) -> None:
    """Refuse the result of a program that has only called an async function: none of its lines has run.

    Raises:
        TypeError: the value is a coroutine.
    """
    if type(value) is CoroutineType:
        value.close()
        code = value.cr_code
        raise WrongType(
            f"the program returned a coroutine: {value.__qualname__} ({code.co_filename}:{code.co_firstlineno}) is an "
            "async function, none of whose lines has run; allowed is a function without async"
        )


def _lazy_kind(call: Callable[..., object]) -> str:
    """In words, which kind of function that runs nothing when it is called; empty for others."""
    code = _code(call)
    return "" if code is None else _KINDS.get(code.co_flags & _LAZY, "")


def _code(call: Callable[..., object]) -> CodeType | None:
    """The code that runs when something is called; None if it is not written in Python, and for a class."""
    call = _innermost(call)
    return getattr(call if hasattr(call, "__code__") else type(call).__call__, "__code__", None)


def _innermost(call: Callable[..., object]) -> Callable[..., object]:
    """What partial objects around it call in the end."""
    while isinstance(call, partial):
        call = call.func
    return call


def _named(call: Callable[..., object]) -> str:
    """Name a callable, with the file and line of its code."""
    call = _innermost(call)
    code = _code(call)
    name = getattr(call, "__qualname__", None) or f"{type(call).__qualname__} object"
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else str(name)
