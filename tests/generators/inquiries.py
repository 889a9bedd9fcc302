"""The stub of ``tdqsim.facts.inquiries``: the options and results of INQUIRE as source text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any, Final, get_args, get_type_hints

from tdqsim.facts import INQUIRE_OPTIONS, inquiries

_HEAD: Final = '''\
"""The options and results of INQUIRE for editors and type checkers; ``python -m tests.generators.stubs`` writes it."""

from typing import Literal

from tdqsim.facts import Cvda
from tdqsim.facts.info import Info
'''


def inquiries_source() -> str:
    """The source text of the stub."""
    return _HEAD + "".join(each for resource in INQUIRE_OPTIONS for each in _declared(resource.capitalize()))


def _declared(title: str) -> Iterator[str]:
    words = ", ".join(map(repr, get_args(getattr(inquiries, f"{title}Option"))))
    yield f"\n{title}Option = Literal[\n{fill(words, 112, initial_indent='    ', subsequent_indent='    ')},\n]\n"
    result = getattr(inquiries, f"{title}Info")
    yield f'\nclass {title}Info(Info):\n    """{result.__doc__}"""\n\n'
    yield from (f"    {name}: {_written(hint)}\n" for name, hint in get_type_hints(result).items())


def _written(hint: Any) -> str:
    values = ", ".join(f"Cvda.{each.name}" for each in get_args(hint))
    return f"Literal[{values}]" if values else hint.__name__
