"""The policy file is checked strictly: each message names the place, the value and what is allowed."""

from __future__ import annotations

import pytest

from tdqsim import SecurityOptions
from tdqsim.cics import Access, RacfPolicy, Region
from tdqsim.cli import main
from tdqsim.definitions import load_policy_file, load_region_file
from tdqsim.errors import DefinitionError, TdqError
from tests.cics.security.helpers import HEAD, policy_file
from tests.rules import expect_rule, rule


def load(tmp_path, text):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    return load_policy_file(path)


@pytest.mark.parametrize(
    ("text", "line", "field", "words"),
    [
        ("users:\n  ANN:\nformat: 2\n", 3, "format", "is another version of the format; this tdqsim reads format 1"),
        ("usrs:\n  ANN:\n", 1, "usrs", "is not known in a policy file; did you mean users?"),
        ("users:\n  ANN: {pasword: x}\n", 2, "users.ANN.pasword", "did you mean password?"),
        ("users:\n  ANN: {password: ninechars}\n", 2, "users.ANN.password", "8"),
        ("users:\n  ANN: {phrase: eight ch}\n", 2, "users.ANN.phrase", "9 to 100"),
        ("users:\n  ANN: {changed: 2026-13-01}\n", 2, "users.ANN.changed", "must be a date such as 2026-01-31"),
        ("users:\n  ann:\n", 2, "users.ann", "must be 1 to 10 of A-Z 0-9"),
        ("passwords: {revok: 5}\n", 1, "passwords.revok", "did you mean revoke?"),
        ("passwords: {revoke: 255}\n", 1, "passwords.revoke", "from 0 to 254"),
        ("users:\n  ANN:\ngroups:\n  ANN: []\n", 4, "groups.ANN", "is the name of a user"),
        ("users:\n  ANN:\ngroups:\n  PAY: [AN]\n", 4, "groups.PAY", "is not a user; did you mean ANN?"),
        ("groups:\n  PAY: ANN\n", 2, "groups.PAY", "must be a list"),
        ("classes:\n  TCICSTRN:\n    PAY1: {uac: READ}\n", 3, "classes.TCICSTRN.PAY1.uac", "did you mean uacc?"),
        ("classes:\n  TCICSTRN:\n    PAY1: {uacc: WRITE}\n", 3, "classes.TCICSTRN.PAY1.uacc", "NONE, READ, UPDATE"),
        ("classes:\n  TCICSTRN:\n    'A,B':\n", 3, "classes.TCICSTRN.A,B", "without blanks , ; ( ) &"),
        ("users:\n  ANN: pw4ann\n", 2, "users.ANN", "must be a mapping"),
        ("classes:\n  TCICSTRN: PAY1\n", 2, "classes.TCICSTRN", "must be a mapping"),
        ("- users\n", 1, "", "must be a mapping"),
    ],
)
def test_errors_name_line_field_and_what_is_allowed(tmp_path, text, line, field, words):
    with pytest.raises(DefinitionError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.attribute) == (line, field)
    assert words in problem.message


@pytest.mark.rule("SEC-POLICY-CLASS")
def test_misspelt_classes_are_found_and_classes_of_the_installation_are_allowed(tmp_path):
    error = expect_rule("SEC-POLICY-CLASS", load, tmp_path, "classes:\n  TCICSTRM:\n    PAY1:\n")
    assert "TCICSTRN, ACICSPCT" in str(error)
    assert list(load(tmp_path, "classes:\n  $PAYROLL:\n    PAY1:\n").classes) == ["$PAYROLL"]
    longest = "A" * 246
    assert list(load(tmp_path, f"classes:\n  $PAYROLL:\n    {longest}:\n").classes["$PAYROLL"]) == [longest]


@pytest.mark.rule("SEC-POLICY-PROFILE")
@pytest.mark.parametrize("name", ["A*B", "A*B.C", "A*.B", "**.A.**", "A**"])
def test_profiles_with_generic_characters_where_racf_allows_none(tmp_path, name):
    expect_rule("SEC-POLICY-PROFILE", load, tmp_path, f"classes:\n  FCICSFCT:\n    '{name}':\n")


@pytest.mark.rule("SEC-POLICY-WHO")
def test_access_lists_name_users_and_groups_of_the_file(tmp_path):
    error = expect_rule(
        "SEC-POLICY-WHO", load, tmp_path, HEAD + "  FCICSFCT:\n    PAY1:\n      access:\n        PAYTEM: READ\n"
    )
    (problem,) = error.problems
    assert (problem.line, problem.attribute, problem.value) == (14, "classes.FCICSFCT.PAY1.access", "PAYTEM")
    assert "did you mean PAYTEAM?" in problem.message


def test_a_region_takes_a_policy_file_from_its_directory_and_its_argument(tmp_path):
    policy_file(tmp_path, "FCICSFCT:\n  PAY1: {access: {ANN: CONTROL}}\n")
    (tmp_path / "region.yaml").write_text("policy: policy.yaml\n")
    assert load_region_file(tmp_path).policy == str(tmp_path / "policy.yaml")
    for reg in (Region.from_directory(tmp_path), Region([], security=str(tmp_path / "policy.yaml"))):
        with reg:
            assert isinstance(reg.security, RacfPolicy)
            levels = [level.name for level in Access if reg.security.permits("ANN", "FCICSFCT", "PAY1", level)]
            assert levels == ["NONE", "READ", "UPDATE", "CONTROL"]
            assert reg.security.access("BOB", "FCICSFCT", "PAY1") is Access.NONE
            assert reg.security.access("BOB", "FCICSFCT", "PAY2") is None


def test_tdq_check_reads_the_policy_file(tmp_path, capsys):
    policy_file(tmp_path, "FCICSFCT:\n  PAY1: {access: {NOBODY: READ}}\n")
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    (tmp_path / "region.yaml").write_text("definitions: [pay.yaml]\npolicy: policy.yaml\n")
    assert main(["check", str(tmp_path)]) != 0
    assert "policy.yaml:12" in capsys.readouterr().err
    policy_file(tmp_path, "FCICSFCT:\n  PAY1: {access: {ANN: READ}}\n")
    assert main(["check", str(tmp_path)]) == 0


def test_a_region_file_has_lists_or_a_policy_file(tmp_path):
    (tmp_path / "region.yaml").write_text("policy: policy.yaml\nsecurity: {users: [ANN]}\n")
    with pytest.raises(DefinitionError, match="excludes security"):
        load_region_file(tmp_path)


def test_a_policy_file_with_errors_starts_no_region(tmp_path):
    path = policy_file(tmp_path, "", head="users: {}\n")
    with pytest.raises(TdqError, match=rule("SEC-DFLTUSER").message):
        Region([], security=path)
    with pytest.raises(DefinitionError):
        Region([], security=tmp_path / "none.yaml")


def test_groups_of_a_server_are_added_to_those_of_the_file(tmp_path):
    path = policy_file(tmp_path, "FCICSFCT:\n  PAY1: {access: {PAYTEAM: READ}}\n")
    with Region([], security=SecurityOptions(policy=path, groups={"BOB": ["PAYTEAM"]})) as reg:
        assert reg.security.permits("BOB", "FCICSFCT", "PAY1", Access.READ)
        assert not reg.security.permits("CLERK", "FCICSFCT", "PAY1", Access.READ)


def test_a_policy_that_was_cut_to_nothing_is_refused(tmp_path):
    (tmp_path / "empty.yaml").write_text("# users and classes\n")
    with pytest.raises(DefinitionError, match="is empty, so that nothing would be checked; write classes:"):
        load_policy_file(tmp_path / "empty.yaml")
    (tmp_path / "empty.yaml").write_text("classes: {}\n")
    assert load_policy_file(tmp_path / "empty.yaml").classes == {}
