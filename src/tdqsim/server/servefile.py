"""``serve.yaml``: the served directories, the listeners and the users.

::

    directories:
    - pay
    - {path: ship, store: stores/ship}
    address: 127.0.0.1
    listeners: {http: 8470, control: yes, ibmi: 0}
    tls: generated
    users: users.yaml
    cmci: {plex: PAYPLEX}
    alerts: {url: "https://ops.example/tdq", secret: alerts.key}
    links:
    - {name: PAYREGN, certificate: pay.pem, key: pay.key, authority: authority.pem,
       regions: [{sysid: SHIP, applid: SHIPREGN, to: 10.0.0.2:8489}]}

A region or system is described in its own ``region.yaml`` or ``system.yaml``. Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tdqsim.definitions import read_model, read_plain
from tdqsim.errors import UsageError, WrongValue
from tdqsim.server.cmci.requests import is_name
from tdqsim.server.errors import ServeError
from tdqsim.server.linkfile import ServedLinks, check_names_once
from tdqsim.server.logs import LogFormat, LogLevel

_PATH = Annotated[str, Field(min_length=1, max_length=4096)]
_WORDS = {"yes": True, "true": True, "no": False, "false": False}
_PORT = Annotated[int, Field(ge=0, le=65535)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ServedPlace(_Strict):
    """One directory.

    Attributes:
        path: the directory, which has a ``region.yaml`` or a ``system.yaml``.
        store: its store; without one, records live as long as the process.
    """

    path: _PATH
    store: Annotated[str, Field(max_length=4096)] = ""


def _yes(value: Any) -> Any:
    return _WORDS.get(value.lower(), value) if isinstance(value, str) else value


def _places(given: Any) -> Any:
    """Convert a path to a directory without a store."""
    if not isinstance(given, list):
        return given
    return [{"path": each} if isinstance(each, str) else each for each in given]


_SERVICE = Literal[
    "as-signon", "as-dtaq", "as-rmtcmd", "as-database", "as-signon-s", "as-dtaq-s", "as-rmtcmd-s", "as-database-s",
    "mapper",
]  # fmt: skip


class ListenerPorts(_Strict):
    """The listeners with their ports; 0 for any free port.

    Attributes:
        http: the JSON API, the console and metrics.
        control: whether the command line can find the server.
        ibmi: the host servers of the IBM i systems: yes for free ports or, if there is one system, ports by service
            (``as-signon``, ``as-dtaq``, ``as-rmtcmd``, ``as-database``, ``mapper``; with the suffix ``-s`` over TLS).
            With TLS, only services that are listed without ``-s`` also have a port without TLS.
        mapepire: the port of Mapepire, SQL for data queues over secure websockets, if there is one IBM i system; none
            by default. Clients expect 8076.
        debug: the port on 127.0.0.1 for debuggers of COBOL programs; none by default. Whoever can connect to it can
            change the storage of the programs.
    """

    http: _PORT = 0
    control: Annotated[bool, BeforeValidator(_yes)] = True
    ibmi: Annotated[bool | dict[_SERVICE, _PORT], BeforeValidator(_yes)] = False
    mapepire: _PORT | None = None
    debug: _PORT | None = None


def _check_plex(value: str) -> str:
    if not is_name(value):
        raise WrongValue("must be 1 to 8 of A-Z, 0-9, $, @ and #")
    return value.upper()


class Cmci(_Strict):
    """The management interface (CMCI), on the HTTP port.

    Attributes:
        plex: the name of the CICSplex of all regions that are served.
        warning_count: the number of records from which a GET needs OVERRIDEWARNINGCOUNT; 0 for no warning.
    """

    plex: Annotated[str, AfterValidator(_check_plex)] = "TDQPLEX"
    warning_count: Annotated[int, Field(ge=0, le=99_999_999)] = 0


def _cmci(given: Any) -> Any:
    """Convert yes to the defaults, and no to None."""
    word = _yes(given)
    return {} if word is True else None if word is False else given


class TlsFiles(_Strict):
    """A certificate and its key, as PEM files.

    Attributes:
        certificate: the certificate and its chain.
        key: its private key.
    """

    certificate: _PATH
    key: _PATH


def _check_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        right = right and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right or not value.isascii() or not value.isprintable() or " " in value:
        raise WrongValue("must be the http or https URL of a webhook, without a user")
    return value


class Log(_Strict):
    """The log on standard error.

    Attributes:
        format: ``text`` for readable lines, ``json`` for a JSON object on each line.
        level: the lowest level that is logged.
    """

    format: LogFormat = "text"
    level: LogLevel = "info"


class AlertHook(_Strict):
    """The webhook that gets alerts.

    Attributes:
        url: its URL; each alert is sent by POST, as JSON.
        secret: a file with the secret by which alerts are signed; empty for no signature.
    """

    url: Annotated[str, Field(max_length=2000), AfterValidator(_check_url)]
    secret: Annotated[str, Field(max_length=4096)] = ""


def _check_address(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise WrongValue("must be an IP address, such as 127.0.0.1") from None


class ServeFile(_Strict):
    """The contents of ``serve.yaml``.

    Attributes:
        directories: the directories to serve.
        address: the address that the server listens on.
        listeners: the listeners with their ports.
        tls: ``generated``, or a certificate with its key; default: no TLS.
        users: the users file; default: none.
        cmci: the management interface, or no; default: it is served.
        alerts: the webhook that gets alerts; default: none.
        log: the log on standard error.
        trace: whether the regions make OpenTelemetry spans, which are sent by OTLP.
        links: the links to regions and systems of other processes.
        network_handlers: whether definitions that clients install may name handlers: code that the server runs.
    """

    directories: Annotated[tuple[ServedPlace, ...], BeforeValidator(_places), Field(min_length=1, max_length=100)]
    address: Annotated[str, Field(max_length=45), AfterValidator(_check_address)] = "127.0.0.1"
    listeners: ListenerPorts = ListenerPorts()
    tls: Literal["generated"] | TlsFiles | None = None
    users: Annotated[str, Field(max_length=4096)] = ""
    cmci: Annotated[Cmci | None, BeforeValidator(_cmci)] = Cmci()
    alerts: AlertHook | None = None
    log: Log = Log()
    trace: Annotated[bool, BeforeValidator(_yes)] = False
    links: Annotated[tuple[ServedLinks, ...], Field(max_length=1000), AfterValidator(check_names_once)] = ()
    network_handlers: Annotated[bool, BeforeValidator(_yes)] = False


def load_serve_file(path: Path) -> ServeFile:
    """The contents of a file, with absolute paths.

    Raises:
        DefinitionError: it cannot be read or has errors; all problems are listed with their lines.
    """
    config = read_model(path, read_plain(path), ServeFile)
    base = path.resolve().parent

    def placed(given: str) -> str:
        return str(base / given) if given else ""

    places = tuple(ServedPlace(path=placed(each.path), store=placed(each.store)) for each in config.directories)
    tls = config.tls
    if isinstance(tls, TlsFiles):
        tls = TlsFiles(certificate=placed(tls.certificate), key=placed(tls.key))
    links = tuple(
        each.model_copy(update={name: placed(getattr(each, name)) for name in ("certificate", "key", "authority")})
        for each in config.links
    )
    alerts = config.alerts and config.alerts.model_copy(update={"secret": placed(config.alerts.secret)})
    update = {"directories": places, "users": placed(config.users), "tls": tls, "links": links, "alerts": alerts}
    return config.model_copy(update=update)


def serve_file(directories: Sequence[Path], store: Path | None = None) -> ServeFile:
    """The settings for directories without a file: every listener on a free port.

    Raises:
        TdqError: a store is given for several directories.
    """
    if store is not None and len(directories) != 1:
        raise UsageError("a store can be given for one directory only; for several, use serve.yaml")
    places = [ServedPlace(path=str(each), store="" if store is None else str(store)) for each in directories]
    return ServeFile(directories=tuple(places), listeners=ListenerPorts(ibmi=True))


def changed(
    config: ServeFile,
    *,
    address: str | None = None,
    port: int | None = None,
    debug: int | None = None,
    users: Path | None = None,
    tls: bool = False,
    trace: bool = False,
    certificate: Path | None = None,
    key: Path | None = None,
    log_format: LogFormat | None = None,
    log_level: LogLevel | None = None,
) -> ServeFile:
    """The settings with the arguments in place of their values.

    Raises:
        TdqError: the address is invalid.
    """
    update: dict[str, Any] = {}
    if address is not None:
        try:
            update["address"] = _check_address(address)
        except ValueError as error:
            raise ServeError(f"address {address[:45]!r}: {error}") from None
    ports = {name: each for name, each in (("http", port), ("debug", debug)) if each is not None}
    if ports:
        update["listeners"] = config.listeners.model_copy(update=ports)
    log = {name: each for name, each in (("format", log_format), ("level", log_level)) if each is not None}
    if log:
        update["log"] = config.log.model_copy(update=log)
    if trace:
        update["trace"] = True
    if users is not None:
        update["users"] = str(users)
    if certificate is not None and key is not None:
        update["tls"] = TlsFiles(certificate=str(certificate), key=str(key))
    elif tls:
        update["tls"] = "generated"
    return config.model_copy(update=update)
