"""The server process: the engine, the listeners, a ready file, and an orderly end.

SIGTERM and SIGINT end it in order: new requests are refused, open units of work are backed out, tasks end or are
reported, stores are closed cleanly. Without users it listens on loopback only, with a token that is generated for this
run. Beyond loopback it requires users and TLS, unless ``insecure`` is set.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from fastapi import FastAPI

from tdqsim.errors import ExtraMissing
from tdqsim.hosting import Address, alive
from tdqsim.server import tls
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.connections import Connections
from tdqsim.server.errors import ServeError, cannot_listen
from tdqsim.server.host import Host
from tdqsim.server.hostservers import UserAccounts
from tdqsim.server.hostservers.serving import host_servers
from tdqsim.server.http.access import Gate
from tdqsim.server.http.api import application
from tdqsim.server.http.console import add_console
from tdqsim.server.links.serving import check_links, served_links
from tdqsim.server.listening import HttpServer, http_config
from tdqsim.server.mapepire.serving import mapepire
from tdqsim.server.servefile import AlertHook, ServeFile, TlsFiles
from tdqsim.server.stores import StoreWatch
from tdqsim.server.users import Users
from tdqsim.server.webhook import Webhook, read_secret

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cobol.debug_adapter import DebugServer

_LONGEST_SOCKET: Final = 100
"""The maximum length of the path of a socket in bytes; systems allow 104 or more."""
_log = structlog.get_logger("tdqsim.server")


@dataclass(frozen=True, slots=True)
class Served:
    """The addresses of a running server.

    Attributes:
        url: its address, such as ``http://127.0.0.1:8470``.
        token: the bearer token of this run.
        pid: its process id.
        regions: the APPLIDs that it serves.
        systems: the IBM i systems that it serves.
        ports: the ports by listener; for host servers by system and service, for links by name.
        link: a link by which a browser signs on once; empty if there are users.
        certificate: the certificate that was generated for this run; None for none.
    """

    url: str
    token: str
    pid: int
    regions: tuple[str, ...]
    systems: tuple[str, ...] = ()
    ports: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    certificate: Path | None = None

    def ready(self) -> dict[str, Any]:
        """The contents of the ready file."""
        values = {"url": self.url, "token": self.token, "pid": self.pid, "regions": list(self.regions)}
        values |= {"systems": list(self.systems), "ports": dict(self.ports)}
        return values | ({"certificate": str(self.certificate)} if self.certificate is not None else {})


@dataclass(slots=True)
class _Run:
    """The parts of one run of a server."""

    config: ServeFile
    host: Host
    gate: Gate
    app: FastAPI
    listener: socket.socket
    certificate: tls.Certificate | None
    token: str
    request_seconds: float
    ready_file: Path | None
    started: Callable[[Served], Any] | None
    connections: Connections = field(default_factory=Connections)
    servers: list[HttpServer] = field(default_factory=list)
    ibmi: dict[str, dict[str, int]] = field(default_factory=dict)
    mapepire: int | None = None
    debugger: DebugServer | None = None
    links: dict[str, int] = field(default_factory=dict)
    webhook: Webhook | None = None
    watched: list[Path] = field(default_factory=list)


def serve(
    config: ServeFile,
    *,
    ready_file: Path | None = None,
    frozen: bool = False,
    timeout: float = 10.0,
    insecure: bool = False,
    out: Path | None = None,
    watch: bool = False,
    begin: Callable[[Host], None] = Host.start_transactions,
    request_seconds: float = BOUNDS["request_seconds"],
    started: Callable[[Served], Any] | None = None,
) -> int:
    """Serve regions and systems until SIGTERM or SIGINT.

    Args:
        config: the settings, from a ``serve.yaml`` or by :func:`~tdqsim.server.servefile.serve_file`.
        ready_file: a JSON file that is written when everything listens; only this user can read it.
        frozen: whether the clock stands still from the start.
        timeout: the number of seconds in which tasks may end.
        insecure: whether to listen beyond loopback even without users or without TLS.
        out: the directory of data sets that no DD card names; None for ``tdq-out`` in the current directory.
        watch: whether to apply changed files of the regions and systems (:mod:`tdqsim.server.watching`).
        begin: starts the first transactions when all regions exist; by default those that their files name.
        request_seconds: the time limit for the head of a request, and for its body.
        started: called when everything listens.

    Returns:
        0, or 1 if a task kept control or a region could not be closed.

    Raises:
        TdqError: the address needs users or TLS, a region or system cannot be created, a port is taken, or the ready
            file cannot be written.
    """
    _check_exposure(config, insecure=insecure)
    check_links(config.links)
    users = Users.load(config.users, follow=True) if config.users else None
    webhook = _webhook(config.alerts)
    if ready_file is not None:
        _make_ready(ready_file)
    _many_files()
    with contextlib.ExitStack() as cleanup:
        certificate = _certificate(config, cleanup)
        if certificate is not None:
            certificate.context()  # report its errors before anything is created
        listener = cleanup.enter_context(_listen(config.address, config.listeners.http))
        accounts = UserAccounts(users or Users(), Path(config.users) if config.users else None)
        ibm_clients = config.listeners.ibmi or config.listeners.mapepire is not None
        tracing = _tracing(cleanup) if config.trace else None
        host = Host(
            frozen=frozen, users=users, accounts=accounts if ibm_clients else None, out=out,
            network_handlers=config.network_handlers,
        )  # fmt: skip
        try:
            for each in config.directories:
                host.add_directory(Path(each.path), Path(each.store) if each.store else None)
            if tracing is not None:
                _trace(host, tracing)
            begin(host)  # after all regions exist, because remote queues may refer to any of them
            token = secrets.token_urlsafe(24)
            loopback = ip_address(config.address).is_loopback
            gate = Gate(users, token=token, secure=certificate is not None, open_metrics=loopback and users is None)
            app = application(host, gate, request_seconds=request_seconds, any_host=not loopback, cmci=config.cmci)
            add_console(app, host, gate)
            run = _Run(config, host, gate, app, listener, certificate, token, request_seconds, ready_file, started)
            run.webhook = webhook
            run.watched = [Path(each.path) for each in config.directories] if watch else []
            asyncio.run(_live(run))
        finally:
            ended = host.stop(timeout)
            if ready_file is not None and _pid_of(ready_file) == os.getpid():
                ready_file.unlink(missing_ok=True)
    _log.info("server_stopped", in_time=ended.in_time, unfinished=ended.unfinished, errors=list(map(str, ended.errors)))
    return 0 if ended.in_time and not ended.errors else 1


def _trace(host: Host, tracing: Callable[[Region], object]) -> None:
    for region in host.regions.values():
        host.engine.outside(partial(tracing, region)).result()


def _check_exposure(config: ServeFile, *, insecure: bool) -> None:
    if ip_address(config.address).is_loopback or insecure:
        return
    missing = [word for word, there in (("users", config.users), ("TLS", config.tls)) if not there]
    if missing:
        raise ServeError(
            f"address {config.address}: beyond loopback a server needs users and TLS, and it has no "
            f"{' and no '.join(missing)}; --insecure listens all the same"
        )


def _tracing(cleanup: contextlib.ExitStack) -> Callable[[Region], object]:
    """The function that makes OpenTelemetry spans of a region, which are sent by OTLP over HTTP until the cleanup.

    The environment variables of OpenTelemetry configure it.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # an extra
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from tdqsim.tracing import trace
    except ModuleNotFoundError as error:
        raise ExtraMissing(error.name, "otel") from error
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "tdqsim")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    cleanup.callback(provider.shutdown)
    return partial(trace, tracer_provider=provider)


def _webhook(hook: AlertHook | None) -> Webhook | None:
    if hook is None:
        return None
    return Webhook(hook.url, read_secret(Path(hook.secret)) if hook.secret else b"")


def _many_files() -> None:
    """Raise the limit of open files as far as the system allows, because each connection is one; warn if it is low."""
    try:
        import resource  # not on every platform; without it there is no such limit
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = BOUNDS["connections"] * 2 if hard == resource.RLIM_INFINITY else min(hard, BOUNDS["connections"] * 2)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted <= BOUNDS["connections"]:
        _log.warning("few_open_files", limit=wanted, connections=BOUNDS["connections"], cure="raise ulimit -Hn")


def _certificate(config: ServeFile, cleanup: contextlib.ExitStack) -> tls.Certificate | None:
    if config.tls is None:
        return None
    if isinstance(config.tls, TlsFiles):
        return tls.certificate_of_user(Path(config.tls.certificate), Path(config.tls.key))
    folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="tdqsim-tls-"))
    return tls.generated_certificate(Path(folder), config.address)


def _listen(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family, backlog=1024)
    except OSError as error:
        raise cannot_listen("HTTP", address, port, error) from error


# -- in the loop ------------------------------------------------------------------------------------------------------


async def _live(run: _Run) -> None:
    async with contextlib.AsyncExitStack() as cleanup:
        run.links = await cleanup.enter_async_context(
            served_links(run.host, run.config.links, run.config.address, run.connections)
        )
        if run.config.listeners.ibmi and run.host.systems:
            run.ibmi = await cleanup.enter_async_context(
                host_servers(run.host, run.config, run.certificate, run.connections)
            )
        if run.config.listeners.mapepire is not None:
            run.mapepire = await cleanup.enter_async_context(
                mapepire(run.host, run.config, run.certificate, run.connections)
            )
        if run.webhook is not None:
            await cleanup.enter_async_context(_beside(run.webhook.run(run.app.state.alerts), "webhook"))
        await cleanup.enter_async_context(_beside(StoreWatch(run.host).keep_looking(), "watching stores"))
        if run.watched:
            from tdqsim.server.watching import watch_files  # it imports the COBOL programs

            await cleanup.enter_async_context(_beside(watch_files(run.host, run.watched), "watching files"))
        run.debugger = cleanup.enter_context(_debugger(run.config.listeners.debug))
        control = cleanup.enter_context(_control(run)) if _has_control(run.config) else None
        waiting = 1 if control is None else 2

        def listens() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                _ready(run)

        options: dict[str, Any] = {"request_seconds": run.request_seconds, "connections": run.connections}
        if run.certificate is not None:
            options |= {"ssl_certfile": run.certificate.certificate, "ssl_keyfile": run.certificate.key}
        run.servers = [HttpServer(http_config(run.app, **options), listens)]
        served = [run.servers[0].serve(sockets=[run.listener])]
        if control is not None:
            config = http_config(
                run.app, request_seconds=run.request_seconds, connections=run.connections, lifespan="off"
            )
            run.servers.append(HttpServer(config, listens))
            served.append(run.servers[1].serve(sockets=[control]))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, _end, run)
            except NotImplementedError:  # the event loop of Windows has no signal handlers
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(_end, run))
        await asyncio.gather(*served)


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """Do some work as long as the server listens; an error in it is logged and does not end the server."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("ended_by_error", what=task.get_name(), reason=f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def _debugger(port: int | None) -> Iterator[DebugServer | None]:
    """The port for debuggers of COBOL programs, which is always on loopback; None without one."""
    if port is None:
        yield None
        return
    from tdqsim.cobol.debug_adapter import DebugServer  # only if a debugger may come

    try:
        server = DebugServer(port)
    except OSError as error:
        raise cannot_listen("debuggers", "127.0.0.1", port, error) from error
    with server:
        yield server


def _end(run: _Run) -> None:
    if run.debugger is not None:
        run.debugger.close()  # a program that a debugger holds would hold the end of the server
    for server in run.servers:
        server.should_exit = True
    run.app.state.streams.end()


def _ready(run: _Run) -> None:
    config, certificate = run.config, run.certificate
    port = run.listener.getsockname()[1]
    shown = f"[{config.address}]" if ":" in config.address else config.address
    url = f"{'http' if certificate is None else 'https'}://{shown}:{port}"
    ports: dict[str, Any] = {"http": port, **({"ibmi": run.ibmi} if run.ibmi else {})}
    if run.mapepire is not None:
        ports["mapepire"] = run.mapepire
    ports |= {"links": run.links} if run.links else {}
    ports |= {"debug": run.debugger.port} if run.debugger is not None else {}
    link = url + run.gate.new_link() if run.gate.users is None else ""
    made = certificate.certificate if certificate is not None and certificate.generated else None
    served = Served(url, run.token, os.getpid(), tuple(run.host.regions), tuple(run.host.systems), ports, link, made)
    _log.info("server_ready", url=url, regions=served.regions, systems=served.systems, ports=ports)
    if run.ready_file is not None:
        _write_private(run.ready_file, served.ready())
    if run.started is not None:
        run.started(served)


def _make_ready(path: Path) -> None:
    """Check that the ready file can be written, and remove that of a killed server.

    The ready file of a running server is replaced only when everything listens, because this server may fail before.
    """
    if path.is_dir():
        raise ServeError(f"ready file {path}: is a directory")
    try:
        _write_private(path, None, only_try=True)
    except OSError as error:
        raise ServeError(f"ready file {path}: cannot be written: {error.strerror}") from error
    pid = _pid_of(path)
    if pid is not None and not alive(pid):
        path.unlink(missing_ok=True)


def _pid_of(path: Path) -> int | None:
    """The process id in a ready file; None if it is not a ready file."""
    try:
        pid = json.loads(path.read_text(encoding="utf-8"))["pid"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return pid if isinstance(pid, int) else None


def _write_private(path: Path, value: Any, *, only_try: bool = False) -> None:
    part = path.with_name(f"{path.name}.part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(value, file)
    if only_try:
        part.unlink()
    else:
        part.replace(path)


def _has_control(config: ServeFile) -> bool:
    """Whether commands on this machine can find the server: not without a private folder, which is logged."""
    if config.listeners.control and Address.folder() is None:
        _log.warning("no_control_listener", why="there is no private folder; set XDG_RUNTIME_DIR")
        return False
    return config.listeners.control


@contextlib.contextmanager
def _control(run: _Run) -> Iterator[socket.socket]:
    """The control listener: a socket that only this user can access, and the files by which commands find it."""
    with contextlib.ExitStack() as cleanup:
        url, listener = _own_socket(cleanup) if hasattr(socket, "AF_UNIX") else _loopback(cleanup)
        for each, (kind, name) in zip(run.config.directories, run.host.served, strict=True):
            address = Address(url, run.token, os.getpid(), name, kind)
            places = [Path(each.path), *([Path(each.store)] if each.store else [])]
            cleanup.enter_context(address.announced(places))
        yield listener


def _own_socket(cleanup: contextlib.ExitStack) -> tuple[str, socket.socket]:
    """A Unix socket in a private folder; a port of loopback if its path would be too long."""
    folder = Address.folder()
    assert folder is not None, "without a private folder there is no control listener"
    path = folder / f"{os.getpid()}.sock"
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        return _loopback(cleanup)
    path.unlink(missing_ok=True)
    cleanup.callback(path.unlink, missing_ok=True)
    listener = cleanup.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(128)
    return f"unix:{path}", listener


def _loopback(cleanup: contextlib.ExitStack) -> tuple[str, socket.socket]:
    """A port of the loopback address, if there are no Unix sockets; the token protects it."""
    listener = cleanup.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
    return f"http://127.0.0.1:{listener.getsockname()[1]}", listener
