"""Error messages that name the argument of a public function that has a wrong type.

Checking every argument of every call would cost more than many commands do. So arguments are checked only after an
error. Suppose Python raises ``'NoneType' object has no attribute 'rstrip'`` somewhere inside a call. If an argument, or
an element of a sequence among the arguments, contradicts its annotation, this error is replaced by one that names the
argument, its value and the allowed types. Otherwise the error has another cause, such as a handler's code, and is
raised unchanged.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from tdqsim.core.spelling import did_you_mean
from tdqsim.errors import TdqError, WrongType, WrongValue

if TYPE_CHECKING:
    from inspect import Signature

P = ParamSpec("P")
T = TypeVar("T")

BARE = (AttributeError, TypeError, KeyError, ValueError, OverflowError)
"""The errors that Python itself raises for a value of an unexpected type, or a number that is too large."""
_LARGEST: Final = 2**63 - 1
"""The largest number that any argument may be."""
_ALSO: dict[type, tuple[type, ...]] = {bytes: (bytearray, memoryview), float: (int,), PathLike: (str,)}


@cache
def _declared(function: Callable[..., Any]) -> tuple[Signature, dict[str, Any]]:
    import inspect  # noqa: PLC0415  (needed only for the message of an error)

    names = inspect.unwrap(function).__globals__  # those of the module with the annotations, not of the decorator
    hints: dict[str, Any] = {}
    for each, hint in function.__annotations__.items():
        holder = type("Holder", (), {"__annotations__": {each: hint}})
        with suppress(NameError):  # a name imported for type checkers only cannot be resolved here
            hints |= get_type_hints(holder, names)
    return inspect.signature(function), hints


def _allowed(hint: Any) -> tuple[type, ...] | None:
    """The classes that a type hint allows; None when the hint cannot be checked with isinstance."""
    if hint is None:
        return (types.NoneType,)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        parts = [_allowed(each) for each in get_args(hint)]
        return None if None in parts else tuple(each for part in parts if part is not None for each in part)
    class_ = origin if isinstance(origin, type) else hint
    if not isinstance(class_, type) or class_ is Any or getattr(class_, "_is_protocol", False):
        return None
    return (class_,)


def _wrong(place: str, value: Any, hint: Any) -> tuple[str, Any, str] | None:
    """The first contradiction of a value, or an element of it, to a hint: place, value there and allowed types."""
    allowed = _allowed(hint)
    if allowed is None:
        return None
    if not isinstance(value, allowed + tuple(more for one in allowed for more in _ALSO.get(one, ()))):
        return place, value, " or ".join("None" if one is types.NoneType else one.__name__ for one in allowed)
    if not isinstance(value, Sequence) or isinstance(value, str):
        is_alone = isinstance(value, str) and not any(issubclass(one, str) for one in allowed) and Sequence in allowed
        return (place, value, "a list or tuple") if is_alone else None
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    part = next((each for each in parts if isinstance(value, _allowed(each) or ())), None)
    inner = get_args(part)
    if get_origin(part) is tuple and Ellipsis not in inner:
        if len(value) != len(inner):
            return place, value, f"a tuple of {len(inner)}"
    else:
        inner = inner[:1] * len(value)
    elements = (_wrong(f"{place}[{at}]", *each) for at, each in enumerate(zip(value, inner, strict=False)))
    return next((contradiction for contradiction in elements if contradiction is not None), None)


def _wants_bytes(value: object, words: str) -> bool:
    """Whether a value is text where the allowed types, as words, have bytes."""
    return isinstance(value, str) and "bytes" in words.split()


def raise_wrong_type(
    error: Exception, name: str, function: Callable[..., Any], args: Any, kwargs: Any, encoder: str = ""
) -> None:
    """Raise an error that names the first argument whose class its annotation does not allow, if there is one.

    Args:
        error: the original error; errors that the package itself raised are left alone.
        name: the name of the function for users, such as ``WRITEQ TS``.
        function: the function with its annotations.
        args: its positional arguments, ``self`` included.
        kwargs: its keyword arguments.
        encoder: the call that makes bytes of text, such as ``region.encode``, for errors about text in place of bytes.

    Raises:
        TypeError: an argument, or an element of a list or tuple, has a wrong type; chained to ``error``.
        ValueError: the argument is a number that is too large, or text with X'00' where that is not allowed.
    """
    if isinstance(error, TdqError):
        return
    signature, hints = _declared(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        own = {"self", "task", "job"}
        known = [
            each.name
            for each in signature.parameters.values()
            if each.name not in own and each.kind is not each.VAR_POSITIONAL
        ]
        unknown = [each for each in kwargs if each not in signature.parameters]
        if unknown:  # otherwise Python's own error names the missing or surplus argument
            meant = did_you_mean(unknown[0], known)
            raise WrongType(f"{name}: {unknown[0]} is not an option{meant}; allowed are {', '.join(known)}") from None
        return
    for each, value in arguments.items():
        parameter = signature.parameters[each]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        contradiction = _wrong(each.rstrip("_"), value, hints.get(each, Any))
        if contradiction is not None:
            place, wrong, words = contradiction
            cure = f"; {encoder}({wrong!r:.40}) makes bytes of text" if encoder and _wants_bytes(wrong, words) else ""
            raise WrongType(f"{name}: {place} is {wrong!r:.40}; allowed is {words}{cure}") from error
        if isinstance(error, OverflowError) and isinstance(value, int) and abs(value) > _LARGEST:
            raise WrongValue(f"{name}: {each} is {value!r:.40}; allowed are numbers to {_LARGEST}") from error
        if isinstance(error, ValueError) and isinstance(value, str) and "\0" in value:
            raise WrongValue(f"{name}: {each} is {value!r:.40}; allowed is text without X'00'") from error


def explains_wrong_types(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an error from a wrong argument type names the argument."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BARE as error:
            name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2].lstrip("_")
            raise_wrong_type(error, name, function, args, kwargs)
            raise

    return checked
