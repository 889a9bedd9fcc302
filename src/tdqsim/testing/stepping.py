"""A CICS task that a test steps: it stops before each of its commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple, Unpack

from tdqsim.cics import Region, Task
from tdqsim.cics.internals import check_usable, core_of
from tdqsim.cics.kernel.handlers import own_name, startable
from tdqsim.cics.stepped_task import SteppedTask
from tdqsim.core.callables import why_unusable
from tdqsim.core.stepping import Stepped
from tdqsim.errors import UsageError
from tdqsim.testing._stage import StagedDispatcher

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def stepped(
    region: Region,
    program: Callable[[Task, Unpack[Arguments]], T],
    *args: *Arguments,
    transid: str = "",
    userid: str = "",
) -> Stepped[T]:
    """Start a task that stops before each of its commands until you release it: ``first.step()``.

    Use it for tests of locks, waits and deadlocks, which depend on the order of the commands of two tasks.

    Args:
        region: the region in which it runs.
        program: a function that is called with its task and ``args``.
        args: further arguments of the function.
        transid: its transaction id; made of its Python name when not given.
        userid: its user; the default user when not given.

    Returns:
        The task's handle; the task has stopped before its first command.

    Raises:
        UsageError: the program cannot be called with its task and ``args``; the security policy does not know the
            user, or does not allow the user to attach the transaction.
    """
    core = core_of(region)
    check_usable(region, "stepped")
    if isinstance(core.dispatcher, StagedDispatcher):
        core.dispatcher.use_everything()
    user = core.task_manager.user_for(userid)
    handle: Stepped = Stepped(core.dispatcher)
    if reason := why_unusable(program, "task", *("argument" for _ in args)):
        raise UsageError(f"stepped: {reason}")

    def held(task: SteppedTask) -> Any:
        task.stepped = handle
        return program(task, *args)

    entry = startable(core.transactions, held, transid or own_name(program))
    if core.security is not None:
        core.task_manager.admit(entry.name, user)
    handle.fiber = core.task_manager.attach(entry, startcode="S", userid=user, make=SteppedTask)
    core.dispatcher.run_ready()
    return handle
