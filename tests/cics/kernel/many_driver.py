"""A region whose tasks do what they are told, step by step: what a failure of the machine prints is made of this."""

from __future__ import annotations

from typing import Any

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.core.fiber import WAIT, Fiber, WaitQueue
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.faults import add_hook

QUEUES = {
    # name: RECOVSTATUS, ATIFACILITY, TRIGGERLEVEL
    "LOGT": ("LOGICAL", "TERMINAL", 2),
    "LOGF": ("LOGICAL", "FILE", 1),
    "PHYF": ("PHYSICAL", "FILE", 2),
    "NOQ": ("NO", "", 0),
}


class Slot:
    """A task and its letter box."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.letters: list[tuple[Any, ...]] = []
        self.box = WaitQueue(f"the letter box of {name}")
        self.answers: list[Any] = []
        self.task: Task | None = None
        self.fiber: Fiber | None = None

    def next_letter(self) -> Any:
        return self.letters.pop(0) if self.letters else WAIT


class Driver:
    def __init__(self, seed: int = 0, *, guarded: bool = False) -> None:
        self.slots: dict[str, Slot] = {}
        self.started: list[str] = []
        definitions = [define_terminal(name="T001"), define_transaction(name="DTIM", dtimout="10")]
        for name, (recovstatus, facility, level) in QUEUES.items():
            trigger = {"transid": "TRIG", "atifacility": facility, "triggerlevel": level} if facility else {}
            terminal = {"facilityid": "T001"} if facility == "TERMINAL" else {}
            definitions.append(
                define_tdqueue(name=name, type="INTRA", recovstatus=recovstatus, **trigger, **terminal)  # type: ignore[arg-type]
            )
        self.region = Region(definitions, seed=seed, supplied_queues=False)
        self.region.clock.freeze()  # only the script lets time pass
        self.region.register("TRIG", self.triggered)
        self.region.register("DTIM", self.program)
        self.region.register("PLAN", self.program)
        if guarded:
            add_hook(self.region, Guard())

    def close(self) -> None:
        self.region.close()

    # -- the tasks ------------------------------------------------------------------------------------------------

    def triggered(self, task: Task) -> None:
        queue = task.assign("QNAME")
        slot = Slot(f"{queue}-{self.started.count(queue)}")
        self.started.append(queue)
        self.slots[slot.name] = slot
        self.program(task, slot)

    def program(self, task: Task, *given: Slot) -> None:
        (slot,) = given
        slot.task, slot.fiber = task, task._fiber
        while True:
            letter = self.region.dispatcher.wait(slot.next_letter, slot.box)
            if letter == ("return",):
                return
            slot.answers.append(self.do(task, *letter))

    def do(self, task: Task, what: str, *rest: Any) -> Any:
        if what in ("read", "write", "delete"):
            return self.request(task, what, *rest)
        if what == "abend":
            task.abend("OOPS")
        elif what == "exit":
            exits = {"commit": lambda _abend: None, "rollback": lambda _abend: task.syncpoint_rollback()}
            task.handle_abend(exits[rest[0]])
        elif what == "rollback":
            task.syncpoint_rollback()
        else:
            task.syncpoint()
        return "NORMAL"

    @staticmethod
    def request(task: Task, what: str, queue: str, data: Any) -> Any:
        record: Any = "NORMAL"
        if what == "write":
            task.writeq_td(queue, data, nohandle=True)
        elif what == "read":
            record = task.readq_td(queue, nosuspend=data, nohandle=True)
        else:
            task.deleteq_td(queue, nohandle=True)
        answer = task.eib.eibresp.name
        return record if answer == "NORMAL" else answer

    # -- the steps of a script ------------------------------------------------------------------------------------

    def begin(self, name: str, *, dtimout: bool) -> None:
        slot = self.slots[name] = Slot(name)
        entry = self.region.resources.transactions["DTIM" if dtimout else "PLAN"]
        slot.fiber = self.region._core.task_manager.attach(entry, startcode="U", userid="CICSUSER", args=(slot,))

    def together(self, **letters: tuple[Any, ...]) -> Any:
        """Tell several tasks something, and let all run; what can be seen then."""
        for name, letter in letters.items():
            self.slots[name.replace("_", "-")].letters.append(letter)
            self.slots[name.replace("_", "-")].box.wake_all()
        return self.shown()

    def purge(self, name: str) -> Any:
        fiber = self.slots[name].fiber
        assert fiber is not None
        assert self.region.purge(fiber)
        return self.shown()

    def advance(self, seconds: int) -> Any:
        self.region.clock.advance(seconds)
        return self.shown()

    def set(self, queue: str, **options: Any) -> Any:
        try:
            self.region.set_tdqueue(queue, **options)
        except Condition as condition:
            return condition.name, self.shown()
        return "NORMAL", self.shown()

    def terminal(self, *, inservice: bool) -> Any:
        self.region.set_terminal("T001", servstatus="INSERVICE" if inservice else "OUTSERVICE")
        return self.shown()

    # -- what can be seen -----------------------------------------------------------------------------------------

    def shown(self) -> Any:
        self.region.dispatcher.run_ready()
        numbers = {
            slot.task.number: name
            for name, slot in self.slots.items()
            if slot.task is not None and not slot.task._ended
        }
        ends = self.ends(numbers)
        waits = {name: self.waits(number, ends) for number, name in numbers.items()}
        queues = {name: self.queue(name, ends, waits) for name in QUEUES}
        tasks = {
            name: (slot.answers, waits.get(name, ("", ""))[0], ended(slot)) for name, slot in sorted(self.slots.items())
        }
        answers = {name: (list(found), *rest) for name, (found, *rest) in tasks.items()}
        for slot in self.slots.values():
            slot.answers.clear()
        return queues, answers, sorted(self.started)

    def ends(self, numbers: dict[int, str]) -> dict[tuple[str, str, str], list[str]]:
        """Who owns the ends of queues, and who waits for them, as INQUIRE UOWENQ shows it."""
        found: dict[tuple[str, str, str], list[str]] = {}
        with self.region.task() as task:
            task.inquire_uowenq_start()
            while info := task.inquire_uowenq_next(nohandle=True):
                key = (info.resource.rstrip(), {"FROMQ": "R", "TOQ": "W"}[info.qualifier.rstrip()], info.relation.name)
                found.setdefault(key, []).append(numbers[info.taskid])
        return found

    def waits(self, number: int, ends: dict[tuple[str, str, str], list[str]]) -> tuple[str, str]:
        """What a task waits for, and the queue: TD_READ, or the end that it is in line for."""
        info = self.region.inquire_task(number, "SUSPENDTYPE", "SUSPENDVALUE")
        kind, queue = info.suspendtype.rstrip(), info.suspendvalue.rstrip()
        if kind == "TD_READ":
            return kind, queue
        name = next(name for name, slot in self.slots.items() if slot.task is not None and slot.task.number == number)
        return next(
            ((end, queue) for (queue, end, as_what), who in ends.items() if as_what == "WAITER" and name in who),
            ("", ""),
        )

    def queue(self, name: str, ends: Any, waits: dict[str, tuple[str, str]]) -> Any:
        info = self.region.inquire_tdqueue(name, "NUMITEMS", "ENABLESTATUS")
        records = self.region.peek(name)
        assert info.numitems == len(records)
        owners = [ends.get((name, end, "OWNER"), [None])[0] for end in "RW"]
        lines = [ends.get((name, end, "WAITER"), []) for end in "RW"]
        past = sorted(task for task, wait in waits.items() if wait == ("TD_READ", name))
        return (records, info.enablestatus.name, *owners, *lines, past)


class Guard:
    """A hook that does nothing, so that every request goes the long way."""

    def before(self, task: Any, command: str, arguments: Any) -> None:
        """Nothing."""

    def after(self, task: Any, command: str, arguments: Any, outcome: object) -> None:
        """Nothing."""


def ended(slot: Slot) -> str:
    fiber = slot.fiber
    if fiber is None or not fiber.done:
        return ""
    if fiber.exception is None:
        return "RETURN"
    assert isinstance(fiber.exception, Abend), fiber.exception
    return fiber.exception.code
