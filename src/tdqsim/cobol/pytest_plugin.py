"""The pytest plugin for COBOL programs: coverage, a debugger, and tests from case files (``NAME.case.yaml``).

The options are ``--tdq-cobol-coverage=DIR`` and ``--tdq-debug=PORT``. Nothing else of the package is imported before an
option is given or a case file is found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tdqsim.cobol.case_run import CaseResult

_OPTION = "--tdq-cobol-coverage"
_DEBUG = "--tdq-debug"
_SUFFIX = ".case.yaml"


class CasesOfFile(pytest.File):
    """A case file as pytest collects it."""

    def collect(self) -> Iterator[CaseItem]:
        """The cases in the file."""
        from tdqsim.cobol.case_file import read_case_file  # only where there is such a file

        for name in read_case_file(self.path).names():
            yield CaseItem.from_parent(self, name=name)


class CaseItem(pytest.Item):
    """A case as a test."""

    def runtest(self) -> None:
        """Run the case."""
        from tdqsim.cobol.case_run import run_cases

        for result in run_cases(self.path, self.name):
            if not result.passed:
                raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences, without a traceback."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the case, for reports."""
        return self.path, None, self.name


class CaseFailed(AssertionError):
    """A case has differences, or could not be run."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__(f"{result.file}: {result.name}\n{result}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CasesOfFile | None:
    """Collect case files."""
    if file_path.name.endswith(_SUFFIX):
        return CasesOfFile.from_parent(parent, path=file_path)
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("tdqsim")
    group.addoption(
        _OPTION,
        metavar="DIR",
        default="",
        help="coverage of the lines and branches of COBOL programs: lcov.info and index.html in DIR",
    )
    group.addoption(
        _DEBUG,
        metavar="PORT",
        type=int,
        default=None,
        help="wait for a debugger of COBOL programs (DAP) on this port of 127.0.0.1, 0 for any free port",
    )


def _folder(config: pytest.Config) -> Path | None:
    given = config.getoption(_OPTION)
    return config.invocation_params.dir / given if given else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start collecting coverage."""
    if _folder(session.config) is not None:
        from tdqsim.cobol import coverage  # only who asks for it

        coverage.begin()
    if (port := session.config.getoption(_DEBUG)) is not None:
        _wait_for_debugger(session.config, port)


def _wait_for_debugger(config: pytest.Config, port: int) -> None:
    """Wait, before the first test, until a debugger has set its breakpoints.

    Raises:
        UsageError: the port cannot be used, or pytest-xdist runs the tests in other processes.
    """
    from tdqsim.cobol.debug_adapter import DebugServer

    if hasattr(config, "workerinput") or getattr(config.option, "dist", "no") != "no":
        raise pytest.UsageError(f"{_DEBUG} works in one process: leave out -n")
    try:
        server = DebugServer(port)
    except (OSError, OverflowError) as error:
        raise pytest.UsageError(f"{_DEBUG}={port}: cannot listen on this port: {error}") from None
    config.add_cleanup(server.close)
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        sys.stdout.write(f"\nWaiting for a debugger on port {server.port} of 127.0.0.1.\n")
        sys.stdout.flush()
    server.wait()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write this process's part; the controlling process of pytest-xdist writes the report."""
    folder = _folder(session.config)
    if folder is None:
        return
    from tdqsim.cobol import coverage
    from tdqsim.cobol.programs import covered_programs

    coverage.leave_part(folder, covered_programs())
    if not hasattr(session.config, "workerinput"):
        coverage.write(coverage.merged(folder), folder)
