"""Torn commits: the files as a power failure may leave them if nothing was synced."""

from __future__ import annotations

from pathlib import Path

_PAGE = 4096

Image = dict[str, bytes]


def image_of(environment: Path) -> Image:
    """The present contents of the files of one LMDB environment."""
    return {file.name: file.read_bytes() for file in sorted(environment.iterdir()) if file.is_file()}


def tear(environment: Path, before: Image) -> int:
    """Undo half of what was written since an image: every other page, and the second half of the last one.

    Returns:
        The number of written bytes that were undone.
    """
    undone = 0
    for name, old in before.items():
        file = environment / name
        new = file.read_bytes()
        torn = _torn(old, new)
        undone += sum(one != other for one, other in zip(torn, new, strict=True))
        with file.open("r+b") as opened:  # in place: the file may still be mapped
            opened.write(torn)
    return undone


def _torn(old: bytes, new: bytes) -> bytes:
    old = old.ljust(len(new), b"\0")
    torn = bytearray(new)
    changed = [at for at in range(0, len(new), _PAGE) if old[at : at + _PAGE] != new[at : at + _PAGE]]
    for at in changed[1::2]:  # pages may reach the disk in any order
        torn[at : at + _PAGE] = old[at : at + _PAGE]
    if changed:  # a page itself may be written in part
        end = min(changed[-1] + _PAGE, len(new))
        differs = [at for at in range(changed[-1], end) if old[at] != new[at]]
        half = differs[len(differs) // 2]
        torn[half:end] = old[half:end]
    return bytes(torn)
