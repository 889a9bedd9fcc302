"""Every message of the four interfaces (and of the other APIs) is provoked: rows of ``ibmi_api_messages`` one by one."""

# ruff: noqa: B008  (the bytes of a letter)
from __future__ import annotations

import pytest

from tdqsim.facts import table
from tdqsim.ibmi import MESSAGES, EscapeMessage, MessagePlan, message
from tests.ibmi.conftest import b4, e, name20

ROWS = [(row["api"], row["message"], row["how"]) for row in table("ibmi_api_messages")]
P3, P2 = bytes.fromhex("00001F"), bytes.fromhex("000F")
NO_WAIT = bytes.fromhex("00000F")


class Calls:
    """The APIs in bytes, with what a test wants to be wrong passed by name."""

    def __init__(self, job):
        self.job = job

    def qmhrqdqd(self, queue="WORK", library="APPLIB", form="RDQD0100", length=120, receiver=None):
        self.job.call(
            "QMHQRDQD", bytearray(120) if receiver is None else receiver, b4(length), e(form), name20(queue, library)
        )

    def qmhrdqm(self, queue="WORK", library="APPLIB", form="RDQM0100", length=200, receiver=None, selection=None,
                selection_length=None, selection_form="RDQS0100", code=None):  # fmt: skip
        selection = selection or e("A   ") + b4(5)
        self.job.call("QMHRDQM", bytearray(200) if receiver is None else receiver, b4(length), e(form), name20(queue, library),
                      selection, b4(len(selection) if selection_length is None else selection_length), e(selection_form),
                      b4(0) if code is None else code)  # fmt: skip

    def by_key(self, queue="KEYED", kind="K", order="EQ", text=5, keys=3, key_length=3, **more):
        selection = e(kind + order + " ") + b4(text) + b4(keys) + b4(key_length) + b"AAA"
        self.qmhrdqm(queue, selection=selection, selection_form="RDQS0200", **more)

    def qmhqcdq(self, queue="WORK", library="APPLIB", count=1, key=100, length=1, value=e("1"), code=None):
        changes = b4(count) + b4(key) + b4(length) + value
        self.job.call("QMHQCDQ", name20(queue, library), changes, b4(0) if code is None else code)

    def qsnddtaq(self, queue="WORK", library="APPLIB", length=P3, data=b"x", *more):
        self.job.call("QSNDDTAQ", e(f"{queue:<10}"), e(f"{library:<10}"), length, data, *more)

    def qrcvdtaq(self, queue="WORK", library="APPLIB", wait=NO_WAIT, *more, data=None):
        data = bytearray(10) if data is None else data
        self.job.call("QRCVDTAQ", e(f"{queue:<10}"), e(f"{library:<10}"), bytearray(3), data, wait, *more)

    def keyed_receive(self, queue="KEYED", order="EQ", key=b"AAA", sender=P2, remove="*YES", code=None):
        digits = bytes.fromhex(f"{len(key):03d}F")
        self.qrcvdtaq(queue, "APPLIB", NO_WAIT, e(order), digits, bytearray(key), sender, bytearray(44), e(f"{remove:<10}"),
                      bytes.fromhex("00010F"), b4(0) if code is None else code)  # fmt: skip

    def qclrdtaq(self, queue="WORK", library="APPLIB", *more):
        self.job.call("QCLRDTAQ", e(f"{queue:<10}"), e(f"{library:<10}"), *more)

    def keyed_clear(self, queue="KEYED", order="EQ", key=b"AAA", code=None):
        self.qclrdtaq(
            queue, "APPLIB", e(order), bytes.fromhex(f"{len(key):03d}F"), key, b4(0) if code is None else code
        )

    def qwccvtdt(self, source="*YYMD", value="20240229134530123", target="*DTS", out=None, code=None, *more):
        out = bytearray(20) if out is None else out
        self.job.call(
            "QWCCVTDT", e(f"{source:<10}"), e(value), e(f"{target:<10}"), out, b4(0) if code is None else code, *more
        )


PLAIN = {"QMHQRDQD": "qmhrqdqd", "QMHRDQM": "qmhrdqm", "QMHQCDQ": "qmhqcdq", "QSNDDTAQ": "qsnddtaq", "QRCVDTAQ": "qrcvdtaq",
         "QCLRDTAQ": "qclrdtaq"}  # fmt: skip


def provoke_found(api, calls, scene):
    """What finding the queue can give, the same in every API."""
    call = getattr(calls, PLAIN[api])
    return {
        "CPF9801": lambda: call("NOWHERE"),
        "CPF9810": lambda: call("WORK", "NOLIB"),
        "CPF9807": lambda: (scene.delete_a_library(), call("WORK", "*LIBL")),
        "CPF9802": lambda: (scene.become("CARL"), call("SECRET")),
        "CPF9820": lambda: (scene.become("CARL"), call("WORK", "LOCKED")),
        "CPF9503": lambda: (scene.lock("*EXCL", enforce=True), call()),
        "CPF9510": lambda: call("FAR"),
        "CPF9511": lambda: call("FAR"),
    }


class Scene:
    def __init__(self, system, job):
        self.system, self.job, self.other = system, job, system.job("OTHER", user="ANNA")
        system.crtlib("LOCKED", aut="*EXCLUDE")
        system.crtlib("OLD")
        job.addlible("OLD")
        with system.job(user="QSECOFR") as officer:
            for keywords in (
                {"dtaq": "APPLIB/WORK", "maxlen": 10, "aut": "*ALL"},
                {"dtaq": "LOCKED/WORK", "maxlen": 10, "aut": "*ALL"},
                {"dtaq": "APPLIB/SECRET", "maxlen": 10, "aut": "*EXCLUDE"},
                {"dtaq": "APPLIB/KEYED", "maxlen": 10, "seq": "*KEYED", "keylen": 3, "aut": "*ALL"},
                {"dtaq": "APPLIB/FAR", "type": "*DDM", "rmtdtaq": "Q", "rmtlocname": "NOLINK", "aut": "*ALL"},
            ):
                officer.crtdtaq(**keywords)
        job.current_library = "APPLIB"

    def become(self, user):
        self.job.current_user = user

    def delete_a_library(self):
        self.job.current_library = ""
        self.system.dltlib("OLD")

    def lock(self, state, *, enforce, queue="WORK"):
        self.other.qmhqcdq(queue, "APPLIB", enforce_data_queue_locks=enforce)
        self.other.alcobj([(f"APPLIB/{queue}", state)])

    def wait(self):
        self.system.start(lambda other: other.qrcvdtaq("WORK", "APPLIB", -1))
        self.system.run()


def provoke(api, calls, scene):
    """For each message of an API, the call that brings it."""
    found = provoke_found(api, calls, scene) if api in PLAIN else {}
    if api == "QMHQRDQD":
        return found | {
            "CPF24B4": lambda: calls.job.call("QMHQRDQD", bytearray(8)),
            "CPF3C21": lambda: calls.qmhrqdqd(form="RDQD0300"),
            "CPF3C24": lambda: calls.qmhrqdqd(length=7),
            "CPF3C90": lambda: calls.qmhrqdqd(receiver=bytes(120)),
            "CPF9516": lambda: calls.qmhrqdqd(form="RDQD0200"),
        }
    if api == "QMHRDQM":
        return found | {
            "CPF3C21": lambda: calls.qmhrdqm(selection_form="RDQS0300"),
            "CPF3C24": lambda: calls.qmhrdqm(length=7),
            "CPF3C90": lambda: calls.qmhrdqm(receiver=bytes(200)),
            "CPF3CF1": lambda: calls.qmhrdqm(code=bytearray(b4(3) + bytes(8))),
            "CPF9504": lambda: calls.by_key(order="XX"),
            "CPF9509": lambda: calls.qmhrdqm(receiver=bytearray(7)),
            "CPF950B": lambda: calls.qmhrdqm(selection=e("X   ") + b4(5)),
            "CPF950C": lambda: calls.qmhrdqm(selection=e("A   ") + b4(65537)),
            "CPF950D": lambda: calls.qmhrdqm(selection_length=7),
            "CPF950E": lambda: calls.by_key("WORK"),
            "CPF950F": lambda: calls.by_key(key_length=0),
        }
    if api == "QMHQCDQ":
        return found | {
            "CPF24B4": lambda: calls.job.call("QMHQCDQ", None, b4(0), b4(0)),
            "CPF3C36": lambda: calls.job.call("QMHQCDQ", b4(0), b4(0)),
            "CPF3C4D": lambda: calls.qmhqcdq(length=-1),
            "CPF3C81": lambda: calls.qmhqcdq(value=e("2")),
            "CPF3C82": lambda: calls.qmhqcdq(key=300),
            "CPF3C88": lambda: calls.qmhqcdq(count=0),
            "CPF3C90": lambda: calls.qmhqcdq(code=b4(16) + bytes(12)),
            "CPF3CF1": lambda: calls.qmhqcdq(code=bytearray(b4(3) + bytes(8))),
            "CPF9503": lambda: (scene.wait(), calls.qmhqcdq()),
            "CPF9803": lambda: (scene.lock("*EXCL", enforce=False), calls.qmhqcdq()),
        }
    if api == "QSNDDTAQ":
        block = e(" " * 34 + "Y" + " " * 13) + e("J         ANNA      000001QSECOFR   ") + b"x"
        return found | {
            "CPF2207": lambda: (
                scene.other.crtdtaq(dtaq="APPLIB/SIGNED", maxlen=10, senderid="*YES"),
                calls.qsnddtaq(
                    "SIGNED", "APPLIB", bytes.fromhex("00085F"), block, P2, b"", e("*NO       "), e("*YES      ")
                ),
            ),
            "CPF24B4": lambda: calls.qsnddtaq(length=b4(1)[1:]),
            "CPF2498": lambda: calls.qsnddtaq(length=NO_WAIT),
            "CPF9501": lambda: calls.qsnddtaq("KEYED"),
            "CPF9502": lambda: calls.qsnddtaq("WORK", "APPLIB", P3, b"x", bytes.fromhex("001F"), b"K"),
            "CPF9506": lambda: calls.qsnddtaq("KEYED", "APPLIB", P3, b"x", bytes.fromhex("001F"), b"K"),
            "CPF950A": lambda: (
                scene.other.crtdtaq(dtaq="APPLIB/ONE", maxlen=10, size=[1, 1]),
                [calls.qsnddtaq("ONE") for _ in range(2)],
            ),
        }
    if api == "QRCVDTAQ":
        return found | {
            "CPF24B4": lambda: calls.qrcvdtaq(wait=b4(0)[1:]),
            "CPF2472": lambda: calls.qrcvdtaq(
                "WORK", "APPLIB", P3, e("  "), P2, b"", P2, bytearray(), e("*YES      "), P3, b4(0), e("*HOUR     ")
            ),
            "CPF3C36": lambda: calls.job.call("QRCVDTAQ"),
            "CPF3C90": lambda: calls.qrcvdtaq(data=bytes(10)),
            "CPF3CF1": lambda: calls.keyed_receive(code=bytearray(b4(3) + bytes(8))),
            "CPF9501": lambda: calls.qrcvdtaq("KEYED"),
            "CPF9502": lambda: calls.keyed_receive("WORK"),
            "CPF9504": lambda: calls.keyed_receive(order="XX"),
            "CPF9506": lambda: calls.keyed_receive(key=b"A"),
            "CPF9507": lambda: calls.keyed_receive(sender=bytes.fromhex("007F")),
            "CPF9511": lambda: calls.keyed_receive("FAR", key=b"", remove="*NO"),
            "CPF9805": lambda: delete_while_waiting(scene),
        }
    if api == "QCLRDTAQ":
        return found | {
            "CPF24B4": lambda: calls.job.call("QCLRDTAQ", e("WORK      "), None),
            "CPF3C36": lambda: calls.job.call("QCLRDTAQ", e("WORK      ")),
            "CPF3C90": lambda: calls.keyed_clear(code=b4(16) + bytes(12)),
            "CPF3CF1": lambda: calls.keyed_clear(code=bytearray(b4(3) + bytes(8))),
            "CPF9502": lambda: calls.keyed_clear("WORK"),
            "CPF9504": lambda: calls.keyed_clear(order="XX"),
            "CPF9506": lambda: calls.keyed_clear(key=b"A"),
            "CPF9511": lambda: calls.keyed_clear("FAR"),
        }
    if api == "QWCCVTDT":
        return {
            "CPF1060": lambda: calls.qwccvtdt(value="20230229134530123"),
            "CPF1061": lambda: calls.qwccvtdt(value="20240229244530123"),
            "CPF1848": lambda: calls.qwccvtdt("*YMD", "9240229134530123"),
            "CPF1849": lambda: calls.qwccvtdt(value="20990229134530123".replace("0229", "0228")),
            "CPF1850": lambda: calls.qwccvtdt("*XYZ"),
            "CPF24B4": lambda: calls.qwccvtdt(out=bytearray(7)),
            "CPF3C36": lambda: calls.job.call("QWCCVTDT"),
            "CPF3C90": lambda: calls.qwccvtdt(out=bytes(8)),
            "CPF3CF1": lambda: calls.qwccvtdt(code=bytearray(b4(3) + bytes(8))),
        }
    describe = calls.job.rtvdtaqxcl
    return {
        "XCL9002": lambda: describe("APPLIB/NOWHERE"),
        "XCL9003": lambda: (scene.lock("*EXCL", enforce=True), describe("APPLIB/WORK")),
        "XCL9004": lambda: (scene.delete_a_library(), describe("*LIBL/WORK")),
    }


def delete_while_waiting(scene):
    waiting = scene.system.start(lambda other: other.qrcvdtaq("WORK", "APPLIB", -1))
    scene.system.run()
    scene.system.profiles["ANNA"].allobj = True
    scene.other.dltdtaq("APPLIB/WORK")
    waiting.result()


def plan(scene, message_id, api):
    scene.system.faults = MessagePlan()
    scene.system.faults.add(message_id, operation=api)


@pytest.mark.parametrize(("api", "message_id", "how"), ROWS, ids=[f"{api}-{one}" for api, one, _ in ROWS])
def test_each_message(system, api, message_id, how):
    with system.job("WORKER", user="ANNA") as job:
        scene, calls = Scene(system, job), Calls(job)
        if how == "fault":
            cause = "CPF9872" if message_id.startswith("XCL") else message_id
            plan(scene, cause, "QMHQRDQD" if message_id.startswith("XCL") else api)
            act = (lambda: job.rtvdtaqxcl("APPLIB/WORK")) if api == "RTVDTAQXCL" else getattr(calls, PLAIN[api])
        else:
            act = provoke(api, calls, scene)[message_id]
        with pytest.raises(EscapeMessage) as caught:
            act()
        assert caught.value.message_id == message_id
        assert "&" not in caught.value.text
        if how == "fault":
            act()  # planned once, it is over


def test_every_message_has_text_and_data():
    for described in MESSAGES.values():
        values = [7 if kind == "B" else "NAME" for kind, length in described.data if length]
        sent = message(described.id, *values)
        assert len(sent.message_data) == sum(length for _, length in described.data)
        assert "&" not in sent.text
    with pytest.raises(ValueError, match="CPF9801 has 3 variables"):
        message("CPF9801", "X")


def test_the_data_of_messages_about_objects(job):
    with pytest.raises(EscapeMessage) as caught:
        job.qrcvdtaq("NOWHERE", "APPLIB")
    assert caught.value.message_data == e("NOWHERE   APPLIB    DTAQ   ")
    assert str(caught.value) == "CPF9801 Object NOWHERE in library APPLIB not found."
    assert caught.value.severity == 40


def test_a_fault_plan_chooses(job):
    job.crtdtaq(dtaq="APPLIB/WORK", maxlen=10)
    job.crtdtaq(dtaq="APPLIB/REST", maxlen=10)
    faults = job.system.faults = MessagePlan()
    faults.add("CPF8147", operation="QSNDDTAQ", name="WORK", times=2)
    job.qsnddtaq("REST", "APPLIB", b"x")
    for _ in range(2):
        with pytest.raises(EscapeMessage, match=r"CPF8147 Full damage on data queue WORK in APPLIB\. VLOG-00000000\."):
            job.qsnddtaq("WORK", "APPLIB", b"x")
    job.qsnddtaq("WORK", "APPLIB", b"x")
    with pytest.raises(ValueError, match="no such message"):
        faults.add("CPF0000")
