"""Attributes that real definitions carry and that change nothing here: taken, reported, kept and written out again.

The names are written here by hand a second time, as RDO spells them, so that a slip in the table is seen.
"""

from __future__ import annotations

import pytest

from tdqsim.definitions import export_csd, parse_csd, parse_definitions
from tdqsim.errors import DefinitionError

IDLE = {
    "CONNECTION": """
        ACCESSMETHOD AUTOCONNECT BINDPASSWORD BINDSECURITY DATASTREAM INDSYS MAXQTIME PROTOCOL PSRECOVERY QUEUELIMIT
        RECORDFORMAT REMOTENAME REMOTESYSNET REMOTESYSTEM SINGLESESS USEDFLTUSER XLNACTION
    """,
    "FILE": """
        BACKUPTYPE DATABUFFERS DISPOSITION DSNSHARING FWDRECOVLOG INDEXBUFFERS JNLADD JNLREAD JNLSYNCREAD JNLSYNCWRITE
        JNLUPDATE JOURNAL LOADTYPE LSRPOOLID LSRPOOLNUM MAXNUMRECS NSRGROUP PASSWORD POOLNAME READINTEG REMOTENAME
        REMOTESYSTEM RLSACCESS STRINGS TABLE TABLENAME UPDATEMODEL USERDATA1 USERDATA2 USERDATA3
    """,
    "PROGRAM": """
        API APPLICATION CEDF CONCURRENCY DATALOCATION DYNAMIC ENTRYPOINT EXECKEY HOTPOOL JVM JVMCLASS JVMPROFILE JVMSERVER
        LANGUAGE OPERATION RELOAD RESIDENT RSL USAGE USELPACOPY USERDATA1 USERDATA2 USERDATA3
    """,
    "TERMINAL": """
        ALTPRINTCOPY ALTPRINTER ATTACHSEC AUTINSTMODEL AUTINSTNAME BINDSECURITY CONSNAME CONSOLE INDOUBT MODENAME NATLANG
        POOL PRINTER PRINTERCOPY REMOTESYSNET SECURITYNAME SOLICITED SPOOLDEST SPOOLFCB SPOOLPRTRSL SPOOLPRTTO TASKLIMIT
        TRANSACTION TYPETERM USEDFLTUSER
    """,
    "TRANCLASS": "PURGEACTION USERDATA1 USERDATA2 USERDATA3",
    "TRANSACTION": """
        ALIAS APPLICATION BREXIT CONFDATA DUMP DYNAMIC EXTSEC FAILACTION INDOUBT ISOLATE OPERATION OTSTIMEOUT
        PARTITIONSET PLATFORM PRIMEDSIZE PROFILE ROUTABLE RSL SHUTDOWN STORAGECLEAR SUBSPACE TASKDATAKEY
        TASKDATALOC TASKREQ TCLASS TPNAME TPURGE TRACE TRANSEC TRPROF USERDATA1 USERDATA2 USERDATA3 XTPNAME XTRANID
    """,
    "TSMODEL": """
        EXPIRYINT EXPIRYINTMIN POOLNAME USERDATA1 USERDATA2 USERDATA3 XREMOTEPFX
    """,
}
NEEDED = {"TSMODEL": "  prefix: AB\n", "TRANCLASS": "  maxactive: 1\n"}


def parsed(resource: str, names: list[str]):
    lines = NEEDED.get(resource, "") + "".join(f"  {name.lower()}: V\n" for name in names)
    return parse_definitions(f"group: G\n{resource.lower()}:\n- name: ABCD\n{lines}", file="one.yaml")


@pytest.mark.rule("DEF-IDLE")
@pytest.mark.parametrize("resource", IDLE)
def test_they_are_taken_reported_kept_and_written_out_again(resource):
    names = IDLE[resource].split()
    found = parsed(resource, names)
    assert found.entries[0].resource.without_effect == {name.lower(): "V" for name in names}
    assert [note.attribute.upper() for note in found.notes if "has no effect" in note.message] == names
    written = export_csd(found)
    (entry,) = parse_csd(written).definitions.entries
    assert sorted(entry.resource.without_effect) == sorted(name.lower() for name in names)


@pytest.mark.parametrize("resource", IDLE)
def test_no_other_attribute_is_taken(resource):
    with pytest.raises(
        DefinitionError, match=f"nosuch = .V.: is not an attribute of {resource}; allowed are [a-z]+, [a-z]"
    ):
        parsed(resource, ["NOSUCH"])
