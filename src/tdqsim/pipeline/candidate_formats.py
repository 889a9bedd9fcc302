"""The formats that may be those of a file, with the options of a read for each.

They are detected by :mod:`tdqsim.datasets`. A read with the options of one is tried on the first bytes of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tdqsim.datasets import Confidence, FoundFormat, RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, Frames
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.record_locations import walk_for

Given = Mapping[str, str]
ANY_COPYBOOK = {"copybook_contents": "01 R. 05 A PIC X."}


@dataclass(frozen=True, slots=True)
class CandidateFormat:
    """One way to locate the records of a file.

    Attributes:
        name: the record format, in words.
        qsam: the options that read it with ``format("qsam")``; None if only ``cobol`` reads it.
        cobol: the options that read it with ``format("cobol")``.
        dcb: the parameters of a DD card; empty if a DD card cannot describe it.
        confidence: how certain it is.
        reason: the evidence for it.
        damaged_at: where it is damaged; only the bytes before it can be read. 0 for nowhere.
    """

    name: str
    qsam: Given | None
    cobol: Given
    dcb: str
    confidence: Confidence
    reason: str
    damaged_at: int = 0

    @property
    def options(self) -> tuple[Given, bool]:
        """The options that read it, and whether they are options of ``cobol``."""
        return (self.qsam, False) if self.qsam is not None else (self.cobol, True)


def walked(data: Bytes, given: Given, *, cobrix: bool, whole: bool) -> Frames | None:
    """Locate the records in the first bytes of a file with some options; None if these do not fit.

    Args:
        data: the first bytes, without those to be skipped.
        given: the options of the read.
        cobrix: whether they are options of ``cobol``.
        whole: whether the file has no other bytes.
    """
    more = ANY_COPYBOOK if cobrix and "copybook" not in given else {}
    try:
        frames = walk_for(read_options(more | dict(given), cobrix=cobrix))(data, whole)
    except DatasetError:
        return None
    return frames if len(frames.starts) and frames.lengths.any() else None


def candidate_of(found: FoundFormat) -> CandidateFormat:
    """A format that was detected, and the options for it, without those whose default reads it."""
    words, dcb = found.words, found.dcb.text if found.dcb is not None else ""
    aside = {"file_start_offset": found.header, "file_end_offset": found.trailer}
    more = {name: str(size) for name, size in aside.items() if size}
    qsam: Given | None
    if words is None:
        separator = found.recfm.separator
        given = {"record_format": "D", "line_separator": found.recfm.name.lower()}
        if not separator:
            given = {"record_format": "F", "record_length": str(found.length)}
        name = f"text, lines end with {found.recfm.name}" if separator else f"F or FB, {found.length} bytes a record"
        qsam = cobol = given | more
    else:
        own = _words(words.big, words.own)
        outer = f"BDW {_words(words.block_big, words.block_own)}"
        qsam, cobol = _told(found, cobrix=False) | more, _told(found, cobrix=True) | more
        if found.recfm is RecordFormat.FB:
            name = f"FB in blocks, {outer}"
        elif found.recfm is RecordFormat.RDW:
            usual = words.position == (0 if words.big else 2)
            name = f"RDW {own}" + ("" if usual else f", length at byte {words.position}")
            qsam = qsam if usual else None
        else:
            name = found.recfm.value if dcb else f"{found.recfm.value}, {outer}, RDW {own}"
    return CandidateFormat(name, qsam, cobol, dcb, found.confidence, found.reason, found.damaged_at)


def _told(found: FoundFormat, *, cobrix: bool) -> dict[str, str]:
    """The options about descriptor words.

    By default ``qsam`` expects those of real data sets; those of ``cobol`` are little-endian and do not count
    themselves. Without any of these options, ``qsam`` reads FB as records without descriptor words.
    """
    words = found.words
    assert words is not None
    blocks = {"is_bdw_big_endian": words.block_big, "bdw_adjustment": words.block_own}
    records = {"is_rdw_big_endian": words.big, "is_rdw_part_of_record_length": words.own}
    if found.recfm is RecordFormat.FB:
        told, given = blocks, {"record_format": "FB", "record_length": str(found.length)}
    else:
        unblocked = found.recfm is RecordFormat.RDW
        told = {name: is_so for name, is_so in (records if unblocked else blocks | records).items() if is_so is cobrix}
        given = {"record_format": "V" if unblocked else found.recfm.value}
    adjust = str(-DESCRIPTOR if words.block_own else 0)
    return given | {name: adjust if name == "bdw_adjustment" else str(so).lower() for name, so in told.items()}


def _words(big: bool, own: bool) -> str:
    return f"{'big' if big else 'little'}-endian, {'inclusive' if own else 'without its own length'}"
