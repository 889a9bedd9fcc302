"""What regions say to each other, and how conditions and abends are said.

A unit of work is called by its coordinator's name for it (``key``: APPLID and id). The messages of a distributed unit
of work come in pairs, question and answer (:data:`STEPS`); so do those by which two regions that have been apart find
out what the other has decided (:data:`RESYNC_STEPS`)::

    REQUEST    do READQ TD, WRITEQ TD or DELETEQ TD     REPLY         its outcome, and whether there is work now
    PREPARE    be able to do either                     VOTE          whether that is promised
    COMMIT     the decision                             COMMITTED     whether it could be carried out
    BACKOUT    the decision                             BACKED_OUT    likewise
    ASK        what was decided?                        DECISION      COMMIT, BACKOUT, INDOUBT or COLD
    REMIND     a decision to commit, told again         REMINDED      whether it could be carried out
    HELLO      who is there; has no answer
    ABANDON    the requester no longer waits; has no answer
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.core.messages import Kinds, MessageFrame
from tdqsim.core.transport import LinkDown
from tdqsim.errors import RegionClosed, TdqError, WouldWaitForever
from tdqsim.facts import Resp

__all__ = ["ANSWERS", "KINDS", "RESYNC_STEPS", "STEPS", "failure_fields", "raise_failure"]

STEPS: Final = ("REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED", "BACKOUT", "BACKED_OUT")
"""The messages that go over a link, in the order of a distributed unit of work."""
RESYNC_STEPS: Final = ("ASK", "DECISION", "REMIND", "REMINDED")
"""The messages of resynchronisation."""

_FAILURE: Final = {"failure": str, "resp": int, "resp2": int, "length": int, "detail": str}
_DECIDED: Final = {"key": str, "urgent": bool}

KINDS: Final[Kinds] = {
    "HELLO": {"applid": str},
    "REQUEST": {
        "key": str, "command": str, "queue": str, "nosuspend": bool, "userid": str, "transid": str, "hops": int,
        "dtimout_ns": int,
    },
    "REPLY": {"held": bool, **_FAILURE},
    "ABANDON": {"key": str},
    "PREPARE": {"key": str},
    "VOTE": {"vote": bool, **_FAILURE},
    "COMMIT": _DECIDED,
    "COMMITTED": {"done": bool},
    "BACKOUT": _DECIDED,
    "BACKED_OUT": {"done": bool},
    "REMIND": {"key": str},
    "REMINDED": {"done": bool},
    "ASK": {"key": str},
    "DECISION": {"decision": str},
}  # fmt: skip
"""Each kind's fields."""
ANSWERS: Final[Mapping[str, str]] = {
    "REQUEST": "REPLY", "PREPARE": "VOTE", "COMMIT": "COMMITTED", "BACKOUT": "BACKED_OUT", "ASK": "DECISION",
    "REMIND": "REMINDED",
}  # fmt: skip
"""What each question is answered by."""
_DETAIL_LIMIT: Final = 2000
_WELL: Final = {"failure": "", "resp": 0, "resp2": 0, "length": 0, "detail": ""}


def failure_fields(error: Exception | None) -> dict[str, Any]:
    """How it went, in the fields of an answer; ``data`` of a condition goes beside them.

    Args:
        error: a condition, or what ended the wait of the requester over there, or None when all went well.
    """
    if error is None:
        return _WELL
    if isinstance(error, Condition):
        detail, values = error.detail, {"resp": int(error.resp), "resp2": error.resp2, "length": error.length}
        return {**_WELL, "failure": "CONDITION", **values, "detail": detail[:_DETAIL_LIMIT]}
    if isinstance(error, Abend):
        return {**_WELL, "failure": f"ABEND {error.code}", "detail": error.detail[:_DETAIL_LIMIT]}
    kind = (
        "FOREVER" if isinstance(error, WouldWaitForever) else "CLOSED" if isinstance(error, RegionClosed) else "ERROR"
    )
    return {**_WELL, "failure": kind, "detail": str(error)[:_DETAIL_LIMIT]}


def raise_failure(answer: MessageFrame) -> None:
    """Raise what an answer says, if it says that something failed.

    Raises:
        Condition, Abend, WouldWaitForever, RegionClosed, TdqError: as it was over there.
        LinkDown: it says what no region says.
    """
    fields = answer.fields
    failure, detail = fields["failure"], fields["detail"]
    if not failure:
        return
    if failure == "CONDITION":
        raise _condition(answer)
    if failure.startswith("ABEND "):
        raise Abend(failure.removeprefix("ABEND "), detail=detail)
    raise {"FOREVER": WouldWaitForever, "CLOSED": RegionClosed}.get(failure, TdqError)(detail)


def _condition(answer: MessageFrame) -> Condition:
    fields = answer.fields
    try:
        resp = Resp(fields["resp"])
    except ValueError as error:
        raise LinkDown(f"the other region answered with RESP {fields['resp']}, which there is not") from error
    return Condition(resp, fields["resp2"], fields["detail"], data=answer.data, length=fields["length"])
