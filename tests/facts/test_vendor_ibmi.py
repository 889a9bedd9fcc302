"""Layouts, parameters, messages and authorities of the IBM i interfaces again, typed by hand from the manuals' pages."""

from __future__ import annotations

import pytest

from tdqsim.facts import table
from tdqsim.ibmi.layouts import formats

FORMATS = {
    "RDQD0100": """
        0 B4 Bytes returned; 4 B4 Bytes available; 8 B4 Message length =0; 12 B4 Key length =0; 16 C1 Sequence = ;
        17 C1 Include sender ID = ; 18 C1 Force indicator = ; 19 C50 Text description; 69 C1 Type of data queue =1;
        70 C1 Automatic reclaim = ; 71 C1 Enforce data queue locks = ; 72 B4 Number of messages =0;
        76 B4 Number of entries currently allocated =0; 80 C10 Data queue name used; 90 C10 Data queue library used;
        100 B4 Maximum number of entries allowed =0; 104 B4 Initial number of entries =0;
        108 B4 Maximum number of entries specified =0; 112 H8 Last reclaim date and time =0000000000000000
    """,
    "RDQD0200": """
        0 B4 Bytes returned; 4 B4 Bytes available; 8 C10 APPC device description; 18 C8 Mode;
        26 C8 Remote location name; 34 C8 Local location name; 42 C8 Remote network identifier;
        50 C10 Remote data queue name; 60 C10 Remote data queue library name; 70 C10 Data queue name used;
        80 C10 Data queue library used; 90 C18 Relational database name
    """,
    "RDQM0100": """
        0 B4 Bytes returned; 4 B4 Bytes available; 8 B4 Number of messages returned; 12 B4 Number of messages available;
        16 B4 Message key length returned; 20 B4 Message key length available; 24 B4 Maximum message text length requested;
        28 B4 Maximum message text length available; 32 B4 Entry length returned; 36 B4 Entry length available;
        40 B4 Offset to first message entry; 44 C10 Actual data queue library name; 54 H2 Reserved
    """,
    "RDQM0200": """
        0 B4 Bytes returned; 4 B4 Bytes available; 8 B4 Number of messages returned; 12 B4 Number of messages available;
        16 B4 Message key length returned; 20 B4 Message key length available; 24 B4 Maximum message text length requested;
        28 B4 Maximum message text length available; 32 H8 Reserved; 40 B4 Offset to first message entry;
        44 C10 Actual data queue library name; 54 H2 Reserved
    """,
    "RDQM0100.entry": """
        0 B4 Offset to next message entry; 4 H8 Message enqueue date and time; 12 H* Message key; 12 H* Message text
    """,
    "RDQM0200.entry": """
        0 B4 Offset to next message entry; 4 H8 Message enqueue date and time; 12 B4 Enqueued message entry length;
        16 H* Message key; 16 H* Message text
    """,
    "RDQS0100": "0 C1 Selection type; 1 C3 Reserved; 4 B4 Number of message text bytes to retrieve",
    "RDQS0200": """
        0 C1 Selection type; 1 C2 Key search order; 3 C1 Reserved; 4 B4 Number of message text bytes to retrieve;
        8 B4 Number of message key bytes to retrieve; 12 B4 Length of key; 16 H* Key
    """,
    "CDQ.head": "0 B4 Number of variable length records",
    "CDQ.record": "0 B4 Key; 4 B4 Length of new value; 8 H* New value",
    "ERRC0100": "0 B4 Bytes provided; 4 B4 Bytes available; 8 C7 Exception ID; 15 C1 Reserved; 16 H* Exception data",
    "ERRC0200": """
        0 B4 Key; 4 B4 Bytes provided; 8 B4 Bytes available; 12 C7 Exception ID; 19 C1 Reserved;
        20 B4 CCSID of the CCHAR data; 24 B4 Offset to exception data; 28 B4 Length of exception data; 32 H* Exception data
    """,
    "SENDERID": """
        0 C10 Job name; 10 C10 User profile name; 20 C6 Job number; 26 C10 Sender's current user profile
    """,
    "RCVSENDER": """
        0 P4 Bytes returned; 4 P4 Bytes available; 8 C10 Job name; 18 C10 User profile name; 28 C6 Job number;
        34 C10 Sender's current user profile
    """,
}
"""Offset, kind and length, the field's name, and after = what a DDM data queue has there."""


@pytest.mark.parametrize("name", FORMATS)
def test_fields_of_formats(name):
    found = [
        f"{each.offset} {each.kind}{'*' if each.length is None else each.length} {each.field}{' =' * bool(each.ddm)}{each.ddm}"
        for each in formats()[name].fields
    ]
    assert found == [each.strip("\n").lstrip() for each in FORMATS[name].rstrip().split(";")]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_described_by_the_names_of_the_manual(name):
    lines = formats()[name].describe().splitlines()[1:]
    for line, entry in zip(lines, FORMATS[name].rstrip().split(";"), strict=True):
        offset, kind, field = entry.split(" =")[0].split(maxsplit=2)
        assert line.split(maxsplit=2)[:2] == [offset, kind]
        assert line.split(maxsplit=2)[2].startswith(f"{field}: ")


def test_names_of_fields_are_those_of_the_manual():
    """In Python small, with _ for a blank; two fields of one name in a format are numbered, some are shorter."""
    shorter = {
        "Number of variable length records": "number_of_records", "Length of new value": "length", "New value": "value",
        "CCSID of the CCHAR data": "ccsid", "User profile name": "user", "Job number": "number",
        "Sender's current user profile": "current_user",
    }  # fmt: skip
    for name in FORMATS:
        for field in formats()[name].fields:
            wanted = shorter.get(field.field, field.field.lower().replace(" ", "_"))
            assert field.name in (wanted, f"{wanted}_1"), (name, field.field)


PARAMETERS = {
    "QSNDDTAQ": """
        Data queue name in C10 0; Library name in C10 0; Length of data in P3 0; Data in H* 0;
        Length of key data in P2 1; Key data in H* 1; Asynchronous request in C10 2; Data is from a journal entry in C10 3
    """,
    "QRCVDTAQ": """
        Data queue name in C10 0; Library name in C10 0; Length of data out P3 0; Data out H* 0; Wait time in P3 0;
        Key order in C2 1; Length of key data in P2 1; Key data io H* 1; Length of sender information in P2 1;
        Sender information out H* 1; Remove message in C10 2; Size of data receiver in P3 2; Error code io H* 2;
        Wait time units in C10 3
    """,
    "QCLRDTAQ": """
        Data queue name in C10 0; Library name in C10 0; Key order in C2 1; Length of key data in P2 1; Key data in H* 1;
        Error code io H* 1
    """,
    "QMHQRDQD": """
        Receiver variable out H* 0; Length of receiver variable in B4 0; Format name in C8 0;
        Qualified data queue name in C20 0
    """,
    "QMHRDQM": """
        Receiver variable out H* 0; Length of receiver variable in B4 0; Format name in C8 0;
        Qualified data queue name in C20 0; Message selection information in H* 0;
        Length of message selection information in B4 0; Message selection information format name in C8 0;
        Error code io H* 0
    """,
    "QMHQCDQ": "Qualified data queue name in C20 0; Requested changes in H* 0; Error code io H* 0",
    "QWCCVTDT": """
        Input format in C10 0; Input variable in H* 0; Output format in C10 0; Output variable out H* 0; Error code io H* 0;
        Input time zone in C10 1; Output time zone in C10 1; Time zone information out H* 1;
        Length of time zone information in B4 1; Precision indicator in C1 1; Input time indicator in C1 2
    """,
}
"""Parameters in order: use, kind and bytes (PACKED(5,0) is three, PACKED(3,0) two), and the group it comes with."""


@pytest.mark.parametrize("api", PARAMETERS)
def test_parameters_of_apis(api):
    rows = [row for row in table("ibmi_api_parameters") if row["api"] == api]
    assert [row["number"] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    found = [f"{row['parameter']} {row['use']} {row['kind']}{row['length']} {row['group']}" for row in rows]
    assert found == [entry.strip() for entry in PARAMETERS[api].split(";")]


MESSAGES = """
    CPF2150 Object information function failed.
    CPF24B4 Severe error while addressing parameter list.
    CPF3C21 Format name &1 is not valid.
    CPF3C24 Length of the receiver variable is not valid.
    CPF3C36 Number of parameters, &1, entered for this API was not valid.
    CPF3C4D Length &1 for key &2 not valid.
    CPF3C81 Value for key &1 not valid.
    CPF3C82 Key &1 not valid for API &2.
    CPF3C88 Number of variable length records &1 is not valid.
    CPF3C90 Literal value cannot be changed.
    CPF3CF1 Error code parameter not valid.
    CPF9503 Cannot lock data queue &1 in &2.
    CPF9504 An invalid search order was specified.
    CPF9509 Space access error.
    CPF950B The specified selection type is not valid.
    CPF950C The specified retrieve length is not valid.
    CPF950D The specified message selection template length is not valid.
    CPF950E The data queue is not a keyed data queue.
    CPF950F The specified key length is not valid.
    CPF9511 Function not supported for DDM data queue &1.
    CPF9516 Format &1 not allowed for data queue.
    CPF9519 Internal program error occurred.
    CPF9523 Data queue function not successful.
    CPF9801 Object &2 in library &3 not found.
    CPF9802 Not authorized to object &2 in &3.
    CPF9803 Cannot allocate object &2 in library &3.
    CPF9807 One or more libraries in library list deleted.
    CPF9808 Cannot allocate one or more libraries on library list.
    CPF9810 Library &1 not found.
    CPF9820 Not authorized to use library &1.
    CPF9830 Cannot assign library &1.
    CPF9872 Program or service program &1 in library &2 ended. Reason code &3.
    CPF0006 Errors occurred in command.
    CPF1002 Cannot allocate object &1.
    CPF2105 Object &1 in &2 type *&3 not found.
    CPF2110 Library &1 not found.
    CPF2112 Object &1 in &2 type *&3 already exists.
    CPF2151 Operation failed for &2 in &1 type *&3.
    CPF2182 Not authorized to library &1.
    CPF2189 Not authorized to object &1 in &2 type *&3.
    CPF2207 Not authorized to use object &1 in library &3 type *&2.
    CPF2472 Invalid wait time specified.
    CPF2498 Invalid length. MAXLEN for data queue &1 in &2 is &3.
    CPF6565 User profile storage limit exceeded.
    CPF9501 Data queue &1 in &2 requires a key value.
    CPF9805 Object &2 in library &3 destroyed.
    CPF9870 Object &2 type *&5 already exists in library &3.
    CPC9801 Object &2 type *&5 created in library &3.
    XCL9002 Function did not complete. See previously listed messages related to possible user errors.
    XCL9003 Function did not complete. See previously listed messages for possible cause.
    XCL9004 Function did not complete. See previously listed messages for possible cause.
    XCL9005 Function did not complete. Contact your service provider.
    CPF2103 Library &1 already exists in library list.
    CPF2104 Library &1 not removed from the library list.
    CPF210D Library &1 in use.
    CPF2111 Library &1 already exists.
    CPF2161 Cannot delete some objects in library &1.
    CPF2167 Library &1 on library list and cannot be deleted.
    CPF2125 No objects deleted.
    CPF2204 User profile &1 not found.
    CPF2214 User profile &1 already exists.
    CPF22E2 Password not correct for user profile &1.
    CPF22E3 User profile &1 is disabled.
    CPF22E4 Password for user profile &1 has expired.
    CPC2101 Library list changed.
    CPC2102 Library &1 created.
    CPC2191 Object &1 in &2 type *&3 deleted.
    CPC2196 Library &1 added to library list.
    CPC2197 Library &1 removed from library list.
    CPC2198 Current library changed to &1.
    CPC2205 User profile &1 created.
    CPD0030 Command &1 in library &2 not found.
    CPD0043 Keyword &1 not valid for this command.
    CPD0071 Parameter &1 required.
    MCH0802 Total parameters passed does not match number required.
    MCH1202 Decimal data error.
    MCH3601 Pointer not set for location referenced.
"""
DATA = """
    CPF1002 C10 CPF2105 C10,C10,C7 CPF2110 C10 CPF2112 C10,C10,C7 CPF2151 C10,C10,C7 CPF2182 C10 CPF2189 C10,C10,C7
    CPF2207 C10,C7,C10 CPF2498 C10,C10,B4 CPF3C21 C8 CPF3C36 B4 CPF3C4D B4,B4 CPF3C81 B4 CPF3C82 B4,C10 CPF3C88 B4
    CPF9501 C10,C10 CPF9502 C10,C10 CPF9503 C10,C10 CPF950A C10,C10 CPF9511 C10 CPF9516 C8 CPF9801 C0,C10,C10,C0,C7
    CPF9802 C0,C10,C10,C0,C7 CPF9803 C0,C10,C10,C0,C7 CPF9805 C0,C10,C10,C0,C7 CPF9810 C10 CPF9820 C10 CPF9830 C10
    CPF9870 C0,C10,C10,C0,C7 CPF9872 C10,C10,B4 CPC9801 C0,C10,C10,C0,C7
"""
NO_DATA = """
    CPF0006 CPF2150 CPF2472 CPF24B4 CPF3C24 CPF3C90 CPF3CF1 CPF9504 CPF9509 CPF950B CPF950C CPF950D CPF950E CPF950F CPF9519
    CPF9523 CPF9807 CPF9808 XCL9002 XCL9003 XCL9004 XCL9005
"""


def test_texts_of_messages():
    expected = dict(line.strip().split(" ", 1) for line in MESSAGES.strip().splitlines())
    found = {row["id"]: row["text"] for row in table("cpf_messages")}
    assert {name: found.get(name) for name in expected} == expected


def test_message_data():
    words = DATA.split()
    expected = {name: data.replace(",", " ") for name, data in zip(words[::2], words[1::2], strict=True)}
    expected |= dict.fromkeys(NO_DATA.split(), "-")
    found = {row["id"]: row["data"] for row in table("cpf_messages")}
    assert {name: found.get(name) for name in expected} == expected


def test_kinds_and_severities_of_messages():
    """Escapes have 40, apart from those of commands; a completion 0; the letters of an id tell what it is."""
    escapes_of_30 = {"CPF0001", "CPF0006", "CPF2112"}
    for row in table("cpf_messages"):
        kind = {"CPC": "completion", "CPD": "diagnostic", "TDQ": "diagnostic"}.get(row["id"][:3], "escape")
        of_diagnostic, of_escape = 40 if row["id"] == "CPD0727" else 30, 30 if row["id"] in escapes_of_30 else 40
        severity = {"completion": 0, "diagnostic": of_diagnostic, "escape": of_escape}[kind]
        assert (row["kind"], row["severity"]) == (kind, str(severity)), row["id"]


def test_every_variable_of_a_text_is_in_the_data():
    for row in table("cpf_messages"):
        many = 0 if row["data"] == "-" else len(row["data"].split())
        used = {int(part[0]) for part in row["text"].split("&")[1:]}
        assert max(used, default=0) <= many, row["id"]


RAISED = {
    "QMHQRDQD": """
        CPF2150 CPF2151 CPF24B4 CPF3C21 CPF3C24 CPF3C90 CPF9503 CPF9509 CPF9516 CPF9801 CPF9802 CPF9803 CPF9807 CPF9808 CPF9810
        CPF9820 CPF9830 CPF9872
    """,
    "QMHRDQM": """
        CPF3C21 CPF3C24 CPF3C90 CPF3CF1 CPF9503 CPF9504 CPF9509 CPF9511 CPF950B CPF950C CPF950D CPF950E CPF950F CPF9519 CPF9801
        CPF9802 CPF9807 CPF9808 CPF9810 CPF9820 CPF9830 CPF9872
    """,
    "QMHQCDQ": """
        CPF24B4 CPF3C36 CPF3C4D CPF3C81 CPF3C82 CPF3C88 CPF3C90 CPF3CF1 CPF9503 CPF9511 CPF9523 CPF9801 CPF9802 CPF9803 CPF9807
        CPF9808 CPF9810 CPF9820 CPF9830 CPF9872
    """,
    "RTVDTAQXCL": "XCL9002 XCL9003 XCL9004 XCL9005",
    "QSNDDTAQ": """
        CPF2207 CPF24B4 CPF2498 CPF3C90 CPF6565 CPF8147 CPF9501 CPF9502 CPF9503 CPF9506 CPF950A CPF9510 CPF9801 CPF9802 CPF9807
        CPF9808 CPF9810 CPF9820 CPF9830 CPF9872
    """,
    "QRCVDTAQ": """
        CPF2207 CPF24B4 CPF2472 CPF3C36 CPF3C90 CPF3CF1 CPF8147 CPF9501 CPF9502 CPF9503 CPF9504 CPF9506 CPF9507 CPF9510 CPF9511
        CPF9801 CPF9802 CPF9805 CPF9807 CPF9808 CPF9810 CPF9820 CPF9830 CPF9872
    """,
    "QCLRDTAQ": """
        CPF24B4 CPF3C36 CPF3C90 CPF3CF1 CPF8147 CPF9502 CPF9503 CPF9504 CPF9506 CPF9510 CPF9511 CPF9801 CPF9802 CPF9807 CPF9808
        CPF9810 CPF9820 CPF9830 CPF9872
    """,
}
"""The messages at the end of each page; of the last three what was seen of them, and the family's."""


@pytest.mark.parametrize("api", RAISED)
def test_messages_of_the_pages(api):
    rows = [row["message"] for row in table("ibmi_api_messages") if row["api"] == api]
    assert sorted(rows) == sorted(RAISED[api].split())


def test_what_operations_need():
    """Authority to queue and library, lock, when it is taken, and the messages of each lack, by family."""
    api, command = "CPF9802 CPF9820 CPF9801 CPF9810", "CPF2189 CPF2182 CPF2105 CPF2110"
    expected = {
        "QSNDDTAQ": ("OBJOPR ADD", "*SHRUPD enforced CPF9503", api, "yes"),
        "QRCVDTAQ": ("OBJOPR READ", "*SHRUPD enforced CPF9503", api, "yes"),
        "QCLRDTAQ": ("OBJOPR READ", "*SHRUPD enforced CPF9503", api, "no"),
        "QMHQRDQD": ("OBJOPR READ", "*SHRRD enforced CPF9503", api, "yes"),
        "QMHRDQM": ("OBJOPR READ", "*SHRRD enforced CPF9503", api, "yes"),
        "QMHQCDQ": ("OBJMGT", "*SHRUPD always CPF9803", api, "no"),
        "DLTDTAQ": ("OBJEXIST", "*EXCL always CPF9503", command, "no"),
        "MOVOBJ": ("OBJMGT", "*EXCL always CPF2114", command, "no"),
        "RNMOBJ": ("OBJMGT", "*EXCL always CPF2114", command, "no"),
    }
    found = {
        row["operation"]: (
            row["object_authority"],
            f"{row['lock']} {row['locked']} {row['lock_message']}",
            " ".join(
                row[column] for column in ("object_message", "library_message", "object_missing", "library_missing")
            ),
            row["cached"],
        )
        for row in table("ibmi_operations")
    }
    assert {name: found[name] for name in expected} == expected
    assert {row["library_authority"] for row in table("ibmi_operations")} == {"EXECUTE"}


CRTDTAQ = """
    DTAQ qualified *CURLIB; MAXLEN integer 1 64512 ; TYPE word *STD *DDM; FORCE word *NO *YES; SEQ word *FIFO *LIFO *KEYED;
    KEYLEN integer 1 256 ; SENDERID word *NO *YES; SIZE integer 1 2147483647 *MAX16MB *MAX2GB; AUTORCL word *NO *YES;
    RMTDTAQ qualified *LIBL *CURLIB; RMTLOCNAME name 8 *RDB; RDB name 18 ; DEV name 10 *LOC; LCLLOCNAME name 8 *LOC *NETATR;
    MODE name 8 *NETATR; RMTNETID name 8 *LOC *NETATR *NONE; TEXT char 50 *BLANK;
    AUT name 10 *LIBCRTAUT *CHANGE *ALL *USE *EXCLUDE
"""
CHECKED_TYPES = """
    *ALRTBL *AUTL *BNDDIR *CFGL *CHTFMT *CLD *CLS *CMD *CNNL *COSD *CRG *CRQD *CSI *CSPMAP *CSPTBL *CTLD *DEVD
    *DOC *DTAARA *DTADCT *DTAQ *EDTD *EXITRG *FCT *FILE *FLR *FNTRSC *FNTTBL *FORMDF *FTR *GSS *IGCDCT *IGCSRT
    *IGCTBL *IMGCLG *IPXD *JOBD *JOBQ *JOBSCD *JRN *JRNRCV *LIB *LIND *LOCALE *MEDDFN *MENU *MGTCOL *MODD
    *MODULE *MSGF *MSGQ *M36 *M36CFG *NODGRP *NODL *NTBD *NWID *NWSCFG *NWSD *OUTQ *OVL *PAGDFN *PAGSEG *PDFMAP
    *PDG *PGM *PNLGRP *PRDDFN *PRDLOD *PSFCFG *QMFORM *QMQRY *QRYDFN *RCT *SBSD *SCHIDX *SPADCT *SQLPKG *SQLUDT
    *SQLXSR *SRVPGM *SSND *SVRSTG *S36 *TBL *TIMZON *USRIDX *USRPRF *USRQ *USRSPC *VLDL *WSCST
"""
DUPLICATED_TYPES = """
    *ALL *ALRTBL *AUTL *BNDDIR *CHTFMT *CLD *CLS *CMD *CRQD *CSI *CSPMAP *CSPTBL *DTAARA *FCT *FILE *FNTRSC
    *FNTTBL *FORMDF *FTR *GSS *IGCDCT *IGCSRT *JOBD *JOBQ *LOCALE *MEDDFN *MENU *MGTCOL *MODULE *MSGF *MSGQ
    *M36CFG *NODGRP *NODL *OUTQ *OVL *PAGDFN *PAGSEG *PDFMAP *PDG *PGM *PNLGRP *PRDAVL *PRDDFN *PRDLOD *PSFCFG
    *QMFORM *QMQRY *QRYDFN *SBSD *SCHIDX *SRVPGM *SSND *TBL *USRIDX *USRSPC *VLDL *WSCST
"""
CL_COMMANDS = """
    RTVDTAQXCL DTAQ 1 yes 1 qualified *LIBL *CURLIB; DCL VAR 1 yes 1 declaration ;
    DCL TYPE 2 yes 1 word *CHAR *DEC *INT *LGL *UINT; DCL LEN 3 no 2 integer 0 32767 ; DCL VALUE 4 no 1 text ;
    DCL STG 0 no 1 word *AUTO; CHGVAR VAR 1 yes 1 variable ; CHGVAR VALUE 2 yes 255 text ;
    WRKOBJLCK OBJ 1 yes 1 qualified *LIBL *CURLIB; WRKOBJLCK OBJTYPE 2 yes 1 word *DTAQ;
    WRKOBJLCK MBR 3 no 1 word *NONE *FIRST *ALL; WRKOBJLCK OUTPUT 0 no 1 word * *PRINT;
    CHKOBJ OBJ 1 yes 1 qualified *LIBL *CURLIB; CHKOBJ MBR 3 no 1 word *NONE; CLRLIB LIB 1 yes 1 name 10 *CURLIB;
    CLRLIB ASPDEV 0 no 1 word * *SYSBAS; CRTDUPOBJ OBJ 1 yes 1 generic 10 *ALL;
    CRTDUPOBJ FROMLIB 2 yes 1 name 10 *LIBL *CURLIB; CRTDUPOBJ TOLIB 4 no 1 name 10 *FROMLIB *SAME *CURLIB;
    CRTDUPOBJ NEWOBJ 5 no 1 name 10 *OBJ *SAME; CRTDUPOBJ DATA 0 no 1 word *NO *YES;
    DLTDTAQ DTAQ 1 yes 1 generic-qualified *LIBL *CURLIB *USRLIBL *ALL *ALLUSR; CRTLIB LIB 1 yes 1 name 10 ;
    CRTLIB TYPE 2 no 1 word *PROD *TEST; CRTLIB TEXT 0 no 1 char 50 *BLANK;
    CRTLIB AUT 0 no 1 name 10 *LIBCRTAUT *CHANGE *ALL *USE *EXCLUDE;
    CRTLIB CRTAUT 0 no 1 name 10 *SYSVAL *CHANGE *ALL *USE *EXCLUDE; DLTLIB LIB 1 yes 1 name 10 ;
    ADDLIBLE LIB 1 yes 1 name 10 ; ADDLIBLE POSITION 2 no 2 elements *FIRST *LAST *AFTER *BEFORE;
    RMVLIBLE LIB 1 yes 1 name 10 ; CHGLIBL LIBL 1 no 250 name 10 *SAME *NONE; CHGLIBL CURLIB 0 no 1 name 10 *SAME *CRTDFT;
    CHGCURLIB CURLIB 1 yes 1 name 10 *CRTDFT; ALCOBJ OBJ 1 yes 50 elements ; ALCOBJ WAIT 0 no 1 integer 0 32767 *CLS;
    ALCOBJ SCOPE 0 no 1 word *JOB *THREAD; DLCOBJ OBJ 1 yes 50 elements ; DLCOBJ SCOPE 0 no 1 word *JOB *THREAD;
    MOVOBJ OBJ 1 yes 1 qualified *LIBL *CURLIB; MOVOBJ OBJTYPE 2 yes 1 word *DTAQ; MOVOBJ TOLIB 3 yes 1 name 10 *CURLIB;
    RNMOBJ OBJ 1 yes 1 qualified *LIBL *CURLIB; RNMOBJ OBJTYPE 2 yes 1 word *DTAQ; RNMOBJ NEWOBJ 3 yes 1 name 10 ;
    GRTOBJAUT OBJ 1 yes 1 qualified *LIBL *CURLIB; GRTOBJAUT OBJTYPE 2 yes 1 word *DTAQ *LIB;
    GRTOBJAUT USER 3 yes 50 name 10 *PUBLIC; GRTOBJAUT REPLACE 0 no 1 word *NO *YES;
    RVKOBJAUT OBJ 1 yes 1 qualified *LIBL *CURLIB; RVKOBJAUT OBJTYPE 2 yes 1 word *DTAQ *LIB;
    RVKOBJAUT USER 3 yes 50 name 10 *PUBLIC; CRTJRN JRN 1 yes 1 qualified *CURLIB;
    CRTJRNRCV JRNRCV 1 yes 1 qualified *CURLIB; CRTJRNRCV ASP 0 no 1 integer 1 32 *LIBASP;
    CRTJRNRCV THRESHOLD 0 no 1 integer 1 1000000000 *NONE; CRTJRNRCV UNIT 0 no 1 integer 1 255 *ANY;
    CRTJRNRCV TEXT 0 no 1 char 50 *BLANK; CRTJRNRCV AUT 0 no 1 name 10 *LIBCRTAUT *CHANGE *ALL *USE *EXCLUDE;
    CRTJRN JRNRCV 2 no 2 qualified *LIBL *CURLIB; CRTJRN ASP 0 no 1 integer 1 32 *LIBASP;
    CRTJRN MSGQ 0 no 1 qualified *LIBL *CURLIB; CRTJRN MNGRCV 0 no 1 word *SYSTEM *USER; CRTJRN DLTRCV 0 no 1 word *NO *YES;
    CRTJRN RCVSIZOPT 0 no 3 word *SYSDFT *NONE *RMVINTENT *MINFIXLEN *MAXOPT1 *MAXOPT2 *MAXOPT3;
    CRTJRN MINENTDTA 0 no 2 word *NONE *FILE *FLDBDY *DTAARA; CRTJRN JRNCACHE 0 no 1 word *NO *YES;
    CRTJRN MNGRCVDLY 0 no 1 integer 1 1440 ; CRTJRN DLTRCVDLY 0 no 1 integer 1 1440 ;
    CRTJRN FIXLENDTA 0 no 9 word *JOBUSRPGM *JOB *USR *PGM *PGMLIB *SYSSEQ *RMTADR *THD *LUW *XID;
    CRTJRN JRNOBJLMT 0 no 1 word *MAX250K *MAX10M; CRTJRN TEXT 0 no 1 char 50 *BLANK;
    STRJRNOBJ OBJ 1 yes 1 qualified *LIBL *CURLIB; STRJRNOBJ OBJTYPE 2 yes 1 word *DTAQ;
    STRJRNOBJ JRN 3 yes 1 qualified *LIBL *CURLIB; STRJRNOBJ IMAGES 0 no 1 word *AFTER;
    STRJRNOBJ LOGLVL 0 no 1 word *ERRORS *ALL;
    ENDJRNOBJ OBJ 1 yes 1 qualified *LIBL *CURLIB; ENDJRNOBJ OBJTYPE 2 yes 1 word *DTAQ;
    ENDJRNOBJ JRN 3 no 1 qualified *OBJ *LIBL *CURLIB; ENDJRNOBJ LOGLVL 0 no 1 word *ERRORS *ALL;
    CALL PGM 1 yes 1 qualified *LIBL *CURLIB; CALL PARM 2 no 255 text ;
    CRTUSRPRF USRPRF 1 yes 1 name 10 ; CRTUSRPRF PASSWORD 2 no 1 char 128 *NONE *USRPRF;
    CRTUSRPRF SPCAUT 0 no 10 word *NONE *ALLOBJ; CRTUSRPRF GRPPRF 0 no 1 name 10 *NONE;
    CRTUSRPRF SUPGRPPRF 0 no 15 name 10 *NONE; CRTUSRPRF STATUS 0 no 1 word *ENABLED *DISABLED;
    CRTUSRPRF PWDEXP 0 no 1 word *NO *YES; CHGUSRPRF USRPRF 1 yes 1 name 10 ;
    CHGUSRPRF PASSWORD 2 no 1 char 128 *SAME *NONE *USRPRF; CHGUSRPRF STATUS 0 no 1 word *SAME *ENABLED *DISABLED;
    CHGUSRPRF CURLIB 0 no 1 name 10 *SAME *CRTDFT; CHGUSRPRF CCSID 0 no 1 integer 1 65535 *SAME *SYSVAL;
    CRTUSRPRF CURLIB 0 no 1 name 10 *CRTDFT; CRTUSRPRF CCSID 0 no 1 integer 1 65535 *SYSVAL;
    CHGUSRPRF PWDEXP 0 no 1 word *SAME *NO *YES; SBMJOB JOB 0 no 1 name 10 *JOBD; SBMJOB USER 0 no 1 name 10 *CURRENT;
    SBMJOB CURLIB 0 no 1 name 10 *CURRENT *USRPRF *CRTDFT; SBMJOB INLLIBL 0 no 250 name 10 *CURRENT *JOBD *SYSVAL *NONE;
    CRTLIB ASP 0 no 1 integer 1 1 ; CRTLIB CRTOBJAUD 0 no 1 word *SYSVAL *NONE; DLTLIB ASPDEV 0 no 1 word * *SYSBAS;
    ALCOBJ CONFLICT 0 no 1 word *NORQSRLS; MOVOBJ ASPDEV 0 no 1 word * *SYSBAS; MOVOBJ TOASPDEV 0 no 1 word * *SYSBAS;
    RNMOBJ ASPDEV 0 no 1 word * *SYSBAS; GRTOBJAUT ASPDEV 0 no 1 word * *SYSBAS; RVKOBJAUT ASPDEV 0 no 1 word * *SYSBAS;
    CRTUSRPRF TEXT 0 no 1 char 50 *BLANK; DSPJOBLOG JOB 1 no 1 job 28 *; DSPJOBLOG OUTPUT 0 no 1 word * *PRINT;
    SBMJOB CMD 1 yes 300 command ; SBMJOB JOBQ 0 no 1 qualified *JOBD; SBMJOB HOLD 0 no 1 word *JOBD *NO;
    SBMJOB JOBD 0 no 1 qualified *USRPRF
"""
"""Parameters: position (0 for keyword only), whether required, how many values, kind and special values."""


def test_parameters_of_cl_commands():
    rows = table("ibmi_cl")
    found = [f"{row['keyword']} {row['kind']} {row['values']}" for row in rows if row["command"] == "CRTDTAQ"]
    assert found == [entry.lstrip() for entry in CRTDTAQ.rstrip().split(";")]
    fixed = {
        row["keyword"]: (row["position"], row["required"], row["most"]) for row in rows if row["command"] == "CRTDTAQ"
    }
    assert fixed == dict.fromkeys(fixed, ("0", "no", "1")) | {
        "DTAQ": ("1", "yes", "1"), "MAXLEN": ("2", "no", "1"), "SIZE": ("0", "no", "2")
    }  # fmt: skip
    columns = ("command", "keyword", "position", "required", "most", "kind", "values")
    others = {" ".join(row[column] for column in columns) for row in rows if row["command"] != "CRTDTAQ"}
    authorities = "*CHANGE *ALL *USE *EXCLUDE *OBJOPR *OBJMGT *OBJEXIST *OBJALTER *OBJREF *READ *ADD *UPD *DLT *EXECUTE"
    expected = {entry.lstrip() for entry in CL_COMMANDS.rstrip().split(";")}
    expected |= {f"{command} AUT 4 no 10 word {authorities}" for command in ("GRTOBJAUT", "RVKOBJAUT")}
    checked = "*NONE *ALL *CHANGE *USE *EXCLUDE *AUTLMGT *OBJALTER *OBJEXIST *OBJMGT *OBJOPR *OBJREF *ADD *DLT *EXECUTE"
    checked += " *READ *UPD"
    expected |= {
        f"CHKOBJ OBJTYPE 2 yes 1 word {' '.join(CHECKED_TYPES.split())}",
        f"CRTDUPOBJ OBJTYPE 3 yes 57 word {' '.join(DUPLICATED_TYPES.split())}",
        f"CHKOBJ AUT 4 no 10 word {checked}",
    }
    assert others == expected


def test_return_variables_of_rtvdtaqxcl():
    """CL type and length, and what a standard and a DDM data queue give, by the names of the two formats."""
    expected = """
        NBRENT *INT 4 number_of_messages 0; MAXLEN *DEC 5,0 message_length 0; MAXKEYLEN *DEC 3,0 key_length 0;
        SNDRID *LGL 1 include_sender_id 0; NBRINTENT *INT 4 initial_number_of_entries 0;
        NBRENTALC *INT 4 number_of_entries_currently_allocated 0; AUTORCL *LGL 1 automatic_reclaim 0;
        FORCE *LGL 1 force_indicator 0; TYPE *CHAR 10 *STD *DDM; SEQ *INT 4 sequence 0;
        LIB *CHAR 10 data_queue_library_used data_queue_library_used; DEVD *CHAR 10 blank appc_device_description;
        MODE *CHAR 8 blank mode; RMTLOCNAME *CHAR 8 blank remote_location_name; LCLLOCNAME *CHAR 8 blank local_location_name;
        RMTNETID *CHAR 8 blank remote_network_identifier; RMTDTAQNAM *CHAR 10 blank remote_data_queue_name;
        RMTDTAQLIB *CHAR 10 blank remote_data_queue_library_name; RDBNAME *CHAR 18 blank relational_database_name;
        TEXT *CHAR 50 text_description text_description
    """
    columns = ("keyword", "type", "length", "standard", "ddm")
    found = [" ".join(row[column].replace(" ", ",") for column in columns) for row in table("ibmi_rtvdtaqxcl")]
    assert found == [entry.strip() for entry in expected.split(";")]


def test_sizes_of_parameters_in_rpg():
    """ILE RPG: lengths of character, digits of decimal and of integer formats, bytes of a float; an indicator has none."""
    columns = ("type", "sized", "least", "most", "sizes", "decimals")
    found = ["/".join(row[column] for column in columns) for row in table("ibmi_parm_types") if row["type"] != "DATA"]
    assert found == [
        "CHAR/range/1/65535//0", "VARCHAR/range/1/65535//0", "UCS2/range/1/32767//0", "PACKED/range/1/63//63",
        "ZONED/range/1/63//63", "INT/list/0/0/3 5 10 20/0", "UNS/list/0/0/3 5 10 20/0", "FLOAT/list/0/0/4 8/0",
        "IND/list/0/0//0",
    ]  # fmt: skip


def test_system_values():
    """Type and length as clients read them, what a value may be set to, and what it is until then."""
    columns = ("name", "type", "length", "least", "most", "value")
    expected = """
        QPWDLVL/B/4/0/4/3 QPWDMINLEN/B/4/1/128/1 QPWDMAXLEN/B/4/1/128/128 QPWDRQDDGT/C/1/0/1/0 QPWDLMTAJC/C/1/0/1/0
        QPWDLMTREP/C/1/0/2/0 QMAXSIGN/C/6/1/25/3 QLIBLCKLVL/C/1/0/1/1 QCCSID/B/4///=ccsid QDATE/C/7///=%C%y%m%d
        QTIME/C/9///=%H%M%S%f QCENTURY/C/1///=%C QYEAR/C/2///=%y QMONTH/C/2///=%m QDAY/C/3///=%d QHOUR/C/2///=%H QMINUTE/C/2///=%M
        QSECOND/C/2///=%S QUTCOFFSET/C/5///=%z QDATFMT/C/3///=date_format QSYSLIBL/C/150///=libraries
        QUSRLIBL/C/250///=user_libraries SYSNAME/C/8///=name
    """
    assert ["/".join(row[column] for column in columns) for row in table("ibmi_system_values")] == expected.split()


def test_which_escape_of_rtvdtaqxcl_follows_which_cause():
    """What the user can mend, a lock, other causes that are known, and the rest."""
    assert {row["cause"]: row["escape"] for row in table("ibmi_xcl_escapes")} == {
        "CPF9801": "XCL9002", "CPF9802": "XCL9002", "CPF9810": "XCL9002", "CPF9820": "XCL9002", "CPF9503": "XCL9003",
        "CPF9803": "XCL9004", "CPF9807": "XCL9004", "CPF9808": "XCL9004", "CPF9830": "XCL9004", "*": "XCL9005",
    }  # fmt: skip


def test_fields_of_messages_in_an_open_list():
    """QGYOLJBL: identifiers of fields and what each is; numbers are binary, statement numbers a list, the rest text."""
    expected = """
        101 C alert option; 201 C replacement data; 301 C message; 302 C message with replacement data; 401 C message help;
        402 C message help with replacement data; 403 C message help with formatting characters;
        404 C message help with replacement data and formatting characters; 501 C default reply; 602 C sender type;
        603 C sending program; 604 C sending module; 605 C sending procedure; 606 M sending statement numbers;
        607 C sending user profile; 702 C receiving type; 703 C receiving program; 704 C receiving module;
        705 C receiving procedure; 706 M receiving statement numbers; 801 C message file library used; 1001 C reply status;
        1101 C request status; 1201 B request level; 1301 B CCSID of the text; 1302 C CCSID conversion status of the text;
        1303 B CCSID of the data; 1304 C CCSID conversion status of the data
    """
    entries = [entry.split(maxsplit=2) for entry in expected.split(";")]
    rows = table("ibmi_joblog_fields")
    assert [[row["field"], row["kind"]] for row in rows] == [entry[:2] for entry in entries]
    for row, (_, _, what) in zip(rows, entries, strict=True):
        assert row["source"].removeprefix("QGYOLJBL (IBM Docs): ").split(";")[0] == what.strip()
    told = {row["field"]: row["value"] for row in rows}
    assert {told[number] for number in ("603", "604", "605", "606", "703", "704", "705", "706", "501")} == {""}
    assert [told[number] for number in ("101", "602", "702", "801", "1001", "1101", "1201")] == [
        "*NO", "0", "0", "QSYS", "N", "N", "0"
    ]  # fmt: skip
    assert [told[number] for number in ("201", "301", "302", "401", "402", "403", "404", "607", "1301", "1302")] == [
        "=data", "=text", "=filled", "=help", "=filled_help", "=help", "=filled_help", "=user", "=ccsid", "0"
    ]  # fmt: skip


JOB_FORMATS = {
    "JOBI": "8 C10 name; 18 C10 user; 28 C6 number; 34 C16 internal identifier; 50 C10 status; 60 C1 type; 61 C1 subtype",
    "JOBI0150": """
        64 B4 run priority; 68 B4 time slice; 72 B4 default wait; 76 C10 purge; 86 C10 time slice end pool;
        104 B4 maximum processing time; 112 B4 maximum temporary storage; 116 B4 maximum threads;
        120 B4 maximum temporary storage in megabytes; 128 B4 likewise; 140 B4 end
    """,
    "JOBI0200": """
        62 C10 subsystem; 72 B4 run priority; 96 C11 function; 107 C4 active job status; 140 B4 threads;
        176 C4 active job status while ending; 180 C10 memory pool; 190 C1 message reply
    """,
    "JOBI0300": """
        62 C22 job queue and priority; 84 C20 output queue; 104 C2 output priority; 106 C10 printer device;
        116 C56 submitter, and the status on the job queue; 180 C7 job date
    """,
    "JOBI0400": """
        62 C13 entered the system; 75 C13 became active; 88 C67 accounting code to mode; 155 C10 inquiry message reply;
        165 C10 logging of CL programs; 175 C10 break message handling; 185 C10 status message handling;
        195 C13 device recovery action; 208 C10 DDM conversation handling; 218 C1 date separator; 219 C4 date format;
        223 C76 print text to submitter; 299 C1 time separator; 300 B4 CCSID; 312 C10 print key format; 322 C20 sort sequence;
        342 C3 language; 345 C2 country; 347 C1 completion status; 348 C1 signed on; 349 C8 switches;
        357 C11 message queue full action; 372 B4 default CCSID; 376 C81 routing data, decimal format;
        457 C10 character identifier control; 467 C30 server type; 497 C1 threads allowed; 498 C1 job log pending;
        508 C14 ended; 522 C10 spooled file action; 554 C10 end
    """,
    "JOBI0500": "64 B4 end severity; 68 B4 logging severity; 72 C1 logging level; 73 C10 logging text",
    "JOBI0600": """
        62 C8 switches; 70 C1 end status; 71 C20 subsystem; 91 C10 current user; 101 C1 DBCS; 116 C10 special environment;
        296 C10 job user identity; 306 C1 how it was set; 307 C15 client address
    """,
    "JOBI0700": """
        64 B4 system libraries; 68 B4 product libraries; 72 B4 current libraries; 76 B4 user libraries; 80 C0 their names
    """,
    "JOBI1000": "140 B4 end",
    "RTVM": """
        8 B4 severity; 52 B4 default reply at; 56 B4 its length; 64 B4 message at; 68 B4 its length; 76 B4 help at;
        80 B4 its length; 26 C7 identifier; 200 C7 made; 212 C7 changed; 220 C0 texts
    """,
}
"""Offset, kind and length of what QUSRJOBI and QMHRTVM tell."""


@pytest.mark.parametrize("name", JOB_FORMATS)
def test_fields_of_jobs_and_message_descriptions(name):
    found = [
        f"{row['offset']} {row['kind']}{row['length']}"
        for row in table("ibmi_retrieve_formats")
        if row["format"] == name
    ]
    assert found == [" ".join(entry.split()[:2]) for entry in JOB_FORMATS[name].split(";")]


def test_what_a_job_has_when_nothing_was_changed():
    """As CRTJOBD, CRTCLS and the system values are shipped: LOG(4 0 *NOLIST), ENDSEV(30), OUTPTY(5), PURGE(*YES) and so on."""
    shipped = """
        JOBI 50 *ACTIVE JOBI 60 B JOBI0150 68 2000 JOBI0150 76 *YES JOBI0150 86 *NONE JOBI0150 104 -1 JOBI0150 112 -1
        JOBI0150 116 1 JOBI0150 120 -1 JOBI0150 128 -1 JOBI0200 107 RUN JOBI0200 140 1 JOBI0200 180 *BASE JOBI0200 190 0
        JOBI0300 104 5 JOBI0300 106 PRT01 JOBI0400 155 *RQD JOBI0400 165 *NO JOBI0400 175 *NORMAL JOBI0400 185 *NORMAL
        JOBI0400 195 *MSG JOBI0400 208 *KEEP JOBI0400 218 / JOBI0400 299 : JOBI0400 312 *PRTHDR JOBI0400 322 *HEX
        JOBI0400 342 ENU JOBI0400 345 US JOBI0400 348 0 JOBI0400 349 00000000 JOBI0400 357 *NOWRAP JOBI0400 457 *DEVD
        JOBI0400 497 0 JOBI0400 498 0 JOBI0400 522 *KEEP JOBI0500 64 30 JOBI0500 68 0 JOBI0500 72 4 JOBI0500 73 *NOLIST
        JOBI0600 62 00000000 JOBI0600 70 0 JOBI0600 101 0 JOBI0600 116 *NONE JOBI0600 306 1 JOBI0700 68 0
    """
    words = shipped.split()
    expected = {(form, offset): value for form, offset, value in zip(words[::3], words[1::3], words[2::3], strict=True)}
    expected["JOBI0300", "84"] = "QPRINT    QGPL"
    found = {(row["format"], row["offset"]): row["value"] for row in table("ibmi_retrieve_formats")}
    assert {place: found[place] for place in expected} == expected
    from_the_job = """
        JOBI 8 name JOBI 18 user JOBI 28 number JOBI 34 internal JOBI0150 64 run_priority JOBI0150 72 default_wait
        JOBI0200 72 run_priority JOBI0300 180 job_date JOBI0400 62 started JOBI0400 75 started JOBI0400 219 date_format
        JOBI0400 300 ccsid JOBI0400 372 page_ccsid JOBI0600 91 current_user JOBI0600 296 current_user JOBI0700 64 system_count
        JOBI0700 72 current_count JOBI0700 76 user_count JOBI0700 80 libraries RTVM 8 severity RTVM 52 reply_at RTVM 64 text_at
        RTVM 68 text_bytes RTVM 76 help_at RTVM 80 help_bytes RTVM 26 id RTVM 220 texts
    """
    taken = from_the_job.split()
    told = {(form, offset): f"={name}" for form, offset, name in zip(taken[::3], taken[1::3], taken[2::3], strict=True)}
    assert {place: value for place, value in found.items() if value.startswith("=")} == told
    blank = {place for place, value in found.items() if value == " "}
    zeros = {("JOBI0150", "140"), ("JOBI1000", "140"), ("RTVM", "56")}
    dates = {("RTVM", "200"), ("RTVM", "212")}
    assert {found[place] for place in zeros} == {"0"}
    assert {found[place] for place in dates} == {"0700101"}
    assert len(found) == len(expected) + len(told) + len(blank) + len(zeros) + len(dates)


def test_every_message_has_its_help():
    """Second-level text begins with the cause and goes on with the recovery; its variables are those of the message."""
    messages = {row["id"]: row for row in table("cpf_messages")}
    helps = {row["id"]: row["help"] for row in table("cpf_help")}
    assert helps.keys() == messages.keys()
    for name, text in helps.items():
        assert text.startswith("Cause . . . . . :   "), name
        assert "Recovery  . . . :   " in text or messages[name]["kind"] == "completion", name
        many = 0 if messages[name]["data"] == "-" else len(messages[name]["data"].split())
        assert max((int(part[0]) for part in text.split("&")[1:] if part[0].isdigit()), default=0) <= many, name
