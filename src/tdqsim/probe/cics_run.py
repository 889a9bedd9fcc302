"""Run the cases on the simulator, command by command, as the generated COBOL program runs them in a region."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tdqsim.cics import Abend, Condition, Region, SystemOptions, Task
from tdqsim.definitions import Definitions, Machine, parse_csd
from tdqsim.facts import REGION_DEFAULTS, Cvda, Resp
from tdqsim.hosting import codepage as find_codepage
from tdqsim.probe.answers import Answers, Observation
from tdqsim.probe.cases import GROUPS, RESET, VARIABLES, ObservedField, ProbeCase, ProbeStep, cics_cases
from tdqsim.probe.cics_jcl import INPUT_RECORDS, PREFIX, definitions_text


def observe_cics(machine: Path | Machine | None = None, *, wanted: Iterable[str] | None = None) -> Answers:
    """The observations of the simulator for the cases of CICS.

    Args:
        machine: the machine.yaml of the region, or None.
        wanted: the ids of the rules; None for all that have a case.
    """
    cases = cics_cases()
    named = cases.keys() if wanted is None else set(wanted)
    chosen = [case for rule, case in cases.items() if rule in named and rule != RESET]
    with TemporaryDirectory() as folder, make_probe_region(Path(folder), machine) as region:
        observations = run_cases(region, chosen)
        return Answers("CICS", region.options.release, tuple(observations))


def make_probe_region(folder: Path, machine: Path | Machine | None = None, **options: Any) -> Region:
    """A region with the resources of the probe; its data sets are in the folder."""
    definitions = _definitions()
    page = find_codepage(options.get("code_page", REGION_DEFAULTS["code_page"]))
    paths = {name: folder / name for name in (f"{PREFIX}OUT", f"{PREFIX}FIX", f"{PREFIX}VAR", f"{PREFIX}INP")}
    paths[f"{PREFIX}INP"].write_bytes(b"".join(page.encode(record.ljust(80)) for record in INPUT_RECORDS))
    for name in ("OUT", "FIX", "VAR"):
        paths[PREFIX + name].touch()
    return Region(definitions, dd=paths, system=SystemOptions(machine=machine), **options)


def _definitions() -> Definitions:
    """The definitions of the DFHCSDUP input; in CICS the catalogue, here a definition says that it is an ESDS."""
    found = parse_csd(definitions_text(PREFIX), file="probe.csd").definitions
    entries = (
        entry._replace(resource=entry.resource.model_copy(update={"organisation": "ESDS"}))
        if entry.resource.resource_name == f"{PREFIX}ESDS"
        else entry
        for entry in found.entries
    )
    return Definitions(tuple(entries))


def run_cases(region: Region, cases: list[ProbeCase]) -> list[Observation]:
    """Run cases in one task of a region; other tasks and lower levels get the commands that the cases give them."""
    run = _Run(region, cases)
    for name, program in ((f"{PREFIX}H1", run.other), (f"{PREFIX}TF", run.begun), (f"{PREFIX}RB", run.main)):
        region.register(name, program)
    region.programs.register(f"{PREFIX}PROB1", run.lower)
    handle = region.start(f"{PREFIX}RB")
    region.run()
    handle.result()
    order = {case.rule: number for number, case in enumerate(cases)}
    return sorted(run.observations, key=lambda each: (order[each.rule], int(each.step)))


class _Run:
    """One run of cases.

    Attributes:
        observations: those made until now.
        groups: the steps of other tasks, with their rule, by number.
        below: the rule and step that the program at the lower level runs next.
    """

    def __init__(self, region: Region, cases: list[ProbeCase]) -> None:
        self.region, self.cases = region, cases
        self.observations: list[Observation] = []
        self.groups: list[tuple[str, list[ProbeStep]]] = []
        self.below: tuple[str, ProbeStep] | None = None

    def main(self, task: Task) -> None:
        """The main task."""
        for case in (*self.cases, None):
            self.steps(task, cics_cases()[RESET])
            if case is not None:
                self.steps(task, case)

    def steps(self, task: Task, case: ProbeCase) -> None:
        """Run the steps of a case."""
        variables, before = _fresh(self.region), ""
        for step in case.steps:
            if step.kind not in GROUPS:
                self.step(task, case.rule, step, variables)
            elif before != step.kind:
                self.prepare(task, case, step)
            before = step.kind

    def prepare(self, task: Task, case: ProbeCase, first: ProbeStep) -> None:
        """Start the other task, or note what the next task of transaction &TF does."""
        group = list(takewhile(lambda step: step.kind == first.kind, case.steps[first.number - 1 :]))
        self.groups.append((case.rule, group))
        number = {"N": len(self.groups).to_bytes(4, "big")}
        if first.kind == "begun":
            task.execute(f"WRITEQ TS QUEUE('{PREFIX}TRIG') FROM(N) LENGTH(4)", number)
        else:
            task.execute(f"START TRANSID('{PREFIX}H1') FROM(N) LENGTH(4)", number)

    def other(self, task: Task) -> None:
        """The other task of a case."""
        received: dict[str, Any] = {"N": bytearray(4)}
        task.execute("RETRIEVE INTO(N) LENGTH(4)", received)
        self.group(task, received["N"])

    def begun(self, task: Task) -> None:
        """A task of transaction &TF; it does nothing if no case has prepared it."""
        received: dict[str, Any] = {"N": bytearray(4), "L": 4}
        task.execute(f"READQ TS QUEUE('{PREFIX}TRIG') INTO(N) LENGTH(L) ITEM(1) RESP(R)", received)
        if received["R"] == Resp.NORMAL:
            task.execute(f"DELETEQ TS QUEUE('{PREFIX}TRIG')")
            self.group(task, received["N"])

    def group(self, task: Task, number: bytes) -> None:
        """Run a group of steps."""
        rule, group = self.groups[int.from_bytes(number, "big") - 1]
        variables = _fresh(self.region)
        for step in group:
            if step.values:
                _assign(self.region, step, variables)
            else:
                self.ask(task, rule, step, variables)

    def lower(self, task: Task) -> None:
        """The program at the lower level."""
        if self.below is None:
            return
        (rule, step), variables, self.below = self.below, _fresh(self.region), None
        if step.kind == "abend":
            task.execute(_text(step.command), variables)
        else:
            self.ask(task, rule, step, variables)

    def step(self, task: Task, rule: str, step: ProbeStep, variables: dict[str, Any]) -> None:
        """Run a step of the main task."""
        if step.kind == "let":
            _assign(self.region, step, variables)
        elif step.kind == "do":
            self.command(task, step, variables)
        elif step.kind == "ask":
            self.ask(task, rule, step, variables)
        elif step.kind == "see":
            self.see(rule, step, variables)
        elif step.kind == "link":
            self.link(task, rule, step)
        else:
            self.abend(task, rule, step)

    def command(self, task: Task, step: ProbeStep, variables: dict[str, Any]) -> None:
        task.execute(f"{_text(step.command)} RESP(R1) RESP2(R2)", variables)

    def ask(self, task: Task, rule: str, step: ProbeStep, variables: dict[str, Any]) -> None:
        self.command(task, step, variables)
        resource = self.region.options.code_page.encode(task.eib.eibrsrce)
        eib = {"EIBFN": task.eib.eibfn, "EIBRCODE": task.eib.eibrcode, "EIBRSRCE": resource}
        self.tell(rule, step, "RESP", str(int(variables["R1"])))
        self.tell(rule, step, "RESP2", str(int(variables["R2"])))
        for field in step.fields:
            self.tell(rule, step, field.name, self.shown(field, {**variables, **eib}))

    def see(self, rule: str, step: ProbeStep, variables: dict[str, Any]) -> None:
        for field in step.fields:
            self.tell(rule, step, field.name, self.shown(field, variables))

    def link(self, task: Task, rule: str, step: ProbeStep) -> None:
        self.below = rule, step
        task.execute(f"LINK PROGRAM('{PREFIX}PROB1')")

    def abend(self, task: Task, rule: str, step: ProbeStep) -> None:
        code = ""
        try:
            self.link(task, rule, step)
        except Abend as abend:
            code = abend.code
        except Condition as condition:  # a Python program at a lower level lets it through; CICS would abend there
            code = condition.abend_code
        self.tell(rule, step, "ABCODE", code)

    def tell(self, rule: str, step: ProbeStep, field: str, value: str) -> None:
        if rule != RESET:
            self.observations.append(Observation(rule, str(step.number), field, value))

    def shown(self, field: ObservedField, variables: dict[str, Any]) -> str:
        """The value of a field as the answers file has it."""
        value = variables[field.name]
        if not field.size:
            return str(int(value))
        data = bytes(value[: field.size])
        if field.is_hex:
            return data.hex().upper()
        text = self.region.options.code_page.decode(data)
        return "".join(each if each.isprintable() else "." for each in text).rstrip()


def _text(command: str) -> str:
    return command.replace("&", PREFIX)


def _fresh(region: Region) -> dict[str, Any]:
    """The variables as they are at the beginning of a case."""
    blank = region.options.code_page.encode(" ")
    return {
        name: bytearray(blank * size) if kind == "text" else bytearray(size) if kind == "bytes" else 0
        for name, (kind, size) in VARIABLES.items()
        if kind != "pointer"
    }


def _assign(region: Region, step: ProbeStep, variables: dict[str, Any]) -> None:
    page = region.options.code_page
    for name, value in step.values:
        kind, size = VARIABLES[name]
        if kind == "text":
            variables[name][:] = page.encode(value.strip("'").replace("&", PREFIX).ljust(size)[:size])
        elif kind == "bytes":
            variables[name][:] = bytes.fromhex(value[2:-1]).ljust(size, b"\0")
        else:
            word = re.fullmatch(r"DFHVALUE\((\w+)\)", value)
            variables[name] = int(Cvda[word[1]]) if word else int(value)
