"""What each INQUIRE is asked and returns, word by word; ``python -m tests.generators.inquire_rows`` writes it."""

from __future__ import annotations

from typing import Literal

from tdqsim.cics.spi.info import Info
from tdqsim.facts import Cvda

__all__ = [
    "ConnectionInfo",
    "ConnectionOption",
    "FileInfo",
    "FileOption",
    "ProgramInfo",
    "ProgramOption",
    "TaskInfo",
    "TaskOption",
    "TdqueueInfo",
    "TdqueueOption",
    "TerminalInfo",
    "TerminalOption",
    "TransactionInfo",
    "TransactionOption",
    "TsqueueInfo",
    "TsqueueOption",
    "UowInfo",
    "UowOption",
    "UowenqInfo",
    "UowenqOption",
    "UowlinkInfo",
    "UowlinkOption",
]

TdqueueOption = Literal[
    "ATIFACILITY", "atifacility", "ATITERMID", "atitermid", "ATITRANID", "atitranid", "ATIUSERID", "atiuserid",
    "BLOCKFORMAT", "blockformat", "BLOCKSIZE", "blocksize", "CHANGEAGENT", "changeagent", "CHANGEAGREL",
    "changeagrel", "CHANGETIME", "changetime", "CHANGEUSRID", "changeusrid", "DATABUFFERS", "databuffers", "DDNAME",
    "ddname", "DEFINESOURCE", "definesource", "DEFINETIME", "definetime", "DISPOSITION", "disposition", "DSNAME",
    "dsname", "EMPTYSTATUS", "emptystatus", "ENABLESTATUS", "enablestatus", "ERROROPTION", "erroroption",
    "INDIRECTNAME", "indirectname", "INDOUBT", "indoubt", "INDOUBTWAIT", "indoubtwait", "INSTALLAGENT",
    "installagent", "INSTALLTIME", "installtime", "INSTALLUSRID", "installusrid", "IOTYPE", "iotype", "MEMBER",
    "member", "NUMITEMS", "numitems", "OPENSTATUS", "openstatus", "PRINTCONTROL", "printcontrol", "RECORDFORMAT",
    "recordformat", "RECORDLENGTH", "recordlength", "RECOVSTATUS", "recovstatus", "REMOTENAME", "remotename",
    "REMOTESYSTEM", "remotesystem", "REWIND", "rewind", "SYSOUTCLASS", "sysoutclass", "TRIGGERLEVEL",
    "triggerlevel", "TYPE", "type",
]  # fmt: skip
ConnectionOption = Literal[
    "ACCESSMETHOD", "accessmethod", "CONNSTATUS", "connstatus", "NETNAME", "netname", "SERVSTATUS", "servstatus",
]  # fmt: skip
TaskOption = Literal[
    "DTIMEOUT", "dtimeout", "FACILITY", "facility", "FACILITYTYPE", "facilitytype", "INDOUBT", "indoubt",
    "INDOUBTMINS", "indoubtmins", "INDOUBTWAIT", "indoubtwait", "PROGRAM", "program", "RUNSTATUS", "runstatus",
    "STARTCODE", "startcode", "SUSPENDTIME", "suspendtime", "SUSPENDTYPE", "suspendtype", "SUSPENDVALUE",
    "suspendvalue", "TRANSACTION", "transaction", "UOW", "uow", "USERID", "userid",
]  # fmt: skip
TransactionOption = Literal[
    "CMDSEC", "cmdsec", "DTIMEOUT", "dtimeout", "PROGRAM", "program", "REMOTESYSTEM", "remotesystem", "RESSEC",
    "ressec", "STATUS", "status",
]  # fmt: skip
UowOption = Literal[
    "AGE", "age", "LINK", "link", "NETNAME", "netname", "NETUOWID", "netuowid", "OTSTID", "otstid", "SYSID",
    "sysid", "TASKID", "taskid", "TERMID", "termid", "TRANSID", "transid", "UOWSTATE", "uowstate", "USERID",
    "userid", "WAITCAUSE", "waitcause", "WAITSTATE", "waitstate",
]  # fmt: skip
UowenqOption = Literal[
    "DURATION", "duration", "ENQFAILS", "enqfails", "ENQSCOPE", "enqscope", "NETUOWID", "netuowid", "QUALIFIER",
    "qualifier", "QUALLEN", "quallen", "RELATION", "relation", "RESLEN", "reslen", "RESOURCE", "resource", "STATE",
    "state", "TASKID", "taskid", "TRANSID", "transid", "TYPE", "type", "UOW", "uow",
]  # fmt: skip
UowlinkOption = Literal[
    "BRANCHQUAL", "branchqual", "HOST", "host", "LINK", "link", "NETUOWID", "netuowid", "PORT", "port", "PROTOCOL",
    "protocol", "RESYNCSTATUS", "resyncstatus", "RMIQFY", "rmiqfy", "ROLE", "role", "SYSID", "sysid", "TYPE",
    "type", "UOW", "uow", "URID", "urid", "XID", "xid",
]  # fmt: skip
FileOption = Literal[
    "ACCESSMETHOD", "accessmethod", "ADD", "add", "BROWSE", "browse", "DELETE", "delete", "DSNAME", "dsname",
    "ENABLESTATUS", "enablestatus", "KEYLENGTH", "keylength", "KEYPOSITION", "keyposition", "OPENSTATUS",
    "openstatus", "READ", "read", "RECORDFORMAT", "recordformat", "RECORDSIZE", "recordsize", "RECOVSTATUS",
    "recovstatus", "TYPE", "type", "UPDATE", "update",
]  # fmt: skip
ProgramOption = Literal[
    "STATUS", "status",
]  # fmt: skip
TerminalOption = Literal[
    "SERVSTATUS", "servstatus", "TRANSACTION", "transaction", "USERID", "userid",
]  # fmt: skip
TsqueueOption = Literal[
    "FLENGTH", "flength", "MAXITEMLEN", "maxitemlen", "MINITEMLEN", "minitemlen", "NUMITEMS", "numitems",
    "RECOVSTATUS", "recovstatus",
]  # fmt: skip


class TdqueueInfo(Info):
    """What one INQUIRE TDQUEUE returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["TDQUEUE"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    tdqueue: str
    atifacility: Literal[Cvda.NOTERMINAL, Cvda.TERMINAL, Cvda.NOTAPPLIC]
    atitermid: str
    atitranid: str
    atiuserid: str
    blockformat: Literal[Cvda.BLOCKED, Cvda.UNBLOCKED, Cvda.NOTAPPLIC]
    blocksize: int
    changeagent: Literal[Cvda.CREATESPI, Cvda.CSDAPI, Cvda.CSDBATCH, Cvda.DREPAPI, Cvda.SYSTEM]
    changeagrel: str
    changetime: int
    changeusrid: str
    databuffers: int
    ddname: str
    definesource: str
    definetime: int
    disposition: Literal[Cvda.MOD, Cvda.OLD, Cvda.SHARE, Cvda.NOTAPPLIC]
    dsname: str
    emptystatus: Literal[Cvda.EMPTY, Cvda.FULL, Cvda.NOTEMPTY, Cvda.NOTAPPLIC]
    enablestatus: Literal[Cvda.DISABLED, Cvda.DISABLING, Cvda.ENABLED, Cvda.NOTAPPLIC]
    erroroption: Literal[Cvda.IGNORERR, Cvda.SKIP, Cvda.NOTAPPLIC]
    indirectname: str
    indoubt: Literal[Cvda.QUEUE, Cvda.REJECT, Cvda.NOTAPPLIC]
    indoubtwait: Literal[Cvda.NOWAIT, Cvda.WAIT, Cvda.NOTAPPLIC]
    installagent: Literal[Cvda.CREATESPI, Cvda.CSDAPI, Cvda.GRPLIST, Cvda.SYSTEM]
    installtime: int
    installusrid: str
    iotype: Literal[Cvda.INPUT, Cvda.OUTPUT, Cvda.RDBACK, Cvda.NOTAPPLIC]
    member: str
    numitems: int
    openstatus: Literal[Cvda.CLOSED, Cvda.CLOSING, Cvda.OPEN, Cvda.OPENING, Cvda.NOTAPPLIC]
    printcontrol: Literal[Cvda.ASACTL, Cvda.MCHCTL, Cvda.NOCTL, Cvda.NOTAPPLIC]
    recordformat: Literal[Cvda.FIXED, Cvda.VARIABLE, Cvda.NOTAPPLIC]
    recordlength: int
    recovstatus: Literal[Cvda.LOGICAL, Cvda.NOTRECOVABLE, Cvda.PHYSICAL, Cvda.NOTAPPLIC]
    remotename: str
    remotesystem: str
    rewind: Literal[Cvda.LEAVE, Cvda.REREAD, Cvda.NOTAPPLIC]
    sysoutclass: str
    triggerlevel: int
    type: Literal[Cvda.EXTRA, Cvda.INDIRECT, Cvda.INTRA, Cvda.REMOTE]


class ConnectionInfo(Info):
    """What one INQUIRE CONNECTION returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["CONNECTION"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    connection: str
    accessmethod: Literal[Cvda.IRC, Cvda.NOTAPPLIC]
    connstatus: Literal[Cvda.ACQUIRED, Cvda.RELEASED, Cvda.NOTAPPLIC]
    netname: str
    servstatus: Literal[Cvda.INSERVICE, Cvda.OUTSERVICE, Cvda.NOTAPPLIC]


class TaskInfo(Info):
    """What one INQUIRE TASK returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["TASK"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    task: int
    dtimeout: int
    facility: str
    facilitytype: Literal[Cvda.DEST, Cvda.TASK, Cvda.TERM, Cvda.NOTAPPLIC]
    indoubt: Literal[Cvda.BACKOUT, Cvda.COMMIT, Cvda.NOTAPPLIC]
    indoubtmins: int
    indoubtwait: Literal[Cvda.NOWAIT, Cvda.WAIT, Cvda.NOTAPPLIC]
    program: str
    runstatus: Literal[Cvda.DISPATCHABLE, Cvda.RUNNING, Cvda.SUSPENDED, Cvda.NOTAPPLIC]
    startcode: str
    suspendtime: int
    suspendtype: str
    suspendvalue: str
    transaction: str
    uow: bytes
    userid: str


class TransactionInfo(Info):
    """What one INQUIRE TRANSACTION returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["TRANSACTION"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    transaction: str
    cmdsec: Literal[Cvda.CMDSECNO, Cvda.CMDSECYES, Cvda.NOTAPPLIC]
    dtimeout: int
    program: str
    remotesystem: str
    ressec: Literal[Cvda.RESSECNO, Cvda.RESSECYES, Cvda.NOTAPPLIC]
    status: Literal[Cvda.DISABLED, Cvda.ENABLED, Cvda.NOTAPPLIC]


class UowInfo(Info):
    """What one INQUIRE UOW returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["UOW"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    uow: bytes
    age: int
    link: str
    netname: str
    netuowid: str
    otstid: str
    sysid: str
    taskid: int
    termid: str
    transid: str
    uowstate: Literal[
        Cvda.BACKOUT, Cvda.COMMIT, Cvda.HEURBACKOUT, Cvda.HEURCOMMIT, Cvda.INDOUBT, Cvda.INFLIGHT, Cvda.NOTAPPLIC
    ]
    userid: str
    waitcause: Literal[Cvda.CONNECTION, Cvda.WAITFORGET, Cvda.NOTAPPLIC]
    waitstate: Literal[Cvda.ACTIVE, Cvda.SHUNTED, Cvda.WAITING, Cvda.NOTAPPLIC]


class UowenqInfo(Info):
    """What one INQUIRE UOWENQ returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["UOWENQ"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    duration: int
    enqfails: int
    enqscope: str
    netuowid: str
    qualifier: str
    quallen: int
    relation: Literal[Cvda.OWNER, Cvda.WAITER, Cvda.NOTAPPLIC]
    reslen: int
    resource: str
    state: Literal[Cvda.ACTIVE, Cvda.RETAINED, Cvda.NOTAPPLIC]
    taskid: int
    transid: str
    type: Literal[Cvda.EXECENQ, Cvda.TDQ, Cvda.NOTAPPLIC]
    uow: bytes


class UowlinkInfo(Info):
    """What one INQUIRE UOWLINK returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["UOWLINK"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    uowlink: bytes
    branchqual: bytes
    host: str
    link: str
    netuowid: str
    port: int
    protocol: Literal[Cvda.IRC, Cvda.NOTAPPLIC]
    resyncstatus: Literal[Cvda.COLD, Cvda.OK, Cvda.UNAVAILABLE, Cvda.UNCONNECTED, Cvda.NOTAPPLIC]
    rmiqfy: str
    role: Literal[Cvda.COORDINATOR, Cvda.SUBORDINATE, Cvda.NOTAPPLIC]
    sysid: str
    type: Literal[Cvda.CONNECTION, Cvda.NOTAPPLIC]
    uow: bytes
    urid: str
    xid: bytes


class FileInfo(Info):
    """What one INQUIRE FILE returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["FILE"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    file: str
    accessmethod: Literal[Cvda.VSAM, Cvda.NOTAPPLIC]
    add: Literal[Cvda.ADDABLE, Cvda.NOTADDABLE, Cvda.NOTAPPLIC]
    browse: Literal[Cvda.BROWSABLE, Cvda.NOTBROWSABLE, Cvda.NOTAPPLIC]
    delete: Literal[Cvda.DELETABLE, Cvda.NOTDELETABLE, Cvda.NOTAPPLIC]
    dsname: str
    enablestatus: Literal[Cvda.DISABLED, Cvda.ENABLED, Cvda.UNENABLED, Cvda.NOTAPPLIC]
    keylength: int
    keyposition: int
    openstatus: Literal[Cvda.CLOSED, Cvda.OPEN, Cvda.NOTAPPLIC]
    read: Literal[Cvda.NOTREADABLE, Cvda.READABLE, Cvda.NOTAPPLIC]
    recordformat: Literal[Cvda.FIXED, Cvda.VARIABLE, Cvda.NOTAPPLIC]
    recordsize: int
    recovstatus: Literal[Cvda.NOTRECOVABLE, Cvda.RECOVERABLE, Cvda.NOTAPPLIC]
    type: Literal[Cvda.ESDS, Cvda.KSDS, Cvda.RRDS, Cvda.NOTAPPLIC]
    update: Literal[Cvda.NOTUPDATABLE, Cvda.UPDATABLE, Cvda.NOTAPPLIC]


class ProgramInfo(Info):
    """What one INQUIRE PROGRAM returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["PROGRAM"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    program: str
    status: Literal[Cvda.ENABLED, Cvda.NOTAPPLIC]


class TerminalInfo(Info):
    """What one INQUIRE TERMINAL returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["TERMINAL"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    terminal: str
    servstatus: Literal[Cvda.INSERVICE, Cvda.OUTSERVICE, Cvda.NOTAPPLIC]
    transaction: str
    userid: str


class TsqueueInfo(Info):
    """What one INQUIRE TSQUEUE returned; attributes are the options in lower case.

    ``tdqsim.facts.INQUIRE_OPTIONS["TSQUEUE"]`` tells each option. Those asked for are there, by
    ``as_dict()`` too; none is after a condition that was not raised (NOHANDLE).
    """

    __slots__ = ()

    tsqueue: str
    flength: int
    maxitemlen: int
    minitemlen: int
    numitems: int
    recovstatus: Literal[Cvda.NOTRECOVABLE, Cvda.RECOVERABLE, Cvda.NOTAPPLIC]
