"""Result sets that NODISCARD retains, and their pages."""

from __future__ import annotations

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.server.cmci.cache import ResultCache
from tdqsim.server.host import Host
from tdqsim.server.servefile import Cmci as Settings
from tdqsim.server.users import Role, User, Users
from tests.server.cmci.conftest import Cmci, secret, served

INTRA = "CICSIntrapartitionTDQueue/SIMREG1"


@pytest.fixture
def many():
    """Ten thousand queues Q000 to 9999 in base 36 are too slow for a fixture; ten are enough for pages."""
    host = Host(frozen=True)
    host.add(
        Region,
        [define_tdqueue(name=f"Q{n}", type="INTRA") for n in range(10)],
        applid="SIMREG1",
        supplied_queues=False,
    )
    yield host
    host.stop()


def kept(cmci, more="", **options):
    return cmci.ask(f"{INTRA}?SUMMONLY&NODISCARD&OVERRIDEWARNINGCOUNT{more}", **options).summary


def test_pages_as_zowe_explorer_reads_them(many):
    with served(many) as client:
        cmci = Cmci(client)
        summary = kept(cmci)
        token = summary["cachetoken"]
        assert (summary["recordcount"], len(token)) == ("10", 16)
        page = cmci.ask(f"CICSResultCache/{token}/1/4?NODISCARD")
        assert (page.names, page.summary["recordcount"], page.summary["displayed_recordcount"]) == (
            ["Q0", "Q1", "Q2", "Q3"], "10", "4"
        )  # fmt: skip
        assert cmci.ask(f"CICSResultCache/{token}/9/4?NODISCARD").names == ["Q8", "Q9"]
        assert cmci.ask(f"CICSResultCache/{token}/10/4?NODISCARD").names == ["Q9"]
        assert cmci.ask(f"CICSResultCache/{token.lower()}/8?ORDERBY=TDQUEUE/D&NODISCARD").names == ["Q2", "Q1", "Q0"]
        assert cmci.ask(f"CICSResultCache/{token}/11?NODISCARD").message == "DFHWU4008"
        assert cmci.ask(f"CICSResultCache/{token}?SUMMONLY").summary["recordcount"] == "10"
        assert (cmci.ask(f"CICSResultCache/{token}").status, cmci.ask(f"CICSResultCache/{token}").message) == (
            404, "DFHWU4042"
        )  # fmt: skip


def test_a_set_shows_what_was_then_and_ends_unused_after_15_minutes(many):
    with served(many) as client:
        cmci = Cmci(client)
        token = kept(cmci)["cachetoken"]
        cmci.ask(f"{INTRA}?CRITERIA=(TDQUEUE=Q0)", "PUT", '<request><action name="DISABLE"/></request>')
        advance = many.engine.dispatcher.clock.advance
        for _ in range(2):
            many.engine.outside(lambda: advance(899)).result()
            assert cmci.ask(f"CICSResultCache/{token}/1/1?NODISCARD").records[0]["enablestatus"] == "ENABLED"
        many.engine.outside(lambda: advance(900)).result()
        assert cmci.ask(f"CICSResultCache/{token}?NODISCARD").message == "DFHWU4042"


def test_a_user_has_twenty_sets_and_sees_no_others(many):
    users = Users(User(name, frozenset({Role.look}), password=secret()) for name in ("ANNA", "BERT"))
    with served(many, users) as client:
        cmci = Cmci(client)
        client.get("/CICSSystemManagement/CICSTask/SIMREG1", auth=("ANNA", "Secret1pw"))
        tokens = [kept(cmci, auth=None)["cachetoken"] for _ in range(20)]  # by the cookie
        cmci.ask(f"CICSResultCache/{tokens[0]}?SUMMONLY&NODISCARD", auth=None)
        tokens.append(kept(cmci, auth=None)["cachetoken"])  # ends the one that was used least recently
        found = [cmci.ask(f"CICSResultCache/{each}?SUMMONLY&NODISCARD", auth=None).status for each in tokens]
        assert found == [200, 404] + [200] * 19
        client.cookies.clear()
        other = cmci.ask(f"CICSResultCache/{tokens[-1]}?NODISCARD", auth=("BERT", "Secret1pw"))
        assert (other.status, other.message) == (404, "DFHWU4042")


def test_of_more_records_than_are_retained_the_sets_of_long_ago_end_whoever_has_them():
    cache = ResultCache(lambda: 0)
    first = cache.keep("ANNA", None, (None,) * 150_000, "0300")
    second = cache.keep("BERT", None, (None,) * 50_000, "0300")
    assert cache.find("ANNA", first) is not None
    third = cache.keep("BERT", None, (None,), "0300")  # BERT's second set was used least recently
    assert (cache.find("BERT", second), len(cache)) == (None, 2)
    whole = cache.keep("CARL", None, (None,) * 200_001, "0300")  # too many, but all that there is
    assert (cache.find("ANNA", first), cache.find("BERT", third), len(cache)) == (None, None, 1)
    assert len(cache.find("CARL", whole).records) == 200_001


def test_the_sets_of_one_user_and_the_end_of_one_set_leave_those_of_others():
    cache = ResultCache(lambda: 0)
    other = cache.keep("BERT", None, (), "0300")
    tokens = [cache.keep("ANNA", None, (), "0300") for _ in range(21)]
    assert cache.find("BERT", other) is not None
    assert [cache.find("ANNA", each) is not None for each in tokens] == [False] + [True] * 20
    cache.end(tokens[1])
    assert [cache.find("ANNA", each) is not None for each in tokens] == [False] * 2 + [True] * 19


def test_a_warning_count_needs_the_option_to_override_it(many):
    with served(many, cmci=Settings(warning_count=9)) as client:
        cmci = Cmci(client)
        refused = cmci.ask(INTRA)
        assert (refused.status, refused.message, refused.records) == (403, "DFHWU4033", [])
        assert len(cmci.ask(f"{INTRA}?OVERRIDEWARNINGCOUNT").records) == 10
        assert len(cmci.ask(f"{INTRA}?CRITERIA=(TDQUEUE>Q0)").records) == 9


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("CICSResultCache", "DFHWU4005"), ("CICSResultCache/", "DFHWU4005"), ("CICSResultCache/0123", "DFHWU4042"),
        ("CICSResultCache/0123/0", "DFHWU4008"), ("CICSResultCache/0123/-1", "DFHWU4008"),
        ("CICSResultCache/0123/x", "DFHWU4008"), ("CICSResultCache/0123/1/0", "DFHWU4009"),
        ("CICSResultCache/0123/1/1/1", "DFHWU4029"), ("CICSResultCache/0123?CRITERIA=(A=1)", "DFHWU4003"),
    ],
)  # fmt: skip
def test_pages_that_are_not_there(cmci, path, message):
    assert cmci.ask(path).message == message
