"""INQUIRE of any resource type, one or in a browse: one table of facts and one engine.

Which options a resource type has, what each returns and how long it is, is the table ``facts/inquire.tsv``. A module of
this room for each resource type adds where the values are read, as a :class:`ResourceType`; CEMT reads the same.
For every set of options a *plan* is made once, a row of readers, so that an inquiry costs one call for each option and
little else.

Values come back as :class:`~tdqsim.facts.Cvda`, as ``int`` (binary numbers, and ABSTIME in milliseconds since 1900), as
``bytes``, or as ``str`` of the receiver's full length, padded with blanks, unless another option gives its length.

A browse belongs to the task that started it (or to the region, for commands outside a task); there is one at a time of
each resource type. It walks over what there was at START, in the region's order; what has gone since is not returned,
what has come does not appear. After the last one every NEXT gives END, until END ends the browse. Sources: Browsing
resource definitions, Exception conditions for browsing (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tdqsim.cics.kernel.command import Opt, OptionKind
from tdqsim.cics.kernel.issue import check_options
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.info import Info
from tdqsim.cics.spi.requests import may_issue, refusal
from tdqsim.facts import INQUIRE_OPTIONS, InquireOption

__all__ = [
    "Constant",
    "Reader",
    "ResourceType",
    "all_visible",
    "browse_end",
    "browse_next",
    "browse_start",
    "inquire_one",
    "receivers",
    "values_of",
]

_KINDS: Final[dict[str, OptionKind]] = {
    "CVDA": "cvda", "CHAR": "name", "VARCHAR": "name", "BINARY": "fullword", "HALF": "halfword", "HEX": "data",
    "PACKED": "fullword", "ABSTIME": "abstime",
}  # fmt: skip
_PLANS_KEPT: Final = 1024

Reader = Callable[[Any, Any], Any]
"""(thing, region) -> value of one option."""


class Constant:
    """The reader of an option that has the same value for all things of a type."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, _thing: Any, _region: Any) -> Any:
        """The value, as any reader gives it."""
        return self.value


_Plan = tuple[dict[str, Any], tuple[tuple[str, Reader], ...]]
"""Every option in order, with the values that are constant; and the readers of the others."""


def _no_type(_thing: Any) -> str:
    return ""


def _anybody_may(_task: Any, _key: Any, _level: Access) -> None:
    """Resource security of a type that has none here."""


def _always(_task: Any, _key: Any) -> bool:
    return True


def _plain(readers: Mapping[str, Reader]) -> Callable[[InquireOption, str], Reader]:
    return lambda option, _type: readers[option.name]


class ResourceType(NamedTuple):
    """A type of resource that can be inquired.

    Attributes:
        name: such as ``TDQUEUE``, as in the table.
        plans: the rows of readers by type and options, as far as they were asked for.
        readers: gives the reader of an option for things of a type (see ``type_of``).
        keys: what there is, in the region's order: names, numbers, or whatever ``find`` takes.
        find: the thing of a key; None when there is none (any more).
        identity: the option by which NEXT says which one it returned, and its value; an empty option for none.
        type_of: what decides, beside the options, which readers are used.
        check: resource security: raises NOTAUTH 101.
        visible: whether a browse shows it to the task.
        info: the class of what is returned.
    """

    name: str
    plans: dict[tuple[str, tuple[str, ...]], _Plan]
    readers: Callable[[InquireOption, str], Reader]
    keys: Callable[[Any], Iterable[Any]]
    find: Callable[[Any, Any], Any]
    identity: tuple[str, Callable[[Any], Any]] = ("", _no_type)
    type_of: Callable[[Any], str] = _no_type
    check: Callable[[Any, Any, Access], None] = _anybody_may
    visible: Callable[[Any, Any], bool] = _always
    info: type[Info] = Info

    @classmethod
    def of(cls, name: str, readers: Mapping[str, Reader], **rest: Any) -> ResourceType:
        """A type all of whose things have the same readers.

        Raises:
            ValueError: the table has an option without a reader, or the other way round.
        """
        if INQUIRE_OPTIONS[name].keys() != readers.keys():
            raise ValueError(f"INQUIRE {name}: {sorted(INQUIRE_OPTIONS[name].keys() ^ readers.keys())}")
        return cls(name, {}, _plain(readers), **rest)


def receivers(resource: str, **more: Opt) -> dict[str, Opt]:
    """The receivers of INQUIRE of a resource type, after those that only one form of the command has."""
    options = INQUIRE_OPTIONS[resource].values()
    return {**more, **{option.name: Opt(_KINDS[option.receiver], option.length) for option in options}}


def _padded(reader: Reader, length: int) -> Reader:
    return lambda thing, region: reader(thing, region)[:length].ljust(length)


def _plan(resource: ResourceType, type_name: str, options: tuple[str, ...]) -> _Plan:
    known = INQUIRE_OPTIONS[resource.name]
    template: dict[str, Any] = {}
    readers = []
    names = [option.upper() for option in options] or list(known)
    check_options(f"INQUIRE {resource.name}", names, known)
    for name in names:
        reader, length = resource.readers(known[name], type_name), known[name].length
        is_text = known[name].receiver == "CHAR"
        if isinstance(reader, Constant):
            template[name] = reader.value[:length].ljust(length) if is_text else reader.value
        else:
            template[name] = None
            readers.append((name, _padded(reader, length) if is_text else reader))
    plan = template, tuple(readers)
    if len(resource.plans) < _PLANS_KEPT:  # a program names a few sets of options; one that names more pays each time
        resource.plans[type_name, options] = plan
    return plan


def values_of(resource: ResourceType, thing: Any, region: Any, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of the options named, or of all when none is.

    Raises:
        TdqError: there is no such option.
    """
    type_name = resource.type_of(thing)
    template, readers = resource.plans.get((type_name, options)) or _plan(resource, type_name, options)
    values = template.copy()
    for name, read in readers:
        values[name] = read(thing, region)
    return values


def inquire_one(task: Any, resource: ResourceType, key: Any, options: tuple[str, ...]) -> Any:
    """INQUIRE of one thing.

    Raises:
        Condition: NOTAUTH 100; what the type says when there is no such thing; NOTAUTH 101; in this order.
        TdqError: there is no such option.
    """
    region = task.region
    guarded = region.security is not None
    if guarded:
        may_issue(task, resource.name, Access.READ)
    thing = resource.find(region, key)
    if thing is None:
        raise refusal(f"INQUIRE {resource.name}", "not found", f"there is no {resource.name} {_shown(key)}")
    if guarded:
        resource.check(task, key, Access.READ)
    return resource.info(values_of(resource, thing, region, options))


def _shown(key: Any) -> str:
    return f"X'{bytes(key).hex().upper()}'" if isinstance(key, bytes | bytearray) else str(key)


# -- browses ----------------------------------------------------------------------------------------------------------


def all_visible(
    task: Any, resource: ResourceType, keys: Iterable[Any], options: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """The values of those of the keys that are still there and that the task may see, each with its identity."""
    region = task.region
    word, identity = resource.identity
    find, visible, guarded = resource.find, resource.visible, region.security is not None
    for key in keys:
        thing = find(region, key)
        if thing is None or (guarded and not visible(task, key)):
            continue
        values = values_of(resource, thing, region, options)
        yield {word: identity(thing)} | values if word else values


def browse_start(task: Any, resource: ResourceType, keys: Iterable[Any] | None = None) -> None:
    """Start a browse of all, or of some.

    Raises:
        Condition: NOTAUTH 100; ILLOGIC 1: a browse is open already.
    """
    may_issue(task, resource.name, Access.READ)
    browses = task.open_browses()
    if resource.name in browses:
        raise refusal(f"INQUIRE {resource.name}", "browse sequence", f"a browse of {resource.name} is open already")
    browses[resource.name] = iter(list(resource.keys(task.region) if keys is None else keys))


def browse_next(task: Any, resource: ResourceType, options: tuple[str, ...]) -> Any:
    """The next of the browse.

    Raises:
        Condition: ILLOGIC 1: no browse is open; END 2: there are no more.
        TdqError: there is no such option; the browse stays where it is.
    """
    name = f"INQUIRE {resource.name}"
    browse = task.open_browses().get(resource.name)
    if browse is None:
        raise refusal(name, "browse sequence", f"no browse of {resource.name} is open; START one first")
    for option in options:
        if option.upper() not in INQUIRE_OPTIONS[resource.name]:
            _plan(resource, "", options)
    values = next(all_visible(task, resource, browse, options), None)
    if values is None:
        raise refusal(name, "no more", f"there is no more {resource.name}")
    return resource.info(values)


def browse_end(task: Any, resource: ResourceType) -> None:
    """End the browse.

    Raises:
        Condition: ILLOGIC 1: no browse is open.
    """
    if task.open_browses().pop(resource.name, None) is None:
        raise refusal(f"INQUIRE {resource.name}", "browse sequence", f"no browse of {resource.name} is open")
