"""Definitions written in Python: the same attributes and checks as in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._build import build, resource_types, without_type_remote
from tdqsim.definitions._fields import Name
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.group import Definitions
from tdqsim.errors import DefinitionError, Problem
from tdqsim.facts import LIMITS, SUPPLIED_QUEUES, SuppliedQueue

if TYPE_CHECKING:  # a kind's class is imported when a resource of it is made
    from tdqsim.definitions.attributes import (
        ConnectionAttributes,
        DtaqAttributes,
        ExtraQueueAttributes,
        FileAttributes,
        IndirectQueueAttributes,
        IntraQueueAttributes,
        ProgramDefinitionAttributes,
        RemoteQueueAttributes,
        TerminalAttributes,
        TranclassAttributes,
        TransactionAttributes,
        TsmodelAttributes,
    )
    from tdqsim.definitions.connection import Connection
    from tdqsim.definitions.dtaq import Dtaq
    from tdqsim.definitions.file import File
    from tdqsim.definitions.program import ProgramDefinition
    from tdqsim.definitions.tdqueue import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, Tdqueue
    from tdqsim.definitions.terminal import Terminal
    from tdqsim.definitions.tranclass import Tranclass
    from tdqsim.definitions.transaction import Transaction
    from tdqsim.definitions.tsmodel import Tsmodel

_SUPPLIED_GROUP = "DFHDCTG"


def _define(kind: str, written: Mapping[str, Any]) -> Resource:
    attributes = dict(written)
    group = attributes.pop("group", "") or ""
    resource, faults = build(kind, without_type_remote(kind, attributes), group)
    if resource is None or faults:
        name = attributes.get("dtaq" if kind == "DTAQ" else "name", "")
        title = f"{kind}({name})" if name else kind
        raise DefinitionError(
            [Problem("<python>", 0, title, fault.attribute, fault.value, fault.message) for fault in faults]
        )
    return resource


def define_resource(kind: str, /, **attributes: Any) -> Resource:
    """Make a definition of a resource type that a CSD may hold from its attributes in lower case.

    Args:
        kind: the type, such as ``TDQUEUE``. One that a region does not simulate, such as ``MAPSET``, keeps its
            attributes as text.
        attributes: ``name``, ``group`` and the attributes of the type.

    Raises:
        DefinitionError: there is no such type; otherwise as :func:`define_tdqueue`.
    """
    if kind not in resource_types():
        hint = did_you_mean(kind, resource_types()) or f"; allowed are {', '.join(resource_types())}"
        raise DefinitionError([Problem("<python>", 0, "", "", kind, f"is not a resource type{hint}")])
    return _define(kind, attributes)


def is_group_name(name: object) -> bool:
    """Whether a group or a list of a CSD may have this name: 1 to 8 characters of A-Z 0-9 @ # $."""
    return Name(LIMITS["group_name_length"]).accepts(name)


def is_user_id(name: object) -> bool:
    """Whether a user of CICS may have this id: 1 to 8 characters of A-Z 0-9 @ # $."""
    return Name(LIMITS["user_id_length"], "userid").accepts(name)


@overload
def define_tdqueue(**attributes: Unpack[IntraQueueAttributes]) -> IntraQueue: ...
@overload
def define_tdqueue(**attributes: Unpack[ExtraQueueAttributes]) -> ExtraQueue: ...
@overload
def define_tdqueue(**attributes: Unpack[IndirectQueueAttributes]) -> IndirectQueue: ...
@overload
def define_tdqueue(**attributes: Unpack[RemoteQueueAttributes]) -> RemoteQueue: ...
def define_tdqueue(**attributes: Any) -> Tdqueue:
    """Make a TDQUEUE definition from the attributes of DEFINE TDQUEUE, in lower case.

    ``define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", triggerlevel=5)``

    Args:
        attributes: ``name``, ``type`` (INTRA, EXTRA or INDIRECT), or ``remotesystem`` (with ``type`` REMOTE or none),
            and the attributes of the type: see ``help(tdqsim.definitions.IntraQueue)`` and so on. Keywords may be in
            lower case.

    Returns:
        An IntraQueue, ExtraQueue, IndirectQueue or RemoteQueue; immutable, for any number of regions.

    Raises:
        DefinitionError: an attribute is unknown, out of range, missing, or in conflict with another; all are listed.
    """
    return cast("Tdqueue", _define("TDQUEUE", attributes))


def define_transaction(**attributes: Unpack[TransactionAttributes]) -> Transaction:
    """Make a TRANSACTION definition from its attributes in lower case; see ``help(tdqsim.definitions.Transaction)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Transaction", _define("TRANSACTION", attributes))


def define_terminal(**attributes: Unpack[TerminalAttributes]) -> Terminal:
    """Make a TERMINAL definition from its attributes in lower case; see ``help(tdqsim.definitions.Terminal)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Terminal", _define("TERMINAL", attributes))


def define_connection(**attributes: Unpack[ConnectionAttributes]) -> Connection:
    """Make a CONNECTION definition from its attributes in lower case; see ``help(tdqsim.definitions.Connection)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Connection", _define("CONNECTION", attributes))


def define_tsmodel(**attributes: Unpack[TsmodelAttributes]) -> Tsmodel:
    """Make a TSMODEL definition from its attributes in lower case; see ``help(tdqsim.definitions.Tsmodel)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Tsmodel", _define("TSMODEL", attributes))


def define_tranclass(**attributes: Unpack[TranclassAttributes]) -> Tranclass:
    """Make a TRANCLASS definition from its attributes in lower case; see ``help(tdqsim.definitions.Tranclass)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Tranclass", _define("TRANCLASS", attributes))


def define_program(**attributes: Unpack[ProgramDefinitionAttributes]) -> ProgramDefinition:
    """A PROGRAM definition from its attributes in lower case.

    ``help(tdqsim.definitions.ProgramDefinition)`` tells them.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("ProgramDefinition", _define("PROGRAM", attributes))


def define_file(**attributes: Unpack[FileAttributes]) -> File:
    """Make a FILE definition from its attributes in lower case; see ``help(tdqsim.definitions.File)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("File", _define("FILE", attributes))


def define_dtaq(**attributes: Unpack[DtaqAttributes]) -> Dtaq:
    """Make a data queue definition from the keywords of CRTDTAQ in lower case; see ``help(tdqsim.definitions.Dtaq)``.

    Raises:
        DefinitionError: as :func:`define_tdqueue`.
    """
    return cast("Dtaq", _define("DTAQ", attributes))


def supplied_definitions() -> Definitions:
    """The definitions of the queues in DFHDCTG, the group that CICS supplies."""
    return Definitions.of(_supplied(queue) for queue in SUPPLIED_QUEUES.values())


def _supplied(queue: SuppliedQueue) -> Tdqueue:
    common: dict[str, Any] = {"name": queue.name, "group": _SUPPLIED_GROUP, "description": queue.purpose}
    if queue.type == "INDIRECT":
        return define_tdqueue(type="INDIRECT", indirectname=queue.indirectname, **common)
    if queue.type == "INTRA":
        return define_tdqueue(type="INTRA", triggerlevel=1, **common)
    common["disposition"] = queue.disposition
    recordsize = queue.recordsize or LIMITS["supplied_extra_recordsize"]
    return define_tdqueue(
        **common,
        type="EXTRA",
        ddname=queue.ddname,
        typefile="OUTPUT",
        databuffers=1,
        recordformat="VARIABLE",
        blockformat="UNBLOCKED",
        recordsize=recordsize,
        blocksize=recordsize + LIMITS["bdw_length"],
    )
