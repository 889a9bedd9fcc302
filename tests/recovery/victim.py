"""The program that is killed: random work on a region with a store, every request told before and after.

Run as a program. It reads a life a line from its input (JSON: path, seed, serial, kill, plant), forks, and the child
lives it. What it says goes to its output, a JSON array a line; the last line of a life is ``["end", exit code]``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tdqsim.cics import Abend, Condition, Region, UnitOfWork
from tdqsim.core.store import Durable
from tdqsim.definitions import define_tdqueue, define_transaction
from tdqsim.facts import Resp

QUEUES = {
    "NOQ1": "NO", "PHY1": "PHYSICAL", "PHY2": "PHYSICAL",
    "LOG1": "LOGICAL", "LOG2": "LOGICAL", "LOG3": "LOGICAL",
}  # fmt: skip
DYNAMIC = ("DYN1", "DYN2")
KINDS = ("NO", "PHYSICAL", "LOGICAL")


def definitions() -> list[Any]:
    queues = [define_tdqueue(name=name, type="INTRA", recovstatus=kind) for name, kind in QUEUES.items()]
    return [*queues, define_transaction(name="WORK", dtimout="10")]


def region_at(path: str, **options: Any) -> Region:
    return Region(definitions(), store=path, supplied_queues=False, **options)


def title_of(record: bytes) -> str:
    return f"{int(record[:8])}:{len(record)}"


def say(*words: Any) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


class Life:
    """One life of the program."""

    def __init__(self, path: str, seed: int, serial: int, durability: str) -> None:
        self.path = path
        self.durability = durability
        self.pick = random.Random(seed)
        self.serial = serial
        self.number = 0
        self.branches: dict[str, Any] = {}
        self.prepares = 0
        self.seed = seed
        self.ops = {
            "write": self.write, "read": self.read, "delete": self.delete, "sync": self.sync,
            "rollback": self.rollback, "suspend": lambda task, _number: task.suspend(), "prepare": self.prepare,
            "decide": self.decide, "create": self.create, "disable": self.disable, "discard": self.discard,
        }  # fmt: skip
        self.weights = [30, 22, 2, 9, 4, 6, 2, 4, 2, 2, 2]

    def live(self) -> None:
        while True:
            region = self.open()
            for _ in range(self.pick.randrange(2, 9)):
                self.tasks(region)
            self.close(region)

    def open(self) -> Region:
        say("op", 0, "open")
        region = region_at(self.path, seed=self.seed, durability=self.durability)
        say("done", 0, "ok")
        self.branches = {
            uow.coordinator: region.recovery.branch(uow.coordinator) for uow in region.recovery.shunted.values()
        }
        return region

    def close(self, region: Region) -> None:
        for name in tuple(self.branches):
            if self.pick.random() < 0.5:
                self.end_branch(0, name)
        say("op", 0, "close")
        region.close()
        say("done", 0, "ok")

    def tasks(self, region: Region) -> None:
        programs = []
        for _ in range(self.pick.randrange(1, 4)):
            self.number += 1
            number = self.number
            region.register("WORK", self.program)
            entry = region.resources.transactions["WORK"]
            programs.append(
                region._core.task_manager.attach(entry, startcode="S", userid=region.options.dfltuser, args=(number,))
            )
        region.run()
        for name in tuple(self.branches):  # what waits for one in doubt must not wait for ever
            self.end_branch(0, name)
        region.run()

    def end_branch(self, number: int, name: str) -> None:
        branch, commit = self.branches.pop(name), self.pick.random() < 0.5
        self.told(number, ("decide", name, commit), branch.commit if commit else branch.back_out)

    # -- one task -------------------------------------------------------------------------------------------------

    def program(self, task: Any, *given: int) -> None:
        (number,) = given
        try:
            for _ in range(self.pick.randrange(1, 14)):
                name = self.pick.choices(list(self.ops), self.weights)[0]
                self.ops[name](task, number)
            if self.pick.random() < 0.1:
                task.abend("KILL")
            self.sync(task, number)
        except Abend:
            say("op", number, "rollback")
            task.syncpoint_rollback()
            say("done", number, "ok")
            raise

    def told(self, number: int, what: tuple[Any, ...], call: Any) -> Any:
        say("op", number, *what)
        try:
            value = call()
        except Condition as condition:
            say("done", number, condition.name)
            return None
        except Abend as abend:
            say("done", number, abend.code)
            raise
        if value is False:
            say("done", number, "refused")
        else:
            say("done", number, "ok", title_of(value) if isinstance(value, bytes) else None)
        return value

    def queue(self) -> str:
        return self.pick.choice((*QUEUES, *DYNAMIC))

    def write(self, task: Any, number: int) -> None:
        self.serial += 1
        size = self.pick.choice((8, 20, 100, 900, 4000)) if self.pick.random() < 0.3 else 12
        record = b"%08d" % self.serial + b"x" * (size - 8)
        queue = self.queue()
        self.told(number, ("write", queue, title_of(record)), lambda: task.writeq_td(queue, record))

    def read(self, task: Any, number: int) -> None:
        queue, nosuspend = self.queue(), self.pick.random() < 0.5
        say("op", number, "read", queue)
        try:
            record = task.readq_td(queue, nosuspend=nosuspend, nohandle=True)
        except Abend as abend:
            say("done", number, abend.code)
            raise
        answer = task.eib.eibresp
        if answer is Resp.NORMAL:
            say("done", number, "ok", title_of(record))
        else:
            say("done", number, Resp(answer).name)

    def delete(self, task: Any, number: int) -> None:
        queue = self.queue()
        self.told(number, ("delete", queue), lambda: task.deleteq_td(queue))

    def sync(self, task: Any, number: int) -> None:
        self.told(number, ("sync",), task.syncpoint)

    def rollback(self, task: Any, number: int) -> None:
        self.told(number, ("rollback",), task.syncpoint_rollback)

    # -- two phases -----------------------------------------------------------------------------------------------

    def prepare(self, task: Any, number: int) -> None:
        self.prepares += 1
        name = f"{os.getpid()}.{self.prepares}"
        branch = task.region.recovery.branch(name, task)
        if self.told(number, ("prepare", name), branch.prepare) and not branch.uow.ended:
            self.branches[name] = branch

    def decide(self, _task: Any, number: int) -> None:
        if self.branches:
            self.end_branch(number, self.pick.choice(sorted(self.branches)))

    # -- definitions ----------------------------------------------------------------------------------------------

    def create(self, task: Any, number: int) -> None:
        if not task._has_uow:  # CREATE is a syncpoint
            queue, kind = self.pick.choice(DYNAMIC), self.pick.choice(KINDS)
            if queue not in task.region.tdqueues:
                text = f"TYPE(INTRA) RECOVSTATUS({kind})"
                self.told(number, ("create", queue, kind), lambda: task.create_tdqueue(queue, text))

    def disable(self, task: Any, number: int) -> None:
        queue = self.pick.choice(DYNAMIC)
        self.told(number, ("disable", queue), lambda: task.set_tdqueue(queue, enablestatus="DISABLED"))

    def discard(self, task: Any, number: int) -> None:
        if not task._has_uow:  # DISCARD of a LOGICAL queue is a syncpoint
            queue = self.pick.choice(DYNAMIC)
            self.told(number, ("discard", queue), lambda: task.discard_tdqueue(queue))


# -- dying ------------------------------------------------------------------------------------------------------------


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(half: str, point: str, nth: int) -> None:
    """Be killed at the nth such point of one half of the store, in a start too."""
    made = Durable.__init__
    left = [nth]

    def fault(where: str) -> None:
        if where == point:
            left[0] -= 1
            if not left[0]:
                die()

    def init(self: Any, env: Any, path: Path, limit: int | None, **options: Any) -> None:
        made(self, env, path, limit, **options)
        if path.name == half and not options.get("readonly"):
            self.fault = fault

    Durable.__init__ = init  # type: ignore[method-assign]


# -- bugs that the harness must find ----------------------------------------------------------------------------------


def commit_in_two_transactions() -> None:
    commit = Durable.commit

    def one_by_one(self: Any, works: Any = (), meta: Any = MappingProxyType({}), owner: Any = None) -> None:
        for work in list(works)[:-1]:
            commit(self, (work,))
        commit(self, list(works)[-1:], meta, owner)

    Durable.commit = one_by_one  # type: ignore[method-assign]


def forget_the_last_read() -> None:
    UnitOfWork.remember_read = lambda *_: {}  # type: ignore[method-assign]


def acknowledge_before_the_commit() -> None:
    def sync(self: Life, task: Any, number: int) -> None:
        self.told(number, ("sync",), lambda: None)
        task.syncpoint()

    Life.sync = sync  # type: ignore[method-assign]


def keep_what_was_rolled_back() -> None:
    def forget(self: Any, also: Any = None) -> None:
        work = next((work for work in self.works.values() if work.written), None)
        if work is not None:
            self._region.committer.commit((work,))
        ended(self, also)

    ended = UnitOfWork.back_out
    UnitOfWork.back_out = forget  # type: ignore[method-assign]


PLANTS = {
    "": lambda: None,
    "commit in two transactions": commit_in_two_transactions,
    "forget the last read": forget_the_last_read,
    "acknowledge before the commit": acknowledge_before_the_commit,
    "keep what was rolled back": keep_what_was_rolled_back,
}


def live(order: dict[str, Any]) -> None:
    PLANTS[order["plant"]]()
    if order["kill"]:
        die_at(*order["kill"])
    Life(order["path"], order["seed"], order["serial"], order["durability"]).live()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                live(json.loads(line))
            except BaseException:  # noqa: BLE001  (whatever it is, the parent must hear of it)
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        say("end", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
