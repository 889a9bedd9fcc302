"""Every declared option runs in Python and as EXEC CICS text, and the EIBs are compared."""

from __future__ import annotations

import pytest

from tdqsim.cics import COMMANDS, Abend, Condition
from tdqsim.cics.files import DataFile
from tdqsim.cics.kernel.abstime import FormattedTime
from tdqsim.cics.kernel.control import ASSIGN_OPTIONS
from tdqsim.definitions.bms import parse_bms
from tdqsim.facts import INQUIRE_OPTIONS
from tests.cics.spi.helpers import region

SHOWN = {"erase": True, "eraseaup": True, "freekb": True, "alarm": True, "frset": True}
MAPS = """\
PAYSET   DFHMSD TYPE=MAP,MODE=INOUT,LANG=COBOL,TIOAPFX=YES
PAYMAP   DFHMDI SIZE=(24,80)
ACCT     DFHMDF POS=(1,10),LENGTH=6,ATTRB=(UNPROT,IC)
         DFHMSD TYPE=FINAL
         END
"""
INTRA_ONLY = {"triggerlevel": 7, "enablestatus": "DISABLED"}


def quoted(value):
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(int(value))


NEEDS_TERMINAL = frozenset(
    """
    ALTSCRNHT ALTSCRNWD COLOR DEFSCRNHT DEFSCRNWD EXTDS FACILITY HILIGHT NEXTTRANSID OPID PRINSYSID QNAME SCRNHT SCRNWD
    TCTUALENG TERMCODE
    """.split()
)

VERIFIED = ("CHANGETIME", "DAYSLEFT", "ESMREASON", "ESMRESP", "EXPIRYTIME", "INVALIDCOUNT", "LASTUSETIME")

# (command, what is given by parameter, words of receivers)
CASES = [
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "length": 2}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "sysid": "TDQ1"}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "sysid": "NONE"}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "length": 0}, ()),
    ("WRITEQ TD", {"queue": "NOQ", "from_": b"abc"}, ()),
    ("READQ TD", {"queue": "FULL", "length": 5, "sysid": "TDQ1", "nosuspend": True}, ("INTO",)),
    ("READQ TD", {"queue": "FULL"}, ("SET", "LENGTH")),
    ("READQ TD", {"queue": "FULL", "length": 2}, ("INTO",)),
    ("READQ TD", {"queue": "FULL", "length": -1}, ("INTO",)),
    ("READQ TD", {"queue": "PAYQ"}, ("INTO",)),
    ("DELETEQ TD", {"queue": "FULL", "sysid": "TDQ1"}, ()),
    ("DELETEQ TD", {"queue": "EXTO"}, ()),
    *(
        ("INQUIRE TDQUEUE", {"tdqueue": name}, tuple(INQUIRE_OPTIONS["TDQUEUE"]))
        for name in ("PAYQ", "EXTO", "ALIA", "REMQ")
    ),
    ("INQUIRE TDQUEUE", {"tdqueue": "NOQ"}, ("TYPE",)),
    ("INQUIRE TDQUEUE START", {}, ()),
    ("INQUIRE TDQUEUE NEXT", {}, ("TDQUEUE", "TYPE")),
    ("INQUIRE TDQUEUE END", {}, ()),
    ("SET TDQUEUE", {"tdqueue": "PAYQ", **INTRA_ONLY}, ()),
    ("SET TDQUEUE", {"tdqueue": "PHYQ", "atifacility": "NOTERMINAL", "atitranid": "PAY2", "atiuserid": "BOB"}, ()),
    ("SET TDQUEUE", {"tdqueue": "PHYQ", "atifacility": "TERMINAL", "atitermid": "T009"}, ()),
    ("SET TDQUEUE", {"tdqueue": "EXTO", "openstatus": "OPEN"}, ()),
    ("SET TDQUEUE", {"tdqueue": "ALIA", "enablestatus": "ENABLED"}, ()),
    ("CREATE TDQUEUE", {"tdqueue": "NEWQ", "attributes": "TYPE(INTRA)  ", "attrlen": 11, "logmessage": "LOG"}, ()),
    ("CREATE TDQUEUE", {"tdqueue": "NEWQ", "attributes": "NONSENSE"}, ()),
    ("DISCARD TDQUEUE", {"tdqueue": "PHYQ"}, ()),
    ("DISCARD TDQUEUE", {"tdqueue": "PAYQ"}, ()),
    *(
        case
        for resource, known, unknown in (("TRANSACTION", "PAYP", "NOTR"), ("CONNECTION", "CICB", "NONE"))
        for word in [resource.lower()]
        for case in (
            (f"INQUIRE {resource}", {word: known}, tuple(INQUIRE_OPTIONS[resource])),
            (f"INQUIRE {resource}", {word: unknown}, tuple(INQUIRE_OPTIONS[resource])[:1]),
            (f"INQUIRE {resource} START", {}, ()),
            (f"INQUIRE {resource} NEXT", {}, (resource, *INQUIRE_OPTIONS[resource])),
            (f"INQUIRE {resource} END", {}, ()),
        )
    ),
    (
        "QUERY SECURITY",
        {"resid": "PAYQ", "restype": "TDQUEUE", "logmessage": "NOLOG", "userid": "BOB"},
        ("READ", "UPDATE", "CONTROL", "ALTER"),
    ),
    ("QUERY SECURITY", {"resid": "PAYQ", "resclass": "DCICSDCT", "residlength": 4}, ("READ",)),
    ("QUERY SECURITY", {"resid": "NONE", "restype": "FILE", "logmessage": "LOG"}, ("READ",)),
    ("VERIFY PASSWORD", {"password": "SECRET", "userid": "BOB"}, VERIFIED),
    ("VERIFY PHRASE", {"phrase": "A LONG PHRASE", "phraselen": 13, "userid": "BOB"}, VERIFIED),
    ("SIGNON", {"userid": "BOB", "password": "SECRET"}, ("ESMREASON", "ESMRESP")),
    ("SIGNOFF", {}, ()),
    ("INQUIRE SYSTEM", {}, ("MAXTASKS",)),
    ("SET SYSTEM", {"maxtasks": 20}, ()),
    ("SET SYSTEM", {"maxtasks": 5}, ()),
    ("INQUIRE TRANCLASS", {"tranclass": "PAYCLASS"}, tuple(INQUIRE_OPTIONS["TRANCLASS"])),
    ("INQUIRE TRANCLASS", {"tranclass": "NOCLASS"}, ("ACTIVE",)),
    ("INQUIRE TRANCLASS START", {}, ()),
    ("INQUIRE TRANCLASS NEXT", {}, ("TRANCLASS", *INQUIRE_OPTIONS["TRANCLASS"])),
    ("INQUIRE TRANCLASS END", {}, ()),
    ("SET TRANCLASS", {"tranclass": "PAYCLASS", "maxactive": 3, "purgethresh": 5}, ()),
    ("SET TRANCLASS", {"tranclass": "NOCLASS", "maxactive": 3}, ()),
    ("DISCARD TRANSACTION", {"transaction": "PAYP"}, ()),
    ("DISCARD TRANSACTION", {"transaction": "NONE"}, ()),
    (
        "SET TRANDUMPCODE",
        {
            "trandumpcode": "PAY1",
            "action": 291,
            "maximum": 3,
            "trandumping": 187,
            "sysdumping": 185,
            "shutoption": 289,
            "dumpscope": 605,
        },
        (),
    ),
    ("SET TRANDUMPCODE", {"trandumpcode": "NONE", "maximum": 3}, ()),
    ("INQUIRE TRANDUMPCODE", {"trandumpcode": "PAY1"}, tuple(INQUIRE_OPTIONS["TRANDUMPCODE"])),
    ("INQUIRE TRANDUMPCODE", {"trandumpcode": "NONE"}, ("CURRENT",)),
    ("INQUIRE TRANDUMPCODE START", {}, ()),
    ("INQUIRE TRANDUMPCODE NEXT", {}, ("TRANDUMPCODE", *INQUIRE_OPTIONS["TRANDUMPCODE"])),
    ("INQUIRE TRANDUMPCODE END", {}, ()),
    ("INQUIRE REQID", {"reqid": "REQ9"}, tuple(INQUIRE_OPTIONS["REQID"])),
    ("INQUIRE REQID START", {}, ()),
    ("INQUIRE REQID NEXT", {}, ("REQID", *INQUIRE_OPTIONS["REQID"])),
    ("INQUIRE REQID END", {}, ()),
    ("INQUIRE UOW", {"uow": b"\xff" * 16}, ("UOWSTATE",)),
    ("INQUIRE UOW START", {}, ()),
    ("INQUIRE UOW NEXT", {}, ("UOW", "UOWSTATE")),
    ("INQUIRE UOW END", {}, ()),
    ("INQUIRE UOWENQ START", {"resource": "TERQ"}, ()),
    ("INQUIRE UOWENQ START", {"resource": "TERQ", "reslen": 4, "enqscope": "    "}, ()),
    ("INQUIRE UOWENQ START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE UOWENQ NEXT", {}, ("RESOURCE", "UOW")),
    ("INQUIRE UOWENQ END", {}, ()),
    ("INQUIRE ENQ START", {"resource": "TERQ", "reslen": 4, "enqscope": "    "}, ()),
    ("INQUIRE ENQ START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE ENQ NEXT", {}, ("RESOURCE", "UOW")),
    ("INQUIRE ENQ END", {}, ()),
    ("INQUIRE TASK LIST", {"dispatchable": True, "running": True, "suspended": True}, ()),
    ("SET UOWLINK", {"uowlink": b"\xff" * 4, "action": "DELETE"}, ()),
    ("SET TASK", {"task": 99_000, "purgetype": "PURGE"}, ()),
    ("INQUIRE UOWLINK", {"uowlink": b"\xff" * 4}, ("ROLE",)),
    ("INQUIRE UOWLINK START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE UOWLINK NEXT", {}, ("UOWLINK", "ROLE")),
    ("INQUIRE UOWLINK END", {}, ()),
    ("INQUIRE TASK", {"task": 99_000}, ("RUNSTATUS",)),
    ("INQUIRE TRANSACTION START", {"at": "PAYP"}, ()),
    ("SET TRANSACTION", {"transaction": "PAYP", "status": "DISABLED"}, ()),
    ("SET UOW", {"uow": b"\xff" * 16, "uowstate": "COMMIT"}, ()),
    ("EXTRACT STATISTICS", {"resid": "PAYQ", "tdqueue": True}, ("SET",)),
    ("EXTRACT STATISTICS", {"resid": "NOQ", "tdqueue": True}, ("SET",)),
    *(
        ("EXTRACT STATISTICS", {kind: True}, ("LASTRESET", "LASTRESETHRS", "LASTRESETMIN", "LASTRESETSEC"))
        for kind in ("dispatcher", "stats", "transaction", "tsqueue")
    ),
    ("EXTRACT STATISTICS", {"resid": "PAYQ"}, ("LASTRESETABS",)),
    ("EXTRACT STATISTICS", {"resid": "NOFILE", "file": True}, ("LASTRESETHRS",)),
    ("EXTRACT STATISTICS", {"resid": "NOPROG", "program": True}, ("LASTRESETHRS",)),
    ("EXTRACT STATISTICS", {"resid": "PAYCLASS", "tranclass": True}, ("LASTRESETABS",)),
    ("COLLECT STATISTICS", {"tdqueue": "PAYQ"}, ("SET", "LASTRESET", "LASTRESETABS")),
    ("COLLECT STATISTICS", {"tdqueue": "NOQ"}, ("SET",)),
    ("COLLECT STATISTICS", {"transaction": "PAYP"}, ("LASTRESETHRS", "LASTRESETMIN", "LASTRESETSEC")),
    ("COLLECT STATISTICS", {"tranclass": "PAYCLASS"}, ("LASTRESETHRS",)),
    ("COLLECT STATISTICS", {"program": "NOPROG"}, ("LASTRESETHRS",)),
    ("COLLECT STATISTICS", {"file": "NOFILE"}, ("LASTRESETHRS",)),
    *(("COLLECT STATISTICS", {kind: True}, ("LASTRESETHRS",)) for kind in ("dispatcher", "stats", "tsqueue")),
    ("PERFORM STATISTICS", {"record": True, "tdqueue": True, "resetnow": True}, ()),
    ("PERFORM STATISTICS", {"record": True, "all_": True}, ()),
    *(
        ("PERFORM STATISTICS", {"record": True, kind: True}, ())
        for kind in ("dispatcher", "file", "program", "stats", "tranclass", "transaction", "tsqueue")
    ),
    ("INQUIRE STATISTICS", {}, tuple(INQUIRE_OPTIONS["STATISTICS"])),
    (
        "SET STATISTICS",
        {"interval": 1500, "endofday": 170000, "recording": "ON", "recordnow": True, "resetnow": True},
        (),
    ),
    ("SET STATISTICS", {"intervalhrs": 1, "intervalmins": 30, "intervalsecs": 5}, ()),
    ("SET STATISTICS", {"endofdayhrs": 1, "endofdaymins": 30, "endofdaysecs": 5}, ()),
    ("SET STATISTICS", {"interval": 20}, ()),
    ("INQUIRE DISPATCHER", {}, ("PRTYAGING",)),
    ("SET DISPATCHER", {"prtyaging": 500}, ()),
    ("SET DISPATCHER", {"prtyaging": -1}, ()),
    ("SYNCPOINT", {}, ()),
    ("SYNCPOINT ROLLBACK", {}, ()),
    ("ENQ", {"resource": b"LOCK", "task": True, "nosuspend": True}, ()),
    ("ENQ", {"resource": b"LOCKED", "length": 4, "uow": True}, ()),
    ("ENQ", {"resource": b"LOCK", "length": 0}, ()),
    ("DEQ", {"resource": b"LOCK", "task": True}, ()),
    ("DEQ", {"resource": b"LOCKED", "length": 4, "uow": True}, ()),
    ("SUSPEND", {}, ()),
    ("ASKTIME ABSTIME", {}, ("ABSTIME",)),
    (
        "FORMATTIME",
        {"abstime": 2837962864820, "datesep": "-", "timesep": ":"},
        tuple(name.upper() for name in FormattedTime._fields),
    ),
    ("FORMATTIME", {"abstime": 2837962864820, "stringformat": "RFC3339"}, ("DATESTRING",)),
    ("FORMATTIME", {"abstime": -1}, ("YEAR",)),
    ("DELAY", {"interval": 1}, ()),
    ("DELAY", {"hours": 0, "minutes": 0, "seconds": 2}, ()),
    ("START", {"transid": "PAYP", "from_": b"x", "reqid": "REQ1", "userid": "BOB", "interval": 1, "protect": True}, ()),
    ("START", {"transid": "PAYP", "termid": "T001", "hours": 0, "minutes": 1, "seconds": 1}, ()),
    ("START", {"transid": "PAYP", "from_": b"xyz", "length": 2, "rtransid": "BACK", "rtermid": "T1", "queue": "Q"}, ()),
    ("START", {"transid": "PAYP", "time": 120000, "channel": "CH", "nocheck": True}, ()),
    ("START", {"transid": "PAYP", "hours": 12, "at": True}, ()),
    ("START", {"transid": "PAYP", "sysid": "NONE"}, ()),
    ("RETRIEVE", {}, ("INTO", "LENGTH")),
    ("RETRIEVE", {"length": 3, "wait": True}, ("INTO",)),
    ("RETRIEVE", {}, ("SET", "LENGTH", "RTRANSID", "RTERMID", "QUEUE")),
    ("DELAY", {"millisecs": 20, "reqid": "R"}, ()),
    ("DELAY", {"hours": 23, "minutes": 59, "until": True}, ()),
    ("DELAY", {"time": 235959}, ()),
    ("ASSIGN", {}, tuple(sorted(word for word in ASSIGN_OPTIONS if word not in NEEDS_TERMINAL))),
    *(("ASSIGN", {}, (word,)) for word in sorted(NEEDS_TERMINAL)),
    ("PUT CONTAINER", {"container": "ONE", "from_": b"abc", "channel": "CH", "length": 2, "bit": True}, ()),
    ("PUT CONTAINER", {"container": "HAD", "from_": b"abc", "channel": "MADE", "append": True}, ()),
    ("PUT CONTAINER", {"container": "HAD", "from_": b"abc", "channel": "MADE", "prepend": True}, ()),
    ("PUT CONTAINER", {"container": "TWO", "from_": b"abc", "channel": "CH", "char": True, "fromccsid": 37}, ()),
    ("PUT CONTAINER", {"container": "TWO", "from_": b"abc", "channel": "CH", "fromcodepage": "IBM037"}, ()),
    ("PUT CONTAINER", {"container": "TWO", "from_": b"abc"}, ()),
    ("GET CONTAINER", {"container": "HAD", "channel": "MADE", "length": 2}, ("INTO", "CCSID")),
    ("GET CONTAINER", {"container": "HAD", "channel": "MADE", "byteoffset": 1, "intoccsid": 37}, ("SET", "FLENGTH")),
    ("GET CONTAINER", {"container": "HAD", "channel": "MADE", "nodata": True, "intocodepage": "IBM037"}, ("FLENGTH",)),
    ("GET CONTAINER", {"container": "NONE", "channel": "MADE", "convertst": 1}, ("INTO",)),
    ("DELETE CONTAINER", {"container": "HAD", "channel": "MADE"}, ()),
    ("MOVE CONTAINER", {"container": "HAD", "channel": "MADE", "as_": "GOT", "tochannel": "CH"}, ()),
    ("STARTBROWSE CONTAINER", {"channel": "MADE"}, ("BROWSETOKEN",)),
    ("GETNEXT CONTAINER", {"browsetoken": 1}, ("CONTAINER",)),
    ("ENDBROWSE CONTAINER", {"browsetoken": 1}, ()),
    ("LINK", {"program": "PROG", "channel": "CH", "datalength": 0}, ()),
    ("XCTL", {"program": "PROG", "channel": "CH"}, ()),
    ("WRITE OPERATOR", {"text": "HELLO", "textlength": 3, "routecodes": b"1", "numroutes": 1, "eventual": True}, ()),
    ("WRITE OPERATOR", {"text": "HELLO", "consname": "CON", "immediate": True}, ()),
    ("WRITE OPERATOR", {"text": "X", "critical": True, "maxlength": 5, "timeout": 1}, ("REPLY", "REPLYLENGTH")),
    ("WRITE OPERATOR", {"text": "X", "action": 2}, ()),
    ("ENTER TRACENUM", {"tracenum": 3, "from_": b"ab", "fromlength": 1, "resource": "RES", "exception": True}, ()),
    ("ENTER TRACENUM", {"tracenum": 200}, ()),
    ("DUMP TRANSACTION", {"dumpcode": "DUMP", "from_": b"ab", "length": 1, "complete": True}, ("DUMPID",)),
    ("DUMP TRANSACTION", {"dumpcode": "DUMP", "from_": b"ab", "short": 1}, ()),
    ("DUMP TRANSACTION", {"dumpcode": "D D"}, ()),
    (
        "WRITE JOURNALNAME",
        {"journal": "LOG", "jtypeid": "AB", "from_": b"ab", "length": 1, "wait": True, "nosuspend": True},
        ("REQID",),
    ),
    ("WAIT JOURNALNAME", {"journal": "LOG", "reqid": 1}, ()),
    ("BIF DEEDIT", {"field": b"1A2", "length": 3}, ()),
    ("INQUIRE FILE", {"file": "ACCT"}, tuple(INQUIRE_OPTIONS["FILE"])),
    ("INQUIRE FILE", {"file": "NOFILE"}, ("OPENSTATUS",)),
    ("INQUIRE FILE START", {}, ()),
    ("INQUIRE FILE NEXT", {}, ("FILE", *INQUIRE_OPTIONS["FILE"])),
    ("INQUIRE FILE END", {}, ()),
    ("SET FILE", {"file": "ACCT", "openstatus": 19, "enablestatus": 24}, ()),
    ("SET FILE", {"file": "NOFILE", "openstatus": 18}, ()),
    ("RECEIVE", {"maxlength": 2, "notruncate": True}, ("INTO",)),
    ("CANCEL", {"reqid": "REQ1"}, ()),
    ("CANCEL", {"reqid": "REQ1", "transid": "PAYP", "sysid": "NONE"}, ()),
    ("ABEND", {"abcode": "OOPS", "cancel": True, "nodump": True}, ()),
    ("PUSH HANDLE", {}, ()),
    ("POP HANDLE", {}, ()),
    ("ASSIGN", {}, ("USERID",)),
    ("ASSIGN", {}, ("ABCODE", "APPLID", "FCI", "NETNAME", "PROGRAM", "STARTCODE", "SYSID")),
    ("ASSIGN", {}, ("QNAME",)),
    ("ASSIGN", {}, ("FACILITY",)),
    *(
        ("READ", {"file": "ACCT", "ridfld": key, **given}, receivers)
        for key, given, receivers in (
            (b"A1", {}, ("INTO", "LENGTH")),
            (b"A1", {"length": 3}, ("INTO",)),
            (b"A1", {"equal": True, "update": True}, ("SET", "LENGTH")),
            (b"A1", {"update": True}, ("INTO", "TOKEN")),
            (b"A1", {"update": True, "token": 1}, ("INTO",)),
            (b"A", {"keylength": 1, "generic": True, "gteq": True}, ("INTO",)),
            (b"ZZ", {}, ("INTO",)),
            (b"A1", {"rba": True}, ("INTO",)),
            (b"A1", {"rrn": True}, ("INTO",)),
        )
    ),
    ("READ", {"file": "NOFILE", "ridfld": b"A1"}, ("INTO",)),
    ("WRITE", {"file": "ACCT", "from_": b"D1 new", "ridfld": b"D1", "massinsert": True}, ()),
    ("WRITE", {"file": "ACCT", "from_": b"D1 new", "ridfld": b"D1", "length": 4, "keylength": 2}, ()),
    ("WRITE", {"file": "ACCT", "from_": b"A1 new", "ridfld": b"A1"}, ()),
    ("WRITE", {"file": "ACCT", "from_": b"D1 new", "ridfld": b"D1", "rba": True}, ()),
    ("WRITE", {"file": "ACCT", "from_": b"D1 new", "ridfld": b"D1", "rrn": True}, ()),
    ("REWRITE", {"file": "ACCT", "from_": b"B1 other", "length": 5}, ()),
    ("REWRITE", {"file": "ACCT", "from_": b"B1 other", "token": 99}, ()),
    ("DELETE", {"file": "ACCT"}, ()),
    ("DELETE", {"file": "ACCT", "ridfld": b"A", "keylength": 1, "generic": True}, ("NUMREC",)),
    ("DELETE", {"file": "ACCT", "token": 99}, ()),
    ("DELETE", {"file": "ACCT", "ridfld": b"A1", "rba": True}, ()),
    ("DELETE", {"file": "ACCT", "ridfld": b"A1", "rrn": True}, ()),
    ("UNLOCK", {"file": "ACCT"}, ()),
    ("UNLOCK", {"file": "ACCT", "token": 99}, ()),
    *(
        (name, {"file": "ACCT", "ridfld": b"A1", "reqid": reqid, **given}, ())
        for name, reqid in (("STARTBR", 2), ("RESETBR", 0))
        for given in (
            {},
            {"equal": True},
            {"gteq": True, "keylength": 2},
            {"keylength": 1, "generic": True},
            {"rba": True},
            {"rrn": True},
            {"ridfld": b"ZZ"},
        )
    ),
    *(
        (name, {"file": "ACCT", "ridfld": b"B1", "reqid": 0, **given}, receivers)
        for name in ("READNEXT", "READPREV")
        for given, receivers in (
            ({}, ("INTO", "LENGTH")),
            ({"length": 3}, ("INTO",)),
            ({"keylength": 2}, ("SET", "LENGTH")),
            ({"rba": True}, ("INTO",)),
            ({"rrn": True}, ("INTO",)),
            ({"reqid": 7}, ("INTO",)),
        )
    ),
    ("ENDBR", {"file": "ACCT", "reqid": 0}, ()),
    ("ENDBR", {"file": "ACCT", "reqid": 7}, ()),
    ("LINK", {"program": "PROG"}, ()),
    ("LINK", {"program": "PROG", "commarea": b"abc", "length": 2, "syncpointonreturn": True}, ()),
    ("LINK", {"program": "PROG", "commarea": b"abc", "length": -1}, ()),
    ("LINK", {"program": "NOPROG"}, ()),
    ("LINK", {"program": "PROG", "sysid": "NONE", "transid": "PAYP"}, ()),
    ("LINK", {"program": "PROG", "commarea": b"abc", "length": 32764}, ()),
    ("XCTL", {"program": "PROG", "commarea": b"abc", "length": 32764}, ()),
    ("START", {"transid": "PAYP", "minutes": 6000}, ()),
    ("START", {"transid": "PAYP", "hours": 1, "seconds": 60}, ()),
    ("DELAY", {"minutes": 1, "seconds": 60}, ()),
    ("XCTL", {"program": "PROG", "commarea": b"abc", "length": 2}, ()),
    ("XCTL", {"program": "NOPROG"}, ()),
    ("LOAD", {"program": "RATES"}, ("SET", "LENGTH")),
    ("LOAD", {"program": "RATES", "hold": True}, ("ENTRY", "FLENGTH")),
    ("LOAD", {"program": "NOPROG"}, ("SET",)),
    ("RELEASE", {"program": "RATES"}, ()),
    ("RELEASE", {"program": "NOPROG"}, ()),
    ("SEND MAP", {"map": "PAYMAP", "mapset": "PAYSET", "from_": b"\0" * 40, "length": 40, "dataonly": True}, ()),
    ("SEND MAP", {"map": "PAYMAP", "mapset": "PAYSET", "maponly": True, "cursor": 5, **SHOWN}, ()),
    ("SEND MAP", {"map": "NOMAP"}, ()),
    ("RECEIVE MAP", {"map": "PAYMAP", "mapset": "PAYSET", "asis": True, "terminal": True}, ("INTO",)),
    ("RECEIVE MAP", {"map": "PAYMAP", "mapset": "PAYSET"}, ("SET",)),
    ("SEND TEXT", {"from_": b"abc", "length": 2, "erase": True, "freekb": True, "alarm": True, "cursor": 5}, ()),
    ("SEND CONTROL", {"cursor": 5, **SHOWN}, ()),
    ("SEND", {"from_": b"abc", "length": 2, "erase": True, "wait": True}, ()),
    ("SEND", {"from_": b"abc", "fmh": True, "last": True}, ()),
    ("RECEIVE", {"length": 2, "asis": True}, ("INTO",)),
    ("RECEIVE", {}, ("SET", "LENGTH")),
    ("WRITEQ TS", {"queue": "NEWTS", "from_": b"abc", "length": 2, "main": True, "nosuspend": True}, ("NUMITEMS",)),
    ("WRITEQ TS", {"queue": "NEWTS", "from_": b"abc", "auxiliary": True, "sysid": "TDQ1"}, ("ITEM",)),
    ("WRITEQ TS", {"queue": "TSQ", "from_": b"abc", "item": 1, "rewrite": True}, ()),
    ("WRITEQ TS", {"queue": "TSQ", "from_": b"abc", "item": 9, "rewrite": True}, ()),
    ("WRITEQ TS", {"queue": "TSQ", "from_": b"abc", "sysid": "NONE"}, ()),
    ("READQ TS", {"queue": "TSQ", "item": 1, "length": 2}, ("INTO", "NUMITEMS")),
    ("READQ TS", {"queue": "TSQ", "next": True, "sysid": "TDQ1"}, ("SET", "LENGTH")),
    ("READQ TS", {"queue": "TSQ", "item": 9}, ("INTO",)),
    ("DELETEQ TS", {"queue": "TSQ", "sysid": "TDQ1"}, ()),
    ("DELETEQ TS", {"queue": "NOTS"}, ()),
]
OTHERWISE = {"HANDLE CONDITION", "IGNORE CONDITION", "HANDLE AID", "HANDLE ABEND", "RETURN"}
"""Commands with callables or without an end; their text is tested in test_translator."""


def text_of(command, given, receivers):
    words = [command.name if receivers[:1] != ("ABSTIME",) else "ASKTIME"]
    for option in command.options:
        if option.parameter in given and not option.receiver:
            value = given[option.parameter]
            name = option.word in command.name.split()
            argument = f"({quoted(value)})" if option.kind not in ("flag", "cvda") else ""
            if option.kind == "cvda" and isinstance(value, int):
                argument = f"({value})"
            elif option.kind == "cvda":
                argument = f"(DFHVALUE({value}))"
            words = [
                f"{word}{argument}" if name and word == option.word else word for word in " ".join(words).split(" ")
            ]
            if not name:
                words.append(f"{option.word}{argument}")
    for word in receivers:
        if word in words[0].split() or word in words:
            words = [f"{had}({word})" if had == word else had for had in " ".join(words).split(" ")]
        elif not (word == "LENGTH" and "length" in given):
            words.append(f"{word}({word})")
    return " ".join(words)


def prepare(task):
    """The same state before every case, whatever the one before has left."""
    task.create_tdqueue("FULL", "TYPE(INTRA)", nohandle=True)
    task.create_tdqueue("PHYQ", "TYPE(INTRA) RECOVSTATUS(PHYSICAL)", nohandle=True)
    task.set_tdqueue("NEWQ", enablestatus="DISABLED", nohandle=True)
    task.discard_tdqueue("NEWQ", nohandle=True)
    task.set_tdqueue("PAYQ", enablestatus="ENABLED")
    task.set_tdqueue("EXTO", openstatus="CLOSED")
    task.set_tdqueue("PHYQ", enablestatus="DISABLED")
    task.deleteq_td("FULL")
    task.deleteq_td("PAYQ")
    task.writeq_td("FULL", b"12345")
    task.enq(b"LOCK")
    task.deleteq_ts("NEWTS", nohandle=True)
    task.deleteq_ts("TSQ", nohandle=True)
    task.writeq_ts("TSQ", b"12345")
    task.read_file("ACCT", b"B1", update=True)
    task.startbr("ACCT", b"A1")
    task.put_container("HAD", b"12345", channel="MADE")
    task.startbrowse_container(channel="MADE")


def furnish(reg):
    """A file, a program and a map, as neither is defined by what is installed."""
    data = DataFile(keylength=2, recordsize=20)
    for key in (b"A1", b"A2", b"B1", b"C9"):
        data.put(key, key + b" record")
    reg.files.define("ACCT", data, recoverable=True)
    reg.programs.define_table("RATES", b"0105")
    reg.programs.register("PROG", lambda task: task.writeq_td("PAYQ", bytes(task.commarea or b"none")))
    reg.screens.install(parse_bms(MAPS))
    return data


def ending(call):
    try:
        return call()
    except Condition as condition:
        return condition.resp, condition.resp2
    except Abend as abend:
        return abend.code


def by_method(task, command, given, receivers):
    options = [word for word in receivers if word not in command.name.split()]
    names = [option.parameter for option in command.options if not option.receiver and option.parameter != "nohandle"]
    if command.name.startswith(("INQUIRE", "ASSIGN")) and receivers:
        return getattr(task, command.method)(*(given[name] for name in names if name in given), *options)
    return getattr(task, command.method)(**given)


def by_text(task, command, given, receivers):
    return task.execute(text_of(command, given, receivers), {})


def state_after(reg, case, issue):
    name, given, receivers = case
    command = COMMANDS[name]
    data = furnish(reg)
    with reg.task() as task:
        prepare(task)
        if name.endswith((" NEXT", " END")):
            getattr(task, command.method.rpartition("_")[0] + "_start")()
        if name == "POP HANDLE":
            task.push_handle()
        ending(lambda: issue(task, command, given, receivers))
        states = {name: queue.enablestatus for name, queue in reg.tdqueues.items()}
        last, items = task.eib.last, [task.readq_ts(name, item=1, nohandle=True) for name in ("TSQ", "NEWTS")]
        return last, states, reg.peek("FULL"), reg.peek("PAYQ"), items, dict(data.records)


@pytest.fixture(scope="module")
def twins():
    """Two regions alike: one for each form."""
    with region(sysid="TDQ1") as one, region(sysid="TDQ1") as other:
        yield one, other


@pytest.mark.rule("EXEC-TWO-FACES")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(case[1])}")
def test_both_faces_leave_the_same_eib_and_the_same_queues(twins, case):
    one, other = twins
    assert state_after(one, case, by_method) == state_after(other, case, by_text)


@pytest.mark.rule("EXEC-TWO-FACES")
def test_every_declared_option_is_among_the_cases():
    tried: dict[str, set[str]] = {}
    for name, given, receivers in CASES:
        words = {option.word for option in COMMANDS[name].options if option.parameter in given}
        tried.setdefault(name, set()).update(words, receivers)
    tried["INQUIRE TDQUEUE NEXT"] |= set(INQUIRE_OPTIONS["TDQUEUE"])  # read by the same plan as INQUIRE TDQUEUE
    for name, command in COMMANDS.items():
        if name in OTHERWISE:
            continue
        declared = {option.word for option in command.options} - {"NOHANDLE"}
        if name.startswith(("INQUIRE UOW", "INQUIRE ENQ", "INQUIRE TASK")):
            declared = {option.word for option in command.options if not option.receiver} - {"NOHANDLE"}
        assert declared <= tried.get(name, set()), name
