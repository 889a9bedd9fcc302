"""The page of ``tdq run --report``: the result, what flowed, the topology, and the events of the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tdqsim.cli.errors import InputError
from tdqsim.errors import TdqError
from tdqsim.report import history_sections
from tdqsim.report.layout_of_queue import queue_layouts
from tdqsim.report.page import Page, check_target
from tdqsim.report.parts import Mark, Prose, Table
from tdqsim.report.topology import Site, topology
from tdqsim.testing.following import Follower

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.report import Report
    from tdqsim.definitions import Definitions
    from tdqsim.definitions.regionfile import RegionFile


class RunPage:
    """Follows a run and writes its page.

    Args:
        path: the file.
        name: the name of the run.
        definitions: the installed definitions.
        file: region.yaml.

    Raises:
        InputError: the page could not be written.
    """

    def __init__(self, path: Path, name: str, definitions: Definitions, file: RegionFile) -> None:
        check_page(path)
        self._path, self._name = path, name
        self._owner = owner_of(definitions, file)
        self._layouts = queue_layouts(file)

    def follow(self, region: Region) -> None:
        """Record the events of the region; call this before anything runs."""
        self._follower = Follower(region, layouts=self._layouts)

    def over(self) -> None:
        """Stop recording; call this when all tasks have run."""
        self._follower.history.detach()

    def write(self, report: Report) -> None:
        """Write the page.

        Raises:
            OSError: the file cannot be written.
        """
        digest = self._follower.digest()
        mark = Mark("all is well", good=True) if report.ok else Mark("something is wrong", good=False)
        lead = (
            f"Region {report.applid} ({report.sysid}), seed {report.seed}: {report.tasks:,} tasks and "
            f"{report.commands:,} TD commands in {report.seconds:.2f} s; {digest.events:,} events."
        )
        page = Page(f"tdq run {self._name}", mark, lead)
        wrong = [Prose(each) for each in (*report.abends, *report.waiting)]
        page.add("Failures", *wrong[:50])
        if report.checks:
            checks = [(each.name, _word(each.ok), each.detail) for each in report.checks]
            page.add("Checks", Table(("check", "result", "seen"), checks))
        if report.figures:
            page.add(
                "Figures", Table(("figure", "value"), [(name, _shown(each)) for name, each in report.figures.items()])
            )
        heads, rows = report.inquired()
        page.add("Queues at the end", Table(heads, rows))
        page.add("What flowed", *history_sections.flows(digest, report.applid, self._owner))
        page.add("Topology", topology([self._owner]).picture())
        page.add("Depth over time", *history_sections.depth(digest))
        page.add("Tasks and units of work", *history_sections.tasks(digest))
        page.add("Refused commands", *history_sections.refused(digest))
        page.add("Triggers", *history_sections.triggers(digest))
        page.add("The last operations on each queue", *history_sections.operations(digest))
        page.write(self._path)


def check_page(path: Path) -> None:
    """Check that a page can be made and written there.

    Raises:
        InputError: it cannot.
    """
    try:
        check_target(path)
    except TdqError as error:
        raise InputError(str(error)) from error


def owner_of(definitions: Definitions, file: RegionFile) -> Site:
    """A region directory, in the form from which its topology is made."""
    return Site(file.applid, file.sysid, definitions, {name: card.path for name, card in file.dd.items()})


def _word(ok: bool) -> Mark:
    return Mark("ok" if ok else "WRONG", good=ok)


def _shown(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items()) or "none"
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
