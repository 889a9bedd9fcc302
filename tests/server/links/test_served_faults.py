"""Two ``tdq serve`` processes, one of which is killed, or whose link is cut, at every message: nothing is torn."""

from __future__ import annotations

import signal

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import RemoteError
from tdqsim.errors import TdqError
from tests.server.links.test_served import both, certificate, eventually, records, same, sides  # noqa: F401  (a fixture)

_UNITS = 3
_NAMES = {"ISC": {"near": "NEARAPPL", "far": "FARAPPL"}, "DDM": {"near": "SYSA", "far": "SYSB"}}


class Pair:
    """NEAR dials FAR, as the guide has them; one of the two meets a fault of its link, and is started again."""

    def __init__(self, sides, who: str, fault: str) -> None:  # noqa: F811  (the fixture's value)
        self.near, self.far = sides
        for name, one in (("far", self.far), ("near", self.near)):
            try:
                one.start(**({"TDQ_LINK_FAULT": fault} if name == who else {}))
            except AssertionError:  # killed before it says that it serves
                assert one.process.wait(timeout=300) == -signal.SIGKILL
        self.revive()

    def revive(self) -> None:
        for one in (self.far, self.near):
            if one.process.poll() is not None:
                if one.client is None:
                    one.process.stdout.close()
                else:
                    one.kill()
                one.start()

    def tried(self, act, *values):
        """What a step gives; None when nobody knows what became of it."""
        try:
            return act(*values)
        except (TdqError, OSError):
            return None
        finally:
            self.revive()


def shipped(pair: Pair) -> None:
    """Units of work over both regions."""
    outcomes = {b"%d" % number: pair.tried(both, pair.near, b"%d" % number) for number in range(_UNITS)}
    attempts = iter(range(10**6))
    last = eventually(
        lambda: pair.tried(lambda each: each if both(pair.near, each) else None, b"last %d" % next(attempts))
    )

    def quiet():
        return same(pair.near, pair.far) and all(
            one.client.region(name).units_of_work() == []
            for one, name in ((pair.near, "NEARAPPL"), (pair.far, "FARAPPL"))
        )

    eventually(lambda: pair.tried(quiet))
    kept = records(pair.near, "NEARAPPL", "OWNQ")
    assert len(set(kept)) == len(kept), outcomes
    assert last in kept
    for record, outcome in outcomes.items():
        assert outcome is None or (record in kept) is outcome, (record, outcomes, kept)


def remote_queue(pair: Pair) -> None:
    """Entries sent to and received from a queue of the other system."""
    client = {"far": lambda: pair.far.client, "near": lambda: pair.near.client}
    made = "CRTDTAQ DTAQ(QGPL/Q) MAXLEN(10) FORCE(*YES) AUT(*ALL)"
    client["far"]().request("POST", "/systems/SYSB/commands", {"text": made})
    ddm = "CRTDTAQ DTAQ(QGPL/D) TYPE(*DDM) RMTDTAQ(QGPL/Q) RMTLOCNAME(CHICAGO)"
    client["near"]().request("POST", "/systems/SYSA/commands", {"text": ddm})

    def receive():
        try:
            found = client["near"]().request("POST", "/systems/SYSA/queues/QGPL/D/receive", {})
        except RemoteError:
            return None
        return found["entry"]["data"] if found["entry"] else ""

    sent = {str(number): pair.tried(pair.near.send, "SYSA/queues/QGPL/D", str(number)) for number in range(_UNITS)}
    received = [pair.tried(receive) for _ in range(_UNITS)]
    attempts = iter(range(10**6))

    def once_more():
        word = f"last {next(attempts)}"
        return word if pair.near.send("SYSA/queues/QGPL/D", word) else None

    last = eventually(lambda: pair.tried(once_more))
    left = eventually(lambda: pair.tried(pair.far.entries, "SYSB/queues/QGPL/Q"))
    seen = [one for one in received if one] + left
    assert len(set(seen)) == len(seen), (sent, received, left)
    assert last in left
    assert set(seen) <= {*sent, *(f"last {number}" for number in range(next(attempts)))}
    missing = [one for one, outcome in sent.items() if outcome and one not in seen]
    assert len(missing) <= received.count(None), (sent, received, left)  # what a receive took, and could not bring


KINDS = {"ISC": shipped, "DDM": remote_queue}


def lives_through(sides, kind, who, fault):  # noqa: F811  (the fixture's value)
    KINDS[kind](Pair(sides, who, f"{_NAMES[kind][who]}:{fault}"))


@pytest.mark.parametrize(("kind", "who", "fault"), [("ISC", "near", "kill:in:3"), ("DDM", "far", "cut:out:2")])
def test_at_messages_that_matter(sides, kind, who, fault):  # noqa: F811  (the fixture's value)
    lives_through(sides, kind, who, fault)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("act", ["kill", "cut"])
@pytest.mark.parametrize("who", ["near", "far"])
@pytest.mark.parametrize("way", ["out", "in"])
@pytest.mark.parametrize("kind", ["ISC", "DDM"])
def test_at_every_message(sides, kind, who, act, way, number):  # noqa: F811  (the fixture's value)
    lives_through(sides, kind, who, f"{act}:{way}:{number}")


def test_a_fault_that_is_none_is_said(sides, monkeypatch):  # noqa: F811  (the fixture's value)
    from tdqsim.server.servefile import load_serve_file
    from tdqsim.server.serving import serve

    monkeypatch.setenv("TDQ_LINK_FAULT", "NEARAPPL:burn:out:3")
    with pytest.raises(TdqError, match=r"TDQ_LINK_FAULT 'NEARAPPL:burn:out:3': must be NAME:kill or cut"):
        serve(load_serve_file(sides[0].folder / "serve.yaml"))
