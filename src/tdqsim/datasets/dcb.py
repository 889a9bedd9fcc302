"""Record formats and the data control block (DCB): the parameters that are needed to find the records of a file.

z/OS completes a data control block at open from three sources, in this order of precedence: the program (here: the
queue's definition), the DD statement, the data set's label. :meth:`Dcb.or_else` is one step of that merge.
"""

from __future__ import annotations

import re
from enum import Enum

from tdqsim.core.named import NamedTuple
from tdqsim.datasets._limits import limit
from tdqsim.datasets.errors import DcbError

_RDW = limit("record_descriptor")
_BDW = limit("block_descriptor")
LRECL_X = limit("lrecl_x")


class RecordFormat(Enum):
    """The format of the records in a file.

    F, FB, V, VB, VS, VBS and U are the access method's formats, with the block and record descriptor words that a
    binary transfer keeps. RDW and RDWLE are files with a record descriptor word before each record and no blocks; the
    length is big-endian (as FTP with SITE RDW sends it) or little-endian. LF, CRLF and NL are lines of text with that
    separator (NL is X'15', the line end of EBCDIC text).

    Attributes:
        fixed: F or FB.
        variable: V, VB, VS or VBS: records with descriptor words in blocks with descriptor words.
        spanned: VS or VBS: a record may continue in the next block.
        blocked: FB, VB or VBS: several records in a block.
        separator: the bytes that end each line; empty for formats that are not lines.
    """

    F = "F"
    FB = "FB"
    V = "V"
    VB = "VB"
    VS = "VS"
    VBS = "VBS"
    U = "U"
    RDW = "RDW"
    RDWLE = "RDWLE"
    LF = "LF"
    CRLF = "CRLF"
    NL = "NL"

    def __init__(self, word: str) -> None:
        self.fixed = word in ("F", "FB")
        self.variable = word in ("V", "VB", "VS", "VBS")
        self.spanned = word in ("VS", "VBS")
        self.blocked = word in ("FB", "VB", "VBS")
        self.separator = {"LF": b"\n", "CRLF": b"\r\n", "NL": b"\x15"}.get(word, b"")


class PrintControl(Enum):
    """The kind of the control character in the first byte of each record.

    It is part of the data: writing and reading keep it and do not interpret it.
    """

    NONE = ""
    ASA = "A"
    MACHINE = "M"


class Disposition(Enum):
    """DISP of a DD, DISPOSITION of a queue. SHR shares the data set, OLD and MOD do not; MOD writes after the end."""

    OLD = "OLD"
    SHR = "SHR"
    MOD = "MOD"
    NEW = "NEW"


class ErrorOption(Enum):
    """EROPT: the action of a reader at a damaged block."""

    ABE = "ABE"  #: raise BlockError
    SKP = "SKP"  #: skip it (ERROROPTION SKIP)
    ACC = "ACC"  #: deliver its contents (ERROROPTION IGNORE)


class Dcb(NamedTuple):
    """A data control block; a parameter that is not specified is None or 0.

    Attributes:
        recfm: the record format.
        lrecl: F: the record length. V: the longest record with its 4-byte RDW. VS, VBS: the longest record with an RDW,
            or 32768 for LRECL=X. RDW: the largest length in an RDW. Lines: the longest line. 0: no limit.
        blksize: the longest block; V: with its 4-byte BDW. 0: no limit on input, a size chosen by the system on output.
        control: the kind of control character in the first byte of each record.
        bufno: buffers of BLKSIZE read ahead, 1-255 (DATABUFFERS).
        rdw_position: RDW formats: the position of the length in the four bytes, 0 or 2.
        rdw_inclusive: RDW formats: the length counts its own four bytes.
    """

    recfm: RecordFormat | None = None
    lrecl: int = 0
    blksize: int = 0
    control: PrintControl | None = None
    bufno: int = 0
    rdw_position: int | None = None
    rdw_inclusive: bool | None = None

    def or_else(self, other: Dcb) -> Dcb:
        """Return this block, with the parameters that it lacks taken from ``other``.

        Print control is taken from the same block as RECFM, because both are letters of that one parameter.
        """
        merged = {name: getattr(self, name) or getattr(other, name) for name in self._fields}
        merged["control"] = self.control if self.recfm else other.control
        for name in ("rdw_position", "rdw_inclusive"):  # 0 and False are specified values here
            own = getattr(self, name)
            merged[name] = own if own is not None else getattr(other, name)
        return Dcb(**merged)

    def checked(self, path: object = "DCB", *, output: bool = False) -> Dcb:
        """Return the block with all defaults filled in, after checking that its parameters are consistent.

        Args:
            path: the name of the data set in messages.
            output: the data set is to be written: choose a block size if it is 0.

        Raises:
            DcbError: a required parameter is missing, or one is out of range or contradicts another.
        """
        where = str(path)
        if self.recfm is None:
            raise DcbError(
                where,
                f"no record format is known; give RECFM as one of {_FORMATS}, or say detect: YES for input",
            )
        _check_ranges(self, where)
        if self.recfm.fixed:
            return _checked_fixed(self, where)
        if self.recfm.variable:
            return _checked_variable(self, where, output=output)
        return _checked_plain(self, where)

    @property
    def text(self) -> str:
        """The parameters as in a DD statement: ``RECFM=FBA,LRECL=133,BLKSIZE=1330``."""
        return ",".join(f"{key}={value}" for key, value in _parameters(self) if value)

    @property
    def data_maximum(self) -> int:
        """The most bytes of data in a record, without descriptor words (of a checked block)."""
        assert self.recfm is not None
        if self.recfm.spanned and self.lrecl == LRECL_X:
            return limit("lrecl_x_record_maximum") - _RDW
        if self.recfm.variable:
            return self.lrecl - _RDW
        if self.recfm in _RDW_FORMATS:
            return self.lrecl - (_RDW if self.rdw_inclusive else 0)
        return self.lrecl

    def length_fault(self, length: int) -> str:
        """Return why a record of so many bytes of data does not fit RECFM and LRECL; empty when it does.

        Used for output whose file does not have the RECFM of the DCB: SYSOUT and DUMMY.
        """
        if self.recfm is None or not self.lrecl:
            return ""
        if self.recfm.fixed:
            return "" if length == self.lrecl else f"a record of {length} bytes; all have {self.lrecl}"
        return "" if length <= self.data_maximum else f"a record of {length} bytes; the longest has {self.data_maximum}"


def _parameters(dcb: Dcb) -> list[tuple[str, str]]:
    lrecl = "X" if dcb.lrecl == LRECL_X else str(dcb.lrecl or "")
    recfm = f"{dcb.recfm.value}{(dcb.control or PrintControl.NONE).value}" if dcb.recfm else ""
    return [
        ("RECFM", recfm),
        ("LRECL", lrecl),
        ("BLKSIZE", str(dcb.blksize or "")),
        ("BUFNO", str(dcb.bufno or "")),
        ("RDWPOS", "" if dcb.rdw_position is None else str(dcb.rdw_position)),
        ("RDWINCL", "" if dcb.rdw_inclusive is None else "YES" if dcb.rdw_inclusive else "NO"),
    ]


def _check_ranges(dcb: Dcb, where: str) -> None:
    for name, value, top in (
        ("LRECL", dcb.lrecl, _LRECL_MAXIMUM[dcb.recfm or RecordFormat.F]),
        ("BLKSIZE", dcb.blksize, limit("cics_length_maximum")),
        ("BUFNO", dcb.bufno, limit("buffers_maximum")),
    ):
        if not 0 <= value <= top:
            formats = dcb.recfm.value if dcb.recfm else ""
            raise DcbError(where, f"{name} is {value}; with RECFM={formats} it is at most {top} (0: not given)")
    if dcb.rdw_position not in {None, 0, 2}:
        raise DcbError(where, f"the length of a record is at byte 0 or 2 of its RDW, not {dcb.rdw_position}")


def _checked_fixed(dcb: Dcb, where: str) -> Dcb:
    if not dcb.lrecl:
        raise DcbError(where, "fixed-length records need LRECL, 1-32760")
    blksize = dcb.blksize or (dcb.lrecl if not dcb.recfm or not dcb.recfm.blocked else _good_block(dcb.lrecl))
    if blksize % dcb.lrecl:
        raise DcbError(where, f"BLKSIZE {blksize} is no multiple of LRECL {dcb.lrecl}, as fixed-length records need")
    if dcb.recfm is RecordFormat.F and blksize != dcb.lrecl:
        raise DcbError(where, f"BLKSIZE {blksize} is not LRECL {dcb.lrecl}: RECFM=F has one record a block, FB several")
    return _complete(dcb, dcb.lrecl, blksize)


def _checked_variable(dcb: Dcb, where: str, *, output: bool) -> Dcb:
    assert dcb.recfm is not None
    lrecl, blksize, smallest = dcb.lrecl, dcb.blksize, _RDW + 1
    if not lrecl:
        top = limit("spanned_record_maximum" if dcb.recfm.spanned else "variable_record_maximum")
        lrecl = min(blksize - _BDW, top) if blksize and not dcb.recfm.spanned else top
    if lrecl < smallest:
        raise DcbError(where, f"LRECL is {lrecl}; it counts the 4-byte RDW, so variable-length records need 5 or more")
    if not blksize and output:
        blksize = _variable_block(lrecl, blocked=dcb.recfm.blocked)
    if blksize and blksize < _BDW + smallest:
        raise DcbError(where, f"BLKSIZE is {blksize}; it counts the 4-byte BDW and an RDW, so it is 9 or more")
    if blksize and not dcb.recfm.spanned and blksize < lrecl + _BDW:
        raise DcbError(where, f"BLKSIZE {blksize} is less than LRECL {lrecl} and the 4-byte BDW: {lrecl + _BDW}")
    return _complete(dcb, lrecl, blksize)


def _checked_plain(dcb: Dcb, where: str) -> Dcb:
    assert dcb.recfm is not None
    top = _LRECL_MAXIMUM[dcb.recfm]
    if dcb.recfm is RecordFormat.U:
        blksize = dcb.blksize or dcb.lrecl or limit("block_maximum")
        if dcb.lrecl > blksize:
            raise DcbError(where, f"LRECL {dcb.lrecl} is more than BLKSIZE {blksize}: with RECFM=U a block is a record")
        return _complete(dcb, dcb.lrecl or blksize, blksize)
    if dcb.recfm in _RDW_FORMATS and 0 < dcb.lrecl < _RDW:
        raise DcbError(where, f"LRECL is {dcb.lrecl}; it counts the 4-byte RDW, so it is 4 or more")
    return _complete(dcb, dcb.lrecl or top, dcb.blksize or limit("half_track_block"))


def _complete(dcb: Dcb, lrecl: int, blksize: int) -> Dcb:
    headed = dcb.recfm in _RDW_FORMATS
    return dcb._replace(
        lrecl=lrecl,
        blksize=blksize,
        control=dcb.control or PrintControl.NONE,
        bufno=dcb.bufno or limit("buffers_default"),
        rdw_position=(dcb.rdw_position or 0) if headed else None,
        rdw_inclusive=(dcb.rdw_inclusive is not False) if headed else None,
    )


_RDW_FORMATS = frozenset({RecordFormat.RDW, RecordFormat.RDWLE})
_FORMATS = ", ".join(member.value for member in RecordFormat)
_LRECL_MAXIMUM = {
    member: limit("fixed_record_maximum")
    if member.fixed
    else LRECL_X
    if member.spanned
    else limit("variable_record_maximum")
    if member.variable
    else limit("rdw_record_maximum")
    if member in _RDW_FORMATS
    else limit("line_maximum")
    for member in RecordFormat
}


def _good_block(lrecl: int) -> int:
    """Return the block size that the system would choose for fixed records: the largest that fits half a track."""
    return max(limit("half_track_block") // lrecl, 1) * lrecl


def _variable_block(lrecl: int, *, blocked: bool) -> int:
    if not blocked:
        return min(lrecl + _BDW, limit("block_maximum"))
    return min(max(limit("half_track_block"), lrecl + _BDW), limit("block_maximum"))


_RECFM = r"(?:(F|FB|FS|FBS|V|VB|VS|VBS|U)([AM]?)|(RDW|RDWLE|LF|CRLF|NL)([AM]?))"
_STANDARD = {"FS": "F", "FBS": "FB"}
_KEYS = ("RECFM", "LRECL", "BLKSIZE", "BUFNO", "RDWPOS", "RDWINCL")


def parse_recfm(text: str, where: str = "RECFM") -> tuple[RecordFormat, PrintControl]:
    """Parse RECFM as written in JCL, such as ``FBA``; ``FBS`` is read as FB.

    Args:
        text: the parameter as written in JCL.
        where: the name of the place in messages.

    Raises:
        DcbError: there is no such format.
    """
    match = re.fullmatch(_RECFM, text.strip().upper())
    if match is None:
        raise DcbError(where, f"RECFM {text[:20]!r} is not one of {_FORMATS}, with A or M behind it for print control")
    letters = match[1] or match[3]
    return RecordFormat(_STANDARD.get(letters, letters)), PrintControl(match[2] or match[4] or "")


def parse_dcb(text: str, where: str = "DCB") -> Dcb:
    """Parse DCB parameters as written in JCL: ``RECFM=FB,LRECL=80,BLKSIZE=8000``, in any order.

    Args:
        text: the parameters as written in JCL.
        where: the name of the place in messages.

    Raises:
        DcbError: a parameter is unknown or specified twice, or its value is not allowed.
    """
    parameters: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, _, value = part.partition("=")
        key = key.strip().upper()
        if key not in _KEYS or key in parameters:
            raise DcbError(where, f"{part[:40]!r}: not one of {', '.join(_KEYS)}, or given twice")
        parameters[key] = value.strip().upper()
    recfm, control = parse_recfm(parameters["RECFM"], where) if "RECFM" in parameters else (None, None)
    inclusive = parameters.get("RDWINCL")
    if inclusive not in {None, "YES", "NO"}:
        raise DcbError(where, f"RDWINCL is {inclusive!r}; allowed are YES and NO")
    return Dcb(
        recfm=recfm,
        control=control,
        lrecl=LRECL_X if parameters.get("LRECL") == "X" else _number(parameters, "LRECL", where) or 0,
        blksize=_number(parameters, "BLKSIZE", where) or 0,
        bufno=_number(parameters, "BUFNO", where) or 0,
        rdw_position=_number(parameters, "RDWPOS", where),
        rdw_inclusive=None if inclusive is None else inclusive == "YES",
    )


def _number(parameters: dict[str, str], key: str, where: str) -> int | None:
    text = parameters.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise DcbError(where, f"{key} is {text[:20]!r}; it must be a number")
    return int(text)
