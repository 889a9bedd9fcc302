"""The messages between regions, and how they represent conditions and abends.

A unit of work is identified by the name that its coordinator has given it (``key``: APPLID and id). The messages of a
distributed unit of work come in pairs, question and answer (:data:`STEPS`); so do the messages by which two regions
resynchronise after their link was lost (:data:`RESYNC_STEPS`)::

    REQUEST    do a command, or run a program            REPLY         its outcome, and whether there is work now
    PREPARE    be able to do either                     VOTE          whether that is promised
    COMMIT     the decision                             COMMITTED     whether it could be carried out
    BACKOUT    the decision                             BACKED_OUT    likewise
    ASK        what was decided?                        DECISION      COMMIT, BACKOUT, INDOUBT or COLD
    REMIND     a decision to commit, sent again         REMINDED      whether it could be carried out
    HELLO      who is there, and again when a connection is in service again; has no answer
    ABANDON    the requester no longer waits; has no answer
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.core.messages import Kinds, MessageFrame
from tdqsim.errors import RegionClosed, TdqError, WouldWaitForever
from tdqsim.facts import Resp

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
        "dtimout_ns": int, "length": int,
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
"""Each kind's fields. The ``length`` of a REQUEST is a negative LENGTH of READQ TD, which its owner refuses; else 0."""
Fields = Mapping[str, Any]
"""The fields of one message, of the types in :data:`KINDS`."""
ANSWERS: Final[Mapping[str, str]] = {
    "REQUEST": "REPLY", "PREPARE": "VOTE", "COMMIT": "COMMITTED", "BACKOUT": "BACKED_OUT", "ASK": "DECISION",
    "REMIND": "REMINDED",
}  # fmt: skip
"""The kind of answer for each kind of question."""
DECISIONS: Final = ("COMMIT", "BACKOUT", "INDOUBT", "COLD")
"""The possible decisions."""
_CONDITIONS: Final = frozenset(int(resp) for resp in Resp if resp is not Resp.NORMAL)
_ENDS: Final[Mapping[str, type[TdqError]]] = {"FOREVER": WouldWaitForever, "CLOSED": RegionClosed}
_ABEND: Final = re.compile(r"ABEND [^\0]{1,4}")
_DETAIL_LIMIT: Final = 2000
_WELL: Final = {"failure": "", "resp": 0, "resp2": 0, "length": 0, "detail": ""}


def failure_fields(error: Exception | None) -> Fields:
    """The outcome of a request as fields of an answer; the ``data`` of a condition is sent with them.

    Args:
        error: a condition, or what ended the requester's wait in the other region, or None for success.
    """
    if error is None:
        return _WELL
    if isinstance(error, Condition):
        detail, values = error.detail, {"resp": int(error.resp), "resp2": error.resp2, "length": error.length}
        return {**_WELL, "failure": "CONDITION", **values, "detail": detail[:_DETAIL_LIMIT]}
    if isinstance(error, Abend):
        return {**_WELL, "failure": f"ABEND {error.code}", "detail": error.detail[:_DETAIL_LIMIT]}
    kind = next((name for name, ends in _ENDS.items() if isinstance(error, ends)), "ERROR")
    return {**_WELL, "failure": kind, "detail": str(error)[:_DETAIL_LIMIT]}


def is_answer(kind: str, answer: MessageFrame) -> bool:
    """Whether a message is a valid answer to a question: it has the right kind and a known outcome."""
    fields = answer.fields
    if answer.kind != ANSWERS[kind] or fields.get("decision", "COMMIT") not in DECISIONS:
        return False
    failure = fields.get("failure", "")
    if failure == "CONDITION":
        return fields["resp"] in _CONDITIONS
    return failure in ("", "ERROR", *_ENDS) or _ABEND.fullmatch(failure) is not None


def raise_failure(answer: MessageFrame) -> None:
    """Raise the exception that an answer represents, if it reports a failure.

    Args:
        answer: an answer that :func:`is_answer` accepts.

    Raises:
        Condition, Abend, WouldWaitForever, RegionClosed, TdqError: the exception that was raised in the other region.
    """
    fields = answer.fields
    failure, detail = fields["failure"], fields["detail"]
    if not failure:
        return
    if failure == "CONDITION":
        raise Condition(Resp(fields["resp"]), fields["resp2"], detail, data=answer.data, length=fields["length"])
    if failure.startswith("ABEND "):
        raise Abend(failure.removeprefix("ABEND "), detail=detail)
    raise _ENDS.get(failure, TdqError)(detail)
