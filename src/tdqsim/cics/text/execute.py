"""``task.execute("READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)", variables)``: EXEC CICS text, run.

The commands are those of :mod:`tdqsim.cics.kernel.command`; :mod:`tdqsim.cics.text.translator` gives the text its
meaning.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.text.exec_text import Reference
from tdqsim.cics.text.host_variables import HostVariables
from tdqsim.cics.text.translator import Call, bind, brought, deliver, resolve

__all__ = ["execute", "run_text"]


def execute(task: TaskBase, text: str, variables: MutableMapping[str, Any] | None = None) -> dict[str, Any]:
    """Issue a command written as EXEC CICS text.

    ``EXEC CICS`` and ``END-EXEC`` may stand around it. A ``bytearray`` among the variables is an area of fixed
    length, anything else a value that receivers replace. RESP, RESP2 and NOHANDLE keep a condition from being
    raised.

    Args:
        text: the command, such as ``READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R)``.
        variables: the host variables by name; receivers are written into it.

    Returns:
        What was received, by option.

    Raises:
        TranslationError: the text is no command, or a variable is missing or unfit; nothing was executed.
        Condition: as the command does.
    """
    return run_text(task, text, {} if variables is None else variables)


def run_text(
    task: TaskBase, text: str, variables: MutableMapping[str, Any], *, bare: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Run one command written as text, for a task.

    Args:
        task: who issues it.
        text: the command.
        variables: the host variables; see :mod:`tdqsim.cics.text.host_variables`.
        bare: values need no quotes and receivers no variables, as CECI has it.
        quiet: as if NOHANDLE were given.

    Returns:
        What was received, by option; empty after a condition that was not raised, but for a truncated record.

    Raises:
        TranslationError: the text is no command, or a host variable is missing or unfit; nothing was executed.
        Condition: as the command does, unless NOHANDLE, RESP or RESP2 is given.
    """
    page = task.region.codepage
    call = bind(resolve(text, bare=bare), variables, page)
    if quiet and call.resolved.command.option("NOHANDLE") is not None:
        call.keywords["nohandle"] = True
    method = getattr(task, call.resolved.command.method)
    arguments = _arguments(call)
    task.condition = None
    try:
        result = method(*arguments, **call.keywords)
    except Condition as condition:
        truncated = brought(condition)
        if truncated is not None:
            deliver(call, truncated, variables, page)
        raise
    met: Condition | None = getattr(task, "condition")  # noqa: B009  (the command has set it since)
    if met is not None:
        result = brought(met)
    received = deliver(call, result, variables, page)
    _store_response(task, call, HostVariables(variables, page))
    return received


@lru_cache(256)
def _positional(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """The parameters before ``*options``; None when the command has no such thing."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD)


def _arguments(call: Call) -> list[Any]:
    """The positional arguments: those before ``*options``, then the words of the receivers wanted."""
    names = _positional(call.resolved.command.function)
    if names is None or call.arguments:
        return call.arguments
    before = [call.keywords.pop(name) for name in names]
    own = call.resolved.command.name.split()  # the name that a browse gives back is always there
    wanted = [declared.word for declared, _option in call.resolved.receives if declared.word not in own]
    return before + wanted


def _store_response(task: TaskBase, call: Call, host: HostVariables) -> None:
    for word, value in (("RESP", int(task.eib.eibresp)), ("RESP2", task.eib.eibresp2)):
        option = call.resolved.common.get(word)
        if option is not None:
            assert isinstance(option.argument, Reference)
            host.store(option.argument, value, 4)
