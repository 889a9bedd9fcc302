"""Files whose descriptor words show another format than the one they are to be read in.

A data set says nowhere what its format is. Where descriptor words chain from its beginning to its end, or through all
of its first part, that is no chance: read as fixed records, it would give as many rows of nonsense as fit its size.
"""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.datasets import Dcb, RecordFormat, format_by_words
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, FramingError
from tdqsim.pipeline.options import QsamOptions

__all__ = ["HEAD", "refuse_other_format", "words_hint"]

HEAD = 1 << 17
"""How many bytes at the beginning of a file are looked at."""
BLOCKS_LOOKED_AT = 16


def refuse_other_format(data: bytes, offset: int, options: QsamOptions, *, whole: bool) -> None:
    """Refuse a file whose descriptor words show another format than that of the options.

    Args:
        data: the beginning of its records, at most HEAD bytes.
        offset: where that is in the file.
        options: of the read.
        whole: data is all there is to read.

    Raises:
        FramingError: fixed records are to be read, and there are descriptor words; or records with descriptor words
            and no blocks are, and there are blocks.
    """
    if not options.recfm.fixed:
        _refuse_blocks(data, offset)
        return
    found = format_by_words(data, whole=whole, lrecl=options.length)
    if found is None or not found.recfm or not found.recfm.variable:
        _refuse_fixed_blocks(data, offset, options)
    if found is not None:
        raise FramingError(
            f"these are no fixed records of {options.length} bytes: {_shown(found, options)}; if they only look so,"
            " set debug_ignore_file_size=true",
            offset,
        )


def words_hint(data: bytes, options: QsamOptions, *, whole: bool) -> str:
    """For an error about descriptor words: the format that they show and how to read it.

    Empty where they show none, or the one that the options read.
    """
    found = format_by_words(data, whole=whole)
    if found is None or _settings(found) == _settings_of(options):
        return ""
    return f"; {_shown(found, options)}"


def _settings(found: Dcb) -> tuple[RecordFormat, bool, int, int]:
    """Format, endianness and what is added to the lengths in the descriptor words of records and blocks."""
    assert found.recfm is not None
    if found.recfm.variable:
        return found.recfm, True, -DESCRIPTOR, -DESCRIPTOR
    return RecordFormat.RDW, _big(found), -DESCRIPTOR if _inclusive(found) else 0, 0


def _settings_of(options: QsamOptions) -> tuple[RecordFormat, bool, int, int]:
    recfm = RecordFormat.VBS if options.recfm is RecordFormat.VS else options.recfm
    blocks = options.bdw_adjustment if options.bdw_big_endian and recfm.variable else 0
    return recfm, options.rdw_big_endian, options.rdw_adjustment, blocks


def _shown(found: Dcb, options: QsamOptions) -> str:
    """The format that was found, and the options that read it."""
    assert found.recfm is not None
    cobol = options.cobrix or (not found.recfm.variable and (found.rdw_position or 0) != (0 if _big(found) else 2))
    given = _cobol_options(found) if cobol else _qsam_options(found)
    where = "" if cobol is options.cobrix else "with format cobol "
    other = f" (or with format qsam {_qsam_options(found)})" if options.cobrix and found.recfm.variable else ""
    what = "block and record" if found.recfm.variable else "record"
    return f"{what} descriptor words chain through the data as in {found.text}: {where}set {given}{other}"


def _qsam_options(found: Dcb) -> str:
    """The options of ``qsam``, where descriptor words are those of real data sets unless options say otherwise."""
    assert found.recfm is not None
    if found.recfm.variable:
        return f"record_format={found.recfm.value}"
    given = ["record_format=V"]
    given += [] if _big(found) else ["is_rdw_big_endian=false"]
    given += [] if _inclusive(found) else ["is_rdw_part_of_record_length=false"]
    return ", ".join(given)


def _cobol_options(found: Dcb) -> str:
    """The options of ``cobol``, where descriptor words are little-endian and do not count themselves by default."""
    assert found.recfm is not None
    given = [f"record_format={found.recfm.value if found.recfm.variable else 'V'}"]
    given += ["is_bdw_big_endian=true", f"bdw_adjustment={-DESCRIPTOR}"] if found.recfm.variable else []
    given += ["is_rdw_big_endian=true"] if _big(found) else []
    given += ["is_rdw_part_of_record_length=true"] if _inclusive(found) else []
    return ", ".join(given)


def _big(found: Dcb) -> bool:
    return found.recfm is not RecordFormat.RDWLE


def _inclusive(found: Dcb) -> bool:
    return found.rdw_inclusive is not False


def _refuse_blocks(data: bytes, offset: int) -> None:
    """Refuse blocks where records without blocks are to be read: records with words of their own fill each exactly."""
    if _is_row(data, lambda block: _is_row(block, lambda _: True, empty=True, whole=True)):
        raise FramingError(
            "every record begins with a descriptor word of its own, so these are blocks: read them with record_format"
            " VB (V stands for records without blocks; RDW does too, and takes these as they are)",
            offset,
        )


def _refuse_fixed_blocks(data: bytes, offset: int, options: QsamOptions) -> None:
    """Refuse fixed records in blocks where they are to be read without: words before them say how many there are."""
    forms = [(big, own) for big in (True, False) for own in (True, False)]
    if any(_is_row(data, lambda block: not len(block) % options.length, big=big, own=own) for big, own in forms):
        reads = "without block_length" if options.cobrix else "where is_bdw_big_endian or bdw_adjustment is given"
        raise FramingError(
            f"a block descriptor word stands before the records; record_format FB reads blocks {reads}", offset
        )


def _is_row(
    data: bytes,
    holds: Callable[[bytes], bool],
    *,
    big: bool = True,
    own: bool = True,
    empty: bool = False,
    whole: bool = False,
) -> bool:
    """Whether data is a row of pieces behind words with their lengths."""
    position = seen = 0
    while position + DESCRIPTOR <= len(data) and (whole or seen < BLOCKS_LOOKED_AT):
        word = data[position : position + DESCRIPTOR][:: 1 if big else -1]
        size = int.from_bytes(word[:2], "big") + (0 if own else DESCRIPTOR)
        if size < DESCRIPTOR + (not empty) or any(word[2:]):
            return False
        if position + size > len(data):
            break
        if not holds(data[position + DESCRIPTOR : position + size]):
            return False
        position, seen = position + size, seen + 1
    complete = position == len(data) and seen > 0
    return complete if whole or seen < 2 else True
