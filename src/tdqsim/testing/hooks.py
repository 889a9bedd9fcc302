"""Several hooks in a region's one slot."""

from __future__ import annotations

from collections.abc import Mapping

from tdqsim.cics import Condition, Hook, Region, Task

__all__ = ["HookChain", "add_hook", "remove_hook"]


class HookChain:
    """Hooks that are asked one after the other; the first that raises decides.

    Attributes:
        hooks: in the order in which they are asked before a command; after it the order is turned round.
    """

    def __init__(self, *hooks: Hook) -> None:
        self.hooks = hooks

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for hook in self.hooks:
            hook.before(task, command, arguments)

    def foresee(self, task: Task, command: str, arguments: Mapping[str, object]) -> Condition | None:
        """The condition that the first of them that can say so would raise now; None for nothing."""
        for hook in self.hooks:
            ask = getattr(hook, "foresee", None)
            found: Condition | None = ask(task, command, arguments) if ask is not None else None
            if found is not None:
                return found
        return None

    def after(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        for hook in reversed(self.hooks):
            hook.after(task, command, arguments, outcome)


def add_hook(region: Region, hook: Hook) -> None:
    """Put a hook beside those that a region has; the newest is asked last."""
    present = region.hook
    if present is None:
        region.hook = hook
    else:
        hooks = present.hooks if isinstance(present, HookChain) else (present,)
        region.hook = HookChain(*hooks, hook)


def remove_hook(region: Region, hook: Hook) -> None:
    """Take a hook out again; nothing happens when it is not there."""
    present = region.hook
    if present is hook:
        region.hook = None
    elif isinstance(present, HookChain):
        left = tuple(each for each in present.hooks if each is not hook)
        region.hook = HookChain(*left) if len(left) > 1 else next(iter(left), None)
