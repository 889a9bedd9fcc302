"""One process of a pair: a region with a store and its link, driven over its standard input and output.

``python -m tests.server.links.node ROLE STORE PORT IDENTITY... [KILL]``: a line of JSON in, a line of JSON out. KILL is
``out:N`` or ``in:N``: the process kills itself before it sends, or when it gets, the Nth message of its link; ``cut`` in
front instead cuts the link there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tdqsim.cics import Condition, Region
from tdqsim.cics.ship.messages import KINDS
from tdqsim.cics.uow.indoubt import decisions, heuristics
from tdqsim.core.engine import Engine
from tdqsim.core.messages import FrameDecoder, MessageError
from tdqsim.definitions import define_tdqueue
from tdqsim.server.links import Identity, Links

NEAR = [
    define_tdqueue(name="OWNQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="FARQ", remotesystem="FAR", remotename="FARQ"),
]
FAR = [define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL")]


class Node:
    """The process."""

    def __init__(self, role: str, store: str, port: int, files: list[str], fate: str) -> None:
        self.role = role
        self.counted = 0
        self.fate = fate.split(":") if fate else ["", "", "0"]
        self.engine = Engine()
        near = role == "NEAR"
        self.region: Region = self.engine.make(
            Region, NEAR if near else FAR, applid=f"{role}APPL", sysid=role, supplied_queues=False, store=Path(store)
        )
        if not near:
            server = self.region.programs.register
            self.do(lambda: server("SERVER", lambda task: task.writeq_td("FARQ", bytes(task.commarea))))
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        identity = Identity(*map(Path, files))
        self.links = Links(self.engine, identity, port=None if near else port, watch=self.watch)
        self.link = self.links.join(
            self.region,
            "FAR" if near else "NEAR",
            "FARAPPL" if near else "NEARAPPL",
            ("127.0.0.1", port) if near else None,
        )
        asyncio.run_coroutine_threadsafe(self.links.start(), self.loop).result(300)

    def watch(self, way: str, data: bytes) -> None:
        act, wanted, number = self.fate
        try:
            self.counted += (
                len([one for one in FrameDecoder(KINDS).feed(data) if one.kind != "HELLO"]) if way == wanted else 0
            )
        except MessageError:
            return
        if wanted == way and self.counted >= int(number):
            self.fate = ["", "", "0"]
            if act == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            self.link.cut()

    def do(self, call: Any) -> Any:
        return self.engine.submit(call).result(300)

    def both(self, record: str) -> str:
        """A unit of work with a record here and one that is function-shipped."""

        def program(task: Any) -> None:
            task.writeq_td("OWNQ", record.encode())
            task.writeq_td("FARQ", record.encode())
            task.syncpoint()

        return self.outcome(program)

    def linked(self, record: str) -> str:
        """The same, but a program of the other region writes its record."""

        def program(task: Any) -> None:
            task.writeq_td("OWNQ", record.encode())
            task.link("SERVER", record.encode(), sysid="FAR")
            task.syncpoint()

        return self.outcome(program)

    def outcome(self, program: Any) -> str:
        try:
            self.do(lambda: self.region.start(program))
        except Condition as error:
            return error.name
        except Exception as error:  # noqa: BLE001  (an abend, say)
            return type(error).__name__
        return "NORMAL"

    def look(self) -> dict[str, Any]:
        name = "OWNQ" if self.role == "NEAR" else "FARQ"
        return self.do(
            lambda: {
                "records": [record.decode() for record in self.region.peek(name)], "shunted": len(self.region.recovery.shunted),
                "decisions": len(decisions(self.region._core)) + len(heuristics(self.region._core)), "tasks": len(self.region.tasks),
                "acquired": self.link.acquired,
            }
        )  # fmt: skip


def main() -> None:
    role, store, port, *rest = sys.argv[1:]
    node = Node(role, store, int(port), rest[:3], rest[3] if len(rest) > 3 else "")
    print(json.dumps({"port": node.links.port}), flush=True)
    for line in sys.stdin:
        name, *values = json.loads(line)
        print(json.dumps(getattr(node, name)(*values)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
