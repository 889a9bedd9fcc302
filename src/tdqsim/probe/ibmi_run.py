"""The cases of the probe for IBM i on a simulated system, in this process.

This gives the simulator's own answers, which are compared with those of a machine. Another job of a case is a job of
the same system. A step that the Java client runs without waiting is a started job here; it then waits on a data queue
of its own for the end of the case, because the rest of the case may depend on a job that is still there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tdqsim.definitions import Machine
from tdqsim.errors import ConversionError
from tdqsim.ibmi import EscapeMessage, Job, ParameterError, Parm, StartedJob, System, unpack_binary
from tdqsim.probe.answers import LEFT_OUT, Answers, Observation
from tdqsim.probe.ibmi_arguments import argument
from tdqsim.probe.ibmi_cases import IbmiCase, IbmiStep, cases, filled, observations
from tdqsim.probe.ibmi_server import ServerSteps

LOCATION = "TDQLOOP"
"""The remote location name through which an example system reaches itself."""
DEFAULTS: Mapping[str, str] = {
    "LIB": "TDQPROBE", "LIB2": "TDQPROBE2", "USER2": "TDQUSER2", "JOB": "000042/TDQUSER2/TDQOTHER",
    "LOCATION": LOCATION,
}  # fmt: skip
"""The parameters of the cases for an example system."""
_USER = "TDQUSER"
_OK = "ok"
_DATA_TYPES = ("QS", "QR", "QC", "QK", "QL", "QJ")
_ID = slice(8, 15)
_AVAILABLE = slice(4, 8)


class _Left(Exception):
    """The rest of a case is left out, for a reason."""


def example_system(machine: Machine | Path | str | None = None) -> System:
    """A system with what the cases need: two users, a job of the other one, and a link to itself."""
    system = System("TDQPROBE", machine=machine)
    system.values["QLIBLCKLVL"] = 0  # the case DTAQ-XCL-KNOWN deletes a library that is in the list of another job
    for user in (_USER, DEFAULTS["USER2"]):
        system.crtusrprf(user)
    number, user, name = DEFAULTS["JOB"].split("/")
    system.job(name, user, number)
    system.connect(LOCATION, system)
    return system


def ibmi_answers(*, release: str = "7.5", machine: Machine | Path | str | None = None) -> Answers:
    """The answers of this simulator to every case, with the message ids of a machine.yaml if there is one."""
    with example_system(machine) as system:
        return Answers("IBMI", release, tuple(observe(system)))


def register_programs(system: System, library: str) -> None:
    """Register the two small programs that are CL programs on a machine: TDQXCL and TDQPARM."""

    def xcl(job: Job, name: str, place: str) -> str:
        try:
            job.rtvdtaqxcl(name, place)
        except EscapeMessage as error:
            return error.message_id
        return _OK

    names = [Parm("name", "CHAR(10)"), Parm("library", "CHAR(10)")]
    system.register_program(f"{library}/TDQXCL", xcl, [*names, Parm("id", "CHAR(7)", use="out")])
    system.register_program(f"{library}/TDQPARM", lambda _job, value: value, [Parm("value", "PACKED(5)", use="inout")])


def observe(
    system: System, values: Mapping[str, str] = DEFAULTS, *, user: str = _USER, rules: Sequence[str] = ()
) -> Iterator[Observation]:
    """Run the cases and yield the observations.

    Args:
        system: the system.
        values: the parameters of the cases.
        user: the user of the main job.
        rules: only the cases of these rules; all when empty.
    """
    with system.job("TDQPROBE", user) as job:
        job.command(f"CRTLIB LIB({values['LIB']}) AUT(*USE)")
        register_programs(system, values["LIB"])
        for case in cases():
            if not rules or case.rule in rules:
                yield from _Run(system, job, case, values).observations()
    system.dltlib(values["LIB"])


class _Run:
    """One run of one case."""

    def __init__(self, system: System, job: Job, case: IbmiCase, values: Mapping[str, str]) -> None:
        self.system, self.job, self.case, self.values = system, job, case, values
        self.others: dict[int, Job] = {}
        self.started: dict[int, StartedJob] = {}
        self.outcomes: dict[int, tuple[str, list[bytearray | None]]] = {}
        self.results: dict[str, str] = {}
        self.result = ""
        self.last: list[bytearray | None] = []
        self.servers = ServerSteps(system, values.get("USER2") or job.user)

    def observations(self) -> Iterator[Observation]:
        """The observations of the steps; for a case that is left out, the reason."""
        try:
            for step in self.case.steps:
                value = self._step(step)
                if step.label and not step.waits:
                    self.results[step.label] = value
                    if not step.label.startswith("."):
                        yield from observations(self.case.rule, step, value)
                elif step.kind in ("cmd", "call") and value != _OK:
                    self._leave(f"{step.words[1]} ended with {value}")
        except _Left as left:
            yield Observation(self.case.rule, LEFT_OUT, "REASON", str(left))
        finally:
            for started in self.started.values():
                started.job.end()
            for step in self.case.last:
                self._step(step)
            for other in self.others.values():
                other.end()

    def _step(self, step: IbmiStep) -> str:
        words = tuple(filled(word, self.values) for word in step.words)
        kind = step.kind
        if kind in ("need", "given"):
            self._check(words)
            return _OK
        if step.waits:
            self._start(step.job, words, filled(step.text, self.values))
            return _OK
        if kind == "finish":
            return self._finish(int(words[1]))
        if kind in ("queue", "frame", "signed", "silence"):
            return self.servers.run(self.job, self.values["LIB"], words)
        if kind in ("cmd", "call", "fill", "journal", "entries"):
            job = self._job(step.job)
            self.result, self.last = _ran(job, words, filled(step.text, self.values), self.values["LIB"])
            return self.result
        return self._look(words)

    def _check(self, words: Sequence[str]) -> None:
        if words[0] == "given":
            if not self.values.get(words[1]):
                self._leave(" ".join(words[2:]))
        elif self.results[words[1]] != words[2]:
            self._leave(" ".join(words[3:]))

    @staticmethod
    def _leave(reason: str) -> NoReturn:
        raise _Left(reason)

    def _look(self, words: Sequence[str]) -> str:
        """The value of a step that reads results or the parameters of the last call."""
        if words[0] == "same":
            return "yes" if self.results[words[1]] == self.results[words[2]] else "no"
        storage = bytes(self.last[int(words[1]) - 1] or b"")
        if words[0] == "code":
            if self.result != _OK:
                return f"escape/{self.result}"
            return f"code/{self.job_page(storage[_ID])}" if any(storage[_AVAILABLE]) else "none"
        at = int(words[2])
        if words[0] == "number":
            return str(unpack_binary(storage[at : at + 4]))
        part = storage[at : at + int(words[3])]
        return self.job_page(part) if words[0] == "text" else part.hex().upper()

    @staticmethod
    def job_page(raw: bytes) -> str:
        """EBCDIC as text."""
        return raw.decode("cp037").rstrip()

    def _job(self, number: int) -> Job:
        if number == 0:
            return self.job
        if number not in self.others:
            self.others[number] = self.system.job(f"TDQPROBE{number}", self._second_user())
        return self.others[number]

    def _second_user(self) -> str:
        return self.values.get("USER2") or self.job.user

    def _start(self, number: int, words: Sequence[str], text: str) -> None:
        def program(job: Job) -> None:
            self.outcomes[number] = _ran(job, words, text, self.values["LIB"])
            job.crtdtaq("QTEMP/HOLD", maxlen=1)
            job.qrcvdtaq("QTEMP/HOLD", wait=-1)

        self.started[number] = self.system.start(program, name=f"TDQSTART{number}", user=self._second_user())
        self.system.dispatcher.run_ready()

    def _finish(self, number: int) -> str:
        if number not in self.outcomes:
            self.system.run()
        self.result, self.last = self.outcomes[number]
        return self.result


def _ran(job: Job, words: Sequence[str], text: str, library: str) -> tuple[str, list[bytearray | None]]:
    """Run a command, a call or a query; return its result, and the parameters of a call."""
    kind, storage = words[0], []
    if kind == "fill":
        return _fill(job, words, library)
    if kind == "call":
        storage = [bytearray(one.data) if one.data is not None else None for one in map(argument, words[2:])]
    try:
        if kind == "cmd":
            job.command(text)
        elif kind == "call":
            at, _, name = words[1].rpartition("/")
            job.call_program(name, at or "QSYS", storage)
        elif kind == "journal":
            return " ".join(one.type for one in job.dspjrn(f"{library}/{words[1]}") if one.type in _DATA_TYPES), []
        else:
            return str(len(list(job.qsys2.data_queue_entries(words[1], library, selection_type=words[2])))), []
    except EscapeMessage as error:
        return " ".join(one.message_id for one in (*error.diagnostics, error.message) if one.message_id), storage
    except (ParameterError, ConversionError):
        return ("CPF0006" if kind == "cmd" else "CPF24B4"), storage
    return _OK, storage


def _fill(job: Job, words: Sequence[str], library: str) -> tuple[str, list[bytearray | None]]:
    result = _OK
    for _ in range(int(words[1])):
        result, _ = _ran(job, words[2:], "", library)
        if result != _OK:
            break
    return result, []
