"""``links:`` of ``serve.yaml``: two ``tdq serve`` processes as the guide has them, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client import Client, RemoteError
from tdqsim.definitions.yamltext import MapNode, read_yaml
from tdqsim.errors import DefinitionError, TdqError
from tdqsim.server.linkfile import dialled
from tdqsim.server.schema import serve_json_schema
from tdqsim.server.servefile import load_serve_file
from tdqsim.server.serving import serve
from tests.ports import free_ports

GUIDE = Path(__file__).resolve().parents[3] / "src" / "tdqsim" / "guide" / "hostservers.md"
COMMAND = "import sys; from tdqsim.cli import main; sys.exit(main())"


def example(name):
    """The ``serve.yaml`` of one side in the guide."""
    found = re.search(rf"^```yaml file={name}\.yaml\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def certificate(authority, folder, name):
    made = authority.issue(name)
    (folder / f"{name.lower()}.pem").write_bytes(made.certificate.read_bytes())
    (folder / f"{name.lower()}.key").write_bytes(made.key.read_bytes())
    (folder / f"{name.lower()}.key").chmod(0o600)
    (folder / "authority.pem").write_bytes(made.authority.read_bytes())


class Served:
    """A side: its directory, and ``tdq serve`` of it, which can be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.process = self.client = None

    def start(self, **environment):
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "serve", "serve.yaml", "--ready-file", "ready.json"],
                cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, **environment},
            )  # fmt: skip
        assert any(line.startswith("Serving") for line in self.process.stdout), (self.folder / "log").read_text()
        self.ready = json.loads((self.folder / "ready.json").read_text())
        self.client = Client(self.ready["url"], self.ready["token"])

    def kill(self):
        self.process.kill()
        self._over()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self._over()

    def _over(self):
        code = self.process.wait(timeout=300)
        self.client.close()
        self.process.stdout.close()
        self.process = None
        return code

    def send(self, queue, data):
        with suppress(RemoteError):
            self.client.request("POST", f"/systems/{queue}/entries", {"data": {"text": data}})
            return True
        return False

    def entries(self, queue):
        found = self.client.request("GET", f"/systems/{queue}/entries")["entries"]
        return [each["data"] for each in found]


@pytest.fixture
def sides(tmp_path, authority):
    """The two sides of the guide, with ports that are free here."""
    ports = dict(zip(("8489", "8490"), map(str, free_ports(2)), strict=True))
    made = []
    for side, names in (("near", ("NEARAPPL", "SYSA")), ("far", ("FARAPPL", "SYSB"))):
        folder = tmp_path / side
        for part in ("region", "system"):
            (folder / part).mkdir(parents=True)
        for name in names:
            certificate(authority, folder, name)
        text = example(side)
        for said, port in ports.items():
            text = text.replace(said, port)
        (folder / "serve.yaml").write_text(text.replace("10.0.0.2", "127.0.0.1"))
        (folder / "region" / "region.yaml").write_text(
            f"applid: {names[0]}\nsysid: {side.upper()}\ndefinitions: [q.yaml]\n"
        )
        (folder / "system" / "system.yaml").write_text(f"name: {names[1]}\n")
        made.append(Served(folder))
    queues = [
        "- {name: OWNQ, type: INTRA, recovstatus: LOGICAL}\n- {name: FARQ, remotesystem: FAR, remotename: FARQ}\n",
        "- {name: FARQ, type: INTRA, recovstatus: LOGICAL}\n",
    ]
    for one, text in zip(made, queues, strict=True):
        (one.folder / "region" / "q.yaml").write_text("group: G\ntdqueue:\n" + text)
    yield made
    for one in made:
        if one.process is not None:
            one.kill()


def eventually(look):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)  # two processes with real clocks
    raise AssertionError("it never came")


def both(near, record, between=lambda: None):
    """A unit of work that writes here and there; whether it was committed, None for not known."""
    try:
        unit = near.client.region("NEARAPPL").unit_of_work()
        unit.execute("WRITEQ TD QUEUE('OWNQ') FROM(R)", {"R": record})
        unit.execute("WRITEQ TD QUEUE('FARQ') FROM(R)", {"R": record})
        between()
        unit.syncpoint()
    except RemoteError:
        with suppress(RemoteError):
            unit.syncpoint_rollback()
        return False
    except (TdqError, OSError):
        return None
    return True


def records(one, applid, queue):
    return one.client.region(applid).peek(queue)


def same(near, far):
    return records(near, "NEARAPPL", "OWNQ") == records(far, "FARAPPL", "FARQ")


def test_function_shipping_and_ddm_between_two_served_processes(sides):
    near, far = sides
    far.start()
    near.start()
    assert set(far.ready["ports"]["links"]) == {"FARAPPL", "SYSB"}
    assert "links" not in near.ready["ports"]
    made = "CRTDTAQ DTAQ(QGPL/Q) MAXLEN(10) FORCE(*YES) AUT(*ALL)"  # forced: entries outlive the process
    far.client.request("POST", "/systems/SYSB/commands", {"text": made})
    ddm = "CRTDTAQ DTAQ(QGPL/D) TYPE(*DDM) RMTDTAQ(QGPL/Q) RMTLOCNAME(CHICAGO)"
    near.client.request("POST", "/systems/SYSA/commands", {"text": ddm})
    eventually(lambda: near.send("SYSA/queues/QGPL/D", "first"))
    eventually(lambda: both(near, b"first"))
    assert same(near, far)

    assert both(near, b"killed", between=far.kill) is False  # both have written, nobody has committed
    assert both(near, b"alone") is False
    assert not near.send("SYSA/queues/QGPL/D", "alone")
    far.start()
    eventually(lambda: near.send("SYSA/queues/QGPL/D", "again"))
    eventually(lambda: both(near, b"again"))
    eventually(lambda: same(near, far))
    assert records(near, "NEARAPPL", "OWNQ") == [b"first", b"again"]
    assert far.entries("SYSB/queues/QGPL/Q") == ["first", "again"]

    assert both(near, b"killed too", between=near.kill) is None
    near.start()
    eventually(lambda: both(near, b"third"))
    eventually(lambda: same(near, far))
    assert records(far, "FARAPPL", "FARQ") == [b"first", b"again", b"third"]
    assert near.client.region("NEARAPPL").units_of_work() == far.client.region("FARAPPL").units_of_work() == []
    assert near.send("SYSA/queues/QGPL/D", "third")
    assert far.entries("SYSB/queues/QGPL/Q") == ["first", "again", "third"]

    unit = near.client.region("NEARAPPL").unit_of_work()  # left open by its client
    unit.execute("WRITEQ TD QUEUE('FARQ') FROM(R)", {"R": b"open"})
    assert near.end() == 0
    eventually(lambda: far.client.region("FARAPPL").units_of_work() == [])
    assert records(far, "FARAPPL", "FARQ") == [b"first", b"again", b"third"]
    assert far.end() == 0


HEAD = "directories: [region]\nlinks:\n- name: NEARAPPL\n  certificate: c.pem\n  key: c.key\n  authority: a.pem\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "NEARAPPL: give regions or systems"),
        ("  regions: [{sysid: FAR, applid: FARAPPL}]", "needs a port, because FARAPPL has no 'to'"),
        ("  port: 1\n  regions: [{sysid: FAR, applid: FARAPPL, to: 'a:1'}]", "port 1: not used"),
        ("  port: 70000\n  regions: [{sysid: FAR, applid: FARAPPL}]", ":7: links.0.port.*70000"),
        ("  address: here\n  port: 1\n  regions: [{sysid: FAR, applid: FARAPPL}]", ":7: links.0.address.*IP address"),
        ("  regions: [{sysid: FARAWAY, applid: FARAPPL, to: 'a:1'}]", ":7: links.0.regions.0.sysid.*FARAWAY"),
        ("  regions: [{sysid: FAR, applid: far, to: 'a:1'}]", ":7: links.0.regions.0.applid.*far"),
        ("  regions: [{sysid: FAR, applid: FARAPPL, to: 'a:0'}]", ":7: links.0.regions.0.to.*a:0.*1 to 65535"),
        ("  regions: [{sysid: FAR, applid: FARAPPL, to: '[x]:1'}]", "links.0.regions.0.to"),
        ("  regions: [{sysid: FAR, applid: FARAPPL, to: '[a]:1'}]", "links.0.regions.0.to.*IP address"),
        ("  regions: [{sysid: FAR, applid: FARAPPL, too: 'a:1'}]", "links.0.regions.0.too.*not known"),
        ("  regions: [{sysid: FAR, applid: A, to: 'a:1'}, {sysid: FAR, applid: B, to: 'a:1'}]", "sysid FAR occurs twice"),
        ("  regions: [{sysid: FA, applid: A, to: 'a:1'}, {sysid: FB, applid: A, to: 'a:1'}]", "applid A occurs twice"),
        ("  regions: [{sysid: FAR, applid: NEARAPPL, to: 'a:1'}]", "linked to itself"),
        ("  systems: [{name: SYSB, to: 'a:1'}]", "give rmtlocname and 'to' together"),
        ("  systems: [{name: SYSB, rmtlocname: LOC}]", "give rmtlocname and 'to' together"),
        ("  port: 0\n  systems: [{name: SYSB}, {name: SYSB}]", "name SYSB occurs twice"),
        (f"  port: 0\n  systems: [{{name: SYSB}}]\n{HEAD[HEAD.index('- name'):]}  port: 0\n  systems: [{{name: SYSC}}]",
         "name NEARAPPL occurs twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_links_is_said(tmp_path, text, said):
    (tmp_path / "serve.yaml").write_text(HEAD + text)
    with pytest.raises(DefinitionError, match=said):
        load_serve_file(tmp_path / "serve.yaml")


def test_addresses():
    assert dialled("") is None
    assert dialled("far.example.com:8489") == ("far.example.com", 8489)
    assert dialled("[::1]:65535") == ("::1", 65535)


def test_certificates_and_names_are_looked_at_before_anything_listens(sides, authority):
    near, _ = sides
    file = near.folder / "serve.yaml"

    def refused(match):
        with pytest.raises(TdqError, match=match):
            serve(load_serve_file(file))

    (near.folder / "sysa.key").chmod(0o644)
    refused(r"sysa\.key: others can read the key; correct it by chmod 600")
    (near.folder / "sysa.key").unlink()
    refused(r"sysa\.key: there is no such file")
    certificate(authority, near.folder, "SYSA")
    (near.folder / "authority.pem").write_text("none")
    refused("certificates of links cannot be used")
    certificate(authority, near.folder, "SYSA")
    (near.folder / "nearappl.pem").write_bytes((near.folder / "sysa.pem").read_bytes())
    (near.folder / "nearappl.key").write_bytes((near.folder / "sysa.key").read_bytes())
    refused("the certificate is of SYSA; links of NEARAPPL need one")
    certificate(authority, near.folder, "NEARAPPL")
    (near.folder / "region" / "region.yaml").write_text("applid: ELSEAPPL\n")
    refused("links: no region NEARAPPL is served; there are ELSEAPPL")


def test_a_port_that_is_taken_is_said(sides):
    _, far = sides
    port = load_serve_file(far.folder / "serve.yaml").links[0].port
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(TdqError, match=rf"127.0.0.1 port {port} \(links of FARAPPL\) is in use"),
    ):
        serve(load_serve_file(far.folder / "serve.yaml"))


@pytest.mark.parametrize("side", ["near", "far"])
def test_the_schema_takes_the_examples(side):
    document = read_yaml(example(side), "serve.yaml")
    assert isinstance(document, MapNode)
    schema = serve_json_schema()
    links = _numbers(document.plain()["links"])
    jsonschema.validate(links, {**schema["properties"]["links"], "$defs": schema["$defs"]})
    links[0]["prot"] = 1
    with pytest.raises(jsonschema.ValidationError, match="prot"):
        jsonschema.validate(links, {**schema["properties"]["links"], "$defs": schema["$defs"]})


def _numbers(value):
    """What an editor sees: numbers are numbers."""
    return [{name: int(each) if name == "port" else each for name, each in one.items()} for one in value]
