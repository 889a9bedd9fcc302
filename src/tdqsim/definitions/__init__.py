"""Resource definitions: read from YAML, DFHCSDUP text, listings, DFHDCT macros and CL, checked, and written out again.

The result is always :class:`Definitions`, an immutable value that can be installed into any number of regions or
systems.
"""

from __future__ import annotations

from tdqsim.definitions._resource import Resource
from tdqsim.definitions.connection import Connection
from tdqsim.definitions.define import (
    define_connection,
    define_dtaq,
    define_tdqueue,
    define_terminal,
    define_transaction,
    supplied_definitions,
)
from tdqsim.definitions.dtaq import Dtaq
from tdqsim.definitions.group import Definitions, Entry, Note, load_definitions, parse_definitions
from tdqsim.definitions.other import OtherResource
from tdqsim.definitions.tdqueue import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, Tdqueue
from tdqsim.definitions.terminal import Terminal
from tdqsim.definitions.transaction import Transaction

__all__ = [
    "Connection",
    "Definitions",
    "Dtaq",
    "Entry",
    "ExtraQueue",
    "IndirectQueue",
    "IntraQueue",
    "Note",
    "OtherResource",
    "RemoteQueue",
    "Resource",
    "Tdqueue",
    "Terminal",
    "Transaction",
    "define_connection",
    "define_dtaq",
    "define_tdqueue",
    "define_terminal",
    "define_transaction",
    "load_definitions",
    "parse_definitions",
    "supplied_definitions",
]
