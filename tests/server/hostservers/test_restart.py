"""Pools of JTOpen and node-jt400 over TLS whose server is stopped, killed and started again, or that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.ports import free_ports
from tests.server.hostservers.certificates import certificate
from tests.server.hostservers.java import HERE, JAR, SHORT, compile_java
from tests.server.hostservers.test_database import MODULES, NAMES
from tests.server.hostservers.test_toolbox import pytestmark as needs_java
from tests.server.mapepire.test_restart import lines_until, numbers, served

pytestmark = [pytest.mark.slow, pytest.mark.java, needs_java[1]]
NODE = pytest.mark.skipif(
    shutil.which("node") is None or not (MODULES / "node-jt400").is_dir(),
    reason="needs Node and node-jt400 (TDQ_NODE_MODULES: the folder of its packages)",
)


class Place:
    """A system with a stored queue, the ports that its server has each time, and a client."""

    def __init__(self, folder, words):
        self.folder = folder
        self._words = words
        self._ports = free_ports(2 * len(NAMES))
        (folder / "system").mkdir()
        (folder / "system" / "system.yaml").write_text(
            "name: PAYSYS\ncommands:\n- CRTUSRPRF USRPRF(ANNA) PASSWORD(SECRET1PW)\n"
            "- CRTDTAQ DTAQ(QGPL/KEYED) MAXLEN(20) SEQ(*KEYED) KEYLEN(3) FORCE(*YES) AUT(*ALL)\n"
        )
        listeners = dict(zip([*NAMES, *(f"{name}-s" for name in NAMES)], self._ports, strict=True))
        listed = ", ".join(f"{name}: {port}" for name, port in listeners.items())
        (folder / "serve.yaml").write_text(
            "directories: [{path: system, store: store}]\ntls: {certificate: cert.pem, key: key.pem}\n"
            f"listeners: {{http: 0, control: no, mapepire: 0, ibmi: {{{listed}}}}}\n"
        )

    @contextmanager
    def client(self, *words):
        with subprocess.Popen(
            [*self._words, *map(str, (*words, *self._ports[4:]))], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(MODULES), "TRUST": str(self.folder / "trust.p12"), "UV_THREADPOOL_SIZE": "32"},
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()  # those who have nobody to talk to would try for ever


@pytest.fixture(params=["JTOpen", pytest.param("node-jt400", marks=NODE)])
def place(request, tmp_path):
    _, key = certificate(tmp_path)
    key.chmod(0o600)
    trust = tmp_path / "trust.p12"
    subprocess.run(
        ["keytool", "-importcert", "-noprompt", "-alias", "us", "-file", str(tmp_path / "cert.pem"), "-keystore", str(trust), "-storepass", "trusting"],
        check=True, capture_output=True,
    )  # fmt: skip
    if request.param == "node-jt400":
        return Place(tmp_path, ["node", str(HERE / "restarts.js")])
    compile_java(JAR, tmp_path, "Restarts")
    trusting = [f"-Djavax.net.ssl.trustStore={trust}", "-Djavax.net.ssl.trustStorePassword=trusting"]
    return Place(tmp_path, ["java", *SHORT, *trusting, "-cp", f"{JAR}:{tmp_path}", "Restarts"])


def rest(process):
    return process.stdout.read().split("\n")


def sent_and_asked(lines):
    return set(numbers(lines, "sent ")), set(numbers(lines, "asked "))


def kept(place):
    """The entries that a client still receives, each once."""
    with place.client("receive", 1, 5000) as receiving:
        got = numbers(rest(receiving), "received ")
    assert not [one for one, times in Counter(got).items() if times > 1]
    return set(got)


def test_twenty_jobs_lose_nothing_when_the_server_is_stopped_and_started_again(place):
    with place.client("receive", 10, 5000) as receiving, place.client("send", 10, 40) as sending:
        with served(place.folder):
            sent = lines_until(sending, lambda seen: len(numbers(seen, "sent ")) > 100)
        with served(place.folder):
            sent += rest(sending)
            received = numbers(rest(receiving), "received ")
            left = kept(place)
    sent, asked = sent_and_asked(sent)
    assert len(asked) == 400
    assert len(received) == len(set(received))
    assert not set(received) & left
    assert sent <= set(received) | left <= asked


def test_what_was_acknowledged_is_there_once_after_the_server_was_killed(place):
    with place.client("send", 10, 40) as sending:
        with served(place.folder, signal.SIGKILL):
            lines = lines_until(sending, lambda seen: len(numbers(seen, "sent ")) > 100)
        with served(place.folder):
            lines += rest(sending)
            sent, asked = sent_and_asked(lines)
            assert sent <= kept(place) <= asked
    assert len(sent) > 350  # it goes on with the server that was started again


def test_killed_client_that_waits_takes_no_entry(place):
    with served(place.folder):
        with place.client("receive", 10, 1) as waiting:
            lines_until(waiting, lambda seen: seen.count("waiting") == 10)
            waiting.kill()
        with place.client("send", 1, 20) as sending:
            assert len(numbers(rest(sending), "sent ")) == 20
        assert kept(place) == set(range(20))
