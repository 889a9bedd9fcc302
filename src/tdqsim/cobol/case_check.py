"""Find the mistakes in cases without running them: names that do not exist, and records that do not fit.

A mistake has the place of the value in the case, from which :func:`located` finds its line. A case with a mistake is
not run; the others are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tdqsim.cics import Region
from tdqsim.cobol.case_data import CaseRecords
from tdqsim.cobol.case_file import Case, CaseData, CaseInput, CaseThen, case_node
from tdqsim.cobol.case_stubs import CaseWatch, stubs_of
from tdqsim.cobol.programs import CobolPrograms
from tdqsim.cobol.vendor_options import vendor_options
from tdqsim.definitions import node_at
from tdqsim.errors import Problem, TdqError
from tdqsim.hosting import CodePage, did_you_mean
from tdqsim.state import queues

Steps = tuple[str | int, ...]
"""The keys and numbers that lead from a case to a value."""
_NOT_COMMANDS: Final = ("SQL", "CALL")


class CaseMistake(NamedTuple):
    """A mistake in a case.

    Attributes:
        steps: where it is.
        value: the value as written; empty if it is not one value.
        message: what is wrong, and what is allowed.
    """

    steps: Steps
    value: str
    message: str


def located(path: Path, name: str, mistakes: Iterable[CaseMistake]) -> list[Problem]:
    """The mistakes of a case with their lines in its file."""
    node = case_node(path, name)
    return [
        Problem(
            str(path),
            0 if node is None else node_at(node, each.steps)[1],
            f"case {name}",
            ".".join(str(step) for step in each.steps if isinstance(step, str)),
            each.value,
            each.message,
        )
        for each in mistakes
    ]


class CaseCheck:
    """The check of cases against a region.

    Args:
        region: the region in which they run.
        programs: its COBOL programs.
        records: the records of the case file.
        page: gives the code page of a queue or file.
    """

    def __init__(
        self, region: Region, programs: CobolPrograms, records: CaseRecords, page: Callable[[str], CodePage]
    ) -> None:
        self._region = region
        self._programs = programs
        self._records = records
        self._page = page
        self._queues = [each.name for each in queues(region)]

    def mistakes(self, case: Case, *, later: bool) -> list[CaseMistake]:
        """The mistakes of a case.

        Args:
            case: the case.
            later: also those that a program could make good, such as an expected queue that is not there yet.
        """
        return [*self._given(case), *self._when(case.when), *self._then(case.then, later=later)]

    def _given(self, case: Case) -> Iterator[CaseMistake]:
        given = case.given
        for name, records in given.queues.items():
            yield from self._queue(("given", "queues", name), name)
            yield from self._all(("given", "queues", name), records, name)
        for name, records in given.ts.items():
            yield from self._all(("given", "ts", name), records)
        for name, file in given.files.items():
            yield from self._all(("given", "files", name, "records"), file.records, name)
        for at, start in enumerate(given.starts):
            yield from self._transaction(("given", "starts", at, "transaction"), start.transaction)
            if start.data is not None:
                yield from self._record(("given", "starts", at, "data"), start.data)
        for at, stub in enumerate(given.stubs):
            steps: Steps = ("given", "stubs", at)
            yield from self._options((*steps, "where"), stub.command, stub.where)
            yield from self._options((*steps, "answer", "values"), stub.command, stub.answer.values)
            for name, value in stub.answer.values.items():
                if not isinstance(value, tuple):
                    yield from self._record((*steps, "answer", "values", name), value)
            yield from self._stub(steps, case, stubs=(stub,), sql=(), programs=())
        for at, sql in enumerate(given.sql):
            yield from self._stub(("given", "sql", at), case, stubs=(), sql=(sql,), programs=())
        for at, call in enumerate(given.programs):
            yield from self._stub(("given", "programs", at), case, stubs=(), sql=(), programs=(call,))

    def _stub(self, steps: Steps, case: Case, **only: object) -> Iterator[CaseMistake]:
        """The mistake of one stub."""
        try:
            list(stubs_of(case.given.model_copy(update=only), lambda _data: b""))
        except TdqError as error:
            yield CaseMistake(steps, "", str(error))

    def _when(self, when: Iterable[CaseInput]) -> Iterator[CaseMistake]:
        for at, step in enumerate(when):
            steps: Steps = ("when", at)
            if step.transaction:
                yield from self._transaction((*steps, "transaction"), step.transaction)
            if step.program and not self._programs.has(step.program):
                known = [*self._programs.names(), *self._region.programs.names()]
                message = f"there is no program of this name{did_you_mean(step.program, known)}"
                yield CaseMistake((*steps, "program"), step.program, message)
            if step.write:
                yield from self._queue((*steps, "write"), step.write)
            yield from self._all((*steps, "records"), step.records, step.write)
            for name in ("data", "commarea"):
                if (data := getattr(step, name)) is not None:
                    yield from self._record((*steps, name), data)
            for name, container in step.channel.items():
                yield from self._record((*steps, "channel", name), container)

    def _then(self, then: CaseThen, *, later: bool) -> Iterator[CaseMistake]:
        for name, records in then.queues.items():
            if later:
                yield from self._queue(("then", "queues", name), name)
            yield from self._all(("then", "queues", name), records, name, expected=True)
        for name, records in then.ts.items():
            yield from self._all(("then", "ts", name), records, expected=True)
        for name, records in then.files.items():
            yield from self._all(("then", "files", name), records, name, expected=True)
        if then.commarea is not None:
            yield from self._record(("then", "commarea"), then.commarea, expected=True)
        for name, container in then.channel.items():
            yield from self._record(("then", "channel", name), container, expected=True)
        for command, calls in then.calls.items():
            steps: Steps = ("then", "calls", command)
            try:
                CaseWatch(command)
            except TdqError as error:
                yield CaseMistake(steps, "", str(error))
            if command.split()[:1] not in [[each] for each in _NOT_COMMANDS]:
                for at, call in enumerate(calls):
                    yield from self._options((*steps, at), command, call)
                    for name, value in call.items():
                        yield from self._record((*steps, at, name), value, expected=True)

    def _queue(self, steps: Steps, name: str) -> Iterator[CaseMistake]:
        if name not in self._queues:
            yield CaseMistake(steps, name, f"queue {name} is not installed{did_you_mean(name, self._queues)}")

    def _transaction(self, steps: Steps, name: str) -> Iterator[CaseMistake]:
        known = list(self._region.resources.transactions)
        if name not in known:
            yield CaseMistake(steps, name, f"transaction {name} is not defined{did_you_mean(name, known)}")

    def _options(self, steps: Steps, command: str, given: Mapping[str, object]) -> Iterator[CaseMistake]:
        """The options that a command does not have; those of an unknown command are not looked at."""
        known = vendor_options(command)
        for name in given:
            if known and name.upper() not in known:
                hint = did_you_mean(name, known) or f"; its options are {', '.join(sorted(known))}"
                yield CaseMistake((*steps, name), "", f"{name} is not an option of {command}{hint}")

    def _all(
        self, steps: Steps, records: Iterable[CaseData], name: str = "", *, expected: bool = False
    ) -> Iterator[CaseMistake]:
        for at, record in enumerate(records):
            yield from self._record((*steps, at), record, name, expected=expected)

    def _record(self, steps: Steps, data: CaseData, name: str = "", *, expected: bool = False) -> Iterator[CaseMistake]:
        for inside, value, message in self._records.mistakes(data, self._page(name), expected=expected):
            yield CaseMistake((*steps, *inside), value, message)
