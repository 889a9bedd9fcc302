"""The options and the result of each INQUIRE command, made from ``inquire.tsv``.

For TDQUEUE they are ``TdqueueOption``, the options as words, which may be written in lower case too, and
``TdqueueInfo``, whose attributes are the requested options in lower case; in the same way for each other resource. The
build writes ``inquiries.pyi`` for editors and type checkers: ``python -m tests.generators.stubs`` does it in a clone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from tdqsim.facts._codes import Cvda
from tdqsim.facts._records import INQUIRE_OPTIONS, InquireOption
from tdqsim.facts.info import Info

_TYPES: Final = {
    "CHAR": "str", "VARCHAR": "str", "BINARY": "int", "HALF": "int", "PACKED": "int", "ABSTIME": "int", "HEX": "bytes",
}  # fmt: skip
"""Annotations are text here as elsewhere: to make the types takes long, and only a reader of the hints needs them."""
_IDENTITY: Final = {
    "TDQUEUE": "str", "CONNECTION": "str", "TASK": "int", "TRANSACTION": "str", "UOW": "bytes", "UOWLINK": "bytes",
    "FILE": "str", "REQID": "str", "TRANCLASS": "str", "TRANDUMPCODE": "str", "PROGRAM": "str", "TERMINAL": "str",
    "TSQUEUE": "str",
}  # fmt: skip
"""The type of the value by which a browse identifies a resource; UOWENQ and SYSTEM have none."""
_ABOUT: Final = """The result of one INQUIRE {0}; its attributes are the requested options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["{0}"]`` describes the options. ``as_dict()`` returns those requested. The result is
    empty after a condition that was not raised (NOHANDLE).
    """


def _type_of(resource: str, option: InquireOption) -> str:
    if option.receiver != "CVDA":
        return _TYPES[option.receiver]
    may_lack = resource != "TDQUEUE" or option.closed_notapplic or option.otherwise is Cvda.NOTAPPLIC
    values = (*option.values, *((Cvda.NOTAPPLIC,) if may_lack else ()))
    return f"Literal[{', '.join(f'Cvda.{value.name}' for value in values)}]"


def _attributes(resource: str) -> Iterator[tuple[str, str]]:
    options = INQUIRE_OPTIONS[resource]
    if resource in _IDENTITY and resource not in options:
        yield resource.lower(), _IDENTITY[resource]
    for option in options.values():
        yield option.name.lower(), _type_of(resource, option)


def _made(resource: str) -> dict[str, Any]:
    """The options and the class of the result of one resource, by name."""
    title = resource.capitalize()
    words = tuple(spelt for option in INQUIRE_OPTIONS[resource] for spelt in (option, option.lower()))
    members: dict[str, Any] = {"__slots__": (), "__module__": __name__, "__doc__": _ABOUT.format(resource)}
    members["__annotations__"] = dict(_attributes(resource))
    return {f"{title}Option": Literal[words], f"{title}Info": type(f"{title}Info", (Info,), members)}


for _each in INQUIRE_OPTIONS:
    globals().update(_made(_each))
