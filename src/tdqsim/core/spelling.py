"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LONGEST = 40
_PREFIX: Final = "TDQ_"
VARIABLES: Final = frozenset(
    {
        "TDQ_ARCHIVE", "TDQ_CACHE", "TDQ_CERTIFICATE", "TDQ_JAVA_HOME", "TDQ_LINK_FAULT", "TDQ_PASSWORD",
        "TDQ_PASSWORD2", "TDQ_REGION", "TDQ_SERVER", "TDQ_STORE", "TDQ_SYSTEM", "TDQ_TOKEN", "TDQ_TRACEBACK",
        "TDQ_USERS",
    }
)  # fmt: skip
"""The environment variables that tdqsim, its extensions and its probe of IBM i read."""


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


def misspelt_variables(environment: Iterable[str]) -> list[str]:
    """What to say of variables that nothing reads, and whose names resemble those of :data:`VARIABLES`.

    Others are of the user: programs and tests may have variables that begin with TDQ_ too.
    """
    unknown = [name for name in environment if name.startswith(_PREFIX) and name not in VARIABLES]
    known = [name.removeprefix(_PREFIX) for name in VARIABLES] if unknown else ()
    near = {name: close_names(name.removeprefix(_PREFIX), known) for name in sorted(unknown)}
    return [
        f"environment variable {name} has no effect; did you mean {_PREFIX}{names[0]}?"
        for name, names in near.items()
        if names
    ]
