"""The possible framings of a file's records, each tested on the first bytes of the file.

Descriptor words, line ends and record lengths are tried in this order, in which a match by chance becomes more likely:
a chain of blocks that are each filled by a chain of records; a chain of records; a chain of blocks of records of one
length; lines of text; records of one length, which leave no marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Final, Literal

from tdqsim.datasets import Dcb, RecordFormat, damaged_blocks, likely_lengths, lines_in
from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.boundaries import record_steps
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, Frames, blocks_in
from tdqsim.pipeline.frames import walk_for
from tdqsim.pipeline.options import read_options

Confidence = Literal["certain", "likely", "possible"]
Given = Mapping[str, str]
_CERTAIN: Final = 5
"""From this number of records on, a chain of descriptor words is certain."""
_LONGEST_HEADER: Final = 1024
_FIXED_LENGTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Framing:
    """One way to locate the records of a file.

    Attributes:
        name: the record format, in words.
        qsam: the options that read it with ``format("qsam")``; None if only ``cobol`` reads it.
        cobol: the options that read it with ``format("cobol")``; None if only ``qsam`` reads it.
        dcb: the parameters of a DD card; empty if a DD card cannot describe it.
        confidence: how certain it is.
        reason: the evidence for it.
        damaged_at: where it is damaged; only the bytes before it can be read. 0 for nowhere.
    """

    name: str
    qsam: Given | None
    cobol: Given | None
    dcb: str
    confidence: Confidence
    reason: str
    damaged_at: int = 0

    @property
    def options(self) -> tuple[Given, bool]:
        """The options that read it, and whether they are options of ``cobol``."""
        return (self.qsam, False) if self.qsam is not None else (self.cobol or {}, True)


def walked(data: Bytes, given: Given, *, cobrix: bool, whole: bool) -> Frames | None:
    """Locate the records in the first bytes of a file with some options; None if these do not fit.

    Args:
        data: the first bytes, without those to be skipped.
        given: the options of the read.
        cobrix: whether they are options of ``cobol``.
        whole: whether the file has no other bytes.
    """
    more = {"copybook_contents": "01 R. 05 A PIC X."} if cobrix and "copybook" not in given else {}
    try:
        frames = walk_for(read_options(more | dict(given), cobrix=cobrix))(data, whole)
    except DatasetError:
        return None
    return frames if len(frames.starts) and frames.lengths.any() else None


def framings_of(data: Bytes, size: int, *, ebcdic: bool | None, length: int = 0) -> Iterator[Framing]:
    """The framings that fit the first bytes of a file, the most certain first.

    Args:
        data: the first bytes.
        size: how many bytes the file has.
        ebcdic: whether text in it looks like EBCDIC; None if that is unclear.
        length: the length of a record by the copybook; 0 without one.
    """
    whole = len(data) == size
    damage = damaged_blocks(data.tobytes(), whole=whole)
    if damage is not None:  # the words of blocks lead on, which must not be taken for those of records
        name = damage.recfm.value
        given = {"record_format": name}
        more = {"is_bdw_big_endian": "true", "bdw_adjustment": str(-DESCRIPTOR), "is_rdw_big_endian": "true"}
        cobol = given | more | {"is_rdw_part_of_record_length": "true"}
        yield Framing(name, given, cobol, f"RECFM={name}", "likely", str(damage), max(damage.offset, 1))
        return
    yield from _described(data, whole, _blocked())
    yield from _described(data, whole, _headed())
    yield from _fixed_blocks(data, whole, length)
    yield from _behind_headers(data, whole)
    yield from _lines(data.tobytes(), whole, ebcdic)
    yield from _fixed(data.tobytes(), size, length)


def _flags(**flags: bool) -> dict[str, str]:
    return {name: str(value).lower() for name, value in flags.items()}


Tried = tuple[str, Given | None, Given, str]


def _blocked() -> Iterator[Tried]:
    """VB and VBS with every variant of descriptor words; the variants of real data sets first."""
    order = sorted(product((True, False), repeat=4), key=lambda each: each.count(False))
    for bdw_big, bdw_own, rdw_big, rdw_own in order:
        for recfm in ("VB", "VBS"):
            if recfm == "VBS" and not rdw_big:
                continue
            words = _flags(is_bdw_big_endian=bdw_big, is_rdw_big_endian=rdw_big, is_rdw_part_of_record_length=rdw_own)
            given = {"record_format": recfm, **words, "bdw_adjustment": str(-DESCRIPTOR if bdw_own else 0)}
            usual = bdw_big and bdw_own and rdw_big and rdw_own
            name = recfm if usual else f"{recfm}, BDW {_words(bdw_big, bdw_own)}, RDW {_words(rdw_big, rdw_own)}"
            yield name, {"record_format": recfm} if usual else given, given, f"RECFM={recfm}" if usual else ""


def _headed() -> Iterator[Tried]:
    for big, own in product((True, False), repeat=2):
        given = {"record_format": "V", **_flags(is_rdw_big_endian=big, is_rdw_part_of_record_length=own)}
        recfm = RecordFormat.RDW if big else RecordFormat.RDWLE
        for position in (0, 2) if big else (2, 0):
            usual = position == (0 if big else 2)
            dcb = Dcb(recfm, rdw_inclusive=None if own else False, rdw_position=position or None)
            name = f"RDW {_words(big, own)}" + ("" if usual else f", length at byte {position}")
            yield name, given if usual else None, given, dcb.text


def _words(big: bool, own: bool) -> str:
    return f"{'big' if big else 'little'}-endian, {'inclusive' if own else 'without its own length'}"


def _described(data: Bytes, whole: bool, tried: Iterator[Tried]) -> Iterator[Framing]:
    fitting: list[tuple[Framing, int]] = []
    for name, qsam, cobol, dcb in tried:
        frames = walked(data, cobol if qsam is None else qsam, cobrix=qsam is None, whole=whole)
        if frames is None or (qsam is None and _is_mixed(data, frames, dcb)):
            continue
        count = len(frames.starts)
        part = "the file" if whole else f"the first {frames.used} bytes"
        reason = f"descriptor words lead through {part} without a gap: {count} records"
        sure: Confidence = "certain" if count >= _CERTAIN else "likely" if count > 1 else "possible"
        fitting.append((Framing(name, qsam, cobol, dcb, sure, reason), count))
    yield from (framing for framing, _ in sorted(fitting, key=lambda each: -each[1]))


def _is_mixed(data: Bytes, frames: Frames, dcb: str) -> bool:
    """Whether the length in some word is at another place than a DD card can describe."""
    other = 0 if "RDWPOS=2" in dcb else 2
    return bool((data[frames.places - DESCRIPTOR + other] | data[frames.places - DESCRIPTOR + other + 1]).any())


def _fixed_blocks(data: Bytes, whole: bool, length: int) -> Iterator[Framing]:
    for big, own in product((True, False), repeat=2):
        words = {**_flags(is_bdw_big_endian=big), "bdw_adjustment": str(-DESCRIPTOR if own else 0)}
        options = read_options({"record_format": "FB", "record_length": "1", **words})
        try:
            starts, ends, _ = blocks_in(data, whole, options)
        except DatasetError:
            continue
        inside = (ends - starts).tolist()
        common = gcd(*inside) if inside else 0
        if not common or (length and common % length) or min(inside) <= 0:
            continue
        given = {"record_format": "FB", "record_length": str(length or common), **words}
        sure: Confidence = "certain" if len(inside) >= _CERTAIN else "likely" if len(inside) > 1 else "possible"
        reason = (
            f"{len(inside)} block descriptor words lead through the data; all blocks are multiples of {common} bytes"
        )
        yield Framing(f"FB in blocks, BDW {_words(big, own)}", given, given, "", sure, reason)


def _behind_headers(data: Bytes, whole: bool) -> Iterator[Framing]:
    """Records with descriptor words between a header and, if the whole file is here, a trailer without such words."""
    for big, own in product((True, False), repeat=2):
        given = {"record_format": "V", **_flags(is_rdw_big_endian=big, is_rdw_part_of_record_length=own)}
        steps = record_steps(data, read_options(given)).tolist()
        for start in range(1, min(_LONGEST_HEADER, len(steps))):
            end, count = start, 0
            while end < len(steps) and end < steps[end] <= len(data):
                end, count = steps[end], count + 1
            rest = len(data) - end
            if count >= _CERTAIN and (rest <= _LONGEST_HEADER or not whole) and (end - start) * 2 > len(data):
                more = {"file_start_offset": str(start), **({"file_end_offset": str(rest)} if whole and rest else {})}
                reason = f"descriptor words lead from offset {start} to {end}: {count} records"
                yield Framing(f"RDW {_words(big, own)}", given | more, given | more, "", "likely", reason)
                break


def _lines(data: bytes, whole: bool, ebcdic: bool | None) -> Iterator[Framing]:
    for recfm, reason in lines_in(data, whole=whole, ebcdic=ebcdic):
        given = {"record_format": "D", "line_separator": recfm.name.lower()}
        sure: Confidence = "likely" if recfm is RecordFormat.NL else "certain"
        yield Framing(f"text, lines end with {recfm.name}", given, given, f"RECFM={recfm.name}", sure, reason)


def _fixed(data: bytes, size: int, length: int) -> Iterator[Framing]:
    rest = size % length if length else 0
    if length:
        left = (
            f"{rest} bytes of the file are left over" if rest else f"the file has {size // length} times as many bytes"
        )
        yield _fixed_framing(length, "possible" if rest else "likely", f"the length of the copybook's record; {left}")
    for start in range(1, rest + 1) if rest <= _LONGEST_HEADER else (rest,):
        yield _fixed_framing(length, "possible", f"{rest} bytes of the file are no record", start, rest - start)
    shown = {length} - {0}
    for number, (each, share) in enumerate(likely_lengths(data, size)[:_FIXED_LENGTHS]):
        if not any(each % shorter == 0 for shorter in shown):
            shown.add(each)
            reason = (
                f"the file has {size // each} times as many bytes; {share:.0%} of the places where a field seems to "
                f"begin come again {each} bytes on"
            )
            yield _fixed_framing(each, "possible" if number or (length and not rest) else "likely", reason)


def _fixed_framing(length: int, confidence: Confidence, reason: str, header: int = 0, trailer: int = 0) -> Framing:
    given = {"record_format": "F", "record_length": str(length)}
    given |= {"file_start_offset": str(header)} if header else {}
    given |= {"file_end_offset": str(trailer)} if trailer else {}
    dcb = "" if header or trailer else f"RECFM=FB,LRECL={length}"
    return Framing(f"F or FB, {length} bytes a record", given, given, dcb, confidence, reason)
