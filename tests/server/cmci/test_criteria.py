"""CRITERIA, PARAMETER and ORDERBY of the management interface, as clients write them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from tdqsim import Region, define_tdqueue
from tdqsim.server.host import Host
from tests.server.cmci.conftest import Cmci, served

INTRA = "CICSIntrapartitionTDQueue"


@pytest.fixture(scope="module")
def queues():
    """Six queues: A1 to A3 with trigger levels 1, 9 and 10, B1 recoverable, 1ABC, and ZZ with a transaction."""
    host = Host(frozen=True)
    made = [define_tdqueue(name=f"A{n}", type="INTRA", transid="TRN1", atifacility="FILE", triggerlevel=level)
            for n, level in ((1, 1), (2, 9), (3, 10))]  # fmt: skip
    made += [define_tdqueue(name="B1", type="INTRA", recovstatus="LOGICAL"), define_tdqueue(name="1ABC", type="INTRA")]
    made.append(define_tdqueue(name="AND", type="INTRA"))
    host.add(Region, made, applid="SIMREG1", supplied_queues=False)
    with served(host) as client:
        yield Cmci(client)
    host.stop()


@pytest.mark.parametrize(
    ("criteria", "names"),
    [
        ("TDQUEUE=A1", "A1"),
        ("(TDQUEUE=A1).", "A1"),
        ("tdqueue == 'A1'", "A1"),
        ("TDQUEUE=A*", "AND A1 A2 A3"),
        ("TDQUEUE='A+'", "A1 A2 A3"),
        ("TDQUEUE=='A+'", ""),
        ("TDQUEUE=+1", "A1 B1"),
        ("TDQUEUE=*", "AND A1 A2 A3 B1 1ABC"),
        ("NOT(TDQUEUE=='A1') AND TDQUEUE=A+", "A2 A3"),
        ("TDQUEUE\xac=A* AND TDQUEUE\xac=1*", "B1"),
        ("TRIGGERLEVEL>9", "A3"),
        ("TRIGGERLEVEL>=9", "A2 A3"),
        ("TRIGGERLEVEL='010'", "A3"),
        ("TRIGGERLEVEL < 10 AND TDQUEUE=A+", "A1 A2"),
        ("RECOVSTATUS=LOGICAL OR TDQUEUE=A1 AND TRIGGERLEVEL=2", "B1"),
        ("(RECOVSTATUS=LOGICAL OR TDQUEUE=A1) AND TRIGGERLEVEL<=1", "A1 B1"),
        ("((A) OR (B))", None),
        ("(TDQUEUE=A1) OR (TDQUEUE=B1)", "A1 B1"),
        ("NOT NOT TDQUEUE=A1", "A1"),
        ("TDQUEUE=AND AND NOT TDQUEUE=NOT", "AND"),
        ("TDQUEUE<B1", "AND A1 A2 A3"),
        ("TDQUEUE>B1", "1ABC"),
        ("ATITRANID='TRN1    '", "A1 A2 A3"),
        ("TDQUEUE='it\\'s'", ""),
        ("TDQUEUE='it''s'", ""),
        ("ENABLESTATUS=enabled", ""),
    ],
)
def test_criteria_select_records(queues, criteria, names):
    answer = queues.ask(f"{INTRA}/SIMREG1?CRITERIA={quote(criteria)}")
    if names is None:
        assert answer.codes == ("INVALIDPARM", "CRITERIA")
    else:
        assert answer.names == names.split()
        assert answer.codes == (("OK", "") if names else ("NODATA", ""))


def test_a_not_sign_of_one_byte(queues):
    assert queues.queues("TDQUEUE%AC=A*") == ["B1", "1ABC"]


@pytest.mark.parametrize(
    "criteria",
    ["", "(", ")", "()", "TDQUEUE", "TDQUEUE=", "=A1", "TDQUEUE=A1 B1", "TDQUEUE=A1 AND", "AND", "NOT", "TDQUEUE='A1",
     "TDQUEUE=A*1", "TDQUEUE=(A1)", "(TDQUEUE=A1", "TDQUEUE=A1)", "NOPE=1", "EYU_CICSREL=E750", "TRIGGERLEVEL=many",
     "TRIGGERLEVEL=1*", "TRIGGERLEVEL=" + "9" * 30, "(" * 60 + "TDQUEUE=A1" + ")" * 60, "NOT " * 60 + "TDQUEUE=A1",
     " OR ".join(["TDQUEUE=A1"] * 501), "TDQUEUE=A1 \x00", "\u6771=1", "TDQUEUE=\u6771)"],
)  # fmt: skip
def test_criteria_that_are_not_valid(queues, criteria):
    answer = queues.ask(f"{INTRA}/SIMREG1?CRITERIA={quote(criteria)}")
    assert (answer.status, answer.codes) == (200, ("INVALIDPARM", "CRITERIA"))


def test_the_attribute_that_is_wrong_is_named(queues):
    assert queues.ask(f"{INTRA}/SIMREG1?CRITERIA=(NUMITMS=1)").feedback == [{"attribute1": "NUMITMS", "errorcode": "1"}]


def test_the_log_says_what_is_wrong_with_criteria(queues):
    with capture_logs() as lines:
        queues.ask(f"{INTRA}/SIMREG1?CRITERIA=(TDQUEUE=A1%20B1)")
    (line,) = [each for each in lines if each["event"] == "cmci_refused"]
    assert (line["reason"], line["detail"]) == ("CRITERIA", "column 13: 'B1' was not expected")


def test_many_criteria_with_or(queues):
    names = " OR ".join([f"TDQUEUE=X{n}" for n in range(499)] + ["TDQUEUE=B1"])
    assert queues.queues(quote(names)) == ["B1"]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("TDQUEUE", "AND A1 A2 A3 B1 1ABC"),
        ("TDQUEUE/D.", "1ABC B1 A3 A2 A1 AND"),
        ("TRIGGERLEVEL/D,TDQUEUE/A", "A3 A2 A1 AND B1 1ABC"),
        ("recovstatus tdqueue/D", "B1 1ABC A3 A2 A1 AND"),
    ],
)
def test_orderby(queues, order, names):
    assert queues.ask(f"{INTRA}/SIMREG1?ORDERBY={quote(order)}").names == names.split()


@pytest.mark.parametrize("order", ["", "NOPE", "TDQUEUE/X", ",", "TDQUEUE/D/D"])
def test_orderby_that_is_not_valid(queues, order):
    assert queues.ask(f"{INTRA}/SIMREG1?ORDERBY={quote(order)}").codes == ("INVALIDPARM", "BY")


@pytest.mark.parametrize("parameter", ["CSDGROUP(GRP1)", "CSDGROUP(*) CICSSYS(SIMREG1)", "CSD", ""])
def test_parameters_are_words_with_values(queues, parameter):
    assert queues.ask(f"{INTRA}/SIMREG1?PARAMETER={quote(parameter)}").codes == ("OK", "")


@pytest.mark.parametrize("parameter", ["(GRP1)", "CSDGROUP(", "CSDGROUP(A)(B)", "CSD CSD", "CSDGROUP((A))", "1A", "<"])
def test_parameters_that_are_not_valid(queues, parameter):
    assert queues.ask(f"{INTRA}/SIMREG1?PARAMETER={quote(parameter)}").codes == ("INVALIDPARM", "PARM")
