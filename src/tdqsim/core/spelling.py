"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 40


def close_names(written: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that resemble a misspelt one, the most similar first; case is ignored."""
    from difflib import get_close_matches  # noqa: PLC0415  (few names are misspelt)

    names = {name.lower(): name for name in sorted(known)}
    return [names[each] for each in get_close_matches(written[:_LONGEST].lower(), names, n=most)]


def did_you_mean(written: str, known: Iterable[str], most: int = 1) -> str:
    """The end of an error message: ``; did you mean NAME?``, or nothing when no known name resembles ``written``.

    Args:
        written: the misspelt name.
        known: the names that would be right.
        most: the most names to suggest, as ``; did you mean NAME, OTHER or THIRD?``.
    """
    *others, last = close_names(written, known, most) or [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""
