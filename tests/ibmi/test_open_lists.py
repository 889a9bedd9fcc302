"""QGYOLJBL, QGYGTLE and QGYCLST: the messages of a job's log, as a program gets them."""

from __future__ import annotations

import struct

import pytest

from tdqsim.ibmi import ErrorCode, EscapeMessage
from tests.ibmi.conftest import b4, e


def selection(fields=(302,), of="*", direction="*NEXT", start=b"\0\0\0\0", text=511, told=3000):
    name, user, number = ("*", "", "") if of == "*" else reversed(of.split("/"))
    head = e(f"{direction:<10}{name:<10}{user:<10}{number:<6}{'':<16}") + start
    numbers = (text, told, 80, len(fields), 80 + 4 * len(fields), 1)
    return head + struct.pack(">6i", *numbers) + b"".join(map(b4, fields)) + e("*")


def information(raw):
    records, returned, handle = struct.unpack_from(">ii4s", raw)
    written, first = struct.unpack_from(">ii", raw, 32)
    return records, returned, handle, raw[16:17].decode("cp037"), raw[30:31].decode("cp037"), written, first


def opened(job, **chosen):
    """The handle of a list, and how many messages it has."""
    about, raw = bytearray(80), selection(**chosen)
    job.call_program("QGYOLJBL", "QGY", [bytearray(0), b4(0), about, b4(-1), raw, b4(len(raw)), bytearray(8)])
    records, returned, handle, _, status, _, _ = information(about)
    assert (returned, status) == (0, "2")
    return handle, records


def got(job, handle, number, first=1, room=20_000):
    """The records, taken apart: id, type, key, severity, and the fields by identifier; what the call said of them."""
    receiver, about = bytearray(room), bytearray(80)
    job.call_program("QGYGTLE", "QSYS", [receiver, b4(room), handle, about, b4(number), b4(first), bytearray(8)])
    said, at, found = information(about), 0, []
    for _ in range(said[1]):
        after, place, count, severity = struct.unpack_from(">4i", receiver, at)
        fields = {}
        for _ in range(count):
            following, _, field = struct.unpack_from(">3i", receiver, place)
            length = struct.unpack_from(">i", receiver, place + 28)[0]
            fields[field] = (
                receiver[place + 12 : place + 13].decode("cp037"),
                bytes(receiver[place + 32 : place + 32 + length]),
            )
            place = following
        words = receiver[at + 16 : at + 25].decode("cp037")
        assert receiver[at + 29 : at + 49].decode("cp037") == "QCPFMSG   QSYS      "
        found.append((words[:7], words[7:], bytes(receiver[at + 25 : at + 29]), severity, fields))
        at = after
    assert at == said[5]
    return found, said


@pytest.fixture
def logged(job):
    """A job with three messages in its log: CPC9801, CPD0043, CPF0006."""
    job.crtdtaq("APPLIB/Q", maxlen=5)
    with pytest.raises(EscapeMessage):
        job.command("CRTLIB NEW COLOR(RED)")
    return job


def test_the_messages_of_the_own_log(logged):
    handle, count = opened(logged, fields=(201, 301, 302, 401, 402, 607, 1201, 1301, 606))
    assert count == 3
    found, said = got(logged, handle, 3)
    assert [one[:2] for one in found] == [("CPC9801", "01"), ("CPD0043", "02"), ("CPF0006", "15")]
    assert said[1] == 3
    assert (said[3], said[6]) == ("C", 1)
    fields = found[0][4]
    assert fields[201] == ("C", logged.joblog[0].message_data)
    assert fields[301] == ("C", e("Object &2 type *&5 created in library &3."))
    assert fields[302] == ("C", e("Object Q type *DTAQ created in library APPLIB."))
    assert e("Object &2 of type *&5") in fields[401][1]
    assert fields[402][1].startswith(e("Cause"))
    assert (fields[607], fields[1201], fields[1301]) == (("C", e(logged.user)), ("B", b4(0)), ("B", b4(37)))
    assert fields[606] == ("M", b4(0))
    assert [one[3] for one in found] == [one.severity for one in logged.joblog]


def test_direction_start_and_part_of_a_list(logged):
    handle, _ = opened(logged)
    keys = [one[2] for one in got(logged, handle, 3)[0]]
    backward, count = opened(logged, direction="*PRV", start=b"\xff\xff\xff\xff")
    assert count == 3
    assert [one[2] for one in got(logged, backward, 3)[0]] == keys[::-1]
    assert opened(logged, start=keys[1])[1] == 2
    assert opened(logged, direction="*PRV", start=keys[0])[1] == 1
    assert [one[2] for one in got(logged, handle, 5, first=2)[0]] == keys[1:]
    assert got(logged, handle, 0, first=0)[1][:2] == (3, 0)
    for first, key in enumerate(keys, 1):  # a page of one record
        page, said = got(logged, handle, 1, first=first)
        assert ([one[2] for one in page], said[1], said[3], said[6]) == ([key], 1, "C", first)
        assert got(logged, handle, 1, first=first, room=said[5])[0] == page
    few, said = got(logged, handle, 3, room=150)
    assert (len(few), said[3]) == (1, "P")
    assert got(logged, handle, 3, room=10)[1][1:4:2] == (0, "P")
    short, _ = opened(logged, text=6)
    assert got(logged, short, 1)[0][0][4][302][1] == e("Object")


def test_messages_keep_their_keys_when_the_oldest_ones_are_dropped_from_the_log(logged):
    for _ in range(10_000):
        logged.chglibl()
    handle, count = opened(logged)
    assert count == 10_000
    assert got(logged, handle, 1)[0][0][:3] == ("CPC2101", "01", b4(4))
    with pytest.raises(EscapeMessage, match="CPF0006"):
        logged.command("CRTDTAQ DTAQ(APPLIB/Q) MAXLEN(0) NOSUCH(1)")
    handle, _ = opened(logged)
    assert got(logged, handle, 1)[0][0][:3] == ("CPC2101", "01", b4(7))


def test_a_list_is_what_the_log_was_and_ends(logged):
    handle, _ = opened(logged)
    logged.crtdtaq("APPLIB/LATER", maxlen=5)
    assert got(logged, handle, 9)[1][0] == 3
    logged.call_program("QGYCLST", "QSYS", [handle, bytearray(8)])
    for refused in (
        ("QGYCLST", [handle, bytearray(8)]),
        ("QGYGTLE", [bytearray(80), b4(80), handle, bytearray(80), b4(1), b4(1), bytearray(8)]),
    ):
        with pytest.raises(EscapeMessage, match="CPF24B4"):
            logged.call_program(refused[0], "*LIBL", refused[1])


def test_of_many_lists_the_oldest_is_closed(logged):
    handles = [opened(logged)[0] for _ in range(20)]
    assert got(logged, handles[0], 3)[1][1] == 3
    handles.append(opened(logged)[0])
    assert got(logged, handles[1], 3)[1][1] == 3
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        got(logged, handles[0], 3)
    logged.call_program("QGYCLST", "QSYS", [handles[5], bytearray(8)])
    handles.append(opened(logged)[0])
    assert len(set(handles)) == 22


def test_other_jobs(system, logged):
    mine = system.job("SECOND", user=logged.user)
    assert opened(mine, of=logged.qualified_name)[1] == 3
    officer = system.job("OFFICER", user="QSECOFR")
    handle, _ = opened(officer, of=logged.qualified_name, fields=(607,))
    assert got(officer, handle, 1)[0][0][4][607] == ("C", e(logged.user))
    stranger = system.job("OTHER", user="BERT")
    with pytest.raises(EscapeMessage, match="CPF2441"):
        opened(stranger, of=logged.qualified_name)
    with pytest.raises(EscapeMessage, match="CPF1070"):
        opened(stranger, of="999999/NOBODY/NONE")
    raw, code = selection(of="999999/NOBODY/NONE"), ErrorCode(100)
    stranger.call_program(
        "QGYOLJBL", "QGY", [bytearray(0), b4(0), bytearray(80), b4(-1), raw, b4(len(raw)), code.storage]
    )
    assert code.report().exception_id == "CPF1070"


@pytest.mark.parametrize(
    "raw",
    [b"", selection()[:79], selection(fields=(999,)), selection(direction="*SIDE"), selection()[:68] + b4(-1) + selection()[72:],
     selection()[:68] + b4(1 << 30) + selection()[72:], selection()[:64] + b4(1 << 30) + selection()[68:]],
)  # fmt: skip
def test_a_selection_that_is_none(logged, raw):
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        logged.call_program(
            "QGYOLJBL", "QGY", [bytearray(0), b4(0), bytearray(80), b4(-1), raw, b4(len(raw)), bytearray(8)]
        )


@pytest.mark.parametrize(("number", "first"), [(-1, 1), (1, 0), (1, -1), (1, 4), (1, -2)])
def test_records_that_there_are_not(logged, number, first):
    handle, _ = opened(logged)
    with pytest.raises(EscapeMessage, match="CPF24B4"):
        got(logged, handle, number, first)
