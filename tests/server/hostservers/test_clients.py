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
from tests.server.hostservers.java import HERE, JAR, SHORT, compile_java
from tests.server.hostservers.test_toolbox import pytestmark  # noqa: F401  (the marks are for here too)
from tests.server.hostservers.wire import eventually

DOCUMENTS = Path(os.environ.get("TDQ_JT400_91") or "/usr/lib/node_modules/node-jt400/java/lib/jt400.jar")
"""The toolbox that has the visual documents: 9.1, in the npm package node-jt400. A variable that is empty names none."""


def ran(*words: str) -> list[str]:
    """What a Java program prints."""
    done = subprocess.run(
        ["java", *SHORT, *words], capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def plain_ports(served) -> list[str]:
    return [str(served.ports[name]) for name in ("as-signon", "as-dtaq", "as-rmtcmd")]


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
job: QZRCSRVS QUSER true *ACTIVE B 37 ANNA 50 *YMD QGPL,QTEMP
job that is not there: AS400Exception CPF3C53 Job 999999/ANNA/NONE not found.
system values: 37 3 SYS1 000003 true
system value that is not known: AS400Exception CPF1028 QSRLNBR not valid for parameter SYSVAL.
message loaded: CPF2105 Object NONE in LOGLIB type *DTAQ not found. true
message file: Object ORDERS in library APPLIB not found. 40
message that is not there: AS400Exception CPF2419 Message identifier CPF0000 not found in message file QCPFMSG in QSYS.
job log that is not there: AS400Exception CPF1070 Job 999999/BERT/NIGHTLY not found.
QTEMP: only here false true
attributes: 40 false true true Last first 2
longest: true
longest key: ANNA      256 A text of fifty characters, as long as any can be.
QCMDEXC: false 1 CPF2111
service program: ObjectDoesNotExistException /QSYS.LIB/QZRUCLSP.PGM: Object does not exist.
user space: ObjectDoesNotExistException /QSYS.LIB/QUSCRTUS.PGM: Object does not exist.
secure: over TLS true
secure pool: 0truetrue1truetrue2truetrue 1
secure to a plain port: IOException
"""


def test_what_toolbox_programs_do(serve, classes, tmp_path):
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
        f"-Djavax.net.ssl.trustStore={trust}", "-Djavax.net.ssl.trustStorePassword=trusting", "-Dstdout.encoding=UTF-8",
        "-Dfile.encoding=UTF-8", "-cp", f"{JAR}:{classes}:{HERE}", "Clients", *ports,
    )  # fmt: skip
    assert [line.rstrip() for line in lines] == SEEN.strip().splitlines()
    assert not served.servers.connections


@pytest.mark.skipif(not DOCUMENTS.is_file(), reason="needs the toolbox 9.1 (npm: node-jt400; TDQ_JT400_91 says where)")
def test_the_visual_documents(serve, tmp_path):
    served = serve()
    ports = plain_ports(served)
    compile_java(DOCUMENTS, tmp_path, "Document")
    path = f"{DOCUMENTS}:{tmp_path}:{HERE}"
    assert ran("-Djava.awt.headless=true", "-cp", path, "Document", *ports) == [
        "peek: an entry", "read: an entry", "again: ", "keyed: of a key",
    ]  # fmt: skip


QUEUES = """
bean: created written peeked read cleared deleted BEAN
no system: ExtendedIllegalStateException system: Property is not set.
no such type: IllegalPathNameException /QSYS.LIB/QGPL.LIB/X.USRSPC: Object type is not valid.
library list: by list true false
authority *ALL: yes yes yes
authority *CHANGE: yes yes yes
authority *EXCLUDE: 4 4 4
authority *USE: 4 yes yes
authority *LIBCRTAUT: yes yes yes
attributes: truetruetrue64512Text of a queue truetruetrue64512Text of a queue truetruetrue64512Text of a queue truetruetrue64512Text of a queue
keyed attributes: 7 33 true true
bytes and strings: true text true true
lengths: 1 10 CPF2498 CPF2498 Invalid length. MAXLEN for data queue LISTED in QGPL is 10.
wait of a negative: ExtendedIllegalArgumentException wait (-2): Parameter value is not valid.
every keyed read: s0b0b0s0s0b0s1b1s2s3truetrue
key of a string too long: ExtendedIllegalArgumentException key (ABCDEFGH): Length is not valid.
sender: 36 QZHQSSRV  QUSER     ANNA 7 0
serialized: again
many threads, one system: true 200 null
many systems wait: [w0false, w1false, w2false, w3false, w4false, w5false]
a socket's time-out: IOException kept
disconnected and used again: false back true
the record of a format: lamp -9.95 12
every data type: same
deleted under a reader: ObjectDoesNotExistException 2
"""


def test_every_way_to_use_a_data_queue(serve, classes):
    """Order of several readers is theirs; 4 is OBJECT_AUTHORITY_INSUFFICIENT, 2 OBJECT_DOES_NOT_EXIST."""
    served = serve()
    lines = ran("-cp", f"{JAR}:{classes}:{HERE}", "Queues", *plain_ports(served))
    assert [line.rstrip() for line in lines] == QUEUES.strip().splitlines()
    eventually(lambda: not served.servers.connections)


PROGRAMS = """
queues: CPC9801 CPC9801 CPC2102
send by key: true true true
receive with all thirteen: true 3 aaa AAA QZRCSRVS ANNA
receive with the error in its code: true 43 CPF9801
receive of a null length: false CPF24B4
send with too few: false CPF24B4
send with half a group: false CPF24B4
send with too many: false CPF24B4
send of what is not packed: false CPF24B4
names of a user: true false CPF9810 true
clear by key: true XXX
messages of a queue: true 2 2 1ac
change: true 1
libraries: CPC2196 CPC2198 CPC2197 CPC2101 CPF2104
moved: CPC9801 true CPC2193 true CPC9801 true true 1 1, true 1 2, true 1 3, true 0
renamed: CPC9801 true CPC2192 true true 1 1, true 1 2, CPF2105 CPF2112 CPF2112 false CPF9801
moved under a connection: CPC2193 before after 2
messages as wanted: false 1 false 0 false 1
lower case and blanks: CPC9801 CPD0030 CPF0001 CPC2191
what a CL person mistypes: CPD0013 CPF0001 CPD0013 CPF0001 CPD0084 CPF0006 CPD0014 CPD0013 CPF0001 CPD0041 CPD0041 CPD0041 CPD0041 CPD0041 CPD0041 CPD0041 CPD0041 CPF0006 CPD0071 CPF0006 CPD0074 CPF0006 CPD0044 CPF0006 CPD0085 CPF0006
thread safety: false
a document: true 20 K K
job: ||/QSYS.LIB/QGPL.LIB/QPRINT.OUTQ 5 PRT01 4 0 *NOLIST 30 *RQD *NORMAL 00000000 ENU US / : *HEX *KEEP 2000 30 true *NONE 0 0
job dates: true true true null 0 0 *ACTIVE |
list of jobs: 0
description of an object: ObjectDoesNotExistException /QSYS.LIB/QUSROBJD.PGM: Object does not exist.
user: null
"""


def test_programs_commands_and_jobs(serve, classes):
    served = serve()
    lines = ran("-cp", f"{JAR}:{classes}:{HERE}", "Programs", *plain_ports(served))
    assert [line.rstrip() for line in lines] == PROGRAMS.strip().splitlines()
    eventually(lambda: not served.servers.connections)
