"""Commands that were refused although programs expect them to succeed, in groups that are alike.

A condition that no program handles ends its task with an abend, and the dump explains it. Most handled conditions are
part of a program's ordinary course, such as QZERO at the end of a queue. The table ``facts/refused.tsv`` lists the
others, with what to do: they report that something is wrong in the region or system, or with an authority. On IBM i the
same holds for escape messages.

Refusals of the same command with the same condition, for the same transaction (or job) and the same resource, are one
group with a count, so a thousand of them are one incident. It lasts until no such command was refused for ten minutes.
A command that succeeds costs nothing here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from tdqsim.facts import ABEND_CODES, Resp, table

_GROUPS: Final = 200
"""The number of groups that are kept; a new one removes the one whose last refusal is the oldest."""
_QUIET_NS: Final = 10**9 * next(int(row["value"]) for row in table("server") if row["name"] == "refused_quiet_seconds")
_TABLE: Final[dict[str, list[tuple[str, str]]]] = {}
for _row in table("refused"):
    _TABLE.setdefault(_row["condition"], []).append((_row["commands"], _row["cure"]))


@lru_cache(1000)
def what_to_do(command: str, condition: str) -> str:
    """What ends such refusals; empty if the condition belongs to the ordinary course of programs."""
    rows = _TABLE.get(condition, ())
    return next((cure for commands, cure in rows if fnmatchcase(command, commands)), "")


_Key = tuple[str, str, str, str]
"""Of a group: its actor, command, resource and condition."""


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """Refusals that are alike.

    Attributes:
        actor: the transaction, or the name of the job.
        command: the command or API.
        resource: the resource that it names; empty for none.
        condition: the condition, or the id of the escape message.
        count: the number of refusals.
        begun_ns: the time of the first refusal since the last pause of ten minutes, in nanoseconds since 1970.
        first_ns, last_ns: the times of the first and the last refusal.
        task: the last task or job.
        userid: its user.
        place: the line of the program or the COBOL statement, as FILE:LINE; empty if no program issued the command.
    """

    actor: str
    command: str
    resource: str
    condition: str
    count: int
    begun_ns: int
    first_ns: int
    last_ns: int
    task: str = ""
    userid: str = ""
    place: str = ""

    def lasts(self, now_ns: int) -> bool:
        """Whether less than ten minutes have passed since the last refusal."""
        return now_ns - self.last_ns < _QUIET_NS

    @property
    def id(self) -> str:
        """What identifies the group."""
        return f"{self.actor} {self.command} {self.resource} {self.condition}"

    @property
    def what(self) -> str:
        """What happens, as a sentence."""
        times = "once" if self.count == 1 else f"{self.count:,} times"
        named = f" {self.resource}" if self.resource else ""
        place = f" at {self.place}" if self.place else ""
        return f"{self.command}{named} of {self.actor} was refused {times} with {self.condition}{place}."

    @property
    def cure(self) -> str:
        """What ends it, as a sentence."""
        return what_to_do(self.command, self.condition)

    def as_dict(self) -> dict[str, Any]:
        """The fields as values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RefusedGroup:
        """The group of :meth:`as_dict`.

        Raises:
            TypeError: a field is missing, or there is another one.
        """
        return cls(**values)


class RefusedCommands:
    """The groups of refused commands of one region or system."""

    def __init__(self) -> None:
        self._groups: OrderedDict[_Key, RefusedGroup] = OrderedDict()  # by the time of the last refusal
        self._last: tuple[str, _Key, RefusedGroup | None] | None = None

    def __iter__(self) -> Iterator[RefusedGroup]:
        """The groups, the one with the newest refusal last."""
        return iter(list(self._groups.values()))

    def add(
        self, actor: str, command: str, resource: str, condition: str, time_ns: int, *, task: str = "",
        userid: str = "",
    ) -> RefusedGroup | None:  # fmt: skip
        """Count a command that ended with a condition.

        Returns:
            Its group; None if the condition belongs to the ordinary course of programs.
        """
        if condition not in _TABLE or not what_to_do(command, condition):
            return None
        key = (actor, command, resource, condition)
        before = self._groups.pop(key, None)
        if before is None:
            group = RefusedGroup(*key, 1, time_ns, time_ns, time_ns, task, userid)
        else:
            begun = before.begun_ns if before.lasts(time_ns) else time_ns
            group = replace(before, count=before.count + 1, begun_ns=begun, last_ns=time_ns, task=task, userid=userid)
        self._groups[key] = group
        if len(self._groups) > _GROUPS:
            self._groups.popitem(last=False)
        self._last = task, key, before
        return group

    def put(self, group: RefusedGroup) -> None:
        """Replace a group by one with other values, or add one."""
        key = (group.actor, group.command, group.resource, group.condition)
        self._groups[key] = group

    def abended(self, task: str, code: str) -> bool:
        """Take back the last refusal if it has ended its task: the abend and its dump are the incident then.

        Returns:
            Whether a group was removed.
        """
        if self._last is None:
            return False
        of_task, key, before = self._last
        if of_task != task or ABEND_CODES.get(Resp[key[-1]]) != code:
            return False
        self._last = None
        if before is None:
            del self._groups[key]
        else:
            self._groups[key] = before
            self._groups = OrderedDict(sorted(self._groups.items(), key=lambda item: item[1].last_ns))
        return before is None

    def now(self, time_ns: int) -> list[RefusedGroup]:
        """The groups that still hold."""
        return [each for each in self if each.lasts(time_ns)]
