"""Every command that takes a region, a system or a store, where a server has it: it tells what only the server knows."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cli.application import _application
from tdqsim.client import Client
from tdqsim.definitions import parse_definitions
from tests.server.test_command_line import TDQ, tdq

MADE = "group: NEW\ntdqueue:\n- {name: NEWQ, type: INTRA, transid: TRGT, triggerlevel: 7, atifacility: FILE}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    pay, system = folder / "pay", folder / "system"
    pay.mkdir()
    system.mkdir()
    (pay / "region.yaml").write_text(
        "applid: PAYREGN\ndefinitions: [pay.yaml]\ndd:\n  JCL: {sysout: 'A,INTRDR'}\n  PRINT: {sysout: B}\n"
    )
    (pay / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n"
        "- {name: JCLQ, type: EXTRA, typefile: OUTPUT, ddname: JCL, recordsize: 80, recordformat: VARIABLE}\n"
        "- {name: PRTQ, type: EXTRA, typefile: OUTPUT, ddname: PRINT, recordsize: 80, recordformat: VARIABLE}\n"
    )
    (pay / "prog.cbl").write_text("")
    (system / "system.yaml").write_text("name: PAYSYS\nlibraries: [PAYLIB]\n")
    (system / "more.yaml").write_text("dtaq:\n- {dtaq: PAYLIB/MORE, maxlen: 10}\n")
    return folder


@pytest.fixture(scope="module")
def server(place):
    """The region and the system, which have been changed since; neither directory and neither store says how."""
    ready = place / "ready.json"
    (place / "serve.yaml").write_text(
        "directories:\n- {path: pay, store: pay.store}\n- {path: system, store: system.store}\n"
    )
    words = [*TDQ, "serve", str(place / "serve.yaml"), "--ready-file", str(ready)]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    assert any(line.startswith("Authorization:") for line in process.stdout), (place / "log").read_text()
    found = json.loads(ready.read_text())
    with Client(found["url"], found["token"]) as client:
        region, system = client.region("PAYREGN"), client.system("PAYSYS")
        region.install(MADE)
        for queue in ("JCLQ", "PRTQ"):
            region.set_tdqueue(queue, openstatus="OPEN")
        for card in ("//NIGHT JOB", "//STEP EXEC PGM=IEFBR14", "/*EOF"):
            region.writeq_td("JCLQ", card)
        region.writeq_td("PRTQ", "a line")
        system.install(
            "dtaq:\n- {dtaq: PAYLIB/NEWQ, maxlen: 10}\n"
            "- {dtaq: PAYLIB/KEYS, maxlen: 10, seq: '*KEYED', keylen: 2}\n"
            "- {dtaq: PAYLIB/FARQ, type: '*DDM', rmtdtaq: FARLIB/NEARQ, rmtlocname: CHICAGO}\n"
        )
    yield found
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=300) == 0
    process.stdout.close()


@pytest.fixture
def client(server):
    with Client(server["url"], server["token"]) as signed_on:
        region, system = signed_on.region("PAYREGN"), signed_on.system("PAYSYS")
        for queue in ("NEWQ", "PAYQ"):
            region.deleteq_td(queue)
        region.writeq_td("NEWQ", "only there")
        system.qclrdtaq("NEWQ", "PAYLIB")
        system.qsnddtaq("NEWQ", "PAYLIB", "only there")
        yield signed_on


def records(client):
    return client.region("PAYREGN").peek("NEWQ")


# What each command is given, and what shows that it has asked the server: part of its output, or of its error.
LOOKS = {
    "inquire": ("NEWQ", "NEWQ"),
    "peek": ("NEWQ", "only there"),
    "explain": ("NEWQ", "it holds 1 record"),
    "read": ("NEWQ", "only there"),
    "set": ("NEWQ", "TRIGGERLEVEL=9", "NEWQ"),
    "cemt": ("I TDQ(NEWQ)", "NEWQ"),
    "ceci": ("DELETEQ TD QUEUE(NEWQ)", "NORMAL"),
    "output": ("NIGHT",),
}
CHANGES = {"write": ("NEWQ", "more")}
SYSTEM_LOOKS = {
    "list": ("NEWQ",),
    "describe": ("PAYLIB/NEWQ", "NEWQ"),
    "receive": ("PAYLIB/NEWQ", "only there"),
    "peek": ("PAYLIB/NEWQ", "only there"),
    "dump": ("PAYLIB/NEWQ", "only there"),
}
SYSTEM_CHANGES = {
    "send": ("PAYLIB/NEWQ", "more"),
    "seed": ("PAYLIB/NEWQ", "-"),
    "clear": ("PAYLIB/NEWQ",),
    "create": None,
    "delete": None,
}
# These have tests of their own.
ELSEWHERE = {
    "csd", "topology", "run", "cobol run", "store backup", "store check", "store compact", "store salvage",
}  # fmt: skip
NO_REGION_OF_A_STORE = {
    "serve",  # is the server
    "check", "export csd", "export dct", "export cl",  # are about what is written in files, and say so
    "pipeline run", "pipeline replay", "pipeline trim",  # make regions in the run's directory
    "cobol mutate", "cobol test",  # run tests, which make regions of their own
    "dataset look",  # reads a data set
}  # fmt: skip


def commands(group, before=()):
    for name in group.list_commands(None):
        found = group.get_command(None, name)
        if hasattr(found, "list_commands"):
            yield from commands(found, (*before, name))
        else:
            yield " ".join((*before, name)), found


def test_every_command_that_takes_a_directory_or_a_store_is_looked_at_here():
    words = {"region", "store", "system", "directories", "paths", "path", "server"}
    found = {name for name, command in commands(_application()) if words & {each.name for each in command.params}}
    here = {*LOOKS, *CHANGES, *(f"dtaq {each}" for each in (*SYSTEM_LOOKS, *SYSTEM_CHANGES)), *ELSEWHERE}
    assert found - here - NO_REGION_OF_A_STORE == set()


def ways(place, server, kind, option):
    name = "PAYREGN" if kind == "pay" else "PAYSYS"
    return {
        option: ((option, place / kind), {}),
        "--store": (("--store", place / f"{kind}.store"), {}),
        "--server": (("--server", f"{server['url']}/{name}"), {"TDQ_TOKEN": server["token"]}),
    }


@pytest.mark.parametrize("way", ["--region", "--store", "--server"])
@pytest.mark.parametrize("command", LOOKS)
def test_what_looks_at_a_region_tells_what_the_server_knows(place, server, client, command, way):
    where, environment = ways(place, server, "pay", "--region")[way]
    *words, said = LOOKS[command]
    found = tdq(command, *words, *where, **environment)
    assert (found.returncode, said in found.stdout) == (0, True), found


@pytest.mark.parametrize("way", ["--region", "--store", "--server"])
@pytest.mark.parametrize("command", CHANGES)
def test_what_changes_a_region_changes_the_servers(place, server, client, command, way):
    where, environment = ways(place, server, "pay", "--region")[way]
    assert tdq(command, *CHANGES[command], *where, **environment).returncode == 0
    assert records(client)[1:] == ["more".encode("cp037")]


@pytest.mark.parametrize("way", ["--system", "--store", "--server"])
@pytest.mark.parametrize("command", SYSTEM_LOOKS)
def test_what_looks_at_a_system_tells_what_the_server_knows(place, server, client, command, way):
    where, environment = ways(place, server, "system", "--system")[way]
    *words, said = SYSTEM_LOOKS[command]
    found = tdq("dtaq", command, *words, *where, **environment)
    assert (found.returncode, said in found.stdout) == (0, True), found


@pytest.mark.parametrize("way", ["--system", "--store", "--server"])
def test_what_changes_a_system_changes_the_servers(place, server, client, way):
    where, environment = ways(place, server, "system", "--system")[way]
    system = client.system("PAYSYS")

    def data():
        return [each.data.decode("cp037") for each in system.data_queue_entries("NEWQ", "PAYLIB")]

    assert tdq("dtaq", "send", "PAYLIB/NEWQ", "more", *where, **environment).returncode == 0
    assert data() == ["only there", "more"]
    assert tdq("dtaq", "seed", "PAYLIB/NEWQ", "-", *where, given="third\n", **environment).returncode == 0
    assert data() == ["only there", "more", "third"]
    assert tdq("dtaq", "clear", "PAYLIB/NEWQ", *where, **environment).returncode == 0
    assert data() == []
    assert tdq("dtaq", "create", place / "system" / "more.yaml", *where, **environment).returncode == 0
    assert {each["data_queue_name"] for each in system.data_queue_info("PAYLIB")} == {"NEWQ", "KEYS", "FARQ", "MORE"}
    assert tdq("dtaq", "delete", "PAYLIB/MORE", *where, **environment).returncode == 0
    assert {each["data_queue_name"] for each in system.data_queue_info("PAYLIB")} == {"NEWQ", "KEYS", "FARQ"}


def test_topology_is_that_of_what_is_installed_in_the_server(place, server, client):
    client.region("PAYREGN").execute("SET TDQUEUE(Q) TRIGGERLEVEL(N)", {"Q": "NEWQ", "N": 5})
    found = json.loads(tdq("topology", place / "pay", place / "system", "--json").stdout)
    names = {(each["owner"], each["kind"], each["name"]) for each in found["nodes"]}
    assert {
        ("PAYREGN", "INTRA", "PAYQ"), ("PAYREGN", "INTRA", "NEWQ"), ("PAYREGN", "EXTRA", "PRTQ"),
        ("PAYSYS", "DTAQ", "PAYLIB/KEYS"), ("", "SYSTEM", "CHICAGO:FARLIB/NEARQ"), ("PAYREGN", "TRANSACTION", "TRGT"), ("PAYREGN", "DATASET", "PRINT"), ("PAYSYS", "DTAQ", "PAYLIB/NEWQ"),
    } <= names  # fmt: skip
    assert "CSMT" not in {name for _owner, _kind, name in names}
    (fires,) = [each for each in found["edges"] if each["how"] == "starts"]
    assert fires["detail"] == "5 records, FILE"
    environment = {"TDQ_TOKEN": server["token"]}
    assert json.loads(tdq("topology", "--server", server["url"], "--json", **environment).stdout) == found
    alone = json.loads(tdq("topology", "--server", f"{server['url']}/PAYSYS", "--json", **environment).stdout)
    assert {each["owner"] for each in alone["nodes"] if each["kind"] == "DTAQ"} == {"PAYSYS"}
    assert not any(each["owner"] == "PAYREGN" for each in alone["nodes"])
    refused = tdq("topology", "--server", f"{server['url']}/NONE", "--json", **environment)
    assert (refused.returncode, "PAYREGN, PAYSYS" in refused.stderr) == (2, True)


@pytest.mark.parametrize("words", [("run", "{pay}"), ("cobol", "run", "{pay}/prog.cbl", "--region", "{pay}")])
def test_a_region_is_not_made_on_a_store_that_is_served(place, server, client, words):
    found = tdq(*(each.format(pay=place / "pay") for each in words), "--store", place / "pay.store")
    assert found.returncode == 2
    assert f"region PAYREGN is served there by process {server['pid']}" in found.stderr
    assert [each.decode("cp037") for each in records(client)] == ["only there"]


def test_a_region_of_ones_own_beside_the_one_that_is_served_is_told_of(place, server, client, tmp_path):
    found = tdq("run", place / "pay", "--output", tmp_path / "out", "--json")
    assert (found.returncode, json.loads(found.stdout.splitlines()[-1])["applid"]) == (0, "PAYREGN")
    assert f"PAYREGN is served there by process {server['pid']}" in found.stderr
    assert "its own region" in found.stderr
    assert [each.decode("cp037") for each in records(client)] == ["only there"]
    alone = tdq("run", place / "pay", "--store", tmp_path / "own", "--output", tmp_path / "out", "--json")
    assert (alone.returncode, "served" in alone.stderr) == (0, False)


@pytest.mark.parametrize("words", [("check", "{pay}.store"), ("salvage", "{pay}.store", "{pay}.new")])
def test_a_store_that_is_served_is_not_looked_through(place, server, words):
    found = tdq("store", *(each.format(pay=place / "pay") for each in words))
    assert found.returncode == 3
    assert f"in use by the server of PAYREGN, process {server['pid']}" in found.stderr


def test_the_definitions_of_the_server_load_again(server, client):
    found = client.region("PAYREGN").definitions()
    again = parse_definitions(found["yaml"])
    assert [each.name for each in again.tdqueues] == ["PAYQ", "JCLQ", "PRTQ", "NEWQ"]
    assert again.tdqueues[0] == parse_definitions("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n").tdqueues[0]
