"""The frame of every page: the bar with its links, the status line with the results of actions, and the user.

Each browser that opens a page gets a new instance of it. :func:`frame` makes its landmarks (bar, navigation, main,
status). A :class:`Visit` is the page in that browser: it has the user and executes the user's actions. A page does not
offer actions that the role does not allow. If one is requested anyway, it is refused here, by the user's current role.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote

from fastapi import Request
from nicegui import ui
from nicegui.client import Client

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage
from tdqsim.server.acting import CONSOLE_TRANSID, in_a_task
from tdqsim.server.audit import audit
from tdqsim.server.console.callers import Caller, Callers
from tdqsim.server.console.controls import Block, Button
from tdqsim.server.console.live import Live
from tdqsim.server.console.live_flows import LiveFlows
from tdqsim.server.console.messages import MessageLog
from tdqsim.server.host import Host
from tdqsim.server.notices import why_ended
from tdqsim.server.operations import ServerOperation, operation
from tdqsim.server.users import Role

T = TypeVar("T")

_SAID_WAITING: Final = 0.7
"""Seconds after which the status line shows that an action waits."""
_LONGEST_WAIT: Final = 300.0
_AGAIN: Final = 2.0
"""The interval of the check whether the region of a page has ended, in seconds."""
_THEME_COOKIE: Final = "tdq_theme"
_THEMES: Final = {"light": False, "dark": True}
PAGES_OF_A_REGION: Final = {
    "queues": "Queues", "flows": "Flows", "incidents": "Incidents", "tasks": "Tasks", "start": "Start",
    "units": "Units of work", "commands": "Commands", "log": "Log", "topology": "Topology",
    "timeline": "Time line", "statistics": "Statistics", "output": "Output",
    "definitions": "Definitions", "snapshots": "Snapshots", "faults": "Faults",
}  # fmt: skip


class ActionRefused(Enum):
    """The type of :data:`REFUSED`."""

    REFUSED = "refused"


REFUSED: Final = ActionRefused.REFUSED
"""The result of an action that was refused or failed; the status line shows the reason."""


@dataclass(frozen=True, slots=True)
class Console:
    """The objects that all pages share.

    Attributes:
        host: the regions and systems.
        live: the state of the regions, kept up to date.
        flows: what flows in the regions and systems.
        callers: identifies the users of pages.
        messages: the messages of the regions to their operators.
        prefix: the path below which the pages are.
    """

    host: Host
    live: Live
    flows: LiveFlows
    callers: Callers
    messages: MessageLog
    prefix: str


def path_to(console: Console, *parts: str) -> str:
    """The address of a page; parts are names, which may contain any characters."""
    return "/".join([console.prefix, *(quote(part, safe="") for part in parts)])


@dataclass(slots=True)
class Visit:
    """One browser's page.

    Attributes:
        console: see :class:`Console`.
        request: the request for the page, whose cookies identify the user.
        caller: the user of the request.
        client: NiceGUI's object for the browser.
        status: the line with the result of the last action.
    """

    console: Console
    request: Request
    caller: Caller
    client: Client
    status: Block = field(init=False, repr=False)
    _status_number: int = 0
    _pending: set[asyncio.Future[Any]] = field(default_factory=set, repr=False)
    _again: bool = False
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    def may(self, operation: ServerOperation) -> bool:
        """Whether the user has the role of an operation."""
        return self.caller.may(operation.role)

    def say(self, words: str, tone: str = "") -> None:
        """Show a result in the status line."""
        self._status_number += 1  # a number, so that screen readers read the same text again
        self.status.say(f"{self._status_number}. {words}", f"tdq-status {tone}".strip())

    def href(self, *parts: str) -> str:
        """See :func:`path_to`."""
        return path_to(self.console, *parts)

    # -- actions ------------------------------------------------------------------------------------------------

    async def do(self, operation: ServerOperation, call: Callable[[], T], **parts: object) -> T | ActionRefused:
        """Execute an action of the user in the engine's thread, and show its result.

        Args:
            operation: the operation, with its role and audit text.
            call: the action; it may wait.
            parts: the placeholders of the audit text, such as ``queue``.

        Returns:
            The result of the call, or :data:`REFUSED`.
        """
        what = operation.text(**parts)
        caller = self.console.callers.identify(self.request)
        if caller is None or not caller.may(operation.role):
            self.say(f"{what}: refused, the role {operation.role} is needed; sign on again", "bad")
            return REFUSED
        answer = "cancelled"  # if the page is closed meanwhile
        try:
            result = await self._waited(what, call)
        except (TdqError, TimeoutError, ValueError) as error:
            answer = _error_text(error)
            self.say(f"{what}: {answer}", "bad")
            return REFUSED
        else:
            answer = "NORMAL"
        finally:
            if operation.role is not Role.look:
                self.audit(operation.name, command=what, resp=answer)
            self.console.live.nudge()
        self.say(f"{what}: NORMAL", "ok")
        return result

    def audit(self, operation: str, *, command: str, resp: str = "") -> None:
        """Write the audit line: the user, the origin, the page, the operation and its result."""
        origin = self.request.client.host if self.request.client else "local"
        parts = dict(self.request.path_params)
        keys = {"region": "applid", "system": "system", "queue": "dtaq" if "system" in parts else "queue"}
        where = {keys.get(name, name): str(value) for name, value in parts.items() if name in (*keys, "library")}
        audit(
            "console", self.caller.userid, operation, **where, command=command, resp=resp, origin=origin,
            path=self.request.url.path,
        )  # fmt: skip

    async def _waited(self, what: str, call: Callable[[], T]) -> T:
        answer = asyncio.ensure_future(self.console.host.ask(call, name=what))
        done, _ = await asyncio.wait({answer}, timeout=_SAID_WAITING)
        if not done:
            self.say(f"{what}: waits ...")
        self._pending.add(answer)
        try:
            return await asyncio.wait_for(answer, _LONGEST_WAIT)
        finally:
            self._pending.discard(answer)

    def leave(self) -> None:
        """Cancel the waiting actions of a page that was closed."""
        for waiting in tuple(self._pending):
            waiting.cancel()

    async def task(
        self, operation: ServerOperation, region: Region, action: Callable[[Task], T], **parts: object
    ) -> T | ActionRefused:
        """Execute an action as a separate task with the authority of the user."""
        return await self.do(
            operation, partial(in_a_task, region, self.caller.userid, action, CONSOLE_TRANSID), **parts
        )

    async def ask(self, call: Callable[[], T]) -> T:
        """Run a call that reads state in the engine's thread; it must not wait.

        Raises:
            TdqError: an error of the call.
        """
        return await asyncio.wrap_future(self.console.host.engine.outside(call))

    # -- updates --------------------------------------------------------------------------------------------------

    async def follow(self, applids: Iterable[str], refresh: Callable[[], Awaitable[None]]) -> None:
        """Show the page now, and again whenever something changes, as long as the browser is connected."""
        names = tuple(applids)
        live = self.console.live
        await live.ready(names)
        await refresh()
        changed = partial(self._changed, refresh)
        self.client.on_connect(lambda: live.start(names, changed))
        self.client.on_disconnect(lambda: live.stop(changed))
        self.client.on_delete(lambda: live.stop(changed))

    def every(self, seconds: float, refresh: Callable[[], Awaitable[None]]) -> None:
        """Show the page again periodically, as long as the browser is connected."""

        async def again() -> None:
            if self.client.has_socket_connection:
                self._changed(refresh)

        ui.timer(seconds, again, immediate=False)

    def _changed(self, refresh: Callable[[], Awaitable[None]]) -> None:
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._refresh(refresh))

    async def _refresh(self, refresh: Callable[[], Awaitable[None]]) -> None:
        while self._again and not self.client.is_deleted:
            self._again = False
            if self.console.callers.identify(self.request) is None:
                self.client.run_javascript("location.assign('/sign-on')")
                return
            try:
                with self.client:
                    await refresh()
            except TdqError as error:
                self.say(_error_text(error), "bad")


def _error_text(error: BaseException) -> str:
    if isinstance(error, Condition):
        resp2 = f" {error.resp2_text}" if error.resp2_text else ""
        return f"{error.name}{resp2}: {error.detail or error}{error.doubt}"
    if isinstance(error, EscapeMessage):
        return f"{error}{error.doubt}"
    if isinstance(error, Abend):
        return f"abend {error.code}: {error}"
    if isinstance(error, TimeoutError):
        return "cancelled after five minutes"
    return str(error)


# -- the frame --------------------------------------------------------------------------------------------------------


@contextmanager
def frame(console: Console, request: Request, title: str, *, region: str = "", here: str = "") -> Iterator[Visit]:
    """Make the landmarks of a page; elements that are created inside become its main part.

    Args:
        console: see :class:`Console`.
        request: the request for the page.
        title: the title of the page, which is also its heading.
        region: the region of the page, if it belongs to one.
        here: the name of the page in the navigation.
    """
    caller = console.callers.identify(request)
    assert caller is not None, "the gate refuses requests without a user"
    client = ui.context.client
    client.title = f"{title} - {region or 'tdqsim'}"
    visit = Visit(console, request, caller, client)
    client.on_delete(visit.leave)
    ui.dark_mode(_THEMES.get(request.cookies.get(_THEME_COOKIE, "")))
    with ui.header(elevated=False).classes("tdq-bar"):
        _bar(visit, here if not region else "")
        if region:
            _region_bar(visit, region, here)
    with Block("div", "tdq-page") as main:
        Block("h1", words=title)
        if region:
            _add_end(visit, region)
        visit.status = Block("div", "tdq-status", role="status", aria_live="polite")
        yield visit
    ui.skip_link("To the content", target=main)


def _add_end(visit: Visit, name: str) -> None:
    """Add a line with the reason why the region of a page has ended, as soon as it has."""
    line = Block("p", role="alert")

    async def refresh() -> None:
        if why := why_ended(visit.console.host.region(name)):
            line.say(f"This region has ended. {why}", "tdq-verdict bad")

    ui.timer(_AGAIN, refresh)


def _link(words: str, href: str, *, current: bool = False) -> None:
    link = Block("a", words=words, href=href)
    if current:
        link.props["aria-current"] = "page"


def _bar(visit: Visit, here: str) -> None:
    with Block("div", "tdq-top"):
        Block("a", "tdq-brand", "tdqsim", href=visit.href(""))
        with Block("nav", "tdq-nav", aria_label="Main"):
            _link("Overview", visit.href(""), current=here == "overview")
            _link("All flows", visit.href("flows"), current=here == "flows")
            _link("Clock", visit.href("clock"), current=here == "clock")
            _link("IBM i", visit.href("systems"), current=here == "systems")
        with Block("div", "tdq-who"):
            Block("span", words=f"{visit.caller.name} ({visit.caller.roles})")
            Button("Light / dark", partial(_other_theme, visit), kind="small plain")
            with Block("form", method="post", action="/sign-off"):
                Block("button", "tdq-button small plain", "Sign off", type="submit")


def _region_bar(visit: Visit, region: str, here: str) -> None:
    with Block("div", "tdq-regionbar"), Block("div", "tdq-top"):
        Block("a", "tdq-applid", region, href=visit.href("regions", region, "queues"))
        with Block("nav", "tdq-nav", aria_label=f"Region {region}"):
            for key, name in PAGES_OF_A_REGION.items():
                if key != "faults" or visit.may(operation("SET FAULTS")):
                    _link(name, visit.href("regions", region, key), current=key == here)


def _other_theme(visit: Visit) -> None:
    """Switch between light and dark; the browser remembers the choice."""
    visit.client.run_javascript(
        "const dark = !document.body.classList.contains('body--dark'); Quasar.Dark.set(dark);"
        f"document.cookie = '{_THEME_COOKIE}=' + (dark ? 'dark' : 'light') + '; path={visit.console.prefix};"
        " max-age=31536000; samesite=strict';"
    )
