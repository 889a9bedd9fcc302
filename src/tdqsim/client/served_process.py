"""A server in a separate process for one test: the fixture ``tdq_server``.

It is started by ``tdq serve``, as users start it, on a free port. It prints a line when it listens, so there is no
polling; if it cannot start, the error shows its log. The test's process loads nothing else of the server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Final

from tdqsim.client import Client, RemoteRegion
from tdqsim.definitions import Definitions, Transaction, dump_definitions
from tdqsim.errors import TdqError

_APPLID: Final = "TDQREGN"
_COMMAND: Final = "import sys; from tdqsim.cli import main; sys.exit(main())"
_START_SECONDS: Final = 300.0
_END_SECONDS: Final = 120.0


class ServerFailed(TdqError):
    """The server of a test did not start, or ended with an error; the message has its log."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server.

    Attributes:
        url: such as ``http://127.0.0.1:41234``.
        token: the bearer token of this run.
        regions: the APPLIDs that it serves.
        pid: its process.
        client: a client that is signed on; the fixture closes it.
    """

    url: str
    token: str
    regions: tuple[str, ...]
    pid: int
    client: Client

    @property
    def region(self) -> RemoteRegion:
        """The first region that it serves."""
        return self.client.region(self.regions[0])


def region_directory(definitions: Definitions, folder: Path, *, handlers: bool = True) -> Path:
    """Write a region directory (APPLID TDQREGN).

    Args:
        definitions: the definitions of the region.
        folder: the directory; it is made if it does not exist.
        handlers: whether the server imports the handlers that transactions name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not handlers:
        resources = [entry.resource for entry in definitions.entries]
        definitions = Definitions.of(
            each.model_copy(update={"handler": ""}) if isinstance(each, Transaction) else each for each in resources
        )
    (folder / "definitions.yaml").write_text(dump_definitions(definitions), "utf-8")
    (folder / "region.yaml").write_text(f"applid: {_APPLID}\ndefinitions: [definitions.yaml]\n", "utf-8")
    return folder


@contextmanager
def serving(directories: Sequence[Path], scratch: Path, *, modules: Sequence[Path] = ()) -> Iterator[ServerProcess]:
    """Serve region directories by a new process; at the end it gets SIGTERM, and is killed if it does not end.

    Args:
        directories: each with a ``region.yaml``.
        scratch: a folder for the ready file and the log.
        modules: further folders from which handlers are imported.

    Raises:
        ServerFailed: it did not start, or did not end normally; the message has its log.
    """
    ready, log = scratch / "ready.json", scratch / "server.log"
    words = [sys.executable, "-c", _COMMAND, "serve", "--port", "0", "--ready-file", str(ready)]
    paths = [*map(str, modules), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603  (this package, with the arguments of a test)
            [*words, *map(str, directories)], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
    with process:
        try:
            _await(process, log)
            address = json.loads(ready.read_text("utf-8"))
            with Client(address["url"], address["token"], timeout=_START_SECONDS) as client:
                yield ServerProcess(address["url"], address["token"], tuple(address["regions"]), address["pid"], client)
        finally:
            code = _end(process)
    if code != 0:
        raise ServerFailed(f"the server ended with {code}: {log.read_text('utf-8')}")


def _await(process: subprocess.Popen[str], log: Path) -> None:
    """Read its output until it prints its address; it has written the ready file by then."""
    assert process.stdout is not None
    late = Timer(_START_SECONDS, process.kill)  # reading a pipe has no time limit; killing the process ends it
    late.start()
    try:
        if not any(line.startswith("Authorization:") for line in process.stdout):
            raise ServerFailed(f"the server did not start: {log.read_text('utf-8').strip() or 'its log is empty'}")
    finally:
        late.cancel()


def _end(process: subprocess.Popen[str]) -> int:
    process.terminate()
    try:
        return process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
