"""Snapshots of the records of a region's intrapartition queues: take, download, and restore, also from a file.

The server keeps the last few snapshots that were taken here, in memory. A user sees only their own, because the records
of another user's snapshot may be ones that this user may not read.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import count
from typing import Final, NamedTuple

from fastapi import Request
from nicegui import ui

from tdqsim.errors import UsageError, WrongValue
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.console.controls import Block, Button, TextFile, card
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.pages.incidents import day_and_time
from tdqsim.server.console.table import ButtonCell, DataTable, Row, column, row
from tdqsim.server.operations import operation
from tdqsim.server.snapshots import FORMAT, KeptQueue, check_format, restore_snapshot, snapshot_answer, take_snapshot

_KEPT: Final = 10
"""The number of snapshots of each user and region that are kept."""
_MOST_BYTES: Final = BOUNDS["body_bytes"]
_SNAPSHOTS: Final = (
    column("number", "Number", num=True), column("time", "Time"), column("queues", "Queues", num=True),
    column("records", "Records", num=True), column("do", ""),
)  # fmt: skip
_QUEUES: Final = (
    column("queue", "Queue"), column("records", "Records", num=True), column("bytes", "Bytes", num=True),
    column("state", "State"),
)  # fmt: skip


class _Snapshot(NamedTuple):
    """A snapshot.

    Attributes:
        number: its number, from 1.
        time_ns: its time on the region's clock.
        queues: the queues by name.
    """

    number: int
    time_ns: int
    queues: Mapping[str, KeptQueue]

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(len(queue.records) for queue in self.queues.values())


def add(console: Console) -> None:
    """Register the page."""
    kept: defaultdict[tuple[str, str], deque[_Snapshot]] = defaultdict(lambda: deque(maxlen=_KEPT))
    numbers = count(1)

    @ui.page("/regions/{region}/snapshots")
    async def snapshots(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Snapshots", region=name, here="snapshots") as visit:
            own = kept[name, visit.caller.userid]
            await _Snapshots(visit, console.live.view(name), own, numbers).build()


class _Snapshots(RegionPage):
    def __init__(self, visit: Visit, view: RegionView, kept: deque[_Snapshot], numbers: count[int]) -> None:
        super().__init__(visit, view)
        self.kept, self.numbers = kept, numbers

    async def build(self) -> None:
        with card("Snapshots", "Your snapshots of the records of intrapartition queues"):
            with Block("div", "tdq-row"):
                Button("Take a snapshot", self.take)
                if self.visit.may(operation("RESTORE")):
                    TextFile("Restore from a file", _MOST_BYTES, self.restore_file, self.too_large, accept=".json")
            self.table = DataTable("Snapshots", _SNAPSHOTS, empty="No snapshot was taken.", on_act=self.act)
        with card("Queues of the snapshot", ""):
            self.title = Block("h2", words="Queues")
            self.queues = DataTable("Queues of the snapshot", _QUEUES, keep=True, empty="No snapshot is shown.")
        self._show()
        await self.visit.follow([self.region.applid], self.refresh)

    def _show(self) -> None:
        self.table.show([self._row(each) for each in reversed(self.kept)])

    def _row(self, snapshot: _Snapshot) -> Row:
        number = snapshot.number
        buttons: list[ButtonCell] = [
            {"id": "show", "label": "Show", "title": f"Show snapshot {number}"},
            {"id": "download", "label": "Download", "title": f"Download snapshot {number}"},
        ]
        if self.visit.may(operation("RESTORE")):
            buttons.append({"id": "restore", "label": "Restore", "title": f"Restore {number}", "tone": "danger"})
        time = day_and_time(snapshot.time_ns)
        return row(
            str(number), number, time, f"{len(snapshot.queues):,}", f"{snapshot.records:,}", {"buttons": buttons},
        )  # fmt: skip

    # -- actions ------------------------------------------------------------------------------------------------------

    async def take(self) -> None:
        """Take a snapshot, and show its queues."""
        queues = await self.visit.do(
            operation("SNAPSHOT"), lambda: take_snapshot(self.region, self.visit.caller.userid)
        )
        if queues is not REFUSED:
            snapshot = _Snapshot(next(self.numbers), self.region.clock.time_ns(), queues)
            self.kept.append(snapshot)
            self._show()
            self._show_queues(snapshot)

    async def act(self, row: str, button: str) -> None:
        """Carry out the action of a button of a row."""
        snapshot = next((each for each in self.kept if str(each.number) == row), None)
        if snapshot is None:
            self.visit.say(f"Snapshot {row} is no longer kept", "bad")
        elif button == "show":
            self._show_queues(snapshot)
        elif button == "download":
            text = json.dumps(snapshot_answer(self.region.applid, snapshot.queues))
            ui.download.content(text, f"{self.region.applid}-snapshot-{snapshot.number}.json", "application/json")
        elif button == "restore":
            await self._restore(snapshot.queues)

    def _show_queues(self, snapshot: _Snapshot) -> None:
        self.title.say(f"Queues of snapshot {snapshot.number}")
        rows: list[Row] = [
            {
                "id": name,
                "cells": [name, f"{len(each.records):,}", f"{sum(map(len, each.records)):,}", each.enablestatus],
            }
            for name, each in snapshot.queues.items()
            if each.records or each.enablestatus != "ENABLED"
        ]
        self.queues.show(rows)

    async def _restore(self, queues: Mapping[str, KeptQueue]) -> None:
        records = sum(len(queue.records) for queue in queues.values())
        question = f"Replace all records of {len(queues):,} queues by {records:,} records of the snapshot?"
        if await confirmed(question, "Restore"):
            userid = self.visit.caller.userid
            await self.visit.do(
                operation("RESTORE"), lambda: restore_snapshot(self.region, queues, userid), queues=f"{len(queues):,}"
            )

    async def restore_file(self, name: str, text: str) -> None:
        """Restore the snapshot of a file, after a confirmation."""
        try:
            queues = _queues_of(text)
        except UsageError as error:
            self.visit.say(f"{name}: {error}", "bad")
            return
        await self._restore(queues)

    def too_large(self, name: str) -> None:
        """Refuse a file."""
        self.visit.say(f"{name}: a file has at most {_MOST_BYTES:,} bytes", "bad")


def _queues_of(text: str) -> dict[str, KeptQueue]:
    """The queues of a snapshot in the form of the API.

    Raises:
        UsageError: it is not a snapshot, or one of another version.
    """
    try:
        given = json.loads(text)
        check_format(given.get("format", FORMAT))
        return {str(name): _queue_of(queue) for name, queue in given["queues"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("is not a snapshot; GET /regions/R/snapshot and Download give one") from error


def _queue_of(given: Mapping[str, object]) -> KeptQueue:
    state, records = given["enablestatus"], given["records"]
    if state not in ("ENABLED", "DISABLED") or not isinstance(records, list):
        raise WrongValue(state)
    return KeptQueue(
        "ENABLED" if state == "ENABLED" else "DISABLED", tuple(bytes.fromhex(each["hex"]) for each in records)
    )
