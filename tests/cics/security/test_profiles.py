"""Which profile protects a resource, and which of its entries decides."""

from __future__ import annotations

import pytest

from tdqsim.cics import Access, RacfPolicy
from tdqsim.definitions import load_policy_file
from tests.cics.security.helpers import ksds, policy_file, region
from tests.rules import expect_rule, rule


def policy(tmp_path, *names):
    """A policy in which BOB has READ by all of these profiles."""
    lines = "".join(f"  '{name}': {{access: {{BOB: READ}}}}\n" for name in names)
    return RacfPolicy(load_policy_file(policy_file(tmp_path, f"$OWN:\n{lines}")))


def is_readable(given, name):
    return given.permits("BOB", "$OWN", name, Access.READ)


@pytest.mark.rule("RACF-PERCENT", "RACF-STAR-END", "RACF-STAR-QUALIFIER", "RACF-STAR-STAR")
@pytest.mark.parametrize(
    ("profile", "matching", "others"),
    [
        ("PAY%", "PAY1 PAYX", "PAY PAY12 APAY"),
        ("P%Y", "PAY", "PY PAAY"),
        ("PAY*", "PAY PAY1 PAY12 PAY.X.Y", "PA APAY"),
        ("PAY.*", "PAY.X PAY.X.Y", "PAY PAYX"),
        ("*.PAY", "A.PAY", "PAY A.B.PAY"),
        ("A.*.C", "A.B.C", "A.C A.B.B.C"),
        ("A.**", "A A.B A.B.C", "AB B.A"),
        ("**.C", "C B.C A.B.C", "CC C.D"),
        ("A.**.C", "A.C A.B.C A.B.B.C", "AC A.B"),
        ("*", "X X.Y", ""),
        ("**", "X X.Y", ""),
        ("A+B", "A+B", "AAB"),
    ],
)
def test_what_a_generic_profile_matches(tmp_path, profile, matching, others):
    given = policy(tmp_path, profile)
    assert [name for name in matching.split() if not is_readable(given, name)] == []
    assert [name for name in others.split() if is_readable(given, name)] == []


@pytest.mark.rule("RACF-PERCENT", "RACF-STAR-END", "RACF-STAR-QUALIFIER", "RACF-STAR-STAR")
@pytest.mark.parametrize(
    ("rule_id", "profile", "name"),
    [
        ("RACF-PERCENT", "PAY%", "PAY12"),
        ("RACF-STAR-END", "PAY*", "PAY.X.Y"),
        ("RACF-STAR-QUALIFIER", "A.*.C", "A.B.B.C"),
        ("RACF-STAR-STAR", "A.**.C", "A.B.B.C"),
    ],
)
def test_the_rules_of_generic_characters(tmp_path, rule_id, profile, name):
    found = "READABLE" if is_readable(policy(tmp_path, profile), name) else "NOTREADABLE"
    assert found == rule(rule_id).message


@pytest.mark.rule("RACF-SPECIFIC", "RACF-DISCRETE")
@pytest.mark.parametrize(
    "order", [["PAY1", "PAY%", "PA%1", "PAY*", "P*", "**"], ["**", "P*", "PAY*", "PA%1", "PAY%", "PAY1"]]
)
def test_the_most_specific_profile_decides_wherever_it_stands(tmp_path, order):
    """Each profile gives READ to nobody but the user whose turn it is; the others would give everything."""
    best = ["PAY1", "PAY%", "PAY*", "PA%1", "P*", "**"]
    for at, profile in enumerate(best):
        kept = [name for name in order if name in best[at:]]
        classes = "FCICSFCT:\n" + "".join(
            f"  '{name}': {{uacc: {'NONE' if name == profile else 'ALTER'}}}\n" for name in kept
        )
        with region(tmp_path, classes) as reg:
            reg.files.define("PAY1", ksds())
            row = "RACF-DISCRETE" if profile == "PAY1" else "RACF-SPECIFIC"
            with reg.task() as task:
                expect_rule(row, task.write_file, "PAY1", b"01x", b"01")


@pytest.mark.rule("RACF-UACC", "RACF-NO-PROFILE", "RACF-INACTIVE")
def test_uacc_no_profile_and_a_class_without_profiles(tmp_path):
    classes = """\
    FCICSFCT:
      PAY1: {uacc: READ, access: {BOB: NONE, PAYTEAM: UPDATE, READERS: READ}}
      PAY3: {uacc: UPDATE, access: {READERS: READ}}
    MCICSPPT:
    """
    with region(tmp_path, classes) as reg:
        for name in ("PAY1", "PAY2"):
            reg.files.define(name, ksds(b"01one"))
        reg.programs.register("PROG", lambda _task: "ran")
        with reg.task(userid="CLERK") as task:
            assert expect_rule("RACF-UACC", task.read_file, "PAY1", b"01").data == b"01one"
            expect_rule("RACF-NO-PROFILE", task.read_file, "PAY2", b"01")
            assert expect_rule("RACF-INACTIVE", task.link, "PROG") == "ran"
        assert [reg.security.access(user, "FCICSFCT", "PAY1").name for user in ("BOB", "ANN", "CLERK")] == [
            "NONE",  # his own entry, although his group has READ
            "UPDATE",  # the highest of her groups
            "READ",  # UACC
        ]
        assert reg.security.access("BOB", "FCICSFCT", "PAY3").name == "READ"  # an entry of a group is before UACC
