"""Run cases: each in a region of its own, made from the region directory with a fresh store and a frozen clock.

Data sets are never written where region.yaml has them: each DD card is a copy in a folder of the run, and the data set
directory is an empty one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tdqsim.cics import Abend, Condition, DataFile, Region, Task
from tdqsim.cobol.case_check import CaseCheck, CaseMistake, located
from tdqsim.cobol.case_data import LATIN, CaseDifference, CaseRecords
from tdqsim.cobol.case_file import (
    Case,
    CaseData,
    CaseFile,
    CaseGiven,
    CaseInput,
    CaseRecord,
    CaseStart,
    CaseThen,
    read_case_file,
)
from tdqsim.cobol.case_stubs import CaseWatch, stubs_of, value_of
from tdqsim.cobol.handlers import COBOL
from tdqsim.cobol.paragraphs import ParagraphResult
from tdqsim.cobol.programs import CobolPrograms
from tdqsim.definitions import RegionFile, load_region_file
from tdqsim.errors import TdqError
from tdqsim.hosting import CodePage, RegionInternals
from tdqsim.job import importable
from tdqsim.testing import Outcomes, StillClock

_CHANNEL: Final = "CASE"


@dataclass(slots=True)
class CaseResult:
    """The result of a case.

    Attributes:
        file: its file.
        name: its name.
        differences: the differences between expected and actual values.
        error: why the case could not be run; empty when it was run.
        reasons: the dumps of tasks that have abended, as text for people.
        found: the actual results, in the form of ``then``; for updates.
    """

    file: Path
    name: str
    differences: list[CaseDifference] = field(default_factory=list)
    error: str = ""
    reasons: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the case was run and has no differences."""
        return not self.differences and not self.error

    def __str__(self) -> str:
        """The abend with its reasons, then the other differences, one a line."""
        abends = [str(each) for each in self.differences if each.place == "abend"]
        others = [str(each) for each in self.differences if each.place != "abend"]
        return "\n".join([*([self.error] if self.error else []), *abends, *self.reasons, *others])


def run_cases(path: Path, only: str = "") -> Iterator[CaseResult]:
    """Run the cases of a file, or only the case with a name.

    Raises:
        DefinitionError: the file is wrong.
    """
    case_file, wrong = read_case_file(path)
    for case in case_file.cases:
        if not only or case.name == only:
            yield run_case(path, case_file, case)
    for name, problems in wrong.items():
        if not only or name == only:
            yield CaseResult(path, name, error="\n".join(map(str, problems)))


def run_case(path: Path, file: CaseFile, case: Case, *, check_only: bool = False) -> CaseResult:
    """Run one case, or only check it for mistakes."""
    result = CaseResult(path, case.name)
    try:
        with _region(Path(file.region), case.given) as region:
            run = _Run(region, CaseRecords(path.parent), result)
            checked = CaseCheck(region, run.programs, run.records, run.page)
            if mistakes := checked.mistakes(case, later=check_only):
                result.error = "\n".join(map(str, located(path, case.name, mistakes)))
            elif not check_only:
                run.run(case)
    except (TdqError, Condition, LookupError) as error:
        text = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
        result.error = str(located(path, case.name, [CaseMistake((), "", text)])[0])
    return result


@contextmanager
def _region(directory: Path, given: CaseGiven) -> Iterator[Region]:
    with tempfile.TemporaryDirectory(prefix="tdqsim-case-") as folder:
        file = _with_copies(load_region_file(directory), Path(folder))
        if given.initial and file.cobol is not None:
            file = file.model_copy(update={"cobol": file.cobol.model_copy(update={"initial": given.initial})})
        moment = datetime.fromisoformat(given.clock)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        clock = StillClock(int(moment.timestamp()) * 10**9)
        with importable(directory), Region.from_directory(file, clock=clock) as region:
            yield region


def _with_copies(file: RegionFile, folder: Path) -> RegionFile:
    """The region file with DD cards that name copies of the data sets."""
    cards = dict(file.dd)
    for name, card in file.dd.items():
        if card.path:
            copied = folder / name
            if Path(card.path).is_file():
                shutil.copy(card.path, copied)
            cards[name] = card.model_copy(update={"path": str(copied)})
    sets = folder / "datasets"
    sets.mkdir()
    return file.model_copy(update={"dd": cards, "datasets": str(sets) if file.datasets else ""})


class _Run:
    """One run of a case."""

    def __init__(self, region: Region, records: CaseRecords, result: CaseResult) -> None:
        self.region = region
        self.records = records
        self.result = result
        self.programs: CobolPrograms = COBOL.programs(region)
        self.abends: list[str] = []
        self.commarea: bytearray | None = None
        self.containers: tuple[str, ...] = ()
        self.channel: dict[str, bytes] = {}
        self.performed = ParagraphResult()
        RegionInternals(region).messages.listeners.append(self._listen)
        self.outcomes = Outcomes()
        self.outcomes.watch(region)

    def _listen(self, message: str, inserts: Mapping[str, object]) -> None:
        if message == "DFHAC2236":
            self.abends.append(str(inserts["abcode"]))

    def run(self, case: Case) -> None:
        self.containers = tuple(case.then.channel)
        watched = {name: CaseWatch(name) for name in case.then.calls}
        self.programs.stubs += [*(each.stub for each in watched.values()), *stubs_of(case.given, self.bytes_of)]
        self._give(case.given)
        for step in case.when:
            self._do(step)
        self.region.run()
        self.result.reasons += [dump.brief() for dump in self.region.diagnostics.failures]
        not_done = [CaseDifference("notices", "none", each.text) for each in self.outcomes.unexpected()]
        self.result.differences += not_done
        _Check(self, watched).check(case.then)

    def page(self, name: str = "") -> CodePage:
        """The code page of a queue or file; for an empty name that of programs."""
        conversion = self.programs.settings.pages.of(name) if name else None
        if conversion is not None:
            return conversion.page
        return self.region.options.code_page if name else LATIN

    def bytes_of(self, data: CaseData, name: str = "") -> bytes:
        return self.records.encode(data, self.page(name))

    def _give(self, given: CaseGiven) -> None:
        for name, records in given.queues.items():
            self.region.seed(name, [self.bytes_of(each, name) for each in records])
        for name, records in given.ts.items():
            for each in records:
                self.region.ts.write(name, self.bytes_of(each))
        for name, data in given.files.items():
            file = DataFile("KSDS", keylength=data.keylength, keyposition=data.keyposition)
            for record in (self.bytes_of(each, name) for each in data.records):
                file.put(file.key_of(record), record)
            self.region.files.define(name, file)
        self.region.diagnostics.replies.extend(given.replies)
        for start in given.starts:
            self._request(start)

    def _request(self, start: CaseStart) -> None:
        """Issue a START request."""
        with self.region.task() as task:
            task.start(
                start.transaction,
                None if start.data is None else self.bytes_of(start.data),
                seconds=start.after,
                reqid=start.reqid,
                termid=start.terminal,
                rtransid=start.rtransid,
                rtermid=start.rtermid,
                queue=start.queue,
            )

    # -- when -----------------------------------------------------------------------------------------------------

    def _do(self, step: CaseInput) -> None:
        region = self.region
        if step.write:
            for each in step.records:
                region.writeq_td(step.write, self.bytes_of(each, step.write))
            handle = None
        elif step.paragraph:
            handle = None
            self._perform(step)
        elif step.program:
            handle = region.start(self._link, step)
        elif step.terminal:
            screen = region.screens.screen(step.terminal)
            if step.transaction:
                screen.next_transid = step.transaction
            if step.commarea is not None:
                screen.next_commarea = self.bytes_of(step.commarea)
            handle = region.screens.type(
                step.terminal, step.text, key=step.key, cursor=step.cursor, **dict(step.fields)
            )
        else:
            data = None if step.data is None else self.bytes_of(step.data)
            handle = region.start(step.transaction, data=data)
        region.run()
        if handle is not None and handle.done:
            try:
                handle.result()
            except Abend as abend:
                self._note(abend)

    def _note(self, abend: Abend) -> None:
        """Keep the reason of an abend that has no dump; the dumps follow after the last step."""
        if abend.dump is None:
            self.result.reasons.append(str(abend))

    def _perform(self, step: CaseInput) -> None:
        """Run a paragraph."""
        self.commarea = None if step.commarea is None else bytearray(self.bytes_of(step.commarea))
        stubs = {name: self._values(values) for name, values in step.paragraphs.items()}
        values = self._values(step.storage)
        try:
            self.performed = self.programs.perform(
                step.program, step.paragraph, values, stubs=stubs, commarea=self.commarea
            )
        except Abend as abend:
            self._note(abend)

    def _values(self, given: Mapping[str, CaseData]) -> dict[str, str | bytes | None]:
        return {name: value_of(each, self.bytes_of) for name, each in given.items()}

    def _link(self, task: Task, step: CaseInput) -> None:
        if step.channel:
            for name, data in step.channel.items():
                task.put_container(name, self.bytes_of(data), channel=_CHANNEL)
            task.link(step.program, channel=_CHANNEL)
            self.channel = {name: _contents(task, name) for name in self.containers}
        elif step.commarea is not None:
            self.commarea = bytearray(self.bytes_of(step.commarea))
            task.link(step.program, self.commarea)
        else:
            task.link(step.program)


def _contents(task: Task, name: str) -> bytes:
    """The contents of a container of the case's channel; empty when there is no such container."""
    try:
        container = task.get_container(name, channel=_CHANNEL)
    except Condition:
        return b""
    return container if isinstance(container, bytes) else container.data or b""


def _record_shown(written: Any) -> str:
    """A record as a case file writes it, for people."""
    if isinstance(written, dict) and "fields" in written:
        return ", ".join(f"{name} {value!r}" for name, value in written["fields"].items())
    return repr(written)


# -- then ------------------------------------------------------------------------------------------------------------


class _Check:
    """Compares the state after a run with ``then``, and collects that state for updates."""

    def __init__(self, run: _Run, watched: Mapping[str, CaseWatch]) -> None:
        self._run = run
        self._region = run.region
        self._watched = watched
        self._found = run.result.found

    def check(self, then: CaseThen) -> None:
        self._abend(then.abend)
        for name, records in then.queues.items():
            self._records("queues", name, records, self._region.peek(name), name)
        for name, records in then.ts.items():
            queue = self._region.ts.queues.get(name)
            self._records("ts", name, records, [] if queue is None else queue.items, "")
        for name, records in then.files.items():
            file = self._region.files.find(name, "READ").data
            self._records("files", name, records, list(file.records.values()), name)
        for name, screen in then.screen.items():
            self._screen(name, screen)
        if then.commarea is not None:
            self._one("commarea", then.commarea, bytes(self._run.commarea or b""), self._found)
        for name, data in then.channel.items():
            self._one(f"channel.{name}", data, self._run.channel.get(name, b""), self._part("channel"), name)
        if then.messages is not None:
            operator = [LATIN.encode(text) for text in self._region.diagnostics.operator]
            self._found["messages"] = self._list("messages", then.messages, operator, LATIN)
        for command, calls in then.calls.items():
            self._calls(command, calls)
        for name, wanted in then.storage.items():
            value = self._run.performed.storage[name]
            self._part("storage")[name] = self._run.records.written_value(wanted, value)
            self._run.result.differences += self._run.records.compare_value(f"storage.{name}", wanted, value)
        if then.performed is not None:
            self._found["performed"] = self._run.performed.performed
            if list(then.performed) != self._run.performed.performed:
                found = ", ".join(self._run.performed.performed)
                self._differ("performed", ", ".join(then.performed) or "none", found or "none")

    def _part(self, name: str) -> dict[str, Any]:
        part: dict[str, Any] = self._found.setdefault(name, {})
        return part

    def _differ(self, place: str, expected: str, actual: str) -> None:
        self._run.result.differences.append(CaseDifference(place, expected, actual))

    def _records(self, part: str, name: str, expected: tuple[CaseData, ...], actual: list[bytes], page_of: str) -> None:
        page = self._run.page(page_of)
        self._part(part)[name] = self._list(f"{part}.{name}", expected, actual, page)

    def _list(self, place: str, expected: tuple[CaseData, ...], actual: list[bytes], page: CodePage) -> list[Any]:
        written = []
        shape = next((each for each in expected if isinstance(each, CaseRecord) and each.layout), None)
        if len(expected) != len(actual):
            self._differ(place, f"{len(expected)} records", f"{len(actual)}")
        for at, record in enumerate(actual):
            wanted = expected[at] if at < len(expected) else None
            written.append(self._run.records.written(shape if wanted is None else wanted, record, page))
            if wanted is None:
                self._differ(f"{place}[{at + 1}]", "no record", _record_shown(written[-1]))
            else:
                self._run.result.differences += self._run.records.compare(f"{place}[{at + 1}]", wanted, record, page)
        return written

    def _one(self, place: str, expected: CaseData, actual: bytes, part: dict[str, Any], name: str = "") -> None:
        part[name or place] = self._run.records.written(expected, actual, LATIN)
        self._run.result.differences += self._run.records.compare(place, expected, actual, LATIN)

    def _screen(self, terminal: str, expected: Any) -> None:
        sent = self._region.screens.screen(terminal).sent
        last = sent[-1] if sent else None
        part = self._part("screen")[terminal] = {}
        if expected.map:
            part["map"] = "" if last is None else last.map
            if part["map"] != expected.map:
                self._differ(f"screen.{terminal}.map", repr(expected.map), repr(part["map"]))
        if expected.text is not None:
            text = LATIN.encode("" if last is None else last.text)
            self._one(f"screen.{terminal}.text", expected.text, text, part, "text")
        for name, value in expected.fields.items():
            shown = "" if last is None else last.fields.get(name, "")
            fields = part.setdefault("fields", {})
            self._one(f"screen.{terminal}.fields.{name}", value, LATIN.encode(shown), fields, name)

    def _calls(self, command: str, expected: tuple[Mapping[str, CaseData], ...]) -> None:
        calls = self._watched[command].calls
        if len(calls) != len(expected):
            self._differ(f"calls.{command}", f"{len(expected)} commands", f"{len(calls)}")
        written = self._part("calls").setdefault(command, [])
        for at, call in enumerate(calls):
            wanted = expected[at] if at < len(expected) else None
            options: dict[str, Any] = {}
            for name in call if wanted is None else wanted:
                place, expected_value = f"calls.{command}[{at + 1}].{name}", None if wanted is None else wanted[name]
                value = call.get(name, b"")
                options[name] = self._run.records.written_value(expected_value, value)
                if expected_value is not None:
                    self._run.result.differences += self._run.records.compare_value(place, expected_value, value)
            written.append(options)

    def _abend(self, expected: str) -> None:
        actual = self._run.abends[0] if self._run.abends else ""
        if actual:
            self._found["abend"] = actual
        if expected != actual:
            self._differ("abend", expected or "none", actual or "none")
        elif expected:
            self._run.result.reasons.clear()
