"""Files whose I/O fails where a test says so."""

from __future__ import annotations

import errno
import os

from tdqsim.datasets._files import open_raw


class FailingFile:
    """A raw file; reads that touch ``bad`` fail with EIO, writes beyond ``room`` bytes with ENOSPC or ``write_error``."""

    def __init__(self, raw, bad=range(0), room=None, write_error=errno.ENOSPC):
        self._raw, self._bad, self._at = raw, bad, 0
        self.room, self.write_error = room, write_error

    def fileno(self):
        return self._raw.fileno()

    def seek(self, offset):
        self._at = offset
        return self._raw.seek(offset)

    def truncate(self, size):
        return self._raw.truncate(size)

    def close(self):
        self._raw.close()

    def read(self, size):
        if any(place in self._bad for place in (self._at, self._at + size - 1)) or (
            self._bad and self._at <= self._bad.start < self._at + size
        ):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        data = self._raw.read(size)
        self._at += len(data)
        return data

    def write(self, data):
        if self.room is not None:
            left = self.room - self._at
            if left <= 0:
                raise OSError(self.write_error, os.strerror(self.write_error))
            data = bytes(data)[:left]
        written = self._raw.write(data)
        self._at += written
        return written


class Opener:
    """An opener that hands out one FailingFile and keeps it."""

    def __init__(self, **faults):
        self._faults = faults
        self.file = None

    def __call__(self, path, flags):
        self.file = FailingFile(open_raw(path, flags), **self._faults)
        return self.file
