"""SYSOUT: output kept by class, one file for each data set, until it is purged."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tdqsim.core.codepage import CodePage
from tdqsim.datasets.dcb import Dcb, Disposition, PrintControl, RecordFormat
from tdqsim.datasets.errors import DsnameError, OpenError
from tdqsim.datasets.printing import render
from tdqsim.datasets.reader import DatasetReader, open_reader
from tdqsim.datasets.writer import DatasetWriter, open_writer

_CLASS = re.compile(r"[A-Z0-9]", re.ASCII)
_DDNAME = re.compile(r"[A-Z@#$][A-Z0-9@#$]{0,7}", re.ASCII)
_FILE = re.compile(r"([A-Z0-9])\.([0-9]{5,9})\.([A-Z0-9@#$]{1,8})\.(ASA|MACHINE|NONE)", re.ASCII)
_DEFAULT_CLASS = "A"
_KEPT_AS = Dcb(RecordFormat.RDW)


@dataclass(frozen=True, slots=True)
class SysoutDataset:
    """One SYSOUT data set on the spool.

    Attributes:
        number: the data set's number on this spool, from 1.
        sysout_class: A-Z or 0-9.
        ddname: the DD through which it was written.
        control: the kind of control character in the first byte of each record.
        path: the file (a descriptor word before each record, no blocks).
    """

    number: int
    sysout_class: str
    ddname: str
    control: PrintControl
    path: Path


class SysoutSpool:
    """The spool of one region: a directory, or a temporary directory that ``close()`` removes."""

    def __init__(self, root: Path | str | None = None) -> None:
        self._directory = None if root is None else Path(root)
        self._temporary: Path | None = None
        self._writers: dict[Path, DatasetWriter] = {}
        self._last = 0

    def open(self, sysout_class: str, ddname: str, dcb: Dcb | None = None) -> DatasetWriter:
        """Create a SYSOUT data set; ``*`` is class A.

        Raises:
            OpenError: the class or DD name is not valid, or the spool cannot be written.
        """
        letter = _DEFAULT_CLASS if sysout_class == "*" else sysout_class
        if not _CLASS.fullmatch(letter):
            raise OpenError(
                "SYSOUT", f"class {sysout_class[:20]!r}: a class is one of A-Z, 0-9, or * for {_DEFAULT_CLASS}"
            )
        if not _DDNAME.fullmatch(ddname):
            raise OpenError("SYSOUT", f"DD name {ddname[:20]!r}: 1-8 of A-Z 0-9 @ # $, no digit first")
        control = (dcb.control if dcb else None) or PrintControl.NONE
        if self._last == 0:  # continue after the data sets of an earlier run
            self._last = max((dataset.number for dataset in self.datasets()), default=0)
        self._last += 1
        path = self._root() / f"{letter}.{self._last:05d}.{ddname}.{control.name}"
        writer = open_writer(path, _KEPT_AS, disposition=Disposition.NEW)
        self._writers = {path: writer for path, writer in self._writers.items() if writer.is_open}
        self._writers[path] = writer
        return writer

    def datasets(self, sysout_class: str | None = None) -> list[SysoutDataset]:
        """Return the data sets on the spool in the order of their creation, all or those of one class."""
        root = self._temporary or self._directory
        if root is None or not root.is_dir():
            return []
        matches = ((_FILE.fullmatch(entry.name), entry) for entry in root.iterdir())
        datasets = [
            SysoutDataset(int(match[2]), match[1], match[3], PrintControl[match[4]], entry)
            for match, entry in matches
            if match
        ]
        return sorted(
            (dataset for dataset in datasets if sysout_class in {None, dataset.sysout_class}),
            key=lambda dataset: dataset.number,
        )

    def look(self, dataset: SysoutDataset) -> DatasetReader:
        """Return a reader of a data set, which may still be open for output."""
        writer = self._writers.get(dataset.path)
        if writer is not None and writer.is_open:
            writer.trunc()
        # The writer has locked the file exclusively (DISP=NEW); the spool's own reader ignores that lock.
        return open_reader(dataset.path, _KEPT_AS, locked=False)

    def read(self, dataset: SysoutDataset) -> Iterator[bytes]:
        """Yield the records of a data set; see :meth:`look`."""
        with self.look(dataset) as reader:
            yield from reader

    def printed(self, dataset: SysoutDataset, code_page: CodePage | str) -> Iterator[str]:
        """Yield the lines that a data set prints."""
        return render(self.read(dataset), dataset.control, code_page)

    def purge(self, dataset: SysoutDataset) -> None:
        """Remove a data set from the spool.

        Raises:
            DsnameError: it is still open for output.
        """
        writer = self._writers.get(dataset.path)
        if writer is not None and writer.is_open:
            raise DsnameError(dataset.path, "is still open for output; close it first")
        dataset.path.unlink(missing_ok=True)

    def close(self, *, clean: bool = True) -> None:
        """Close the data sets that are still open, and remove a temporary spool.

        Args:
            clean: False loses the last, unwritten block of each data set, as a kill does.
        """
        for writer in self._writers.values():
            if clean:
                writer.close()
            else:
                writer.abandon()
        self._writers.clear()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _root(self) -> Path:
        if self._directory is None:
            self._temporary = self._temporary or Path(tempfile.mkdtemp(prefix="tdqsim-spool-"))
            return self._temporary
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # private, like the store in which it lies
        except OSError as error:
            raise OpenError(self._directory, f"the spool cannot be created: {error.strerror}") from error
        return self._directory
