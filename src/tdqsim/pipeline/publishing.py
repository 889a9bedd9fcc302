"""Files that take their name when they are whole: a task that is killed, or run twice, leaves no half of one."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tdqsim.errors import DatasetError

__all__ = ["alive", "left_behind", "no_room", "publish_json", "published"]


@contextmanager
def published(path: Path) -> Iterator[Path]:
    """A name to write to; at the end of the block the file takes its real name, whole or not at all.

    Raises:
        DatasetError: there is no room for it; or what the block raised as one, by the file's real name.
    """
    fresh = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        fresh.replace(path)
    except OSError as error:
        if (told := no_room(path, error)) is None:
            raise
        raise told from error
    except DatasetError as error:
        if str(fresh) not in str(error):
            raise
        raise DatasetError(str(error).replace(str(fresh), str(path))) from error
    finally:
        fresh.unlink(missing_ok=True)


def no_room(path: Path, error: OSError) -> DatasetError | None:
    """The error that says what to do when a disk is full; None when it was something else."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    return DatasetError(f"{path}: there is no room for it; make some and run it again: what is finished is kept")


def publish_json(path: Path, value: Any) -> None:
    """Write JSON under a name, whole or not at all."""
    with published(path) as fresh:
        fresh.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def left_behind(name: str) -> bool:
    """Whether a hidden file is one of :func:`published`'s, of this machine, and of a process that is gone."""
    head, _, rest = name.rpartition(f".{socket.gethostname()}.")
    pid = rest.partition(".")[0]
    return bool(head) and pid.isdecimal() and not alive(int(pid))


def alive(pid: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
