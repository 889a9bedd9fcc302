"""IBM i data queues: a system, its jobs, the data queue APIs with their byte layouts, locks, authority and messages."""

from __future__ import annotations

from tdqsim.ibmi._change import AUTOMATIC_RECLAIM, ENFORCE_DATA_QUEUE_LOCKS, Change
from tdqsim.ibmi._cl_queue import RTVDTAQXCL
from tdqsim.ibmi._cl_variables import ClVariable
from tdqsim.ibmi._declare import DECLARATIONS, Declaration
from tdqsim.ibmi._dts import datetime_to_dts, dts_to_datetime
from tdqsim.ibmi._entry_lines import SeedEntry, dump_entries, parse_seed, seed_entries, take_entries
from tdqsim.ibmi._error_code import ErrorCode, ErrorReport
from tdqsim.ibmi._errors import JobEnded, ParameterError
from tdqsim.ibmi._lock_manager import LockEntry
from tdqsim.ibmi._objects import Library
from tdqsim.ibmi._qsys2 import DataQueueEntriesRow, DataQueueInfoRow, ReceiveDataQueueRow
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._queue_state import DataQueueState
from tdqsim.ibmi._recorder import SystemRecorder
from tdqsim.ibmi._remote_link import RemoteLink
from tdqsim.ibmi._retrieve import parse_messages
from tdqsim.ibmi._system_values import SystemValues
from tdqsim.ibmi.faults import FaultHook, MessagePlan
from tdqsim.ibmi.job import Job, StartedJob
from tdqsim.ibmi.journals import JOURNAL_TYPES, JournalEntry, export_journal
from tdqsim.ibmi.layouts import (
    Format,
    FormatField,
    char,
    formats,
    layout,
    pack_binary,
    pack_decimal,
    qualified_name,
    unpack_binary,
    unpack_decimal,
)
from tdqsim.ibmi.messages import MESSAGES, EscapeMessage, Message, message
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.records import (
    RDQD0100,
    RDQD0200,
    RDQM0100,
    RDQM0200,
    RDQS0100,
    RDQS0200,
    DataQueueEntry,
    KeyOrder,
    RetrievedMessage,
    SenderId,
    sender_of,
)
from tdqsim.ibmi.system import System

__all__ = [
    "AUTOMATIC_RECLAIM", "DECLARATIONS", "ENFORCE_DATA_QUEUE_LOCKS", "JOURNAL_TYPES", "MESSAGES", "RDQD0100",
    "RDQD0200", "RDQM0100", "RDQM0200", "RDQS0100", "RDQS0200", "RTVDTAQXCL", "Change", "ClVariable", "DataQueue",
    "DataQueueEntriesRow", "DataQueueEntry", "DataQueueInfoRow", "DataQueueState", "Declaration", "ErrorCode",
    "ErrorReport", "EscapeMessage", "FaultHook", "Format", "FormatField", "Job", "JobEnded", "JournalEntry", "KeyOrder",
    "Library", "LockEntry", "Message", "MessagePlan", "ParameterError", "Parm", "ReceiveDataQueueRow", "RemoteLink",
    "RetrievedMessage", "SeedEntry", "SenderId", "StartedJob", "System", "SystemRecorder", "SystemValues", "char",
    "datetime_to_dts", "dts_to_datetime", "dump_entries", "export_journal", "formats", "layout", "message",
    "pack_binary", "pack_decimal", "parse_messages", "parse_seed", "qualified_name", "seed_entries", "sender_of",
    "take_entries", "unpack_binary", "unpack_decimal",
]  # fmt: skip
