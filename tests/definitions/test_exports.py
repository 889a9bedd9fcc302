"""DFHDCT macros and CL out: what comes back in is the same definition, and what cannot be said is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tdqsim.definitions import Definitions, define_dtaq, define_tdqueue, export_cl, export_dct, parse_cl, parse_dct
from tests.definitions import strategies


@pytest.mark.parametrize(
    "attributes",
    [
        {"type": "INTRA", "transid": "PAYP", "triggerlevel": 5, "atifacility": "FILE", "recovstatus": "LOGICAL"},
        {"type": "INTRA", "transid": "P,=@", "atifacility": "TERMINAL", "facilityid": "T001"},
        {"type": "INTRA", "transid": "PAYP", "atifacility": "FILE", "userid": "PAYUSER"},
        {"type": "INTRA", "recovstatus": "PHYSICAL", "remotesystem": "CIC2", "remotename": "FARQ", "remotelength": 80},
        {"type": "EXTRA", "ddname": "DAYIN", "typefile": "INPUT", "opentime": "DEFERRED"},
        {
            "type": "EXTRA", "ddname": "DAYIN", "typefile": "OUTPUT", "recordformat": "VARIABLE", "blockformat": "BLOCKED",
            "recordsize": 132, "blocksize": 1324, "printcontrol": "A", "databuffers": 2, "erroroption": "SKIP",
        },
        {"type": "INDIRECT", "indirectname": "CSSL"},
        {"remotesystem": "CIC2", "remotename": "PAYQ"},
    ],
)  # fmt: skip
def test_what_a_macro_can_say_comes_back(attributes: dict[str, object]) -> None:
    queue = define_tdqueue(name="PAYQ", group="PAYMENTS", **attributes)
    text, remarks = export_dct(Definitions.of([queue]))
    assert remarks == []
    assert max(map(len, text.splitlines())) <= 72
    back = parse_dct(text)
    assert [report for report in back.reports if report.kind != "skipped" or "END" not in str(report)] == []
    (found,) = back.definitions.tdqueues
    assert found.attributes() == queue.attributes()
    assert found.group == "PAYMENTS"


def test_a_table_in_macros() -> None:
    queues = [
        define_tdqueue(name="PAYQ", type="INTRA", group="PAY", transid="PAYP", triggerlevel=5, recovstatus="LOGICAL"),
        define_tdqueue(name="LOGQ", type="INDIRECT", group="PAY", indirectname="CSSL", description="a log"),
    ]
    text, remarks = export_dct(Definitions.of(queues))
    assert text.splitlines() == [
        "         DFHDCT TYPE=GROUP,GROUP=PAY",
        "         DFHDCT TYPE=INTRA,DESTID=PAYQ,TRANSID=PAYP,TRIGLEV=5,         X",
        "               DESTRCV=LG",
        "         DFHDCT TYPE=INDIRECT,DESTID=LOGQ,INDDEST=CSSL",
        "         DFHDCT TYPE=FINAL",
        "         END",
    ]
    assert remarks == ["TDQUEUE(LOGQ) DESCRIPTION: has no counterpart in DFHDCT; left out"]


@settings(max_examples=60)
@given(strategies.tdqueues)
def test_every_queue_comes_back_but_for_what_was_told(queue: object) -> None:
    text, remarks = export_dct(Definitions.of([queue]))  # type: ignore[list-item]
    left_out = {remark.split()[1].rstrip(":").lower() for remark in remarks if "no counterpart" in remark}
    back = parse_dct(text)
    (found,) = back.definitions.tdqueues
    wanted = queue.attributes()  # type: ignore[attr-defined]
    have = found.attributes()
    for name in wanted.keys() - left_out - {"blockformat", "ddname"}:
        assert have.get(name, "") == wanted[name] or wanted[name] == "", (name, text)


def test_data_queues_in_cl_come_back() -> None:
    queues = [
        define_dtaq(dtaq="APPLIB/ORDERS", maxlen=80, seq="*KEYED", keylen=4, senderid="*YES", text="it's mine"),
        define_dtaq(dtaq="STACK", maxlen=64512, seq="*LIFO", force="*YES", size=("*MAX2GB", 32), autorcl="*YES", aut="*EXCLUDE"),
        define_dtaq(dtaq="APPLIB/FAR", type="*DDM", rmtdtaq="RMTLIB/ORDERS", rmtlocname="CHICAGO", mode="MODE1"),
    ]  # fmt: skip
    text, remarks = export_cl(Definitions.of([*queues, define_tdqueue(name="PAYQ", type="INTRA")]))
    assert remarks == ["TDQUEUE(PAYQ): is not a data queue; left out"]
    back = parse_cl(text)
    assert list(back.reports) == []
    assert [each.attributes() for each in back.definitions.dtaqs] == [each.attributes() for each in queues]


def test_crtdtaq_in_cl_is_continued_behind_column_76() -> None:
    one, two = (
        export_cl(Definitions.of([define_dtaq(dtaq="APPLIB/ORDERS", maxlen=80, text="x" * length)]))[0]
        for length in (29, 30)
    )
    assert one.splitlines() == [f"CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80) TEXT('{'x' * 29}')"]
    assert two.splitlines() == ["CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80) +", f"          TEXT('{'x' * 30}')"]
