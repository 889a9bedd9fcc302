"""A terminal without a data stream: its inputs, its outputs, and the transaction that the next input starts.

An input is a key and the typed data: text for RECEIVE, fields by name for RECEIVE MAP. The output of programs is kept
in order as :class:`Sent`. RETURN TRANSID determines the transaction of the next input, whatever the key, and its
COMMAREA; without RETURN TRANSID the first word of the text is the transaction. A protocol such as the 3270 data stream
can be built on these values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.model.task import FacilityRequest, TaskData
from tdqsim.core.codepage import CodePage
from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UsageError
from tdqsim.facts import AIDS

if TYPE_CHECKING:
    from tdqsim.cics.kernel.channels import Channel
    from tdqsim.cics.model.handle import TaskHandle
    from tdqsim.definitions.bms import BmsMap, Mapset

_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class Input(NamedTuple):
    """One input.

    Attributes:
        key: ENTER, CLEAR, PA1 to PA3 or PF1 to PF24.
        text: the text typed on an unformatted screen.
        fields: the text typed into the fields of a map, by name.
        cursor: the cursor position, from 0.
    """

    key: str = "ENTER"
    text: str = ""
    fields: Mapping[str, str] = _NONE
    cursor: int = 0

    @property
    def short(self) -> bool:
        """Whether the key sends no data (CLEAR and PA keys)."""
        return self.key == "CLEAR" or self.key.startswith("PA")


class Sent(NamedTuple):
    """One output.

    Attributes:
        command: SEND MAP, SEND TEXT, SEND CONTROL or SEND; MESSAGE for a message of CICS itself.
        map, mapset: those of SEND MAP.
        fields: the contents of each named field of the map, without trailing blanks and nulls.
        attributes: the attribute characters set by the program, by field and suffix, such as ``("NAME", "A")``.
        text: the text of SEND TEXT, SEND or a message.
        cursor: the cursor position, from 0; None if the command does not set it.
        options: the options given, such as ERASE.
    """

    command: str
    map: str = ""
    mapset: str = ""
    fields: Mapping[str, str] = _NONE
    attributes: Mapping[tuple[str, str], bytes] = _NONE
    text: str = ""
    cursor: int | None = None
    options: tuple[str, ...] = ()


class Screen:
    """One terminal.

    Attributes:
        name: 1 to 4 characters.
        sent: the output of programs, in order.
        inputs: the inputs typed for the waiting task.
        first: for each task the input that started it, until it is received.
        next_transid: the transaction of the next input, named by RETURN TRANSID; empty for none.
        next_commarea, next_channel: its COMMAREA and its channel.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[Sent] = []
        self.inputs: deque[Input] = deque()
        self.first: dict[TaskData, Input] = {}
        self.waiting = WaitQueue(f"input from terminal {name}")
        self.next_transid = ""
        self.next_commarea = b""
        self.next_channel: Channel | None = None
        self._named_by = 0  # the number of the task that has named it

    def put(self, task: TaskBase, shown: Sent) -> None:  # a surrogate needs the task
        """Show an output of a task."""
        self.sent.append(shown)

    def take(self, task: TaskBase) -> Input:
        """The next input; the task waits for it."""

        def attempt() -> Input | WaitMark:
            return self.inputs.popleft() if self.inputs else WAIT

        typed = attempt()
        return wait(task, attempt, self.waiting, "TERMINAL", self.name) if isinstance(typed, WaitMark) else typed

    def begin_at_once(self, task: TaskBase) -> None:
        """Start the transaction that RETURN IMMEDIATE has named, when its task has ended."""
        region = task._region
        transid = self.next_transid
        request = FacilityRequest(
            transid, lambda _facility: region.screens.begin_next(self) if self.next_transid else None
        )
        region.terminal_control.when_free(self.name, request)

    def name_next(self, task: TaskData, transid: str, commarea: bytes, channel: Channel | None) -> None:
        """Set the transaction of the next input, which a task names."""
        self.next_transid, self.next_commarea, self.next_channel = transid, commarea, channel
        self._named_by = task.number

    def forget_next(self, task: TaskData | None = None) -> None:
        """Forget the next transaction: its task begins; or the given task abends, if that is the one that named it."""
        if task is None or task.number == self._named_by:
            self.next_transid, self.next_commarea, self.next_channel = "", b"", None

    def started_by(self, task: TaskBase, typed: Input) -> None:
        """Record the input that started a task, even if the task never receives it; its EIB shows the key."""
        self.first = {each: kept for each, kept in self.first.items() if not each._ended}
        self.first[task] = typed
        task.eib.eibaid, task.eib.eibcposn = AIDS[typed.key], typed.cursor

    def show(self, message: str) -> None:
        """Show a message of CICS itself."""
        self.sent.append(Sent("MESSAGE", text=message))

    @property
    def last(self) -> Sent:
        """The last output.

        Raises:
            UsageError: nothing was sent yet.
        """
        if not self.sent:
            raise UsageError(f"nothing was sent to terminal {self.name} yet")
        return self.sent[-1]


class Screens:
    """The terminals of a region, and the maps that its programs use.

    Args:
        codepage: the code page of the text that programs send and receive.
        begin: starts a transaction at a terminal: called with its id, the terminal's name, COMMAREA and channel.
        check_input: raises UsageError if an input at a terminal, given by its name, cannot start a transaction.
    """

    __slots__ = ("_begin", "_check_input", "_mapsets", "_screens", "codepage")

    def __init__(
        self,
        codepage: CodePage,
        begin: Callable[[str, str, bytes, Channel | None], TaskHandle],
        check_input: Callable[[str], None],
    ) -> None:
        self.codepage = codepage
        self._begin = begin
        self._check_input = check_input
        self._screens: dict[str, Screen] = {}
        self._mapsets: dict[str, Mapset] = {}

    def screen(self, terminal: str) -> Screen:
        """The terminal of this name; created at the first call."""
        if not 0 < len(terminal) <= 4:
            raise UsageError(f"terminal {terminal!r}: the name of a terminal is 1 to 4 characters")
        return self._screens.setdefault(terminal, Screen(terminal))

    def of(self, task: TaskBase) -> Screen:
        """The terminal of a task that has one; in a routed task a surrogate."""
        facility = task._facility
        assert facility is not None, task
        surrogate: Screen | None = facility.surrogate
        return surrogate or self.screen(facility.name)

    def install(self, mapset: Mapset) -> None:
        """Make the maps of a mapset available to programs."""
        self._mapsets[mapset.name] = mapset

    def find_map(self, mapset: str, name: str) -> tuple[Mapset, BmsMap] | None:
        """A map of a mapset; None if the mapset does not contain it.

        Raises:
            KeyError: there is no such mapset.
        """
        maps = self._mapsets[mapset]
        each = next((one for one in maps.maps if one.name == name), None)
        return None if each is None else (maps, each)

    def type(
        self, terminal: str, text: str = "", *, key: str = "ENTER", cursor: int = 0, **fields: str
    ) -> TaskHandle | None:
        """Type data and press a key: the input goes to the task that waits for it, or starts a transaction.

        Args:
            terminal: 1 to 4 characters.
            text: the text for an unformatted screen; its first word is the transaction, unless RETURN TRANSID has named
                one.
            key: ENTER, CLEAR, PA1 to PA3, PF1 to PF24.
            cursor: the cursor position, from 0.
            fields: the text for the fields of a map, by name.

        Returns:
            The handle of the started task, as from ``region.start``; None if a task was waiting.

        Raises:
            UsageError: an unknown key, or there is no transaction to start; or the terminal has a task that does not
                wait for input, or is out of service.
        """
        if key not in AIDS or key == "NULL":
            raise UsageError(f"key {key!r}: allowed are {', '.join(name for name in AIDS if name != 'NULL')}")
        screen = self.screen(terminal)
        typed = Input(key, text, {name.upper(): value for name, value in fields.items()}, cursor)
        if screen.waiting:
            screen.inputs.append(typed)
            screen.waiting.wake_all()
            return None
        self._check_input(terminal)
        screen.next_transid = screen.next_transid or text[:4].split(" ", maxsplit=1)[0]
        if not screen.next_transid:
            raise UsageError(f"terminal {terminal}: no RETURN TRANSID is in effect, and the text names no transaction")
        handle = self.begin_next(screen)
        screen.started_by(handle.local, typed)
        return handle

    def begin_next(self, screen: Screen) -> TaskHandle:
        """Start the transaction that RETURN TRANSID has named for a terminal."""
        transid, commarea, channel = screen.next_transid, screen.next_commarea, screen.next_channel
        screen.forget_next()
        return self._begin(transid, screen.name, commarea, channel)
