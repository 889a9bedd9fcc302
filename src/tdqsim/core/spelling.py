"""Names that somebody misspelt, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["close_names", "did_you_mean"]

_LONGEST = 40


def close_names(written: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that a misspelt one is like, the likest first; capitals do not matter."""
    from difflib import get_close_matches  # noqa: PLC0415  (only who misspells needs it)

    names = {name.lower(): name for name in sorted(known)}
    return [names[each] for each in get_close_matches(written[:_LONGEST].lower(), names, n=most)]


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """The end of a message: ``; did you mean NAME?``, or nothing where no known name is like the written one."""
    close = close_names(written, known)
    return f"; did you mean {close[0]}?" if close else ""
