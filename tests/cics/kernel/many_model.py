"""Several tasks on a few queues, worked out slowly from the tables of the reference.

Where it leaves the order open (who of several that were woken goes first), every order is tried: the model is a set of
states, and what a region shows must be one of them. Nothing is shared with the region but the names of the things.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

DTIMOUT = 10
ENDS = {"read": "R", "write": "W", "delete": "R"}
"""The end that a request needs first; DELETEQ needs the other one too."""


@dataclass
class Queue:
    recovery: str
    facility: str = ""
    level: int = 0
    records: list[bytes] = field(default_factory=list)
    status: str = "ENABLED"
    owner: dict[str, str | None] = field(default_factory=lambda: {"R": None, "W": None})
    line: dict[str, list[str]] = field(default_factory=lambda: {"R": [], "W": [], "TD_READ": []})
    cycle: int = 0
    latch: bool = False
    living: list[int] = field(default_factory=list)
    """The cycles whose task is due or runs."""


@dataclass
class Task:
    dtimout: bool = False
    cycle: tuple[str, int] | None = None
    posted: tuple[Any, ...] | None = None
    request: tuple[Any, ...] | None = None
    waits: str = ""
    since: int = 0
    doomed: str = ""
    exit: str = ""
    ended: str = ""
    answers: list[Any] = field(default_factory=list)
    reads: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    written: dict[str, list[bytes]] = field(default_factory=dict)
    qzero: dict[str, int] = field(default_factory=dict)
    """The queues read to QZERO, and the cycle of each at that time: a later one is not concerned."""
    qzero_committed: dict[str, int] = field(default_factory=dict)

    def begin_anew(self) -> None:
        self.reads, self.deleted, self.written, self.qzero = {}, set(), {}, {}


class State:
    def __init__(self, queues: dict[str, tuple[str, str, int]]) -> None:
        self.queues = {name: Queue(*definition) for name, definition in queues.items()}
        self.tasks: dict[str, Task] = {}
        self.now = 0
        self.inservice = True
        self.at_terminal = ""
        self.requests: list[tuple[str, int]] = []
        self.started: list[str] = []

    def shown(self) -> Any:
        """What can be seen of it from outside."""
        queues = {
            name: (q.records, q.status, q.owner["R"], q.owner["W"], q.line["R"], q.line["W"], sorted(q.line["TD_READ"]))
            for name, q in self.queues.items()
        }
        tasks = {name: (task.answers, task.waits, task.ended) for name, task in sorted(self.tasks.items())}
        return queues, tasks, sorted(self.started)

    # -- requests -------------------------------------------------------------------------------------------------

    def go(self, name: str) -> None:
        """Do what was posted to a task, as far as it goes."""
        task = self.tasks[name]
        what, *rest = posted = task.posted or ()
        task.posted = None
        if what in ENDS:
            self.begin(name, posted)
        elif what == "exit":
            task.exit = rest[0]
            task.answers.append("NORMAL")
        elif what == "abend":
            self.abend(name, "OOPS")
        else:
            self.end_unit(name, commit=what != "rollback")
            if what == "return":
                self.end_task(name, "RETURN", normal=True)
            else:
                task.answers.append("NORMAL")

    def begin(self, name: str, request: tuple[Any, ...]) -> None:
        task, queue = self.tasks[name], self.queues[request[1]]
        inside = queue.status == "DISABLING" and name in queue.owner.values()
        if queue.status != "ENABLED" and not inside:
            task.answers.append("DISABLED")
        elif queue.recovery != "LOGICAL":
            task.answers.append(self.direct(queue, request))
        else:
            task.request = request
            self.ask(name, ENDS[request[0]])

    def direct(self, queue: Queue, request: tuple[Any, ...]) -> Any:
        what, _, data = request
        if what == "write":
            queue.records.append(data)
            self.look_at_level(queue)
        elif what == "delete" or not queue.records:
            queue.records.clear()
            queue.latch = False
            return "QZERO" if what == "read" else "NORMAL"
        else:
            return queue.records.pop(0)
        return "NORMAL"

    def ask(self, name: str, end: str) -> None:
        task = self.tasks[name]
        queue = self.queues[task.request[1]]
        if queue.owner[end] == name:
            self.has(name, end)
        elif queue.owner[end] is None and not queue.line[end]:
            queue.owner[end] = name
            self.has(name, end, taken=True)
        elif task.request[0] == "read" and task.request[2]:
            self.done(name, "QBUSY")
        else:
            self.wait(name, end)

    def has(self, name: str, end: str, *, taken: bool = False) -> None:
        """It has the end that it needs; ``taken`` says that it has got it by this very request."""
        task = self.tasks[name]
        what, queue_name, data = task.request
        if what == "write":
            task.written.setdefault(queue_name, []).append(data)
            self.done(name, "NORMAL")
        elif what == "delete" and end == "R":
            self.ask(name, "W")
        elif what == "delete":
            task.deleted.add(queue_name)
            task.written.pop(queue_name, None)
            task.qzero[queue_name] = self.queues[queue_name].cycle
            self.done(name, "NORMAL")
        else:
            self.look(name, taken=taken)

    def look(self, name: str, *, taken: bool = False) -> None:
        """READQ with the read end: committed records, another's writes to wait for, one's own, QZERO."""
        task = self.tasks[name]
        _, queue_name, nosuspend = task.request
        queue, count = self.queues[queue_name], task.reads.get(queue_name, 0)
        if queue_name not in task.deleted and count < len(queue.records):
            task.reads[queue_name] = count + 1
            self.done(name, queue.records[count])
        elif queue.owner["W"] not in (None, name):
            if nosuspend:
                if taken:
                    queue.owner["R"] = None
                self.done(name, "QBUSY")
            else:
                self.wait(name, "TD_READ")
        elif task.written.get(queue_name):
            self.done(name, task.written[queue_name].pop(0))
        else:
            task.qzero[queue_name] = queue.cycle
            self.done(name, "QZERO")

    def wait(self, name: str, what: str) -> None:
        task = self.tasks[name]
        self.queues[task.request[1]].line[what].append(name)
        task.waits, task.since = what, self.now

    def done(self, name: str, answer: Any) -> None:
        task = self.tasks[name]
        task.answers.append(answer)
        task.request, task.waits = None, ""

    # -- ends -----------------------------------------------------------------------------------------------------

    def end_unit(self, name: str, *, commit: bool) -> None:
        task = self.tasks[name]
        for queue_name, queue in self.queues.items():
            if commit and queue.recovery == "LOGICAL":
                if queue_name in task.deleted:
                    queue.records.clear()
                del queue.records[: task.reads.get(queue_name, 0)]
                written = task.written.get(queue_name)
                if written:
                    queue.records += written
                    self.look_at_level(queue)
            for end in ("R", "W"):
                if queue.owner[end] == name:
                    queue.owner[end] = None
        if commit:
            task.qzero_committed |= task.qzero
        task.begin_anew()

    def abend(self, name: str, code: str) -> None:
        task = self.tasks[name]
        if task.waits:
            self.queues[task.request[1]].line[task.waits].remove(name)
        task.request, task.waits, task.doomed = None, "", ""
        self.end_unit(name, commit=task.exit == "commit")
        if task.exit:
            self.end_task(name, "RETURN", normal=True)
        else:
            self.end_task(name, code, normal=False)

    def end_task(self, name: str, how: str, *, normal: bool) -> None:
        task = self.tasks[name]
        task.ended = how
        for queue_name, cycle in task.qzero_committed.items():
            if self.queues[queue_name].cycle == cycle:
                self.queues[queue_name].latch = False
        if self.at_terminal == name:
            self.at_terminal = ""
        if task.cycle is not None:
            self.end_cycle(*task.cycle, normal=normal)
        self.serve()

    # -- triggers -------------------------------------------------------------------------------------------------

    def look_at_level(self, queue: Queue) -> None:
        if queue.facility and not queue.latch and 0 < queue.level <= len(queue.records):
            queue.latch = True
            queue.cycle += 1
            self.schedule(queue)

    def schedule(self, queue: Queue) -> None:
        queue.living.append(queue.cycle)
        name = next(name for name, each in self.queues.items() if each is queue)
        if queue.facility == "TERMINAL":
            self.requests.append((name, queue.cycle))
            self.serve()
        else:
            self.start(name, queue.cycle)

    def start(self, queue_name: str, cycle: int) -> str:
        name = f"{queue_name}-{self.started.count(queue_name)}"
        self.started.append(queue_name)
        self.tasks[name] = Task(cycle=(queue_name, cycle))
        return name

    def serve(self) -> None:
        if self.inservice and not self.at_terminal and self.requests:
            self.at_terminal = self.start(*self.requests.pop(0))

    def end_cycle(self, queue_name: str, cycle: int, *, normal: bool) -> None:
        queue = self.queues[queue_name]
        queue.living.remove(cycle)
        if queue.latch and queue.cycle == cycle:
            if queue.facility == "FILE" or (normal and not queue.level):
                queue.latch = False
            elif normal:
                self.schedule(queue)

    # -- from outside ---------------------------------------------------------------------------------------------

    def set_status(self, queue_name: str, status: str) -> str:
        queue = self.queues[queue_name]
        if queue.status == "DISABLING":
            return "INVREQ"
        if status == "ENABLED" or queue.status == "ENABLED":
            queue.status = {"ENABLED": "ENABLED", "DISABLED": "DISABLING"}[status]
        return "NORMAL"

    def set_level(self, queue_name: str, level: int) -> None:
        queue = self.queues[queue_name]
        queue.level = level
        if queue.cycle not in queue.living:
            queue.latch = False

    # -- what may happen next -------------------------------------------------------------------------------------

    def moves(self) -> list[tuple[str, str]]:
        found = []
        for name, task in self.tasks.items():
            if task.posted is not None and not task.ended:
                found.append(("go", name))
            if task.doomed:
                found.append(("abend", name))
            elif task.waits and self.may_go_on(name):
                found.append(("wake", name))
            elif task.waits and task.dtimout and self.now - task.since >= DTIMOUT:
                found.append(("doom", name))
        return found

    def may_go_on(self, name: str) -> bool:
        task = self.tasks[name]
        queue = self.queues[task.request[1]]
        if task.waits == "TD_READ":
            return queue.owner["W"] in (None, name) or task.reads.get(task.request[1], 0) < len(queue.records)
        return queue.owner[task.waits] is None and queue.line[task.waits][0] == name

    def move(self, what: str, name: str) -> None:
        task = self.tasks[name]
        if what == "go":
            self.go(name)
        elif what == "abend":
            self.abend(name, task.doomed)
        elif what == "doom":
            task.doomed = "AKCS"
        else:
            queue, waited = self.queues[task.request[1]], task.waits
            queue.line[waited].remove(name)
            task.waits = ""
            if waited == "TD_READ":
                self.look(name)
            else:
                queue.owner[waited] = name
                self.has(name, waited)
        self.settle()

    def settle(self) -> None:
        """A queue without users is disabled, if that is what it waits for."""
        for queue in self.queues.values():
            if queue.status == "DISABLING" and not any(queue.owner.values()) and not any(queue.line.values()):
                queue.status = "DISABLED"


def settled(states: list[State]) -> list[State]:
    """Every state in which nothing more can happen, whatever goes first."""
    found: dict[str, State] = {}
    seen: set[str] = set()
    todo = list(states)
    while todo:
        state = todo.pop()
        state.settle()
        key = repr((state.queues, state.tasks, vars(state)))
        if key in seen:
            continue
        seen.add(key)
        moves = state.moves()
        if not moves:
            found[key] = state
        for move in moves:
            after = deepcopy(state)
            after.move(*move)
            todo.append(after)
    return list(found.values())
