"""Function codes, abends, CVDAs, options and numbers of the CICS commands again, typed by hand from the manuals' pages."""

from __future__ import annotations

import re

import pytest

from tdqsim.facts import (
    ABEND_CODES,
    ATTRIBUTE_CVDA,
    CVDAS,
    EIBFN,
    INQUIRE_OPTIONS,
    SUPPLIED_QUEUES,
    TDQUEUE_ATTRIBUTES,
    Cvda,
    Resp,
    table,
)

FUNCTIONS = {
    "02": "ADDRESS 02 HANDLE-CONDITION 04 HANDLE-AID 06 ASSIGN 08 IGNORE-CONDITION 0A PUSH-HANDLE 0C POP-HANDLE 0E",
    "04": "RECEIVE 02 SEND 04",
    "06": """
        READ 02 WRITE 04 REWRITE 06 DELETE 08 UNLOCK 0A STARTBR 0C READNEXT 0E READPREV 10 ENDBR 12 RESETBR 14
    """,
    "08": "WRITEQ-TD 02 READQ-TD 04 DELETEQ-TD 06",
    "0A": "WRITEQ-TS 02 READQ-TS 04 DELETEQ-TS 06",
    "0C": "GETMAIN 02 FREEMAIN 04",
    "0E": "LINK 02 XCTL 04 LOAD 06 RETURN 08 RELEASE 0A ABEND 0C HANDLE-ABEND 0E",
    "10": "ASKTIME 02 DELAY 04 POST 06 START 08 RETRIEVE 0A CANCEL 0C",
    "12": "WAIT-EVENT 02 ENQ 04 DEQ 06 SUSPEND 08",
    "16": "SYNCPOINT 02 SYNCPOINT-ROLLBACK 02",
    "18": "RECEIVE-MAP 02 SEND-MAP 04 SEND-TEXT 06 SEND-CONTROL 12",
    "20": "BIF-DEEDIT 02",
    "30": "CREATE-TDQUEUE 1C",
    "34": "DELETE-CONTAINER 12 GET-CONTAINER 14 PUT-CONTAINER 16 MOVE-CONTAINER 40",
    "48": "ENTER-TRACENUM 02",
    "4A": "ASKTIME-ABSTIME 02 FORMATTIME 04",
    "4C": "INQUIRE-FILE 02 SET-FILE 04",
    "54": "INQUIRE-SYSTEM 02 SET-SYSTEM 04",
    "5C": "INQUIRE-TDQUEUE 02 SET-TDQUEUE 04 DISCARD-TDQUEUE 10",
    "6C": "WRITE-OPERATOR 02",
    "7E": "DUMP-TRANSACTION 02",
    "96": "STARTBROWSE-CONTAINER 26 GETNEXT-CONTAINER 28 ENDBROWSE-CONTAINER 2A",
}
"""EIBFN: the group, then the commands of it with their second byte."""


FUNCTION_OF_TD = "08"


@pytest.mark.parametrize("group", FUNCTIONS)
def test_function_codes(group):
    words = FUNCTIONS[group].split()
    expected = {name.replace("-", " "): group + code for name, code in zip(words[::2], words[1::2], strict=True)}
    assert {name: EIBFN[name].hex().upper() for name in expected} == expected


def test_the_forms_of_an_inquiry_have_one_function_code():
    """Single, START, NEXT and END are options of one command, and ENQ is another name of UOWENQ."""
    for command, code in EIBFN.items():
        verb, _, rest = command.partition(" ")
        if verb == "INQUIRE":
            resource = rest.split()[0].replace("ENQ", "UOWENQ").replace("UOWUOW", "UOW")
            second = {"TRANCLASS": b"\x1c", "TRANDUMPCODE": b"\x12"}.get(resource, b"\x02")
            assert code[1:] == second, command
            assert code == EIBFN.get(f"INQUIRE {resource}", EIBFN.get(f"INQUIRE {resource} START")), command


def test_set_is_the_second_function_of_its_group():
    for command, code in EIBFN.items():
        verb, _, resource = command.partition(" ")
        if verb == "SET" and resource == "TRANCLASS":  # as remembered: it shares the group of tasks
            assert code.hex() == "5e1e"
        elif verb == "SET" and resource == "TRANDUMPCODE":  # as remembered: it shares the group of dump data sets
            assert code.hex() == "6614"
        elif verb == "SET":
            assert code == EIBFN[f"INQUIRE {resource}"][:1] + b"\x04", command


def test_groups_of_system_commands_that_no_page_gave():
    """As remembered: each resource has a group, in no order."""
    groups = {"TRANSACTION": "50", "TERMINAL": "52", "CONNECTION": "58", "TASK": "5E", "UOW": "90", "UOWLINK": "94"}
    found = {name: EIBFN[f"INQUIRE {name}"][:1].hex().upper() for name in groups}
    assert found == groups
    others = {"UOWENQ START": "92", "FILE": "4C", "SYSTEM": "54", "TDQUEUE": "5C"}
    assert {name: EIBFN[f"INQUIRE {name}"][:1].hex().upper() for name in others} == others
    assert (EIBFN["PERFORM STATISTICS"], EIBFN["EXTRACT STATISTICS"]) == (b"\x70\x06", b"\x70\x0a")
    assert (EIBFN["INQUIRE STATISTICS"], EIBFN["COLLECT STATISTICS"]) == (b"\x70\x02", b"\x70\x08")
    assert EIBFN["INQUIRE DISPATCHER"] == b"\xba\x02"
    assert EIBFN["INQUIRE TRANDUMPCODE"] == b"\x66\x12"
    assert (EIBFN["WRITE JOURNALNAME"], EIBFN["WAIT JOURNALNAME"]) == (b"\x14\x06", b"\x14\x08")


def test_response_codes_are_those_of_the_group_of_transient_data():
    assert {row["group"] for row in table("eibrcode")} == {FUNCTION_OF_TD} == {EIBFN["READQ TD"][:1].hex()}


ABENDS = {
    "AEI": """
        ERROR A EOF D EODS E INBFMH G ENDINPT H NONVAL I NOSTART J TERMIDERR K FILENOTFOUND L NOTFND M DUPREC N DUPKEY O INVREQ P IOERR Q NOSPACE R NOTOPEN S ENDFILE T
        ILLOGIC U LENGERR V QZERO W ITEMERR Z PGMIDERR 0 TRANSIDERR 1 ENDDATA 2 INVTSREQ 3 EXPIRED 4 TSIOERR 8 MAPFAIL 9
    """,
    "AEY": """
        INVERRTERM A INVMPSZ B IGREQID C INVLDC E JIDERR G QIDERR H DSSTAT J SELNERR K FUNCERR L UNEXPIN M NOPASSBKRD N
        NOPASSBKWR O SEGIDERR P SYSIDERR Q ISCINVREQ R ENVDEFERR T IGREQCD U SESSIONERR V USERIDERR X NOTALLOC Y CBIDERR Z
        INVEXITREQ 0 INVPARTNSET 1 INVPARTN 2 PARTNFAIL 3 NOTAUTH 7
    """,
}


@pytest.mark.parametrize("prefix", ABENDS)
def test_abend_codes_of_conditions(prefix):
    words = ABENDS[prefix].split()
    expected = {name: prefix + letter for name, letter in zip(words[::2], words[1::2], strict=True)}
    found = {Resp(number).name: code for number, code in ABEND_CODES.items() if code.startswith(prefix)}
    assert found == expected


NUMBERS = """
    DREPBATCH 845 AUTOINSTALL 1140 BUNDLE 1180 DYNAMIC 178 TABLE 847 EXECINSTALL 846 UNDEFINED 14 RECOVERABLE 29
    HEURCOMMIT 757 HEURBACKOUT 758 ACTIVE 181 WAITING 765 CONNECTION 755 DATASET 756 WAITCOMMIT 763 WAITFORGET 622
    WAITRMI 766 WAITRRMS 1063 RLSSERVER 761 OTS 1107 RETAINED 715 OWNER 753 WAITER 754 TDQ 767 TDQUEUE 767 COORDINATOR 770
    SUBORDINATE 773 IRC 121 OK 274 RUNNING 229 DISPATCHABLE 228 SUSPENDED 231 TASK 233 TERM 234 DEST 235 PURGE 236
    FORCEPURGE 237 KILL 232 ACQUIRED 69 RELEASED 70 INSERVICE 73 OUTSERVICE 74 CMDSECNO 205 CMDSECYES 207 RESSECNO 202
    RESSECYES 204 COLDSTART 266 WARMSTART 267 EMERGENCY 268 SHUTDOWN 288 RESET 290
"""


def test_cvda_numbers_of_signatures_tasks_and_units_of_work():
    words = NUMBERS.split()
    expected = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    assert {name: Cvda[name].value for name in expected} == expected


def test_cvdas_of_one_number_are_names_of_one_thing():
    """IGNORE is what SET leaves alone, READBACK what IBM's table calls RDBACK, TDQUEUE a second spelling of TDQ."""
    found: dict[str, list[str]] = {}
    for row in table("cvda"):
        found.setdefault(row["value"], []).append(row["name"])
    twice = sorted(names for names in found.values() if len(names) > 1)
    assert twice == [["NOTAPPLIC", "IGNORE"], ["RDBACK", "READBACK"], ["TDQ", "TDQUEUE"]]


def test_cvdas_that_only_verbs_of_cobol_programs_have():
    """Names from each part of the vendor's table, and the one whose number is not IBM's."""
    published = {"IMMEDIATE": 2, "EVENTUAL": 3, "CRITICAL": 11, "BIT": 1020, "BASICAUTH": 1092, "APPEND": 1036,
                 "UCTRAN": 450, "NOUCTRAN": 451, "TRANIDONLY": 452, "FULLAPI": 384, "DPLSUBSET": 383, "ACQUIRING": 71,
                 "NOATI": 76, "PHASEIN": 168, "T3277R": 145, "NEWSESSION": 485, "ASRUNTRAN": 1209, "GET": 748,
                 "NOTIPADDR": 30001}  # fmt: skip
    found = {row["name"]: int(row["value"]) for row in table("cobol_cvda")}
    assert {name: found[name] for name in published} == published
    assert len(found) == 911
    assert not found.keys() & Cvda.__members__.keys()
    assert CVDAS["EXECENQ"] == 751
    assert CVDAS["FULLAPI"] == 384


INQUIRED = {
    "UOW": """
        AGE BINARY 4; LINK CHAR 8; NETNAME CHAR 8; NETUOWID CHAR 27; OTSTID CHAR 128; SYSID CHAR 4; TASKID PACKED 4;
        TERMID CHAR 4; TRANSID CHAR 4; UOWSTATE CVDA 4 BACKOUT COMMIT HEURBACKOUT HEURCOMMIT INDOUBT INFLIGHT; USERID CHAR 8;
        WAITCAUSE CVDA 4 CONNECTION WAITFORGET; WAITSTATE CVDA 4 ACTIVE SHUNTED WAITING
    """,
    "UOWENQ": """
        DURATION BINARY 4; ENQFAILS BINARY 4; ENQSCOPE CHAR 4; NETUOWID CHAR 27; QUALIFIER VARCHAR 255; QUALLEN HALF 2;
        RELATION CVDA 4 OWNER WAITER; RESLEN HALF 2; RESOURCE VARCHAR 255; STATE CVDA 4 ACTIVE RETAINED; TASKID PACKED 4;
        TRANSID CHAR 4; TYPE CVDA 4 EXECENQ TDQ; UOW HEX 16
    """,
    "UOWLINK": """
        BRANCHQUAL HEX 64; HOST CHAR 255; LINK CHAR 8; NETUOWID CHAR 27; PORT BINARY 4; PROTOCOL CVDA 4 IRC;
        RESYNCSTATUS CVDA 4 COLD OK UNAVAILABLE UNCONNECTED; RMIQFY CHAR 8; ROLE CVDA 4 COORDINATOR SUBORDINATE; SYSID CHAR 4;
        TYPE CVDA 4 CONNECTION; UOW HEX 16; URID CHAR 32; XID HEX 64
    """,
    "TASK": """
        DTIMEOUT BINARY 4; FACILITY CHAR 4; FACILITYTYPE CVDA 4 DEST TASK TERM; INDOUBT CVDA 4 BACKOUT COMMIT;
        INDOUBTMINS BINARY 4; INDOUBTWAIT CVDA 4 NOWAIT WAIT; PRIORITY BINARY 4; PROGRAM CHAR 8;
        RUNSTATUS CVDA 4 DISPATCHABLE RUNNING SUSPENDED;
        STARTCODE CHAR 2; SUSPENDTIME BINARY 4; SUSPENDTYPE CHAR 8; SUSPENDVALUE CHAR 8; TRANCLASS CHAR 8;
        TRANPRIORITY BINARY 4; TRANSACTION CHAR 4; UOW HEX 16; USERID CHAR 8
    """,
    "TRANSACTION": """
        CMDSEC CVDA 4 CMDSECNO CMDSECYES; DTIMEOUT BINARY 4; PROGRAM CHAR 8; REMOTESYSTEM CHAR 4;
        RESSEC CVDA 4 RESSECNO RESSECYES; STATUS CVDA 4 DISABLED ENABLED
    """,
    "CONNECTION": """
        ACCESSMETHOD CVDA 4 IRC; CONNSTATUS CVDA 4 ACQUIRED RELEASED; NETNAME CHAR 8; SERVSTATUS CVDA 4 INSERVICE OUTSERVICE
    """,
    "FILE": """
        ACCESSMETHOD CVDA 4 VSAM; ADD CVDA 4 ADDABLE NOTADDABLE; BROWSE CVDA 4 BROWSABLE NOTBROWSABLE;
        DELETE CVDA 4 DELETABLE NOTDELETABLE; DSNAME CHAR 44; ENABLESTATUS CVDA 4 DISABLED ENABLED UNENABLED;
        KEYLENGTH BINARY 4; KEYPOSITION BINARY 4; OPENSTATUS CVDA 4 CLOSED OPEN; READ CVDA 4 NOTREADABLE READABLE;
        RECORDFORMAT CVDA 4 FIXED VARIABLE; RECORDSIZE BINARY 4; RECOVSTATUS CVDA 4 NOTRECOVABLE RECOVERABLE;
        TYPE CVDA 4 ESDS KSDS RRDS; UPDATE CVDA 4 NOTUPDATABLE UPDATABLE
    """,
    "REQID": """
        FMHSTATUS CVDA 4 FMH NOFMH; INTERVAL PACKED 4; LENGTH HALF 2; QUEUE CHAR 8; REQTYPE CVDA 4 DELAY POST START;
        RTERMID CHAR 4; RTRANSID CHAR 4; TERMID CHAR 4; TIME PACKED 4; TRANSID CHAR 4; USERID CHAR 8
    """,
    "PROGRAM": "STATUS CVDA 4 ENABLED",
    "TERMINAL": "SERVSTATUS CVDA 4 INSERVICE OUTSERVICE; TRANSACTION CHAR 4; USERID CHAR 8",
    "TSQUEUE": """
        FLENGTH BINARY 4; MAXITEMLEN HALF 2; MINITEMLEN HALF 2; NUMITEMS HALF 2; RECOVSTATUS CVDA 4 NOTRECOVABLE RECOVERABLE
    """,
    "SYSTEM": "MAXTASKS BINARY 4",
    "DISPATCHER": "PRTYAGING BINARY 4",
    "STATISTICS": """
        ENDOFDAY PACKED 4; ENDOFDAYHRS BINARY 4; ENDOFDAYMINS BINARY 4; ENDOFDAYSECS BINARY 4; INTERVAL PACKED 4;
        INTERVALHRS BINARY 4; INTERVALMINS BINARY 4; INTERVALSECS BINARY 4; NEXTTIME PACKED 4; NEXTTIMEHRS BINARY 4;
        NEXTTIMEMINS BINARY 4; NEXTTIMESECS BINARY 4; RECORDING CVDA 4 OFF ON
    """,
    "TRANCLASS": "ACTIVE BINARY 4; MAXACTIVE BINARY 4; PURGETHRESH BINARY 4; QUEUED BINARY 4",
    "TRANDUMPCODE": """
        CURRENT BINARY 4; DUMPSCOPE CVDA 4 LOCAL RELATED; MAXIMUM BINARY 4; SHUTOPTION CVDA 4 NOSHUTDOWN SHUTDOWN;
        SYSDUMPING CVDA 4 NOSYSDUMP SYSDUMP; TRANDUMPING CVDA 4 NOTRANDUMP TRANDUMP
    """,
}


@pytest.mark.parametrize("resource", INQUIRED)
def test_options_of_inquire(resource):
    found = [
        " ".join([option.name, option.receiver, str(option.length), *sorted(value.name for value in option.values)])
        for option in INQUIRE_OPTIONS[resource].values()
    ]
    assert found == [entry.strip() for entry in INQUIRED[resource].split(";")]
    assert not any(option.types or option.closed_notapplic for option in INQUIRE_OPTIONS[resource].values())


def test_values_of_tdqueue_options():
    expected = {
        "ATIFACILITY": "NOTERMINAL TERMINAL", "BLOCKFORMAT": "BLOCKED UNBLOCKED",
        "CHANGEAGENT": "CREATESPI CSDAPI CSDBATCH DREPAPI SYSTEM", "DISPOSITION": "MOD OLD SHARE",
        "EMPTYSTATUS": "EMPTY FULL NOTEMPTY", "ENABLESTATUS": "DISABLED DISABLING ENABLED", "ERROROPTION": "IGNORERR SKIP",
        "INDOUBT": "QUEUE REJECT", "INDOUBTWAIT": "NOWAIT WAIT", "INSTALLAGENT": "CREATESPI CSDAPI GRPLIST SYSTEM",
        "IOTYPE": "INPUT OUTPUT RDBACK", "OPENSTATUS": "CLOSED CLOSING OPEN OPENING", "PRINTCONTROL": "ASACTL MCHCTL NOCTL",
        "RECORDFORMAT": "FIXED VARIABLE", "RECOVSTATUS": "LOGICAL NOTRECOVABLE PHYSICAL", "REWIND": "LEAVE REREAD",
        "TYPE": "EXTRA INDIRECT INTRA REMOTE",
    }  # fmt: skip
    found = {
        name: " ".join(value.name for value in option.values)
        for name, option in INQUIRE_OPTIONS["TDQUEUE"].items()
        if option.receiver == "CVDA"
    }
    assert found == expected


def test_what_inquire_shows_for_the_keywords_of_a_definition():
    expected = """
        ATIFACILITY.FILE=NOTERMINAL ATIFACILITY.TERMINAL=TERMINAL ATIFACILITY.SYSTEM=TERMINAL BLOCKFORMAT.BLOCKED=BLOCKED
        BLOCKFORMAT.UNBLOCKED=UNBLOCKED DISPOSITION.MOD=MOD DISPOSITION.OLD=OLD DISPOSITION.SHR=SHARE
        ERROROPTION.IGNORE=IGNORERR ERROROPTION.SKIP=SKIP PRINTCONTROL.A=ASACTL PRINTCONTROL.M=MCHCTL PRINTCONTROL.=NOCTL
        RECORDFORMAT.FIXED=FIXED RECORDFORMAT.VARIABLE=VARIABLE RECOVSTATUS.LOGICAL=LOGICAL RECOVSTATUS.NO=NOTRECOVABLE
        RECOVSTATUS.PHYSICAL=PHYSICAL REWIND.LEAVE=LEAVE REWIND.REREAD=REREAD TYPE.EXTRA=EXTRA TYPE.INTRA=INTRA
        TYPE.INDIRECT=INDIRECT TYPE.=REMOTE TYPEFILE.INPUT=INPUT TYPEFILE.OUTPUT=OUTPUT TYPEFILE.RDBACK=RDBACK WAIT.YES=WAIT
        WAIT.NO=NOWAIT WAITACTION.QUEUE=QUEUE WAITACTION.REJECT=REJECT
    """
    found = [f"{name}.{value}={cvda.name}" for (name, value), (_, cvda) in ATTRIBUTE_CVDA.items()]
    assert found == expected.split()
    elsewhere = {"TYPEFILE": "IOTYPE", "WAIT": "INDOUBTWAIT", "WAITACTION": "INDOUBT"}
    assert all(option == elsewhere.get(name, name) for (name, _), (option, _) in ATTRIBUTE_CVDA.items())


def test_which_type_of_queue_has_which_attribute():
    expected = {
        "EXTRA": """
            DATABUFFERS DDNAME DSNAME SYSOUTCLASS ERROROPTION OPENTIME REWIND TYPEFILE RECORDSIZE BLOCKSIZE RECORDFORMAT
            BLOCKFORMAT PRINTCONTROL DISPOSITION JOBUSERID
        """,
        "INTRA": "ATIFACILITY RECOVSTATUS FACILITYID TRANSID TRIGGERLEVEL USERID WAIT WAITACTION",
        "INDIRECT": "INDIRECTNAME",
        "REMOTE": "REMOTENAME REMOTESYSTEM REMOTELENGTH",
        "EXTRA INDIRECT INTRA REMOTE": "TDQUEUE GROUP DESCRIPTION TYPE",
    }
    found: dict[str, set[str]] = {}
    for name, row in TDQUEUE_ATTRIBUTES.items():
        found.setdefault(" ".join(sorted(row.types)), set()).add(name)
    assert found == {types: set(names.split()) for types, names in expected.items()}
    lengths = {row.name: row.minimum for row in TDQUEUE_ATTRIBUTES.values() if row.kind in ("name", "text")}
    assert lengths == dict.fromkeys(lengths, 1) | {"DESCRIPTION": 0}
    assert {row.name: row.kind for row in TDQUEUE_ATTRIBUTES.values() if row.kind == "text"} == {"DESCRIPTION": "text"}


def test_defaults_of_names_and_what_attributes_need():
    rows = TDQUEUE_ATTRIBUTES.values()
    assert {row.name: row.default for row in rows if row.kind in ("name", "text") and row.default} == {
        "DDNAME": "the queue's name", "FACILITYID": "the queue's name, with TERMINAL", "REMOTENAME": "the queue's name",
    }  # fmt: skip
    assert {row.name: row.requires for row in rows if row.requires} == {
        "TDQUEUE": "required", "GROUP": "required", "INDIRECTNAME": "required", "TYPE": "omitted: REMOTESYSTEM",
        "DSNAME": "no SYSOUTCLASS", "SYSOUTCLASS": "no DSNAME; TYPEFILE OUTPUT", "BLOCKFORMAT": "RECORDFORMAT",
        "PRINTCONTROL": "RECORDFORMAT", "FACILITYID": "ATIFACILITY not FILE", "USERID": "ATIFACILITY FILE",
        "WAITACTION": "WAIT YES", "REMOTENAME": "REMOTESYSTEM", "REMOTELENGTH": "REMOTESYSTEM",
    }  # fmt: skip
    assert "".join(TDQUEUE_ATTRIBUTES["SYSOUTCLASS"].values) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*"
    assert {row.name: row.abbreviation for row in rows if row.abbreviation} == {
        "TDQUEUE": "TDQ", "GROUP": "G", "DESCRIPTION": "DESC", "TYPE": "TYPE", "ATIFACILITY": "A", "RECOVSTATUS": "RECOV",
        "FACILITYID": "F", "TRANSID": "TRA", "TRIGGERLEVEL": "TRIG",
    }  # fmt: skip


def test_options_of_set_tdqueue():
    columns = ("name", "kind", "types", "values", "disabled")
    assert ["/".join(row[column] for column in columns) for row in table("set_tdqueue")] == [
        "ATIFACILITY/CVDA/INTRA/NOTERMINAL TERMINAL/yes", "ATITERMID/CHAR/INTRA/1 4/yes", "ATITRANID/CHAR/INTRA/1 4/yes",
        "ATIUSERID/CHAR/INTRA/1 8/yes", "ENABLESTATUS/CVDA/INTRA EXTRA REMOTE/DISABLED ENABLED/no",
        "OPENSTATUS/CVDA/EXTRA/CLOSED OPEN/no", "TRIGGERLEVEL/BINARY/INTRA/0 32767/no",
    ]  # fmt: skip


RESP2 = """
    DISCARD-TDQUEUE: reserved name INVREQ 11; not closed INVREQ 18; disable pending INVREQ 30; not disabled INVREQ 31;
        not found QIDERR 1
    SET-TDQUEUE: reserved name INVREQ 11; not closed INVREQ 18; disable pending INVREQ 30; not disabled INVREQ 31;
        not found QIDERR 1; unknown user USERIDERR 8; surrogate NOTAUTH 102
    CREATE-TDQUEUE: install failed INVREQ 500; bad logmessage INVREQ 7; negative length LENGERR 1; surrogate NOTAUTH 102
    INQUIRE-TDQUEUE: not found QIDERR 1; browse sequence ILLOGIC 1; no more END 2
    ANY: command not allowed NOTAUTH 100; resource not allowed NOTAUTH 101; browse sequence ILLOGIC 1; no more END 2
    INQUIRE-UOW: not found UOWNOTFOUND 1; browse sequence ILLOGIC 1; no more END 2
    SET-UOW: bad cvda INVREQ 3; wrong state INVREQ 4; not found UOWNOTFOUND 1
    SET-TASK: not found TASKIDERR 1; bad cvda INVREQ 3; not purgeable INVREQ 5; deferred NORMAL 13
    INQUIRE-UOWENQ: not found UOWNOTFOUND 1; browse sequence ILLOGIC 1; no more END 2
    INQUIRE-UOWLINK: not found UOWLNOTFOUND 1; uow not found UOWNOTFOUND 1; browse sequence ILLOGIC 1; no more END 2
    SET-UOWLINK: not found UOWLNOTFOUND 1; indoubt INVREQ 3; active INVREQ 5; bad cvda INVREQ 6; connected INVREQ 7
    INQUIRE-TASK: not found TASKIDERR 1
    INQUIRE-FILE: not found FILENOTFOUND 1
    INQUIRE-PROGRAM: not found PGMIDERR 1
    INQUIRE-TERMINAL: not found TERMIDERR 23
    INQUIRE-TSQUEUE: not found QIDERR 1
    INQUIRE-TRANSACTION: not found TRANSIDERR 1
    SET-TRANSACTION: not found TRANSIDERR 1
    DISCARD-TRANSACTION: not found TRANSIDERR 1; supplied INVREQ 4; scheduled INVREQ 14; waiting INVREQ 15
    EXTRACT-STATISTICS: not found NOTFND 1
    COLLECT-STATISTICS: not found NOTFND 1
    INQUIRE-REQID: not found NOTFND 1; browse sequence ILLOGIC 1; no more END 2
    INQUIRE-TRANCLASS: not found TCIDERR 1; browse sequence ILLOGIC 1; no more END 2
    SET-TRANCLASS: not found TCIDERR 1; bad maxactive INVREQ 2; bad purgethresh INVREQ 3
    CSD: cannot be changed CSDERR 2; full CSDERR 3; group already in list DUPRES 1; group is a list DUPRES 2; list is a group DUPRES 3; already defined
        DUPRES 1; bad type INVREQ 1; bad group INVREQ 2; bad list INVREQ 3; bad name INVREQ 4; bad before INVREQ 5; bad after INVREQ 6;
        locked LOCKED 1; protected LOCKED 2; no resource NOTFND 1; no group NOTFND 2; no list NOTFND 3; not in list NOTFND 4; install
        failed INVREQ 500; partly installed INCOMPLETE 1
    INQUIRE-TRANDUMPCODE: not found NOTFND 1; browse sequence ILLOGIC 1; no more END 2
    SET-TRANDUMPCODE: not found NOTFND 1; duplicate DUPREC 10
"""


def test_resp2_numbers_of_system_commands():
    """All that a page gives or that is general; what is above 900 stands for numbers that IBM has not published."""
    expected = set()
    for block in RESP2.replace("\n        ", " ").strip().splitlines():
        command, rest = block.strip().split(": ", 1)
        expected |= {f"{command.replace('-', ' ')}: {entry.strip()}" for entry in rest.split(";")}
    published = [
        row for row in table("spi_resp2") if int(row["resp2"]) < 900 and row["command"] != "INQUIRE CONNECTION"
    ]
    assert {f"{row['command']}: {row['cause']} {row['resp']} {row['resp2']}" for row in published} == expected


def test_codes_in_statistics():
    """DFHTQRDS has the types; the others count the words in the order in which the options list them."""
    expected = {
        "type": {"EXTRA": 1, "INTRA": 2, "INDIRECT": 3, "REMOTE": 4},
        "recovery": {"(none)": 0, "NO": 0, "PHYSICAL": 1, "LOGICAL": 2},
        "facility_type": {"(none)": 0, "FILE": 1, "TERMINAL": 2, "SYSTEM": 3},
        "wait": {"(none)": 0, "NO": 0, "YES": 1}, "waitaction": {"(none)": 0, "REJECT": 1, "QUEUE": 2},
        "iotype": {"(none)": 0, "INPUT": 1, "OUTPUT": 2, "RDBACK": 3},
    }  # fmt: skip
    found: dict[str, dict[str, int]] = {}
    for row in table("statistics_codes"):
        found.setdefault(row["field"], {})[row["value"]] = int(row["code"])
    assert found == expected


SIGNATURE = {
    "grplist": "group definition definition definition definition definition 'GRPLIST' start region",
    "csd": "group definition definition definition definition definition 'CSDAPI' now user",
    "create": "program now 'CREATESPI' release now user 'CREATESPI' now user",
    "system": "'SYSTEM' start 'SYSTEM' release start region 'SYSTEM' start region",
}
"""DEFINESOURCE, DEFINETIME, CHANGEAGENT, CHANGEAGREL, CHANGETIME, CHANGEUSRID, then INSTALLAGENT, -TIME and -USRID."""


@pytest.mark.parametrize("way", SIGNATURE)
def test_where_a_resource_signature_comes_from(way):
    changes = [f"CHANGE{each}" for each in ("AGENT", "AGREL", "TIME", "USRID")]
    installs = [f"INSTALL{each}" for each in ("AGENT", "TIME", "USRID")]
    fields = ["DEFINESOURCE", "DEFINETIME", *changes, *installs]
    found = {row["field"]: row["origin"] for row in table("signature") if row["way"] == way}
    assert found == dict(zip(fields, SIGNATURE[way].split(), strict=True))


def test_supplied_queues():
    """The extrapartition ones with their DD names, C's stderr behind its stdout, FEPI's events; all else behind CSSL."""
    assert {queue.name: f"{queue.ddname} {queue.disposition}" for queue in SUPPLIED_QUEUES.values() if queue.type == "EXTRA"} == {
        "CSSL": "MSGUSR SHR", "CAFF": "CAFF SHR", "CCSO": "COUT MOD", "CESE": "CEEMSG SHR", "CESO": "CEEOUT SHR",
        "CRPO": "CRPO SHR",
    }  # fmt: skip
    assert {queue.name: queue.recordsize for queue in SUPPLIED_QUEUES.values() if queue.recordsize} == {"CESE": 161}
    assert [queue.name for queue in SUPPLIED_QUEUES.values() if queue.type == "INTRA"] == ["CSZX"]
    indirect = {queue.name: queue.indirectname for queue in SUPPLIED_QUEUES.values() if queue.type == "INDIRECT"}
    assert indirect == dict.fromkeys(indirect, "CSSL") | {"CCSE": "CCSO"}
    logs = """
        CADL CADO CADS CAIL CCPI CCZM CDB2 CDBC CDEP CDUL CEJL CIEO CIIL CISL CISO CMIG CMLO CMPO CRDI CRLO CSBR CSCS CSDL CSFL
        CSKL CSLB CSMT CSPL CSQL CSRL CSZL CPLI CPLD CSBA CSCC CSDH CSJE CSML CSNE CSOO CSSH CSTL CWBO CWBW CKQQ CMQM CPIO CJRM
        CRLR CECO CEPO CCSE
    """
    assert indirect.keys() == set(logs.split())


def test_control_characters_of_printers():
    """ANSI: what happens before the line; machine code: after it, with a command that prints nothing two higher."""
    rows = {
        row["code"]: (row["before"], row["after"], row["write"])
        for row in table("printcontrol")
        if row["kind"] == "asa"
    }
    channels = {f"{number:X}": (f"CH{number}", "", "YES") for number in range(1, 13)}
    assert (
        rows == {" ": ("1", "", "YES"), "0": ("2", "", "YES"), "-": ("3", "", "YES"), "+": ("0", "", "YES")} | channels
    )
    rows = {
        row["code"]: (row["before"], row["after"], row["write"])
        for row in table("printcontrol")
        if row["kind"] == "machine"
    }
    codes = {8 * lines + 1: str(lines) for lines in range(4)}
    codes |= {0x80 + 8 * channel + 1: f"CH{channel}" for channel in range(1, 13)}
    expected = {f"{code:02X}": ("", after, "YES") for code, after in codes.items()}
    assert rows == expected | {f"{code + 2:02X}": ("", after, "NO") for code, after in codes.items()}


def test_releases_in_steps_of_ten():
    numbers = ["0640", "0650", "0660", "0670", "0680", "0690", "0700", "0710", "0720", "0730", "0740", "0750", "0760"]
    names = ["3.1", "3.2", "4.1", "4.2", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "6.1", "6.2", "6.3"]
    assert {row["changeagrel"]: row["release"] for row in table("releases")} == dict(zip(numbers, names, strict=True))


def test_resp2_of_create_by_attribute():
    """405: a companion is missing; 407: it conflicts with another."""
    found: dict[str, set[str]] = {}
    for row in table("create_conflicts"):
        found.setdefault(row["code"], set()).add(row["attribute"])
    assert found == {
        "405": {"BLOCKFORMAT", "PRINTCONTROL", "REMOTENAME", "REMOTELENGTH", "USERID"},
        "407": {"SYSOUTCLASS", "FACILITYID", "WAITACTION"},
    }


def test_where_messages_of_cics_go():
    """To CSMT those of tasks, to CSCS of security; to CSQL of discards; to the console of triggers, space and users."""
    found: dict[str, set[str]] = {}
    for row in table("kernel_messages"):
        found.setdefault(row["destination"], set()).add(row["id"])
    assert found == {
        "CSCS": {"DFHXS1111", "DFHXS1201", "DFHXS1206"},
        "CSMT": {
            "DFHAC2003", "DFHAC2004", "DFHAC2236", "DFHAC2231", "DFHAC2232", "DFHAC2233", "DFHAC2001", "DFHAC2008", "DFHAC2016",
            "DFHCR4300", "DFHCR4301", "DFHCR4310",
        },
        "CSQL": {"DFHTD0401", "DFHTD0402", "DFHTD0403"},
        "Console": {"DFHTD0183", "DFHTD0240", "DFHTD0340", "DFHTD1278"},
        "Terminal": {"DFHAC2002", "DFHAC2014", "DFHAC2033"},
    }  # fmt: skip
    texts = {row["id"]: row["text"] for row in table("kernel_messages")}
    inserts = {name: set(re.findall(r"{(\w+)}", text)) for name, text in texts.items()}
    of_a_program = {"transid", "program", "termid"}
    of_a_queue = {"queue", "termid", "userid", "transid"}
    of_a_request = {"transid", "termid", "sysid"}
    assert inserts == {
        "DFHAC2236": {*of_a_program, "abcode"}, "DFHAC2231": of_a_program, "DFHAC2232": of_a_program,
        "DFHAC2233": of_a_program, "DFHAC2001": {"transid"}, "DFHAC2008": {"transid"}, "DFHAC2016": {"transid", "program"},
        "DFHTD0183": {"queue", "transid", "reason"}, "DFHTD0340": {"queue", "transid"}, "DFHTD0240": {"queue", "ddname"},
        "DFHAC2014": {"transid", "sysid"}, "DFHCR4300": of_a_request, "DFHCR4301": of_a_request, "DFHCR4310": of_a_request,
        "DFHAC2002": {"transid"}, "DFHAC2003": {"termid", "transid", "userid"}, "DFHAC2004": {"abcode", "transid"},
        "DFHAC2033": {"transid"},
        "DFHXS1201": {"transid", "userid"}, "DFHXS1206": {"transid", "userid", "invalid"}, "DFHXS1111": {"transid", "who", "resource", "classname"},
        "DFHTD1278": {"queue", "userid"}, "DFHTD0401": of_a_queue, "DFHTD0402": of_a_queue, "DFHTD0403": of_a_queue,
    }  # fmt: skip
    says = {"DFHTD0401": "deleted", "DFHTD0402": "added", "DFHTD0403": "replaced", "DFHTD1278": "not installed",
            "DFHTD0340": "remote", "DFHTD0183": "trigger level", "DFHAC2001": "not recognized", "DFHAC2008": "disabled",
            "DFHAC2232": "committed", "DFHAC2233": "backed out", "DFHAC2231": "shunted", "DFHAC2236": "backed out",
            "DFHAC2003": "Security violation", "DFHXS1111": "Security violation by user",
            "DFHAC2033": "not authorized", "DFHXS1201": "invalid", "DFHXS1206": "verified",
            "DFHTD0240": "No space", "DFHAC2016": "not available"}  # fmt: skip
    assert {name: word for name, word in says.items() if word in texts[name]} == says
    for name, code in (("DFHAC2231", "ASP1"), ("DFHAC2232", "ASPO"), ("DFHAC2233", "ASPP")):
        assert f"code {code}." in texts[name]


def test_commands_of_dfhcsdup_and_resources_that_it_defines():
    commands = """
        ADD ALTER APPEND COPY DEFINE DELETE EXTRACT INITIALIZE INITIALISE INSTALL LIST LOCK MIGRATE PROCESS REMOVE RENAME SCAN
        SERVICE UNLOCK UPGRADE USERDEFINE VERIFY
    """
    rows = table("csd_commands")
    assert [row["name"] for row in rows] == commands.split()
    assert [row["name"] for row in rows if row["effect"] == "looks"] == ["EXTRACT", "LIST", "SCAN"]
    assert [row["name"] for row in rows if row["effect"] in ("none", "refused")] == [
        "INITIALIZE", "INITIALISE", "MIGRATE", "PROCESS", "SERVICE", "UPGRADE", "VERIFY",
    ]  # fmt: skip
    assert {row["name"]: row["words"] for row in rows if row["words"]} == {
        "COPY": "REPLACE MERGE", "DELETE": "ALL REMOVE", "EXTRACT": "OBJECTS LINES", "INSTALL": "ALL",
        "LIST": "ALL OBJECTS SIGSUMM", "SCAN": "ALIAS", "UPGRADE": "REPLACE",
    }  # fmt: skip
    resources = """
        ATOMSERVICE BUNDLE CONNECTION CORBASERVER DB2CONN DB2ENTRY DB2TRAN DJAR DOCTEMPLATE DUMPCODE ENQMODEL FILE IPCONN
        JOURNALMODEL JVMSERVER LIBRARY LSRPOOL MAPSET MQCONN MQINI MQMONITOR PARTITIONSET PARTNER PIPELINE PROCESSTYPE PROFILE
        PROGRAM REQUESTMODEL SESSIONS TCPIPSERVICE TDQUEUE TERMINAL TRANCLASS TRANSACTION TSMODEL TYPETERM URIMAP WEBSERVICE
    """
    assert [row["name"] for row in table("resource_types")] == resources.split()
