"""The attributes of each kind of definition, for type checkers; :mod:`tdqsim.definitions.attribute_types` writes it."""

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
    description: str
    definetime: datetime | str | None
    changetime: datetime | str | None
    changeusrid: str
    changeagent: Literal[
        "",
        "CREATESPI",
        "createspi",
        "CSDAPI",
        "csdapi",
        "CSDBATCH",
        "csdbatch",
        "DREPAPI",
        "drepapi",
        "SYSTEM",
        "system",
    ]
    changeagrel: str
    name: Required[str]
    remotesystem: str
    remotename: str
    remotelength: int


class ResourceAttributes(TypedDict, total=False):
    """Attributes of a definition of any other kind."""

    group: str
    description: str
    definetime: datetime | str | None
    changetime: datetime | str | None
    changeusrid: str
    changeagent: Literal[
        "",
        "CREATESPI",
        "createspi",
        "CSDAPI",
        "csdapi",
        "CSDBATCH",
        "csdbatch",
        "DREPAPI",
        "drepapi",
        "SYSTEM",
        "system",
        "DREPBATCH",
        "drepbatch",
        "AUTOINSTALL",
        "autoinstall",
        "TABLE",
        "table",
        "DYNAMIC",
        "dynamic",
    ]
    changeagrel: str


class IntraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INTRA."""

    type: Required[Literal["INTRA", "intra"]]
    atifacility: Literal["FILE", "file", "SYSTEM", "system", "TERMINAL", "terminal"]
    recovstatus: Literal["LOGICAL", "logical", "NO", "no", "PHYSICAL", "physical"]
    facilityid: str
    transid: str
    triggerlevel: int
    userid: str
    wait: Literal["YES", "yes", "NO", "no"]
    waitaction: Literal["QUEUE", "queue", "REJECT", "reject"]


class ExtraQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type EXTRA."""

    type: Required[Literal["EXTRA", "extra"]]
    databuffers: int
    ddname: str
    dsname: str
    sysoutclass: Literal[
        "",
        "A",
        "a",
        "B",
        "b",
        "C",
        "c",
        "D",
        "d",
        "E",
        "e",
        "F",
        "f",
        "G",
        "g",
        "H",
        "h",
        "I",
        "i",
        "J",
        "j",
        "K",
        "k",
        "L",
        "l",
        "M",
        "m",
        "N",
        "n",
        "O",
        "o",
        "P",
        "p",
        "Q",
        "q",
        "R",
        "r",
        "S",
        "s",
        "T",
        "t",
        "U",
        "u",
        "V",
        "v",
        "W",
        "w",
        "X",
        "x",
        "Y",
        "y",
        "Z",
        "z",
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "*",
    ]
    erroroption: Literal["IGNORE", "ignore", "SKIP", "skip"]
    opentime: Literal["DEFERRED", "deferred", "INITIAL", "initial"]
    rewind: Literal["LEAVE", "leave", "REREAD", "reread"]
    typefile: Literal["INPUT", "input", "OUTPUT", "output", "RDBACK", "rdback"]
    recordsize: int
    blocksize: int
    recordformat: Literal["", "FIXED", "fixed", "VARIABLE", "variable"]
    blockformat: Literal["", "BLOCKED", "blocked", "UNBLOCKED", "unblocked"]
    printcontrol: Literal["", "A", "a", "M", "m"]
    disposition: Literal["MOD", "mod", "OLD", "old", "SHR", "shr"]
    jobuserid: str


class IndirectQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE of type INDIRECT."""

    type: Required[Literal["INDIRECT", "indirect"]]
    indirectname: Required[str]


class RemoteQueueAttributes(TdqueueAttributes, total=False):
    """Attributes of a TDQUEUE."""

    type: Literal[""]


class TransactionAttributes(ResourceAttributes, total=False):
    """Attributes of a TRANSACTION."""

    name: Required[str]
    program: str
    handler: str
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled"]
    wait: Literal["YES", "yes", "NO", "no"]
    waittime: str
    action: Literal["BACKOUT", "backout", "COMMIT", "commit"]
    dtimout: int | Literal["NO", "no"]
    restart: Literal["YES", "yes", "NO", "no"]
    ressec: Literal["YES", "yes", "NO", "no"]
    cmdsec: Literal["YES", "yes", "NO", "no"]
    priority: int
    tranclass: str
    remotesystem: str
    remotename: str
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
    netname: str
    inservice: Literal["YES", "yes", "NO", "no"]
    userid: str
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
    netname: str
    inservice: Literal["YES", "yes", "NO", "no"]
    securityname: str
    attachsec: Literal[
        "LOCAL", "local", "IDENTIFY", "identify", "VERIFY", "verify", "PERSISTENT", "persistent", "MIXIDPE", "mixidpe"
    ]
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
    prefix: Required[str]
    location: Literal["AUXILIARY", "auxiliary", "MAIN", "main"]
    recovery: Literal["YES", "yes", "NO", "no"]
    expiryint: str | int
    expiryintmin: str | int
    poolname: str | int
    remoteprefix: str | int
    remotesystem: str | int
    security: str | int
    userdata1: str | int
    userdata2: str | int
    userdata3: str | int
    xremotepfx: str | int


class FileAttributes(ResourceAttributes, total=False):
    """Attributes of a FILE."""

    name: Required[str]
    dsname: str
    status: Literal["ENABLED", "enabled", "DISABLED", "disabled", "UNENABLED", "unenabled"]
    opentime: Literal["FIRSTREF", "firstref", "STARTUP", "startup"]
    add: Literal["YES", "yes", "NO", "no"]
    browse: Literal["YES", "yes", "NO", "no"]
    delete: Literal["YES", "yes", "NO", "no"]
    read: Literal["YES", "yes", "NO", "no"]
    update: Literal["YES", "yes", "NO", "no"]
    recordformat: Literal["V", "v", "F", "f"]
    keylength: int
    recordsize: int
    recovery: Literal["NONE", "none", "BACKOUTONLY", "backoutonly", "ALL", "all"]
    organisation: Literal["", "KSDS", "ksds", "ESDS", "esds", "RRDS", "rrds"]
    keyposition: int
    relate: str
    uniquekey: Literal["YES", "yes", "NO", "no"]
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


class DtaqKeywords(ResourceAttributes, total=False):
    """Attributes of a DTAQ without its name."""

    type: Literal["*STD", "*std", "*DDM", "*ddm"]
    maxlen: int
    force: Literal["*NO", "*no", "*YES", "*yes"]
    seq: Literal["*FIFO", "*fifo", "*LIFO", "*lifo", "*KEYED", "*keyed"]
    keylen: int
    senderid: Literal["*NO", "*no", "*YES", "*yes"]
    size: tuple[int | Literal["*MAX16MB", "*MAX2GB", "MAX16MB", "MAX2GB"], int]
    autorcl: Literal["*NO", "*no", "*YES", "*yes"]
    rmtdtaq: str
    rmtlocname: str
    rdb: str
    dev: str
    lcllocname: str
    mode: str
    rmtnetid: str
    text: str
    aut: str


class DtaqAttributes(DtaqKeywords, total=False):
    """Attributes of a DTAQ."""

    dtaq: Required[str]
