"""A server of its own for measurements, and connections to it that cost next to nothing."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

SERVER = """
import sys
from pathlib import Path
import structlog
from tdqsim.server import serving
from fastapi import Request
from tdqsim.server.http import signed_on
from tdqsim.server.servefile import changed, serve_file

def add_empty(app, _host, _gate):
    @app.post("/api/v1/empty")
    async def empty(request: Request) -> dict[str, str]:
        signed_on(request)
        return {}

if sys.argv[2] != "console":
    serving.add_console = add_empty
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # nobody reads the pipe of the output
place, system = Path(sys.argv[1]), Path(sys.argv[1]) / "system"
config = serve_file([place, system]) if system.exists() else serve_file([place], place / "store")
sys.exit(serving.serve(config, ready_file=place / "ready.json",
                       started=lambda _served: print("ready", flush=True)))
"""
QUEUE = "/api/v1/regions/PAYREGN/queues"


def started(place, *, console=False, files=""):
    """Start a server, with options of ulimit for the number of open files."""
    words = [sys.executable, "-c", SERVER, str(place), "console" if console else "bare"]
    if files:
        words = ["sh", "-c", f'ulimit {files} && exec "$@"', "sh", *words]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert any(line.strip() == "ready" for line in process.stdout), (place / "log").read_text()
    return process, json.loads((place / "ready.json").read_text())


@contextmanager
def running(place, **options):
    process, found = started(place, **options)
    try:
        yield process, found
    finally:
        process.terminate()
        code = process.wait(300)
        process.stdout.close()
    assert code == 0


class Connection:
    """A keep-alive connection with as little of its own as can be."""

    def __init__(self, found):
        self.port, self.token = found["ports"]["http"], found["token"]

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def send(self, method, path, body=None):
        """Send a request and read the head of its answer: the status and the length of the body."""
        data = b"" if body is None else json.dumps(body).encode()
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")), 0
        )
        return int(head[9:12]), length

    async def ask(self, method, path, body=None):
        status, length = await self.send(method, path, body)
        return status, await self.reader.readexactly(length)

    def close(self):
        self.writer.close()


def region_place(tmp_path):
    """A region directory with a logical queue and forty that are not recoverable."""
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    queues = "".join(f"- {{name: Q{n:03d}, type: INTRA}}\n" for n in range(40))
    (tmp_path / "pay.yaml").write_text(
        f"group: PAY\ntdqueue:\n- {{name: LOGQ, type: INTRA, recovstatus: LOGICAL}}\n"
        f"- {{name: LOCK, type: INTRA, recovstatus: LOGICAL}}\n{queues}"
    )
    return tmp_path


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
