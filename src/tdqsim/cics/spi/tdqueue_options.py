"""The readers of the options of INQUIRE TDQUEUE for each type of queue.

The table ``facts/inquire.tsv`` (after INQUIRE TDQUEUE, IBM Docs) lists the queue types to which each option applies,
and the value for all other types: NOTAPPLIC, -1 or blanks. This module adds the functions that read the values. A
browse skips queues that the user may not read. Source: INQUIRE TDQUEUE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final

from tdqsim.cics.kernel.security import XDCT
from tdqsim.cics.kernel.signature import Signature
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import hint_of
from tdqsim.cics.spi.inquiry import Attribute, Constant, Reader, ResourceType
from tdqsim.facts import ATTRIBUTE_CVDA, INQUIRE_OPTIONS, Cvda, InquireOption
from tdqsim.facts.info import Value
from tdqsim.facts.inquiries import TdqueueInfo

# -- readers of the options -------------------------------------------------------------------------------------------

_NAME_LENGTH: Final = 4
_NO_FACILITY: Final = "FILE"
_CVDA: Final[Mapping[tuple[str, str], Cvda]] = {key: cvda for key, (_option, cvda) in ATTRIBUTE_CVDA.items()}
"""(attribute, value) of a definition -> CVDA."""


def _atiuserid(queue: IntraTdQueue, region: RegionData) -> str:
    if not queue.transid:
        return ""
    if region.security is None:
        return str(region.options.dfltuser)  # tasks run for the default user if no security manager is active
    return str(queue.userid or region.options.dfltuser)


def _indoubt(queue: IntraTdQueue, _region: RegionData) -> Cvda:
    return Cvda.NOTAPPLIC if queue.wait == "NO" else _CVDA["WAITACTION", queue.waitaction]


_INTRA: Final[Mapping[str, Reader[IntraTdQueue]]] = {
    "ATIFACILITY": lambda queue, _region: _CVDA["ATIFACILITY", queue.atifacility],
    "ATITERMID": lambda queue, _region: "" if queue.atifacility == _NO_FACILITY else queue.facilityid,
    "ATITRANID": Attribute("transid"),
    "ATIUSERID": _atiuserid,
    "INDOUBT": _indoubt,
    "INDOUBTWAIT": lambda queue, _region: _CVDA["WAIT", queue.wait],
    "RECOVSTATUS": lambda queue, _region: _CVDA["RECOVSTATUS", queue.recovstatus],
}


def split_dsname(dsname: str) -> tuple[str, str]:
    """DSNAME and MEMBER of a definition's DSNAME: ``X(MEMB)`` is a member, ``X(+1)`` a generation and no member."""
    name, _, inside = dsname.partition("(")
    inside = inside.removesuffix(")")
    if not inside or inside.lstrip("+-").isdigit():
        return dsname, ""
    return name, inside


def _attribute(attribute: str) -> Reader[ExtraTdQueue]:
    def read(queue: ExtraTdQueue, _region: RegionData) -> Cvda:
        return _CVDA.get((attribute, getattr(queue.definition, attribute.lower())), Cvda.NOTAPPLIC)

    return read


_UNKNOWN: Final = -1  # the null value: with BLOCKSIZE(0) or RECORDSIZE(0) the data set decides

_EXTRA: Final[Mapping[str, Reader[ExtraTdQueue]]] = {
    "BLOCKFORMAT": _attribute("BLOCKFORMAT"),
    "BLOCKSIZE": lambda queue, _region: queue.definition.blocksize or _UNKNOWN,
    "DATABUFFERS": Attribute("definition.databuffers"),
    "DDNAME": Attribute("definition.dd"),
    "DISPOSITION": _attribute("DISPOSITION"),
    "DSNAME": lambda queue, _region: split_dsname(queue.definition.dsname)[0],
    "ERROROPTION": _attribute("ERROROPTION"),
    "IOTYPE": _attribute("TYPEFILE"),
    "MEMBER": lambda queue, _region: split_dsname(queue.definition.dsname)[1],
    "PRINTCONTROL": _attribute("PRINTCONTROL"),
    "RECORDFORMAT": _attribute("RECORDFORMAT"),
    "RECORDLENGTH": lambda queue, _region: queue.definition.recordsize or _UNKNOWN,
    "REWIND": _attribute("REWIND"),
    "SYSOUTCLASS": Attribute("definition.sysoutclass"),
}


def _of_the_data_set(option: str, defined: Reader[ExtraTdQueue]) -> Reader[ExtraTdQueue]:
    """Reads an attribute of the open data set if it has it, else the attribute of the definition."""

    def read(queue: ExtraTdQueue, region: RegionData) -> Value:
        ask = getattr(queue.file, "inquire", None) if queue.openstatus is Cvda.OPEN else None
        actual: Value | None = ask(option) if ask is not None else None
        return defined(queue, region) if actual is None else actual

    return read


def _when_open(reader: Reader[ExtraTdQueue]) -> Reader[ExtraTdQueue]:
    return lambda queue, region: reader(queue, region) if queue.openstatus is Cvda.OPEN else Cvda.NOTAPPLIC


_OF_TYPE: Final[Mapping[str, Mapping[str, Reader[Any]]]] = {
    "INTRA": _INTRA,
    "EXTRA": {option: _of_the_data_set(option, defined) for option, defined in _EXTRA.items()},
    "INDIRECT": {},
    "REMOTE": {},
}
"""The readers of options that are not simply the queue's attribute with the option's name, such as ``numitems``."""


def _own_reader(option: str, queue_type: str) -> Reader[Any]:
    """The reader of an option that applies to the queue type."""
    if option == "TYPE":
        return Constant(Cvda[queue_type])
    if option.lower() in Signature._fields:
        return Attribute(f"signature.{option.lower()}")
    return _OF_TYPE[queue_type].get(option) or Attribute(option.lower())


def _reader(option: InquireOption, queue_type: str) -> Reader[Any]:
    if queue_type not in option.types:
        return Constant(option.otherwise or "")
    reader = _own_reader(option.name, queue_type)
    return _when_open(reader) if option.closed_notapplic and queue_type == "EXTRA" else reader


@cache
def _readers(queue_type: str) -> Mapping[str, Reader[TdQueue]]:
    """The readers of all options for queues of a type."""
    return {name: _reader(option, queue_type) for name, option in INQUIRE_OPTIONS["TDQUEUE"].items()}


TDQUEUE: Final = ResourceType[str, TdQueue, TdqueueInfo](
    "TDQUEUE",
    TdqueueInfo,
    _readers,
    keys=lambda region: region.tdqueues,
    find=lambda region, name: region.tdqueues.get(name),
    identity=lambda queue: queue.name.ljust(_NAME_LENGTH),
    type_of=attrgetter("type"),
    protection=lambda queue, _region: (XDCT, queue.name),
    hint=lambda region, name: hint_of(region.tdqueues, name),
)
