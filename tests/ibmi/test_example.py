from __future__ import annotations

from pathlib import Path

from tests import apart

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "request_reply.py"


def test_request_and_reply():
    done = apart.run(EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("PARIS = 5 characters (answered by ")
    assert lines[0].endswith("/SRVUSER/SERVER)")
    assert lines[1].startswith("LISBON = 6 characters")
    assert lines[2] == "requests served: 2"
    assert lines[3:5] == [
        "   0  Bytes returned                          120",
        "   4  Bytes available                         120",
    ]
