"""File control: keyed files, their alternate indexes, and browsing them."""

from __future__ import annotations

from tdqsim.cics.files.datafile import DataFile, Path
from tdqsim.cics.files.table import Files

__all__ = ["DataFile", "Files", "Path"]
