"""A small client of the Debug Adapter Protocol, for tests."""

from __future__ import annotations

import json
import socket


class Refused(Exception):
    """The adapter has answered a request with an error."""


class DebugClient:
    """A client; requests and events are waited for, at most five minutes each."""

    def __init__(self, port=0, *, streams=None):
        if streams is None:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
            streams = self.socket.makefile("rb"), self.socket.makefile("wb")
        self.file, self.target = streams
        self.events = []
        self.number = 0

    def send(self, command, **arguments):
        self.number += 1
        message = {"seq": self.number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self.target.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.target.flush()
        return self.number

    def read(self):
        head = self.file.readline()
        if not head:
            raise EOFError
        assert self.file.readline() == b"\r\n"
        return json.loads(self.file.read(int(head.partition(b":")[2])))

    def request(self, command, **arguments):
        """Send a request and return the body of its response."""
        number = self.send(command, **arguments)
        while True:
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
            elif message["request_seq"] == number:
                if not message["success"]:
                    raise Refused(message["message"])
                return message.get("body")

    def event(self, name):
        """The body of the next event of this name."""
        while True:
            for at, message in enumerate(self.events):
                if message["event"] == name:
                    del self.events[at]
                    return message.get("body", {})
            message = self.read()
            assert message["type"] == "event", message
            self.events.append(message)

    def attach(self, lines=None, functions=(), abends=None, **arguments):
        """Attach with breakpoints: lines by file, texts of paragraphs and commands, options of exception breakpoints.

        A line is a number, or a breakpoint of the protocol.
        """
        self.request("initialize", adapterID="tdq")
        self.request("attach", **arguments)
        self.event("initialized")
        for file, numbers in (lines or {}).items():
            breakpoints = [number if isinstance(number, dict) else {"line": number} for number in numbers]
            self.request("setBreakpoints", source={"path": str(file)}, breakpoints=breakpoints)
        self.request("setFunctionBreakpoints", breakpoints=[{"name": text} for text in functions])
        self.request("setExceptionBreakpoints", **(abends or {"filters": []}))
        self.request("configurationDone")

    def stopped(self):
        """Wait for a stop: its reason, and the program and line of each frame."""
        stop = self.last = self.event("stopped")
        self.thread = stop["threadId"]
        self.frames = self.request("stackTrace", threadId=self.thread)["stackFrames"]
        return stop["reason"], [(frame["name"], frame["line"]) for frame in self.frames]

    def go(self, how="continue"):
        """Continue or step, and wait for the next stop."""
        self.request(how, threadId=self.thread)
        return self.stopped()

    def variables(self, scope, frame=0):
        """The variables of a scope by name."""
        scopes = self.request("scopes", frameId=self.frames[frame]["id"])["scopes"]
        number = next(each["variablesReference"] for each in scopes if each["name"] == scope)
        return self.below(number)

    def below(self, number, **arguments):
        found = self.request("variables", variablesReference=number, **arguments)["variables"]
        return {each["name"]: each for each in found}

    def evaluate(self, name, frame=0, **arguments):
        return self.request("evaluate", expression=name, frameId=self.frames[frame]["id"], **arguments)["result"]

    def close(self):
        self.file.close()
        self.target.close()
        self.socket.close()
