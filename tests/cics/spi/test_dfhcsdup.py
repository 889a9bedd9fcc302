"""DFHCSDUP commands on the CSD of a region: what each does, its return code and its listing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import Region
from tdqsim.cics.text.csdup import Dfhcsdup
from tdqsim.definitions import parse_csd, parse_csd_listing
from tests.rules import rule

DECK = """
* a deck as people write it
DEFINE TDQ(PAYQ) GROUP(PAY) TYPE(INT) TRIG(5)
       TRANSID(PAYP) ATIF(FILE) DEFINETIME(20/01/01 00:00:00)
Define Transaction(Payp) Group(pay) Program(paypgm)
DEFINE MAPSET(MAPS) GROUP(PAY) RESIDENT(YES)
ADD GROUP(PAY) LIST(DAYLIST)
"""


def run(region, text):
    """The return code, and the lines between those of the beginning and the end."""
    job = Dfhcsdup(region.csd.by("BATCH", agent="CSDBATCH"))
    lines = list(job.run(text))
    assert lines[-1] == f"DFH5109 I END OF DFHCSDUP UTILITY JOB. HIGHEST RETURN CODE WAS: {job.return_code}"
    return job.return_code, lines[1:-4]


def titles(region, group):
    return [each.title for each in region.csd.definitions(group=group)]


def test_a_deck_with_abbreviations():
    with Region() as region:
        code, lines = run(region, DECK)
        assert code == 0
        assert [line for line in lines if line.startswith("DFH513")] == [
            "DFH5131 I LIST DAYLIST CREATED.", "DFH5135 I GROUP PAY ADDED TO LIST DAYLIST",
        ]  # fmt: skip
        assert titles(region, "PAY") == ["MAPSET(MAPS)", "TDQUEUE(PAYQ)", "TRANSACTION(Payp)"]
        queue = region.csd.get("TDQUEUE", "PAYQ", group="PAY")
        assert (queue.triggerlevel, queue.atifacility, queue.changeagent, queue.changeusrid) == (
            5,
            "FILE",
            "CSDBATCH",
            "BATCH",
        )
        assert queue.definetime.year > 2020  # that of the deck is said not to be taken
        assert "I DEFINETIME is not taken: the CSD writes it itself" in lines


@pytest.mark.parametrize("command", ["LIST GROUP(PAY) OBJECTS", "EXTRACT GROUP(PAY) OBJECTS USERPROGRAM(DFH0CBDC)"])
def test_a_listing_and_an_extract_import_to_the_same_definitions(command):
    with Region() as region:
        run(region, DECK)
        _, lines = run(region, command)
        read = parse_csd_listing if command.startswith("LIST") else parse_csd
        found = read("\n".join(lines[1:]))
        assert [each.resource for each in found.definitions.entries] == list(region.csd.definitions(group="PAY"))


CHANGES = {
    "ALTER TDQUEUE(PAY*) GROUP(*) TRIGGERLEVEL(9)": (0, "I 1 definitions altered"),
    "ALTER TDQUEUE(PAYQ) GROUP(PAY) TRANSID()": (0, None),
    "COPY GROUP(PAY) TO(PAY2)": (0, "I 3 definitions copied to group PAY2"),
    "COPY GROUP(PAY) TO(PAY2)\nCOPY GROUP(PAY) TO(PAY2) MERGE": (4, "W 0 definitions copied to group PAY2"),
    "COPY GROUP(P*) TO(Q*)": (0, "I 3 definitions copied to group Q*"),
    "COPY TDQUEUE(*) GROUP(DFHDCTG) TO(MYDCTG)": (0, "I 59 definitions copied to group MYDCTG"),
    "DELETE TDQUEUE(PAYQ) GROUP(PAY)": (0, None),
    "DELETE GROUP(PAY) REMOVE\nLIST ALL": (0, " LIST NAME: DFHLIST"),
    "DEFINE TDQUEUE(USER) GROUP(USERDEF) TYPE(INTRA)\nUSERDEFINE TDQ(NEWQ) GROUP(PAY)": (0, None),
    "RENAME TDQUEUE(PAYQ) GROUP(PAY) AS(PAYR)": (0, None),
    "APPEND LIST(DAYLIST) TO(NIGHT)\nREMOVE GROUP(PAY) LIST(DAYLIST)": (0, None),
    "DEL TDQ(PAYQ) G(PAY)\nLI GROUP(PAY)": (0, "     MAPSET(MAPS)"),
    "INSTALL GROUP(PAY)": (0, "I 2 resources installed"),
    "VERIFY": (4, "W VERIFY has no effect: a command that was interrupted leaves nothing locked"),
    "SCAN TDQUEUE(PAYQ)": (0, "     TDQUEUE(PAYQ) GROUP(PAY)"),
    "REMOVE GROUP(PAY) LIST(NONE)": (8, "E SYSIN:1: NOTFND: there is no list NONE"),
    "DELETE LIST(NONE)": (4, "W there is no list NONE"),
    "DELETE TDQUEUE(*) GROUP(PAY)": (12, "E SYSIN:1: DELETE takes no generic name"),
    "DELTE GROUP(PAY)": (12, "E SYSIN:1: DELTE is not a command of DFHCSDUP; did you mean DELETE?"),
    "DEFINE TDQUEUE(PAYR) GROUP(PAY)\n TYPE(INTRA)\n TRIGGERLEVEL(40000)": (
        12, "E SYSIN:3: TDQUEUE(PAYR) triggerlevel = '40000': must be a whole number from 0 to 32767",
    ),
    "ADD GROUP(PAY)": (12, "E SYSIN:1: ADD needs LIST(name)"),
    "REMOVE GROUP(PAY) LST(DAYLIST)": (12, "E SYSIN:1: LST is not an operand of REMOVE; did you mean LIST?"),
    "DEFINE FOO(PAYR) GROUP(PAY)": (
        12,
        ("E SYSIN:1: FOO is not a resource type; allowed are ATOMSERVICE, BUNDLE, CONNECTION, CORBASERVER, DB2CONN, "
        "DB2ENTRY, DB2TRAN, DJAR, DOCTEMPLATE, DUMPCODE, ENQMODEL, FILE, IPCONN, JOURNALMODEL, JVMSERVER, LIBRARY, "
        "LSRPOOL, MAPSET, MQCONN, MQINI, MQMONITOR, PARTITIONSET, PARTNER, PIPELINE, PROCESSTYPE, PROFILE, PROGRAM, "
        "REQUESTMODEL, SESSIONS, TCPIPSERVICE, TDQUEUE, TERMINAL, TRANCLASS, TRANSACTION, TSMODEL, TYPETERM, URIMAP, "
        "WEBSERVICE"),
    ),
    "DELETE GROUP(PAY": (12, "E SYSIN:1: (PAY: is not closed; it ends with its line"),
    "MIGRATE TABLE(DFHDCTXX)": (12, "E SYSIN:1: MIGRATE is not simulated; tdq import dct converts tables"),
    "DEFINE TRANSACTION(PAYX) GROUP(PAY) HANDLER(os:abort)": (
        12, "E SYSIN:1: TRANSACTION(PAYX) handler = 'os:abort': names Python code, which a client may not do; its owner may",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CHANGES)
def test_commands(text):
    code, line = CHANGES[text]
    with Region() as region:
        run(region, DECK)
        before = list(region.csd.definitions())
        got, lines = run(region, text)
        assert got == code, lines
        assert line is None or line in lines
        assert code < 8 or list(region.csd.definitions()) == before


@pytest.mark.rule("CSDUP-DELETE-NONE")
def test_a_deck_deletes_its_group_first():
    with Region() as region:
        code, lines = run(region, f"DELETE GROUP(PAY)\n{DECK}")
        assert code == 4
        assert lines[1].startswith(f"W {rule('CSDUP-DELETE-NONE').message}")
        assert run(region, "DELETE GROUP(PAY)\nDEFINE TDQUEUE(PAYQ) GROUP(PAY) TYPE(INTRA)")[0] == 0


@pytest.mark.rule("CSDUP-STOP", "CSDUP-RETURN-CODE", "CSDUP-COPY-DUPLICATE")
def test_after_an_error_only_list_is_executed():
    with Region() as region:
        run(region, DECK)
        job = Dfhcsdup(region.csd)
        lines = list(job.run("COPY GROUP(PAY) TO(PAY)\nADD GROUP(PAY) LIST(OTHER)\nLIST GROUP(PAY)"))
        assert any(rule("CSDUP-COPY-DUPLICATE").message in line for line in lines)
        assert any(line.startswith(rule("CSDUP-STOP").message) for line in lines)
        assert rule("CSDUP-RETURN-CODE").message in lines[-1]
        assert "     TDQUEUE(PAYQ)" in lines
        assert "OTHER" not in region.csd.lists()
        assert lines[-2] == "DFH5108 I COMMANDS NOT EXECUTED AFTER ERROR(S): 1"


WORDS = """
    DEFINE ALTER DELETE COPY ADD REMOVE LIST APPEND INSTALL EXTRACT SCAN RENAME USERDEFINE MERGE REPLACE ALL OBJECTS FOO TDQUEUE(PAYQ)
    TDQ(*) TRANSACTION(A/B) MAPSET(MAPS) GROUP(PAY) GROUP(P*) GROUP(DFHDCTG) TO(PAY2) LIST(DAYLIST) TYPE(INTRA) TYPE() TRIGGERLEVEL(9)
    AS(PAYR) HANDLER(a:b) DESCRIPTION('it''s') ( ) (Y X(
"""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=12), st.sampled_from([" ", "\n "]))
def test_any_text_ends_with_a_return_code(words, between):
    with Region(supplied_queues=False) as region:
        run(region, DECK)
        code, _ = run(region, between.join(words))
        assert code in (0, 4, 8, 12)
        assert all(each.title for each in region.csd.definitions())  # each record can be read
