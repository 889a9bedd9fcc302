"""Installation of definitions, and import of CSD and DCT text, with a preview of the changes; the installed ones."""

from __future__ import annotations

from asyncio import to_thread
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, cast

from tdqsim.definitions import Definitions
from tdqsim.errors import TdqError
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.console.controls import Block, Button, Control, TextFile, card
from tdqsim.server.console.frame import REFUSED, Visit
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.pages.incidents import day_and_time
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.definition_text import Form, check_no_code, preview, read_definitions
from tdqsim.server.operations import operation
from tdqsim.server.watched_change import WatchedChange
from tdqsim.state import PlannedInstall

_MOST_BYTES: Final = BOUNDS["body_bytes"]
_SHOWN: Final = 1000
"""The maximum number of changes in the table."""
_IN_AREA: Final = 50_000
"""The maximum number of characters of a file that are shown for editing; a longer file is previewed and installed."""
_FORMS: Final = {"yaml": "a definition file (YAML)", "csd": "DFHCSDUP commands", "dct": "DFHDCT macros"}
_SUFFIXES: Final = {".yaml": "yaml", ".yml": "yaml", ".csd": "csd", ".jcl": "csd", ".dct": "dct", ".asm": "dct"}
_TONES: Final = {"new": "ok", "changed": "warn", "replaced": "warn", "refused": "bad"}
_FILES: Final = (
    column("time", "Time"), column("what", "What"), column("done", "Result"), column("why", "Details", wide=True),
)  # fmt: skip
_ORDER: Final = (*_TONES, "unchanged", "ignored")
_CHANGES: Final = (
    column("kind", "Type"), column("name", "Name"), column("change", "Change"),
    column("details", "Attributes, or why it is refused", wide=True),
)  # fmt: skip


async def add_changed_files(visit: Visit, watched_changes: Sequence[WatchedChange] | None) -> None:
    """Add the table of what was done with changed files to a page; nothing if they are not watched."""
    if watched_changes is None:
        return
    with card("Changed files", "Changed files, the last change first"):
        files = DataTable("Changed files", _FILES, empty="No file has changed.")

    async def show() -> None:
        entries = list(enumerate(await visit.ask(lambda: list(watched_changes))))
        files.show([_file_row(at, each) for at, each in reversed(entries)])

    visit.every(1.0, show)
    await show()


class DefinitionsPage(RegionPage):
    """The page of definitions."""

    whole: str = ""
    """The text of a file that is too long for the text area."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with card("Definitions", "Definitions to install"):
            with Block("div", "tdq-row"):
                self.form = Control("Given as", "select", "yaml", options=_FORMS)
                TextFile(
                    "From a file", _MOST_BYTES, self.take_file, self.too_large, accept=",".join([*_SUFFIXES, ".txt"])
                )
            with Block("div", "tdq-row"):
                self.text = Control(
                    "Text of the definitions", "area", mono=True, grow=True, lines=10, on_change=self.forget_file
                )
            with Block("div", "tdq-row"):
                Button("Preview", self.show_preview)
                if self.visit.may(operation("INSTALL")):
                    Button("Install", self.install, kind="danger")
        with card("Changes"):
            self.summary = Block(
                "p", "tdq-explain", "Preview shows what the installation would change.", aria_live="polite"
            )
            self.changes = DataTable("Changes", _CHANGES, empty="Nothing.")
            self.reports = Block("p", "tdq-explain tdq-dim")
        await add_changed_files(self.visit, self.visit.console.host.watched_changes.get(self.region.applid))
        with card("Installed definitions"):
            Block("a", words="As JSON with a definition file", href=f"/api/v1/regions/{self.region.applid}/definitions")
            Block("span", words="; as a picture: ")
            Block("a", words="Topology", href=self.href("topology"))
        await self.visit.follow([self.region.applid], self.refresh)

    # -- the text ---------------------------------------------------------------------------------------------------

    async def take_file(self, name: str, text: str) -> None:
        """Take the text of a file; its suffix gives the form."""
        form = _SUFFIXES.get(PurePath(name).suffix.lower())
        if form is not None:
            self.form.put(form)
        self.whole = text
        self.text.put(text if len(text) <= _IN_AREA else f"(the {len(text):,} characters of {name})")
        await self.show_preview()

    def too_large(self, name: str) -> None:
        """Refuse a file."""
        self.visit.say(f"{name}: a file has at most {_MOST_BYTES:,} bytes", "bad")

    def forget_file(self) -> None:
        """The text was edited: it is what is installed."""
        self.whole = ""

    async def _read(self) -> tuple[Definitions, list[str]] | None:
        """Read the text; None, after a message, if it has errors."""
        try:
            text, form = self.whole or self.text.text, cast("Form", self.form.text)
            read = await to_thread(read_definitions, text, form)
            allowed = self.visit.console.host.network_handlers
            await self.visit.ask(lambda: check_no_code(self.region, read[0], allowed=allowed))
        except TdqError as error:
            self.changes.show([])
            self.summary.say(str(error))
            self.reports.say("")
            self.visit.say("The text has errors, which are listed above", "bad")
            return None
        return read

    # -- actions ----------------------------------------------------------------------------------------------------

    async def show_preview(self) -> None:
        """Show what the installation would change."""
        read = await self._read()
        if read is not None:
            self.visit.say("Preview: nothing was installed", "ok")
            self._show(await self._planned(read[0]), read[1], "Preview of")

    async def install(self) -> None:
        """Install all of the definitions or, if one is refused, none."""
        read = await self._read()
        if read is None:
            return
        definitions, reports = read
        planned, host = await self._planned(definitions), self.visit.console.host

        def act() -> None:
            self.region.install(definitions, userid=self.visit.caller.userid)
            host.waits.all_changed(self.region)

        names = ", ".join(each.resource.title for each in definitions.entries[:5])
        more = f" and {len(definitions.entries) - 5:,} more" if len(definitions.entries) > 5 else ""
        done = await self.visit.do(operation("INSTALL"), act, names=names + more)
        self._show(planned, reports, "Not installed:" if done is REFUSED else "Installed")

    async def _planned(self, definitions: Definitions) -> list[PlannedInstall]:
        return await self.visit.ask(lambda: preview(self.region, definitions, self.visit.caller.userid))

    def _show(self, planned: list[PlannedInstall], reports: list[str], what: str) -> None:
        counts: Counter[str] = Counter(each.change for each in planned)
        words = ", ".join(f"{counts[change]:,} {change}" for change in _ORDER if counts[change]) or "none"
        refused = " None is installed while one is refused." if counts["refused"] else ""
        self.summary.say(f"{what} {len(planned):,} definition{'s'[: len(planned) != 1]}: {words}.{refused}")
        planned = sorted(planned, key=lambda each: each.change in ("unchanged", "ignored"))  # what changes comes first
        self.changes.show([_row(each) for each in planned[:_SHOWN]])
        left = [f"{len(planned) - _SHOWN:,} more are not shown."] if len(planned) > _SHOWN else []
        self.reports.say("\n".join([*left, *reports[:200]]))


def _file_row(at: int, entry: WatchedChange) -> Row:
    done: Cell = {"text": "refused", "tone": "bad"} if entry.refused else {"text": "taken up", "tone": "ok"}
    lines: Cell = {"lines": entry.done.split("\n")}
    return row(str(at), day_and_time(entry.time_ns), entry.what, done, lines)


def _row(planned: PlannedInstall) -> Row:
    tone = _TONES.get(planned.change)
    change: Cell = {"text": planned.change, "tone": tone} if tone else planned.change
    details: Cell = {"lines": list(planned.details)} if planned.details else ""
    return row(f"{planned.kind} {planned.name}", planned.kind, planned.name, change, details)
