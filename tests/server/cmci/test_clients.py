"""Unmodified management clients: the Zowe command line and SDK (npm), and Ansible with ibm.ibm_zos_cics.

They need a folder, which the variable TDQ_CMCI_CLIENTS names, made by::

    npm install --prefix DIR @zowe/cli @zowe/cics-for-zowe-cli @zowe/cics-for-zowe-sdk
    ZOWE_CLI_HOME=DIR/home DIR/node_modules/.bin/zowe plugins install DIR/node_modules/@zowe/cics-for-zowe-cli
    python -m venv DIR/ansible && DIR/ansible/bin/pip install ansible-core "xmltodict<1"
    ansible-galaxy collection install -p DIR/collections ibm.ibm_zos_cics
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.cli.chapters import chapter_text
from tdqsim.server.users import Role, User, Users, hashed

CLIENTS = Path(os.environ.get("TDQ_CMCI_CLIENTS") or "/usr/lib/cmci-clients")
COLLECTION = CLIENTS / "collections" / "ansible_collections" / "ibm" / "ibm_zos_cics"
TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())"]
PASSWORD = "Secret1pw"
INTRA = "CICSIntrapartitionTDQueue"

needs_zowe = pytest.mark.skipif(
    shutil.which("node") is None or not (CLIENTS / "home" / "plugins" / "plugins.json").is_file(),
    reason="needs Node and the Zowe command line with its CICS plug-in (TDQ_CMCI_CLIENTS: the folder that has them)",
)
needs_ansible = pytest.mark.skipif(
    not (CLIENTS / "ansible" / "bin" / "ansible-playbook").is_file() or not COLLECTION.is_dir(),
    reason="needs ansible-core and the collection ibm.ibm_zos_cics (TDQ_CMCI_CLIENTS: the folder that has them)",
)

BY_SDK = """
const sdk = require("@zowe/cics-for-zowe-sdk");
const session = new sdk.CICSSession({
  host: "127.0.0.1", port: Number(process.argv[2]), user: "ANNA", password: "Secret1pw", protocol: "https",
  type: "basic", rejectUnauthorized: false,
});
const place = { name: "CICSIntrapartitionTDQueue", regionName: "SIMREG1" };
const rows = (answer) => [].concat(answer.response.records.cicsintrapartitiontdqueue);
(async () => {
  const summary = await sdk.getResource(session, {
    ...place, queryParams: { summonly: true, nodiscard: true, overrideWarningCount: true },
  });
  const { recordcount, cachetoken } = summary.response.resultsummary;
  console.log(recordcount);
  const page = await sdk.getCache(session, { cacheToken: cachetoken, startIndex: 2, count: 1 });
  console.log(rows(page).map((each) => each.tdqueue).join());
  await sdk.getCache(session, { cacheToken: cachetoken, nodiscard: false, summonly: true });
  await sdk.getCache(session, { cacheToken: cachetoken }).catch((error) => console.log(error.message.split("\\n")[0]));
  const disable = { request: { action: { $: { name: "DISABLE" } } } };
  const done = await sdk.putResource(session, { ...place, criteria: "TDQUEUE=PAYQ" }, [], disable);
  console.log(rows(done)[0].enablestatus);
  const set = { request: { update: { attributes: { $: { TRIGGERLEVEL: "9" } } } } };
  console.log(rows(await sdk.putResource(session, { ...place, criteria: "TDQUEUE=PAYQ" }, [], set))[0].triggerlevel);
  for (const criteria of ["TDQUEUE=NONE", "NOPE=1"]) {
    await sdk.getResource(session, { ...place, criteria }, { useCICSCmciRestError: true }).catch((error) => console.log(error.RESPONSE_1_ALT));
  }
  const many = await sdk.getResource(session, { name: place.name, cicsPlex: "SIMPLEX", criteria: "(TDQUEUE=O*) OR (TDQUEUE=PAYQ)" });
  console.log(rows(many).map((each) => each.tdqueue).join());
})().catch((error) => { console.log(error); process.exit(1); });
"""

PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  module_defaults:
    group/ibm.ibm_zos_cics.cmci:
      {cmci_host: 127.0.0.1, cmci_port: "{{ port }}", insecure: true, context: SIMREG1}
  tasks:
    - ibm.ibm_zos_cics.cmci_create:
        type: CICSDefinitionTDQueue
        create_parameters: [{name: CSD}]
        attributes: {name: NEWQ, csdgroup: GRP2, tdqtype: INTRA, triggerlevel: 3, transid: PAYT, atifacility: FILE}
      register: created
    - ibm.ibm_zos_cics.cmci_action:
        type: CICSDefinitionTDQueue
        action_name: CSDINSTALL
        resources: {filter: {name: NEWQ}, get_parameters: [{name: CSDGROUP, value: GRP2}]}
      register: installed
    - ibm.ibm_zos_cics.cmci_get:
        type: CICSIntrapartitionTDQueue
        resources:
          complex_filter: {or: [{attribute: tdqueue, value: "NEW*"}, {and: [{attribute: triggerlevel, operator: ">=", value: "5"}, {attribute: tdqueue, operator: NE, value: "X"}]}]}
      register: found
    - ibm.ibm_zos_cics.cmci_update:
        type: CICSIntrapartitionTDQueue
        attributes: {triggerlevel: 9}
        resources: {filter: {tdqueue: NEWQ}}
      register: updated
    - ibm.ibm_zos_cics.cmci_action: {type: CICSIntrapartitionTDQueue, action_name: DISABLE, resources: {filter: {tdqueue: NEWQ}}}
      register: disabled
    - ibm.ibm_zos_cics.cmci_delete: {type: CICSIntrapartitionTDQueue, resources: {filter: {tdqueue: NEWQ}}}
      register: discarded
    - ibm.ibm_zos_cics.cmci_delete:
        type: CICSDefinitionTDQueue
        resources: {filter: {name: NEWQ}, get_parameters: [{name: CSDGROUP, value: GRP2}]}
      register: removed
    - ibm.ibm_zos_cics.cmci_delete: {type: CICSIntrapartitionTDQueue, resources: {filter: {tdqueue: ORDQ}}}
      register: refused
      failed_when: false
    - ibm.ibm_zos_cics.cmci_get: {type: CICSIntrapartitionTDQueue, context: NOWHERE}
      register: nowhere
      failed_when: false
    - ibm.ibm_zos_cics.cmci_get: {type: CICSIntrapartitionTDQueue, record_count: 1, resources: {filter: {tdqueue: NONE}}, fail_on_nodata: false}
      register: nothing
    - copy:
        dest: "{{ out }}"
        content: "{{ [created.records[0].changeagent, installed.success_count, found.records | map(attribute='tdqueue'), updated.records[0].triggerlevel, disabled.records[0].enablestatus, discarded.record_count, removed.record_count, refused.feedback[0].resp2, nowhere.msg, nothing.cpsm_response] | to_json }}"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """tdq serve with TLS and the user ANNA; its ready file."""
    place = tmp_path_factory.mktemp("served")
    (place / "region").mkdir()
    (place / "region" / "region.yaml").write_text("applid: SIMREG1\ndefinitions: [pay.yaml]\n")
    (place / "region" / "pay.yaml").write_text(
        "group: GRP1\ntdqueue:\n- {name: ORDQ, type: INTRA}\n"
        "- {name: PAYQ, type: INTRA, atifacility: FILE, transid: PAYT, triggerlevel: 5}\n"
        "transaction:\n- {name: PAYT, program: PAYP}\nfile:\n- {name: ACCT, keylength: 4, recordsize: 80}\n"
    )
    (place / "pay").mkdir()
    (place / "pay" / "region.yaml").write_text("applid: PAYREGN\nsysid: PAY1\ndefinitions: [pay.yaml]\n")
    (place / "pay" / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n- {name: ERRQ, type: INTRA}\n"
    )
    (place / "serve.yaml").write_text(
        "directories: [region, pay]\nlisteners: {http: 0, control: no}\ntls: generated\nusers: users.yaml\ncmci: {plex: simplex}\n"
    )
    users = Users([User("ANNA", frozenset({Role.operate}), password=hashed(PASSWORD))])
    users.write(place / "users.yaml")
    ready = place / "ready.json"
    words = [*TDQ, "serve", str(place / "serve.yaml"), "--ready-file", str(ready)]
    with (place / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert any(line.startswith("Serving ") for line in process.stdout), (place / "log").read_text()
        yield json.loads(ready.read_text())
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@pytest.fixture
def errq(server):
    """The queue ERRQ of the guide, with three records."""
    trusted = ssl.create_default_context(cafile=server["certificate"])

    def ask(method, path, body):
        request = Request(
            f"{server['url']}/api/v1/regions/PAYREGN/queues/ERRQ{path}",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {server['token']}", "Content-Type": "application/json"},
            method=method,
        )
        urlopen(request, context=trusted).close()

    ask("POST", "/seed", [{"text": text} for text in ("one", "two", "three")])
    yield
    ask("PATCH", "", {"ENABLESTATUS": "ENABLED"})
    ask("DELETE", "/records", None)


def of_guide(pattern):
    """A part of the chapter about browse scripts."""
    return re.search(pattern, chapter_text("browse"), re.MULTILINE | re.DOTALL)[1]


def ran(*words, **environment):
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout + done.stderr


def played(playbook, folder, *options):
    """Run a playbook with its home in a folder."""
    (folder / "play.yml").write_text(playbook)
    (folder / "home").mkdir()
    return ran(
        str(CLIENTS / "ansible" / "bin" / "ansible-playbook"), str(folder / "play.yml"), *options,
        ANSIBLE_COLLECTIONS_PATH=str(CLIENTS / "collections"), HOME=str(folder / "home"), ANSIBLE_NOCOLOR="1",
        PYTHONPATH="", CMCI_USER="ANNA", CMCI_PASSWORD=PASSWORD,
    )  # fmt: skip


class Zowe:
    def __init__(self, server):
        self._port = str(server["ports"]["http"])

    def __call__(self, *words):
        return ran(
            "node", str(CLIENTS / "node_modules" / ".bin" / "zowe"), "cics", *words, "--host", "127.0.0.1", "--port",
            self._port, "--user", "ANNA", "--password", PASSWORD, "--reject-unauthorized", "false",
            ZOWE_CLI_HOME=str(CLIENTS / "home"), NO_COLOR="1", FORCE_COLOR="0",
        )  # fmt: skip


@needs_zowe
def test_zowe_command_line(server):
    zowe = Zowe(server)
    here = ("--region-name", "SIMREG1")
    table = ("--rft", "table", "--rfh", "--rff", "tdqueue", "triggerlevel")
    code, text = zowe("get", "resource", INTRA, *here, "--criteria", "TDQUEUE=PAY*", *table)
    assert (code, text.split()) == (0, ["tdqueue", "triggerlevel", "PAYQ", "5"])
    code, text = zowe("get", "resource", INTRA, "--cics-plex", "SIMPLEX", *here, "--criteria", "TDQUEUE=NONE")
    assert code == 1
    assert "NODATA" in text
    for words, said in (
        (("define", "transaction", "NEWT", "NEWP", "GRP3"), "The transaction 'NEWT' was defined successfully."),
        (("define", "program", "NEWP", "GRP3"), "The program 'NEWP' was defined successfully."),
        (("install", "transaction", "NEWT", "GRP3"), "The transaction 'NEWT' was installed successfully."),
        (("add-to-list", "csdGroup", "GRP3", "LIST1"), "The CSD Group 'GRP3' was successfully added to 'LIST1'."),
        (("remove-from-list", "csdGroup", "GRP3", "LIST1"), "The CSD Group 'GRP3' was successfully removed from 'LIST1'."),
        (("open", "CICSLocalFile", "ACCT"), "The local file 'ACCT' was opened successfully."),
        (("close", "CICSLocalFile", "ACCT"), "The local file 'ACCT' was closed successfully."),
        (("delete", "transaction", "NEWT", "GRP3"), "The transaction 'NEWT' was deleted successfully."),
        (("delete", "program", "NEWP", "GRP3"), "The program 'NEWP' was deleted successfully."),
    ):  # fmt: skip
        assert zowe(*words, *here) == (0, said + "\n")


@needs_zowe
def test_zowe_sdk(server, tmp_path):
    (tmp_path / "client.js").write_text(BY_SDK)
    code, text = ran(
        "node", str(tmp_path / "client.js"), str(server["ports"]["http"]), NODE_PATH=str(CLIENTS / "node_modules")
    )
    assert code == 0, text
    assert text.splitlines() == [
        "3", "ORDQ", "Rest API failure with HTTP(S) status 404", "DISABLED", "9", "NODATA", "INVALIDPARM",
        "ORDQ,PAYQ,PAYQ",
    ]  # fmt: skip


@needs_zowe
def test_zowe_in_the_guide(server, errq):
    line, *shown = of_guide(r"^    \$ zowe cics (.*?)\n\n").splitlines()
    code, text = Zowe(server)(*shlex.split(line))
    assert (code, [each.split() for each in text.splitlines()]) == (0, [each.split() for each in shown])


@needs_ansible
def test_ansible_in_the_guide(server, errq, tmp_path):
    playbook = of_guide(r"^```yaml file=browse-playbook.yml\n(.*?)^```")
    code, text = played(playbook.replace("8470", str(server["ports"]["http"])), tmp_path)
    assert code == 0, text
    assert "changed: [localhost] => (item=ERRQ 3 ENABLED)" in text
    assert "PAYQ" not in text


@needs_ansible
def test_ansible(server, tmp_path):
    code, text = played(
        PLAYBOOK, tmp_path, "-e", f"port={server['ports']['http']}", "-e", f"out={tmp_path / 'out.json'}"
    )
    assert code == 0, text
    assert json.loads((tmp_path / "out.json").read_text()) == [
        "CSDAPI", 1, ["NEWQ", "PAYQ"], "9", "DISABLED", 1, 1, "31",
        'CMCI request failed with response "INVALIDPARM" reason "CONTEXT"', "NODATA",
    ]  # fmt: skip
