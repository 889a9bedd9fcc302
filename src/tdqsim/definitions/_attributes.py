"""The attributes of each kind of definition for type checkers: ``python -m tests.generators.attribute_types``."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Required, TypedDict


class TdqueueAttributes(TypedDict, total=False):
    """Attributes of a TDQUEUE of any type."""

    group: str
    """The group that it belongs to; empty for none."""
    description: str
    """A description of up to 58 characters."""
    definetime: datetime | str | None
    """When it was defined and last changed; by default the time of the install."""
    changetime: datetime | str | None
    """When it was defined and last changed; by default the time of the install."""
    changeusrid: str
    """The user who changed it last."""
    changeagent: Literal[
        "", "CREATESPI", "createspi", "CSDAPI", "csdapi", "CSDBATCH", "csdbatch", "DREPAPI", "drepapi",
        "SYSTEM", "system", "OVERRIDE", "override",
    ]  # fmt: skip
    """How it was changed last."""
    changeagrel: str
    """The CICS release with which it was changed last."""
    name: Required[str]
    """The resource's name."""
    remotesystem: str
    """The SYSID of the region that has the queue; empty for a queue of this region."""
    remotename: str
    """Its name in that region."""
    remotelength: int
    """The maximum length of a record for function shipping."""


class ResourceAttributes(TypedDict, total=False):
    """Attributes of a definition of any other kind."""

    group: str
    """The group that it belongs to; empty for none."""
    description: str
    """A description of up to 58 characters."""
    definetime: datetime | str | None
    """When it was defined and last changed; by default the time of the install."""
    changetime: datetime | str | None
    """When it was defined and last changed; by default the time of the install."""
    changeusrid: str
    """The user who changed it last."""
    changeagent: Literal[
        "", "CREATESPI", "createspi", "CSDAPI", "csdapi", "CSDBATCH", "csdbatch", "DREPAPI", "drepapi",
        "SYSTEM", "system", "DREPBATCH", "drepbatch", "AUTOINSTALL", "autoinstall", "TABLE", "table", "DYNAMIC",
        "dynamic", "OVERRIDE", "override",
    ]  # fmt: skip
    """How it was changed last."""
    changeagrel: str
    """The CICS release with which it was changed last."""


class IntraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INTRA."""

    type: Required[Literal["INTRA", "intra"]]
    atifacility: Literal["FILE", "file", "SYSTEM", "system", "TERMINAL", "terminal"]
    """The principal facility of a triggered task: TERMINAL, FILE (none) or SYSTEM (a session)."""
    recovstatus: Literal["LOGICAL", "logical", "NO", "no", "PHYSICAL", "physical"]
    """NO, PHYSICAL or LOGICAL."""
    facilityid: str
    """The terminal or connection."""
    transid: str
    """The transaction that is started when the trigger level is reached; empty for none."""
    triggerlevel: int
    """The number of records that starts the transaction; 0 for never."""
    userid: str
    """The user id of tasks started with ATIFACILITY(FILE)."""
    wait: Literal["YES", "yes", "NO", "no"]
    """Whether an indoubt unit of work waits for its coordinator."""
    waitaction: Literal["QUEUE", "queue", "REJECT", "reject"]
    """What happens to requests of other tasks while it waits: REJECT or QUEUE."""


class ExtraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type EXTRA."""

    type: Required[Literal["EXTRA", "extra"]]
    databuffers: int
    """The number of buffers."""
    ddname: str
    """The DD name."""
    dsname: str
    """The data set, `DUMMY`, or empty; a member or generation may follow in parentheses."""
    sysoutclass: Literal[
        "", "A", "a", "B", "b", "C", "c", "D", "d", "E", "e", "F", "f", "G", "g", "H", "h", "I", "i", "J", "j",
        "K", "k", "L", "l", "M", "m", "N", "n", "O", "o", "P", "p", "Q", "q", "R", "r", "S", "s", "T", "t", "U",
        "u", "V", "v", "W", "w", "X", "x", "Y", "y", "Z", "z", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
        "*",
    ]  # fmt: skip
    """The SYSOUT class of output to the spool."""
    erroroption: Literal["IGNORE", "ignore", "SKIP", "skip"]
    """The action for a damaged block: IGNORE or SKIP."""
    opentime: Literal["DEFERRED", "deferred", "INITIAL", "initial"]
    """INITIAL (opened when the region starts) or DEFERRED (opened by SET TDQUEUE)."""
    rewind: Literal["LEAVE", "leave", "REREAD", "reread"]
    """The action for a tape: LEAVE or REREAD."""
    typefile: Literal["INPUT", "input", "OUTPUT", "output", "RDBACK", "rdback"]
    """INPUT, OUTPUT, or RDBACK to read from the last record to the first."""
    recordsize: int
    """The length of a record in bytes, or the maximum length."""
    blocksize: int
    """The size of a block in bytes, or the maximum size."""
    recordformat: Literal["", "FIXED", "fixed", "VARIABLE", "variable"]
    """FIXED, VARIABLE, or empty for that of the data set."""
    blockformat: Literal["", "BLOCKED", "blocked", "UNBLOCKED", "unblocked"]
    """BLOCKED, UNBLOCKED, or empty."""
    printcontrol: Literal["", "A", "a", "M", "m"]
    """A, M, or empty for none."""
    disposition: Literal["MOD", "mod", "OLD", "old", "SHR", "shr"]
    """OLD, SHR, or MOD to write after the last record."""
    jobuserid: str
    """The user of jobs written to the internal reader whose JOB statement has no USER."""


class IndirectQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INDIRECT."""

    type: Required[Literal["INDIRECT", "indirect"]]
    indirectname: Required[str]
    """The queue that it refers to; it need not be defined."""


class RemoteQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE."""

    type: Literal["", "REMOTE", "remote"]


class TransactionAttributes(ResourceAttributes, total=False):
    """Attributes of a TRANSACTION."""

    name: Required[str]
    """The resource's name."""
    program: str
    """The program's name, as returned by ASSIGN PROGRAM."""
    handler: str
    """The import path of the callable to run, `package.module:function`; not an RDO attribute. Without it the
    callable must be registered in Python under the transaction's name."""
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled"]
    """ENABLED, or DISABLED for a transaction that cannot be started."""
    wait: Literal["YES", "yes", "NO", "no"]
    """Whether a unit of work waits when the coordinator is lost while it is indoubt."""
    waittime: str
    """The maximum of this wait as dd,hh,mm; 00,00,00 means no limit. See :attr:`waittime_seconds`."""
    action: Literal["BACKOUT", "backout", "COMMIT", "commit"]
    """The action when the unit of work does not wait, or no longer: BACKOUT or COMMIT."""
    dtimout: int | Literal["NO", "no"]
    """The maximum wait of a task as mmss, or NO. See :attr:`dtimout_seconds`."""
    spurge: Literal["YES", "yes", "NO", "no"]
    """NO protects its tasks from DTIMOUT and from SET TASK PURGE."""
    restart: Literal["YES", "yes", "NO", "no"]
    """Whether DFHREST may restart the task after backout."""
    ressec: Literal["YES", "yes", "NO", "no"]
    """Whether resource security is checked; YES by default, as from CICS TS 6.2 on."""
    cmdsec: Literal["YES", "yes", "NO", "no"]
    """Whether command security is checked; YES by default, as from CICS TS 6.2 on."""
    priority: int
    """The priority, 0 to 255. Of two ready tasks the one with the higher priority runs first."""
    tranclass: str
    """The transaction class, which limits how many tasks run."""
    remotesystem: str
    """The SYSID of the region that runs it; empty for this region."""
    remotename: str
    """Its name in that region."""
    runaway: int | str
    """The processor time in milliseconds, since it was last suspended, after which a task that runs a COBOL program
    ends with AICA; 0 for no limit, SYSTEM for that of the region. Python functions have no limit."""
    localq: Literal["YES", "yes", "NO", "no"]
    """YES queues a START NOCHECK here while the link to the other region is away."""
    alias: str | int
    application: str | int
    brexit: str | int
    confdata: str | int
    dump: str | int
    dynamic: str | int
    extsec: str | int
    failaction: str | int
    indoubt: str | int
    isolate: str | int
    operation: str | int
    otstimeout: str | int
    partitionset: str | int
    platform: str | int
    primedsize: str | int
    profile: str | int
    routable: str | int
    rsl: str | int
    shutdown: str | int
    storageclear: str | int
    subspace: str | int
    taskdatakey: str | int
    taskdataloc: str | int
    taskreq: str | int
    tclass: str | int
    tpname: str | int
    tpurge: str | int
    trace: str | int
    transec: str | int
    trprof: str | int
    twasize: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int
    xtpname: str | int
    xtranid: str | int


class TerminalAttributes(ResourceAttributes, total=False):
    """Attributes of a TERMINAL."""

    name: Required[str]
    """The resource's name."""
    netname: str
    """Its network name; by default the terminal's name."""
    inservice: Literal["YES", "yes", "NO", "no"]
    """With NO, a task for the terminal waits until it is in service."""
    userid: str
    """The user who is signed on by the definition itself (preset security); empty for the default user."""
    remotesystem: str
    """The connection to the region that owns the terminal; empty for this region."""
    remotename: str
    """Its name in that region; by default its own name."""
    termpriority: int
    """Added to the priority of the transaction for tasks at this terminal, 0 to 255."""
    altprintcopy: str | int
    altprinter: str | int
    attachsec: str | int
    autinstmodel: str | int
    autinstname: str | int
    bindsecurity: str | int
    consname: str | int
    console: str | int
    indoubt: str | int
    modename: str | int
    natlang: str | int
    pool: str | int
    printer: str | int
    printercopy: str | int
    remotesysnet: str | int
    securityname: str | int
    solicited: str | int
    spooldest: str | int
    spoolfcb: str | int
    spoolprtrsl: str | int
    spoolprtto: str | int
    tasklimit: str | int
    transaction: str | int
    typeterm: str | int
    usedfltuser: str | int


class ConnectionAttributes(ResourceAttributes, total=False):
    """Attributes of a CONNECTION."""

    name: Required[str]
    """The resource's name."""
    netname: str
    """The APPLID of the other region; by default the connection's name."""
    inservice: Literal["YES", "yes", "NO", "no"]
    """With NO, requests over the connection raise SYSIDERR."""
    securityname: str
    """The user id for requests that arrive over it; the default user when it is empty or not known."""
    attachsec: Literal[
        "LOCAL", "local", "IDENTIFY", "identify", "VERIFY", "verify", "PERSISTENT", "persistent", "MIXIDPE",
        "mixidpe",
    ]  # fmt: skip
    """LOCAL uses `securityname`, the others use the user id that the other region sends."""
    accessmethod: str | int
    autoconnect: str | int
    bindpassword: str | int
    bindsecurity: str | int
    datastream: str | int
    indsys: str | int
    maxqtime: str | int
    protocol: str | int
    psrecovery: str | int
    queuelimit: str | int
    recordformat: str | int
    remotename: str | int
    remotesysnet: str | int
    remotesystem: str | int
    singlesess: str | int
    usedfltuser: str | int
    xlnaction: str | int


class TsmodelAttributes(ResourceAttributes, total=False):
    """Attributes of a TSMODEL."""

    name: Required[str]
    """The resource's name."""
    prefix: Required[str]
    """The beginning of the names, 1 to 16 characters."""
    location: Literal["AUXILIARY", "auxiliary", "MAIN", "main"]
    """AUXILIARY, or MAIN, which does not survive a restart."""
    recovery: Literal["YES", "yes", "NO", "no"]
    """Whether the queues are recoverable; not allowed in main storage."""
    security: Literal["YES", "yes", "NO", "no"]
    """Whether the queues are protected by resource security, for transactions with RESSEC(YES)."""
    remotesystem: str
    """The SYSID of the region that owns the queues; empty for this region. The models of the owning region then
    define the other attributes."""
    remoteprefix: str
    """The beginning of the names in the owning region, no longer than the prefix; by default the same."""
    expiryint: str | int
    expiryintmin: str | int
    poolname: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int
    xremotepfx: str | int


class TranclassAttributes(ResourceAttributes, total=False):
    """Attributes of a TRANCLASS."""

    name: Required[str]
    """The resource's name."""
    maxactive: Required[int]
    """The maximum number of active tasks, 0 to 999; further tasks wait."""
    purgethresh: int | Literal["NO", "no"]
    """One more than the maximum number of waiting tasks, or NO; further tasks abend. See :attr:`threshold`."""
    purgeaction: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int


class FileAttributes(ResourceAttributes, total=False):
    """Attributes of a FILE."""

    name: Required[str]
    """The resource's name."""
    dsname: str
    """The data set; by default one with the file's own name."""
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled", "UNENABLED", "unenabled"]
    """ENABLED, DISABLED, or UNENABLED, for a file that must be opened first."""
    opentime: Literal["FIRSTREF", "firstref", "STARTUP", "startup"]
    """FIRSTREF (open with the first request) or STARTUP."""
    add: Literal["YES", "yes", "NO", "no"]
    """Whether the operation is allowed."""
    browse: Literal["YES", "yes", "NO", "no"]
    """Whether the operation is allowed."""
    delete: Literal["YES", "yes", "NO", "no"]
    """Whether the operation is allowed."""
    read: Literal["YES", "yes", "NO", "no"]
    """Whether the operation is allowed."""
    update: Literal["YES", "yes", "NO", "no"]
    """Whether the operation is allowed."""
    recordformat: Literal["V", "v", "F", "f"]
    """V, or F if all records have RECORDSIZE bytes."""
    keylength: int
    """The length of the key in bytes, 1 to 255."""
    recordsize: int
    """The maximum length of a record in bytes."""
    recovery: Literal["NONE", "none", "BACKOUTONLY", "backoutonly", "ALL", "all"]
    """NONE, or BACKOUTONLY or ALL if a backout undoes changes."""
    organisation: Literal["", "KSDS", "ksds", "ESDS", "esds", "RRDS", "rrds"]
    """KSDS, ESDS or RRDS; by default KSDS if there is a KEYLENGTH; not an RDO attribute."""
    keyposition: int
    """The offset of the key in the record, from 0; not an RDO attribute."""
    relate: str
    """For a path, the DSNAME of the data set with the alternate index; not an RDO attribute."""
    uniquekey: Literal["YES", "yes", "NO", "no"]
    """Whether alternate keys must be unique; not an RDO attribute."""
    backuptype: str | int
    databuffers: str | int
    disposition: str | int
    dsnsharing: str | int
    fwdrecovlog: str | int
    indexbuffers: str | int
    jnladd: str | int
    jnlread: str | int
    jnlsyncread: str | int
    jnlsyncwrite: str | int
    jnlupdate: str | int
    journal: str | int
    loadtype: str | int
    lsrpoolid: str | int
    lsrpoolnum: str | int
    maxnumrecs: str | int
    nsrgroup: str | int
    password: str | int
    poolname: str | int
    readinteg: str | int
    remotename: str | int
    remotesystem: str | int
    rlsaccess: str | int
    strings: str | int
    table: str | int
    tablename: str | int
    updatemodel: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int


class ProgramDefinitionAttributes(ResourceAttributes, total=False):
    """Attributes of a PROGRAM."""

    name: Required[str]
    """The resource's name."""
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled"]
    """ENABLED, or DISABLED for a program that cannot be run."""
    executionset: Literal["FULLAPI", "fullapi", "DPLSUBSET", "dplsubset"]
    """FULLAPI, or DPLSUBSET to restrict it in this region to the commands allowed in a remote region."""
    remotesystem: str
    """The SYSID of the region that runs it; empty for this region."""
    remotename: str
    """Its name in that region; by default its own name."""
    transid: str
    """The transaction under which it runs in that region; by default CSMI."""
    api: str | int
    application: str | int
    cedf: str | int
    concurrency: str | int
    datalocation: str | int
    dynamic: str | int
    entrypoint: str | int
    execkey: str | int
    hotpool: str | int
    jvm: str | int
    jvmclass: str | int
    jvmprofile: str | int
    jvmserver: str | int
    language: str | int
    operation: str | int
    reload: str | int
    resident: str | int
    rsl: str | int
    usage: str | int
    uselpacopy: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int


class DtaqKeywords(ResourceAttributes, total=False):
    """Attributes of a DTAQ without its name."""

    type: Literal["*STD", "*std", "*DDM", "*ddm"]
    """`*STD`, or `*DDM` for a queue that refers to one on another system."""
    maxlen: int
    """The maximum length of an entry in bytes, 1 to 64512; 0 if omitted, as with `*DDM`."""
    force: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether each entry is written to disk before the send ends."""
    seq: Literal["*FIFO", "*fifo", "*LIFO", "*lifo", "*KEYED", "*keyed"]
    """`*FIFO`, `*LIFO` or `*KEYED`."""
    keylen: int
    """The length of the key in bytes, 1 to 256; 0 for a queue without keys."""
    senderid: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether each entry contains the sender ID."""
    size: tuple[int | Literal["*MAX16MB", "*MAX2GB", "MAX16MB", "MAX2GB"], int]
    """The maximum number of entries (-1 for `*MAX16MB`, -2 for `*MAX2GB`) and the initial number."""
    autorcl: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether storage is reclaimed when the queue becomes empty."""
    rmtdtaq: str
    """For `*DDM`, the queue on the other system, `LIBRARY/NAME`."""
    rmtlocname: str
    """For `*DDM`, the location name of the other system, or `*RDB`."""
    rdb: str
    """The relational database entry, with `*RDB`."""
    dev: str
    """The APPC device."""
    lcllocname: str
    """The local location name."""
    mode: str
    """The mode of the session."""
    rmtnetid: str
    """The remote network identifier."""
    text: str
    """The description, at most 50 characters; `*BLANK` for none."""
    aut: str
    """Public authority."""


class DtaqAttributes(DtaqKeywords, total=False):
    """Attributes of a DTAQ."""

    dtaq: Required[str]
    """`LIBRARY/NAME`, or `NAME` for a queue in the current library."""
