"""The stub of ``tdqsim.facts._codes``: RESP numbers and CVDAs as source text."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from tdqsim.facts import Cvda, Resp

_HEAD: Final = '''\
"""RESP numbers and CVDAs for editors and type checkers; ``python -m tests.generators.stubs`` writes it."""

from enum import IntEnum
'''


def codes_source() -> str:
    """The source text of the stub."""
    return _HEAD + "".join(line for kind in (Resp, Cvda) for line in _declared(kind))


def _declared(kind: type[IntEnum]) -> Iterator[str]:
    yield f'\nclass {kind.__name__}(IntEnum):\n    """{kind.__doc__}"""\n\n'
    yield from (f"    {name} = {each.value}\n" for name, each in kind.__members__.items())
