"""Writes what each INQUIRE is asked and returns, for type checkers and editors, out of ``facts/inquire.tsv``.

Type checkers read source and do not run it, so the table's options are written out as classes. The thin client imports
nothing of regions and has a file of its own: ``python -m tests.generators.inquire_rows`` writes ``cics/spi/rows.py`` and the
client's ``_tdqueue_info.py``. A test compares the files with the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Final

import tdqsim
from tdqsim.facts import INQUIRE_OPTIONS, SET_TDQUEUE_OPTIONS, Cvda, InquireOption, SetOption

__all__ = ["option_words_source", "row_types_source"]

_PACKAGE: Final = Path(tdqsim.__file__).parent
_FILE: Final = _PACKAGE / "cics" / "spi" / "rows.py"
_CLIENTS_FILE: Final = _PACKAGE / "client" / "_tdqueue_info.py"
_HEAD: Final = '''\
"""What each INQUIRE is asked and returns, word by word; ``python -m tests.generators.inquire_rows`` writes it."""

from __future__ import annotations

from typing import Literal

from tdqsim.cics.spi.info import Info
from tdqsim.facts import Cvda

'''
_CLIENTS_HEAD: Final = '''\
"""What INQUIRE TDQUEUE and SET TDQUEUE take and return; ``python -m tests.generators.inquire_rows`` writes it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tdqsim.client._info import RemoteCvda, RemoteInfo

__all__ = ["CvdaValue", "RemoteTdqueueInfo", "SetTdqueueOptions", "TdqueueOption", "TdqueueState"]

'''
_TYPES: Final = {
    "CHAR": "str", "VARCHAR": "str", "BINARY": "int", "HALF": "int", "PACKED": "int", "ABSTIME": "int", "HEX": "bytes",
}  # fmt: skip
_IDENTITY: Final = {
    "TDQUEUE": "str", "CONNECTION": "str", "TASK": "int", "TRANSACTION": "str", "UOW": "bytes", "UOWLINK": "bytes",
    "FILE": "str", "PROGRAM": "str", "TERMINAL": "str", "TSQUEUE": "str",
}  # fmt: skip
"""Which one it was, as a browse says it; a thing of UOWENQ has no name of its own."""


def row_types_source() -> str:
    """The source of the file."""
    names = {resource: f"{resource.capitalize()}Info" for resource in INQUIRE_OPTIONS}
    words = {_words_name(resource): _words(resource) for resource in INQUIRE_OPTIONS}
    quoted = ", ".join(f'"{name}"' for name in sorted([*names.values(), *words]))
    lines = [f"__all__ = [{quoted}]", "", *(f"{name} = {said}" for name, said in words.items())]
    for resource, name in names.items():
        lines += ["", "", f"class {name}(Info):", *_said(resource), "", "    __slots__ = ()", ""]
        lines += _attributes(resource)
    return _HEAD + "\n".join(lines) + "\n"


def _said(resource: str) -> tuple[str, ...]:
    return (
        f'    """What one INQUIRE {resource} returned; attributes are the options in lower case.',
        "",
        f'    ``tdqsim.facts.INQUIRE_OPTIONS["{resource}"]`` tells each option. Those asked for are there, by',
        "    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).",
        '    """',
    )


def option_words_source() -> str:
    """The source of the client's file."""
    types = {
        option.name: "RemoteCvda" if option.receiver == "CVDA" else _TYPES[option.receiver]
        for option in INQUIRE_OPTIONS["TDQUEUE"].values()
    }
    attributes = (f"    {name.lower()}: {type_}" for name, type_ in types.items())
    lines = [
        f"{_words_name('TDQUEUE')} = {_words('TDQUEUE')}", "", "",
        "class RemoteTdqueueInfo(RemoteInfo):",
        '    """What INQUIRE TDQUEUE returned: those options that were asked for; attributes are in lower case."""',
        "", "    __slots__ = ()", "", "    tdqueue: str", *attributes, "", "",
        "class SetTdqueueOptions(TypedDict, total=False):",
        '    """What SET TDQUEUE changes; the names and words are those of a task\'s method."""',
        "", *(f"    {option.name.lower()}: {_given(option)}" for option in SET_TDQUEUE_OPTIONS.values()), "", "",
        "class CvdaValue(TypedDict):",
        '    """A CVDA by name and number."""',
        "", "    cvda: str", "    value: int", "", "",
        "class TdqueueState(TypedDict):",
        '    """A queue: its name, and all options of INQUIRE TDQUEUE."""',
        "", "    name: str",
        *(f"    {name}: {type_.replace('RemoteCvda', 'CvdaValue')}" for name, type_ in types.items()),
    ]  # fmt: skip
    return _CLIENTS_HEAD + "\n".join(lines) + "\n"


def _given(option: SetOption) -> str:
    if option.kind != "CVDA":
        return "int" if option.kind == "BINARY" else "str"
    either = ", ".join(f'"{word}", "{word.lower()}"' for word in option.values)
    return f"Literal[{either}]"


def _words_name(resource: str) -> str:
    return f"{resource.capitalize()}Option"


def _words(resource: str) -> str:
    """The options as words, which may be written in lower case too."""
    either = (spelt for option in INQUIRE_OPTIONS[resource] for spelt in (option, option.lower()))
    words = fill(", ".join(f'"{word}"' for word in either), 116, initial_indent="    ", subsequent_indent="    ")
    return f"Literal[\n{words},\n]  # fmt: skip"


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
    _CLIENTS_FILE.write_text(option_words_source(), "utf-8")
