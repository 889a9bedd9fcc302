"""Data queues, jobs and SYSOUT of what is served: each command says of it what it says of the store alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tests.server.test_command_line import TDQ, tdq

NO_UNIX_SOCKETS = """
import asyncio, socket, sys
pair, unix = socket.socketpair, socket.AF_UNIX
socket.socketpair = lambda *_: pair(unix)
del socket.AF_UNIX
from tdqsim.cli import main
sys.exit(main())
"""
CARDS = ["//NIGHT JOB", "//STEP EXEC PGM=IEFBR14", "/*EOF"]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    pay, system = folder / "pay", folder / "system"
    pay.mkdir()
    system.mkdir()
    (pay / "region.yaml").write_text(
        "applid: PAYREGN\ntime_zone: Europe/Berlin\ndefinitions: [pay.yaml]\n"
        "dd:\n  JCL: {sysout: 'A,INTRDR'}\n  PRINT: {sysout: B}\n  OTHER: {sysout: C}\n"
    )
    (pay / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n"
        "- {name: JCLQ, type: EXTRA, typefile: OUTPUT, ddname: JCL, recordsize: 80, recordformat: VARIABLE}\n"
        "- {name: PRTQ, type: EXTRA, typefile: OUTPUT, ddname: PRINT, recordsize: 80, recordformat: VARIABLE,"
        " printcontrol: A}\n"
        "- {name: OTHQ, type: EXTRA, typefile: OUTPUT, ddname: OTHER, recordsize: 80, recordformat: VARIABLE}\n"
    )
    (system / "system.yaml").write_text("name: PAYSYS\ndefinitions: [queues.yaml]\nlibraries: [PAYLIB]\n")
    (system / "queues.yaml").write_text(
        "dtaq:\n- {dtaq: PAYLIB/ORDERS, maxlen: 80}\n"
        "- {dtaq: PAYLIB/KEYS, maxlen: 80, seq: '*KEYED', keylen: 2, senderid: '*YES'}\n"
    )
    (folder / "more.yaml").write_text("dtaq:\n- {dtaq: NEWLIB/MORE, maxlen: 10}\n")
    return folder


@contextmanager
def serving(places, kind, *, code=None):
    """The region or the system, each on its store."""
    place, ready = places / kind, places / f"{kind}.json"
    begin = TDQ if code is None else [sys.executable, "-c", code]
    words = [*begin, "serve", str(place), "--store", str(place / "store"), "--ready-file", str(ready)]
    with (places / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert any(line.startswith("Authorization:") for line in process.stdout), (places / "log").read_text()
        yield json.loads(ready.read_text())
    finally:
        process.send_signal(signal.SIGTERM)
        ended = process.wait(timeout=300)
        process.stdout.close()
    assert ended == 0


def test_data_queues_of_a_served_system(places):
    store = places / "system" / "store"
    steps = [
        ("send", "PAYLIB/ORDERS", "one"), ("send", "PAYLIB/ORDERS", "F2", "--hex"), ("send", "PAYLIB/KEYS", "a", "-k", "01"),
        ("send", "PAYLIB/KEYS", "b", "-k", "02"), ("peek", "PAYLIB/ORDERS"), ("peek", "PAYLIB/ORDERS", "--hex"),
        ("peek", "PAYLIB/KEYS", "-k", "02", "--key-order", "LT"), ("peek", "PAYLIB/KEYS", "-n", "1"),
        ("receive", "PAYLIB/ORDERS", "-n", "5"), ("receive", "PAYLIB/KEYS", "-k", "02", "--key-order", "EQ", "--json"),
        ("clear", "PAYLIB/KEYS", "-k", "01", "--key-order", "GE"), ("list", "PAYLIB"), ("list", "--json"),
        ("describe", "PAYLIB/KEYS"), ("describe", "PAYLIB/KEYS", "--json"), ("create", places / "more.yaml", "--create-libraries"),
        ("create", places / "more.yaml"), ("delete", "NEWLIB/MORE"), ("delete", "NEWLIB/MORE"),
        ("send", "PAYLIB/ORDERS", "x", "-k", "01"), ("peek", "PAYLIB/NONE"), ("send", "PAYLIB/ORDERS", "€", "--ccsid", "37"),
        ("seed", "PAYLIB/ORDERS", "-"), ("dump", "PAYLIB/ORDERS"), ("receive", "PAYLIB/ORDERS", "-n", "9", "--json"),
    ]  # fmt: skip

    def told():
        return [tdq("dtaq", *words, "--store", store, given='one\n{"data": "F1"}\n') for words in steps]

    with serving(places, "system"):
        served = told()
        assert tdq("dtaq", "list", "--system", places / "system").stdout == served[11].stdout
    alone = told()
    for words, there, here in zip(steps, served, alone, strict=True):
        assert there.returncode == here.returncode, (words, there, here)
        assert timeless(there.stdout) == timeless(here.stdout), words
        if here.returncode == 1:
            assert here.stderr[:20] == there.stderr[:20], (words, there, here)
    assert served[8].stdout == "one\n2\n"


def timeless(text):
    """What does not depend on when, and by which job, something was sent."""
    without = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?|\d{6}/QSECOFR/\w+", "*", text)
    return [line.split() for line in without.splitlines()]


def test_jobs_and_sysout_of_a_served_region(places):
    store = places / "pay" / "store"
    with serving(places, "pay"):
        for name in ("JCLQ", "PRTQ", "OTHQ"):
            assert tdq("set", name, "OPENSTATUS=OPEN", "--store", store).returncode == 0
        assert tdq("write", "JCLQ", *CARDS, "--store", store).returncode == 0
        lines = ["1page", " line", *(f" {number}" for number in range(2500))]
        for part in (lines[:900], lines[900:1800], lines[1800:]):
            assert tdq("write", "PRTQ", *part, "--store", store).returncode == 0
        tdq("write", "OTHQ", "other", "--store", store)
        steps = [
            ("output",), ("output", "--json"), ("output", "night"), ("output", "NONE"), ("output", "night", "--json"),
            ("output", "1"), ("output", "2"), ("output", "9"), ("output", "--class", "C"),
        ]  # fmt: skip
        there = [tdq(*words, "--store", store) for words in steps]
        by_directory = tdq("output", "--region", places / "pay")
    here = [tdq(*words, "--store", store, "--region", places / "pay") for words in steps]
    assert by_directory.stdout == there[0].stdout
    assert there[2].stdout == "//NIGHT JOB USER=CICSRGN\n//STEP EXEC PGM=IEFBR14\n"
    assert [found.returncode for found in there] == [found.returncode for found in here]
    assert [found.stdout for found in there] == [found.stdout for found in here]
    printed = [found.stdout.splitlines() for found in (there[5], there[6]) if "page" in found.stdout]
    assert printed == [["page", "line", *(str(number) for number in range(2500))]]


def test_a_store_is_no_system_where_a_region_is_served(places):
    with serving(places, "pay"):
        found = tdq("dtaq", "list", "--store", places / "pay" / "store")
    assert found.returncode == 2
    assert "PAYREGN" in found.stderr


def test_a_system_elsewhere_by_its_address(places):
    with serving(places, "system") as found:
        given = {"TDQ_TOKEN": found["token"]}
        for url in (found["url"], f"{found['url']}/PAYSYS"):
            assert "ORDERS" in tdq("dtaq", "list", "--server", url, **given).stdout
        assert "PAYSYS" in tdq("dtaq", "list", "--server", f"{found['url']}/NONE", **given).stderr
        assert "CPF9801" in tdq("dtaq", "peek", "PAYLIB/NONE", "--server", found["url"], **given).stderr
        refused = tdq("dtaq", "list", "--server", found["url"], "--user", "NOBODY", **given)
        assert (refused.returncode, "NOBODY" in refused.stderr) == (1, True)


def test_where_there_are_no_unix_sockets_a_port_of_loopback_is_found(places):
    store = places / "pay" / "store"
    words = [sys.executable, "-c", NO_UNIX_SOCKETS]

    def without(*arguments, environment=None):
        done = subprocess.run(
            [*words, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **(environment or {})},
            check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    with serving(places, "pay", code=NO_UNIX_SOCKETS):
        assert without("write", "CSMT", "one", "--seed", "--store", store)[0] == 0
        assert tdq("peek", "CSMT", "--store", store).stdout == without("peek", "CSMT", "--store", store)[1]
        (file,) = [each for each in announced() if each["place"] == str(store.resolve())]
        assert file["url"].startswith("http://127.0.0.1:")
        assert len(file["token"]) >= 32
    assert not [each for each in announced() if each["place"] == str(store.resolve())]


def announced():
    from tdqsim.core.control import Address

    found = []
    for file in Address.folder().glob("*.json"):
        try:
            found.append(json.loads(file.read_text()))
        except (FileNotFoundError, ValueError):
            continue  # another server's, which has ended meanwhile
    return found
