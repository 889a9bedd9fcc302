from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.cics.spi.attribute_text import AttributeFault, definition_from_text, split_attributes
from tdqsim.definitions.tdqueue import IntraQueue
from tdqsim.facts import TDQUEUE_ATTRIBUTES
from tests.rules import rule

NUMBER = {name: number for number, name in enumerate(TDQUEUE_ATTRIBUTES, 1)}


@pytest.mark.rule("CREATE-ABBREVIATIONS")
def test_keywords_and_values_may_be_cut_and_written_in_either_case():
    made = definition_from_text("PAYQ", "type(intra), transid(payp) TRIG( 5 )\n recov(l) Desc(Mixed (case) 'text')")
    assert made == IntraQueue(
        name="PAYQ", transid="PAYP", triggerlevel=5, recovstatus="LOGICAL", description="Mixed (case) 'text'"
    )


def test_a_value_may_hold_parentheses_in_pairs():
    assert split_attributes("DSNAME(MY.LIB(MEMB)) TYPE(EXTRA)") == {"DSNAME": "MY.LIB(MEMB)", "TYPE": "EXTRA"}


@pytest.mark.rule("CREATE-DUAL-PURPOSE")
def test_type_and_remote_attributes_together():
    made = definition_from_text("PAYQ", "TYPE(INTRA) REMOTESYSTEM(CICB) REMOTENAME(PAYX)")
    assert (made.type_in("CICB"), made.type_in("CICA"), made.remote_queue) == ("INTRA", "REMOTE", "PAYX")


FAULTS = [
    ("CREATE-400", "TYPE(INTRA))", 11),
    ("CREATE-400", "TYPE(INTRA", 4),
    ("CREATE-400", "TYPE(INTRA) (5)", 12),
    ("CREATE-401", "TYPE(INTRA) COLOUR(RED)", 12),
    ("CREATE-402", "TYPE(EXTRA) D(X)", 12),
    ("CREATE-403", "TYPE(INDIRECT)", NUMBER["INDIRECTNAME"]),
    ("CREATE-403", "TYPE(EXTRA) TYPEFILE(OUTPUT) SYSOUTCLASS(A)", NUMBER["DDNAME"]),
    ("CREATE-403", "TYPE(EXTRA) REMOTESYSTEM(CICB)", NUMBER["DDNAME"]),
    ("CREATE-404", "TRANSID(PAYP)", NUMBER["TYPE"]),
    ("CREATE-404", "", NUMBER["TYPE"]),
    ("CREATE-405", "TYPE(EXTRA) BLOCKFORMAT(BLOCKED)", NUMBER["BLOCKFORMAT"]),
    ("CREATE-405", "TYPE(INTRA) USERID(BOB)", NUMBER["USERID"]),
    ("CREATE-405", "TYPE(INTRA) REMOTENAME(X)", NUMBER["REMOTENAME"]),
    ("CREATE-406", "TYPE(INTRA) TYPE(INTRA)", NUMBER["TYPE"]),
    ("CREATE-407", "TYPE(INTRA) DSNAME(X)", NUMBER["DSNAME"]),
    ("CREATE-407", "TYPE(EXTRA) DSNAME(X) SYSOUTCLASS(A)", NUMBER["SYSOUTCLASS"]),
    ("CREATE-407", "TYPE(INTRA) WAIT(NO) WAITACTION(QUEUE)", NUMBER["WAITACTION"]),
    ("CREATE-410", "TYPE(INTRA) TRIGGERLEVEL(32768)", NUMBER["TRIGGERLEVEL"]),
    ("CREATE-410", "TYPE(I)", NUMBER["TYPE"]),
    ("CREATE-410", "TYPE(INTRA) TRANSID(TOOLONG)", NUMBER["TRANSID"]),
    ("CREATE-412", "TYPE(INTRA) TRANSID()", NUMBER["TRANSID"]),
    ("CREATE-412", "TYPE(INTRA) TRANSID", NUMBER["TRANSID"]),
    ("CREATE-413", "TYPE(EXTRA) SYSOUTCLASS(A) TYPEFILE(INPUT)", NUMBER["TYPEFILE"]),
    ("CREATE-413", "TYPE(EXTRA) RECORDFORMAT(FIXED) RECORDSIZE(80) BLOCKSIZE(81)", NUMBER["BLOCKSIZE"]),
]


@pytest.mark.rule(
    "CREATE-400", "CREATE-401", "CREATE-402", "CREATE-403", "CREATE-404", "CREATE-405",
    "CREATE-406", "CREATE-407", "CREATE-410", "CREATE-412", "CREATE-413",
)  # fmt: skip
@pytest.mark.parametrize(("rule_id", "text", "high"), FAULTS)
def test_faults_have_the_two_halfwords_and_the_message_of_their_row(rule_id, text, high):
    with pytest.raises(AttributeFault) as caught:
        definition_from_text("PAYQ", text)
    row = rule(rule_id)
    assert caught.value.code == int(row.resp2)
    assert caught.value.message_id == row.message
    assert divmod(caught.value.resp2, 65536) == (high, int(row.resp2))


@pytest.mark.parametrize("name", ["", "TOOLONG", "pay", "A B"])
def test_a_name_that_is_none_is_an_invalid_operand(name):
    with pytest.raises(AttributeFault) as caught:
        definition_from_text(name, "TYPE(INTRA)")
    assert (caught.value.code, caught.value.high) == (410, NUMBER["TDQUEUE"])
    assert caught.value.detail.startswith(f"TDQUEUE ({name}) must be 1 to 4 characters")


WORDS = st.sampled_from(
    [*TDQUEUE_ATTRIBUTES, "T", "D", "(", ")", "((", " ", ",", "INTRA", "5", "'", "-1", "é", "\n", "TYPE(INTRA)"]
)


@given(st.lists(WORDS, max_size=20).map("".join))
def test_any_text_is_a_definition_or_one_of_the_faults(text):
    fault = made = None
    try:
        made = definition_from_text("PAYQ", text)
    except AttributeFault as raised:
        fault = raised
    if fault is not None:
        assert 400 <= fault.code <= 413
        assert 0 <= fault.high <= max(len(text), len(NUMBER))
    else:
        assert made.name == "PAYQ"
