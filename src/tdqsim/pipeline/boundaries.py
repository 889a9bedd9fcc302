"""The first place after a given one where a record, a block or a line begins, without reading the file up to there.

Lines begin after separators. Records of variable length have no marks between them: only the descriptor word of each
record leads to the next. So the search follows a *chain* of descriptor words from every place in a window. The window
begins at the cut and is as long as the longest step from one descriptor word to the next; the end of the data counts as
a place too. A chain dies where the walk through the file would refuse its word. In a sound file a record begins in the
window, or the data end there: its chain is among those that are followed, and it never dies. Therefore a place that all
surviving chains pass through is a true boundary. The first such place is the answer; if the chains do not meet within
the horizon, there is none.

In a damaged file the true chain may die and a false one survive. So the task that reads up to such a place checks that
its own chain reaches it. The task before it does the same, and so on, back to the task that begins at the head of the
file.

Two kinds of words are not followed: words of large blocks (first bit on), because their windows would be 16 MB, and,
under ``cobol``, words of which neither half is zero, because nearly any four bytes look like one. Files that begin with
such words are read from the start (:func:`is_searchable`). If such a word comes later in a file, the search usually
gives no boundary for a cut before it; if it gives a false one, the check refuses it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, LARGE, SEGMENT_CODES, halves_anywhere
from tdqsim.pipeline.options import QsamOptions

HORIZON = 1 << 20
"""How many bytes after a cut are searched, at most."""
FIRST_LOOK = 3
"""How many windows are searched first; the chains have nearly always met by then."""
LONGEST_RECORD, LONGEST_BLOCK = 0xFFFF, 0x7FFF
ReadAt = Callable[[int, int], bytes]


def is_searchable(head: Bytes, places: Ints, options: QsamOptions) -> bool:
    """Whether boundaries in a file can be searched for, by the descriptor words at its head.

    Args:
        head: the first bytes of the data.
        places: where records begin in them.
        options: of the read.
    """
    if options.blocked:
        return len(head) < DESCRIPTOR or not head[0 if options.bdw_big_endian else DESCRIPTOR - 1] & LARGE
    words = head[(places[:, None] - DESCRIPTOR) + np.arange(DESCRIPTOR)]
    return not (words[:, :2].any(axis=1) & words[:, 2:].any(axis=1)).any()


def boundary(read_at: ReadAt, cut: int, end: int, options: QsamOptions) -> int | None:
    """The first place from ``cut`` on where a record begins; None if no place is certain.

    In blocked records it is the first place where a block begins, which in spanned records may be inside a record. If
    the data ends before that, it is ``end``.
    """
    if options.recfm.separator:
        # The byte before the cut is read too: if it is a separator, a record begins exactly at the cut.
        index = read_at(min(HORIZON, end - cut + 1), cut - 1).find(options.recfm.separator[-1:])
        return cut + index if index >= 0 else None
    longest = LONGEST_BLOCK + options.bdw_adjustment if options.blocked else LONGEST_RECORD + options.rdw_adjustment
    window, data = longest + DESCRIPTOR, b""
    for size in (window * FIRST_LOOK, window + HORIZON):
        data += read_at(min(size, end - cut) - len(data), cut + len(data))
        final = cut + len(data) >= end
        place = _common_place(np.frombuffer(data, np.uint8), window, options, final=final)
        if place is not None:
            return cut + place
        if final:
            break
    return None


def _common_place(data: Bytes, window: int, options: QsamOptions, *, final: bool) -> int | None:
    """The first place in ``data`` that the surviving chains of all places in the window pass through.

    Args:
        data: bytes from the cut on.
        window: length of the longest step, in bytes.
        options: of the read.
        final: no data follows these bytes.
    """
    size = len(data)
    dead = size + 1
    steps = np.full(size + 2, dead, np.int64)
    known = max(size - DESCRIPTOR + 1, 0)
    after = _block_steps(data, options) if options.blocked else record_steps(data, options)
    after[after - np.arange(known) > window] = -1
    steps[:known] = np.where(after < 0, dead, np.where(after <= size, after, dead if final else size))
    steps[size] = size  # the end, or what lies beyond these bytes
    if not final:
        # Words that begin here are incomplete, so their chains may well be valid: they leave the data alive.
        steps[known:size] = size
    far = steps
    for _ in range((size // DESCRIPTOR).bit_length()):  # each round doubles the number of steps taken
        far = far[far]
    alive = np.flatnonzero(far[: min(window, size) + 1] == size).tolist()
    if not alive or (not final and alive[0] == size):
        return None
    heads = bytearray(size + 1)
    for place in alive:
        heads[place] = 1
    left, place = len(alive), alive[0]
    while left > 1:  # the chain that is furthest back takes a step; where it meets another chain, the two become one
        heads[place] = 0
        after_it = int(steps[place])
        if after_it == size and not final:
            return None
        left -= heads[after_it]
        heads[after_it] = 1
        place = heads.find(1, place + 1)
    return place


def record_steps(data: Bytes, options: QsamOptions) -> Ints:
    """Where the descriptor word at each place leads; -1 where the walk refuses it."""
    lengths, other = halves_anywhere(data, options)
    places = np.arange(max(len(data) - DESCRIPTOR + 1, 0))
    after: Ints = places + lengths(places) + (options.rdw_adjustment + DESCRIPTOR)
    wrong: Mask = after < places + DESCRIPTOR + options.cobrix
    second = other[: len(places)]
    if not options.cobrix:
        wrong |= (second & np.uint16(0xFFFF ^ SEGMENT_CODES) if options.recfm.spanned else second) != 0
    elif not options.blocked:  # see the module's docstring
        first = data[: len(places)] | data[1 : len(places) + 1]
        wrong |= (first != 0) & (second != 0)
    after[wrong] = -1
    return after


def _block_steps(data: Bytes, options: QsamOptions) -> Ints:
    """Where the block at each place ends; -1 where the walk refuses the block or a record in it."""
    known = max(len(data) - DESCRIPTOR + 1, 0)
    words = np.ndarray((known,), ">u4" if options.bdw_big_endian else "<u4", data, strides=(1,)).astype(np.int64)
    lengths = (words >> 16) + options.bdw_adjustment + DESCRIPTOR
    right = (lengths >= DESCRIPTOR) & (words >> 31 == 0) & (words & 0xFFFF == 0)
    if options.fixed_blocks:
        right &= (lengths - DESCRIPTOR) % options.length == 0
    blocks = np.flatnonzero(right)
    if not options.fixed_blocks:
        fits = _are_filled(blocks + DESCRIPTOR, blocks + lengths[blocks], record_steps(data, options))
        blocks = blocks[fits]
    after: Ints = np.full(known, -1, np.int64)
    after[blocks] = blocks + lengths[blocks]
    return after


def _are_filled(starts: Ints, ends: Ints, steps: Ints) -> Mask:
    """Whether the records of blocks fill them exactly, as far as their bytes are available."""
    fits: Mask = np.zeros(len(starts), np.bool_)
    left, at = np.arange(len(starts)), starts
    while len(left):
        limit = ends[left]
        done = at >= np.minimum(limit, len(steps))
        fits[left[done]] = ((at == limit) | (at + DESCRIPTOR <= limit))[done]
        left, limit, after = left[~done], limit[~done], steps[at[~done]]
        good = (after >= 0) & (after <= limit)
        left, at = left[good], after[good]
    return fits
