"""A task that is stepped by hand: a copy of the facade whose commands each wait until they are released."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tdqsim.cics.commands import Task
from tdqsim.core.stepping import Stepped

T = TypeVar("T")


class SteppedTask(Task):
    """A task that stops before each command until it is released; see :class:`~tdqsim.core.stepping.Stepped`."""

    __slots__ = ("stepped",)

    stepped: Stepped


def _held(name: str, command: Callable[..., T]) -> Callable[..., T]:
    @wraps(command)
    def hold(task: SteppedTask, /, *args: Any, **kwargs: Any) -> T:
        task.stepped.stand_before(name)
        return command(task, *args, **kwargs)

    return hold


for _name, _command in tuple(vars(Task).items()):
    if callable(_command) and not _name.startswith("_") and _name != "execute":  # it issues one of the others
        setattr(SteppedTask, _name, _held(_name, _command))
