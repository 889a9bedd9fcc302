"""Writes ``rows.py``: what each INQUIRE returns, for type checkers and editors, out of ``facts/inquire.tsv``.

Type checkers read source and do not run it, so the table's options are written out as classes:
``python -m tdqsim.cics.spi.row_types``. A test sees that the file is what the table says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tdqsim.facts import INQUIRE_OPTIONS, Cvda, InquireOption

__all__ = ["row_types_source"]

_FILE: Final = Path(__file__).with_name("rows.py")
_HEAD: Final = '''\
"""What each INQUIRE returns, attribute by attribute; :mod:`tdqsim.cics.spi.row_types` writes it."""

from __future__ import annotations

from typing import Literal

from tdqsim.cics.spi.info import Info
from tdqsim.facts import Cvda

'''
_TYPES: Final = {
    "CHAR": "str", "VARCHAR": "str", "BINARY": "int", "HALF": "int", "PACKED": "int", "ABSTIME": "int", "HEX": "bytes",
}  # fmt: skip
_IDENTITY: Final = {
    "TDQUEUE": "str", "CONNECTION": "str", "TASK": "int", "TRANSACTION": "str", "UOW": "bytes", "UOWLINK": "bytes",
}  # fmt: skip
"""Which one it was, as a browse says it; a thing of UOWENQ has no name of its own."""


def row_types_source() -> str:
    """The source of the file."""
    names = {resource: f"{resource.capitalize()}Info" for resource in INQUIRE_OPTIONS}
    quoted = ", ".join(f'"{name}"' for name in sorted(names.values()))
    lines = [f"__all__ = [{quoted}]"]
    for resource, name in names.items():
        said = f"What one INQUIRE {resource} returned; attributes are the options in lower case."
        lines += ["", "", f"class {name}(Info):", f'    """{said}"""', "", "    __slots__ = ()", ""]
        lines += _attributes(resource)
    return _HEAD + "\n".join(lines) + "\n"


def _attributes(resource: str) -> Iterator[str]:
    options = INQUIRE_OPTIONS[resource]
    if resource in _IDENTITY and resource not in options:
        yield f"    {resource.lower()}: {_IDENTITY[resource]}"
    for option in options.values():
        yield f"    {option.name.lower()}: {_type(resource, option)}"


def _type(resource: str, option: InquireOption) -> str:
    if option.receiver != "CVDA":
        return _TYPES[option.receiver]
    may_lack = resource != "TDQUEUE" or option.closed_notapplic or option.otherwise is Cvda.NOTAPPLIC
    values = (*option.values, *((Cvda.NOTAPPLIC,) if may_lack else ()))
    return f"Literal[{', '.join(f'Cvda.{value.name}' for value in values)}]"


if __name__ == "__main__":
    _FILE.write_text(row_types_source(), "utf-8")
