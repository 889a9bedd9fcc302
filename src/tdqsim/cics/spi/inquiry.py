"""INQUIRE and its browse for any resource type.

The table ``facts/inquire.tsv`` has the options of each resource type, with the type and length of their values. For
each resource type a module of this package adds the functions that read the values, as a :class:`ResourceType`; CEMT
uses the same. For every set of options a *plan* (a list of readers) is made once, so that an inquiry costs little more
than one call for each option.

Values come back as :class:`~tdqsim.facts.Cvda`, as ``int`` (binary numbers, and ABSTIME in milliseconds since 1900), as
``bytes``, or as ``str`` of the receiver's full length, padded with blanks, unless another option gives its length.

A browse belongs to the task that started it (or to the region, for commands outside a task); a task has at most one
browse of each resource type. It covers the resources that exist at START, in the region's order: those removed since
then are not returned, those added since then do not appear. After the last one every NEXT gets the condition END, until
the command END ends the browse. Sources: Browsing resource definitions, Exception conditions for browsing (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from tdqsim.cics.kernel.authority import check_command, check_resource, may_use
from tdqsim.cics.kernel.command import Flag, Opt, OptionKind, command
from tdqsim.cics.kernel.issue import check_options
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase, open_browses
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.requests import refusal
from tdqsim.core.named import NamedTuple
from tdqsim.errors import WrongType, WrongValue
from tdqsim.facts import INQUIRE_OPTIONS
from tdqsim.facts.info import Info, Value

_KINDS: Final[dict[str, OptionKind]] = {
    "CVDA": "cvda", "CHAR": "name", "VARCHAR": "name", "BINARY": "fullword", "HALF": "halfword", "HEX": "data",
    "PACKED": "fullword", "ABSTIME": "abstime",
}  # fmt: skip
_PLANS_KEPT: Final = 1024

Key = TypeVar("Key")
Thing = TypeVar("Thing")
InfoT = TypeVar("InfoT", bound=Info)
OptionT = TypeVar("OptionT", bound=str)
P = ParamSpec("P")
R = TypeVar("R")

Reader = Callable[[Thing, RegionData], Value]
"""Reads the value of one option of a resource."""


class Constant:
    """The reader of an option that has the same value for all resources of a type."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __call__(self, _thing: object, _region: RegionData) -> Value:
        """Return the value."""
        return self.value


class Attribute:
    """The reader of an option that is an attribute of the resource; a path with dots for an attribute of that."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, thing: object, _region: RegionData) -> Value:
        """Return its value."""
        value: Value = attrgetter(self.path)(thing)
        return value


class _Plan(NamedTuple):
    """How a set of options is read.

    Attributes:
        template: all its options in order, with the constant values filled in.
        names, attributes: the options that are attributes, and what reads the values of all of them at once.
        others: the options that have a function as reader.
        texts: the options of text, each with what fits its value to the receiver's length: blanks are added, or the end
            is cut.
    """

    template: dict[str, Value]
    names: list[str]
    attributes: Callable[[Any], tuple[Value, ...]]
    others: list[tuple[str, Reader[Any]]]
    texts: list[tuple[str, Callable[[Value], Value]]]


def _one_type(_thing: object) -> str:
    return ""


def _none(_region: RegionData, _key: object) -> str:
    return ""


class ResourceType(Generic[Key, Thing, InfoT]):
    """A type of resource that can be inquired.

    Attributes:
        name: such as ``TDQUEUE``, as in the table.
        info: the class of the result.
        readers: returns the readers of all options for resources of one type (see ``type_of``).
        keys: the keys (names, numbers, or other arguments of ``find``) of all resources, in the region's order.
        find: returns the resource of a key; None if it does not exist (any more).
        identity: returns the value by which NEXT identifies the resource it returned; None if NEXT does not identify
            it.
        word: the option with that value, which is the type's name; empty if there is none.
        type_of: returns the type of a resource, which together with the options selects the readers.
        hint: returns what may be meant by a key that does not exist, to end the message with.
        protection: returns the class and name under which resource security protects a resource; an empty class if it
            does not. None if it protects no resource of the type.
        plans: the cached plans, by type and options.
    """

    __slots__ = (
        "find", "hint", "identity", "info", "keys", "name", "plans", "protection", "readers", "type_of", "word",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        info: type[InfoT],
        readers: Mapping[str, Reader[Thing]] | Callable[[str], Mapping[str, Reader[Thing]]],
        *,
        keys: Callable[[RegionData], Iterable[Key]],
        find: Callable[[RegionData, Key], Thing | None],
        identity: Callable[[Thing], Value] | None = None,
        type_of: Callable[[Thing], str] = _one_type,
        protection: Callable[[Thing, RegionData], tuple[str, str]] | None = None,
        hint: Callable[[RegionData, Key], str] = _none,
    ) -> None:
        self.name, self.info = name, info
        if isinstance(readers, Mapping):
            if INQUIRE_OPTIONS[name].keys() != readers.keys():
                raise WrongValue(f"INQUIRE {name}: {sorted(INQUIRE_OPTIONS[name].keys() ^ readers.keys())}")
            readers = _the_same(readers)
        self.readers = readers
        self.keys, self.find, self.identity = keys, find, identity
        self.word = "" if identity is None else name
        self.type_of, self.protection, self.hint = type_of, protection, hint
        self.plans: dict[tuple[str, tuple[str, ...]], _Plan] = {}


def _the_same(readers: Mapping[str, Reader[Thing]]) -> Callable[[str], Mapping[str, Reader[Thing]]]:
    """Uses the same readers for all resources of a type."""
    return lambda _type: readers


def receivers(resource: str, **more: Opt) -> dict[str, Opt]:
    """The receivers of INQUIRE of a resource type, after ``more``, those of one form of the command only."""
    options = INQUIRE_OPTIONS[resource].values()
    return {**more, **{option.name: Opt(_KINDS[option.receiver], option.length) for option in options}}


def _words(resource: str, options: tuple[str, ...]) -> list[str]:
    """The options in upper case, after a check that they are options."""
    for option in options:
        if not isinstance(option, str):
            raise WrongType(
                f"INQUIRE {resource}: option {option!r:.40}; each option is a word of its own, such as TYPE"
            )
    words = [option.upper() for option in options]
    check_options(f"INQUIRE {resource}", words, INQUIRE_OPTIONS[resource])
    return words


def _plan(resource: ResourceType[Key, Thing, InfoT], type_name: str, options: tuple[str, ...]) -> _Plan:
    known = INQUIRE_OPTIONS[resource.name]
    names = _words(resource.name, options) or list(known)
    template: dict[str, Value] = {}
    paths: dict[str, str] = {}
    others: dict[str, Reader[Thing]] = {}
    texts: dict[str, Callable[[Value], Value]] = {}
    every = resource.readers(type_name)
    for name in names:
        reader, length = every[name], known[name].length
        fit = f"%-{length}.{length}s".__mod__ if known[name].receiver == "CHAR" else None
        if isinstance(reader, Constant):
            template[name] = reader.value if fit is None else fit(reader.value)
            continue
        template[name] = ""  # keeps the position of the option; the value read replaces it
        if isinstance(reader, Attribute):
            paths[name] = reader.path
        else:
            others[name] = reader
        if fit is not None:
            texts[name] = fit
    attributes = attrgetter(*paths.values(), "__class__", "__class__")  # of two or more it makes a tuple
    plan = _Plan(template, list(paths), attributes, list(others.items()), list(texts.items()))
    if len(resource.plans) < _PLANS_KEPT:  # a program uses few sets of options; plans for more are not cached
        resource.plans[type_name, options] = plan
    return plan


def values_of(
    resource: ResourceType[Key, Thing, InfoT], thing: Thing, region: RegionData, options: tuple[str, ...] = ()
) -> dict[str, Value]:
    """The values of the named options; of all options if none is named.

    Raises:
        TdqError: there is no such option, or an option is no word.
    """
    type_name = resource.type_of(thing)
    try:
        template, names, attributes, others, texts = resource.plans.get((type_name, options)) or _plan(
            resource, type_name, options
        )
    except TypeError:
        _words(resource.name, options)  # refuses a list of options, which is no key of the plans
        raise
    values = template.copy()
    values.update(zip(names, attributes(thing)))  # noqa: B905  (there are two attributes more)
    for name, read in others:
        values[name] = read(thing, region)
    for name, fit in texts:
        values[name] = fit(values[name])
    return values


def inquire_one(task: TaskBase, resource: ResourceType[Key, Thing, InfoT], key: Key, options: tuple[str, ...]) -> InfoT:
    """INQUIRE of one resource.

    Raises:
        Condition: in this order: NOTAUTH 100; the condition of the type for a resource that does not exist; NOTAUTH
            101.
        TdqError: there is no such option.
    """
    region = task._region
    policy = region.security
    if policy is not None:
        check_command(task, resource.name, Access.READ)
    thing = resource.find(region, key)
    if thing is None:
        missing = f"there is no {resource.name} {_shown(key)}{resource.hint(region, key)}"
        raise refusal(f"INQUIRE {resource.name}", "not found", missing)
    if policy is not None and resource.protection is not None:
        resource_class, name = resource.protection(thing, region)
        if resource_class:
            check_resource(task, resource_class, name, Access.READ)
    return resource.info(values_of(resource, thing, region, options))


def _shown(key: object) -> str:
    return f"X'{bytes(key).hex().upper()}'" if isinstance(key, bytes | bytearray) else str(key)


# -- browses ----------------------------------------------------------------------------------------------------------


def all_visible(
    task: TaskBase, resource: ResourceType[Key, Thing, InfoT], keys: Iterable[Key], options: tuple[str, ...] = ()
) -> Iterator[dict[str, Value]]:
    """The values, with the identity, of those keys that still exist and that the task may see."""
    region = task._region
    identity, find = resource.identity, resource.find
    protection = None if region.security is None else resource.protection
    for key in keys:
        thing = find(region, key)
        if thing is None:
            continue
        if protection is not None:
            resource_class, name = protection(thing, region)
            if resource_class and not may_use(task, resource_class, name, Access.READ):
                continue
        values = values_of(resource, thing, region, options)
        yield values if identity is None else {resource.name: identity(thing), **values}


def browse_start(task: TaskBase, resource: ResourceType[Key, Thing, InfoT], keys: Iterable[Key] | None = None) -> None:
    """Start a browse of all resources, or of those with the given keys.

    Raises:
        Condition: NOTAUTH 100; ILLOGIC 1: a browse is open already.
    """
    check_command(task, resource.name, Access.READ)
    browses = open_browses(task)
    if resource.name in browses:
        raise refusal(f"INQUIRE {resource.name}", "browse sequence", f"a browse of {resource.name} is open already")
    browses[resource.name] = iter(list(resource.keys(task._region) if keys is None else keys))


class BrowseCommands(Generic[OptionT, InfoT]):
    """START, NEXT and END of a resource type; :func:`browse_command` declares them as commands.

    Args:
        resource: the type.
        things: a noun for the resources, for the docstrings, such as ``queues``.
        module: the name of the module of the commands.
        name: the word in the command names; the name of the resource type if not given.
        receives: the receiver by which NEXT identifies the resource it returned; None for none.
        start_raises: the conditions of START.
    """

    def __init__(
        self,
        resource: ResourceType[Key, Thing, InfoT],
        things: str,
        module: str,
        *,
        name: str = "",
        receives: Opt | None = None,
        start_raises: str = "ILLOGIC NOTAUTH",
    ) -> None:
        self.resource: ResourceType[object, object, InfoT] = resource  # type: ignore[assignment]  # its keys are only passed back to it
        self.things, self.module, self.name = things, module, name or resource.name
        identity = {} if receives is None else {resource.name: receives}
        self.declaration: Final[Mapping[str, tuple[str, dict[str, Opt], InfoT | None]]] = {
            "start": (start_raises, {}, None),
            "next": ("END ILLOGIC", receivers(resource.name, **identity), resource.info()),
            "end": ("ILLOGIC", {}, None),
        }

    def start(self, task: TaskBase, *, nohandle: Flag = False) -> None:
        """Start a browse of all present {things}.

        Raises:
            Condition: ILLOGIC 1: a browse is open already; NOTAUTH 100.
        """
        browse_start(task, self.resource)

    def next(self, task: TaskBase, *options: OptionT, nohandle: Flag = False) -> InfoT:
        """Retrieve information about the next resource in a browse of {things}, with its name if it has one.

        Args:
            options: the options to return; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: END 2: there are no more; ILLOGIC 1: no browse is open.
            TdqError: there is no such option; the browse stays where it is.
        """
        resource = self.resource
        name = f"INQUIRE {resource.name}"
        browse = open_browses(task).get(resource.name)
        if browse is None:
            raise refusal(name, "browse sequence", f"no browse of {resource.name} is open; START one first")
        _words(resource.name, options)
        values = next(all_visible(task, resource, browse, options), None)
        if values is None:
            raise refusal(name, "no more", f"there is no more {resource.name}")
        return resource.info(values)

    def end(self, task: TaskBase, *, nohandle: Flag = False) -> None:
        """End the browse of {things}.

        Raises:
            Condition: ILLOGIC 1: no browse is open.
        """
        name = self.resource.name
        if open_browses(task).pop(name, None) is None:
            raise refusal(f"INQUIRE {name}", "browse sequence", f"no browse of {name} is open")


def browse_command(work: Callable[Concatenate[TaskBase, P], R]) -> Callable[Concatenate[TaskBase, P], R]:
    """Declare one of the three methods of a :class:`BrowseCommands` as a command."""
    browse: BrowseCommands[str, Info] = getattr(work, "__self__")  # noqa: B009  (only a bound method has it)
    verb = work.__name__
    conditions, receives, otherwise = browse.declaration[verb]

    def do(task: TaskBase, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return work(task, *args, **kwargs)

    setattr(do, "__wrapped__", work)  # noqa: B010 (inspect reads the signature from here)
    do.__name__ = do.__qualname__ = f"inquire_{browse.name.lower()}_{verb}"
    do.__doc__ = (work.__doc__ or "").replace("{things}", browse.things)
    do.__module__ = browse.module
    do.__annotations__ = dict(work.__annotations__)
    return command(f"INQUIRE {browse.name} {verb.upper()}", conditions, receives, otherwise=otherwise)(do)
