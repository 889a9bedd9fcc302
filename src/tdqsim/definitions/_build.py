"""Builds validated resources from attributes as written, and reports all problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from pydantic import ValidationError

from tdqsim.core.named import NamedTuple
from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._fields import spoken
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES
from tdqsim.facts import TDQUEUE_ATTRIBUTES, table


@cache
def _imported(kind: str) -> type[Resource]:
    name = "ProgramDefinition" if kind == "PROGRAM" else kind.capitalize()
    class_: type[Resource] = getattr(import_module(f"tdqsim.definitions.{kind.lower()}"), name)
    return class_


class _Classes(Mapping[str, type[Resource]]):
    """Classes by kind, each imported on first use, because few files have definitions of every kind."""

    _NAMES: Final = ("TRANSACTION", "TERMINAL", "CONNECTION", "TSMODEL", "TRANCLASS", "FILE", "PROGRAM", "DTAQ")

    def __getitem__(self, kind: str) -> type[Resource]:
        if kind not in self._NAMES:
            raise KeyError(kind)
        return _imported(kind)

    def __contains__(self, kind: object) -> bool:
        return kind in self._NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


RESOURCE_CLASSES: Final = _Classes()
"""The class of each kind, except TDQUEUE, which has a class for each TYPE."""


_STAND_INS = {"name": "A", "indirectname": "B", "dtaq": "A"}
"""Values for required attributes that are missing or wrong, so that the rest can still be checked."""


_UNPRINTABLE = "must be printable characters on one line"


class ResourceFault(NamedTuple):
    """One error in a resource: the attribute in lower case (or empty), its value, and the allowed values."""

    attribute: str
    value: str
    message: str


@cache
def resource_types() -> Mapping[str, int]:
    """The resource types of a group with the maximum length of their names; without DTAQ, which is not a CICS type."""
    return {row["name"]: int(row["name_length"]) for row in table("resource_types")}


@cache
def _without_effect() -> Mapping[str, frozenset[str]]:
    names: dict[str, set[str]] = {}
    for row in table("attributes_without_effect"):
        names.setdefault(row["resource"], set()).add(row["name"].lower())
    return {kind: frozenset(of_kind) for kind, of_kind in names.items()}


@cache
def _own(resource_class: type[Resource]) -> frozenset[str]:
    """The attributes of a class that a definition may have."""
    return frozenset(resource_class.model_fields) - {"group", "without_effect"}


@cache
def known_attributes(kind: str, queue_type: str = "") -> frozenset[str]:
    """The attributes, in lower case, that a definition of a kind (for a TDQUEUE of a TYPE) may have."""
    resource_class = TDQUEUE_CLASSES[queue_type] if kind == "TDQUEUE" else RESOURCE_CLASSES[kind]
    own = _own(resource_class)
    return own | _without_effect().get(kind, frozenset()) | ({"type"} if kind == "TDQUEUE" else frozenset())


def build(kind: str, attributes: Mapping[str, Any], group: str = "") -> tuple[Resource | None, list[ResourceFault]]:
    """Build a resource; returns it, or None and all its errors.

    Args:
        kind: ``TDQUEUE``, a kind of :data:`RESOURCE_CLASSES`, or another type.
        attributes: values as written, by lower-case attribute name; None and empty text count as omitted.
        group: the group's name.
    """
    written = {name: value for name, value in attributes.items() if value is not None and value != ""}
    if kind == "TDQUEUE":
        return _build_tdqueue(written, group)
    if kind in RESOURCE_CLASSES:
        return _build_one(kind, RESOURCE_CLASSES[kind], written, group)
    return _build_other(kind, written, group)


def without_type_remote(kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes without TYPE(REMOTE) beside REMOTESYSTEM, which says the same; DEFINE TDQUEUE has no such TYPE."""
    written = attributes.get("type") if kind == "TDQUEUE" and attributes.get("remotesystem") else None
    if not isinstance(written, str) or written.upper() != "REMOTE":
        return attributes
    return {name: value for name, value in attributes.items() if name != "type"}


def _build_tdqueue(attributes: dict[str, Any], group: str) -> tuple[Resource | None, list[ResourceFault]]:
    written = attributes.pop("type", "")
    queue_type = written.upper() if isinstance(written, str) else "?"
    if queue_type not in TDQUEUE_CLASSES:
        way = "; a queue of another region has remotesystem" if queue_type == "REMOTE" else ""
        fault = ResourceFault("type", str(written), f"must be {spoken(TDQUEUE_ATTRIBUTES['TYPE'].values)}{way}")
        return None, [fault, *_faults_without_type(attributes)]
    if not queue_type and "remotesystem" not in attributes:
        message = (
            f"is required ({spoken(TDQUEUE_ATTRIBUTES['TYPE'].values)}) unless remotesystem says where the queue is"
        )
        return None, [ResourceFault("type", "", message), *_faults_without_type(attributes)]
    return _build_one("TDQUEUE", TDQUEUE_CLASSES[queue_type], attributes, group)


def _faults_without_type(attributes: dict[str, Any]) -> list[ResourceFault]:
    """The errors in single attributes of a queue whose TYPE is not known."""
    faults = []
    for name, value in attributes.items():
        owner = next((t for t in TDQUEUE_CLASSES if name in TDQUEUE_CLASSES[t].model_fields), None)
        if owner is None:
            faults.append(ResourceFault(name, _shown(value), _unknown("TDQUEUE", name)))
            continue
        fields = TDQUEUE_CLASSES[owner].model_fields
        _, of_type = _validate(
            TDQUEUE_CLASSES[owner], {each: attributes[each] for each in attributes if each in fields}
        )
        faults += [fault for fault in of_type if fault.attribute == name and fault.message != "is required"]
    return faults


def _build_one(
    kind: str, resource_class: type[Resource], attributes: dict[str, Any], group: str
) -> tuple[Resource | None, list[ResourceFault]]:
    own, idle = _own(resource_class), _without_effect().get(kind, frozenset())
    values: dict[str, Any] = {"group": group}
    kept: dict[str, str] = {}
    faults: list[ResourceFault] = []
    for name, value in attributes.items():
        if name in own:
            values[name] = value
        elif name not in idle:
            faults.append(ResourceFault(name, _shown(value), _not_here(kind, resource_class, name)))
        elif str(value).isprintable():
            kept[name] = str(value)
        else:
            faults.append(ResourceFault(name, _shown(value), _UNPRINTABLE))
    if kept:
        values["without_effect"] = kept
    resource, more = _validate(resource_class, values)
    return (None, faults + more) if faults else (resource, more)


def _build_other(kind: str, attributes: dict[str, Any], group: str) -> tuple[Resource | None, list[ResourceFault]]:
    from tdqsim.definitions.other import OtherResource  # noqa: PLC0415  (few files have any)

    values: dict[str, Any] = {"group": group, "resource_type": kind}
    named = {name: attributes.pop(name) for name in list(attributes) if name in OtherResource.model_fields}
    values.update((name, value) for name, value in named.items() if name not in values)
    groups = [name for name in attributes if "group".startswith(name)]  # in CSD text it would abbreviate GROUP
    values["without_effect"] = {name: str(value) for name, value in attributes.items() if name not in groups}
    resource, faults = _validate(OtherResource, values)
    wrong = [
        ResourceFault(name, _shown(attributes[name]), "is written once for all resources of the group")
        for name in groups
    ]
    wrong += [
        ResourceFault(name, _shown(value), _UNPRINTABLE)
        for name, value in attributes.items()
        if not str(value).isprintable()
    ]
    if wrong:
        return None, [*wrong, *faults]
    longest = resource_types().get(kind, 0)
    if isinstance(resource, OtherResource) and len(resource.name) > longest:
        return None, [ResourceFault("name", resource.name, f"must be 1 to {longest} characters")]
    return resource, faults


def _validate(resource_class: type[Resource], values: dict[str, Any]) -> tuple[Resource | None, list[ResourceFault]]:
    try:
        return resource_class.model_validate(values), []
    except ValidationError as error:
        faults = list(_faults(error))
    wrong = {fault.attribute for fault in faults if fault.attribute in values or fault.attribute in _STAND_INS}
    if wrong:  # pydantic checks conflicts between attributes only when each of them is valid
        remaining = {name: value for name, value in values.items() if name not in wrong}
        remaining |= {name: _STAND_INS[name] for name in wrong if name in _STAND_INS}
        # A stand-in may cause a conflict itself, as an indirect queue with its own name; such errors are dropped.
        more = _validate(resource_class, remaining)[1] if remaining != values else []
        faults += [fault for fault in more if fault.attribute not in wrong and fault not in faults]
    return None, faults


def _faults(error: ValidationError) -> Iterator[ResourceFault]:
    for item in error.errors(include_url=False):
        attribute = str(item["loc"][0]) if item["loc"] else ""
        context = item.get("ctx", {})
        if item["type"] == "tdq_conflicts":
            values = item["input"] if isinstance(item["input"], Mapping) else {}
            for name, message in context["conflicts"]:
                yield ResourceFault(name, _shown(values.get(name, "")), message)
        elif item["type"] == "missing":
            yield ResourceFault(attribute, "", "is required")
        else:
            yield ResourceFault(attribute, _shown(item["input"]), item["msg"])


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _not_here(kind: str, resource_class: type[Resource], name: str) -> str:
    if name in ("group", "without_effect"):
        return "is written once for all resources of the group" if name == "group" else _unknown(kind, name)
    if kind == "TDQUEUE":
        row = TDQUEUE_ATTRIBUTES.get(name.upper())
        if row is not None and name == name.lower():
            own = next(queue_type for queue_type, cls in TDQUEUE_CLASSES.items() if cls is resource_class)
            return f"belongs to type {spoken(row.types)}; this queue is {own or 'remote only'}"
    return _unknown(kind, name)


def _unknown(kind: str, name: str) -> str:
    if kind == "TDQUEUE":
        known = frozenset(row.lower() for row in TDQUEUE_ATTRIBUTES if row != "TDQUEUE") | known_attributes(kind)
    else:
        known = known_attributes(kind)
    allowed = f"; allowed are {', '.join(sorted(known))}"
    return f"is not an attribute of {kind}{did_you_mean(name, known) or allowed}"
