"""IBM i data queues: a system, its jobs, the data queue APIs with their byte layouts, locks, authority and messages."""

from __future__ import annotations

from tdqsim.ibmi.change import AUTOMATIC_RECLAIM, ENFORCE_DATA_QUEUE_LOCKS, Change
from tdqsim.ibmi.cl_queue import RTVDTAQXCL
from tdqsim.ibmi.cl_variables import ClVariable
from tdqsim.ibmi.ddm import DdmLink, DdmServer
from tdqsim.ibmi.declare import DECLARATIONS, Declaration
from tdqsim.ibmi.dts import datetime_to_dts, dts_to_datetime
from tdqsim.ibmi.entry_lines import SeedEntry, dump_entries, parse_seed, seed_entries, take_entries
from tdqsim.ibmi.error_code import ErrorCode, ErrorReport
from tdqsim.ibmi.errors import JobEnded, ParameterError
from tdqsim.ibmi.faults import FaultHook, MessagePlan
from tdqsim.ibmi.job import Job, StartedJob
from tdqsim.ibmi.journals import JOURNAL_TYPES, Journal, JournalEntry, export_journal, sent_key
from tdqsim.ibmi.layouts import (
    Format,
    FormatField,
    char,
    formats,
    layout,
    pack_binary,
    pack_decimal,
    qualified_name,
    shown_bytes,
    shown_char,
    unpack_binary,
    unpack_decimal,
)
from tdqsim.ibmi.lock_manager import LockEntry
from tdqsim.ibmi.messages import MESSAGE_TYPES, MESSAGES, EscapeMessage, Message, message
from tdqsim.ibmi.objects import Library
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.qsys2 import DataQueueEntriesRow, DataQueueInfoRow, ReceiveDataQueueRow
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.queue_state import DataQueueState
from tdqsim.ibmi.recorder import SystemRecorder
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
from tdqsim.ibmi.remote_link import RemoteLink
from tdqsim.ibmi.retrieve import parse_messages
from tdqsim.ibmi.serving import check_names, describe_afresh, is_immediate, job_page
from tdqsim.ibmi.sql import PreparedSql, SqlResult, SqlSession, Taken
from tdqsim.ibmi.sql_text import SqlError
from tdqsim.ibmi.sql_values import SqlColumn, SqlValue, shown
from tdqsim.ibmi.system import System
from tdqsim.ibmi.system_values import SystemValues
from tdqsim.ibmi.systemfile import (
    SETUP_JOB,
    SYSTEM_FILE_NAME,
    SystemFile,
    load_system_file,
    run_commands,
    system_from_directory,
)

__all__ = [
    "AUTOMATIC_RECLAIM",
    "DECLARATIONS",
    "ENFORCE_DATA_QUEUE_LOCKS",
    "JOURNAL_TYPES",
    "MESSAGES",
    "MESSAGE_TYPES",
    "RDQD0100",
    "RDQD0200",
    "RDQM0100",
    "RDQM0200",
    "RDQS0100",
    "RDQS0200",
    "RTVDTAQXCL",
    "SETUP_JOB",
    "SYSTEM_FILE_NAME",
    "Change",
    "ClVariable",
    "DataQueue",
    "DataQueueEntriesRow",
    "DataQueueEntry",
    "DataQueueInfoRow",
    "DataQueueState",
    "DdmLink",
    "DdmServer",
    "Declaration",
    "ErrorCode",
    "ErrorReport",
    "EscapeMessage",
    "FaultHook",
    "Format",
    "FormatField",
    "Job",
    "JobEnded",
    "Journal",
    "JournalEntry",
    "KeyOrder",
    "Library",
    "LockEntry",
    "Message",
    "MessagePlan",
    "ParameterError",
    "Parm",
    "PreparedSql",
    "ReceiveDataQueueRow",
    "RemoteLink",
    "RetrievedMessage",
    "SeedEntry",
    "SenderId",
    "SqlColumn",
    "SqlError",
    "SqlResult",
    "SqlSession",
    "SqlValue",
    "StartedJob",
    "System",
    "SystemFile",
    "SystemRecorder",
    "SystemValues",
    "Taken",
    "char",
    "check_names",
    "datetime_to_dts",
    "describe_afresh",
    "dts_to_datetime",
    "dump_entries",
    "export_journal",
    "formats",
    "is_immediate",
    "job_page",
    "layout",
    "load_system_file",
    "message",
    "pack_binary",
    "pack_decimal",
    "parse_messages",
    "parse_seed",
    "qualified_name",
    "run_commands",
    "seed_entries",
    "sender_of",
    "sent_key",
    "shown",
    "shown_bytes",
    "shown_char",
    "system_from_directory",
    "take_entries",
    "unpack_binary",
    "unpack_decimal",
]
