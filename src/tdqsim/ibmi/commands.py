"""The entry of every call into a job or a system, which checks the thread.

The commands of a job are functions with a :class:`~tdqsim.ibmi.job_core.JobCore` as first parameter;
:func:`job_command` turns them into methods of :class:`~tdqsim.ibmi.Job`. The commands of a system are methods of its
parts; :func:`system_command` turns them into methods of :class:`~tdqsim.ibmi.System`. Both replace an error that Python
raises for a wrong argument type by one that names the argument.

QSNDDTAQ and QRCVDTAQ do the same themselves, because the additional call would make them too slow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.system_core import SystemBase, SystemCore

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def job_command(function: Callable[Concatenate[JobCore, P], T]) -> Callable[Concatenate[JobBase, P], T]:
    """Make a method of a job from a command: it checks the thread, and waits for the next step in a stepped job."""

    @wraps(function)
    def command(job: JobBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        core = job._core
        core.system.dispatcher.check_thread()
        if core.stepped is not None and not core.in_command:
            return _stepped(core, function, *args, **kwargs)
        try:
            return function(core, *args, **kwargs)
        except BARE as error:
            raise_wrong_type(error, function.__name__, function, (core, *args), kwargs)
            raise

    return command


def _stepped(core: JobCore, function: Callable[Concatenate[JobCore, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Execute a command when the test allows it; commands that it calls itself are not steps."""
    assert core.stepped is not None
    core.stepped.stand_before(function.__name__)
    core.in_command = True
    try:
        return function(core, *args, **kwargs)
    finally:
        core.in_command = False


def system_command(
    part: Callable[[SystemCore], S], method: Callable[Concatenate[S, P], T]
) -> Callable[Concatenate[SystemBase, P], T]:
    """Make a method of a system from a method of one of its parts."""

    @wraps(method)
    def command(system: SystemBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        core = system._core
        core.check_open()
        try:
            return method(part(core), *args, **kwargs)
        except BARE as error:
            raise_wrong_type(error, method.__name__, method, (part(core), *args), kwargs)
            raise

    return command
