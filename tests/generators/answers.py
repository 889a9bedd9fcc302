"""The stub of ``tdqsim.server.answers.tables``: its typed dictionaries as source text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NotRequired, Required, get_origin

from typing_extensions import get_type_hints, is_typeddict

from tdqsim.server.answers import tables

_HEAD: Final = '''\
"""Answers made from tables, for editors and type checkers; ``python -m tests.generators.stubs`` writes it."""

from typing import NotRequired, Required, TypedDict
'''


def answers_source() -> str:
    """The source text of the stub."""
    made = [each for each in vars(tables).values() if is_typeddict(each)]
    return _HEAD + "".join(line for each in made for line in _declared(each))


def _declared(answer: Any) -> Iterator[str]:
    total = "" if answer.__total__ else ", total=False"
    yield f'\nclass {answer.__name__}(TypedDict{total}):\n    """{answer.__doc__}"""\n\n'
    yield from (f"    {name}: {_written(hint)}\n" for name, hint in get_type_hints(answer, include_extras=True).items())


def _written(hint: Any) -> str:
    marker = {Required: "Required", NotRequired: "NotRequired"}.get(get_origin(hint))
    if marker is not None:
        return f"{marker}[{_written(hint.__args__[0])}]"
    return hint.__name__ if isinstance(hint, type) else str(hint)
