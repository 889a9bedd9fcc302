from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdqsim import Region
from tdqsim.definitions import (
    Definitions,
    define_connection,
    define_tdqueue,
    define_terminal,
    define_transaction,
    load_definitions,
    parse_definitions,
    supplied_definitions,
)
from tdqsim.errors import DefinitionError
from tdqsim.facts import SUPPLIED_QUEUES
from tests.rules import expect_rule

GROUP = """
group: PAYMENTS
tdqueue:
  - name: PAYQ
    type: INTRA
    transid: PAYP
    triggerlevel: 5
  - {name: LOGQ, type: INDIRECT, indirectname: CSSL}
transaction:
  - name: PAYP
    program: PAYPROG
    handler: payments:post
terminal:
  - name: T001
    userid: BOB
connection:
  - name: CIC2
    netname: PAYREGN2
"""


def problems(text):
    with pytest.raises(DefinitionError) as caught:
        parse_definitions(text, file="f.yaml")
    return caught.value.problems


def test_one_group():
    found = parse_definitions(GROUP)
    assert found.groups == ("PAYMENTS",)
    assert [queue.name for queue in found.tdqueues] == ["PAYQ", "LOGQ"]
    assert found.tdqueues[0].triggerlevel == 5
    assert found.transactions[0].handler == "payments:post"
    assert found.terminals[0].userid == "BOB"
    assert found.connections[0].applid == "PAYREGN2"
    assert all(resource.group == "PAYMENTS" for resource in found.resources)
    assert [entry.line for entry in found.entries][:2] == [4, 8]


@pytest.mark.rule("DEF-YAML-TEXT")
@pytest.mark.parametrize("name", ["0010", "1E05", "NO", "ON", "NULL", "YES", "Y", "1_0", "0X1F", "12"])
def test_plain_values_are_text(name):
    if "_" in name:
        assert problems(f"group: G\ntdqueue:\n- name: {name}\n  type: INTRA\n")[0].value == name
    else:
        found = parse_definitions(f"group: {name}\ntdqueue:\n- name: {name}\n  type: INTRA\n  wait: NO\n")
        assert (found.groups[0], found.tdqueues[0].name, found.tdqueues[0].wait) == (name, name, "NO")


def test_several_groups():
    found = parse_definitions(
        "groups:\n- group: A\n  tdqueue:\n  - {name: Q1, type: INTRA}\n- group: B\n  tdqueue: []\n"
    )
    assert [(queue.group, queue.name) for queue in found.tdqueues] == [("A", "Q1")]


@pytest.mark.parametrize("text", ["", "# nothing\n", "group: G\n", "group: G\ntdqueue:\n"])
def test_nothing_defined(text):
    assert parse_definitions(text).resources == ()


@pytest.mark.rule("DEF-GROUP-WHOLE")
def test_all_problems_of_a_file_with_their_lines():
    found = problems(
        "group: G\ntdqueue:\n  - name: PAYQ\n    type: INTRA\n    triggerlevel: 40000\n  - name: toolong\n    type: INTRB\n"
        "  - name: GOOD\n    type: INTRA\ntransaction:\n  - name: T1\n    wibble: 1\n"
    )
    assert [(problem.line, problem.resource, problem.attribute) for problem in found] == [
        (5, "TDQUEUE(PAYQ)", "triggerlevel"), (6, "TDQUEUE(toolong)", "name"), (7, "TDQUEUE(toolong)", "type"),
        (12, "TRANSACTION(T1)", "wibble"),
    ]  # fmt: skip
    assert str(found[0]) == "f.yaml:5: TDQUEUE(PAYQ) triggerlevel = '40000': must be a whole number from 0 to 32767"


@pytest.mark.rule("DEF-GROUP-NAME")
@pytest.mark.parametrize("name", ["TOOLONGNAME", "lower", "A B", "[A]"])
def test_bad_group_names(name):
    expect_rule("DEF-GROUP-NAME", parse_definitions, f"group: {name}\ntdqueue: []\n")


def test_every_name_that_is_given_twice_is_reported_with_its_resource():
    text = (
        "group: G\ngroup: H\ntdqueue:\n- {name: A, type: INTRA, type: EXTRA}\n"
        "- name: B\n  type: INTRA\n  transid: X\n  transid: Y\n"
    )
    with pytest.raises(DefinitionError) as raised:
        parse_definitions(text, file="a.yaml")
    assert [str(problem) for problem in raised.value.problems] == [
        "a.yaml:2: group: is given twice, first in line 1",
        "a.yaml:4: TDQUEUE(A) type: is given twice, first in line 4",
        "a.yaml:8: TDQUEUE(B) transid: is given twice, first in line 7",
    ]


def test_an_attribute_in_capitals_is_answered_with_its_name():
    with pytest.raises(DefinitionError, match="TYPE = 'INTRA': is not an attribute of TDQUEUE; did you mean type"):
        parse_definitions("group: G\ntdqueue:\n- {name: A, type: INTRA, TYPE: INTRA}\n")


@pytest.mark.rule("DEF-GROUP-DUPLICATE")
def test_twice_in_a_group():
    text = "group: G\ntdqueue:\n- {name: PAYQ, type: INTRA}\n- {name: PAYQ, type: EXTRA}\n"
    error = expect_rule("DEF-GROUP-DUPLICATE", parse_definitions, text)
    assert "first in line 3" in str(error)


@pytest.mark.rule("DEF-IDLE")
def test_what_has_no_effect_is_noted():
    found = parse_definitions(
        "group: G\nprofile:\n- {name: PAYPROF, printercomp: 'YES'}\nmapset:\n- name: F1\ntransaction:\n"
        "- {name: PAYP, program: PAYPROG, trprof: 100}\n"
    )
    assert [(note.line, note.resource, note.attribute) for note in found.notes] == [
        (3, "PROFILE(PAYPROF)", ""), (5, "MAPSET(F1)", ""), (7, "TRANSACTION(PAYP)", "trprof"),
    ]  # fmt: skip
    assert len(found.resources) == 1
    assert found.transactions[0].without_effect == {"trprof": "100"}


@pytest.mark.rule("DEF-GROUP-FIRST")
def test_the_notes_about_further_definitions_of_a_name_give_the_group_that_is_used():
    queue = "  tdqueue: [{name: PAYQ, type: INTRA}]\n"
    found = parse_definitions("groups:\n" + "".join(f"- group: {group}\n{queue}" for group in ("ONE", "TWO", "TRI")))
    other = parse_definitions("group: TWO\ntdqueue: [{name: PAYQ, type: EXTRA}]\nprogram: [{name: PAYQ}]\n")
    assert [(each.title, each.group) for each in (found + other).resources] == [
        ("TDQUEUE(PAYQ)", "ONE"), ("PROGRAM(PAYQ)", "TWO"),
    ]  # fmt: skip
    assert (found + other).place_of("TDQUEUE(PAYQ)") == ("<text>", 3)
    assert len(Definitions.of([each.resource for each in found.entries]).entries) == 3
    assert [(note.line, note.message) for note in found.notes] == [
        (5, "is not used: group ONE has it (<text>:3)"), (7, "is not used: group ONE has it (<text>:3)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: b: c", 1, "is not valid YAML"),
        ("group: G\n\ttdqueue: []", 2, "is not valid YAML"),
        ("group: \x07", 1, "is not valid YAML: control characters are not allowed: X'07' at column 8"),
        ("group: G\ntdqueue:\n- {name: A\x01}", 3, "control characters are not allowed: X'01' at column 11"),
        ("group: G\ngroup: H", 2, "is given twice, first in line 1"),
        ("group: G\n---\ngroup: H", 2, "one document"),
        ("group: G\ntdqueue:\n- {name: *x}", 3, "must be put in quotes"),
        ("a: &a [x]\nb: *a", 2, "aliases"),
        ("group: !!python/object:os.system x", 1, "tags"),
        ("group: !x {}", 1, "tags"),
        ("[" * 1000, 1, "levels deep"),
        ("{a: " * 1000, 1, "levels deep"),
        ("? [a]\n: b", 1, "must be text"),
        ("- group: G", 1, "must be a mapping"),
        ("group: G\nTDQUEUE: []", 2, "is not known here; did you mean tdqueue?"),
        ("group: G\ntransactions: []", 2, "is not known here; did you mean transaction?"),
        ("group: G\nsizes: []", 2, "is not known here; allowed are group, groups"),
        ("group: G\ntdqueue: {name: X}", 2, "must be a list"),
        ("group: G\ntdqueue: [X]", 2, "must be a mapping of attributes"),
        ("group: G\ntdqueue:\n- name: X\n  type: [INTRA]", 4, "must be text, not a list"),
        ("group: G\ntdqueue:\n- name: X\n  type: INTRA\n  transid: {a: b}", 5, "must be text"),
        ("group: G\ntdqueue:\n- name: X\n  type: INTRA\n  group: H", 5, "written once"),
        ("groups: []\ntdqueue: []", 2, "beside groups"),
        ("groups: [x]", 1, "a group must be a mapping"),
        ("tdqueue:\n- {name: X, type: INTRA}", 1, "needs a group"),
        (f"group: {'x' * 40000}", 1, "characters"),
        ("group: '\ud800'", 1, "not text"),
    ],
)
def test_what_is_no_definition_file(text, line, message):
    found = problems(text)
    assert (found[0].line, message in found[0].message) == (line, True), found


def test_a_value_that_is_no_text_is_told_once_and_not_called_missing():
    text = "group: G\ntdqueue:\n- {name: [A], type: INTRA}\n- {name: B, type: {a: b}}\ndtaq:\n- {dtaq: L/Q, maxlen: {a: 1}}"
    assert [(each.line, each.attribute, each.message) for each in problems(text)] == [
        (3, "name", "must be text, not a list"),
        (4, "type", "must be text, not a mapping"),
        (6, "maxlen", "must be text, not a mapping"),
    ]


def test_problems_are_limited():
    text = "group: G\ntdqueue:\n" + "- {name: toolong, type: INTRA}\n" * 1500
    assert len(problems(text)) == 1000


def test_loading_files_and_folders(tmp_path):
    (tmp_path / "b.yaml").write_text("group: B\ntdqueue:\n- {name: QB, type: INTRA}\n")
    (tmp_path / "a.yml").write_text("\ufeffgroup: A\r\ntdqueue:\r\n- {name: QA, type: INTRA}\r\n", "utf-8")
    (tmp_path / "readme.txt").write_text("not this")
    assert [queue.name for queue in load_definitions(tmp_path).tdqueues] == ["QA", "QB"]
    assert [queue.name for queue in load_definitions(tmp_path / "b.yaml").tdqueues] == ["QB"]


def test_a_region_directory_is_not_loaded_as_definitions(tmp_path):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\n")
    with pytest.raises(DefinitionError, match=r"is a region directory.*Region\.from_directory.*tdq_definitions"):
        load_definitions(tmp_path)
    (tmp_path / "region.yaml").write_text("group: G\ntdqueue:\n- {name: QA, type: INTRA}\n")  # definitions by that name
    assert [queue.name for queue in load_definitions(tmp_path).tdqueues] == ["QA"]


def test_a_folder_without_definitions(tmp_path):
    with pytest.raises(DefinitionError, match="it holds no"):
        load_definitions(tmp_path)
    with pytest.raises(DefinitionError, match="cannot be read: File name too long"):
        load_definitions("x" * 300)


def test_definitions_can_be_members_of_sets():
    assert len({*parse_definitions(GROUP).resources, *parse_definitions(GROUP).resources}) == 5


def test_all_files_are_read_before_the_error(tmp_path):
    (tmp_path / "a.yaml").write_text("group: toolongname\n")
    (tmp_path / "b.yaml").write_bytes(b"group: A\n# \xff\n")
    with pytest.raises(DefinitionError) as caught:
        load_definitions(tmp_path / "a.yaml", tmp_path / "b.yaml", tmp_path / "c.yaml")
    assert [(problem.file.rpartition("/")[2], problem.line) for problem in caught.value.problems] == [
        ("a.yaml", 1), ("b.yaml", 2), ("c.yaml", 0),
    ]  # fmt: skip
    assert "is not UTF-8 text (byte X'FF')" in caught.value.problems[1].message
    assert "cannot be read" in caught.value.problems[2].message


def test_supplied_queues():
    found = supplied_definitions()
    assert {queue.name for queue in found.tdqueues} == set(SUPPLIED_QUEUES)
    queues = {queue.name: queue for queue in found.tdqueues}
    assert (queues["CSMT"].type, queues["CSMT"].indirectname) == ("INDIRECT", "CSSL")
    assert (queues["CSSL"].type, queues["CSSL"].dd, queues["CSSL"].typefile) == ("EXTRA", "MSGUSR", "OUTPUT")
    assert queues["CSZX"].triggerlevel == 1
    assert found.groups == ("DFHDCTG",)


def test_definitions_add_up():
    assert Definitions() + parse_definitions(GROUP) == parse_definitions(GROUP)


@pytest.mark.rule("DEF-TRAN-WAITTIME")
def test_waittime_needs_wait():
    expect_rule("DEF-TRAN-WAITTIME", define_transaction, name="PAYP", wait="NO", waittime="0,0,1")


@pytest.mark.rule("DEF-TRAN-WAITTIME-RANGE")
@pytest.mark.parametrize("value", ["94,0,0", "0,24,0", "0,0,60", "5", "0,0", "a,b,c", "0,0,0,0", 5])
def test_bad_waittime(value):
    expect_rule("DEF-TRAN-WAITTIME-RANGE", define_transaction, name="PAYP", waittime=value)


@pytest.mark.parametrize(
    ("value", "seconds"), [("00,00,00", None), ("0,0,1", 60), ("1,1,1", 90060), ("93,23,59", 8121540)]
)
def test_waittime(value, seconds):
    assert define_transaction(name="PAYP", waittime=value).waittime_seconds == seconds


@pytest.mark.rule("DEF-TRAN-RUNAWAY")
@pytest.mark.parametrize("value", ["NO", "499", 2_700_001, -1, True, "5s"])
def test_bad_runaway(value):
    expect_rule("DEF-TRAN-RUNAWAY", define_transaction, name="PAYP", runaway=value)


@pytest.mark.parametrize(
    ("value", "milliseconds"), [("system", None), (0, 0), ("500", 500), (2_700_000, 2_700_000), ("0005000", 5000)]
)
def test_runaway(value, milliseconds):
    definition = define_transaction(name="PAYP", runaway=value)
    assert definition.runaway_ms == milliseconds
    assert definition.runaway == ("SYSTEM" if milliseconds is None else str(milliseconds))


@pytest.mark.rule("DEF-TRAN-DTIMOUT")
@pytest.mark.parametrize("value", ["0", "0060", "6801", "MAYBE", "12345", "-1", True])
def test_bad_dtimout(value):
    expect_rule("DEF-TRAN-DTIMOUT", define_transaction, name="PAYP", dtimout=value)


@pytest.mark.parametrize(
    ("value", "seconds"), [("NO", None), ("no", None), ("5", 5), (130, 90), ("0130", 90), ("6800", 4080)]
)
def test_dtimout(value, seconds):
    assert define_transaction(name="PAYP", dtimout=value).dtimout_seconds == seconds


@pytest.mark.rule("DEF-TRAN-HANDLER")
@pytest.mark.parametrize("value", ["payments", "payments:", ":post", "a b:c", "a:b()", "1a:b", "a;b:c"])
def test_bad_handlers(value):
    expect_rule("DEF-TRAN-HANDLER", define_transaction, name="PAYP", handler=value)


def test_other_kinds_have_their_defaults():
    transaction = define_transaction(name="PAYP")
    assert (transaction.status, transaction.wait, transaction.action, transaction.restart) == (
        "ENABLED",
        "YES",
        "BACKOUT",
        "NO",
    )
    assert (transaction.ressec, transaction.cmdsec, transaction.priority) == ("YES", "YES", 1)
    assert define_terminal(name="T001").inservice == "YES"
    connection = define_connection(name="CIC2")
    assert (connection.applid, connection.inservice, connection.attachsec) == ("CIC2", "YES", "LOCAL")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            "payments.yaml",
            "definitions 'payments.yaml': this is a name; allowed are a list of results of define_tdqueue",
        ),
        (Path("payments.yaml"), "load_definitions('payments.yaml')"),
        (["payments.yaml"], "definitions 'payments.yaml': this is a name"),
        ([{"name": "PAYQ"}], "definitions: got dict; allowed are"),
        ({"name": "PAYQ"}, "definitions: got dict"),
        (5, "definitions: got int; allowed are a list"),
        (None, "definitions: got NoneType; allowed are a list"),
        (define_tdqueue(name="PAYQ", type="INTRA"), "got IntraQueue; allowed are a list"),
        ([None], "got NoneType"),
    ],
)
def test_what_is_no_definition_is_refused_with_what_is_allowed(given: Any, text: str) -> None:
    for use in (Definitions.of, Region):
        with pytest.raises(TypeError) as refused:
            use(given)
        assert text in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "group: A\ntdqueue:\n  - name: A\n    type: INTRA\n   x: 1\n",
            "did not find expected '-' indicator at column 4",
        ),
        ('group: A\ntdqueue:\n  - name: "A\n', "found unexpected end of stream at column 1; it began in line 3"),
        ("a: b: c", "mapping values are not allowed in this context at column 5"),
    ],
)
def test_invalid_yaml_is_told_with_its_column(text: str, message: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_definitions(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("value", ["ABCD", "7", "75O0", "07500"])
def test_changeagrel_is_a_number_of_four_digits(value: str) -> None:
    with pytest.raises(DefinitionError, match=rf"changeagrel = '{value}': must be 1 to 4 characters \(4 digits\)"):
        parse_definitions(f"group: A\ntdqueue:\n- {{name: A, type: INTRA, changeagrel: '{value}'}}\n")


def test_an_empty_file_among_others_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("group: G\ntdqueue: [{name: PAYQ, type: INTRA}]\n")
    (tmp_path / "b.yaml").write_text("# nothing yet\n\n")
    with pytest.raises(DefinitionError, match=r"b\.yaml: defines nothing; it needs a section such as tdqueue"):
        load_definitions(tmp_path)
