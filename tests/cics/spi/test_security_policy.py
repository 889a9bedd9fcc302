from __future__ import annotations

from tdqsim.cics import Access, AccessList, SecurityPolicy


def test_the_base_policy_allows_everything():
    policy = SecurityPolicy()
    assert policy.may_issue("BOB", "TDQUEUE", Access.ALTER)
    assert policy.may_access("BOB", "PAYQ", Access.ALTER)
    assert policy.may_act_for("BOB", "ALICE")
    assert policy.knows_user("NOBODY")


def test_levels_include_those_below_and_the_first_pattern_decides():
    policy = AccessList(queues={"BOB": {"PAY1": Access.ALTER, "PAY*": Access.UPDATE, "*": Access.READ}})
    levels = {
        name: [level for level in Access if policy.may_access("BOB", name, level)] for name in ("PAY1", "PAYQ", "X")
    }
    assert levels == {
        "PAY1": [Access.NONE, Access.READ, Access.UPDATE, Access.CONTROL, Access.ALTER],
        "PAYQ": [Access.NONE, Access.READ, Access.UPDATE],
        "X": [Access.NONE, Access.READ],
    }
    assert not policy.may_access("EVE", "PAYQ", Access.READ)


def test_what_no_list_speaks_of_is_allowed():
    policy = AccessList(queues={})
    assert policy.may_issue("EVE", "TDQUEUE", Access.ALTER)
    assert policy.may_act_for("EVE", "BOB")
    assert not policy.may_access("EVE", "PAYQ", Access.READ)


def test_commands_surrogates_and_users_by_list():
    policy = AccessList(commands={"BOB": {"TDQUEUE": Access.READ}}, surrogates={"BOB": ["ATI"]}, users=["BOB", "ATI"])
    assert policy.may_issue("BOB", "TDQUEUE", Access.READ)
    assert not policy.may_issue("BOB", "TDQUEUE", Access.UPDATE)
    assert [policy.may_act_for("BOB", other) for other in ("BOB", "ATI", "EVE")] == [True, True, False]
    assert [policy.knows_user(user) for user in ("ATI", "EVE")] == [True, False]
