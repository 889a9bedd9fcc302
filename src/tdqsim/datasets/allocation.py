"""DD cards and allocations: from a DD name to an open data set, as z/OS does at open.

An :class:`Allocation` is a DD that exists in the region: it opens the data set behind it, one open at a time, and
merges the data control block from the definition, the card and the label. A :class:`DDTable` holds the allocations of
a region by name: those of its DD cards, and dynamic ones made from a DSNAME or SYSOUTCLASS.

A data set that does not exist is created when it is opened for output, regardless of DISP: z/OS would refuse SHR and
OLD, but tests do not allocate files in advance.

Every region has DDs, but few use SYSOUT: the spool and the internal reader are imported when one is first opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tdqsim.core.symbolic_links import stays_here
from tdqsim.datasets._files import is_data_set
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, Disposition, ErrorOption, RecordFormat, parse_dcb
from tdqsim.datasets.dsname import DataSetDirectory, DsName, parse_dsname
from tdqsim.datasets.errors import BlockError, DatasetFault, DatasetInUse, DcbError, OpenError
from tdqsim.datasets.reader import ConcatenatedReader, DatasetReader, DummyReader, open_reader
from tdqsim.datasets.space import Space, parse_space
from tdqsim.datasets.writer import DatasetWriter, DummyWriter, open_writer

if TYPE_CHECKING:
    from tdqsim.datasets.jobs import JobLog
    from tdqsim.datasets.spool import SysoutSpool

_DDNAME = re.compile(r"[A-Z@#$][A-Z0-9@#$]{0,7}", re.ASCII)
_DUMMIES = frozenset({"DUMMY", "NULLFILE"})
_INTRDR = "INTRDR"
_NOTHING = Dcb()
_OpenT = TypeVar("_OpenT", "DatasetReader", "DatasetWriter")
_CLASS = re.compile(r"[A-Z0-9*]", re.ASCII)
_TARGETS = ("path", "dsname", "dummy", "sysout")
_SPOOL = "spool"
_JOBS = "jobs"
_KEYS = (*_TARGETS, "writer", "recfm", "lrecl", "blksize", "bufno", "rdwpos", "rdwincl", "disp", "space", "free",
         "detect", "concatenation")  # fmt: skip


@dataclass(frozen=True, slots=True)
class DDCard:
    """One DD statement. Exactly one of path, dsname, dummy and sysout says where the data is.

    Attributes:
        name: the DD name, 1-8 characters; empty for the further members of a concatenation.
        path: a file; written, it stays in its directory: a symbolic link that leads out is refused.
        dsname: a data set name under the data-set directory; ``DUMMY`` and ``NULLFILE`` are the same as ``dummy``.
        dummy: no data set: reads return the end of data at once, written records are discarded.
        sysout: SYSOUT class, A-Z, 0-9 or ``*``; for output only. A mapping may use ``(A,INTRDR)`` as JCL does.
        writer: with ``sysout``: ``INTRDR`` makes it the internal reader.
        dcb: the DCB parameters of the card; those of a definition override them.
        disp: DISP; None: the disposition of the definition applies.
        space: the space that the output may take.
        free_close: FREE=CLOSE: the first close deallocates the DD.
        detect: for input. True: if RECFM is not known from elsewhere, it is detected from the file's contents (see
            :func:`~tdqsim.datasets.detect`). False: fixed records are not even checked for descriptor words.
        concatenation: data sets read after this one.
    """

    name: str = ""
    path: Path | None = None
    dsname: str = ""
    dummy: bool = False
    sysout: str = ""
    writer: str = ""
    dcb: Dcb = _NOTHING
    disp: Disposition | None = None
    space: Space | None = None
    free_close: bool = False
    detect: bool | None = None
    concatenation: tuple[DDCard, ...] = ()

    def __post_init__(self) -> None:
        if self.name and not _DDNAME.fullmatch(self.name):
            raise OpenError(self.where, f"DD name {self.name[:20]!r}: 1-8 of A-Z 0-9 @ # $, no digit first")
        targets = [name for name in _TARGETS if getattr(self, name)]
        if len(targets) != 1:
            raise OpenError(self.where, f"give one of {', '.join(_TARGETS)}; given: {', '.join(targets) or 'none'}")
        if self.writer not in {"", _INTRDR} or (self.writer and not self.sysout):
            raise OpenError(self.where, f"writer {self.writer[:20]!r}: allowed is {_INTRDR}, together with sysout")
        if self.sysout and not _CLASS.fullmatch(self.sysout):
            raise OpenError(self.where, f"SYSOUT class {self.sysout[:20]!r}: a class is one of A-Z, 0-9, or *")
        if self.dsname and not self.is_dummy:
            _parse_dsname(self.dsname)
        if len(self.concatenation) >= limit("concatenation_maximum"):
            raise OpenError(self.where, f"at most {limit('concatenation_maximum')} data sets can be concatenated")
        if any(card.concatenation or not (card.path or card.dsname or card.dummy) for card in self.concatenation):
            raise OpenError(self.where, "only data sets can be concatenated, in one list")

    @property
    def where(self) -> str:
        """``DD NAME``, for messages."""
        return f"DD {self.name or '(concatenated)'}"

    @property
    def is_dummy(self) -> bool:
        """Whether the DD is DUMMY, in any of its forms."""
        return self.dummy or self.dsname in _DUMMIES

    @classmethod
    def parse(cls, text: str) -> DDCard:
        """Parse ``NAME=FILE`` of a command line, with DCB parameters after commas: ``IN=/data/in,RECFM=FB,LRECL=80``.

        A file name may contain commas, but not one that is followed by a DCB parameter.
        """
        name, equals, rest = text.partition("=")
        if not equals or not rest or not name.strip():
            raise OpenError(f"DD {text[:40]}", "write it as NAME=FILE, with DCB parameters after commas if need be")
        comma = re.search(r",(?=(?:RECFM|LRECL|BLKSIZE|BUFNO|RDWPOS|RDWINCL)=)", rest, re.IGNORECASE)
        path, dcb = (rest[: comma.start()], rest[comma.end() :]) if comma else (rest, "")
        return cls(name.strip().upper(), path=Path(path), dcb=parse_dcb(dcb, f"DD {name}"))

    @classmethod
    def from_mapping(cls, name: str, card: Mapping[str, object], base: Path | None = None) -> DDCard:
        """Build a card from the ``dd`` section of a YAML file; a relative path is relative to ``base``.

        Raises:
            OpenError: an unknown key or a value that is not allowed; the message names both.
        """
        where = f"DD {name or '(concatenated)'}"
        for key in card:
            if key not in _KEYS:
                raise OpenError(where, f"unknown key {str(key)[:30]!r}; allowed are {', '.join(_KEYS)}")
        rest = card.get("concatenation", ())
        if not isinstance(rest, list | tuple) or not all(isinstance(item, Mapping) for item in rest):
            raise OpenError(where, "concatenation is a list of data sets, each as a DD card without a name")
        text = {key: _scalar(where, key, value) for key, value in card.items() if key != "concatenation"}
        path = text.get("path")
        sysout, comma, writer = text.get("sysout", "").removeprefix("(").removesuffix(")").partition(",")
        return cls(
            name=name,
            path=(base / path if base else Path(path)) if path else None,
            dsname=text.get("dsname", ""),
            dummy=_flag(where, "dummy", text.get("dummy", "NO")),
            sysout=sysout,
            writer=writer if comma else text.get("writer", ""),
            dcb=_mapped_dcb(where, text),
            disp=_disposition(where, text["disp"]) if "disp" in text else None,
            space=_space(where, text["space"]) if "space" in text else None,
            free_close=_flag(where, "free", text.get("free", "NO"), yes="CLOSE"),
            detect=_flag(where, "detect", text["detect"]) if "detect" in text else None,
            concatenation=tuple(cls.from_mapping("", item, base) for item in rest),
        )


class Spooling:
    """The targets of SYSOUT: the spool, and the log of the internal reader. Each is created when first used.

    Args:
        root: the directory of both.
        time_ns: returns the time at which a job is submitted.
        page: the code page of job cards.
    """

    def __init__(self, root: Path, time_ns: Callable[[], int], page: str = "037") -> None:
        self._root = root
        self._time_ns = time_ns
        self.page = page

    @cached_property
    def spool(self) -> SysoutSpool:
        """The SYSOUT data sets, by class."""
        from tdqsim.datasets.spool import SysoutSpool  # noqa: PLC0415  (see above)

        return SysoutSpool(self._root / _SPOOL)

    @cached_property
    def jobs(self) -> JobLog:
        """The jobs that were submitted to the internal reader."""
        from tdqsim.datasets.jobs import JobLog  # noqa: PLC0415  (see above)

        return JobLog(self._time_ns, root=self._root / _JOBS)

    def close(self, *, clean: bool = True) -> None:
        """Close the data sets that are still open on the spool; if not clean, lose their buffers, as a kill does."""
        if _SPOOL in vars(self):
            self.spool.close(clean=clean)


class Allocation:
    """A DD of the region: one data set, which can be open only once at a time."""

    def __init__(
        self, card: DDCard, directory: DataSetDirectory | None = None, spooling: Spooling | None = None
    ) -> None:
        self.card = card
        self._directory = directory
        self._spooling = spooling
        self._opened: DatasetReader | DatasetWriter | None = None
        self._owner = ""
        # A relative generation is resolved once: it stays the same data set as long as it is allocated.
        self._paths: dict[DDCard, Path] = {}

    @property
    def is_open(self) -> bool:
        """Whether the data set is open through this DD."""
        return self._opened is not None and self._opened.is_open

    @property
    def owner(self) -> str:
        """The name passed at the last open."""
        return self._owner

    @property
    def dsname(self) -> DsName | None:
        """The data set name; None for a path, SYSOUT or DUMMY."""
        return _parse_dsname(self.card.dsname) if self.card.dsname and not self.card.is_dummy else None

    @property
    def path(self) -> Path | None:
        """The file of the first data set; None for SYSOUT, DUMMY, or a data set that does not exist yet."""
        if self.card.is_dummy or self.card.sysout:
            return None
        try:
            path = self._path(self.card, output=False)
        except DatasetFault:
            return None
        return path if is_data_set(path) else None

    def open_input(
        self,
        definition: Dcb = _NOTHING,
        *,
        backward: bool = False,
        disposition: Disposition = Disposition.SHR,
        owner: str = "",
        eropt: ErrorOption = ErrorOption.ABE,
        on_error: Callable[[BlockError], None] | None = None,
    ) -> DatasetReader:
        """Open for input.

        Args:
            definition: the DCB parameters of the program; they override those of the card and the label.
            backward: TYPEFILE RDBACK.
            disposition: used when the card has no DISP.
            owner: the name of the caller, for the message of a second open.
            eropt: the action at a damaged block.
            on_error: called with the errors of damaged blocks that are not raised.

        Raises:
            OpenError: the data set cannot be opened; the classes DcbError, DatasetInUse and DsnameError tell why.
        """
        self._claim(owner)
        card = self.card
        if card.is_dummy:
            return self._keep(DummyReader(definition.or_else(card.dcb)), owner)
        if card.sysout:
            raise OpenError(card.where, "SYSOUT can only be written")
        if backward and card.concatenation:
            raise OpenError(card.where, "a concatenation cannot be read backward")
        how = partial(open_reader, backward=backward, eropt=eropt, on_error=on_error)
        return self._keep(self._read_through(how, definition, card.disp or disposition), owner)

    def look(
        self, definition: Dcb = _NOTHING, *, backward: bool = False, eropt: ErrorOption = ErrorOption.ABE
    ) -> DatasetReader:
        """Return a reader for browsing: it takes no lock, and works while the data set is open elsewhere.

        Raises:
            OpenError: there is nothing to read (no file, SYSOUT), or it cannot be read.
        """
        card = self.card
        if card.is_dummy:
            return DummyReader(definition.or_else(card.dcb))
        if card.sysout:
            raise OpenError(card.where, "SYSOUT is read on the spool")
        how = partial(open_reader, backward=backward, eropt=eropt, locked=False)
        return self._read_through(how, definition, card.disp or Disposition.SHR)

    def _read_through(
        self, how: Callable[..., DatasetReader], definition: Dcb, disposition: Disposition
    ) -> DatasetReader:
        card = self.card
        parts = [
            (self._path(each, output=False), self._input_dcb(each, definition), each.disp or disposition)
            for each in (card, *card.concatenation)
            if not each.is_dummy
        ]
        if card.concatenation:
            _check_alike([(path, dcb) for path, dcb, _ in parts])
        check = card.detect is not False
        ways = [partial(how, path, dcb, disposition=disp, check_words=check) for path, dcb, disp in parts]
        return ConcatenatedReader(ways) if len(ways) > 1 else ways[0]()

    def open_output(
        self, definition: Dcb = _NOTHING, *, disposition: Disposition = Disposition.SHR, owner: str = ""
    ) -> DatasetWriter:
        """Open for output.

        Args:
            definition: the DCB parameters of the program; they override those of the card and the label.
            disposition: used when the card has no DISP.
            owner: the name of the caller, for the message of a second open.

        Raises:
            OpenError: the data set cannot be opened; the classes DcbError, DatasetInUse and DsnameError tell why.
        """
        self._claim(owner)
        card = self.card
        dcb = definition.or_else(card.dcb)
        if card.is_dummy:
            return self._keep(DummyWriter(dcb), owner)
        if card.sysout:
            return self._keep(self._open_sysout(dcb), owner)
        if card.concatenation:
            raise OpenError(card.where, "a concatenation can only be read")
        disposition = card.disp or disposition
        path = self._path(card, output=True)
        dcb, label = self._with_label(card, path, dcb)
        if disposition is Disposition.MOD:
            _check_label(path, dcb, label)
        writer = open_writer(path, dcb, disposition=disposition, space=card.space, partitioned=bool(self._member))
        self._remember(card, path, writer)
        return self._keep(writer, owner)

    @property
    def _member(self) -> str:
        return self.dsname.member if self.dsname else ""

    @property
    def is_there(self) -> bool:
        """Whether its data set exists, for output; True for DUMMY and SYSOUT."""
        return self.card.is_dummy or bool(self.card.sysout) or self._path(self.card, output=True).exists()

    @property
    def freed(self) -> bool:
        """Whether a DD with FREE=CLOSE has been closed: it cannot be opened again."""
        return self.card.free_close and self._opened is not None and not self.is_open

    def _claim(self, owner: str) -> None:
        if self.is_open:
            holder = f" for {self._owner}" if self._owner else ""
            caller = f" by {owner}" if owner else ""
            raise DatasetInUse(self.card.where, f"is open{holder}; a DD can be opened{caller} only when it is closed")
        if self.freed:
            raise OpenError(self.card.where, "was freed when it was closed (FREE=CLOSE); allocate it again")

    def _keep(self, opened: _OpenT, owner: str) -> _OpenT:
        self._opened, self._owner = opened, owner
        return opened

    def _path(self, card: DDCard, *, output: bool) -> Path:
        if card.path is not None:
            try:
                return stays_here(card.path) if output else card.path
            except OSError as error:
                raise OpenError(card.path, str(error.strerror)) from error
        if self._directory is None:
            raise OpenError(card.where, f"there is no data-set directory to find {card.dsname} in; give a path")
        path = self._paths.get(card)
        if path is None:
            name = _parse_dsname(card.dsname)
            path = self._directory.path(name, output=output)
            if name.generation is not None:
                self._paths[card] = path
        return path

    def _with_label(self, card: DDCard, path: Path, dcb: Dcb) -> tuple[Dcb, Dcb]:
        label = self._directory.label(path) if self._directory and card.path is None else Dcb()
        return dcb.or_else(label), label

    def _input_dcb(self, card: DDCard, definition: Dcb) -> Dcb:
        path = self._path(card, output=False)
        dcb, label = self._with_label(card, path, definition.or_else(card.dcb))
        _check_label(path, dcb, label)
        if not card.detect or dcb.recfm is not None:
            return dcb
        from tdqsim.datasets._detect import detect  # noqa: PLC0415  (slow to import; few cards ask for it)

        return dcb.or_else(detect(path).dcb)

    def _remember(self, card: DDCard, path: Path, writer: DatasetWriter) -> None:
        if card.path is None and self._directory is not None:
            try:
                self._directory.write_label(path, writer.dcb)
                name = _parse_dsname(card.dsname)
                if name.generation is not None and name.generation > 0:
                    self._directory.roll_off(name.name)
            except BaseException:
                writer.close()
                raise

    def _open_sysout(self, dcb: Dcb) -> DatasetWriter:
        if self._spooling is None:
            raise OpenError(self.card.where, "there is no spool for SYSOUT here")
        if self.card.writer == _INTRDR:
            from tdqsim.datasets.intrdr import InternalReader  # noqa: PLC0415  (see above)

            return InternalReader(self._spooling.jobs, self._spooling.page, dcb)
        return self._spooling.spool.open(self.card.sysout, self.card.name, dcb)


class DDTable:
    """The DDs of a region by name."""

    def __init__(
        self,
        cards: Iterable[DDCard] = (),
        directory: DataSetDirectory | None = None,
        spooling: Spooling | None = None,
    ) -> None:
        self._directory = directory
        self._spooling = spooling
        self._allocations: dict[str, Allocation] = {}
        for card in cards:
            self.allocate(card)

    def __iter__(self) -> Iterator[Allocation]:
        return iter(tuple(self._allocations.values()))

    def get(self, ddname: str) -> Allocation | None:
        """Return the allocation of a DD name, or None."""
        return self._allocations.get(ddname)

    def allocate(self, card: DDCard) -> Allocation:
        """Add a DD: from a card, or dynamically for a queue with DSNAME or SYSOUTCLASS.

        Raises:
            DatasetInUse: a DD of that name exists.
        """
        if not card.name:
            raise OpenError(card.where, "a DD needs a name")
        if card.name in self._allocations:
            raise DatasetInUse(card.where, "is allocated already; a DD name refers to one data set")
        allocation = self._allocations[card.name] = Allocation(card, self._directory, self._spooling)
        return allocation

    def free(self, ddname: str) -> None:
        """Remove a DD (dynamic deallocation); an unknown name is ignored.

        Raises:
            DatasetInUse: the DD is open.
        """
        allocation = self._allocations.get(ddname)
        if allocation is not None and allocation.is_open:
            raise DatasetInUse(
                allocation.card.where, f"is open for {allocation.owner or 'another user'}; close it first"
            )
        self._allocations.pop(ddname, None)


def _parse_dsname(text: str) -> DsName:
    return parse_dsname(text)


def _space(where: str, text: str) -> Space:
    return parse_space(text, where)


def _check_label(path: Path, dcb: Dcb, label: Dcb) -> None:
    """Check that the parameters for an existing data set do not contradict its label."""
    if label.recfm is None or dcb.recfm is None:
        return
    if _family(dcb.recfm) != _family(label.recfm):
        raise DcbError(path, f"RECFM={dcb.recfm.value}, but the data set is RECFM={label.recfm.value}")
    if label.recfm.fixed and dcb.lrecl != label.lrecl:
        raise DcbError(path, f"LRECL={dcb.lrecl}, but the data set's records have {label.lrecl}")
    if label.blksize and dcb.blksize != label.blksize:
        raise DcbError(path, f"BLKSIZE={dcb.blksize}, but the data set's is {label.blksize}; leave it out or give that")


def _check_alike(parts: list[tuple[Path, Dcb]]) -> None:
    """Check that concatenated data sets, which are read as one, exist and have the same RECFM and LRECL.

    Those with records of variable length may have different LRECL, but the largest must come first.
    """
    first = parts[0][1]
    for path, dcb in parts:
        if not is_data_set(path):
            raise OpenError(path, "does not exist or is not a file; every concatenated data set must be there")
        same = dcb.recfm and first.recfm and _family(dcb.recfm) == _family(first.recfm)
        if not same or (dcb.recfm and dcb.recfm.fixed and dcb.lrecl != first.lrecl):
            raise DcbError(path, f"{dcb.text} cannot be concatenated to {first.text}: RECFM or LRECL differ")
        if dcb.recfm and dcb.recfm.value.startswith("V") and 0 < first.lrecl < dcb.lrecl:
            cure = f"put it first, or give the first one LRECL={dcb.lrecl}"
            raise DcbError(path, f"{dcb.text} cannot be concatenated to {first.text}: its LRECL is larger; {cure}")


def _family(recfm: RecordFormat) -> str:
    """Return the format without blocking: F and FB, for example, are the same."""
    return recfm.value.rstrip("B")


def _scalar(where: str, key: str, value: object) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, str | int):
        return str(value)
    raise OpenError(where, f"{key} is {str(value)[:40]!r}; it must be one word or number")


def _flag(where: str, key: str, text: str, yes: str = "YES") -> bool:
    if text.upper() in {yes, "NO"}:
        return text.upper() == yes
    raise OpenError(where, f"{key} is {text[:20]!r}; allowed are {yes} and NO")


def _disposition(where: str, text: str) -> Disposition:
    try:
        return Disposition(text.upper())
    except ValueError:
        allowed = ", ".join(member.value for member in Disposition)
        raise OpenError(where, f"DISP is {text[:20]!r}; allowed are {allowed}") from None


def _mapped_dcb(where: str, text: Mapping[str, str]) -> Dcb:
    keys = ("recfm", "lrecl", "blksize", "bufno", "rdwpos", "rdwincl")
    for key in keys:
        if "," in text.get(key, ""):
            raise OpenError(where, f"{key} is {text[key][:20]!r}; it must be one word or number")
    return parse_dcb(",".join(f"{key.upper()}={text[key]}" for key in keys if key in text), where)
