"""Data set names, and the data-set directory whose files stand for the data sets on volumes.

A DSNAME is mapped to a file under a data-set directory as follows:

==========================  ==========================================================================
``HLQ.NAME``                the file ``HLQ.NAME``
``HLQ.LIB(MEMB)``           the file ``MEMB`` in the directory ``HLQ.LIB`` (a partitioned data set)
``HLQ.GDG.G0003V00``        the file ``HLQ.GDG.G0003V00`` (a generation by its absolute name)
``HLQ.GDG(0)``, ``(-1)``    the newest existing generation file, the one before it
``HLQ.GDG(+1)``             the generation after the newest; a new file
==========================  ==========================================================================

A generation group may have a limit: when a new generation exceeds it, the oldest files are deleted (roll-off with
SCRATCH). The directory itself is the catalog and is read each time. A name cannot lead out of the directory: it
contains only letters, digits, ``@ # $ -`` and periods, and symbolic links out of the directory are refused. A data set
created by name gets a label: one line of DCB parameters in ``.vtoc/<DSNAME>``, as a volume keeps a data set's DCB in
its VTOC, so that a later open need not specify it. Files named by path in a DD card get no label, because users do not
expect additional files in directories of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.core.named import NamedTuple
from tdqsim.core.symbolic_links import leads_out
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, parse_dcb
from tdqsim.datasets.errors import DatasetIOError, DsnameError, OpenError

_QUALIFIER = r"[A-Z@#$][A-Z0-9@#$-]*"
_MEMBER = r"[A-Z@#$][A-Z0-9@#$]*"
_RELATIVE = r"0|[+-][0-9]{1,4}"
_GENERATION = r"\.G([0-9]{4})V00"
_FORM = r"([^()]*)(?:\(([^()]*)\))?"
_VTOC = ".vtoc"


class DsName(NamedTuple):
    """The parts of a data set name.

    Attributes:
        name: the name without parentheses, up to 44 characters.
        member: member of a partitioned data set, up to 8 characters, or empty.
        generation: relative generation number, or None.
    """

    name: str
    member: str = ""
    generation: int | None = None

    def __str__(self) -> str:
        inner = self.member or ("" if self.generation is None else f"{self.generation:+d}" if self.generation else "0")
        return f"{self.name}({inner})" if inner else self.name


def parse_dsname(text: str) -> DsName:
    """Split a data set name into its parts and check them.

    Raises:
        DsnameError: it breaks a rule of data set names; the message says which.
    """
    match = re.fullmatch(_FORM, text.strip())
    if match is None:
        raise DsnameError(text[:80], "parentheses belong only around a member or generation at the end")
    name, inner = match[1], match[2]
    _check_name(text, name)
    if inner is None:
        return DsName(name)
    if re.fullmatch(_RELATIVE, inner):
        if len(name) > limit("gdg_base_maximum"):
            raise DsnameError(text, f"a generation group's name has at most {limit('gdg_base_maximum')} characters")
        return DsName(name, generation=int(inner))
    if not re.fullmatch(_MEMBER, inner) or len(inner) > limit("dsname_qualifier_maximum"):
        raise DsnameError(
            text[:80],
            f"{inner[:20]!r} is neither a member (1-8 of A-Z 0-9 @ # $, no digit first) nor a generation (0, -1, +1)",
        )
    return DsName(name, member=inner)


def _check_name(text: str, name: str) -> None:
    longest = limit("dsname_maximum")
    if not 1 <= len(name) <= longest:
        raise DsnameError(text[:80], f"a data set name has 1 to {longest} characters, not {len(name)}")
    for qualifier in name.split("."):
        if not re.fullmatch(_QUALIFIER, qualifier) or len(qualifier) > limit("dsname_qualifier_maximum"):
            raise DsnameError(
                text[:80],
                f"qualifier {qualifier[:20]!r}: each has 1-8 of A-Z 0-9 @ # $ and hyphen, and begins with A-Z @ # $",
            )


class DataSetDirectory:
    """The data sets under one directory.

    Args:
        root: the directory; it is created with the first data set.
        limits: the maximum number of generations, by the name of the generation group.

    Raises:
        DsnameError: a key is not the name of a generation group, or a limit is out of range.
    """

    @explains_wrong_types
    def __init__(self, root: Path | str, limits: Mapping[str, int] | None = None) -> None:
        self.root = Path(root)
        self._limits = dict(limits or {})
        longest, most = limit("gdg_base_maximum"), limit("gdg_limit_maximum")
        for base, generations in self._limits.items():
            if parse_dsname(base) != DsName(base) or len(base) > longest or not 1 <= generations <= most:
                raise DsnameError(
                    f"{base} LIMIT({generations})",
                    f"a generation group has a name of up to {longest} characters and a limit from 1 to {most}",
                )

    def path(self, dsname: DsName | str, *, output: bool = False) -> Path:
        """Return the file of a data set; of a member, the file in the library's directory.

        A relative generation is resolved at the time of the call: later, the same number may stand for another file.

        Args:
            dsname: the name.
            output: the file need not exist; its directories are created.

        Raises:
            DsnameError: not a data set name, no such generation, a library without a member, a member of no library, or
                a symbolic link that leads out of the directory.
        """
        dsname = parse_dsname(dsname) if isinstance(dsname, str) else dsname
        if output:
            self._make(self.root)
        if dsname.generation is not None:
            return self._inside(self.root / self._generation(dsname, output=output))
        path = self._inside(self.root / dsname.name)
        if not dsname.member:
            if path.is_dir():
                raise DsnameError(dsname.name, "is a partitioned data set; name a member, as in LIB(MEMBER)")
            return path
        if path.is_file():
            raise DsnameError(str(dsname), f"{dsname.name} is a sequential data set; it has no members")
        if output:
            self._make(path)
        return self._inside(path / dsname.member)

    def _inside(self, path: Path) -> Path:
        """Return the path after checking that no symbolic link in it leads out of the directory."""
        if leads_out(path, self.root):
            raise DsnameError(path.name, f"is a symbolic link that leads out of {self.root}")
        return path

    def members(self, name: str) -> list[str]:
        """Return the members of a partitioned data set, sorted."""
        path = self.root / parse_dsname(name).name
        return (
            sorted(entry.name for entry in path.iterdir() if re.fullmatch(_MEMBER, entry.name)) if path.is_dir() else []
        )

    def generations(self, base: str) -> list[str]:
        """Return the generation data sets of a group, oldest first."""
        return [f"{base}.G{number:04d}V00" for number in self._numbers(base)]

    def roll_off(self, base: str) -> list[str]:
        """Delete the oldest generations of a group beyond its limit; return their names, none without a limit.

        Raises:
            DatasetIOError: the system refuses to delete one.
        """
        maximum = self._limits.get(base)
        deleted = [] if maximum is None else self.generations(base)[:-maximum]
        for name in deleted:
            try:
                (self.root / name).unlink(missing_ok=True)
            except OSError as error:
                raise DatasetIOError(name, f"cannot be rolled off: {error.strerror}") from error
        return deleted

    def label(self, path: Path) -> Dcb:
        """Return the DCB in the label of the data set at ``path``; an empty one if there is no label.

        Raises:
            OpenError: the label cannot be read or understood.
        """
        label = self._label_path(path)
        if not (self.root / label.name).exists():
            return Dcb()  # the data set was deleted, so its label no longer applies
        try:
            with label.open("rb") as file:
                data = file.read(limit("label_bytes_maximum") + 1)
        except FileNotFoundError:
            return Dcb()
        except OSError as error:
            raise OpenError(label, f"the label cannot be read: {error.strerror}") from error
        if len(data) > limit("label_bytes_maximum"):
            raise OpenError(label, f"the label is longer than {limit('label_bytes_maximum')} bytes")
        return parse_dcb(data.decode("ascii", "replace").strip(), str(label))

    def write_label(self, path: Path, dcb: Dcb) -> None:
        """Store the DCB of a data set that has been created or rewritten.

        Raises:
            DatasetIOError: the label cannot be written.
        """
        label = self._inside(self._label_path(path))
        stored = Dcb(dcb.recfm, dcb.lrecl, dcb.blksize, dcb.control, 0, dcb.rdw_position, dcb.rdw_inclusive)
        temporary = label.with_name(f"{label.name}.{os.getpid()}.new")
        try:
            label.parent.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)  # a symbolic link of that name would be followed
            temporary.write_text(f"{stored.text}\n", "ascii")
            temporary.replace(label)
        except OSError as error:
            raise DatasetIOError(label, f"the label cannot be written: {error.strerror}") from error

    def _label_path(self, path: Path) -> Path:
        # Members share the label of their library.
        return self.root / _VTOC / path.relative_to(self.root).parts[0]

    def _numbers(self, base: str) -> list[int]:
        if not self.root.is_dir():
            return []
        matches = (
            re.fullmatch(_GENERATION, entry.name[len(base) :])
            for entry in self.root.iterdir()
            if entry.name.startswith(base)
        )
        return sorted(int(match[1]) for match in matches if match)

    def _generation(self, dsname: DsName, *, output: bool) -> str:
        numbers, relative = self._numbers(dsname.name), dsname.generation or 0
        if relative > 0:
            if not output:
                raise DsnameError(str(dsname), "a generation that does not exist yet can only be written")
            number = (numbers[-1] if numbers else 0) + relative
            if number > limit("generation_maximum"):
                raise DsnameError(str(dsname), f"generation numbers end at {limit('generation_maximum')}")
            return f"{dsname.name}.G{number:04d}V00"
        if -relative >= len(numbers):
            raise DsnameError(str(dsname), f"no such generation: the group has {len(numbers)} in {self.root}")
        return f"{dsname.name}.G{numbers[relative - 1]:04d}V00"

    def _make(self, path: Path) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OpenError(path, f"the directory cannot be created: {error.strerror}") from error
