"""Examples of rules in words, and the runner that executes them.

A rule without RESP and message is a sentence. ``tests/facts/examples/AREA.yaml`` has an example of it under its id::

    TD-FIFO:
      rule: records are read in the order of WRITEQ, and each is gone once read
      when: |
        WRITEQ TD QUEUE(NOR1) FROM(A)
        WRITEQ TD QUEUE(NOR1) FROM(B)
      then: |
        READQ TD QUEUE(NOR1) -> A
        READQ TD QUEUE(NOR1) -> B
        READQ TD QUEUE(NOR1) -> QZERO

``given`` at the top of a file holds for all its examples. ``rule`` repeats the sentence of the row, so that neither is changed without the other. ``given``, ``when`` and ``then``
are steps, one a line; an indented line continues the one before. A step is

- ``DEFINE ...`` (``given``): statements of DFHCSDUP, which are installed when the region starts;
- a command as CECI takes it, such as ``READQ TD QUEUE(NOR1)``, in a task of its own; Python stands in braces;
- ``CEMT ...``: its outcome is the screen, a list of lines;
- anything else: Python, with the names of :class:`Stage`. ``region``, ``system`` and ``job`` are made when they are first
  named;
- any of these behind ``T1`` (or another ``T`` or ``J`` and a number): a step of that task or job, which goes on from
  step to step. Each step issues one command. In Python the task or job is ``me``. A last step that is missing is RETURN.
- ``T1`` alone: the outcome of its last step, which waited when it was issued.

``STEP -> VALUE`` compares the outcome: a record, a received value, a mapping of several (RESP, RESP2 and receivers), the
name of the condition, the message id, abend code or name of an error, or ``waits`` for a task that waits. Values are
Python literals, or plain words. Bytes are compared as text of ISO 8859-1, enumerations by name. A step without a value
must end without an error.
"""

from __future__ import annotations

import ast
import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date, datetime, time, timedelta
from enum import Enum
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from tdqsim import definitions
from tdqsim.cics import Abend, AccessList, Condition, Region, SecurityPolicy, Sysplex, cemt
from tdqsim.cics.text import ceci
from tdqsim.definitions import Definitions, parse_csd
from tdqsim.definitions.yamltext import plain_value, read_yaml
from tdqsim.facts import Cvda
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.testing import StillClock
from tdqsim.testing.stores import RecycledStores

EXAMPLES = Path(__file__).parent / "examples"

BASE = """
DEFINE TDQUEUE(NOR1) GROUP(BASE) TYPE(INTRA)
DEFINE TDQUEUE(PHY1) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(PHYSICAL)
DEFINE TDQUEUE(LOG1) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(LOGICAL)
DEFINE TDQUEUE(LOG2) GROUP(BASE) TYPE(INTRA) RECOVSTATUS(LOGICAL)
DEFINE TDQUEUE(ALI1) GROUP(BASE) TYPE(INDIRECT) INDIRECTNAME(NOR1)
"""
"""The queues of every region."""

OPTIONS = {"codepage": "iso8859-1", "supplied_queues": False}
"""Of every region, unless an example gives others."""
NOON = 1_767_268_800 * 10**9
"""2026-01-01 12:00 UTC: the time at which every example begins."""

CLASSES = (AccessList, Condition, Cvda, Region, SecurityPolicy, StillClock, Sysplex, System)
_ACTOR = re.compile(r"([TJ]\d)(?:\s+(.*))?", re.DOTALL)
_COMMAND = re.compile(r"[A-Z]{3,}(\s|$)")
_stores = RecycledStores()
atexit.register(_stores.close)


class Step(NamedTuple):
    """A line of an example: what is done, by whom, and the outcome that it must have."""

    text: str
    actor: str
    expected: Any
    compared: bool


class Example(NamedTuple):
    """An example, as its file has it."""

    id: str
    rule: str
    given: tuple[Step, ...]
    when: tuple[Step, ...]
    then: tuple[Step, ...]


class ExampleFailed(AssertionError):
    """A step had another outcome than the example says."""


@cache
def examples() -> Mapping[str, Example]:
    """All examples by rule id."""
    found: dict[str, Example] = {}
    for path in sorted(EXAMPLES.glob("*.yaml")):
        contents = plain_value(read_yaml(path.read_text("utf-8"), str(path)))
        every = contents.pop("given", "")
        for rule_id, parts in contents.items():
            assert rule_id not in found, f"{path.name}: there are two examples of {rule_id}"
            unknown = parts.keys() - {"rule", "given", "when", "then"}
            assert not unknown, f"{path.name}: {rule_id} has {unknown}"
            texts = (f"{every}\n{parts.get('given', '')}", parts.get("when", ""), parts.get("then", ""))
            steps = (tuple(parse_steps(text)) for text in texts)
            found[rule_id] = Example(rule_id, parts["rule"], *steps)
    return found


def parse_steps(text: str) -> Iterator[Step]:
    """The steps in a text."""
    for line in re.split(r"\n(?=\S)", text.strip()) if text.strip() else ():
        done, arrow, expected = line.rpartition(" -> ")
        if not arrow:
            done = line
        actor = _ACTOR.fullmatch(done.strip())
        who, what = (actor[1], actor[2] or "") if actor and " = " not in done[:5] else ("", done.strip())
        yield Step(what, who, literal(expected) if arrow else None, bool(arrow))


def literal(text: str) -> Any:
    """A Python literal, or the words themselves."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


def plain(value: Any) -> Any:
    """An outcome as an example writes it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("iso8859-1")
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if isinstance(value, list | tuple | set | frozenset) or hasattr(value, "__next__"):
        return [plain(each) for each in value]
    return value


def name_of(error: BaseException) -> Any:
    """What an error is called: its condition, abend code or message id, else its class."""
    if isinstance(error, Condition):
        return {"RESP": error.resp.name, "RESP2": error.resp2}
    if isinstance(error, Abend):
        return error.code
    return error.message_id if isinstance(error, EscapeMessage) else type(error).__name__


def agrees(expected: Any, outcome: Any) -> bool:
    """Whether an outcome is the expected one: of a mapping the keys that are expected, of a command its main value."""
    if isinstance(outcome, dict) and isinstance(expected, dict):
        return bool(expected or not outcome) and all(
            key in outcome and agrees(value, outcome[key]) for key, value in expected.items()
        )
    if isinstance(outcome, dict) and "RESP" in outcome:
        received = {key: value for key, value in outcome.items() if key not in ("RESP", "RESP2")}
        if outcome["RESP"] != "NORMAL" or not received:
            return bool(expected == outcome["RESP"])
        outcome = received.get("INTO", next(iter(received.values())))
    return type(expected) is type(outcome) and expected == outcome


def altered(expected: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(expected, bool):
        return not expected
    if isinstance(expected, int | float):
        return expected + 1
    if isinstance(expected, dict):
        return {key: altered(value) for key, value in expected.items()} or {"ALTERED": ""}
    if isinstance(expected, list | tuple):
        return [*expected, "ALTERED"]
    return f"{expected}-ALTERED"


class Outcome(NamedTuple):
    """How a step ended: its value, and the error if there was one."""

    value: Any
    error: BaseException | None = None

    def worked(self) -> bool:
        """Whether it ended, and without an error."""
        if isinstance(self.value, dict) and "RESP" in self.value:
            return bool(self.value["RESP"] == "NORMAL")
        return self.error is None and self.value != "waits"


class Actor:
    """A task or job that takes the steps of an example which carry its name, in order, when it is let go."""

    def __init__(self, stage: Stage, name: str, steps: list[Step]) -> None:
        self.steps = steps
        self.outcomes: list[Outcome] = []
        self.issued = 0
        options = stage.names.get(name, {})
        if name.startswith("T"):
            self.stepped = stage.names["region"].stepped(self._task, stage, **{"transid": name} | options)
        else:
            self.stepped = stage.names["system"].stepped(self._job, stage, **{"name": name} | options)

    def _task(self, task: Any, stage: Stage) -> None:
        for step in self.steps:
            if step.text == "RETURN":
                break
            self._take(stage, step, task)
        try:
            task.return_()
        finally:
            self.outcomes.append(Outcome("NORMAL"))

    def _job(self, job: Any, stage: Stage) -> None:
        for step in self.steps:
            self._take(stage, step, job)
        job.command("DSPJOBLOG")

    def _take(self, stage: Stage, step: Step, me: Any) -> None:
        self.outcomes.append(stage.attempt(step.text, me, raises=(Abend,)))

    def step(self) -> Outcome:
        """Let it take its next step; the outcome, or ``waits``, and the error if there was one."""
        self.issued += 1
        if len(self.outcomes) < self.issued and not self.stepped.done:
            self.stepped.step()
        return self.last()

    def last(self) -> Outcome:
        """The outcome of the step that it was let go for last."""
        if not self.issued:
            return Outcome("nothing was issued")
        if len(self.outcomes) >= self.issued:
            return self.outcomes[self.issued - 1]
        error = self.stepped.strand.exception if self.stepped.done else None
        return Outcome("waits") if error is None else Outcome(name_of(error), error)


class Stage:
    """What an example runs on: the names that its steps in Python use.

    ``start(**options)`` makes a region with :data:`BASE` and the DEFINE statements; ``restart(clean=True, **options)``
    ends ``region`` and starts it again from its store; ``plex`` is a Sysplex, ``system`` an IBM i system with the library
    APPLIB, ``job`` a job there, ``path(name)`` a path in an empty directory. ``runs(transid, program)`` registers a program;
    ``ran`` has the transaction ids of those that were started. ``drain(queue)`` is a program that reads to QZERO.
    ``put(queue, *records)`` writes each record in a task of its own. ``doubt(*commands)`` issues commands in a unit of work
    that is prepared and then loses its coordinator; it returns the unit of work. ``counts(queue)`` are the statistics of a queue,
    ``every(resource)`` are the rows of an INQUIRE browse. ``link = pair(near, far)`` makes two linked regions, ``region`` and
    ``far``, with DEFINE statements each. ``closing(x)`` closes x at the end. ``number("T1")`` is the number of a task, ``later(seconds=5)`` lets time pass.
    """

    def __init__(self) -> None:
        self.end = ExitStack()
        self.statements = ""
        self.actors: dict[str, Actor] = {}
        own = (
            "start",
            "restart",
            "path",
            "defined",
            "cemt",
            "ceci",
            "screen",
            "runs",
            "drain",
            "put",
            "doubt",
            "counts",
            "number",
            "later",
            "every",
            "closing",
            "pair",
        )
        self.names: dict[str, Any] = {name: getattr(self, name) for name in own} | {"ran": []}
        self.names |= {name: getattr(definitions, name) for name in definitions.__all__}
        self.names |= {each.__name__: each for each in CLASSES} | {"NOON": NOON}
        self.kept: dict[int, tuple[Path, dict[str, Any], Definitions]] = {}

    # -- names of the steps ----------------------------------------------------------------------------------------

    def defined(self, text: str = "", base: str = BASE) -> Definitions:
        """The definitions of every region and those of DEFINE statements."""
        read = parse_csd(f"{base}\n{text}")
        assert not read.reports, read.reports
        return read.definitions

    def start(self, text: str = "", *, base: str = BASE, **options: Any) -> Region:
        """A region; ``store="kept"`` keeps its store for a restart."""
        text = "\n".join(with_group(line.strip()) for line in text.splitlines())
        known = self.defined(f"{self.statements}\n{text}", base)
        clock = {} if "dispatcher" in options else {"clock": StillClock(NOON)}
        options = OPTIONS | clock | options
        if "store" not in options:
            options["store"] = _stores.take()
        region = Region(known, **options)
        self.end.callback(self._close, region)
        self.kept[id(region)] = (region.store, options, known)
        return region

    @staticmethod
    def _close(region: Region) -> None:
        if not region.closed:
            region.close()

    def restart(self, region: Region | None = None, *, clean: bool = True, **changed: Any) -> Region:
        """End a region, normally or as if it had been killed, and start it again."""
        old = self.names["region"] if region is None else region
        _store, options, known = self.kept[id(old)]
        if not old.closed:
            old.shutdown(immediate=False) if clean else old.close(clean=False)
        again = Region(known, **options | changed)
        self.end.callback(self._close, again)
        self.kept[id(again)] = (again.store, options, known)
        if region is None:
            self.names["region"] = again
        return again

    def path(self, name: str = "") -> Path:
        """A path in an empty directory."""
        if "here" not in self.names:
            self.names["here"] = Path(tempfile.mkdtemp(prefix="tdq-example-"))
            self.end.callback(shutil.rmtree, self.names["here"], ignore_errors=True)
        found: Path = self.names["here"] / name
        return found

    def runs(self, transid: str, program: Callable[[Any], Any] = lambda _task: None) -> None:
        """Register a program that first notes in ``ran`` that it was started."""

        def noted(task: Any) -> Any:
            self.names["ran"].append(transid)
            return program(task)

        self.names["region"].register(transid, noted)

    @staticmethod
    def drain(queue: str) -> Callable[[Any], list[bytes]]:
        """A program that reads the queue until QZERO."""
        return lambda task: list(task.readq_td_all(queue))

    def put(self, queue: str, *records: str) -> None:
        """WRITEQ TD of each record, each in a task of its own."""
        for record in records:
            self.names["region"].writeq_td(queue, record.encode("iso8859-1"))

    def doubt(self, *commands: str, name: str = "XA1", **options: str) -> Any:
        """A unit of work that waits for its coordinator without a task."""
        region = self.names["region"]
        task = region.task(**options)
        with ceci.session(region, task=task.__enter__()) as session:
            for command in commands:
                assert session.execute(command).response == 0, command
            branch = region.branch(name, task)
            branch.prepare()
            branch.lose_coordinator()
        return branch

    def later(self, **time: int) -> None:
        """Let hours, minutes or seconds pass, and what is due run."""
        region = self.names["region"]
        region.clock.advance(timedelta(**time).total_seconds())
        region.dispatcher.run_ready()

    def every(self, resource: str, /, *, of: Any = None, **options: Any) -> list[dict[str, Any]]:
        """All rows of an INQUIRE browse."""
        issuer, rows = self.names["region"] if of is None else of, []
        word = f"inquire_{resource.lower()}"
        getattr(issuer, f"{word}_start")(**options)
        while row := getattr(issuer, f"{word}_next")(nohandle=True).as_dict(plain=True):
            rows.append(row)
        getattr(issuer, f"{word}_end")()
        return rows

    def pair(self, near: str = "", far: str = "", **options: Any) -> Any:
        """Two linked regions, ``region`` (SYSID NEAR) and ``far`` (FAR); the link between them."""
        self._ready("plex", command=False)
        plex = self.names["plex"]
        for name, sysid, text in (("region", "NEAR", near), ("far", "FAR", far)):
            where = {"applid": sysid, "sysid": sysid, "dispatcher": plex.dispatcher}
            self.names[name] = plex.add(self.start(text, **where | options))
        return plex.connect(self.names["region"], self.names["far"])

    def counts(self, queue: str) -> dict[str, Any]:
        """The statistics of a queue."""
        return next(
            each.values for each in self.names["region"].statistics.now().queues if each.values["name"] == queue
        )

    def number(self, transid: str) -> int:
        """The number of the task of a transaction, which is T1 for the task T1."""
        return next(number for number, task in self.names["region"].tasks.items() if task.eib.eibtrnid == transid)

    def closing(self, opened: Any) -> Any:
        """What was opened, to be closed when the example ends."""
        self.end.callback(opened.close)
        return opened

    def cemt(self, text: str, **options: Any) -> Any:
        """What CEMT answers."""
        return cemt(self.names["region"], text, **options)

    def screen(self, text: str, **options: Any) -> str:
        """The screen of CEMT."""
        shown: str = self.cemt(text, **options).text
        return shown

    def ceci(self, **options: Any) -> Any:
        """A CECI session."""
        return ceci.session(self.names["region"], **options)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _ready(self, text: str, *, command: bool) -> None:
        if "region" not in self.names and (
            command
            or re.search(r"\b(region|cemt|ceci|screen|restart|runs|put|doubt|later|every|counts|number)\b", text)
        ):
            self.names["region"] = self.start()
        if "plex" not in self.names and re.search(r"\bplex\b", text):
            self.names["plex"] = self.end.enter_context(Sysplex(clock=StillClock(NOON)))
        if "system" not in self.names and re.search(r"\b(system|job)\b", text):
            self.names["system"] = self.end.enter_context(System("SYS1"))
            self.names["system"].crtlib("APPLIB")
        if "job" not in self.names and re.search(r"\bjob\b", text):
            self.names["job"] = self.names["system"].job("WORKER")

    def attempt(self, text: str, me: Any = None, raises: tuple[type[BaseException], ...] = ()) -> Outcome:
        """Execute the text of a step; its outcome."""
        try:
            return Outcome(plain(self._do(text, me)))
        except raises:
            raise
        except Exception as error:  # noqa: BLE001  (it is the outcome)
            return Outcome(name_of(error), error)

    def _do(self, text: str, me: Any) -> Any:
        command = _COMMAND.match(text)
        self._ready(text, command=bool(command))
        if command is None:
            return self._python(text, me)
        if text.startswith("CEMT"):
            return self.screen(text.removeprefix("CEMT ")).splitlines()
        if me is not None and not hasattr(me, "eib"):
            return me.command(text)
        text = re.sub(r"\{([^}]+)\}", lambda found: str(eval(found[1], self.names)), text)
        session = ceci.session(self.names["region"], task=me)
        answer = session.execute(text)
        if me is None:
            session.end()
        received = {key: self._text(value) for key, value in answer.received.items()}
        return {"RESP": answer.response, "RESP2": answer.resp2, **received}

    def _text(self, value: Any) -> Any:
        return value.rstrip() if isinstance(value, str) else value

    def _python(self, text: str, me: Any) -> Any:
        names = self.names
        names["me"] = me
        try:
            code = compile(text, "<example>", "eval")
        except SyntaxError:
            exec(compile(text, "<example>", "exec"), names)
            return None
        return eval(code, names)

    def take(self, step: Step, all_steps: Iterable[Step]) -> Outcome:
        """Execute a step; its outcome."""
        if not step.actor:
            return self.attempt(step.text)
        if step.actor not in self.actors:
            self._ready("system" if step.actor.startswith("J") else "region", command=False)
            own = [each for each in all_steps if each.actor == step.actor and each.text]
            self.actors[step.actor] = Actor(self, step.actor, own)
        actor = self.actors[step.actor]
        if step.text:
            return actor.step()
        self.names["system" if step.actor.startswith("J") else "region"].dispatcher.run_ready()
        return actor.last()


def run_example(example: Example) -> None:
    """Execute an example.

    Raises:
        ExampleFailed: a step had another outcome than the example says.
    """
    steps = [*example.given, *example.when, *example.then]
    stage = Stage()
    stage.statements = "\n".join(with_group(step.text) for step in steps if step.text.startswith("DEFINE "))
    with stage.end:
        for step in steps:
            if step.text.startswith("DEFINE "):
                continue
            outcome = stage.take(step, steps)
            if not (agrees(step.expected, outcome.value) if step.compared else outcome.worked()):
                raise ExampleFailed(
                    f"{example.id}: {step.actor} {step.text}\n  expected {step.expected!r}\n"
                    f"  was      {outcome.value!r} {outcome.error or ''}"
                )


def with_group(statement: str) -> str:
    """A DEFINE statement with a group, on lines of 72 columns."""
    if statement and "GROUP(" not in statement:
        statement += " GROUP(OWN)"
    return "\n".join(wrap(statement, 71, break_long_words=False))
