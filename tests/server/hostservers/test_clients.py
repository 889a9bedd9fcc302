"""Toolbox programs with pools, keys, character sets, secure connections and typed programs; and its visual documents."""

from __future__ import annotations

import os
import ssl
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from tdqsim.ibmi import Parm
from tests.server.hostservers.certificates import certificate
from tests.server.hostservers.test_toolbox import HERE, JAR, pytestmark  # noqa: F401  (the marks are for here too)

DOCUMENTS = Path(os.environ.get("TDQ_JT400_91", "/usr/lib/node_modules/node-jt400/java/lib/jt400.jar"))
"""The toolbox that has the visual documents: 9.1, in the npm package node-jt400."""


def compiled(name: str, jar: Path | None, folder: Path) -> str:
    subprocess.run(["javac", "-encoding", "utf-8", "-cp", str(jar), "-d", str(folder), str(HERE / name)], check=True)
    return f"{jar}:{folder}"


def ran(*words: str) -> list[str]:
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


ORDER = [
    Parm(
        "order", "DS", use="inout",
        fields=[
            Parm("number", "INT(10)"),
            Parm("lines", "DS", dim=2, fields=[Parm("item", "CHAR(8)"), Parm("price", "ZONED(5:2)"), Parm("count", "INT(5)")]),
            Parm("sum", "PACKED(9:2)"), Parm("rate", "FLOAT(8)"), Parm("raw", "DATA(3)"),
        ],
    ),
    Parm("counts", "INT(10)", dim=4), Parm("more", "INT(10)", use="out", dim=4), Parm("flag", "DATA(1)"),
]  # fmt: skip


def programs(served) -> None:
    def price(_job, what, amount):
        return amount * 2, f"twice a {what}".upper()

    def maybe(_job, given):
        return "none" if given is None else "some"

    def order(_job, order, counts, _flag):
        for line in order["lines"]:
            line["count"] += 10
        order["sum"] = sum((line["price"] * (line["count"] - 10) for line in order["lines"]), Decimal())
        return {**order, "rate": order["rate"] * 5, "raw": order["raw"][::-1]}, [one + 1 for one in counts]

    def say(job, text):
        job.qsnddtaq("QGPL/FIFO", data=job.page.encode(text))

    system = served.system
    system.register_program(
        "QGPL/PRICE", price,
        [Parm("what", "CHAR(10)"), Parm("amount", "PACKED(7:2)", use="inout"), Parm("said", "CHAR(3000)", use="out")],
    )  # fmt: skip
    system.register_program(
        "QGPL/MAYBE", maybe, [Parm("given", "DATA(2)", omissible=True), Parm("said", "CHAR(5)", use="out")]
    )
    system.register_program("QGPL/ORDER", order, ORDER)
    system.register_program("QGPL/SAY", say, [Parm("text", "CHAR(20)")])


SEEN = """
pool: 01234 2
pool with a wrong password: ConnectionPoolException
byte keys: 0=0 7=7 128=128 255=255
orders: EQ=bbbb NE=aaaa LT=aaaa LE=aaaa GT=dddd GE=bbbb
short string key: short
EBCDIC: Grüße 5
German EBCDIC: Gr}~e ä Grüße {
Unicode: 東京 € 8
program: true 25.00 TWICE A WIDGET
structures: true 7 chair    -20.00 11 9.85 2.5 [3, 2, 1] [2, 3, 4, 5]
too short a structure: false CPF24B4
profile token: true
profile token of a wrong password: true
null parameter: true none
wrong size: false CPF24B4 true
submitted: true CPC1221 from a job
second-level text: CPF9870 15 40 true FIFO
job log: CPC2102 1 Library LOGLIB created. true true; CPF2105 15 Object NONE in LOGLIB type *DTAQ not found. true true; MCH0802 15 Total parameters passed does not match number required. true true; MCH0802
job log that is not there: AS400Exception CPF1070 Job 999999/BERT/NIGHTLY not found.
QTEMP: only here false true
attributes: 40 false true true Last first 2
longest: true
longest key: ANNA      256 A text of fifty characters, as long as any can be.
QCMDEXC: false 1 CPF2111
service program: ObjectDoesNotExistException /QSYS.LIB/QZRUCLSP.PGM: Object does not exist.
user space: ObjectDoesNotExistException /QSYS.LIB/QUSCRTUS.PGM: Object does not exist.
secure: over TLS true
"""


def test_what_toolbox_programs_do(serve, tmp_path):
    pem, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    served = serve(tls=context)
    served.do(lambda: programs(served))
    trust = tmp_path / "trust.p12"
    subprocess.run(
        ["keytool", "-importcert", "-noprompt", "-alias", "us", "-file", str(pem), "-keystore", str(trust), "-storepass", "trusting"],
        check=True, capture_output=True,
    )  # fmt: skip
    names = ("as-signon", "as-dtaq", "as-rmtcmd")
    ports = [str(served.ports[name + suffix]) for suffix in ("", "-s") for name in names]
    lines = ran(
        "java", f"-Djavax.net.ssl.trustStore={trust}", "-Djavax.net.ssl.trustStorePassword=trusting", "-Dstdout.encoding=UTF-8",
        "-Dfile.encoding=UTF-8", "-cp", compiled("Clients.java", JAR, tmp_path), "Clients", *ports,
    )  # fmt: skip
    assert [line.rstrip() for line in lines] == SEEN.strip().splitlines()
    assert not served.servers.connections


@pytest.mark.skipif(not DOCUMENTS.exists(), reason="needs the toolbox 9.1 (npm: node-jt400; TDQ_JT400_91 says where)")
def test_the_visual_documents(serve, tmp_path):
    served = serve()
    ports = [str(served.ports[name]) for name in ("as-signon", "as-dtaq", "as-rmtcmd")]
    path = compiled("Document.java", DOCUMENTS, tmp_path)
    assert ran("java", "-Djava.awt.headless=true", "-cp", path, "Document", *ports) == [
        "peek: an entry", "read: an entry", "again: ", "keyed: of a key",
    ]  # fmt: skip
