"""The debug adapter: what a client of the Debug Adapter Protocol (an editor) can do with COBOL programs.

:class:`DebugServer` waits on a port of the loopback address, or uses given streams, and serves one client at a time. A
client that attaches watches all COBOL programs of the process; when it disconnects, they continue without stops.
Threads are tasks, frames are the programs of LINK, XCTL and CALL, scopes are the sections of a program and its EIB.
"""

from __future__ import annotations

import io
import logging
import os
import re
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from tdqsim.cobol import watching
from tdqsim.cobol.debug_breakpoints import AnyBreakpoint, FunctionBreakpoint, LineBreakpoint
from tdqsim.cobol.debug_conditions import StopCondition
from tdqsim.cobol.debug_frames import ProgramFrame, absolute, split_place
from tdqsim.cobol.debug_protocol import BadMessage, BadRequest, DebugArguments, DebugRequest, DebugStream
from tdqsim.cobol.debug_session import DebugSession, DebugStop
from tdqsim.cobol.debug_variables import EIB, StorageItem, named, roots
from tdqsim.cobol.level import watch_statements
from tdqsim.errors import TdqError, UsageError

LOOPBACK: Final = "127.0.0.1"
_ABENDS: Final = ("abend", "handled")
_SECTIONS: Final = ("WORKING-STORAGE", "LOCAL-STORAGE", "LINKAGE", EIB)
_CAPITAL: Final = re.compile("[A-Z]")
_PAGE: Final = 1000
"""The maximum number of variables in a response."""
_SENDING: Final = 30
"""The number of seconds in which a client must read what is sent to it."""
_PATIENCE: Final = 2.0
"""The number of seconds in which a debugger may leave before the next one is refused, and that one may ask."""
_LOG: Final = logging.getLogger("tdqsim.cobol")
_CAPABILITIES: Final = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsEvaluateForHovers": True,
    "supportsValueFormattingOptions": True,
    "supportsExceptionInfoRequest": True,
    "supportsExceptionFilterOptions": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "abend",
            "label": "Abends",
            "default": True,
            "supportsCondition": True,
            "conditionDescription": "Abend codes with * and ?, separated by commas: ASRA, AEI*",
        },
        {
            "filter": "handled",
            "label": "Abends that a HANDLE ABEND label handles",
            "default": False,
            "supportsCondition": True,
            "conditionDescription": "Abend codes with * and ?, separated by commas: ASRA, AEI*",
        },
    ],
}


class _Client:
    """The connection of one client.

    Attributes:
        ended: whether the client has disconnected in order.
    """

    def __init__(self, channel: DebugStream, configured: Callable[[], object]) -> None:
        self._channel = channel
        self._configured = configured
        self._session = DebugSession(self._stopped, self._verified)
        self._numbers = 0
        self._stop: DebugStop | None = None
        self.ended = False

    # -- events; in the thread of the region --------------------------------------------------------------------------

    def _stopped(self, stop: DebugStop) -> None:
        self._stop = stop
        body = {"reason": stop.reason, "threadId": stop.thread, "allThreadsStopped": True, "description": stop.text}
        self.tell("stopped", {**body, "text": stop.text} if stop.reason == "exception" else body)

    def _verified(self, breakpoint_: AnyBreakpoint) -> None:
        self.tell("breakpoint", {"reason": "changed", "breakpoint": _shown(breakpoint_)})

    def tell(self, event: str, body: Mapping[str, Any] | None = None) -> None:
        """Send an event; a client that is gone or does not read is dropped."""
        try:
            self._channel.tell(event, body)
        except (OSError, ValueError):
            self.close()

    def close(self) -> None:
        """Let all programs continue without stops."""
        watching.detach()
        self._session.close()

    # -- requests -----------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer requests until the client disconnects."""
        try:
            while not self.ended and (request := self._channel.read()) is not None:
                self._serve(request)
        except BadMessage as error:
            _LOG.warning("the connection of a debugger is closed: %s", error)
        except (OSError, ValueError):
            pass
        finally:
            self.close()

    def _serve(self, request: DebugRequest) -> None:
        name = _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", request.command)  # setVariable: _do_set_variable
        act = getattr(self, f"_do_{name}", None) if request.command.isalpha() else None
        if act is None:
            self._channel.respond(request, problem=f"request {request.command[:40]} is not supported")
            return
        try:
            body = act(request.arguments)
        except (TdqError, BadRequest) as error:
            self._channel.respond(request, problem=str(error))
            return
        self._channel.respond(request, body)
        if request.command in ("attach", "launch"):
            self._channel.tell("initialized")  # the client sets its breakpoints next
        elif request.command == "configurationDone":
            self._configured()

    def _do_initialize(self, _given: DebugArguments) -> Mapping[str, Any]:
        return _CAPABILITIES

    def _do_launch(self, given: DebugArguments) -> None:
        self._do_attach(given)

    def _do_attach(self, given: DebugArguments) -> None:
        if given.flag("stopOnEntry"):
            self._session.pause("entry")
        watching.attach(self._session)
        watch_statements()

    def _do_configuration_done(self, _given: DebugArguments) -> None:
        pass

    def _do_disconnect(self, _given: DebugArguments) -> None:
        self.ended = True
        self.close()

    def _guarded(self, given: DebugArguments) -> tuple[int, StopCondition, str]:
        """The number of a new breakpoint, its condition, and the problem with that."""
        self._numbers += 1
        try:
            return self._numbers, StopCondition(given.text("condition", ""), given.text("hitCondition", "")), ""
        except UsageError as error:
            return self._numbers, StopCondition(), str(error)

    def _do_set_breakpoints(self, given: DebugArguments) -> Mapping[str, Any]:
        file = absolute(given.object("source").text("path"))
        lines = [
            LineBreakpoint(*self._guarded(each), file, each.number("line")) for each in given.objects("breakpoints")
        ]
        self._session.breakpoints.set_lines(file, lines)
        return {"breakpoints": [_shown(each) for each in lines]}

    def _do_set_function_breakpoints(self, given: DebugArguments) -> Mapping[str, Any]:
        functions = [
            FunctionBreakpoint(*self._guarded(each), " ".join(each.text("name").upper().split()))
            for each in given.objects("breakpoints")
        ]
        self._session.breakpoints.set_functions(functions)
        return {"breakpoints": [_shown(each) for each in functions]}

    def _do_set_exception_breakpoints(self, given: DebugArguments) -> Mapping[str, Any]:
        wanted = dict.fromkeys(given.texts("filters"), "*")
        wanted |= {each.text("filterId"): each.text("condition", "*") for each in given.objects("filterOptions")}
        patterns = (_patterns(wanted.get(name, "")) for name in _ABENDS)
        self._session.breakpoints.set_abends(*patterns)
        return {"breakpoints": [{"verified": name in _ABENDS} for name in wanted]}

    def _do_pause(self, _given: DebugArguments) -> None:
        self._session.pause()

    def _do_continue(self, _given: DebugArguments) -> Mapping[str, Any]:
        self._session.go_on()
        return {"allThreadsContinued": True}

    def _do_next(self, _given: DebugArguments) -> None:
        self._session.go_on("next")

    def _do_step_in(self, _given: DebugArguments) -> None:
        self._session.go_on("stepIn")

    def _do_step_out(self, _given: DebugArguments) -> None:
        self._session.go_on("stepOut")

    def _do_threads(self, _given: DebugArguments) -> Mapping[str, Any]:
        threads = self._session.threads()
        return {"threads": [{"id": number, "name": name} for number, name in threads]}

    def _do_stack_trace(self, given: DebugArguments) -> Mapping[str, Any]:
        frames = self._session.ask(partial(self._session.stack, given.number("threadId")))
        first, count = given.number("startFrame", 0), given.number("levels", 0) or len(frames)
        return {
            "stackFrames": [_shown_frame(number, frame) for number, frame in frames[first : first + count]],
            "totalFrames": len(frames),
        }

    def _do_exception_info(self, _given: DebugArguments) -> Mapping[str, Any]:
        stop = self._stop
        if stop is None or stop.reason != "exception":
            raise BadRequest("no program has stopped at an abend")
        code = stop.text.partition("abend ")[2][:4]
        return {"exceptionId": code, "description": stop.text, "breakMode": "always"}

    def _do_scopes(self, given: DebugArguments) -> Mapping[str, Any]:
        return {"scopes": self._session.ask(partial(self._scopes, given.number("frameId")))}

    def _scopes(self, number: int) -> list[dict[str, Any]]:
        storage = self._session.frame(number).storage
        found = ((section, roots(storage, section)) for section in _SECTIONS)
        return [
            {
                "name": "EIB" if section == EIB else section,
                "variablesReference": self._session.keep(nodes[0] if section == EIB else nodes),
                "namedVariables": len(nodes),
                "expensive": False,
            }
            for section, nodes in found
            if nodes
        ]

    def _do_variables(self, given: DebugArguments) -> Mapping[str, Any]:
        in_hex = given.object("format").flag("hex")
        start, count = given.number("start", 0), given.number("count", 0) or _PAGE
        number = given.number("variablesReference")
        return {"variables": self._session.ask(partial(self._variables, number, start, min(count, _PAGE), in_hex))}

    def _variables(self, number: int, start: int, count: int, in_hex: bool) -> list[dict[str, Any]]:
        kept = self._session.kept(number)
        nodes = kept.children(start, count) if isinstance(kept, StorageItem) else kept[start : start + count]
        return [self._shown_node(node, in_hex) for node in nodes]

    def _shown_node(self, node: StorageItem, in_hex: bool) -> dict[str, Any]:
        shown = {"name": node.label, "type": node.picture, "variablesReference": 0, "evaluateName": node.reference}
        shown["value"] = node.hex if in_hex and not node.is_table else node.value
        if node.is_table:
            shown |= {"variablesReference": self._session.keep(node), "indexedVariables": node.occurs}
        elif node.item.kind == "GROUP":
            shown["variablesReference"] = self._session.keep(node)
        return shown

    def _do_set_variable(self, given: DebugArguments) -> Mapping[str, Any]:
        number, name, value = given.number("variablesReference"), given.text("name"), given.text("value")
        return self._session.ask(partial(self._set_variable, number, name, value))

    def _set_variable(self, number: int, name: str, value: str) -> Mapping[str, Any]:
        kept = self._session.kept(number)
        nodes = kept.children() if isinstance(kept, StorageItem) else kept
        node = next((each for each in nodes if each.label == name), None)
        if node is None:
            raise BadRequest(f"there is no item {name[:80]} here")
        return self._set(node, value)

    def _set(self, node: StorageItem, value: str) -> Mapping[str, Any]:
        node.set(value)
        self._channel.tell("invalidated", {"areas": ["variables"]})  # groups and redefinitions share the storage
        return {"value": node.value, "type": node.picture, "variablesReference": 0}

    def _do_evaluate(self, given: DebugArguments) -> Mapping[str, Any]:
        name, frame, in_hex = given.text("expression"), given.number("frameId", 0), given.object("format").flag("hex")
        return self._session.ask(partial(self._evaluate, name, frame, in_hex))

    def _evaluate(self, name: str, frame: int, in_hex: bool) -> Mapping[str, Any]:
        shown = self._shown_node(named(self._session.frame(frame).storage, name), in_hex)
        return {"result": shown.pop("value"), **shown}

    def _do_set_expression(self, given: DebugArguments) -> Mapping[str, Any]:
        name, frame, value = given.text("expression"), given.number("frameId", 0), given.text("value")
        return self._session.ask(lambda: self._set(named(self._session.frame(frame).storage, name), value))


def _shown(breakpoint_: AnyBreakpoint) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": breakpoint_.number, "verified": breakpoint_.verified and not breakpoint_.problem}
    if isinstance(breakpoint_, LineBreakpoint):
        shown |= {"line": min(breakpoint_.lines, default=breakpoint_.wanted), "source": _source(breakpoint_.file)}
    if not shown["verified"]:
        shown["message"] = breakpoint_.problem or "no program that has run so far has such a statement"
    return shown


def _source(file: str) -> dict[str, Any]:
    path = absolute(file)
    return {"name": Path(path).name, **({"path": path} if Path(path).is_file() else {})}


def _shown_frame(number: int, frame: ProgramFrame) -> dict[str, Any]:
    file, line = split_place(frame.place)
    shown = {"id": number, "name": frame.title, "line": line, "column": 1 if line else 0}
    return {**shown, "source": _source(file)} if file else shown


def _patterns(text: str) -> list[str]:
    return [part.strip().upper() for part in text.split(",") if part.strip()]


class DebugServer:
    """Serves debuggers, one after the other.

    Args:
        port: the port on 127.0.0.1; 0 for any free port.
        streams: read requests from the first and write to the second, instead of using a port.

    Attributes:
        port: the port; 0 with streams.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, port: int = 0, *, streams: tuple[BinaryIO, BinaryIO] | None = None) -> None:
        self._client: _Client | None = None
        self._configured = Event()
        self._closed = False
        self._listener = None if streams is not None else socket.create_server((LOOPBACK, port), backlog=5)
        self._connection: socket.socket | None = None
        self._serving: Thread | None = None
        self.port: int = 0 if self._listener is None else self._listener.getsockname()[1]
        act = self._listen if streams is None else partial(self._serve, DebugStream(*streams))
        self._thread = Thread(target=act, name="tdqsim debugger", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Wait until a client has set its breakpoints."""
        self._configured.wait()

    def tell(self, event: str, body: Mapping[str, Any] | None = None) -> None:
        """Send an event to the client, if there is one."""
        if self._client is not None:
            self._client.tell(event, body)

    def close(self, exit_code: int = 0) -> None:
        """Report to the client that the programs have ended, and stop serving."""
        self._closed = True
        self.tell("terminated")
        self.tell("exited", {"exitCode": exit_code})
        if self._client is not None:
            self._client.close()
        for each in (self._listener, self._connection):
            if each is not None:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        if self._listener is not None:
            self._listener.close()
            self._thread.join(_SENDING)
        if self._serving is not None:
            self._serving.join(_SENDING)

    def _listen(self) -> None:
        assert self._listener is not None
        while not self._closed:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            if self._serving is not None:
                self._serving.join(_PATIENCE)
                if self._serving.is_alive():
                    _refuse(connection)
                    continue
            self._connection = connection
            self._serving = Thread(
                target=self._serve_connection, args=(connection,), name="tdqsim debugger", daemon=True
            )
            self._serving.start()

    def _serve_connection(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            # only sending is limited in time: a client may have nothing to ask for hours
            _limit(connection, socket.SO_SNDTIMEO, _SENDING)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection.makefile("rb") as source, connection.makefile("wb") as target:
                self._serve(DebugStream(source, target))

    def _serve(self, channel: DebugStream) -> None:
        client = self._client = _Client(channel, self._configured.set)
        client.serve()
        self._client = None
        self._configured.set()  # a client that leaves before it has set its breakpoints does not hold the programs


def _limit(connection: socket.socket, which: int, seconds: float) -> None:
    """Limit the time of each sending or receiving."""
    connection.setsockopt(socket.SOL_SOCKET, which, struct.pack("ll", int(seconds), 0))


def _refuse(connection: socket.socket) -> None:
    """Answer the first request of a debugger by an error: another one is served."""
    problem = "another debugger is connected to these programs; disconnect it first"
    _LOG.warning("a debugger is refused: %s", problem)
    with suppress(OSError, ValueError, BadMessage), connection:
        _limit(connection, socket.SO_RCVTIMEO, _PATIENCE)
        _limit(connection, socket.SO_SNDTIMEO, _PATIENCE)
        with connection.makefile("rb") as source, connection.makefile("wb") as target:
            channel = DebugStream(source, target)
            if (request := channel.read()) is not None:
                channel.respond(request, problem=problem)


class _Output(io.TextIOBase):
    """Standard output as events of the client, which has the stream for messages."""

    def __init__(self, server: DebugServer) -> None:
        self._server = server

    def write(self, text: str) -> int:
        """Send a text."""
        self._server.tell("output", {"category": "stdout", "output": text})
        return len(text)


@contextmanager
def debugging(where: str) -> Iterator[DebugServer]:
    """Serve debuggers while the block runs.

    Args:
        where: a port on 127.0.0.1, 0 for any free port; or ``stdio`` for the standard streams of the process, whose
            other output the client gets as events.

    Raises:
        OSError: the port is taken.
    """
    if where != "stdio":
        with DebugServer(int(where)) as server:
            yield server
        return
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb")  # the interpreter cannot close a stream that a thread reads
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # for what does not pass through sys.stdout
    with DebugServer(streams=(source, target)) as server, redirect_stdout(_Output(server)):
        yield server
