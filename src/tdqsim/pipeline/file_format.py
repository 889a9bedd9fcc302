"""Determine the format of a file: record format, code page, segments, header, trailer, and whether a copybook fits.

Every format that :mod:`tdqsim.datasets` detects in the first megabyte is a candidate. With a copybook each
candidate is decoded, and those with fewer corrupt fields come first. The code page is the one under which the letters
in the text belong to one language. Reads use nothing of this module: they never guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np

from tdqsim.datasets import Confidence, formats_in, looks_ebcdic
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import codepage
from tdqsim.layouts import BadValue, Field, FieldType, Layout, decode_value
from tdqsim.pipeline._numbers import Bytes, Mask
from tdqsim.pipeline.candidate_formats import CandidateFormat, candidate_of, walked
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, Frames
from tdqsim.pipeline.format_check import LINE_ENDS, line_end_after, utf16_in
from tdqsim.pipeline.opening import compression, list_files, open_file
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.splits import UTF8_MARK

SAMPLE: Final = 1 << 20
_ROWS: Final = 2000
_SHOWN: Final = 3
_SOME: Final = 200
_TRIED: Final = 50
_MANY_SEGMENTS: Final = 12
_FITS, _MISFITS = 0.02, 0.2
_ENDS: Final = 4
"""With more records than this, the first and the last record are tested separately as header and trailer."""
_LINES: Final = 3
"""From this number of records on, equal bytes at their ends may be line ends."""
_PAGES: Final = {
    "037": "", "1047": "", "500": "", "273": "äöüßÄÖÜ", "277": "æøåÆØÅ", "278": "åäöÅÄÖ", "280": "àèéìòù",
    "284": "ñÑáéíóú", "285": "£", "297": "éèàçùêîôûâ", "871": "ðþæöÐÞÆÖ", "875": "", "1025": "",
}  # fmt: skip
"""Code pages, in the order in which equally good ones are listed, with the letters for which each was made."""
_PLAIN: Final = rb"[\x40\x4b\x60\x61\x6b\x81-\x89\x91-\x99\xa2-\xa9\xc1-\xc9\xd1-\xd9\xe2-\xe9\xf0-\xf9]"
_WORDS: Final = re.compile(_PLAIN + rb"+(?:[\x41-\xfe]" + _PLAIN + rb"+)*")
_SIGNED: Final = re.compile(rb"[\xf0-\xf9][\xc0\xd0]")
_AHEAD: Final = ("HDR", "HEADER")
_BEHIND: Final = ("TRL", "TRAILER", "EOF", "TLR")


@dataclass(frozen=True, slots=True)
class Finding:
    """One property of the file.

    Attributes:
        what: the property.
        value: its value, in words.
        confidence: how certain it is.
        reason: the evidence for it.
        options: the options of a read for it.
    """

    what: str
    value: str
    confidence: Confidence
    reason: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to read the file.

    Attributes:
        format: how its records are delimited.
        findings: code page, segments, header and trailer.
        corrupt: the share of fields that are corrupt according to the copybook; None without one.
        misfit: the first field that is corrupt in most records, in words; empty for none.
        rows: the first records, decoded; without a copybook, their text.
    """

    format: CandidateFormat
    findings: tuple[Finding, ...]
    corrupt: float | None
    misfit: str
    rows: tuple[Mapping[str, Any], ...]

    def options(self, *, cobrix: bool) -> dict[str, str] | None:
        """The options of a read with ``cobol`` or ``qsam``; None if that format cannot read the file in this way."""
        given = self.format.cobol if cobrix else self.format.qsam
        if given is None:
            return None
        more = {name: value for finding in self.findings for name, value in finding.options.items()}
        return {**given, **more}


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """The likely formats of a file.

    Attributes:
        path: the file.
        size: its size in bytes; for a compressed file the size of its content if that was read to its end, else 0.
        compressed: the codec; empty for none.
        candidates: the ways to read it, the best first.
    """

    path: str
    size: int
    compressed: str
    candidates: tuple[Candidate, ...]


def inspect_file(path: str, copybook: str = "") -> list[InspectedFile]:
    """Examine a file, or each file of a directory or an object store.

    Args:
        path: the file, directory, pattern or URI.
        copybook: the path of a copybook.

    Raises:
        DatasetError: a file cannot be read or is empty, or no format fits it.
        LayoutError: the copybook is refused.
    """
    return [_inspect(name, size, copybook) for name, size in list_files((path,))]


def _inspect(path: str, size: int, copybook: str) -> InspectedFile:
    opened, codec = open_file(path), compression(path)
    try:
        head = opened.read_at(SAMPLE + 1, 0)
        if codec:
            size = len(head) if len(head) <= SAMPLE else SAMPLE << 10
        tail = opened.read_at(SAMPLE, max(size - SAMPLE, 0)) if not codec and size > SAMPLE else head[:SAMPLE]
    except (OSError, EOFError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    finally:
        opened.close()
    if not head:
        raise DatasetError(f"{path}: the file is empty: any format fits")
    if reason := utf16_in(head):
        raise DatasetError(f"{path}: text in UTF-16, {reason}; convert it to UTF-8 first")
    marked = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    data = np.frombuffer(head[marked:SAMPLE], np.uint8)
    sample = _Sample(data, tail, size - marked, copybook)
    candidates = [_contradicted(each) for each in sorted(sample.candidates(), key=_rank)]
    if marked:
        mark = Finding("byte order mark", "X'EFBBBF'", "certain", "of UTF-8; reads of lines leave it out", {})
        candidates = [replace(each, findings=(*each.findings, mark)) for each in candidates]
    if not candidates:
        raise DatasetError(
            f"{path}: no format fits its {size} bytes: no descriptor words or line ends, and no record length; give "
            "a copybook"
        )
    return InspectedFile(path, 0 if codec and len(head) > SAMPLE else size, codec, tuple(candidates))


def _rank(candidate: Candidate) -> tuple[bool, int, float]:
    """The sort key: candidates that fit the copybook, then the more certain ones, then those that fit it better."""
    sure = ("certain", "likely", "possible").index(candidate.format.confidence)
    corrupt = candidate.corrupt or 0.0
    return corrupt > _FITS, sure, corrupt


def _contradicted(candidate: Candidate) -> Candidate:
    """A candidate whose format is possible only, if the copybook contradicts it."""
    return (
        replace(candidate, format=replace(candidate.format, confidence="possible")) if candidate.misfit else candidate
    )


class _Sample:
    """The first and last bytes of a file."""

    def __init__(self, data: Bytes, tail: bytes, size: int, copybook: str) -> None:
        self.data, self.tail, self.size = data, tail, size
        self.whole = len(data) == size
        self.given = {"copybook": copybook} if copybook else {}
        self.ebcdic = looks_ebcdic(data.tobytes())
        self.length = read_options(self.given).length if copybook else 0
        self.length += len(line_end_after(data.tobytes(), self.length))

    def candidates(self) -> Iterator[Candidate]:
        """Every way to read the file that fits its first bytes."""
        for found in formats_in(self.data.tobytes(), self.size, ebcdic=self.ebcdic, length=self.length):
            candidate = candidate_of(found)
            given, cobrix = candidate.options
            start, end = (int(given.get(f"file_{name}_offset", 0)) for name in ("start", "end"))
            data = self.data[start : len(self.data) - end if self.whole else None]
            if candidate.damaged_at:
                data = self.data[: candidate.damaged_at]
            if start and given["record_format"] == "F":  # many starting offsets are tried
                data = data[: int(given["record_length"]) * _TRIED]
            frames = walked(data, {**given, "debug_ignore_file_size": "true"}, cobrix=cobrix, whole=False)
            if frames is None:
                frames = walked(data, given, cobrix=cobrix, whole=self.whole)
            if frames is not None:
                yield self._candidate(candidate, frames)

    def _candidate(self, candidate: CandidateFormat, frames: Frames) -> Candidate:
        given, cobrix = candidate.options
        kind = self._encoding(given)
        aside = tuple(_aside(given))
        if not self.given:
            in_ascii = kind.options["encoding"] == "ascii"
            page = _code_page(_texts(frames, ebcdic=not in_ascii), ascii_text=in_ascii)
            found = (kind, page, *_line_ends(given, frames), *aside, *_named_ends(frames, page.value))
            findings = tuple(each for each in found if each is not None)
            return Candidate(candidate, findings, None, "", tuple(_shown_texts(frames, page.value)))
        options = read_options({**self.given, **given, **kind.options}, cobrix=cobrix)
        assert options.layout is not None
        page = _code_page(_field_texts(options.layout, frames), ascii_text=kind.options["encoding"] == "ascii")
        options = read_options({**self.given, **given, **kind.options, **page.options}, cobrix=cobrix)
        decoded = _Decoded(options, frames)
        ends = aside or tuple(decoded.ends(self.whole))
        segments = decoded.segments()
        rows = decoded.rows(_SHOWN)
        findings = (kind, page, *_line_ends(given, frames), *segments, *ends)
        return Candidate(candidate, findings, decoded.corrupt, decoded.misfit(), rows)

    def _encoding(self, given: Mapping[str, str]) -> Finding:
        """EBCDIC or ASCII; where there is little text, EBCDIC, because files come from a mainframe."""
        lines = given.get("line_separator")
        in_ascii = lines in ("lf", "crlf") or (lines is None and self.ebcdic is False)
        sure: Confidence = "possible" if self.ebcdic is None else "certain"
        words = "there is little text" if self.ebcdic is None else "most letters, digits and blanks are in it"
        name = "ascii" if in_ascii else "ebcdic"
        return Finding("encoding", name.upper(), sure, words, {"encoding": name})


def _aside(given: Mapping[str, str]) -> Iterator[Finding]:
    """The header and trailer that the format excludes."""
    for what, option in (("header", "file_start_offset"), ("trailer", "file_end_offset")):
        if option in given:
            yield Finding(what, f"{given[option]} bytes", "likely", "these bytes remain outside the records", {})


def _line_ends(given: Mapping[str, str], frames: Frames) -> Iterator[Finding]:
    """A line end as the last bytes of every record of one length."""
    if given["record_format"] == "F" and (end := _common_end(frames)):
        reason = "every record ends with it, so these are lines of one length; it is no part of the last field"
        yield Finding("line end", f"X'{end.hex().upper()}' ({LINE_ENDS[end]})", "likely", reason, {})


def _common_end(frames: Frames) -> bytes:
    """The line end that all records have as their last bytes; empty for none."""
    if len(frames.starts) < _LINES or not frames.lengths.all():
        return b""
    stops, data = (frames.starts + frames.lengths).tolist(), frames.data.tobytes()
    return next((end for end in LINE_ENDS if all(data.startswith(end, stop - len(end)) for stop in stops)), b"")


# code pages -----------------------------------------------------------------------------------------------------------


def _texts(frames: Frames, *, ebcdic: bool) -> bytes:
    """The text in the records: words, and single other characters between them that are not signs of zoned numbers."""
    data = frames.data[: int(frames.starts[-1] + frames.lengths[-1])].tobytes()
    return b" ".join(_WORDS.findall(_SIGNED.sub(b"\xf0", data))) if ebcdic else data


def _field_texts(layout: Layout, frames: Frames) -> bytes:
    """The bytes of text fields."""
    fields = [
        item for item in layout.walk() if item.type is FieldType.TEXT and not item.redefines and item.occurs is None
    ]
    records = map(frames.record, range(min(len(frames.starts), _ROWS)))
    parts = (record[item.offset : item.offset + item.length] for record in records for item in fields)
    return b" ".join(filter(None, parts))


def _code_page(text: bytes, *, ascii_text: bool) -> Finding:
    """The code page under which the text is most plausible, and the pages that give the same characters for it."""
    if ascii_text:
        return _ascii_page(text)
    counts = Counter(text)
    shown = {page: {byte: _character(page, byte) for byte in counts} for page in _PAGES}
    scores = {page: _score(shown[page], counts, own) for page, own in _PAGES.items()}
    best = max(_PAGES, key=lambda page: scores[page])
    same = [page for page in _PAGES if shown[page] == shown[best] and page != best]
    others = sorted((page for page in _PAGES if page not in same and page != best), key=lambda page: -scores[page])
    sure: Confidence = "certain" if not others else "likely" if scores[best] > scores[others[0]] else "possible"
    named = f"{', '.join(same[:4])}{' and others' if len(same) > 4 else ''} give the same characters" if same else ""
    reason = f"its characters make words; next is {others[0]}" if others else "all pages give the same characters"
    reason += f"; {named}" if named and others else ""
    return Finding("code page", best, sure, reason, {"ebcdic_code_page": f"cp{best}"})


@cache
def _character(page: str, byte: int) -> str:
    try:
        return codepage(page).decode(bytes([byte]))
    except ConversionError:
        return "\ufffd"


def _score(shown: Mapping[int, str], counts: Mapping[int, int], own: str) -> float:
    """How much bytes look like text under a page: letters of its language count for it, odd characters against it."""
    score = 0.0
    for byte, count in counts.items():
        character = shown[byte]
        if own and character in own:
            score += count
        elif character.isalpha() and not character.isascii():
            score -= count * 0.25
        elif character in "[]":
            score -= count * 0.05
        elif not (character.isascii() and (character.isalnum() or character in " .,-/&'()+*:;$#@_=!?%\"<>")):
            score -= count * 0.5
    return score


def _ascii_page(text: bytes) -> Finding:
    if text.isascii():
        return Finding("code page", "ascii", "certain", "no byte has its first bit on", {})
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return Finding(
            "code page", "latin-1", "likely", "some bytes beyond ASCII are not UTF-8", {"ascii_charset": "latin-1"}
        )
    return Finding("code page", "utf-8", "likely", "all bytes beyond ASCII are UTF-8", {"ascii_charset": "utf-8"})


def _plain(data: bytes, page: str) -> str:
    """Text for display; bytes that are not characters become dots."""
    text = data.decode("utf-8", "replace") if page == "utf-8" else "".join(_character(page, byte) for byte in data)
    return "".join(each if each.isprintable() and each != "\ufffd" else "." for each in text)


def _shown_texts(frames: Frames, page: str) -> Iterator[Mapping[str, Any]]:
    for index in range(min(len(frames.starts), _SHOWN)):
        yield {"record": _plain(frames.record(index), page)}


def _named_ends(frames: Frames, page: str) -> Iterator[Finding]:
    """Header and trailer, identified by the words with which they begin."""
    for what, index, words in (("header", 0, _AHEAD), ("trailer", -1, _BEHIND)):
        record = frames.record(index)
        text = _plain(record[:16], page).strip().upper()
        if text.startswith(words):
            yield Finding(what, f"a record of {len(record)} bytes", "possible", f"it begins with {text[:8]!r}", {})


# copybooks ------------------------------------------------------------------------------------------------------------


class _Decoded:
    """The first records of a file, decoded with a copybook."""

    def __init__(self, options: QsamOptions, frames: Frames) -> None:
        assert options.layout is not None
        self.options, self.layout, self.frames = options, options.layout, frames
        self.count = min(len(frames.starts), _ROWS)
        decoder = RecordDecoder(self.layout, replace(options.shape, flat=False), corrupt=True)
        self.batch = decoder.decode(frames.data, frames.starts[: self.count], frames.lengths[: self.count])
        walk = list(self.layout.walk())
        redefined = {item.redefines for item in walk if item.redefines}
        shared = {item.path for item in walk if item.redefines or item.path in redefined}
        self.fields = [item for item in walk if not any(item.path[:end] in shared for end in range(len(item.path) + 1))]
        own = {".".join(item.path) for item in self.fields}
        self.corrupt_in: dict[str, int] = Counter()
        self.samples: dict[str, bytes] = {}
        sizes = np.zeros(self.count, np.int64)
        for row, entries in enumerate(self.batch.column("_corrupt_fields").to_pylist()):
            for entry in entries:
                if (name := str(entry["field_name"]).partition("(")[0]) in own:
                    sizes[row] += 1
                    self.corrupt_in[name] += 1
                    self.samples.setdefault(name, entry["raw_value"])
        self.bad = sizes > 0
        numbers = sum(item.count for item in self.fields if item.is_numeric) or 1
        inner = sizes[1:-1] if self.count > _ENDS else sizes
        self.outside = self._wrong_lengths()
        self.corrupt = float(inner.mean() / numbers + self.outside.mean())

    def _wrong_lengths(self) -> Mask:
        """Which records have a length that the copybook does not allow."""
        lengths = self.frames.lengths[: self.count]
        if self.options.recfm.fixed:
            wrong: Mask = ~np.isin(lengths - self.layout.length, (0, len(_common_end(self.frames))))
            return wrong
        return (lengths > self.layout.length) & (not self.options.recfm.separator)

    def rows(self, most: int) -> tuple[Mapping[str, Any], ...]:
        """The first records."""
        return tuple(self.batch.drop_columns(["_corrupt_fields"]).slice(0, most).to_pylist())

    def misfit(self) -> str:
        """The first field that is corrupt in many records, and the length or fields before it."""
        corrupt = {item: self.corrupt_in[".".join(item.path)] for item in self.fields}
        wrong = [item for item, count in corrupt.items() if count > self.count * _MISFITS]
        many, size = int(self.outside.sum()), self.layout.length
        other = f"{many} of {self.count} records have another length than the copybook's {size} bytes" if many else ""
        if not wrong:
            return other
        item = min(wrong, key=lambda item: item.offset)
        raw = self.samples[".".join(item.path)].hex().upper()
        return (
            f"field {item.name} at offset {item.offset} is corrupt in {corrupt[item]} of {self.count} records, such as "
            f"X'{raw}'; the fields before it fit{other and '; '}{other}"
        )

    def ends(self, whole: bool) -> Iterator[Finding]:
        """A header or trailer: a first or last record that does not fit the copybook while the others do."""
        if self.count <= _ENDS or self.bad[1:-1].mean() > _FITS:
            return
        fixed, lengths = self.options.recfm.fixed, self.frames.lengths
        word = 0 if fixed or self.options.recfm.separator else DESCRIPTOR
        all_here = whole and self.count == len(lengths)
        for what, index, there, others, skip in (
            ("header", 0, True, "after", {"file_start_offset": str(int(self.frames.starts[1]) - word)}),
            ("trailer", -1, all_here, "before", {"file_end_offset": str(lengths[-1])} if fixed else {}),
        ):
            if there and self.bad[index]:
                reason = f"it does not fit the copybook; the records {others} it do"
                yield Finding(what, f"a record of {lengths[index]} bytes", "likely", reason, skip)

    def segments(self) -> Iterator[Finding]:
        """A field before redefinitions whose few values correspond to one redefinition each."""
        groups = [item for item in self.layout.walk() if item.redefines and item.is_group and item.occurs is None]
        if not groups:
            return
        first = min(item.offset for item in groups)
        fields = [
            item for item in self.layout.walk()
            if not item.is_group and item.occurs is None and item.offset + item.length <= first and item.length <= 8
            and item.type is FieldType.TEXT
        ]  # fmt: skip
        for item in fields:
            values = self._values(item)
            distinct = Counter(value for value in values if value)
            if 1 < len(distinct) <= _MANY_SEGMENTS and len(distinct) * 3 <= self.count:
                shown = ", ".join(f"{value} ({number})" for value, number in distinct.most_common())
                yield Finding(
                    "segments", f"{item.name}: {shown}", "possible",
                    f"{item.name} has {len(distinct)} values in {self.count} records, and redefinitions follow it",
                    {"segment_field": item.name, **self._map(values, distinct)},
                )  # fmt: skip
                return

    def _values(self, item: Field) -> list[str]:
        page, field = codepage(self.layout.rules.code_page), slice(item.offset, item.offset + item.length)
        return [page.decode(self.frames.record(index)[field]).strip() for index in range(self.count)]

    def _map(self, values: Iterable[str], distinct: Iterable[str]) -> dict[str, str]:
        """For each value, the redefinition with the fewest corrupt fields in its records."""
        redefined = [item for item in self.layout.walk() if item.is_group and item.occurs is None]
        shared = {item.redefines for item in redefined if item.redefines}
        choices = [item for item in redefined if item.redefines or item.path in shared]
        known = list(values)
        segments: dict[str, str] = {}
        for number, value in enumerate(sorted(distinct)):
            rows = [index for index, each in enumerate(known) if each == value]
            bad = {item.path: self._share_without_value(item, rows[:_SOME]) for item in choices}
            longest = max(int(self.frames.lengths[index]) for index in rows)
            best = min(
                choices,
                key=lambda item: (
                    bad[item.path] > _FITS,
                    abs(item.offset + item.length - longest),
                    -sum(child.is_numeric for child in item.walk()),
                ),
            )
            segments[f"redefine_segment_id_map:{number}"] = f"{best.name} => {value}"
        return segments

    def _share_without_value(self, group: Field, rows: list[int]) -> float:
        """The share of the numbers in a group that have no valid value, in some records."""
        numbers = [item for item in group.walk() if item.is_numeric and item.occurs is None]
        missing = 0
        for row in rows:
            record = self.frames.record(row)
            for item in numbers:
                raw = record[item.offset : item.offset + item.length]
                try:
                    missing += len(raw) < item.length or decode_value(item, raw, self.layout.rules) is None
                except BadValue:
                    missing += 1
        return missing / (len(rows) * len(numbers) or 1)
