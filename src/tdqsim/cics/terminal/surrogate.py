"""The terminal of a routed task: a surrogate, which sends each request to the region that owns the terminal.

A request goes over the link as any function-shipped request, with the number of the routed task's session as its
resource. In the region of the terminal the *relay* task of that session has the terminal; if that region has itself a
surrogate, because the transaction was routed through it, the request is sent on to the next region.

Source: The relay program (IBM Docs): the transaction cannot tell the surrogate from a terminal of its own region, and
the relay transaction carries out its requests.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.terminal.screen import Input, Screen, Sent
from tdqsim.facts import AIDS, Resp

SEND: Final = "TERMINAL SEND"
RECEIVE: Final = "TERMINAL RECEIVE"
SESSION_FAILED: Final = "AZI6"
"""The abend of a task whose session with the other region has failed."""
_TEXTS: Final = ("command", "map", "mapset", "text")


class Surrogate(Screen):
    """The terminal of a routed task.

    Attributes:
        system: the connection to the region from which the transaction was routed.
        session: the name of its session with that region.
        path: the APPLIDs of the regions between the terminal and this region, beginning with the terminal's.
        is_lost: whether the session has failed: the terminal can no longer be reached.
        at_once: whether RETURN has named the next transaction with IMMEDIATE.
    """

    def __init__(self, name: str, system: str, session: str, path: tuple[str, ...]) -> None:
        super().__init__(name)
        self.system = system
        self.session = session
        self.path = path
        self.is_lost = self.at_once = False

    def put(self, task: TaskBase, shown: Sent) -> None:
        """See the base class."""
        values = [getattr(shown, name) for name in _TEXTS]
        attributes = [[*key, value.hex()] for key, value in shown.attributes.items()]
        self._ask(task, SEND, json.dumps([values, dict(shown.fields), attributes, shown.cursor, shown.options]))

    def take(self, task: TaskBase) -> Input:
        """See the base class."""
        return read_input(json.loads(self._ask(task, RECEIVE, "")))

    def begin_at_once(self, task: TaskBase) -> None:  # a terminal of this region needs the task
        """See the base class."""
        self.at_once = True

    def _ask(self, task: TaskBase, command: str, form: str) -> bytes:
        if self.is_lost:
            raise Abend(SESSION_FAILED, detail=f"the session with system {self.system} has failed")
        try:
            return task._region.link(self.system).ship(task, command, self.session, data=form.encode())
        except Condition as condition:
            self.is_lost = True
            raise Abend(SESSION_FAILED, condition, str(condition)) from condition


def serve_terminal(task: TaskBase, screen: Screen, command: str, form: bytes) -> bytes:
    """Carry out a request of a routed task, in a mirror task of the region from which the transaction was routed.

    Returns:
        The input, for RECEIVE.

    Raises:
        Condition: ISCINVREQ: the request cannot be read.
    """
    if command == RECEIVE:
        return json.dumps(input_form(screen.take(task))).encode()
    screen.put(task, _read_sent(form))
    return b""


def input_form(typed: Input) -> list[Any]:
    """An input as values of a message."""
    return [typed.key, typed.text, dict(typed.fields), typed.cursor]


def read_input(values: object) -> Input:
    """The input in a message.

    Raises:
        Condition: ISCINVREQ: it is not an input.
    """
    match values:
        case [str(key), str(text), dict(fields), int(cursor)] if key in AIDS and _are_texts(fields):
            return Input(key, text, fields, cursor)
    raise _unreadable(values)


def _read_sent(form: bytes) -> Sent:
    try:
        values = json.loads(form)
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from error
    match values:
        case [[str(command), str(name), str(mapset), str(text)], dict(fields), list(attributes), cursor, list(options)]:
            if _are_texts(fields) and isinstance(cursor, int | None) and all(isinstance(one, str) for one in options):
                shown = dict(_read_attribute(one) for one in attributes)
                return Sent(command, name, mapset, fields, shown, text, cursor, tuple(options))
    raise _unreadable(values)


def _read_attribute(values: object) -> tuple[tuple[str, str], bytes]:
    match values:
        case [str(field), str(suffix), str(value)]:
            try:
                return (field, suffix), bytes.fromhex(value)
            except ValueError as error:
                raise _unreadable(error) from error
    raise _unreadable(values)


def _are_texts(fields: dict[object, object]) -> bool:
    return all(isinstance(value, str) for value in fields.values())


def _unreadable(what: object) -> Condition:
    return Condition(Resp.ISCINVREQ, detail=f"a request for a terminal that cannot be read: {what!r:.200}")
