"""The attributes of each kind of definition for type checkers: ``python -m tests.generators.attribute_types``."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Required, TypedDict

__all__ = [
    "ConnectionAttributes",
    "DtaqAttributes",
    "DtaqKeywords",
    "ExtraQueueAttributes",
    "FileAttributes",
    "IndirectQueueAttributes",
    "IntraQueueAttributes",
    "ProgramDefinitionAttributes",
    "RemoteQueueAttributes",
    "ResourceAttributes",
    "TdqueueAttributes",
    "TerminalAttributes",
    "TransactionAttributes",
    "TsmodelAttributes",
]


class TdqueueAttributes(TypedDict, total=False):
    """Attributes of a TDQUEUE of any type."""

    group: str
    """The group it belongs to; empty for one that is defined alone."""
    description: str
    """Text about it, up to 58 characters."""
    definetime: datetime | str | None
    """When it was defined and last changed; the time of installing when not given."""
    changetime: datetime | str | None
    """When it was defined and last changed; the time of installing when not given."""
    changeusrid: str
    """Who changed it last."""
    changeagent: Literal[
        "", "CREATESPI", "createspi", "CSDAPI", "csdapi", "CSDBATCH", "csdbatch", "DREPAPI", "drepapi",
        "SYSTEM", "system",
    ]  # fmt: skip
    """How it was changed last."""
    changeagrel: str
    """The CICS release with which it was changed last."""
    name: Required[str]
    """The resource's name."""
    remotesystem: str
    """The SYSID of the region that has the queue; empty for a queue of this region."""
    remotename: str
    """Its name there."""
    remotelength: int
    """The longest record for function shipping."""


class ResourceAttributes(TypedDict, total=False):
    """Attributes of a definition of any other kind."""

    group: str
    """The group it belongs to; empty for one that is defined alone."""
    description: str
    """Text about it, up to 58 characters."""
    definetime: datetime | str | None
    """When it was defined and last changed; the time of installing when not given."""
    changetime: datetime | str | None
    """When it was defined and last changed; the time of installing when not given."""
    changeusrid: str
    """Who changed it last."""
    changeagent: Literal[
        "", "CREATESPI", "createspi", "CSDAPI", "csdapi", "CSDBATCH", "csdbatch", "DREPAPI", "drepapi",
        "SYSTEM", "system", "DREPBATCH", "drepbatch", "AUTOINSTALL", "autoinstall", "TABLE", "table", "DYNAMIC",
        "dynamic",
    ]  # fmt: skip
    """How it was changed last."""
    changeagrel: str
    """The CICS release with which it was changed last."""


class IntraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INTRA."""

    type: Required[Literal["INTRA", "intra"]]
    atifacility: Literal["FILE", "file", "SYSTEM", "system", "TERMINAL", "terminal"]
    """What a triggered task has as principal facility: TERMINAL, FILE (none) or SYSTEM (a session)."""
    recovstatus: Literal["LOGICAL", "logical", "NO", "no", "PHYSICAL", "physical"]
    """NO, PHYSICAL or LOGICAL."""
    facilityid: str
    """The terminal or connection."""
    transid: str
    """The transaction that a full enough queue starts; empty for none."""
    triggerlevel: int
    """How many records are enough; 0 for never."""
    userid: str
    """The user id of tasks started with ATIFACILITY(FILE)."""
    wait: Literal["YES", "yes", "NO", "no"]
    """Whether an indoubt unit of work waits for its coordinator."""
    waitaction: Literal["QUEUE", "queue", "REJECT", "reject"]
    """What others get while it waits: REJECT or QUEUE."""


class ExtraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type EXTRA."""

    type: Required[Literal["EXTRA", "extra"]]
    databuffers: int
    """How many buffers."""
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
    """What is done at a damaged block: IGNORE or SKIP."""
    opentime: Literal["DEFERRED", "deferred", "INITIAL", "initial"]
    """INITIAL is opened when the region starts, DEFERRED by SET TDQUEUE."""
    rewind: Literal["LEAVE", "leave", "REREAD", "reread"]
    """Of a tape: LEAVE or REREAD."""
    typefile: Literal["INPUT", "input", "OUTPUT", "output", "RDBACK", "rdback"]
    """INPUT, OUTPUT, or RDBACK to read from the last record to the first."""
    recordsize: int
    """Bytes of a record, or of the longest."""
    blocksize: int
    """Bytes of a block, or of the longest."""
    recordformat: Literal["", "FIXED", "fixed", "VARIABLE", "variable"]
    """FIXED, VARIABLE, or empty for that of the data set."""
    blockformat: Literal["", "BLOCKED", "blocked", "UNBLOCKED", "unblocked"]
    """BLOCKED, UNBLOCKED, or empty."""
    printcontrol: Literal["", "A", "a", "M", "m"]
    """A, M, or empty for none."""
    disposition: Literal["MOD", "mod", "OLD", "old", "SHR", "shr"]
    """OLD, SHR, or MOD to write behind the last record."""
    jobuserid: str
    """The user of jobs given to the internal reader whose JOB statement has no USER."""


class IndirectQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INDIRECT."""

    type: Required[Literal["INDIRECT", "indirect"]]
    indirectname: Required[str]
    """The queue it stands for; it need not be defined."""


class RemoteQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE."""

    type: Literal[""]


class TransactionAttributes(ResourceAttributes, total=False):
    """Attributes of a TRANSACTION."""

    name: Required[str]
    """The resource's name."""
    program: str
    """The program's name, as ASSIGN PROGRAM shows it."""
    handler: str
    """Import path of the callable that runs, `package.module:function`; ours, not an RDO attribute. Without it the
    callable is registered in Python under the transaction's name."""
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled"]
    """A DISABLED transaction cannot be started."""
    wait: Literal["YES", "yes", "NO", "no"]
    """Whether a unit of work waits when the coordinator is lost while it is indoubt."""
    waittime: str
    """How long, as dd,hh,mm; 00,00,00 is without limit. See :attr:`waittime_seconds`."""
    action: Literal["BACKOUT", "backout", "COMMIT", "commit"]
    """What is done when it does not wait, or no longer: BACKOUT or COMMIT."""
    dtimout: int | Literal["NO", "no"]
    """The longest wait of a task as mmss, or NO. See :attr:`dtimout_seconds`."""
    restart: Literal["YES", "yes", "NO", "no"]
    """Whether DFHREST may restart the task after backout."""
    ressec: Literal["YES", "yes", "NO", "no"]
    """Resource security is checked."""
    cmdsec: Literal["YES", "yes", "NO", "no"]
    """Command security is checked."""
    priority: int
    """0 to 255."""
    tranclass: str
    """The transaction class that limits how many run."""
    remotesystem: str
    """The SYSID of the region that runs it; empty for this one."""
    remotename: str
    """Its name there."""
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
    localq: str | int
    operation: str | int
    otstimeout: str | int
    partitionset: str | int
    platform: str | int
    primedsize: str | int
    profile: str | int
    routable: str | int
    rsl: str | int
    runaway: str | int
    shutdown: str | int
    spurge: str | int
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
    """Its network name; the terminal's name when not given."""
    inservice: Literal["YES", "yes", "NO", "no"]
    """A task for a terminal that is not in service waits until it is."""
    userid: str
    """The user signed on by the definition itself; empty for the default user."""
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
    remotename: str | int
    remotesysnet: str | int
    remotesystem: str | int
    securityname: str | int
    solicited: str | int
    spooldest: str | int
    spoolfcb: str | int
    spoolprtrsl: str | int
    spoolprtto: str | int
    tasklimit: str | int
    termpriority: str | int
    transaction: str | int
    typeterm: str | int
    usedfltuser: str | int


class ConnectionAttributes(ResourceAttributes, total=False):
    """Attributes of a CONNECTION."""

    name: Required[str]
    """The resource's name."""
    netname: str
    """The APPLID of the other region; the connection's name when not given."""
    inservice: Literal["YES", "yes", "NO", "no"]
    """Requests over a connection that is not in service get SYSIDERR."""
    securityname: str
    """The user id of requests that arrive over it; the default user when it is empty or not known."""
    attachsec: Literal[
        "LOCAL", "local", "IDENTIFY", "identify", "VERIFY", "verify", "PERSISTENT", "persistent", "MIXIDPE",
        "mixidpe",
    ]  # fmt: skip
    """LOCAL takes `securityname`, the others the user id that the other region sends."""
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
    """What the names begin with, 1 to 16 characters."""
    location: Literal["AUXILIARY", "auxiliary", "MAIN", "main"]
    """AUXILIARY, or MAIN, where no restart finds them."""
    recovery: Literal["YES", "yes", "NO", "no"]
    """Whether they are recoverable; not in main storage."""
    remotesystem: str
    """The SYSID of the region that owns them; empty for this one. The models of that region then say what they
    are."""
    remoteprefix: str
    """What their names begin with there, no longer than the prefix; the same prefix when not given."""
    expiryint: str | int
    expiryintmin: str | int
    poolname: str | int
    security: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int
    xremotepfx: str | int


class FileAttributes(ResourceAttributes, total=False):
    """Attributes of a FILE."""

    name: Required[str]
    """The resource's name."""
    dsname: str
    """The data set; one of the file's own name when not given."""
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled", "UNENABLED", "unenabled"]
    """ENABLED, DISABLED, or UNENABLED, for which it must be opened first."""
    opentime: Literal["FIRSTREF", "firstref", "STARTUP", "startup"]
    """FIRSTREF, with the first request, or STARTUP."""
    add: Literal["YES", "yes", "NO", "no"]
    """What may be done with it."""
    browse: Literal["YES", "yes", "NO", "no"]
    """What may be done with it."""
    delete: Literal["YES", "yes", "NO", "no"]
    """What may be done with it."""
    read: Literal["YES", "yes", "NO", "no"]
    """What may be done with it."""
    update: Literal["YES", "yes", "NO", "no"]
    """What may be done with it."""
    recordformat: Literal["V", "v", "F", "f"]
    """V or F: whether all records have RECORDSIZE bytes."""
    keylength: int
    """Bytes of the key, 1 to 255."""
    recordsize: int
    """The longest record, in bytes."""
    recovery: Literal["NONE", "none", "BACKOUTONLY", "backoutonly", "ALL", "all"]
    """Whether a backout undoes changes (BACKOUTONLY, ALL), or does not (NONE)."""
    organisation: Literal["", "KSDS", "ksds", "ESDS", "esds", "RRDS", "rrds"]
    """KSDS, ESDS or RRDS; ours. KSDS when a KEYLENGTH is given."""
    keyposition: int
    """Where the key begins in the record, from 0; ours."""
    relate: str
    """The DSNAME of the data set over whose alternate index the file is a path; ours."""
    uniquekey: Literal["YES", "yes", "NO", "no"]
    """Whether no two records may have the same alternate key; ours."""
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
    """A DISABLED program cannot be run."""
    executionset: Literal["FULLAPI", "fullapi", "DPLSUBSET", "dplsubset"]
    """DPLSUBSET: LINK runs it here with the commands only that it could issue in another region."""
    remotesystem: str
    """The SYSID of the region that runs it; empty for this one."""
    remotename: str
    """Its name there; its own name when not given."""
    transid: str
    """The transaction under which it runs there; CSMI when not given."""
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
    """`*STD`, or `*DDM` for a name for a queue of another system."""
    maxlen: int
    """The longest entry in bytes, 1 to 64512; 0 stands for not given, as with `*DDM`."""
    force: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether each entry is written to disk before the send ends."""
    seq: Literal["*FIFO", "*fifo", "*LIFO", "*lifo", "*KEYED", "*keyed"]
    """`*FIFO`, `*LIFO` or `*KEYED`."""
    keylen: int
    """Bytes of the key, 1 to 256; 0 without keys."""
    senderid: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether the sender's identity goes with each entry."""
    size: tuple[int | Literal["*MAX16MB", "*MAX2GB", "MAX16MB", "MAX2GB"], int]
    """Most entries (-1 for `*MAX16MB`, -2 for `*MAX2GB`) and the initial number."""
    autorcl: Literal["*NO", "*no", "*YES", "*yes"]
    """Whether storage is reclaimed when the queue is empty."""
    rmtdtaq: str
    """Of `*DDM`: the queue on the other system, `LIBRARY/NAME`."""
    rmtlocname: str
    """Of `*DDM`: the other system's location name, or `*RDB`."""
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
    """`LIBRARY/NAME` or `NAME`, which is created in the current library."""
