"""What an example runs on (see :mod:`tests.facts._examples`): regions and systems, and the names of its steps."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from textwrap import wrap
from typing import Any, Self

from tdqsim import SecurityOptions, StartOptions, SystemOptions, definitions
from tdqsim.cics import Abend, AccessList, Condition, Region, SecurityPolicy, Sysplex, cemt
from tdqsim.cics.text import ceci
from tdqsim.definitions import Definitions, parse_csd
from tdqsim.facts import Cvda
from tdqsim.ibmi import System
from tdqsim.testing import StillClock, stepped
from tdqsim.testing.stores import RecycledStores

from ._steps import Outcome, Step, name_of, plain

BASE = """
DEFINE TDQUEUE(NOR1) GROUP(BASE) TYPE(INTRA)
DEFINE TDQUEUE(PHY1) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(PHYSICAL)
DEFINE TDQUEUE(LOG1) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(LOGICAL)
DEFINE TDQUEUE(LOG2) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(LOGICAL)
DEFINE TDQUEUE(ALI1) GROUP(BASE) TYPE(INDIRECT) INDIRECTNAME(NOR1)
"""
"""The queues of every region."""
OPTIONS = {"code_page": "iso8859-1", "supplied_queues": False}
"""Those of every region, unless an example gives others."""
NOON = 1_767_268_800 * 10**9
"""2026-01-01 12:00 UTC: the time at which every example begins."""
CLASSES = (AccessList, Condition, Cvda, Region, SecurityPolicy, StillClock, Sysplex, System)
COMMAND = re.compile(r"[A-Z]{3,}(\s|$)")

_stores = RecycledStores()
atexit.register(_stores.close)


def grouped(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a region with those of its groups in these, so that examples can give each by its name."""
    found = dict(options)
    for group, alone, made in (
        ("security", "policy", SecurityOptions),
        ("start", "type", StartOptions),
        ("system", "", SystemOptions),
    ):
        given = {name: found.pop(name) for name in made._fields if name in found}
        if given:
            found[group] = made(**given, **({alone: found[group]} if group in found else {}))
    return found


class Names(dict[str, Any]):
    """The names of the steps in Python; some are made when they are first looked up."""

    def __init__(self, makers: dict[str, Callable[[], Any]]) -> None:
        super().__init__()
        self.makers = makers

    def __missing__(self, name: str) -> Any:
        self[name] = self.makers[name]()
        return self[name]


class Stage:
    """Executes the steps of one example. Its public methods are names that steps in Python can use.

    Other names: ``region``; ``plex``, a Sysplex; ``system``, an IBM i system with the library APPLIB; ``job``, a job there;
    ``ran``, see :meth:`runs`; all functions and classes of ``tdqsim.definitions``, and :data:`CLASSES`. ``region`` and those
    behind it are made when they are first used.

    Args:
        statements: the DEFINE statements of the example, for its regions.
    """

    def __init__(self, statements: str) -> None:
        self._statements = statements
        self._tasks: dict[str, SteppedSteps] = {}
        self._started: dict[int, tuple[dict[str, Any], Definitions]] = {}
        self._end = ExitStack()
        makers = {
            "region": self.start,
            "plex": self._plex,
            "system": self._system,
            "job": self._job,
            "directory": self._directory,
        }
        self._names = Names(makers)
        self._names.update({name: getattr(self, name) for name in vars(Stage) if not name.startswith("_")})
        self._names.update({name: getattr(definitions, name) for name in definitions.__all__})
        self._names.update({each.__name__: each for each in CLASSES} | {"NOON": NOON, "ran": [], "stepped": stepped})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.close()

    def _plex(self) -> Sysplex:
        return self._end.enter_context(Sysplex(clock=StillClock(NOON)))

    def _system(self) -> System:
        system = self._end.enter_context(System("SYS1"))
        system.crtlib("APPLIB")
        return system

    def _job(self) -> Any:
        return self._names["system"].job("WORKER")

    def _directory(self) -> Path:
        made = Path(tempfile.mkdtemp(prefix="tdq-example-"))
        self._end.callback(shutil.rmtree, made, ignore_errors=True)
        return made

    @property
    def _region(self) -> Region:
        region: Region = self._names["region"]
        return region

    # -- names of the steps ----------------------------------------------------------------------------------------

    def defined(self, text: str = "", base: str = BASE) -> Definitions:
        """The definitions of every region and those of DEFINE statements."""
        read = parse_csd(f"{base}\n{text}")
        assert not read.reports, read.reports
        return read.definitions

    def start(self, text: str = "", *, base: str = BASE, **options: Any) -> Region:
        """A region with the queues of BASE, the statements of the example and those of the text."""
        text = "\n".join(with_group(line.strip()) for line in text.splitlines())
        known = self.defined(f"{self._statements}\n{text}", base)
        clock = {} if "dispatcher" in options else {"clock": StillClock(NOON)}
        options = OPTIONS | clock | options
        if "store" not in options:
            options["store"] = _stores.take()
        return self._start(known, options)

    def _start(self, known: Definitions, options: dict[str, Any], **changed: Any) -> Region:
        region = Region(known, **grouped(options | changed))
        self._started[id(region)] = (options, known)
        self._end.callback(lambda: region.closed or region.close())
        return region

    def restart(self, *, clean: bool = True, **changed: Any) -> Region:
        """End ``region``, normally or as if it had been killed, and start it again; it was given a directory as store."""
        if not self._region.closed:
            self._region.shutdown() if clean else self._region.close(clean=False)
        options, known = self._started[id(self._region)]
        self._names["region"] = self._start(known, options, **changed)
        return self._region

    def pair(self, near: str = "", far: str = "", **options: Any) -> Any:
        """Two linked regions with DEFINE statements each: ``region`` (SYSID NEAR) and ``far`` (FAR); gives the link."""
        plex = self._names["plex"]
        for name, sysid, text in (("region", "NEAR", near), ("far", "FAR", far)):
            where = {"applid": sysid, "sysid": sysid, "dispatcher": plex.dispatcher}
            self._names[name] = plex.add(self.start(text, **where | options))
        return plex.connect(self._region, self._names["far"])

    def path(self, name: str = "") -> Path:
        """A path in an empty directory."""
        found: Path = self._names["directory"] / name
        return found

    def closing(self, opened: Any) -> Any:
        """What was opened, to be closed when the example ends."""
        self._end.callback(opened.close)
        return opened

    def runs(self, transid: str, program: Callable[[Any], Any] = lambda _task: None) -> None:
        """Register a program that first adds its transaction id to ``ran``."""

        def noted(task: Any) -> Any:
            self._names["ran"].append(transid)
            return program(task)

        self._region.register(transid, noted)

    def drain(self, queue: str) -> Callable[[Any], list[bytes]]:
        """A program that reads the queue until QZERO."""
        return lambda task: list(task.readq_td_all(queue))

    def put(self, queue: str, *records: str) -> None:
        """WRITEQ TD of each record, each in a task of its own."""
        for record in records:
            self._region.writeq_td(queue, record.encode("iso8859-1"))

    def doubt(self, *commands: str, name: str = "XA1", **options: str) -> Any:
        """A unit of work that issues the commands, is prepared, and then loses its coordinator."""
        task = self._region.task(**options)
        with ceci.session(self._region, task=task.__enter__()) as session:
            for command in commands:
                assert session.execute(command).response == 0, command
            branch: Any = self._region.recovery.branch(name, task)
            branch.prepare()
            branch.lose_coordinator()
        return branch

    def later(self, **time: int) -> None:
        """Let hours, minutes or seconds pass, and what is due run."""
        self._region.clock.advance(timedelta(**time).total_seconds())
        self._region.dispatcher.run_ready()

    def every(self, resource: str, /, *, of: Any = None, **options: Any) -> list[dict[str, Any]]:
        """All rows of an INQUIRE browse, in ``region`` unless another one is given."""
        issuer, rows = of or self._region, []
        start, following, end = (
            getattr(issuer, f"inquire_{resource.lower()}_{word}") for word in ("start", "next", "end")
        )
        start(**options)
        while row := following(nohandle=True).as_dict(plain=True):
            rows.append(row)
        end()
        return rows

    def counts(self, queue: str) -> dict[str, Any]:
        """The statistics of a queue."""
        return next(each.values for each in self._region.statistics.now().queues if each.values["name"] == queue)

    def number(self, transid: str) -> int:
        """The number of the task of a transaction; that of the task T1 is T1."""
        return next(number for number, task in self._region.tasks.items() if task.eib.eibtrnid == transid)

    def cemt(self, text: str, **options: Any) -> Any:
        """What CEMT answers."""
        return cemt(self._region, text, **options)

    def screen(self, text: str, **options: Any) -> str:
        """The screen of CEMT."""
        shown: str = self.cemt(text, **options).text
        return shown

    def ceci(self, **options: Any) -> Any:
        """A CECI session."""
        return ceci.session(self._region, **options)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _attempt(self, text: str, task: Any = None) -> Outcome:
        """Execute the text of a step; its outcome. An abend of a task is left to the task."""
        try:
            return Outcome(plain(self._command(text, task) if COMMAND.match(text) else self._python(text, task)))
        except Exception as error:
            if task is not None and isinstance(error, Abend):
                raise
            return Outcome(name_of(error), error)

    def _command(self, text: str, task: Any) -> dict[str, Any]:
        text = re.sub(r"\{([^}]+)\}", lambda found: str(eval(found[1], self._names)), text)
        session = ceci.session(self._region, task=task)
        answer = session.execute(text)
        if task is None:
            session.end()
        received = {
            word: value.rstrip() if isinstance(value, str) else value for word, value in answer.received.items()
        }
        return {"RESP": answer.response, "RESP2": answer.resp2, **received}

    def _python(self, text: str, task: Any) -> Any:
        self._names["me"] = task
        try:
            code = compile(text, "<example>", "eval")
        except SyntaxError:
            exec(compile(text, "<example>", "exec"), self._names)
            return None
        return eval(code, self._names)

    def take(self, step: Step, steps: Iterable[Step]) -> Outcome:
        """Execute a step of an example with these steps; its outcome."""
        if not step.task:
            return self._attempt(step.text)
        if step.task not in self._tasks:
            own = [each.text for each in steps if each.task == step.task and each.text]
            self._tasks[step.task] = SteppedSteps(self, self._region, step.task, own)
        task = self._tasks[step.task]
        if step.text:
            return task.step()
        self._region.dispatcher.run_ready()
        return task.last()


class SteppedSteps:
    """A task that executes the steps of an example that carry its name, each when it is released."""

    def __init__(self, stage: Stage, region: Region, name: str, steps: list[str]) -> None:
        self._stage = stage
        self._steps = steps
        self._outcomes: list[Outcome] = []
        self._issued = 0
        self._stepped = stepped(region, self._run, transid=name)

    def _run(self, task: Any) -> None:
        for text in self._steps:
            if text == "RETURN":
                break
            self._outcomes.append(self._stage._attempt(text, task))
        try:
            task.return_()
        finally:
            self._outcomes.append(Outcome("NORMAL"))

    def step(self) -> Outcome:
        """Release it for its next step; the outcome, or ``waits``."""
        self._issued += 1
        if len(self._outcomes) < self._issued and not self._stepped.done:
            self._stepped.step()
        return self.last()

    def last(self) -> Outcome:
        """The outcome of the step that it was last released for."""
        if not self._issued:
            return Outcome("nothing was issued")
        if len(self._outcomes) >= self._issued:
            return self._outcomes[self._issued - 1]
        fiber = self._stepped.fiber
        error = fiber.exception if fiber is not None and fiber.done else None
        return Outcome("waits") if error is None else Outcome(name_of(error), error)


def with_group(statement: str) -> str:
    """A DEFINE statement with a group, on lines of 72 columns."""
    if statement and "GROUP(" not in statement:
        statement += " GROUP(OWN)"
    return "\n".join(wrap(statement, 71, break_long_words=False))
