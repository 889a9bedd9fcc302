"""The options of INQUIRE TDQUEUE as an answer; field names in capitals are the options of ``inquire.tsv``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Required

from typing_extensions import TypedDict

from tdqsim.facts import INQUIRE_TDQUEUE_OPTIONS


class CvdaValue(TypedDict):
    """A CVDA by name and number."""

    cvda: str
    value: int


_NUMBERS: Final = frozenset({"BINARY", "HALF", "PACKED", "ABSTIME"})
_TYPES: Final = {
    option.name: CvdaValue if option.receiver == "CVDA" else int if option.receiver in _NUMBERS else str
    for option in INQUIRE_TDQUEUE_OPTIONS.values()
}

if TYPE_CHECKING:
    TdqueueState = dict[str, CvdaValue | int | str]
    TdqueueOptions = TdqueueState
else:
    TdqueueState = TypedDict("TdqueueState", {"name": str, **_TYPES})
    TdqueueState.__doc__ = "A queue: its name, and all options of INQUIRE TDQUEUE."
    TdqueueOptions = TypedDict("TdqueueOptions", {"name": Required[str], **_TYPES}, total=False)
    TdqueueOptions.__doc__ = "A queue: its name, and the options of INQUIRE TDQUEUE that were asked for."
