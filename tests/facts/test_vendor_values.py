"""Numbers and words of the vendors' again, typed by hand from their manuals: limits, sizes, defaults, states.

What is our own choice stands in the tables alone; tests of what it does are elsewhere.
"""

from __future__ import annotations

import pytest

from tdqsim.cics import Region
from tdqsim.facts import table

VALUES = {
    "bms": """
        longest 256 suffix_COLOR C suffix_PS P suffix_HILIGHT H suffix_VALIDN V suffix_OUTLINE U suffix_SOSI M suffix_TRANSP T
    """,
    "cobol": "no_area FF000000",
    "cvda": """
        NOTAPPLIC 1 VSAM 3 ESDS 5 KSDS 6 RRDS 7 FIXED 12 VARIABLE 13 OPEN 18 CLOSED 19 ENABLED 23 DISABLED 24 RECOVERABLE 29
        NOTRECOVABLE 30 UNENABLED 33 READABLE 35 NOTREADABLE 36 UPDATABLE 37 NOTUPDATABLE 38 BROWSABLE 39 NOTBROWSABLE 40
        ADDABLE 41 NOTADDABLE 42 DELETABLE 43 NOTDELETABLE 44 ALTERABLE 52 NOTALTERABLE 53 CTRLABLE 56 NOTCTRLABLE 57
    """,
    "kernel": "last_task_number 99999 conditions_per_handle 16 spool_line 132",
    "programs": "longest_commarea 32763 longest_operator_text 690 highest_trace_number 199",
    "ts": "items 32767 longest 32763",
    "region_defaults": "default_user CICSUSER td_buffers 3 td_strings 3 tdintra NOEMPTY mirror_transaction CSMI",
    "datasets": """
        record_descriptor 4 block_descriptor 4 block_maximum 32760 extended_block_maximum 262144 fixed_record_maximum 32760
        variable_record_maximum 32756 spanned_record_maximum 32756 lrecl_x 32768 lrecl_x_record_maximum 16777215
        rdw_record_maximum 65535 cics_length_maximum 32767 half_track_block 27998 buffers_default 5 buffers_maximum 255
        dsname_maximum 44 dsname_qualifier_maximum 8 gdg_base_maximum 35 gdg_limit_maximum 255 generation_maximum 9999
        extents_maximum 16 tracks_per_cylinder 15 track_cells 1729 track_gap_cells 10 track_data_cells 9 track_cell_bytes 34
        track_segment_bytes 232 track_segment_overhead 6 intrdr_record_maximum 254
        concatenation_maximum 255
    """,
    "hostservers": "password_longest 128 token_seconds 3600",
    "limits": """
        group_name_length 8 length_option_maximum 32767 ci_size_minimum 512 ci_size_maximum 32768
        ci_overhead 32 rdw_length 4 bdw_length 4 supplied_extra_recordsize 132
        dtaq_maxlen_maximum 64512 dtaq_keylen_maximum 256 dtaq_initial_entries 16 dtaq_text_length 50 object_name_length 10
    """,
    "ibmi_limits": """
        receiver_minimum 8 text_bytes_maximum 65536 key_bytes_maximum 256 key_length_minimum 1 sender_id_length 36
        sender_information_length 44 wait_maximum 99999 sql_milliseconds_up_to 100 error_code_0100_minimum 8
        error_code_0200_minimum 12 error_code_maximum 32783 reclaim_key 100 enforce_key 200 max16mb_bytes 16777216
        max2gb_bytes 2147483648 max16mb_specified -1 max2gb_specified -2 name_length 10 run_priority_minimum 1
        run_priority_maximum 99 dts_earliest 19280825 dts_latest 20710509 dts_bits 12 dts_of_2000 9223372036854775808
        alcobj_maximum 50 no_conversion_ccsid 65535 supplemental_groups_maximum 15 library_list_maximum 250 length_digits 5
        job_name_key 1009 alcobj_wait_maximum 32767 sender_information_minimum 8 entry_overhead 28 queue_overhead 160
        extension_entries 64 default_wait_seconds 30 run_priority 50 wait_seconds_maximum 2147483647 default_ccsid 37
    """,
}
"""Names and values in turn, by table."""


@pytest.mark.parametrize("name", VALUES)
def test_the_values_are_those_of_the_manuals(name):
    words = VALUES[name].split()
    found: dict[str, list[str]] = {}
    for row in table(name):
        found.setdefault(row["name"], []).append(row["value"])
    assert {key: found.get(key) for key in words[::2]} == {
        key: [value] for key, value in zip(words[::2], words[1::2], strict=True)
    }


def test_what_a_region_has_when_nobody_says_otherwise():
    with Region([], supplied_queues=False) as region:
        assert (region.applid, region.options.sysid, region.options.default_user) == ("TDQREGN", "TDQ1", "CICSUSER")
        assert region.encode("A1") == b"\xc1\xf1"
        assert region.start(lambda task: task.number, transid="ONE").result() == 1
    defaults = {row["name"]: row["value"] for row in table("region_defaults")}
    expected = {"region_user": "CICSRGN", "code_page": "037", "time_zone": "UTC", "release": "0750", "ci_size": "4096"}
    assert {name: defaults[name] for name in expected} == expected


def test_defaults_of_options_and_of_a_terminal():
    assert {(row["command"], row["option"]): row["value"] for row in table("exec_defaults")} == {
        ("FORMATTIME", "DATESEP"): "/", ("FORMATTIME", "TIMESEP"): ":", ("SEND MAP", "CURSOR"): "-1",
        **{("COLLECT STATISTICS", word): " " for word in ("TDQUEUE", "FILE", "PROGRAM", "TRANCLASS", "TRANSACTION")},
    }  # fmt: skip
    assert {(row["kind"], row["name"]): row["value"] for row in table("terminal")} == {
        ("assign", f"{which}SCRN{side}"): size
        for which in ("", "DEF", "ALT")
        for side, size in (("HT", "24"), ("WD", "80"))
    }
    assert [row["value"] for row in table("ts") if row["name"] == "reserved_prefix"] == ["**", "$$", "CEBR", "DF"]


CEMT_WORDS = {
    "TDQUEUE": """
        ENabled:ENABLESTATUS=ENABLED/IS DIsabled:ENABLESTATUS=DISABLED/IS DISABLIng:ENABLESTATUS=DISABLING/I
        OPen:OPENSTATUS=OPEN/IS OPENIng:OPENSTATUS=OPENING/I CLosed:OPENSTATUS=CLOSED/IS CLOSIng:OPENSTATUS=CLOSING/I
        TErminal:ATIFACILITY=TERMINAL/IS NOTerminal:ATIFACILITY=NOTERMINAL/IS INTra:TYPE=INTRA/I EXTra:TYPE=EXTRA/I
        INDirect:TYPE=INDIRECT/I REMOTe:TYPE=REMOTE/I INPut:IOTYPE=INPUT/I OUtput:IOTYPE=OUTPUT/I RDback:IOTYPE=RDBACK/I
        EMpty:EMPTYSTATUS=EMPTY/I FUll:EMPTYSTATUS=FULL/I NOTEmpty:EMPTYSTATUS=NOTEMPTY/I LOGical:RECOVSTATUS=LOGICAL/I
        PHysical:RECOVSTATUS=PHYSICAL/I NOTRecovable:RECOVSTATUS=NOTRECOVABLE/I MOd:DISPOSITION=MOD/I OLd:DISPOSITION=OLD/I
        SHAre:DISPOSITION=SHARE/I TRIggerlevel:TRIGGERLEVEL/IS ATITErmid:ATITERMID/IS ATITRanid:ATITRANID/IS
        ATIUserid:ATIUSERID/I ITems:NUMITEMS/I NAmeind:INDIRECTNAME/I DDname:DDNAME/I DSname:DSNAME/I RNAme:REMOTENAME/I
        RSYSid:REMOTESYSTEM/I
    """,
    "TASK": """
        SUspended:RUNSTATUS=SUSPENDED/I RUnning:RUNSTATUS=RUNNING/I DIspatchable:RUNSTATUS=DISPATCHABLE/I
        TRansaction:TRANSACTION/I FAcility:FACILITY/I USerid:USERID/I PUrge:PURGETYPE=PURGE/S
        FOrcepurge:PURGETYPE=FORCEPURGE/S KIll:PURGETYPE=KILL/S
    """,
    "TRANSACTION": "ENabled:STATUS=ENABLED/IS DIsabled:STATUS=DISABLED/IS PRogram:PROGRAM/I",
    "UOW": """
        INFlight:UOWSTATE=INFLIGHT/I INDoubt:UOWSTATE=INDOUBT/I COmmit:UOWSTATE=COMMIT/IS BAckout:UOWSTATE=BACKOUT/IS
        HEURCommit:UOWSTATE=HEURCOMMIT/I HEURBackout:UOWSTATE=HEURBACKOUT/I FOrce:UOWSTATE=FORCE/S ACtive:WAITSTATE=ACTIVE/I
        SHunted:WAITSTATE=SHUNTED/I WAiting:WAITSTATE=WAITING/I TRansid:TRANSID/I TAskid:TASKID/I USerid:USERID/I
    """,
    "UOWENQ": """
        OWner:RELATION=OWNER/I WAiter:RELATION=WAITER/I ACtive:STATE=ACTIVE/I RETained:STATE=RETAINED/I TDq:TYPE=TDQ/I
        EXecenq:TYPE=EXECENQ/I RESOurce:RESOURCE/I TRansid:TRANSID/I TAskid:TASKID/I
    """,
    "UOWLINK": """
        COOrdinator:ROLE=COORDINATOR/I SUbordinate:ROLE=SUBORDINATE/I OK:RESYNCSTATUS=OK/I
        UNAvailable:RESYNCSTATUS=UNAVAILABLE/I UNConnected:RESYNCSTATUS=UNCONNECTED/I COLd:RESYNCSTATUS=COLD/I
        DELete:ACTION=DELETE/S SYsid:SYSID/I
    """,
    "CONNECTION": """
        ACQuired:CONNSTATUS=ACQUIRED/I RELeased:CONNSTATUS=RELEASED/I INService:SERVSTATUS=INSERVICE/I
        OUtservice:SERVSTATUS=OUTSERVICE/I NETname:NETNAME/I
    """,
    "FILE": """
        ENabled:ENABLESTATUS=ENABLED/IS DIsabled:ENABLESTATUS=DISABLED/IS UNEnabled:ENABLESTATUS=UNENABLED/I
        OPen:OPENSTATUS=OPEN/IS CLosed:OPENSTATUS=CLOSED/IS DSname:DSNAME/I
    """,
    "PROGRAM": "ENabled:STATUS=ENABLED/I",
    "TERMINAL": """
        INService:SERVSTATUS=INSERVICE/IS OUtservice:SERVSTATUS=OUTSERVICE/IS TRansaction:TRANSACTION/I USerid:USERID/I
    """,
    "TSQUEUE": "ITems:NUMITEMS/I DElete:ACTION=DELETE/S",
}
"""Keywords of CEMT, capitals being the least that must be written: option, CVDA, and whether of INQUIRE, SET or both."""


@pytest.mark.parametrize("resource", CEMT_WORDS)
def test_keywords_of_cemt(resource):
    found = {
        f"{row['keyword']}:{row['option']}{'=' * bool(row['cvda'])}{row['cvda']}/{''.join(verb[0] for verb in row['verbs'].split())}"
        for row in table("cemt")
        if row["kind"] == "keyword" and row["resource"] == resource
    }
    assert found == set(CEMT_WORDS[resource].split())


def test_verbs_and_resources_of_cemt():
    rows = [row for row in table("cemt") if row["kind"] != "keyword"]
    verbs = [row for row in rows if row["kind"] == "verb"]
    assert [row["keyword"] for row in verbs] == ["Inquire", "Set", "DIscard", "Perform"]
    assert not any(row[column] for row in verbs for column in ("resource", "verbs", "option", "cvda"))
    assert not any(row[column] for row in rows for column in ("resource", "cvda"))
    assert {row["keyword"]: (row["verbs"], row["option"]) for row in rows if row["kind"] == "resource"} == {
        "TAsk": ("INQUIRE SET", "number7"), "TClass": ("", ""), "TDqueue": ("INQUIRE SET DISCARD", "name4"),
        "TErminal": ("INQUIRE SET", "name4"), "FIle": ("INQUIRE SET", "name8"), "PROGram": ("INQUIRE", "name8"),
        "TSqueue": ("INQUIRE SET", "name16"), "TRAnsaction": ("INQUIRE SET", "name4"), "TRDumpcode": ("", ""),
        "COnnection": ("INQUIRE", "name4"), "UOW": ("INQUIRE SET", "hex32"), "UOWEnq": ("INQUIRE", "none"),
        "UOWLink": ("INQUIRE SET", "hex8"),
    }  # fmt: skip


STATISTICS = {
    "TQR": """
        TQRLEN 00 H length keep TQRID 02 H 42 keep TQRDVERS 04 X 1 keep TQRQID 08 C4 name keep TQRQTYPE 0C X type keep
        TQRWRITE 10 F writes zero TQRREAD 14 F reads zero TQRDELET 18 F deletes zero TQRTRIGL 1C H triggerlevel keep
        TQRRTYPE 1E X recovery keep TQRFTYPE 1F X facility_type keep TQRFNAME 20 C4 facility keep TQRWAIT 24 X wait keep
        TQRWAITA 25 X waitaction keep TQRATRAN 28 C4 transid keep TQRTRIGN 2C F triggers zero TQRCCIUS 30 F cis_in_use keep
        TQRPCIUS 34 F peak_cis current TQRCNITM 38 F items keep TQRRSYS 3C C4 remotesystem keep TQRRQID 40 C4 remotename keep
        TQRIQID 44 C4 indirectname keep TQRIOTYP 48 X iotype keep TQRDDNM 4C C8 ddname keep TQRDSNNM 54 C44 dsname keep
        TQRPDSMN 80 C8 member keep TQR_DEFINE_SOURCE 88 C8 definesource keep TQR_CHANGE_TIME 90 P8 changetime keep
        TQR_CHANGE_USERID 98 C8 changeusrid keep TQR_CHANGE_AGENT A0 F changeagent keep TQR_INSTALL_AGENT A4 F installagent keep
        TQR_INSTALL_TIME A8 P8 installtime keep TQR_INSTALL_USERID B0 C8 installusrid keep TQRPNITM B8 F peak_items current
    """,
    "TQG": """
        TQGLEN 00 H length keep TQGID 02 H 45 keep TQGDVERS 04 X 1 keep TQGANBFA 08 F buffers keep TQGAMXIU 0C F 0 current
        TQGATNAL 10 F 0 zero TQGAMXAL 14 F 0 current TQGATNWT 18 F 0 zero TQGAMXWT 1C F 0 current TQGACISZ 20 F ci_size keep
        TQGANCIS 24 F control_intervals keep TQGAMXCI 28 F peak_cis current TQGANOSP 2C F nospace zero
        TQGACTPT 30 F ci_writes zero TQGACTGT 34 F ci_reads zero TQGACTFT 38 F formatting_writes zero
        TQGACTIO 3C F io_errors zero TQGSTSTA 40 F strings keep TQGSTNAL 44 F 0 zero TQGSMXAL 48 F 0 current
        TQGSTNWT 4C F 0 zero TQGSMXWT 50 F 0 current TQGACNAL 54 F 0 keep TQGACNWT 58 F 0 keep TQGACNIU 5C F 0 keep
        TQGSCNAL 60 F 0 keep TQGSCNWT 64 F 0 keep TQGACTCI 68 F cis_in_use keep
    """,
}
"""Field, offset, kind, what it holds and what a reset does to it."""
WITHOUT_OFFSETS = {
    "XMG": "XMGID=10 XMGNUM=transactions XMGMXT=maxtasks XMGTAMXT=times_at_maxtasks XMGCAT=active XMGCQT=queued "
    "XMGPAT=peak_active XMGPQT=peak_queued XMGTDT=delayed",
    "XMR": "XMRID=11 XMRTI=name XMRPN=program XMRTCL=tranclass XMRPRTY=priority XMRRNAM=remotename XMRRSYS=remotesystem "
    "XMRAC=attaches",
    "XMC": "XMCID=12 XMCTCL=name XMCITD=transactions XMCMXT=maxactive XMCTH=purgethresh XMCTAT=attaches XMCAI=accepted "
    "XMCPI=purged XMCTQ=delayed XMCPWQ=purged_waiting XMCCAT=active XMCPAT=peak_active XMCCQT=queued XMCPQT=peak_queued "
    "XMCTAMA=times_at_maxactive XMCTAPT=times_at_purgethresh",
    "TSG": "TSGID=48 TSGSTA5F=writes_main TSGNMG=reads_main TSGSTA7F=writes_auxiliary TSGNAG=reads_auxiliary "
    "TSGQNUM=queues TSGQNUMH=peak_queues TSGQINH=longest TSGSTA3F=created",
    "LDR": "LDRID=25 LDRPNAME=name LDRTU=uses",
    "A17": "A17FNAM=name A17DSNAM=dsname A17DSRD=reads A17DSGU=update_reads A17DSBR=browses A17DSWRU=rewrites "
    "A17DSWRA=adds A17DSDEL=deletes",
    "DSG": "DSGCNT=tasks DSGPNT=peak_tasks DSGPRIAG=priority_aging",
    "STG": "STGNC=intervals STGSMFW=writes STGINTR=interval_writes STGEODR=endofday_writes STGUSSR=unsolicited_writes "
    "STGREQR=requested_writes STGRRTR=reset_writes",
}


@pytest.mark.parametrize("record", WITHOUT_OFFSETS)
def test_fields_of_records_whose_layout_is_not_known(record):
    rows = [row for row in table("statistics") if row["record"] == record]
    assert " ".join(f"{row['field']}={row['origin']}" for row in rows) == WITHOUT_OFFSETS[record]
    assert not any(row["offset"] for row in rows)


def test_every_count_of_a_report_has_a_title():
    titled = {row["field"] for row in table("statistics") if row["title"]}
    counted = {row["field"] for row in table("statistics") if row["reset"] in ("zero", "current", "day")}
    assert counted <= titled


@pytest.mark.parametrize("record", STATISTICS)
def test_fields_of_statistics_records(record):
    columns = ("field", "offset", "kind", "origin", "reset")
    found = [" ".join(row[column] for column in columns) for row in table("statistics") if row["record"] == record]
    assert " ".join(found).split() == STATISTICS[record].split()


def test_faults_of_create():
    expected = """
        400 n DFHCA5211 401 n DFHCA5204 402 n DFHCA5212 403 k DFHCA5501 404 k DFHCA5529 405 k DFHCA5504 406 k DFHCA5206
        407 k DFHCA5503 410 k DFHCA5210 411 k DFHCA5207 412 k DFHCA5205 413 k DFHCA5517
    """
    assert [row[column] for row in table("create_errors") for column in ("code", "high", "message")] == expected.split()


def test_words_of_commands_that_stand_for_an_option_or_for_none():
    files = ["READ", "WRITE", "REWRITE", "DELETE", "UNLOCK", "STARTBR", "RESETBR", "READNEXT", "READPREV", "ENDBR"]
    expected = {(command, "DATASET"): "FILE" for command in files} | {
        ("HANDLE ABEND", "LABEL"): "PROGRAM", ("START", "FLENGTH"): "LENGTH", ("RETRIEVE", "FLENGTH"): "LENGTH",
        ("SEND", "FLENGTH"): "LENGTH", ("RECEIVE", "FLENGTH"): "LENGTH", ("RECEIVE", "MAXFLENGTH"): "MAXLENGTH",
        ("WRITEQ TS", "QNAME"): "QUEUE", ("READQ TS", "QNAME"): "QUEUE", ("DELETEQ TS", "QNAME"): "QUEUE",
    }  # fmt: skip
    none = """
        START=AFTER,FMH DELAY=FOR SEND-MAP=WAIT,TERMINAL,PRINT,DEFAULT,ALTERNATE
        SEND-TEXT=WAIT,TERMINAL,PRINT,DEFAULT,NOEDIT,MAPPED SEND-CONTROL=PRINT,DEFAULT SEND=DEFAULT
        READ=NOSUSPEND,CONSISTENT,REPEATABLE,UNCOMMITTED WRITE=NOSUSPEND REWRITE=NOSUSPEND READNEXT=NOSUSPEND READPREV=NOSUSPEND
    """
    for entry in none.split():
        command, words = entry.split("=")
        expected |= {(command.replace("-", " "), word): "" for word in words.split(",")}
    assert {(row["command"], row["word"]): row["option"] for row in table("exec_words")} == expected


def test_keywords_that_are_cvdas():
    expected = {
        "SET TDQUEUE": "NOTERMINAL=ATIFACILITY TERMINAL=ATIFACILITY DISABLED=ENABLESTATUS ENABLED=ENABLESTATUS "
        "CLOSED=OPENSTATUS OPEN=OPENSTATUS",
        "CREATE TDQUEUE": "LOG=LOGMESSAGE NOLOG=LOGMESSAGE", "SET UOW": "BACKOUT=UOWSTATE COMMIT=UOWSTATE FORCE=UOWSTATE",
        "QUERY SECURITY": "LOG=LOGMESSAGE NOLOG=LOGMESSAGE",
        "SET TRANSACTION": "DISABLED=STATUS ENABLED=STATUS", "SET UOWLINK": "DELETE=ACTION",
        "SET TASK": "FORCEPURGE=PURGETYPE KILL=PURGETYPE PURGE=PURGETYPE",
        "FORMATTIME": "RFC1123=STRINGFORMAT RFC3339=STRINGFORMAT", "SET STATISTICS": "ON=RECORDING OFF=RECORDING",
        "SET FILE": "OPEN=OPENSTATUS CLOSED=OPENSTATUS ENABLED=ENABLESTATUS DISABLED=ENABLESTATUS",
        "SET TRANDUMPCODE": "ADD=ACTION REMOVE=ACTION RESET=ACTION LOCAL=DUMPSCOPE RELATED=DUMPSCOPE NOSHUTDOWN=SHUTOPTION "
        "SHUTDOWN=SHUTOPTION NOSYSDUMP=SYSDUMPING SYSDUMP=SYSDUMPING NOTRANDUMP=TRANDUMPING TRANDUMP=TRANDUMPING",
    }  # fmt: skip
    found: dict[str, list[str]] = {}
    for row in table("cvda_keywords"):
        found.setdefault(row["command"], []).append(f"{row['keyword']}={row['option']}")
    assert {command: set(words) for command, words in found.items()} == {
        command: set(words.split()) for command, words in expected.items()
    }


def test_how_long_names_of_resources_are():
    other = {
        "CONNECTION": 4,
        "CORBASERVER": 4,
        "TDQUEUE": 4,
        "TERMINAL": 4,
        "TRANSACTION": 4,
        "DJAR": 32,
        "WEBSERVICE": 32,
    }
    assert {
        row["name"]: int(row["name_length"]) for row in table("resource_types") if row["name_length"] != "8"
    } == other
    assert {row["name"] for row in table("resource_types") if row["effect"] == "installed"} == {
        "CONNECTION", "FILE", "PROGRAM", "TDQUEUE", "TERMINAL", "TRANCLASS", "TRANSACTION", "TSMODEL",
    }  # fmt: skip


def test_authorities_and_locks_of_objects():
    data = "READ ADD UPD DLT EXECUTE"
    assert {row["authority"]: row["grants"] for row in table("ibmi_authorities")} == {
        "*USE": "OBJOPR READ EXECUTE", "*CHANGE": f"OBJOPR {data}", "*EXCLUDE": "",
        "*ALL": f"OBJOPR OBJMGT OBJEXIST OBJALTER OBJREF {data}",
    } | {f"*{each}": each for each in f"OBJOPR OBJMGT OBJEXIST OBJALTER OBJREF {data}".split()}  # fmt: skip
    together = {
        "*SHRRD": {"*SHRRD", "*SHRNUP", "*SHRUPD", "*EXCLRD"}, "*SHRNUP": {"*SHRRD", "*SHRNUP"},
        "*SHRUPD": {"*SHRRD", "*SHRUPD"}, "*EXCLRD": {"*SHRRD"}, "*EXCL": set(),
    }  # fmt: skip
    assert {row["state"]: set(row["compatible"].split()) for row in table("ibmi_locks")} == together


def test_formats_of_times_and_types_of_journal_entries():
    formats = {
        row["format"]: (row["use"], row["pattern"], row["century"], row["bytes"]) for row in table("ibmi_time_formats")
    }
    assert formats == {
        "*CURRENT": ("in", "-", "no", "0"), "*DTS": ("both", "-", "no", "8"), "*JOB": ("both", "-", "yes", "16"),
        "*SYSVAL": ("both", "-", "yes", "16"), "*YMD": ("both", "%y%m%d", "yes", "16"), "*YYMD": ("both", "%Y%m%d", "no", "17"),
        "*MDY": ("both", "%m%d%y", "yes", "16"), "*MDYY": ("both", "%m%d%Y", "no", "17"), "*DMY": ("both", "%d%m%y", "yes", "16"),
        "*DMYY": ("both", "%d%m%Y", "no", "17"), "*JUL": ("both", "%y%j", "yes", "16"), "*LONGJUL": ("both", "%Y%j", "no", "17"),
    }  # fmt: skip
    assert {row["type"]: row["event"] for row in table("ibmi_journal_types")} == {
        "QS": "Send data queue entry, no key", "QK": "Send data queue entry, has key", "QR": "Receive data queue entry, no key",
        "QL": "Receive data queue entry, has key", "QC": "Clear data queue, no key", "QJ": "Clear data queue, has key",
        "QB": "Journaling started", "QE": "Journaling ended", "QD": "Data queue deleted", "QM": "Data queue moved",
        "QN": "Data queue renamed",
    }  # fmt: skip


CEMT_LAYOUT = {
    "INTRA": """
        1/2/Tdq/TDQUEUE/name4 1/12/Tri/TRIGGERLEVEL/number5 1/23/Ite/NUMITEMS/number5 1/34//TYPE/status
        1/38//ATIFACILITY/status 1/42//ENABLESTATUS/status 1/46/Atit/ATITERMID/name4 1/57/Tra/ATITRANID/name4
        1/67/Use/ATIUSERID/name8
    """,
    "EXTRA": """
        1/2/Tdq/TDQUEUE/name4 1/25//TYPE/status 1/39//ENABLESTATUS/status 1/43//OPENSTATUS/status
        2/29//DISPOSITION/status 2/33//IOTYPE/status 2/37/Dat/DATABUFFERS/number3 2/46/Ddn/DDNAME/name8
    """,
    "INDIRECT": """
        1/2/Tdq/TDQUEUE/name4 1/25//TYPE/status 1/29/Nam/INDIRECTNAME/name4
    """,
    "REMOTE": """
        1/2/Tdq/TDQUEUE/name4 1/25//TYPE/status 1/39//ENABLESTATUS/status 1/43/Rna/REMOTENAME/name4
        1/53/Rsy/REMOTESYSTEM/name4
    """,
    "TASK": """
        1/2/Tas/TASK/number7 1/15/Tra/TRANSACTION/name4 1/25/Fac/FACILITY/name4 1/35//RUNSTATUS/status
        1/39//FACILITYTYPE/status 1/43/Sta/STARTCODE/name2 1/51/Use/USERID/name8 2/15/Uow/UOW/hex16
        2/37/Hty/SUSPENDTYPE/name8 2/51/Hva/SUSPENDVALUE/name8
    """,
    "TRANSACTION": """
        1/2/Tra/TRANSACTION/name4 1/12/Pro/PROGRAM/name8 1/26//STATUS/status 1/30/Dti/DTIMEOUT/number6
        1/42/Rem/REMOTESYSTEM/name4
    """,
    "UOW": """
        1/2/Uow/UOW/hex16 1/24//UOWSTATE/status 1/28//WAITSTATE/status 1/32/Tra/TRANSID/name4
        1/42/Tas/TASKID/number7 1/55/Age/AGE/number8 2/24/Ter/TERMID/name4 2/34/Net/NETNAME/name8
        2/48/Use/USERID/name8 2/62//WAITCAUSE/status 2/66/Lin/LINK/name8
    """,
    "UOWENQ": """
        1/2/Uow/UOW/hex16 1/24/Tra/TRANSID/name4 1/34/Tas/TASKID/number7 1/47//STATE/status 1/51//TYPE/status
        1/55//RELATION/status 1/59/Dur/DURATION/number6 2/24/Res/RESOURCE/name8 2/38/Qua/QUALIFIER/name8
    """,
    "UOWLINK": """
        1/2/Uowl/UOWLINK/hex8 1/17/Uow/UOW/hex16 1/39//TYPE/status 1/43/Lin/LINK/name8 1/57//ROLE/status
        1/61//RESYNCSTATUS/status 1/65/Sys/SYSID/name4
    """,
    "CONNECTION": """
        1/2/Con/CONNECTION/name4 1/12/Net/NETNAME/name8 1/26//SERVSTATUS/status 1/30//CONNSTATUS/status
        1/34//ACCESSMETHOD/status
    """,
    "FILE": """
        1/2/Fil/FILE/name8 1/16/Dsn/DSNAME/name44 2/16//OPENSTATUS/status 2/20//ENABLESTATUS/status
        2/24//RECOVSTATUS/status
    """,
    "PROGRAM": "1/2/Prog/PROGRAM/name8 1/18//STATUS/status",
    "TERMINAL": "1/2/Ter/TERMINAL/name4 1/12/Tra/TRANSACTION/name4 1/22//SERVSTATUS/status 1/26/Use/USERID/name8",
    "TSQUEUE": """
        1/2/Tsq/TSQUEUE/name16 1/24/Num/NUMITEMS/number5 1/35/Len/FLENGTH/number10 1/51//RECOVSTATUS/status
    """,
}
"""Where each value of a resource stands: line, column, label, option and form."""


@pytest.mark.parametrize("resource", CEMT_LAYOUT)
def test_where_cemt_shows_what(resource):
    columns = ("line", "column", "label", "option", "format")
    found = ["/".join(row[column] for column in columns) for row in table("cemt_layout") if row["type"] == resource]
    assert found == CEMT_LAYOUT[resource].split()


def test_which_controls_code_pages_keep():
    """Text of columns as Cobrix 2.10 has it: page 037 keeps five, some pages CR and LF, the others those of ASCII."""
    few = {"838", "870", "875", "1025", "1047", "1160"}
    for row in table("codepages"):
        kept = "ascii" if row["kind"] == "EBCDIC" else ""
        kept = "0D 15 25 41 CA" if row["ccsid"] == "37" else "0D 25" if row["ccsid"] in few else kept
        assert row["kept"] == kept, row["ccsid"]


def test_code_pages_and_whose_tables_they_have():
    """Pages of the ISO and of PCs by their names in Python; EBCDIC ones by their number, or by a table of their own."""
    iso = {"819": "latin-1", "912": "iso8859-2", "913": "iso8859-3", "914": "iso8859-4", "915": "iso8859-5",
           "813": "iso8859-7", "916": "iso8859-8", "920": "iso8859-9", "921": "iso8859-13", "923": "iso8859-15",
           "1089": "iso8859-6"}  # fmt: skip
    of_pcs = {"367", "437", "850", "852", "855", "857", "858", "866", *map(str, range(1250, 1259))}
    own = {row["ccsid"] for row in table("codepage_tables")}
    for row in table("codepages"):
        number = row["ccsid"]
        expected = iso.get(number, f"cp{int(number):03d}")
        if number == "367":
            expected = "ascii"
        assert row["codec"] == ("" if number in own else expected), number
        assert row["kind"] == ("ASCII" if number in iso or number in of_pcs else "EBCDIC"), number
