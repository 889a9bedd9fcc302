"""A disk that loses what was not synced: record what a program writes to a directory, and make every image it may leave.

The system calls of the program are recorded by strace: writes, changes of size, names made, moved and removed, and
syncs. After a sync of a file its writes are on the disk, and so is the name of a new file; after a sync of a directory
its names are. A write through a descriptor that was opened with O_DSYNC is on the disk at once. Of everything else any
part may be missing, in any order: a write of a page is there or it is not.

The program puts marks into the recording by looking for files called ``/mark/...``, which do not exist.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

_CALLS = (
    "openat,close,lseek,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir,stat,newfstatat,statx"
)
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+|\?)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_CURRENT = "AT_FDCWD"


class Op(NamedTuple):
    """One change.

    Attributes:
        number: its place in time.
        kind: ``write`` or ``size`` of a file; ``make``, ``remove`` or ``move`` of a name in a directory.
        node: the file, or the directory; 0 is the one that is recorded.
        at: where it writes; the new size, negative less one when the file is cut there if it is longer.
        data: what it writes.
        name: the name in the directory.
        target: the file or directory that gets the name; for ``move`` the directory that it is moved to.
        to: the new name for ``move``; ``/`` where a directory is made.
    """

    number: int
    kind: str
    node: int
    at: int = 0
    data: bytes = b""
    name: str = ""
    target: int = 0
    to: str = ""


@dataclass
class Gap:
    """The time between two syncs, or two marks.

    Attributes:
        kept: the changes that are on the disk.
        pending: those that may be there or not.
        marks: the marks that the program has come to.
    """

    kept: list[Op]
    pending: list[Op]
    marks: list[str]


class _Node:
    """A file or a directory; a file has no names."""

    def __init__(self, number: int, *, directory: bool) -> None:
        self.number = number
        self.names: dict[str, _Node] | None = {} if directory else None


@dataclass
class _Open:
    """A descriptor, and where a write without a place of its own goes."""

    node: _Node
    path: str
    dsync: bool
    at: int = 0


class _Recording:
    """What has been followed so far."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        self.top = _Node(0, directory=True)
        self.open: dict[int, _Open] = {}
        self.kept: list[Op] = []
        self.pending: list[Op] = []
        self.marks: list[str] = []
        self.nodes = self.ops = 0

    def gap(self) -> Gap:
        return Gap(list(self.kept), list(self.pending), list(self.marks))

    def find(self, path: str) -> tuple[_Node | None, _Node | None, str]:
        """The directory of a path, what is there, and its name; nothing outside of what is recorded."""
        place = Path(path)
        if place != self.root and self.root not in place.parents:
            return None, None, ""
        node, parent = self.top, None
        parts = place.relative_to(self.root).parts
        for at, part in enumerate(parts):
            parent, found = node, (node.names or {}).get(part)
            if found is None:
                return (parent if at == len(parts) - 1 else None), None, part
            node = found
        return parent, node, place.name

    def make(self, parent: _Node, name: str, *, directory: bool) -> _Node:
        self.nodes += 1
        node = _Node(self.nodes, directory=directory)
        assert parent.names is not None
        parent.names[name] = node
        self.add("make", parent, name=name, target=node.number, to="/" if directory else "")
        return node

    def add(self, kind: str, node: _Node, *, synced: bool = False, **rest: Any) -> None:
        self.ops += 1
        (self.kept if synced else self.pending).append(Op(self.ops, kind, node.number, **rest))

    def sync(self, node: _Node) -> None:
        """A file with its name, or the names in a directory, are on the disk."""

        def meant(op: Op) -> bool:
            there = op.node == node.number or (op.kind == "move" and op.target == node.number)
            return there or (op.kind == "make" and op.target == node.number)

        self.kept += [op for op in self.pending if meant(op)]
        self.pending = [op for op in self.pending if not meant(op)]


def record(program: str, directory: Path, *arguments: str) -> str:
    """Run a Python program under strace, with ``directory`` as its first argument; the recording."""
    trace = directory.with_name(directory.name + ".trace")
    command = ["strace", "-f", "-xx", "-s", "100000000", "-e", f"trace={_CALLS}", "-o", str(trace)]
    done = subprocess.run(
        [*command, sys.executable, "-c", program, str(directory), *arguments], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return trace.read_text()


def gaps(trace: str, root: Path) -> Iterator[Gap]:
    """What the disk may be left with: one gap before each sync and each mark, and one at the end."""
    found = _Recording(str(root))
    for line in trace.splitlines():
        match = _LINE.match(line)
        if match is None or (match[3].startswith("-") and "\\x2f\\x6d\\x61\\x72\\x6b" not in match[2]):
            continue
        before = found.gap() if match[1] in ("fsync", "fdatasync") else None
        marks = len(found.marks)
        _follow(found, match[1], match[2], int(match[3]))
        if before is not None and before.pending and len(found.kept) != len(before.kept):
            yield before
        if len(found.marks) != marks:
            yield found.gap()
    yield found.gap()


def _texts(arguments: str) -> list[bytes]:
    return [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]


def _path(found: _Recording, directory: str, name: bytes) -> str:
    path = name.decode()
    if path.startswith("/"):
        return os.path.normpath(path)
    if directory == _CURRENT:
        return str(Path.cwd() / path)
    return str(Path(found.open[int(directory)].path) / path) if int(directory) in found.open else "/nowhere"


def _follow(found: _Recording, call: str, arguments: str, result: int) -> None:
    """Follow one system call."""
    texts = _texts(arguments)
    first = arguments.partition(",")[0]
    if call in ("stat", "newfstatat", "statx"):
        if texts and texts[0].startswith(b"/mark/"):
            found.marks.append(texts[0][6:].decode())
    elif call == "openat":
        _open(found, _path(found, first, texts[0]), arguments, result)
    elif call == "close":
        found.open.pop(int(first), None)
    elif call in ("mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir"):
        _name(found, call, arguments, texts)
    elif int(first) in found.open:
        _file(found, call, arguments, texts, found.open[int(first)], result)


def _open(found: _Recording, path: str, arguments: str, fd: int) -> None:
    parent, node, name = found.find(path)
    found.open.pop(fd, None)
    if node is None and parent is not None and "O_CREAT" in arguments:
        node = found.make(parent, name, directory=False)
    if node is not None:
        found.open[fd] = _Open(node, path, dsync="O_DSYNC" in arguments or "O_SYNC" in arguments)
        if "O_TRUNC" in arguments:
            found.add("size", node, at=-1)


def _file(found: _Recording, call: str, arguments: str, texts: list[bytes], opened: _Open, result: int) -> None:
    node = opened.node
    if call in ("fsync", "fdatasync"):
        found.sync(node)
    elif call == "ftruncate":
        found.add("size", node, at=-1 - int(arguments.split(",")[1]))
    elif call == "fallocate":
        _, _, offset, size = arguments.split(",")
        found.add("size", node, at=int(offset) + int(size))
    elif call == "lseek":
        opened.at = result
    else:
        at = int(arguments.rpartition(",")[2]) if call.startswith("p") else opened.at
        if not call.startswith("p"):
            opened.at += result
        for data in texts:
            found.add("write", node, synced=opened.dsync, at=at, data=data)
            at += len(data)


def _name(found: _Recording, call: str, arguments: str, texts: list[bytes]) -> None:
    directories = re.findall(r"(?:^|, )(AT_FDCWD|\d+)(?=, \")", arguments) or [_CURRENT, _CURRENT]
    places = [found.find(_path(found, *each)) for each in zip(directories, texts, strict=False)]
    parent, node, name = places[0]
    if parent is None or parent.names is None:
        return
    if call.startswith("mkdir"):
        found.make(parent, name, directory=True)
        return
    assert node is not None, arguments
    del parent.names[name]
    if call.startswith("rename"):
        target, _, to = places[1]
        assert target is not None
        assert target.names is not None
        target.names[to] = node
        found.add("move", parent, name=name, target=target.number, to=to)
    else:
        found.add("remove", parent, name=name)


def _apply(ops: Sequence[Op]) -> tuple[dict[int, bytearray], dict[int, dict[str, int]]]:
    """What changes make: the contents of files, and the names in directories; what has no place to go is lost."""
    files: dict[int, bytearray] = {}
    names: dict[int, dict[str, int]] = {0: {}}
    for op in sorted(ops):
        there = names.setdefault(op.node, {}) if op.kind in ("make", "remove", "move") else {}
        if op.kind == "make":
            there[op.name] = op.target
            names.setdefault(op.target, {}) if op.to else files.setdefault(op.target, bytearray())
        elif op.kind == "remove":
            there.pop(op.name, None)
        elif op.kind == "move":
            if op.name in there:
                names.setdefault(op.target, {})[op.to] = there.pop(op.name)
        else:
            content = files.setdefault(op.node, bytearray())
            if op.at < 0:
                del content[-1 - op.at :]
            else:
                content.extend(bytes(max(0, op.at + len(op.data) - len(content))))
                content[op.at : op.at + len(op.data)] = op.data
    return files, names


def images(gap: Gap, rng: random.Random, drawn: int) -> Iterator[tuple[str, list[Op]]]:
    """What may be on the disk: every prefix, each change missing, each alone, and so many drawn subsets.

    The order of the changes is kept. The same choice is given once.
    """
    many = len(gap.pending)
    everything = range(many)
    choices = [(f"the first {n}", set(range(n))) for n in range(many + 1)]
    choices += [(f"all but {n}", set(everything) - {n}) for n in everything]
    choices += [(f"only {n}", {n}) for n in everything]
    shares = [rng.random() for _ in range(drawn)]
    choices += [("drawn", {n for n in everything if rng.random() < share}) for share in shares]
    seen = set()
    for what, chosen in choices:
        if frozenset(chosen) not in seen:
            seen.add(frozenset(chosen))
            yield f"{what} of {many}", gap.kept + [op for n, op in enumerate(gap.pending) if n in chosen]


def leave(ops: Sequence[Op], place: Path) -> bytes:
    """Make what the disk was left with at another place; a value that is the same for the same image."""
    shutil.rmtree(place, ignore_errors=True)
    files, names = _apply(ops)
    image = sha256()

    def fill(directory: Path, node: int) -> None:
        directory.mkdir()
        for name, number in sorted(names.get(node, {}).items()):
            image.update(f"{directory.relative_to(place) / name} {len(files.get(number, ()))} ".encode())
            if number in files:
                image.update(files[number])
                (directory / name).write_bytes(files[number])
            else:
                fill(directory / name, number)

    fill(place, 0)
    return image.digest()
