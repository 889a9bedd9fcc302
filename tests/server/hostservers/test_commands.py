"""The remote command server by hand: commands, programs with typed parameters, messages in both forms."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, Parm
from tdqsim.server.hostservers import SignOnCode, block
from tests.server.hostservers.wire import RECEIVE_NOW, eventually, send


@pytest.fixture
def client(served, connect):
    made = connect(served, "as-rmtcmd", 0xE008)
    assert made.sign_on() == 0
    assert made.ask(0x1001, bytes(14), template=14).request == 0x8001
    return made


def e(text: str) -> bytes:
    return text.encode("cp037")


def run(client, text, option=4):
    got = client.ask(0x1002, bytes((option,)) + block(0x1104, (1200).to_bytes(4, "big") + text.encode("utf-16-be")))
    return got.number(20, 2), messages(got.body[2:])


def call(client, program, library, parameters, option=4):
    """Each parameter: usage, full length, bytes."""
    body = e(f"{program:<10}{library:<10}") + bytes((option,)) + len(parameters).to_bytes(2, "big")
    for usage, length, data in parameters:
        body += block(0x1103, length.to_bytes(4, "big") + usage.to_bytes(2, "big") + data)
    got = client.ask(0x1003, body, template=23)
    code = got.number(20, 2)
    if code:
        return code, messages(got.body[2:])
    at, found = 4, []
    while at < len(got.body):
        length = int.from_bytes(got.body[at : at + 4], "big")
        found.append(got.body[at + 12 : at + length])
        at += length
    return code, found


def messages(body):
    """(type, id, severity, text, data, help) of each message in a reply."""
    count, at, found = int.from_bytes(body[:2], "big"), 2, []
    for _ in range(count):
        length, point = int.from_bytes(body[at : at + 4], "big"), int.from_bytes(body[at + 4 : at + 6], "big")
        found.append((_long if point & 0xFF == 6 else _short)(body[at : at + length]))
        at += length
    assert at == len(body)
    return found


def _long(one):
    fields, at = [], 16
    while at < len(one):
        size = int.from_bytes(one[at : at + 4], "big")
        fields.append(one[at + 4 : at + 4 + size])
        at += 4 + size
    kind, message_id, file, library, text, data, told = fields
    assert (file, library) == (e("QCPFMSG   "), e("QSYS      "))
    return (*(x.decode("cp037") for x in (kind, message_id)), int.from_bytes(one[14:16], "big"), text.decode("cp037"), data,
            told.decode("cp037"))  # fmt: skip


def _short(one):
    data, text = int.from_bytes(one[37:39], "big"), int.from_bytes(one[39:41], "big")
    assert len(one) == 41 + data + text
    return (one[13:15].decode("cp037"), one[6:13].decode("cp037"), int.from_bytes(one[15:17], "big"),
            one[41 + data :].decode("cp037"), one[41 : 41 + data], "")  # fmt: skip


def heads(sent):
    return [(kind, message_id) for kind, message_id, *_ in sent]


def test_a_completion_and_a_refusal_have_all_their_parts(client):
    code, (sent,) = run(client, "CRTLIB TESTLIB")
    assert code == 0
    assert sent == (
        "01",
        "CPC2102",
        0,
        "Library TESTLIB created.",
        e("TESTLIB   "),
        "Cause . . . . . :   Library TESTLIB was created.",
    )
    code, (diagnostic, escape) = run(client, "CRTDTAQ TESTLIB/Q MAXLEN(70000)")
    assert code == 0x0400
    kind, message_id, severity, text, data, told = diagnostic
    assert (kind, message_id, severity) == ("02", "CPD0085", 30)
    assert text == "Value '70000' for parameter MAXLEN must be from 1 to 64512."
    assert data == e(f"{'MAXLEN':<10}{'70000':<20}") + (1).to_bytes(4, "big") + (64512).to_bytes(4, "big")
    assert "Recovery" in told
    assert escape[:4] == ("15", "CPF0006", 30, "Errors occurred in command.")


@pytest.mark.parametrize(("option", "count", "long"), [(0, 10, False), (1, 0, False), (2, 13, False), (3, 10, True), (4, 13, True), (5, 10, True), (6, 13, True)])  # fmt: skip
def test_as_many_messages_as_are_asked_for_in_the_form_of_the_option(client, option, count, long):
    wrong = " ".join(f"K{number}(1)" for number in range(11))
    code, sent = run(client, f"CRTLIB {wrong}", option)
    assert (code, len(sent)) == (0x0400, count)  # eleven keywords, LIB is missing, and the escape message
    if count:
        assert sent[-1][1] == "CPF0006"
        assert bool(sent[-1][5]) is long


def test_every_command_of_a_queue_s_life(served, client):
    done = [
        ("CRTLIB LIB(TESTLIB) TEXT('It''s one') AUT(*ALL)", "CPC2102"), ("CRTLIB OTHER", "CPC2102"),
        ("ADDLIBLE TESTLIB", "CPC2196"), ("CHGLIBL LIBL(TESTLIB OTHER QGPL) CURLIB(TESTLIB)", "CPC2101"),
        ("RMVLIBLE QGPL", "CPC2197"), ("CRTDTAQ DTAQ(Q1) MAXLEN(10)", "CPC9801"), ("CRTDTAQ Q2 10", "CPC9801"),
        ("ALCOBJ OBJ((Q1 *DTAQ *EXCL) (TESTLIB/Q2 *DTAQ *SHRRD)) WAIT(0)", None), ("DLCOBJ ((Q1 *DTAQ *EXCL) (Q2 *DTAQ *SHRRD))", None),
        ("GRTOBJAUT OBJ(Q1) OBJTYPE(*DTAQ) USER(BERT *PUBLIC) AUT(*USE *ADD)", "CPC2201"),
        ("RVKOBJAUT Q1 *DTAQ BERT *ALL", "CPC2202"), ("MOVOBJ TESTLIB/Q1 *DTAQ OTHER", "CPC2193"),
        ("RNMOBJ OBJ(OTHER/Q1) OBJTYPE(*DTAQ) NEWOBJ(QX)", "CPC2192"), ("DLTDTAQ TESTLIB/Q*", "CPC2191"),
        ("CHGLIBL OTHER CURLIB(*CRTDFT)", "CPC2101"), ("DLTLIB TESTLIB", "CPC2194"),
    ]  # fmt: skip
    for text, completion in done:
        code, sent = run(client, text)
        assert (text, code, [one[1] for one in sent]) == (text, 0, [completion] if completion else [])
    assert run(client, "SBMJOB CMD(CRTDTAQ OTHER/NEW 5) JOB(MAKEIT)")[1][0][1] == "CPC1221"
    eventually(
        lambda: served.do(lambda: [one.qualified for one in served.system.queues()]) == ["OTHER/NEW", "OTHER/QX"]
    )
    refused = [
        ("DLTDTAQ OTHER/NONE", [("15", "CPF2105")]), ("DLTDTAQ OTHER/Z*", [("15", "CPF2105")]), ("CHGDTAQ X", [("02", "CPD0030"), ("15", "CPF0001")]),
        ("CRTLIB OTHER", [("15", "CPF2111")]), ("CRTUSRPRF CARL SPCAUT(*ALLOBJ)", [("15", "CPF2292")]), ("ADDLIBLE NONE", [("15", "CPF2110")]),
        ("RMVLIBLE NONE", [("15", "CPF2104")]), ("CALL NOPE", [("15", "MCH3401")]),
    ]  # fmt: skip
    for text, ids in refused:
        code, sent = run(client, text)
        assert (text, code, heads(sent)) == (text, 0x0400, ids)
    logged = [one[1] for one in run(client, "DSPJOBLOG")[1]]
    assert logged == [
        *(completion for _, completion in done if completion), "CPC1221",
        *(message_id for _, ids in refused for _, message_id in ids),
    ]  # fmt: skip


def test_an_officer_creates_profiles(served, connect):
    served.do(lambda: served.system.crtusrprf("ANNA", allobj=True))
    client = connect(served, "as-rmtcmd", 0xE008)
    assert client.sign_on() == 0
    assert run(client, "CRTUSRPRF USRPRF(CARL) PASSWORD(*NONE) STATUS(*DISABLED) GRPPRF(ANNA)")[1][0][1] == "CPC2205"
    assert run(client, "CRTUSRPRF USRPRF(DORA) PASSWORD('*SECRET')")[0] == 0x0400
    profiles = served.do(lambda: dict(served.system.profiles))
    assert profiles["CARL"].disabled
    assert "DORA" not in profiles


def test_passwords_by_command(served, connect):
    served.do(lambda: served.system.crtusrprf("ANNA", allobj=True))
    client = connect(served, "as-rmtcmd", 0xE008)
    assert client.sign_on() == 0

    def tried(user, password):
        return connect(served, "as-dtaq", 0xE007).sign_on(user, password)

    for command, password, code in (
        ("CRTUSRPRF DORA SECRET", "SECRET", 0), ("CRTUSRPRF USRPRF(EMIL) PASSWORD('Mixed case 1')", "Mixed case 1", 0),
        ("CRTUSRPRF FRED PASSWORD(*USRPRF)", "FRED", 0), ("CRTUSRPRF GERD", "GERD", SignOnCode.PASSWORD_NONE),
        ("CRTUSRPRF HANS X PWDEXP(*YES)", "X", SignOnCode.PASSWORD_EXPIRED),
        ("CRTUSRPRF INES X STATUS(*DISABLED)", "X", SignOnCode.USER_DISABLED),
        ("CHGUSRPRF INES STATUS(*ENABLED)", "X", 0), ("CHGUSRPRF INES PASSWORD(*USRPRF)", "INES", 0),
        ("CHGUSRPRF INES PASSWORD(*NONE)", "INES", SignOnCode.PASSWORD_NONE), ("CHGUSRPRF INES other", "OTHER", 0),
    ):  # fmt: skip
        assert run(client, command)[0] == 0, command
        assert tried(command.split()[1].removeprefix("USRPRF(").rstrip(")"), password) == code, command
    for command in ("CRTUSRPRF JANA ''", f"CRTUSRPRF JANA '{'x' * 129}'", "CRTUSRPRF JANA '*X'", "CHGUSRPRF NOBODY X"):
        assert run(client, command)[0] == 0x0400, command
    assert "JANA" not in served.do(lambda: dict(served.system.profiles))


@pytest.fixture
def programs(served):
    def add(job, one, two, note):
        if note == "fail":
            raise RuntimeError("a bug of the program")
        if note == "refuse":
            job.fail("CPF2110", "GONE")
        return one + two, (note or "nothing").upper()

    parms = [
        Parm("one", "PACKED(5:0)", use="inout"), Parm("two", "INT(10)"), Parm("said", "CHAR(2000)", use="out"),
        Parm("note", "CHAR(10)", optional=True, omissible=True),
    ]  # fmt: skip

    def register():
        served.system.register_program("QGPL/ADD", add, parms)

    served.do(register)


ONE, TWO = b"\x00\x01\x0f", b"\0\0\0\x02"


def test_a_typed_program_over_the_wire(client, programs):
    said = e(f"{'NOTHING':<2000}")
    for more in ([], [(0xFF, 0, b"")]):  # left out, null
        assert call(client, "ADD", "*LIBL", [(33, 3, ONE), (11, 4, TWO), (22, 2000, b""), *more]) == (
            0,
            [b"\x00\x01\x2f", said],
        )
    noted = (21, 10, e("abc") + b"\x1b\x40\x40\x00\x03\x40")  # compressed
    assert call(client, "ADD", "QGPL", [(23, 3, ONE), (11, 4, TWO), (12, 2000, b""), noted])[1][1] == e(
        f"{'ABC':<2000}"
    )
    assert call(client, "ADD", "QGPL", [(13, 3, ONE), (1, 4, TWO), (2, 2000, b"")])[1][0] == b"\x00\x01\x2f"


@pytest.mark.parametrize(
    ("parameters", "message_id"),
    [
        ([(33, 3, ONE), (11, 4, TWO)], "MCH0802"),
        ([(33, 2, ONE[:2]), (11, 4, TWO), (22, 2000, b"")], "CPF24B4"),
        ([(33, 3, ONE), (11, 4, TWO), (22, 1999, b"")], "CPF24B4"),
        ([(33, 3, b"\x40\x40\x40"), (11, 4, TWO), (22, 2000, b"")], "MCH1202"),
        ([(0xFF, 0, b""), (11, 4, TWO), (22, 2000, b"")], "MCH3601"),
        ([(33, 3, ONE), (11, 4, TWO), (22, 2000, b""), (11, 10, e("fail      "))], "CPF9999"),
        ([(33, 3, ONE), (11, 4, TWO), (22, 2000, b""), (11, 10, e("refuse    "))], "CPF2110"),
    ],
)
def test_what_a_program_refuses_comes_back_as_messages(client, programs, parameters, message_id):
    code, sent = call(client, "ADD", "QGPL", parameters)
    assert code == 0x0501
    assert sent[-1][:2] == ("15", message_id)
    if message_id == "CPF9999":
        assert sent[0][3] == "RuntimeError: a bug of the program"
    assert call(client, "ADD", "QGPL", [(33, 3, ONE), (11, 4, TWO), (22, 2000, b"")])[0] == 0  # the connection goes on


@pytest.mark.parametrize(
    "error",
    [SystemExit("the end"), TdqError("a bug"), RecursionError("deep"), StopIteration(), OSError(28, "full")],
    ids=repr,
)
def test_whatever_a_program_raises_is_a_message(served, client, error):
    def fail(_job):
        raise error

    served.do(lambda: served.system.register_program("QGPL/FAIL", fail))
    for _ in range(2):  # the connection goes on
        code, sent = call(client, "FAIL", "QGPL", [])
        assert (code, heads(sent)[-1]) == (0x0501, ("15", "CPF9999"))
        assert sent[0][3] == f"{type(error).__name__}: {error}"
        code, sent = run(client, "CALL QGPL/FAIL")
        assert (code, heads(sent)[-1]) == (0x0400, ("15", "CPF9999"))


def test_a_program_that_is_not_there(client):
    for program, library, kind, named in (("NOPE", "QGPL", b"\2\1", "NOPE"), ("ADD", "NOLIB", b"\4\1", "NOLIB")):
        code, (sent,) = call(client, program, library, [])
        assert (code, sent[1], sent[4]) == (0x0500, "MCH3401", kind + e(f"{named:<30}"))


def test_a_typed_program_from_qcmdexc_and_submitted(served, client, programs):
    seen = []
    served.do(lambda: served.system.register_program("QGPL/SEE", lambda job, text: seen.append((job.name, text)), [Parm("text", "CHAR(5)")]))  # fmt: skip
    command = "CALL QGPL/SEE PARM('one')"
    length = bytes.fromhex(f"{len(command) * 10**5:015d}F")
    assert call(client, "QCMDEXC", "QSYS", [(11, len(command), e(command)), (11, 8, length)]) == (0, [])
    assert run(client, "SBMJOB CMD(CALL QGPL/SEE PARM('two')) JOB(NIGHT)")[0] == 0
    eventually(lambda: seen == [("QZRCSRVS", "one"), ("NIGHT", "two")])


def test_a_job_log_of_another(served, client):
    def other():
        job = served.system.job("OTHER", user="BERT")
        with pytest.raises(EscapeMessage):
            job.command("NONSENSE")
        return job.qualified_name

    name = served.do(other)
    assert heads(run(client, f"DSPJOBLOG JOB({name})")[1]) == [("15", "CPF2441")]
    served.do(lambda: served.system.crtusrprf("ANNA", allobj=True))
    assert heads(run(client, f"DSPJOBLOG JOB({name}) OUTPUT(*PRINT)")[1]) == [("02", "CPD0030"), ("15", "CPF0001")]
    assert heads(run(client, "DSPJOBLOG JOB(000000/X/Y)")[1]) == [("15", "CPF1070")]
    assert heads(run(client, "DSPJOBLOG JOB(1/X/Y)")[1]) == [("02", "CPD0084"), ("15", "CPF0006")]


def test_commands_and_changes_of_data_queues_are_in_the_audit_log(served, connect, client):
    """A command by its name alone, without a library; a queue once for each operation of a connection, with their number."""
    served.do(lambda: served.system.job(user="QSECOFR").crtdtaq("QGPL/Q", maxlen=10, aut="*ALL"))
    queue = connect(served, "as-dtaq", 0xE007)
    assert queue.sign_on() == 0
    with capture_logs() as lines:
        run(client, "QSYS/CRTUSRPRF USRPRF(EVE) PASSWORD(TOPSECRET)")
        for _time in range(3):
            queue.ask(5, send(b"SECRET"), template=22)
        queue.ask(2, RECEIVE_NOW, template=28)
        queue.socket.close()
        eventually(lambda: len([line for line in lines if line["event"] == "change"]) == 3)
    command, sent, received = [line for line in lines if line["event"] == "change"]
    assert (command["interface"], command["operation"], command["userid"]) == ("as-rmtcmd", "CRTUSRPRF", "ANNA")
    assert (sent["interface"], sent["operation"], sent["dtaq"], sent["times"]) == ("as-dtaq", "QSNDDTAQ", "QGPL/Q", 3)
    assert (received["operation"], received["times"], received["system"]) == ("QRCVDTAQ", 1, "SYS1")
    assert "SECRET" not in str(lines)
