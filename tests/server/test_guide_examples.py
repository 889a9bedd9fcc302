"""The examples of the guide in other languages, run against a server, and the fixture that starts one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra [serve] is not installed")

from tdqsim import define_tdqueue
from tdqsim.client import Client

GUIDE = Path(__file__).resolve().parents[2] / "src" / "tdqsim" / "guide" / "api.md"


@pytest.fixture
def pay_region(tmp_path):
    (tmp_path / "region.yaml").write_text("applid: PAYREGN\ndefinitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    return tmp_path


@pytest.mark.parametrize("command", [["bash", "pay.sh"], ["node", "pay.mjs"], ["java", "Pay.java"]], ids=lambda c: c[0])
def test_an_example_writes_and_reads(command, pay_region, tmp_path):
    from tdqsim.client.served_process import serving

    if shutil.which(command[0]) is None or (command[0] == "bash" and shutil.which("curl") is None):
        pytest.skip(f"there is no {command[0]} here, or no curl")
    block = re.search(rf"^```\w+ file={command[1]}\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    (tmp_path / command[1]).write_text(block[1], "utf-8")
    with serving([pay_region], tmp_path) as server:
        environment = {**os.environ, "TDQ_URL": server.url, "TDQ_TOKEN": server.token}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert "10.00" in done.stdout.splitlines()[-1]
        assert server.region.peek("PAYQ") == []
        assert 'command="READQ TD",condition="NORMAL"' in metrics_of(server)


def metrics_of(server):
    from urllib.request import urlopen

    with urlopen(f"{server.url}/metrics") as answer:
        return answer.read().decode()


@pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA"))
def test_the_fixture_serves_the_markers_definitions(tdq_server):
    assert tdq_server.regions == ("TDQREGN",)
    assert tdq_server.pid != os.getpid()
    tdq_server.region.writeq_td("PAYQ", "one")
    with Client(tdq_server.url, tdq_server.token) as another:
        assert another.region("TDQREGN").execute("READQ TD QUEUE('PAYQ') INTO(R)")["received"]["INTO"]["text"] == "one"


def test_a_server_that_cannot_start_says_why(tmp_path):
    from tdqsim.client.served_process import serving
    from tdqsim.errors import TdqError

    with (
        pytest.raises(TdqError, match="nowhere: is not a directory to serve"),
        serving([tmp_path / "nowhere"], tmp_path),
    ):
        pass


def test_a_server_leaves_nothing_behind(pay_region, tmp_path):
    from tdqsim.client.served_process import serving

    with serving([pay_region], tmp_path) as server:
        assert (tmp_path / "ready.json").exists()
    assert not (tmp_path / "ready.json").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_the_client_and_the_fixture_load_nothing_of_the_server():
    import sys

    client = "from tdqsim.client import Client, RemoteRegion, RemoteSystem"
    code = f"import sys\n{client}\nprint([m for m in sys.modules if m in {{'pydantic', 'greenlet', 'lmdb', 'yaml'}}])\n"
    code += (
        "import tdqsim.client.served_process\nprint([m for m in sys.modules if 'tdqsim.server' in m or m == 'fastapi'])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "[]", ""]
