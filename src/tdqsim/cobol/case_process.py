"""Run cases in a process of their own: what a program does to its process ends one case, not the run.

The process sends each result as a line of JSON. When it dies, the case that it ran fails with the reason, and another
process runs the cases that are left.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from tdqsim.cli import warn
from tdqsim.cobol import coverage
from tdqsim.cobol.case_data import CaseDifference
from tdqsim.cobol.case_file import Case, CaseFile, read_case_file
from tdqsim.cobol.case_programs import compile_for_cases
from tdqsim.cobol.case_run import CaseResult, run_case
from tdqsim.cobol.child_process import ChildProcess
from tdqsim.cobol.programs import covered_programs
from tdqsim.errors import DefinitionError

_Job = tuple[Path, CaseFile, Case]
_Planned = CaseResult | _Job
"""A case to run, or the result of one that is wrong."""


def run_cases_apart(
    paths: Sequence[Path], part: Path | None = None, *, check_only: bool = False
) -> Iterator[CaseResult]:
    """Run the cases of files in other processes, in order; a file or case that is wrong does not stop the others.

    Args:
        paths: the case files.
        part: the folder for the coverage, ``lcov.info`` and HTML pages; None for no coverage.
        check_only: whether cases are only looked at for mistakes.
    """
    planned = [each for path in paths for each in _planned(path)]
    jobs = [each for each in planned if not isinstance(each, CaseResult)]
    compile_for_cases(((file.region, case) for _path, file, case in jobs), check_only=check_only)
    results = _run_jobs(jobs, part, check_only=check_only)
    for each in planned:
        yield each if isinstance(each, CaseResult) else next(results)
    end = next(results, None)  # the process has ended, and has left its coverage
    assert end is None
    if part is not None:
        coverage.write(coverage.merged(part), part)


def _planned(path: Path) -> Iterator[_Planned]:
    try:
        file, wrong = read_case_file(path)
    except DefinitionError as error:
        yield CaseResult(path, path.name, error=str(error))
        return
    for case in file.cases:
        yield path, file, case
    for name, problems in wrong.items():
        yield CaseResult(path, name, error="\n".join(map(str, problems)))


def _run_jobs(jobs: list[_Job], part: Path | None, *, check_only: bool) -> Iterator[CaseResult]:
    while jobs:
        done = 0
        child = ChildProcess(partial(_run, jobs, part, check_only))
        for line in child.lines():
            yield _result(jobs[done], json.loads(line))
            done += 1
        if done < len(jobs):
            path, _file, case = jobs[done]
            reason = child.died or f"exit code {child.code}"
            yield CaseResult(path, case.name, error=f"the process that ran the case has died: {reason}")
            done += 1
        jobs = jobs[done:]


def _run(jobs: Sequence[_Job], part: Path | None, check_only: bool, lines: TextIO) -> None:
    """Run the cases in this process."""
    warnings.showwarning = lambda message, *_: warn(str(message))
    if part is not None:
        coverage.begin()
    for path, file, case in jobs:
        result = run_case(path, file, case, check_only=check_only)
        lines.write(json.dumps(_fields(result), default=str) + "\n")
        lines.flush()
    if part is not None:
        coverage.leave_part(part, covered_programs())


def _fields(result: CaseResult) -> dict[str, Any]:
    return {
        "differences": [[*each] for each in result.differences],
        "error": result.error,
        "reasons": result.reasons,
        "found": result.found,
    }


def _result(job: _Job, fields: dict[str, Any]) -> CaseResult:
    path, _file, case = job
    differences = [CaseDifference(*each) for each in fields["differences"]]
    return CaseResult(path, case.name, differences, fields["error"], fields["reasons"], fields["found"])
