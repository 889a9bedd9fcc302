"""The arguments of a region: their allowed values, their conversion, and their equivalents in region.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim.cics.kernel.security import Access, AccessList, SecurityPolicy
from tdqsim.core.codepage import CodePage
from tdqsim.errors import UsageError
from tdqsim.facts import LIMITS, REGION_DEFAULTS

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.kernel.machine import MachineAnswers
    from tdqsim.definitions.machine import Machine
    from tdqsim.definitions.regionfile import RegionFile, Security

_KEYS: Final = {"start": "start_type"}
"""The keys of region.yaml that differ from the names of the arguments."""
_DEFAULTS: Final = {
    **REGION_DEFAULTS,
    "start": "AUTO", "tdintra": "NOEMPTY", "cmdsec": "ASIS", "ressec": "ASIS", "trigger_next": "QZERO",
    "grplist": (),
}  # fmt: skip
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class RegionOptions:
    """Arguments of a region that a program may read back; :class:`~tdqsim.cics.region.Region` describes them.

    Attributes:
        sysid, default_user, region_user, release, cmdsec, ressec, tdintra, groups, settings, readonly: as given.
        codepage: the code page of text.
        zone: the time zone.
        open_data_sets: as given; False in a read-only region.
        mxt: the maximum number of tasks; None for no limit.
        trigger_next: as given.
    """

    sysid: str
    default_user: str
    region_user: str
    release: str
    codepage: CodePage
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

    return given if isinstance(given, Definitions) else Definitions.of(given)


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


def check_arguments(**given: object) -> None:
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
        key = _KEYS.get(name, name)
        try:
            read = getattr(RegionFile.model_validate({key: value}), key)
            if read != value:  # a file may have a keyword in lower case
                raise UsageError(f"{name} = {value!r}: must be {read}")
        except ValidationError as error:
            raise UsageError(f"{name} = {value!r:.80}: {error.errors()[0]['msg']}") from None


def check_groups(groups: Mapping[str, Collection[str]] | None) -> None:
    """Refuse groups that a security policy could not look up, or would take letter by letter.

    Raises:
        TypeError: the text names the argument, its value and the allowed form.
    """
    if groups is None:
        return
    if not isinstance(groups, Mapping):
        raise TypeError(
            f"groups is {groups!r:.100}; allowed is the groups of each user: groups={{'ANNA': ['PAYTEAM']}}"
        )
    for user, names in groups.items():
        if isinstance(names, str | bytes) or not isinstance(names, Collection):
            raise TypeError(f"groups[{user!r:.40}] is {names!r:.100}; allowed is a list of names of groups")


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
    """The arguments of a region as region.yaml describes it; overrides win, DD cards are added."""
    from tdqsim.datasets import DataSetDirectory  # only directories need it

    arguments: dict[str, Any] = {
        "applid": file.applid,
        "sysid": file.sysid,
        "timezone": file.time_zone,
        "default_user": file.default_user,
        "region_user": file.region_user,
        "cmdsec": file.cmdsec,
        "ressec": file.ressec,
        "codepage": file.code_page if file.cobol is None or "code_page" in file.model_fields_set else _ASCII,
        "release": file.release,
        "seed": file.seed,
        "supplied_queues": file.supplied == "YES",
        "start": file.start_type,
        "tdintra": file.tdintra,
        "dfhintra": file.dfhintra.model_dump(),
        "datasets": DataSetDirectory(file.datasets, file.gdg) if file.gdg else file.datasets or None,
        "handlers": file.handlers or None,
        "machine": file.machine or None,
        "mxt": file.mxt or None,
        "trigger_next": file.trigger_next,
        "grplist": file.grplist,
    }
    if file.cobol is not None:
        arguments["settings"] = {"cobol": {"directory": file.directory, **file.cobol.model_dump()}}
    if file.security is not None:
        arguments["security"] = _access_list(file.security, overrides.get("groups"))
    elif file.policy:
        arguments["security"] = file.policy
    cards = {**file.dd, **overrides.pop("dd", {})}
    if "definitions" not in overrides:
        overrides["definitions"] = file.load_definitions()
    return {**arguments, **overrides, "dd": cards}
