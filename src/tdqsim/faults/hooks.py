"""Several hooks for one region, which itself can have only one; and the object that has the recorder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tdqsim.cics import Condition, Hook, Region, Task
from tdqsim.cics.internals import core_of

if TYPE_CHECKING:
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.ibmi import System


class HookChain:
    """Hooks that are called one after the other, until one raises.

    Attributes:
        hooks: in the order in which they are called before a command; after it they are called in reverse order.
    """

    def __init__(self, *hooks: Hook) -> None:
        self.hooks = hooks

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for hook in self.hooks:
            hook.before(task, command, arguments)

    def foresee(self, task: Task, command: str, arguments: Mapping[str, object]) -> Condition | None:
        """The condition that the first hook which can predict one would raise now; None for no condition."""
        for hook in self.hooks:
            ask = getattr(hook, "foresee", None)
            condition: Condition | None = ask(task, command, arguments) if ask is not None else None
            if condition is not None:
                return condition
        return None

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for hook in reversed(self.hooks):
            hook.after(task, command, arguments, outcome)


def add_hook(region: Region, hook: Hook) -> None:
    """Add a hook to a region; it is called after those that the region has."""
    core = core_of(region)
    present = core.hook
    if present is None:
        core.hook = hook
    else:
        hooks = present.hooks if isinstance(present, HookChain) else (present,)
        core.hook = HookChain(*hooks, hook)


def remove_hook(region: Region, hook: Hook) -> None:
    """Remove a hook; do nothing if the region does not have it."""
    core = core_of(region)
    present = core.hook
    if present is hook:
        core.hook = None
    elif isinstance(present, HookChain):
        left = tuple(each for each in present.hooks if each is not hook)
        core.hook = HookChain(*left) if len(left) > 1 else next(iter(left), None)


def recorded(target: Region | System) -> RegionCore | System:
    """The object whose attribute ``recorder`` is the recorder of a region or system."""
    return core_of(target) if isinstance(target, Region) else target
