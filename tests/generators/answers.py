"""The stub of ``tdqsim.server.answers.tables``: its typed dictionaries as source text."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from tdqsim.server.answers import tables

_HEAD: Final = '''\
"""Answers made from tables, for editors and type checkers; ``python -m tests.generators.stubs`` writes it."""

from typing import NotRequired, Required, TypedDict
'''
_NAMES: Final = {Required: "Required", NotRequired: "NotRequired"}


def answers_source() -> str:
    """The source text of the stub."""
    made = dict.fromkeys(
        each for each in (*vars(tables)["INNER"].values(), *vars(tables).values()) if is_typeddict(each)
    )
    return _HEAD + "".join(line for each in made for line in _declared(each))


def _declared(answer: Any) -> Iterator[str]:
    total = "" if answer.__total__ else ", total=False"
    yield f'\nclass {answer.__name__}(TypedDict{total}):\n    """{answer.__doc__}"""\n\n'
    yield from (f"    {name}: {_written(hint)}\n" for name, hint in get_type_hints(answer, include_extras=True).items())


def _written(hint: Any) -> str:
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _written(arguments[0])
    if kind in (Union, UnionType):
        return " | ".join(map(_written, arguments))
    if kind is not None:
        return f"{_NAMES.get(kind) or kind.__name__}[{', '.join(map(_written, arguments))}]"
    return "None" if hint is type(None) else hint.__name__
