"""The numbers again, typed from the manuals by hand: a slip in the tables does not survive two lists."""

from __future__ import annotations

from tdqsim.facts import (
    ABEND_CODES,
    EIBFN,
    EIBRCODE,
    INQUIRE_TDQUEUE_OPTIONS,
    LIMITS,
    RELEASES,
    SUPPLIED_QUEUES,
    TDQUEUE_ATTRIBUTES,
    Cvda,
    Resp,
    table,
)

# fmt: off
RESP = {
    0: "NORMAL ERROR RDATT WRBRK EOF EODS EOC INBFMH ENDINPT NONVAL",
    10: "NOSTART TERMIDERR FILENOTFOUND NOTFND DUPREC DUPKEY INVREQ IOERR NOSPACE NOTOPEN",
    20: "ENDFILE ILLOGIC LENGERR QZERO SIGNAL QBUSY ITEMERR PGMIDERR TRANSIDERR ENDDATA",
    30: "INVTSREQ EXPIRED RETPAGE RTEFAIL RTESOME TSIOERR MAPFAIL INVERRTERM INVMPSZ IGREQID",
    40: "OVERFLOW INVLDC NOSTG JIDERR QIDERR NOJBUFSP DSSTAT SELNERR FUNCERR UNEXPIN",
    50: "NOPASSBKRD NOPASSBKWR SEGIDERR SYSIDERR ISCINVREQ ENQBUSY ENVDEFERR IGREQCD SESSIONERR SYSBUSY",
    60: "SESSBUSY NOTALLOC CBIDERR INVEXITREQ INVPARTNSET INVPARTN PARTNFAIL",
    69: "USERIDERR NOTAUTH VOLIDERR SUPPRESSED",
    75: "RESIDERR",
    80: "NOSPOOL TERMERR ROLLEDBACK END DISABLED ALLOCERR STRELERR OPENERR SPOLBUSY SPOLERR",
    90: "NODEIDERR TASKIDERR TCIDERR DSNNOTFOUND LOADING MODELIDERR OUTDESCRERR PARTNERIDERR PROFILEIDERR NETNAMEIDERR",
    100: "LOCKED RECORDBUSY UOWNOTFOUND UOWLNOTFOUND LINKABEND CHANGED PROCESSBUSY ACTIVITYBUSY PROCESSERR ACTIVITYERR",
    110: "CONTAINERERR EVENTERR TOKENERR NOTFINISHED POOLERR TIMERERR SYMBOLERR TEMPLATERR NOTSUPERUSER CSDERR",
    120: "DUPRES RESUNAVAIL CHANNELERR CCSIDERR TIMEDOUT CODEPAGEERR INCOMPLETE APPNOTFOUND BUSY",
}
TDQUEUE_CVDAS = {
    "NOTAPPLIC": 1, "IGNORE": 1, "REMOTE": 4, "FIXED": 12, "VARIABLE": 13, "BLOCKED": 16, "UNBLOCKED": 17,
    "OPEN": 18, "CLOSED": 19, "OPENING": 20, "CLOSING": 21, "ENABLED": 23, "DISABLED": 24, "DISABLING": 25,
    "OLD": 26, "SHARE": 27, "NOTRECOVABLE": 30, "INDIRECT": 122, "RDBACK": 209, "EMPTY": 210, "NOTEMPTY": 211,
    "FULL": 212, "TERMINAL": 213, "NOTERMINAL": 214, "PHYSICAL": 215, "LOGICAL": 216, "EXTRA": 221, "INTRA": 222,
    "NOCTL": 223, "ASACTL": 224, "INPUT": 226, "OUTPUT": 227, "MCHCTL": 241, "WAIT": 340, "NOWAIT": 341,
    "SYSTEM": 643, "SKIP": 810, "LEAVE": 811, "REREAD": 812, "MOD": 813, "QUEUE": 814, "REJECT": 815,
    "IGNORERR": 816, "CSDAPI": 840, "CSDBATCH": 841, "GRPLIST": 842, "DREPAPI": 843, "CREATESPI": 844,
    "COMMIT": 208, "BACKOUT": 192, "FORCE": 342, "INDOUBT": 620, "INFLIGHT": 621, "SHUNTED": 762, "LOG": 54, "NOLOG": 55,
}
NUMBER_RANGES = {
    "TRIGGERLEVEL": (0, 32767, "1"), "BLOCKSIZE": (0, 32767, "0"), "RECORDSIZE": (0, 32767, "1"),
    "DATABUFFERS": (1, 255, "1"), "REMOTELENGTH": (0, 32767, "1"),
}
NAME_LENGTHS = {
    "TDQUEUE": 4, "GROUP": 8, "DDNAME": 8, "DSNAME": 44, "JOBUSERID": 8, "FACILITYID": 4, "TRANSID": 4, "USERID": 8,
    "INDIRECTNAME": 4, "REMOTENAME": 4, "REMOTESYSTEM": 4, "DESCRIPTION": 58,
}
KEYWORDS = {
    "TYPE": ("EXTRA INTRA INDIRECT", ""), "ATIFACILITY": ("FILE SYSTEM TERMINAL", "TERMINAL"),
    "RECOVSTATUS": ("LOGICAL NO PHYSICAL", "NO"), "WAIT": ("NO YES", "YES"), "WAITACTION": ("QUEUE REJECT", "REJECT"),
    "BLOCKFORMAT": ("BLOCKED UNBLOCKED", ""), "DISPOSITION": ("MOD OLD SHR", "SHR"), "ERROROPTION": ("IGNORE SKIP", "IGNORE"),
    "OPENTIME": ("DEFERRED INITIAL", "INITIAL"), "PRINTCONTROL": ("A M", ""), "RECORDFORMAT": ("FIXED VARIABLE", ""),
    "REWIND": ("LEAVE REREAD", "LEAVE"), "TYPEFILE": ("INPUT OUTPUT RDBACK", "INPUT"),
}
# option: receiver, length, types (I intra, E extra, D indirect, R remote), otherwise, also while closed
INQUIRE = """
ATIFACILITY CVDA 4 I NOTAPPLIC, ATITERMID CHAR 4 I BLANK, ATITRANID CHAR 4 I BLANK, ATIUSERID CHAR 8 I BLANK,
BLOCKFORMAT CVDA 4 E NOTAPPLIC closed, BLOCKSIZE BINARY 4 E -1, CHANGEAGENT CVDA 4 IEDR -, CHANGEAGREL CHAR 4 IEDR -,
CHANGETIME ABSTIME 8 IEDR -, CHANGEUSRID CHAR 8 IEDR -, DATABUFFERS BINARY 4 E -1, DDNAME CHAR 8 E BLANK,
DEFINESOURCE CHAR 8 IEDR -, DEFINETIME ABSTIME 8 IEDR -, DISPOSITION CVDA 4 E NOTAPPLIC closed, DSNAME CHAR 44 E BLANK,
EMPTYSTATUS CVDA 4 E NOTAPPLIC closed, ENABLESTATUS CVDA 4 IER NOTAPPLIC, ERROROPTION CVDA 4 E NOTAPPLIC,
INDIRECTNAME CHAR 4 D BLANK, INDOUBT CVDA 4 I NOTAPPLIC, INDOUBTWAIT CVDA 4 I NOTAPPLIC, INSTALLAGENT CVDA 4 IEDR -,
INSTALLTIME ABSTIME 8 IEDR -, INSTALLUSRID CHAR 8 IEDR -, IOTYPE CVDA 4 E NOTAPPLIC closed, MEMBER CHAR 8 E BLANK,
NUMITEMS BINARY 4 I -1, OPENSTATUS CVDA 4 E NOTAPPLIC, PRINTCONTROL CVDA 4 E NOTAPPLIC closed,
RECORDFORMAT CVDA 4 E NOTAPPLIC closed, RECORDLENGTH BINARY 4 E -1, RECOVSTATUS CVDA 4 I NOTAPPLIC,
REMOTENAME CHAR 4 R BLANK, REMOTESYSTEM CHAR 4 R BLANK, REWIND CVDA 4 E NOTAPPLIC, SYSOUTCLASS CHAR 1 E BLANK,
TRIGGERLEVEL BINARY 4 I -1, TYPE CVDA 4 IEDR -
"""
# fmt: on


def test_resp_numbers():
    expected = {name: first + offset for first, names in RESP.items() for offset, name in enumerate(names.split())}
    assert {member.name: member.value for member in Resp} == expected


def test_cvda_numbers_of_tdqueue_and_units_of_work():
    assert {name: Cvda[name].value for name in TDQUEUE_CVDAS} == TDQUEUE_CVDAS
    assert Cvda.IGNORE is Cvda.NOTAPPLIC
    assert Cvda.READBACK is Cvda.RDBACK


def test_abend_codes_beyond_the_alphabet():
    codes = {code: name.name for name, code in ABEND_CODES.items() if code[:3] in ("AEX", "AEZ")}
    last = "C RESIDERR G UOWLNOTFOUND I TERMERR J ROLLEDBACK K END L DISABLED V VOLIDERR X TASKIDERR 0 TCIDERR"
    words = f"{last} 1 DSNNOTFOUND 2 LOADING 3 MODELIDERR 4 UOWNOTFOUND 5 PARTNERIDERR 6 PROFILEIDERR 7 NETNAMEIDERR".split()
    words += ["8", "LOCKED", "9", "RECORDBUSY"]
    expected = {f"AEX{letter}": name for letter, name in zip(words[::2], words[1::2], strict=True)}
    assert codes == expected | {
        "AEZE": "CHANGED", "AEZF": "PROCESSBUSY", "AEZJ": "CONTAINERERR", "AEZL": "TOKENERR",
        "AEZR": "NOTSUPERUSER", "AEZW": "CCSIDERR", "AEZX": "TIMEDOUT", "AEZY": "CODEPAGEERR", "AEZS": "CSDERR", "AEZT": "DUPRES",
        "AEZV": "CHANNELERR", "AEZZ": "INCOMPLETE", "AEZ2": "BUSY",
    }  # fmt: skip


def test_conditions_that_are_ignored_have_no_abend():
    assert not {Resp.NORMAL, Resp.QBUSY, Resp.SIGNAL, Resp.ENQBUSY} & ABEND_CODES.keys()


def test_abend_codes_are_unique():
    assert len(set(ABEND_CODES.values())) == len(ABEND_CODES)


def test_response_codes_of_the_td_group():
    expected = {
        0x01: "QZERO",
        0x02: "QIDERR",
        0x04: "IOERR",
        0x08: "NOTOPEN",
        0x10: "NOSPACE",
        0xC0: "QBUSY",
        0xD0: "SYSIDERR",
    }
    expected |= {0xD1: "ISCINVREQ", 0xD6: "NOTAUTH", 0xD7: "DISABLED", 0xE0: "INVREQ", 0xE1: "LENGERR"}
    assert {code: name.name for name, code in EIBRCODE.items()} == expected


def test_attribute_ranges_and_lengths():
    numbers = {
        row.name: (row.minimum, row.maximum, row.default)
        for row in TDQUEUE_ATTRIBUTES.values()
        if row.kind == "integer"
    }
    assert numbers == NUMBER_RANGES
    lengths = {row.name: row.maximum for row in TDQUEUE_ATTRIBUTES.values() if row.kind in ("name", "text")}
    assert lengths == NAME_LENGTHS


def test_attribute_keywords():
    found = {
        row.name: (" ".join(row.values), row.default) for row in TDQUEUE_ATTRIBUTES.values() if row.kind == "keyword"
    }
    found.pop("SYSOUTCLASS")
    assert found == KEYWORDS


def test_inquire_options():
    letters = {"I": "INTRA", "E": "EXTRA", "D": "INDIRECT", "R": "REMOTE"}
    otherwise = {"NOTAPPLIC": Cvda.NOTAPPLIC, "BLANK": "", "-1": -1, "-": None}
    expected = {}
    for entry in INQUIRE.replace("\n", " ").split(","):
        name, receiver, length, types, other, *closed = entry.split()
        expected[name] = (receiver, int(length), {letters[letter] for letter in types}, otherwise[other], bool(closed))
    found = {
        option.name: (option.receiver, option.length, set(option.types), option.otherwise, option.closed_notapplic)
        for option in INQUIRE_TDQUEUE_OPTIONS.values()
    }
    assert found == expected


def test_release_numbers():
    assert RELEASES["0750"] == "6.2"
    assert RELEASES["0740"] == "6.1"
    assert RELEASES["0700"] == "5.3"
    assert [int(number) for number in RELEASES] == list(range(640, 761, 10))


def test_limits():
    assert LIMITS["ci_size_maximum"] - LIMITS["ci_overhead"] == 32736
    assert LIMITS["length_option_maximum"] == 32767
    assert LIMITS["dtaq_maxlen_maximum"] == 64512
    assert LIMITS["dtaq_keylen_maximum"] == 256


def test_attention_identifiers():
    """EBCDIC codes as the 3270 sends them, in code page 037."""
    codes = {
        "ENTER": 0x7D,
        "CLEAR": 0x6D,
        "PA1": 0x6C,
        "PA2": 0x6E,
        "PA3": 0x6B,
        "PF10": 0x7A,
        "PF11": 0x7B,
        "PF12": 0x7C,
    }
    codes |= {f"PF{number}": 0xF0 + number for number in range(1, 10)}
    codes |= {f"PF{number}": 0xC0 + number - 12 for number in range(13, 22)} | {
        "PF22": 0x4A,
        "PF23": 0x4B,
        "PF24": 0x4C,
    }
    assert {row["name"]: row["value"] for row in table("aids")} == {
        name: bytes([code]).decode("cp037") for name, code in codes.items()
    }


def test_facts_that_no_command_shows_twice() -> None:
    """Rows that little else leans on, so that a slip in one would be seen by nobody."""
    rows = {name: {tuple(row.values())[:3]: row for row in table(name)} for name in ("exec_words", "cemt", "cvda")}
    assert EIBFN["LOAD"] == bytes.fromhex("0E06")
    assert [row["value"] for row in table("region_defaults") if row["name"] == "mirror_transaction"] == ["CSMI"]
    assert SUPPLIED_QUEUES["CDEP"].indirectname == "CSSL"
    assert ("START", "AFTER", "") in rows["exec_words"]
    assert ("keyword", "TDQUEUE", "NOTEmpty") in rows["cemt"]
    assert ("TABLE", "847", "signature") in rows["cvda"]
