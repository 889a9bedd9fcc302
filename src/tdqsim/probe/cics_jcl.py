"""What comes with the programs of the probe: DFHCSDUP input, JCL, and the page for the change request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tdqsim.errors import UsageError

INPUT_RECORDS: Final = ("FIRST RECORD", "SECOND RECORD", "THIRD RECORD")
"""The records of the data set that the probe reads; each is padded to 80 bytes."""
PREFIX: Final = "ZP"
HLQ: Final = "TDQPROBE"
"""The usual prefix of names, and the usual qualifiers of data sets."""
_FOLDER: Final = Path(__file__).parent
_PREFIX: Final = re.compile(r"[A-Z][A-Z0-9]")
"""How program names begin. COBOL allows $, # and @ in a PROGRAM-ID only in a literal, and not always."""
_QUALIFIERS: Final = re.compile(r"[A-Z$#@][A-Z0-9$#@]{0,7}(\.[A-Z$#@][A-Z0-9$#@]{0,7})*")
_LONGEST_HLQ: Final = 28
"""A qualifier of the probe and those of VSAM follow, and a line of DFHCSDUP has 71 columns."""
_RELEASE: Final = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}")


def check_names(prefix: str, hlq: str, release: str) -> None:
    """Refuse names with which the probe could not be installed.

    Raises:
        UsageError: the text names the value and what is allowed.
    """
    if not _PREFIX.fullmatch(prefix) or prefix.startswith("C"):
        raise UsageError(f"prefix {prefix!r}: allowed are two characters A-Z 0-9; the first is no digit and not C")
    if not _QUALIFIERS.fullmatch(hlq) or len(hlq) > _LONGEST_HLQ:
        raise UsageError(f"hlq {hlq!r}: allowed are qualifiers of a data set name, at most {_LONGEST_HLQ} characters")
    if not _RELEASE.fullmatch(release):
        raise UsageError(f"release {release!r}: allowed are two numbers, such as 5.6")


def definitions_text(prefix: str, *, hlq: str = HLQ, programs: Iterable[str] = ()) -> str:
    """The DFHCSDUP input.

    Args:
        prefix: two characters with which all names begin.
        hlq: the high-level qualifiers of the data sets.
        programs: the programs to define.
    """
    text = (_FOLDER / "cics_definitions.txt").read_text("utf-8").replace("&GROUP", f"{prefix}PROBE")
    text = text.replace("&HLQ", hlq).replace("&P", prefix)
    for number, name in enumerate(programs, 1):
        text += f"DEFINE PROGRAM({name}) GROUP({prefix}PROBE) LANGUAGE(COBOL)\n"
        if number > 1:  # the transaction of the first program is in the text
            text += f"DEFINE TRANSACTION({prefix}H{number}) GROUP({prefix}PROBE) PROGRAM({name})\n"
    return text


def filled(name: str, prefix: str, values: Mapping[str, str]) -> str:
    """A text of the probe: ``{NAME}`` is replaced by a value, and ``&P`` by the prefix.

    Args:
        name: the text: alloc, build, define, remove or change.
        prefix: two characters with which all names begin.
        values: by name.
    """
    text = (_FOLDER / f"cics_{name}.txt").read_text("utf-8").replace("{P}", prefix)
    text = re.sub(r"&P(?=[A-Z])", prefix, text)
    return re.sub(r"\{([A-Z]+)\}", lambda match: values[match[1]], text)
