"""The URI and the body of a request.

::

    /CICSSystemManagement/RESOURCE/CONTEXT/[SCOPE][//COUNT][?options]
    /CICSSystemManagement/CICSResultCache/TOKEN[/INDEX[/COUNT]][?options]

An option with a value is ``NAME=value``, percent-encoded as UTF-8 (``¬`` also as the one byte ``%AC``); the others are
words alone. The body is one ``<request>`` of at most 64 KiB, without a document type or entities. Sources: CMCI GET
request URI, CMCI PUT requests (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes
from xml.parsers import expat

from tdqsim.server.bounds import BOUNDS

ROOT: Final = "/CICSSystemManagement"
_CACHE: Final = "cicsresultcache"
_VALUES: Final = frozenset({"CRITERIA", "PARAMETER", "ORDERBY"})
_FLAGS: Final = frozenset({"SUMMONLY", "NODISCARD", "OVERRIDEWARNINGCOUNT"})
_OF_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "GET": _VALUES | _FLAGS,
    "PUT": frozenset({"CRITERIA", "PARAMETER"}),
    "DELETE": frozenset({"CRITERIA", "PARAMETER"}),
    "POST": frozenset(),
}
_OF_CACHE: Final = frozenset({"ORDERBY", "SUMMONLY", "NODISCARD"})
_NAME: Final = re.compile(r"[A-Za-z0-9$@#]{1,8}")
_PARAMETER: Final = re.compile(r"\s*(?P<name>[A-Za-z][A-Za-z0-9_]{0,30})(?:\((?P<value>[^()]{0,255})\))?(?:\s+|$)")
_MOST_ELEMENTS: Final = 1000


class NotUnderstood(Exception):
    """A request that is answered by an HTTP error.

    Attributes:
        message: the id of the message, such as ``DFHWU4003``.
        detail: what is wrong, for its ``errorInfo``.
        info: the name of that ``errorInfo``.
    """

    def __init__(self, message: str, detail: str = "", info: str = "detail") -> None:
        super().__init__(f"{message} {detail}")
        self.message = message
        self.detail = detail
        self.info = info


@dataclass(frozen=True, slots=True)
class CmciTarget:
    """What the URI of a request names.

    Attributes:
        resource: the external name as written.
        context, scope: in capitals; the scope is empty if there is none.
        count: how many records; negative from the end, None for all.
        options: the options with their values; that of a word alone is empty.
    """

    resource: str
    context: str = ""
    scope: str = ""
    count: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CachedTarget:
    """Which part of a retained result set the URI of a request names.

    Attributes:
        token: the token of the set.
        index: the first record, from 1.
        count: how many records; None for all.
        options: as in :class:`CmciTarget`.
    """

    token: str
    index: int = 1
    count: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def target_of(method: str, path: str, query: bytes) -> CmciTarget | CachedTarget:
    """What a URI names.

    Args:
        method: the HTTP method.
        path: the path, decoded, which begins with ``ROOT``.
        query: the query string as sent.

    Raises:
        NotUnderstood: it is not valid.
    """
    if len(path.encode()) > BOUNDS["cmci_path_bytes"]:
        raise NotUnderstood("DFHWU4002")
    rest = path.removeprefix(ROOT).removeprefix("/")
    resource, _, rest = rest.partition("/")
    if not resource:
        raise NotUnderstood("DFHWU4001")
    if resource.lower() == _CACHE:
        if method != "GET":
            raise NotUnderstood("DFHWU4050", method)
        return _cached(rest, _options(query, _OF_CACHE))
    place, slashes, count = rest.partition("//")
    context, _, scope = place.partition("/")
    scope, _, more = scope.partition("/")
    if more:
        raise NotUnderstood("DFHWU4029", more[:20])
    options = _options(query, _OF_METHODS[method])
    if slashes and method != "GET":
        raise NotUnderstood("DFHWU4009", count[:20])
    wanted = _number(count.removeprefix("/"), "DFHWU4009", lowest=None) if slashes else None
    return CmciTarget(resource, context.upper(), scope.upper(), wanted, options)


def _cached(rest: str, options: Mapping[str, str]) -> CachedTarget:
    token, *parts = rest.rstrip("/").split("/")
    parts = [each for each in parts if each]
    if not token:
        raise NotUnderstood("DFHWU4005")
    if len(parts) > 2:
        raise NotUnderstood("DFHWU4029", parts[2][:20])
    index = _number(parts[0], "DFHWU4008", lowest=1) if parts else 1
    count = _number(parts[1], "DFHWU4009", lowest=1) if len(parts) > 1 else None
    return CachedTarget(token, index, count, options)


def _number(text: str, message: str, *, lowest: int | None) -> int:
    digits = text.removeprefix("-")
    right = digits.isascii() and digits.isdigit() and len(digits) < 10
    number = int(text) if right else 0
    if number == 0 or (lowest is not None and number < lowest):
        raise NotUnderstood(message, text[:20])
    return number


def _options(query: bytes, allowed: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in query.split(b"&"):
        if not part:
            continue
        name, equals, value = part.partition(b"=")
        word = _decoded(name).upper()
        if word not in allowed or word in found or bool(equals) is not (word in _VALUES):
            raise NotUnderstood("DFHWU4003", word[:30])
        found[word] = _decoded(value)
    return found


def _decoded(text: bytes) -> str:
    raw = unquote_to_bytes(text)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def is_name(text: str) -> bool:
    """Whether a text can be the name of a context or scope."""
    return _NAME.fullmatch(text) is not None


def parameters_of(text: str) -> dict[str, str] | None:
    """The parameters of PARAMETER, by name, such as ``CSDGROUP(PAY)``; None if the text is not valid."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _PARAMETER.match(text, at)
        if match is None or match["name"].upper() in found:
            return None
        found[match["name"].upper()] = (match["value"] or "").strip()
        at = match.end()
    return found


# -- the body ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CmciBody:
    """The body of a request.

    Attributes:
        kind: ``action``, ``update``, ``create`` or ``delete``.
        action: the name of the action.
        parameters: the values by the names of the parameters, in capitals.
        attributes: the values by the names of the attributes, in capitals; None if the body has no such element.
    """

    kind: str
    action: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] | None = None


_INSIDE: Final[Mapping[tuple[str, ...], frozenset[str]]] = {
    (): frozenset({"request"}),
    ("request",): frozenset({"action", "update", "create", "delete"}),
    ("request", "action"): frozenset({"parameter"}),
    ("request", "update"): frozenset({"parameter", "attributes"}),
    ("request", "create"): frozenset({"parameter", "attributes"}),
    ("request", "delete"): frozenset({"parameter"}),
}
"""The elements that an element may hold."""


class _Elements:
    """Takes the elements of a body as the parser finds them."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.count = 0
        self.kind = ""
        self.action = ""
        self.parameters: dict[str, str] = {}
        self.attributes: dict[str, str] | None = None

    def start(self, name: str, values: Mapping[str, str]) -> None:
        self.count += 1
        if name not in _INSIDE.get(tuple(self.path), ()) or self.count > _MOST_ELEMENTS:
            raise NotUnderstood("DFHWU4007", name[:30])
        self.path.append(name)
        if name == "parameter":
            self._named(values, "name", self.parameters, values.get("value", ""))
        elif name == "attributes":
            if self.attributes is not None:
                raise NotUnderstood("DFHWU4007", name)
            self.attributes = {}
            for each, value in values.items():
                self._named({"name": each}, "name", self.attributes, value)
        elif len(self.path) == 2:
            if self.kind:
                raise NotUnderstood("DFHWU4007", name)
            self.kind = name
            self.action = values.get("name", "") if name == "action" else ""
            if name == "action" and not self.action:
                raise NotUnderstood("DFHWU4007", name)

    @staticmethod
    def _named(values: Mapping[str, str], key: str, into: dict[str, str], value: str) -> None:
        name = values.get(key, "").upper()
        if not name or name in into:
            raise NotUnderstood("DFHWU4007", name[:30])
        into[name] = value

    def end(self, _name: str) -> None:
        self.path.pop()

    @staticmethod
    def text(data: str) -> None:
        if data.strip():
            raise NotUnderstood("DFHWU4007", data.strip()[:30])

    @staticmethod
    def refuse(*_about: object) -> int:
        """A document type, an entity or an instruction: a request has none, and none is expanded."""
        raise NotUnderstood("DFHWU4007", "document type")


def body_of(data: bytes) -> CmciBody | None:
    """The body of a request; None if there is none.

    Raises:
        NotUnderstood: it is too long, or not valid.
    """
    if not data.strip():
        return None
    if len(data) > BOUNDS["cmci_body_bytes"]:
        raise NotUnderstood("DFHWU4007", f"more than {BOUNDS['cmci_body_bytes']} bytes")
    found = _Elements()
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = found.start, found.end
    parser.CharacterDataHandler = found.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = found.refuse
    parser.ProcessingInstructionHandler = parser.ExternalEntityRefHandler = found.refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: of the encoding that the body names
        raise NotUnderstood("DFHWU4007", str(error)[:100]) from None
    if not found.kind:
        raise NotUnderstood("DFHWU4007", "request")
    return CmciBody(found.kind, found.action, found.parameters, found.attributes)
