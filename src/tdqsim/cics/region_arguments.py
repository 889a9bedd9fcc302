"""The arguments of a region: their allowed values, their conversion, and their equivalents in region.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from tdqsim.cics.kernel.security import Access, AccessList, SecurityPolicy
from tdqsim.core.clock import time_zone
from tdqsim.core.codepage import CodePage
from tdqsim.core.codepage import codepage as find_codepage
from tdqsim.core.named import NamedTuple
from tdqsim.core.record_list import several
from tdqsim.errors import UsageError, WrongType
from tdqsim.facts import LIMITS, REGION_DEFAULTS

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.kernel.machine import MachineAnswers
    from tdqsim.definitions.machine import Machine
    from tdqsim.definitions.regionfile import RegionFile, Security

_DEFAULTS: Final = {
    **REGION_DEFAULTS,
    "start": "AUTO", "tdintra": "NOEMPTY", "cmdsec": "ASIS", "ressec": "ASIS", "trigger_next": "QZERO",
    "grplist": (),
}  # fmt: skip
_FEWEST: Final = 2


Grplist = Sequence[str] | str
StartType = Literal["AUTO", "COLD", "INITIAL"]


class SecurityOptions(NamedTuple):
    """Who may do what in a region: the argument ``security``, if more than the policy is given.

    An attribute that is None has the value of region.yaml, else its default.

    Attributes:
        policy: the security policy, or the path of a policy file; by default nothing is checked. The policy must know
            the default user and the region user.
        groups: for each user, the groups of which it is a member. Security policies look them up; a server passes the
            groups of its users.
        cmdsec: ASIS (the default) checks the commands of transactions with CMDSEC(YES), ALWAYS those of all
            transactions.
        ressec: ASIS (the default) checks the queues used by transactions with RESSEC(YES), ALWAYS those used by all
            transactions.
        dfltuser: the user of tasks that are given no other user (DFLTUSER); by default CICSUSER.
        regionuserid: the user of the region's own job, which installs the group list (INSTALLUSRID).
    """

    policy: SecurityPolicy | Path | str | None = None
    groups: Mapping[str, Collection[str]] | None = None
    cmdsec: Literal["ASIS", "ALWAYS"] | None = None
    ressec: Literal["ASIS", "ALWAYS"] | None = None
    dfltuser: str | None = None
    regionuserid: str | None = None


class StartOptions(NamedTuple):
    """How a region starts: the argument ``start``, if more than the type of the start is given.

    An attribute that is None has the value of region.yaml, else its default.

    Attributes:
        type: AUTO (the default: warm or emergency, as the last run ended), COLD or INITIAL.
        tdintra: EMPTY begins with empty intrapartition queues; NOEMPTY is the default.
        grplist: the lists of the CSD in the store whose groups a cold or initial start installs after the definitions:
            up to four.
        open_data_sets: whether to open the data sets of queues with OPENTIME(INITIAL), as CICS does at a start: the
            default. False leaves them closed and unchanged.
    """

    type: StartType | None = None
    tdintra: Literal["NOEMPTY", "EMPTY"] | None = None
    grplist: Grplist | None = None
    open_data_sets: bool | None = None


class SystemOptions(NamedTuple):
    """The CICS system that a region simulates: the argument ``system``.

    An attribute that is None has the value of region.yaml, else its default.

    Attributes:
        release: the CICS release that the region reports, four digits.
        mxt: the maximum number of tasks, 10 to 2000; further tasks wait. 0, the default, is no limit. SET SYSTEM
            changes it.
        trigger_next: when the next task of a queue's trigger may start, once the queue was read to QZERO: QZERO (the
            default), at the next write that reaches the level, also while the first task runs; TASKEND, when the first
            task has ended.
        machine: the machine.yaml of a real machine, or its contents: the region gives that machine's answers for the
            rules in it, see :mod:`tdqsim.definitions.machine`.
    """

    release: str | None = None
    mxt: int | None = None
    trigger_next: Literal["QZERO", "TASKEND"] | None = None
    machine: Path | str | Machine | None = None


Group = TypeVar("Group", SecurityOptions, StartOptions, SystemOptions)


def given_over(given: object, base: Group, alone: str = "") -> Group:
    """A group of arguments: what is given, and all else from another group.

    Args:
        given: a group of the same class; or the value of the attribute ``alone``.
        base: the other group.
        alone: the attribute whose value may stand for the group; empty for none.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(given, type(base)):
        values: dict[str, Any] = given._asdict()
        lists = values.get("grplist")
        if isinstance(lists, str | list):
            values["grplist"] = (lists,) if isinstance(lists, str) else tuple(lists)
        return base._replace(**{name: value for name, value in values.items() if value is not None})
    if not alone:
        raise WrongType(f"{given!r:.80} is not a {type(base).__name__}")
    alone_given: dict[str, Any] = {alone: given}
    return base._replace(**alone_given)


SECURITY: Final = SecurityOptions(
    groups=MappingProxyType({}), cmdsec="ASIS", ressec="ASIS", dfltuser=REGION_DEFAULTS["dfltuser"],
    regionuserid=REGION_DEFAULTS["regionuserid"],
)  # fmt: skip
START: Final = StartOptions(type="AUTO", tdintra="NOEMPTY", grplist=(), open_data_sets=True)
SYSTEM: Final = SystemOptions(release=REGION_DEFAULTS["release"], mxt=0, trigger_next="QZERO")
"""The defaults of the groups."""


class RegionOptions(NamedTuple):
    """Arguments of a region that a program may read back; :class:`~tdqsim.cics.region.Region` describes them.

    Attributes:
        sysid, settings, readonly: as given.
        code_page: the code page of text.
        zone: the time zone.
        dfltuser, regionuserid, cmdsec, ressec, groups: see :class:`SecurityOptions`.
        tdintra: see :class:`StartOptions`; ``open_data_sets`` too, but it is False in a read-only region.
        release, trigger_next: see :class:`SystemOptions`; ``mxt`` too, but None is no limit.
    """

    sysid: str
    dfltuser: str
    regionuserid: str
    release: str
    code_page: CodePage
    zone: tzinfo
    cmdsec: str
    ressec: str
    tdintra: Literal["NOEMPTY", "EMPTY"]
    groups: Mapping[str, Collection[str]]
    settings: Mapping[str, Any]
    open_data_sets: bool
    readonly: bool
    mxt: int | None
    trigger_next: Literal["QZERO", "TASKEND"]


@cache
def supplied() -> defs.Definitions:
    """The definitions of the supplied queues, made at the first call."""
    from tdqsim.definitions import supplied_definitions  # pydantic is imported with the first definition

    return supplied_definitions()


def as_definitions(given: defs.Definitions | Iterable[defs.Resource]) -> defs.Definitions:
    """Return definitions unchanged; collect single resources into Definitions."""
    from tdqsim.definitions import Definitions  # pydantic is imported with the first definition

    return Definitions.of(given)


def machine_answers(given: Path | str | Machine | None) -> MachineAnswers | None:
    """The answers of a machine.yaml, or of its contents; None if there is none.

    Raises:
        DefinitionError: the file has errors, or an answer is not possible for its rule.
    """
    if given is None:
        return None
    from tdqsim.cics.kernel.machine import MachineAnswers  # needed only with a machine.yaml
    from tdqsim.definitions.machine import machine_of

    return MachineAnswers(machine_of(given))


def security_policy(
    given: SecurityPolicy | Path | str | None, groups: Mapping[str, Collection[str]] | None
) -> SecurityPolicy | None:
    """A policy unchanged; from the path of a policy file, the policy of its profiles.

    Raises:
        DefinitionError: the file has errors.
    """
    if given is None or isinstance(given, SecurityPolicy):
        return given
    from tdqsim.cics.kernel.racf import RacfPolicy  # needed only with a policy file
    from tdqsim.definitions import load_policy_file

    return RacfPolicy(load_policy_file(given), groups)


def region_options(
    applid: str,
    sysid: str,
    security: SecurityOptions,
    start: StartOptions,
    system: SystemOptions,
    *,
    code_page: str | int,
    timezone: str,
    settings: Mapping[str, Any] | None,
    readonly: bool,
) -> RegionOptions:
    """What a program may read back of the arguments of a region; the groups have all their values.

    Raises:
        UsageError, TypeError: an argument is not allowed; the text names it, its value and what is allowed.
    """
    _check_arguments(
        applid=applid,
        sysid=sysid,
        dfltuser=security.dfltuser,
        regionuserid=security.regionuserid,
        cmdsec=security.cmdsec,
        ressec=security.ressec,
        start=start.type,
        tdintra=start.tdintra,
        grplist=start.grplist,
        release=system.release,
        trigger_next=system.trigger_next,
    )
    _check_groups(security.groups)
    values: dict[str, Any] = {
        name: value
        for group in (security, start, system)
        for name, value in group._asdict().items()
        if name in RegionOptions._fields
    }
    values |= {"open_data_sets": start.open_data_sets and not readonly, "mxt": system.mxt or None}
    return RegionOptions(
        **values, sysid=sysid, code_page=find_codepage(code_page), zone=time_zone(timezone),
        settings=dict(settings or {}), readonly=readonly,
    )  # fmt: skip


def _check_arguments(**given: object) -> None:
    """Refuse arguments of a region that region.yaml refuses as the values of its keys.

    Raises:
        UsageError: the text names the argument, its value and the allowed values.
    """
    others = {name: value for name, value in given.items() if value != _DEFAULTS[name]}
    if not others:
        return
    from pydantic import ValidationError  # slow to import, and not needed for the defaults

    from tdqsim.definitions.regionfile import RegionFile

    for name, value in others.items():
        try:
            read = getattr(RegionFile.model_validate({name: value}), name)
            if read != value:  # a file may have a keyword in lower case
                raise UsageError(f"{name} = {value!r}: must be {read}")
        except ValidationError as error:
            raise UsageError(f"{name} = {value!r:.80}: {error.errors()[0]['msg']}") from None


def _check_groups(groups: Mapping[str, Collection[str]] | None) -> None:
    """Refuse groups that a security policy could not find, or would treat as single letters.

    Raises:
        TypeError: the text names the argument, its value and the allowed form.
    """
    if groups is None:
        return
    if not isinstance(groups, Mapping):
        raise WrongType(
            f"groups is {groups!r:.100}; allowed is the groups of each user: groups={{'ANNA': ['PAYTEAM']}}"
        )
    for user, names in groups.items():
        place = f"groups[{user!r:.40}]"
        if not isinstance(several(place, names, "names"), Collection):
            raise WrongType(f"{place} is {names!r:.100}; allowed is a list of names")


def dfhintra(given: Mapping[str, int]) -> tuple[int, int]:
    """The size of a control interval and the number of control intervals, as given or by default.

    Raises:
        UsageError: the text names the argument, its value and the allowed values.
    """
    names = ("ci_size", "control_intervals")
    for name in given:
        if name not in names:
            raise UsageError(f"dfhintra {name!r}: allowed are {' and '.join(names)}")
    ci_size, control_intervals = (given.get(name, int(REGION_DEFAULTS[name])) for name in names)
    low, high = LIMITS["ci_size_minimum"], LIMITS["ci_size_maximum"]
    if not low <= ci_size <= high:
        raise UsageError(f"dfhintra ci_size {ci_size}: allowed are {low} to {high} bytes")
    if control_intervals < _FEWEST:
        raise UsageError(f"dfhintra control_intervals {control_intervals}: at least {_FEWEST}; the first is CICS's own")
    return ci_size, control_intervals


def _access_list(given: Security, groups: Mapping[str, Collection[str]] | None) -> AccessList:
    def levels(lists: Mapping[str, Mapping[str, str]] | None) -> dict[str, dict[str, Access]] | None:
        if lists is None:
            return None
        return {who: {pattern: Access[level] for pattern, level in own.items()} for who, own in lists.items()}

    return AccessList(levels(given.queues), levels(given.commands), given.surrogates, given.users, groups)


_ASCII = "819"
"""The default code page of a region.yaml with GnuCOBOL programs, since these write ASCII."""


def from_region_file(file: RegionFile, overrides: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a region as region.yaml describes it; overrides win, DD cards and groups are added to."""
    from tdqsim.datasets import DataSetDirectory  # only directories need it

    arguments: dict[str, Any] = {
        "applid": file.applid,
        "sysid": file.sysid,
        "time_zone": file.time_zone,
        "code_page": file.code_page if file.cobol is None or "code_page" in file.model_fields_set else _ASCII,
        "seed": file.seed,
        "supplied_queues": file.supplied_queues == "YES",
        "dfhintra": file.dfhintra.model_dump(),
        "datasets": DataSetDirectory(file.datasets, file.gdg) if file.gdg else file.datasets or None,
        "handlers": file.handlers or None,
    }
    if file.cobol is not None:
        arguments["settings"] = {"cobol": {"directory": file.directory, **file.cobol.model_dump()}}
    given = overrides.get("security", SecurityOptions())
    policy: SecurityPolicy | str | None = file.policy or None
    if file.security is not None:
        policy = _access_list(file.security, given.groups if isinstance(given, SecurityOptions) else None)
    security = SecurityOptions(
        policy=policy,
        cmdsec=file.cmdsec,
        ressec=file.ressec,
        dfltuser=file.dfltuser,
        regionuserid=file.regionuserid,
    )
    start = StartOptions(type=file.start, tdintra=file.tdintra, grplist=file.grplist)
    system = SystemOptions(
        release=file.release, mxt=file.mxt, trigger_next=file.trigger_next, machine=file.machine or None
    )
    overrides |= {
        "security": given_over(given, security, "policy"),
        "start": given_over(overrides.get("start", StartOptions()), start, "type"),
        "system": given_over(overrides.get("system", SystemOptions()), system),
    }
    cards = {**file.dd, **overrides.pop("dd", {})}
    if "definitions" not in overrides:
        overrides["definitions"] = file.load_definitions()
    return {**arguments, **overrides, "dd": cards}
