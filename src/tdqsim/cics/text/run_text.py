"""Run a command written as text, for :meth:`~tdqsim.cics.commands.Task.execute` and for CECI.

The commands are those declared with :mod:`tdqsim.cics.kernel.command`. :mod:`tdqsim.cics.text.translator` translates
the text, and :mod:`tdqsim.cics.text.statement` caches the translation.
"""

from __future__ import annotations

from typing import Any

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.text.exec_text import Reference
from tdqsim.cics.text.host_variables import HostVariables, Labels, Received, Variables
from tdqsim.cics.text.statement import statement
from tdqsim.cics.text.translator import BoundCommand, bind, deliver, give_back


def run_text(
    task: TaskBase,
    text: str,
    variables: Variables,
    *,
    labels: Labels | None = None,
    bare: bool = False,
    quiet: bool = False,
) -> Received:
    """Run one command written as text in a task.

    Args:
        task: the task that issues it.
        text: the command.
        variables: the host variables; see :mod:`tdqsim.cics.text.host_variables`.
        labels: functions by label name.
        bare: values need no quotes and receivers need no variables, as in CECI.
        quiet: behave as if NOHANDLE were given.

    Returns:
        The values received, by option, and the contents of storage that the command may change (COMMAREA of LINK).
        After a condition that was not raised: only that storage, and the truncated record of a LENGERR.

    Raises:
        TranslationError: the text is not a command, or a host variable is missing or has an unsuitable value; nothing
            was executed.
        Condition: as the command does, unless NOHANDLE, RESP or RESP2 is given.
    """
    page = task._region.codepage
    known = statement(text, page, bare=bare)
    host = HostVariables(variables, page)
    keywords = known.arguments(variables, host)
    call = None
    if keywords is None:
        call = bind(known.resolved, variables, page, labels or {})
        keywords = call.keywords
    if quiet and known.resolved.command.option("NOHANDLE") is not None:
        keywords["nohandle"] = True
    positional: list[Any] = [] if call is None else call.arguments
    if known.before is not None and not positional:
        positional = [*(keywords.pop(name) for name in known.before), *known.wanted]
    task.condition = None
    try:
        try:
            result = getattr(task, known.method)(*positional, **keywords)
        finally:
            changed = {} if call is None else give_back(call, variables, page)
    except Condition as condition:
        truncated = condition.received
        if condition.abend_code:  # as in CICS, other conditions are ignored, and the program tests its EIB
            if truncated is not None:
                deliver(call or known.bound(keywords), truncated, variables, page)
            raise
        result = truncated
    raised: Condition | None = getattr(task, "condition")  # noqa: B009  (the command has set it since)
    if raised is not None:
        result = raised.received
    received = known.receive(result, variables) if call is None else None
    if received is None:
        received = deliver(call or known.bound(keywords), result, variables, page) | changed
    if call is None:
        for word, name in known.responses:
            variables[name] = int(task.eib.eibresp) if word == "RESP" else task.eib.eibresp2
    else:
        _store_response(task, call, host)
    return received


def _store_response(task: TaskBase, call: BoundCommand, host: HostVariables) -> None:
    for word, value in (("RESP", int(task.eib.eibresp)), ("RESP2", task.eib.eibresp2)):
        option = call.resolved.common.get(word)
        if option is not None:
            assert isinstance(option.argument, Reference)
            host.store(option.argument, value, 4)
