"""IBM i data queues: a system, its jobs, the data queue APIs with their byte layouts, locks, authority and messages."""

from __future__ import annotations

from tdqsim.ibmi.change import AUTOMATIC_RECLAIM, ENFORCE_DATA_QUEUE_LOCKS, Change
from tdqsim.ibmi.cl_queue import RTVDTAQXCL
from tdqsim.ibmi.cl_variables import ClVariable
from tdqsim.ibmi.data import job_page as job_page
from tdqsim.ibmi.ddm import DdmLink as DdmLink
from tdqsim.ibmi.ddm import DdmServer as DdmServer
from tdqsim.ibmi.declare import DECLARATIONS as DECLARATIONS
from tdqsim.ibmi.dts import datetime_to_dts, dts_to_datetime
from tdqsim.ibmi.entry_lines import SeedEntry as SeedEntry
from tdqsim.ibmi.entry_lines import dump_entries as dump_entries
from tdqsim.ibmi.entry_lines import parse_seed as parse_seed
from tdqsim.ibmi.entry_lines import seed_entries as seed_entries
from tdqsim.ibmi.error_code import ErrorCode, ErrorReport
from tdqsim.ibmi.errors import JobEnded, ParameterError
from tdqsim.ibmi.faults import MessagePlan as MessagePlan
from tdqsim.ibmi.job import Job, StartedJob
from tdqsim.ibmi.journals import JOURNAL_TYPES as JOURNAL_TYPES
from tdqsim.ibmi.journals import Journal as Journal
from tdqsim.ibmi.journals import (
    JournalEntry,
    export_journal,
)
from tdqsim.ibmi.journals import sent_key as sent_key
from tdqsim.ibmi.layouts import (
    Format,
    FormatField,
    formats,
    layout,
    pack_binary,
    pack_decimal,
    qualified_name,
    unpack_binary,
    unpack_decimal,
)
from tdqsim.ibmi.lock_manager import LockEntry
from tdqsim.ibmi.messages import MESSAGE_TYPES as MESSAGE_TYPES
from tdqsim.ibmi.messages import MESSAGES as MESSAGES
from tdqsim.ibmi.messages import EscapeMessage, Message, message
from tdqsim.ibmi.parms import Parm
from tdqsim.ibmi.qsys2 import DataQueueEntriesRow, DataQueueInfoRow, ReceiveDataQueueRow
from tdqsim.ibmi.queue_state import DataQueueState
from tdqsim.ibmi.recorder import SystemRecorder as SystemRecorder
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
)
from tdqsim.ibmi.records import sender_of as sender_of
from tdqsim.ibmi.retrieve import parse_messages
from tdqsim.ibmi.sql import PreparedSql as PreparedSql
from tdqsim.ibmi.sql import SqlResult
from tdqsim.ibmi.sql import SqlSession as SqlSession
from tdqsim.ibmi.sql import Taken as Taken
from tdqsim.ibmi.sql_text import SqlError
from tdqsim.ibmi.sql_values import SqlColumn as SqlColumn
from tdqsim.ibmi.sql_values import SqlValue as SqlValue
from tdqsim.ibmi.sql_values import shown as shown
from tdqsim.ibmi.system import System
from tdqsim.ibmi.system_values import SystemValues as SystemValues
from tdqsim.ibmi.systemfile import SETUP_JOB as SETUP_JOB
from tdqsim.ibmi.systemfile import SYSTEM_FILE_NAME as SYSTEM_FILE_NAME
from tdqsim.ibmi.systemfile import SystemFile as SystemFile
from tdqsim.ibmi.systemfile import load_system_file as load_system_file
from tdqsim.ibmi.systemfile import run_commands as run_commands
from tdqsim.ibmi.systemfile import system_from_directory

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "AUTOMATIC_RECLAIM",
    "ENFORCE_DATA_QUEUE_LOCKS",
    "RDQD0100",
    "RDQD0200",
    "RDQM0100",
    "RDQM0200",
    "RDQS0100",
    "RDQS0200",
    "RTVDTAQXCL",
    "Change",
    "ClVariable",
    "DataQueueEntriesRow",
    "DataQueueEntry",
    "DataQueueInfoRow",
    "DataQueueState",
    "ErrorCode",
    "ErrorReport",
    "EscapeMessage",
    "Format",
    "FormatField",
    "Job",
    "JobEnded",
    "JournalEntry",
    "KeyOrder",
    "LockEntry",
    "Message",
    "ParameterError",
    "Parm",
    "ReceiveDataQueueRow",
    "RetrievedMessage",
    "SenderId",
    "SqlError",
    "SqlResult",
    "StartedJob",
    "System",
    "datetime_to_dts",
    "dts_to_datetime",
    "export_journal",
    "formats",
    "layout",
    "message",
    "pack_binary",
    "pack_decimal",
    "parse_messages",
    "qualified_name",
    "system_from_directory",
    "unpack_binary",
    "unpack_decimal",
]
