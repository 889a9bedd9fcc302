"""The values of INQUIRE TDQUEUE that come from an open data set rather than from the definition.

Each value is None if the data set adds nothing to the definition. Source: INQUIRE TDQUEUE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tdqsim.datasets import Allocation, Dcb, Disposition, PrintControl, RecordFormat
from tdqsim.facts import LIMITS, Cvda

_CONTROL_CVDAS: Final = {
    PrintControl.ASA: Cvda.ASACTL,
    PrintControl.MACHINE: Cvda.MCHCTL,
    PrintControl.NONE: Cvda.NOCTL,
}
_DISPOSITION_CVDAS: Final = {
    Disposition.MOD: Cvda.MOD,
    Disposition.OLD: Cvda.OLD,
    Disposition.NEW: Cvda.OLD,
    Disposition.SHR: Cvda.SHARE,
}


def actual(option: str, allocation: Allocation, dcb: Dcb | None) -> str | int | None:
    """The value of an option.

    Args:
        option: its name.
        allocation: the DD of the open data set.
        dcb: its data control block; None if unknown.
    """
    if option in _OF_DD:
        return _OF_DD[option](allocation)
    if option in _OF_DCB and dcb is not None and dcb.recfm is not None:
        return _OF_DCB[option](dcb)
    return None


def _recordformat(dcb: Dcb) -> Cvda:
    if dcb.recfm is RecordFormat.U:
        return Cvda.NOTAPPLIC  # undefined length; the option has only FIXED and VARIABLE
    return Cvda.FIXED if dcb.recfm is not None and dcb.recfm.fixed else Cvda.VARIABLE


def _blockformat(dcb: Dcb) -> Cvda:
    return Cvda.BLOCKED if dcb.recfm is not None and dcb.recfm.blocked else Cvda.UNBLOCKED


def _printcontrol(dcb: Dcb) -> Cvda:
    return _CONTROL_CVDAS[dcb.control or PrintControl.NONE]


def _number(value: int) -> int | None:
    return min(value, LIMITS["length_option_maximum"]) or None


def _disposition(allocation: Allocation) -> Cvda | None:
    disposition = allocation.card.disp
    return None if disposition is None else _DISPOSITION_CVDAS[disposition]


def _dsname(allocation: Allocation) -> str | None:
    card = allocation.card
    if card.is_dummy:
        return "DUMMY"
    if card.sysout:
        return ""
    name, _, inside = card.dsname.partition("(")
    if inside and _is_generation(inside):
        path = allocation.path
        return name if path is None else path.name  # the absolute generation of +1, 0 or -1
    return name or None


def _is_generation(inside: str) -> bool:
    return inside.removesuffix(")").lstrip("+-").isdigit()


def _member(allocation: Allocation) -> str | None:
    if allocation.card.path is not None:
        return None  # the file stands for the data set of the definition
    inside = allocation.card.dsname.partition("(")[2].removesuffix(")")
    return "" if _is_generation(inside) else inside


def _sysoutclass(allocation: Allocation) -> str:
    return allocation.card.sysout


_OF_DD: Final[dict[str, Callable[[Allocation], str | int | None]]] = {
    "DISPOSITION": _disposition,
    "DSNAME": _dsname,
    "MEMBER": _member,
    "SYSOUTCLASS": _sysoutclass,
}
_OF_DCB: Final[dict[str, Callable[[Dcb], str | int | None]]] = {
    "BLOCKFORMAT": _blockformat,
    "BLOCKSIZE": lambda dcb: _number(dcb.blksize),
    "DATABUFFERS": lambda dcb: _number(dcb.bufno),
    "PRINTCONTROL": _printcontrol,
    "RECORDFORMAT": _recordformat,
    "RECORDLENGTH": lambda dcb: _number(dcb.lrecl),
}
