"""The part of the pytest plugin for ``--tdq-report FILE``: a page with a section for each test, failures first.

The process that runs a test renders its section, and sends it to the controlling process with the test's report. The
size of the page is limited: sections up to a number of bytes, failures first, then one line for each test. The page
reports how much was left out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tdqsim.cics import Region
from tdqsim.cics.inspection.installed import installed
from tdqsim.cics.internals import core_of
from tdqsim.definitions.regionfile import load_region_file
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.report import history_sections
from tdqsim.report.digest import Digest
from tdqsim.report.flows import Flows
from tdqsim.report.layout_of_queue import queue_layouts
from tdqsim.report.page import Page, check_target
from tdqsim.report.parts import Mark, Part, Prose, Ready, Section, Table
from tdqsim.report.topology import Site
from tdqsim.testing.clock import waiting
from tdqsim.testing.following import Follower

if TYPE_CHECKING:
    from tdqsim.ibmi import System
    from tdqsim.layouts import Layout
    from tdqsim.testing._mutants_plugin import MutantsPlugin
    from tdqsim.testing.history import History
    from tdqsim.testing.kit import Kit

_SECTION: Final = "tdq_section"
_FAILED_BYTES: Final = 8_000_000
_OTHER_BYTES: Final = 4_000_000
_LARGEST: Final = 400_000
_ROWS: Final = 20_000
_OPEN: Final = 3
_STEPS, _TASKS, _FOLLOWERS, _QUEUES, _TRIGGERS = 60, 15, 8, 12, 12
_TEXT: Final = 20_000
_GOOD: Final = ("passed", "skipped", "xfailed")
_TESTS: Final = ("test", "outcome", "seconds")

_followed = pytest.StashKey["_Followed"]()


class _Followed:
    """The regions and systems of one test."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._notes: list[str] = []
        self._followers: list[Follower] = []
        kit.on_made.append(self._made)

    def _made(self, target: Region | System, history: History) -> None:
        if len(self._followers) < _FOLLOWERS:
            digest = Digest(steps=_STEPS, tasks=_TASKS)
            self._followers.append(Follower(target, history, digest, self._layouts_of(target)))

    def _layouts_of(self, target: Region | System) -> Mapping[str, Layout]:
        """The layouts of records from region.yaml; an error in it is noted on the page, and does not fail the test."""
        directory = self._kit.directories.get(target)
        if directory is None:
            return {}
        try:
            return queue_layouts(load_region_file(directory))
        except DefinitionError as error:
            self._notes.append(f"records are shown as text: {error}")
            return {}

    def _flows(self) -> list[Part]:
        """One diagram of what flowed in all regions and systems of the test."""
        flows = Flows()
        for follower in self._followers:
            history_sections.add_flows(flows, follower.digest(), follower.name, _site_of(follower.target))
        flows.ship()
        return history_sections.flow_parts(flows)

    def parts(self) -> Iterator[Part]:
        """The parts of the section, region by region."""
        kit = self._kit
        yield from map(Prose, self._notes)
        for text in waiting(kit.dispatcher):
            yield Prose(f"waiting: {text}")
        yield from self._flows()
        for follower in self._followers:
            digest = follower.digest()
            parts = [
                *history_sections.depth(digest), *history_sections.tasks(digest),
                *history_sections.refused(digest), *history_sections.triggers(digest, _TRIGGERS),
                *history_sections.operations(digest, _QUEUES),
            ]  # fmt: skip
            if parts:
                yield Prose(f"{follower.name}, seed {kit.seed}: {digest.events:,} events")
                yield from parts
        more = len(kit.regions) + len(kit.systems) - len(self._followers)
        if more > 0:
            yield Prose(f"{more:,} more regions and systems of this test are not shown.", quiet=True)


def _site_of(target: Region | System) -> Site | None:
    """A region with its installed definitions; None for a system or a closed region."""
    if not isinstance(target, Region) or target.closed:
        return None
    return Site(target.applid, target.options.sysid, installed(core_of(target)))


class _Test(NamedTuple):
    """The result of a test."""

    name: str
    outcome: str
    seconds: float
    section: str


class ReportPlugin:
    """Makes the sections of the tests that its process runs; the controlling process writes the page."""

    def __init__(self, config: pytest.Config, mutants: MutantsPlugin | None = None) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._path = Path(config.invocation_params.dir, config.getoption("--tdq-report"))
        self._sent: Counter[bool] = Counter()
        self._kept: Counter[bool] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._wrong: list[_Test] = []
        self._others: list[_Test] = []
        self._setup: dict[str, float] = {}
        self._message = ""
        self._mutants = mutants
        if not self._is_worker:
            try:
                check_target(self._path)
            except TdqError as error:
                raise pytest.UsageError(f"--tdq-report {error}") from error

    # -- in the process that runs the test ------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Record the regions and systems that a test makes."""
        made = yield
        if fixturedef.argname == "_tdq_kit":
            request.node.stash[_followed] = _Followed(made)
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the test's section to its report."""
        report = yield
        if report.when == "call" or report.failed:
            setattr(report, _SECTION, self._section(item, report))
        return report

    def _section(self, item: pytest.Item, report: pytest.TestReport) -> str:
        followed = item.stash.get(_followed, None)
        if followed is not None:
            del item.stash[_followed]
        failed = report.failed
        if self._sent[failed] >= (_FAILED_BYTES if failed else _OTHER_BYTES):
            return ""
        parts: list[Part] = [Prose(_end_of(report.longreprtext), code=True)] if failed else []
        parts += followed.parts() if followed is not None else ()
        if not parts:
            return ""
        outcome = _outcome(report)
        section = Section(item.nodeid, parts, folded=True, mark=Mark(outcome, good=outcome in _GOOD))
        text = "".join(section.html())
        if len(text) > _LARGEST:
            section.parts = [parts[0] if failed else Prose("The section is too large for this page.", quiet=True)]
            text = "".join(section.html())
        self._sent[failed] += len(text)
        return text

    # -- in the controlling process -------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the report of one phase of a test: the test itself, or a failure of its setup or teardown."""
        if self._is_worker:
            return
        if report.when == "setup":
            self._setup[report.nodeid] = report.duration
        if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
            outcome = _outcome(report)
            self._outcomes[outcome] += 1
            seconds = report.duration + self._setup.get(report.nodeid, 0.0) * (report.when == "call")
            self._keep(_Test(report.nodeid, outcome, round(seconds, 3), getattr(report, _SECTION, "")), report.failed)
        if report.when == "teardown":
            self._setup.pop(report.nodeid, None)

    def _keep(self, test: _Test, failed: bool) -> None:
        if self._kept[failed] + len(test.section) > (_FAILED_BYTES if failed else _OTHER_BYTES):
            test = test._replace(section="")
        self._kept[failed] += len(test.section)
        kept = self._wrong if failed else self._others
        if len(kept) < _ROWS:
            kept.append(test)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page."""
        if self._is_worker:
            return
        try:
            self._page().write(self._path)
        except (OSError, TdqError) as error:
            self._message = f"tdqsim report: {self._path} could not be written: {error}"
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        else:
            self._message = f"tdqsim report: {self._path}"

    def _page(self) -> Page:
        total = self._outcomes.total()
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self._outcomes.items()))
        good = not self._wrong
        mark = Mark("all tests passed" if good else f"{len(self._wrong):,} of {total:,} failed", good=good)
        page = Page("Tests", mark if total else None, f"{counts or 'No test was run'}.")
        if self._mutants is not None:
            page.add("Mutants", *self._mutants.parts())
        for title, tests in (("Failures", self._wrong), ("Other tests", self._others)):
            sections = [each.section for each in tests if each.section]
            unfolded = _OPEN if tests is self._wrong else 0
            parts: list[Part] = [
                Ready(text.replace("<details>", "<details open>", 1) if at < unfolded else text)
                for at, text in enumerate(sections)
            ]
            without = len(tests) - len(sections)
            if without and parts:
                parts.append(
                    Prose(f"{without:,} more have no section: they used no region, or the page is full.", quiet=True)
                )
            page.add(f"{title}: {len(tests):,}", *parts)
        rows = [
            (each.name, Mark(each.outcome, each.outcome in _GOOD), each.seconds) for each in self._wrong + self._others
        ]
        if rows:
            page.add("All tests", Table(_TESTS, rows, "Failures first", total=total, most=_ROWS), folded=True)
        return page

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the file of the page."""
        if self._message:
            terminalreporter.write_line(self._message)


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return str(report.outcome) if report.when == "call" or not report.failed else f"error in {report.when}"


def _end_of(text: str) -> str:
    """The end of a long text, which has the error."""
    return text if len(text) <= _TEXT else f"...{os.linesep}{text[-_TEXT:]}"
