"""The answers file: what a probe program has observed on one machine.

It is a data set of text records of at most 255 bytes, in the code page of the machine or in ASCII. The first record is
the header, the last one the trailer, and each record between them is one observation::

    TDQPROBE 1 CICS 5.6 #@$
    TD-DISABLED                      1        RESP             84
    TD-DISABLED                      1        RESP2            0
    *END 2

The parts of a record are separated by blanks. A value extends to the end of its record and may contain blanks; it may
be empty. Blanks at the end of a record have no meaning. The number in the trailer, if there is one, is that of the
observations. The last part of the header contains three characters whose bytes differ between EBCDIC code pages: the
reader uses the first code page in which it reads ``#@$``. A file without line ends (a data set transferred in binary)
has records of 255 bytes. A file without its trailer is incomplete: the program was interrupted, and the observations up
to there are used.

A file comes from elsewhere. The reader therefore checks every record and limits all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from tdqsim.errors import ConversionError, DefinitionError, Problem, WrongValue
from tdqsim.hosting import codepage

MAGIC: Final = "TDQPROBE"
FORMAT: Final = "1"
MARKER: Final = "#@$"
"""Characters whose bytes differ between code pages; the last part of the header."""
RECORD_BYTES: Final = 255
PRODUCTS: Final = ("CICS", "IBMI")
LEFT_OUT: Final = "LEFT-OUT"
"""The step of an observation that gives the reason why the rest of a case was not run."""

_MOST_BYTES: Final = 16_000_000
_MOST_OBSERVATIONS: Final = 50_000
_PAGES: Final = ("819", "037", "1047", "273", "500", "285", "297", "277", "278", "280", "284")
"""Code pages in the order in which they are tried; 819 reads ASCII."""
_RULE, _STEP, _FIELD = 33, 9, 17  # columns of a written record, with the blank behind each
_PARTS: Final = {
    "rule": (re.compile(r"[A-Z][A-Z0-9-]{0,39}"), "a rule id of at most 40 characters A-Z 0-9 -"),
    "step": (re.compile(r"[A-Z0-9-]{1,8}"), "1 to 8 characters A-Z 0-9 -"),
    "field": (re.compile(r"[A-Z][A-Z0-9-]{0,15}"), "1 to 16 characters A-Z 0-9 -"),
}
_RELEASE = re.compile(r"[0-9A-Z.]{1,12}")


class Observation(NamedTuple):
    """The value of a field after a step of a case.

    Attributes:
        rule: the id of the rule.
        step: the number or name of the step, at most 8 characters.
        field: the name of the field, such as RESP2, at most 16 characters.
        value: its value as text: a number in decimal, bytes that are not text in hexadecimal.
    """

    rule: str
    step: str
    field: str
    value: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Rule, step and field, which identify an observation in a file."""
        return self.rule, self.step, self.field


@dataclass(frozen=True, slots=True)
class Answers:
    """The contents of an answers file.

    Attributes:
        product: CICS or IBMI.
        release: the release of the product, as the machine names it.
        observations: in the order of the file.
        complete: whether the file has its trailer.
        code_page: the code page in which the file was read.
    """

    product: str
    release: str
    observations: tuple[Observation, ...]
    complete: bool = True
    code_page: str = "819"

    def values(self) -> dict[tuple[str, str, str], str]:
        """The values by rule, step and field."""
        return {each.key: each.value for each in self.observations}


def read_answers(source: Path | str | bytes, name: str = "<bytes>") -> Answers:
    """Read an answers file.

    Args:
        source: the path of the file, or its contents.
        name: the name for messages, if contents are given.

    Raises:
        DefinitionError: the file is not an answers file, or a record is wrong; the message gives line and reason.
        OSError: the file cannot be read.
    """
    if isinstance(source, bytes):
        data = source
    else:
        name = str(source)
        with Path(source).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        _refuse(name, 0, "", f"is longer than {_MOST_BYTES:,} bytes")
    page, records = _records(data, name)
    header = records[0].split()
    if len(header) == 5 and header[1] != FORMAT:
        _refuse(name, 1, records[0], f"has format {header[1]:.20}; this tdqsim reads format {FORMAT}")
    if len(header) != 5 or header[2] not in PRODUCTS or not _RELEASE.fullmatch(header[3]):
        allowed = f"{MAGIC} {FORMAT} {' or '.join(PRODUCTS)}, the release and {MARKER}"
        _refuse(name, 1, records[0], f"is not the header of an answers file; allowed is {allowed}")
    observations, complete = _observations(records, name)
    return Answers(header[2], header[3], observations, complete, page)


def _refuse(name: str, line: int, value: str, message: str) -> NoReturn:
    raise DefinitionError([Problem(name, line, "", "", value[:80], message)])


def _records(data: bytes, name: str) -> tuple[str, list[str]]:
    """The code page of the file, and the text of its records, without blanks at the end."""
    for page in _PAGES:
        start = codepage(page).encode(MAGIC + " ")
        if not data.startswith(start):
            continue
        lines = list(_split(data, ascii_=page == "819"))
        try:
            first = codepage(page).decode(lines[0]).rstrip()
        except ConversionError:
            continue
        if first.endswith(" " + MARKER):
            return page, [_text(line, page, name, number) for number, line in enumerate(lines, 1)]
    message = f"does not begin with {MAGIC} and a header that ends in {MARKER}, in ASCII or a known EBCDIC code page"
    return _refuse(name, 1, "", message)


def _split(data: bytes, *, ascii_: bool) -> Iterator[bytes]:
    """The records: lines, or pieces of 255 bytes if the first 256 bytes contain no line end."""
    ends = (b"\n",) if ascii_ else (b"\x15", b"\x25", b"\n")
    end = next((each for each in ends if each in data[: RECORD_BYTES + 2]), None)
    if end is None:
        for start in range(0, len(data), RECORD_BYTES):
            yield data[start : start + RECORD_BYTES]
        return
    yield from data.removesuffix(b"\x1a").removesuffix(end).split(end)


def _text(line: bytes, page: str, name: str, number: int) -> str:
    line = line.removesuffix(b"\r")
    if len(line) > RECORD_BYTES:
        _refuse(name, number, "", f"has {len(line)} bytes; allowed are {RECORD_BYTES}")
    try:
        text = codepage(page).decode(line)
    except ConversionError as error:
        return _refuse(name, number, "", str(error))
    return "".join(each if each.isprintable() else "." for each in text).rstrip()


def _observations(records: list[str], name: str) -> tuple[tuple[Observation, ...], bool]:
    found: dict[tuple[str, str, str], Observation] = {}
    for line, record in enumerate(records[1:], 2):
        if not record:
            continue
        if record.startswith("*END"):
            return _ended(found, records, line, name)
        if len(found) == _MOST_OBSERVATIONS:
            _refuse(name, line, "", f"there are more than {_MOST_OBSERVATIONS:,} observations")
        observation = _observation(record, line, name)
        if observation.key in found:
            _refuse(name, line, " ".join(observation.key), "is there twice; a step has one value for each field")
        found[observation.key] = observation
    return tuple(found.values()), False


def _ended(
    found: dict[tuple[str, str, str], Observation], records: list[str], line: int, name: str
) -> tuple[tuple[Observation, ...], bool]:
    if records[line - 1].split() not in (["*END"], ["*END", str(len(found))]):
        message = f"is not the trailer; after {len(found)} observations allowed is *END, or *END {len(found)}"
        _refuse(name, line, records[line - 1], message)
    if any(records[line:]):
        _refuse(name, line + 1, "", "there is a record after the trailer *END")
    return tuple(found.values()), True


def _observation(record: str, line: int, name: str) -> Observation:
    parts = record.split(None, 3)
    if len(parts) < len(_PARTS):
        _refuse(name, line, record, "has fewer parts than rule, step, field and value")
    for (what, (pattern, allowed)), part in zip(_PARTS.items(), parts, strict=False):
        if not pattern.fullmatch(part):
            _refuse(name, line, part, f"is not a {what}; allowed is {allowed}")
    return Observation(parts[0], parts[1], parts[2], parts[3] if len(parts) > len(_PARTS) else "")


def write_answers(answers: Answers, *, code_page: str = "819", lines: bool = True) -> bytes:
    """The bytes of an answers file.

    Args:
        answers: the contents.
        code_page: the code page.
        lines: whether the records are lines; else they have 255 bytes, as in a data set that was transferred in binary.

    Raises:
        ConversionError: a value has a character that the code page has not.
        ValueError: a record is longer than 255 bytes.
    """
    written = b""
    space, end = codepage(code_page).encode(" "), b"\n" if code_page == "819" else b"\x15"
    for text in _lines(answers):
        record = codepage(code_page).encode(text)
        if len(record) > RECORD_BYTES:
            raise WrongValue(f"{text[:60]}...: the record has {len(record)} bytes; allowed are {RECORD_BYTES}")
        written += record + end if lines else record.ljust(RECORD_BYTES, space)
    return written


def _lines(answers: Answers) -> Iterable[str]:
    yield f"{MAGIC} {FORMAT} {answers.product} {answers.release} {MARKER}"
    for rule, step, field, value in answers.observations:
        yield f"{rule:<{_RULE}}{step:<{_STEP}}{field:<{_FIELD}}{value}".rstrip()
    if answers.complete:
        yield f"*END {len(answers.observations)}"
