"""IBM's toolbox for Java, unmodified, against the host servers."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.server.hostservers.java import JAR, SHORT
from tests.server.hostservers.wire import eventually

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(
        JAR is None or shutil.which("javac") is None, reason="needs a JDK and the toolbox (Debian: libjt400-java)"
    ),
]

SEEN = """
unknown user: AS400SecurityException 8
wrong password: AS400SecurityException 8
sign on: true
vrm: 7.5
ccsid: 37
change password: true
old password: AS400SecurityException 8
change wrongly: AS400SecurityException 9
expired: AS400SecurityException 7
change expired: true
disabling 1: AS400SecurityException 8
disabling 2: AS400SecurityException 9
disabling 3: AS400SecurityException 8
disabling 4: AS400SecurityException 31
last sign-on: true
crtlib: true CPC2102 Library TESTLIB created.
bad command: false CPD0030 Command DSPNOTHING in library *LIBL not found. CPF0001 Error found on DSPNOTHING command.
bad keyword: false CPD0043 Keyword COLOR not valid for this command. CPF0006 Errors occurred in command.
absent: ObjectDoesNotExistException 2
create: made
create again: ObjectAlreadyExistsException
empty: null
short wait: null
write: sent
peek: first
read: first
sender: QZHQSSRV  QUSER     JOBNBRANNA
bytes: 3
too long: AS400Exception CPF2498
attributes: 100 A queue
not keyed: IllegalObjectTypeException
keyed create: made
keyed write: sent
keyed LE: AAA of AAA
keyed EQ: of XXX
keyed none: null
key length: AS400Exception CPF9506
is keyed: IllegalObjectTypeException
clear key: null
clear: null
waiting read: at last
ping: true
program: true 100 1
program refused: false CPF3C21 Format name RDQD9999 is not valid.
receive program: true 3 one
own program: true 42
no program: ObjectDoesNotExistException 2
no library: ObjectDoesNotExistException 1
server job: QZRCSRVS QUSER
delete: false
dltlib: true CPC2194 Library TESTLIB deleted.
library gone: ObjectDoesNotExistException 1
"""
"""32 is USERID_UNKNOWN, 31 USERID_DISABLE, 8 PASSWORD_INCORRECT, 9 the same before the last try, 7 PASSWORD_EXPIRED; 1 is LIBRARY_DOES_NOT_EXIST and 2 OBJECT_DOES_NOT_EXIST."""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_what_a_toolbox_program_sees(serve, classes, level):
    served = serve(level)

    def double(_job, number):
        number[:] = (2 * int.from_bytes(number, "big")).to_bytes(4, "big")

    def expire(job):
        job.system.chgusrprf(job.current_user, pwdexp=True)

    served.do(lambda: served.system.register_program("QGPL/DOUBLE", double))
    served.do(lambda: served.system.register_program("QGPL/EXPIRE", expire))
    ports = [str(served.ports[service]) for service in ("as-signon", "as-dtaq", "as-rmtcmd")]
    done = subprocess.run(
        ["java", *SHORT, "-cp", f"{JAR}:{classes}", "Toolbox", "127.0.0.1", *ports],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    lines = [re.sub(r"[0-9]{6}ANNA", "JOBNBRANNA", line).rstrip() for line in done.stdout.splitlines()]
    assert lines == SEEN.strip().splitlines(), done.stderr
    eventually(lambda: not served.servers.connections)  # the program may be gone before its farewell is read
    assert {account.wrong for account in served.accounts.values()} == {0}
