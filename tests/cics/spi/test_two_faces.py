"""Every declared option runs through the Python and the text face of its command, and the EIBs are compared."""

from __future__ import annotations

import pytest

from tdqsim.cics import Abend, Condition
from tdqsim.cics.kernel.abstime import FormattedTime
from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.facts import INQUIRE_OPTIONS
from tests.cics.spi.helpers import region

INTRA_ONLY = {"triggerlevel": 7, "enablestatus": "DISABLED"}


def quoted(value):
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(int(value))


# (command, what is given by parameter, words of receivers)
CASES = [
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "length": 2}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "sysid": "TDQ1"}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "sysid": "NONE"}, ()),
    ("WRITEQ TD", {"queue": "PAYQ", "from_": b"abc", "length": 0}, ()),
    ("WRITEQ TD", {"queue": "NOQ", "from_": b"abc"}, ()),
    ("READQ TD", {"queue": "FULL", "length": 5, "sysid": "TDQ1", "nosuspend": True}, ("INTO",)),
    ("READQ TD", {"queue": "FULL"}, ("SET", "LENGTH")),
    ("READQ TD", {"queue": "FULL", "length": 2}, ("INTO",)),
    ("READQ TD", {"queue": "FULL", "length": -1}, ("INTO",)),
    ("READQ TD", {"queue": "PAYQ"}, ("INTO",)),
    ("DELETEQ TD", {"queue": "FULL", "sysid": "TDQ1"}, ()),
    ("DELETEQ TD", {"queue": "EXTO"}, ()),
    *(
        ("INQUIRE TDQUEUE", {"tdqueue": name}, tuple(INQUIRE_OPTIONS["TDQUEUE"]))
        for name in ("PAYQ", "EXTO", "ALIA", "REMQ")
    ),
    ("INQUIRE TDQUEUE", {"tdqueue": "NOQ"}, ("TYPE",)),
    ("INQUIRE TDQUEUE START", {}, ()),
    ("INQUIRE TDQUEUE NEXT", {}, ("TDQUEUE", "TYPE")),
    ("INQUIRE TDQUEUE END", {}, ()),
    ("SET TDQUEUE", {"tdqueue": "PAYQ", **INTRA_ONLY}, ()),
    ("SET TDQUEUE", {"tdqueue": "PHYQ", "atifacility": "NOTERMINAL", "atitranid": "PAY2", "atiuserid": "BOB"}, ()),
    ("SET TDQUEUE", {"tdqueue": "PHYQ", "atifacility": "TERMINAL", "atitermid": "T009"}, ()),
    ("SET TDQUEUE", {"tdqueue": "EXTO", "openstatus": "OPEN"}, ()),
    ("SET TDQUEUE", {"tdqueue": "ALIA", "enablestatus": "ENABLED"}, ()),
    ("CREATE TDQUEUE", {"tdqueue": "NEWQ", "attributes": "TYPE(INTRA)  ", "attrlen": 11, "logmessage": "LOG"}, ()),
    ("CREATE TDQUEUE", {"tdqueue": "NEWQ", "attributes": "NONSENSE"}, ()),
    ("DISCARD TDQUEUE", {"tdqueue": "PHYQ"}, ()),
    ("DISCARD TDQUEUE", {"tdqueue": "PAYQ"}, ()),
    *(
        case
        for resource, known, unknown in (("TRANSACTION", "PAYP", "NOTR"), ("CONNECTION", "CICB", "NONE"))
        for word in [resource.lower()]
        for case in (
            (f"INQUIRE {resource}", {word: known}, tuple(INQUIRE_OPTIONS[resource])),
            (f"INQUIRE {resource}", {word: unknown}, tuple(INQUIRE_OPTIONS[resource])[:1]),
            (f"INQUIRE {resource} START", {}, ()),
            (f"INQUIRE {resource} NEXT", {}, (resource, *INQUIRE_OPTIONS[resource])),
            (f"INQUIRE {resource} END", {}, ()),
        )
    ),
    ("INQUIRE UOW", {"uow": b"\xff" * 16}, ("UOWSTATE",)),
    ("INQUIRE UOW START", {}, ()),
    ("INQUIRE UOW NEXT", {}, ("UOW", "UOWSTATE")),
    ("INQUIRE UOW END", {}, ()),
    ("INQUIRE UOWENQ START", {"resource": "TERQ"}, ()),
    ("INQUIRE UOWENQ START", {"resource": "TERQ", "reslen": 4, "enqscope": "    "}, ()),
    ("INQUIRE UOWENQ START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE UOWENQ NEXT", {}, ("RESOURCE", "UOW")),
    ("INQUIRE UOWENQ END", {}, ()),
    ("INQUIRE ENQ START", {"resource": "TERQ", "reslen": 4, "enqscope": "    "}, ()),
    ("INQUIRE ENQ START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE ENQ NEXT", {}, ("RESOURCE", "UOW")),
    ("INQUIRE ENQ END", {}, ()),
    ("INQUIRE TASK LIST", {"dispatchable": True, "running": True, "suspended": True}, ()),
    ("SET UOWLINK", {"uowlink": b"\xff" * 4, "action": "DELETE"}, ()),
    ("SET TASK", {"task": 99_000, "purgetype": "PURGE"}, ()),
    ("INQUIRE UOWLINK", {"uowlink": b"\xff" * 4}, ("ROLE",)),
    ("INQUIRE UOWLINK START", {"uow": b"\xff" * 16}, ()),
    ("INQUIRE UOWLINK NEXT", {}, ("UOWLINK", "ROLE")),
    ("INQUIRE UOWLINK END", {}, ()),
    ("INQUIRE TASK", {"task": 99_000}, ("RUNSTATUS",)),
    ("SET TRANSACTION", {"transaction": "PAYP", "status": "DISABLED"}, ()),
    ("SET UOW", {"uow": b"\xff" * 16, "uowstate": "COMMIT"}, ()),
    ("EXTRACT STATISTICS", {"resid": "PAYQ", "tdqueue": True}, ("SET",)),
    ("EXTRACT STATISTICS", {"resid": "NOQ", "tdqueue": True}, ("SET",)),
    ("PERFORM STATISTICS", {"record": True, "tdqueue": True, "resetnow": True}, ()),
    ("SYNCPOINT", {}, ()),
    ("SYNCPOINT ROLLBACK", {}, ()),
    ("ENQ", {"resource": b"LOCK", "task": True, "nosuspend": True}, ()),
    ("ENQ", {"resource": b"LOCKED", "length": 4, "uow": True}, ()),
    ("ENQ", {"resource": b"LOCK", "length": 0}, ()),
    ("DEQ", {"resource": b"LOCK", "task": True}, ()),
    ("DEQ", {"resource": b"LOCKED", "length": 4, "uow": True}, ()),
    ("SUSPEND", {}, ()),
    ("ASKTIME ABSTIME", {}, ("ABSTIME",)),
    (
        "FORMATTIME",
        {"abstime": 2837962864820, "datesep": "-", "timesep": ":"},
        tuple(name.upper() for name in FormattedTime._fields if name != "date"),
    ),
    ("FORMATTIME", {"abstime": -1}, ("YEAR",)),
    ("DELAY", {"interval": 1}, ()),
    ("DELAY", {"hours": 0, "minutes": 0, "seconds": 2}, ()),
    ("START", {"transid": "PAYP", "from_": b"x", "reqid": "REQ1", "userid": "BOB", "interval": 1, "protect": True}, ()),
    ("START", {"transid": "PAYP", "termid": "T001", "hours": 0, "minutes": 1, "seconds": 1}, ()),
    ("RETRIEVE", {}, ("INTO", "LENGTH")),
    ("CANCEL", {"reqid": "REQ1"}, ()),
    ("ABEND", {"abcode": "OOPS", "cancel": True, "nodump": True}, ()),
    ("PUSH HANDLE", {}, ()),
    ("POP HANDLE", {}, ()),
    ("ASSIGN", {}, ("USERID",)),
    ("ASSIGN", {}, ("ABCODE", "APPLID", "FCI", "NETNAME", "PROGRAM", "STARTCODE", "SYSID")),
    ("ASSIGN", {}, ("QNAME",)),
    ("ASSIGN", {}, ("FACILITY",)),
]
OTHERWISE = {"HANDLE CONDITION", "IGNORE CONDITION", "HANDLE ABEND", "RETURN"}
"""Commands with callables or without an end; their text is tested in test_translator."""


def text_of(command, given, receivers):
    words = [command.name if receivers[:1] != ("ABSTIME",) else "ASKTIME"]
    for option in command.options:
        if option.parameter in given and not option.receiver:
            value = given[option.parameter]
            name = option.word in command.name.split()
            argument = f"({quoted(value)})" if option.kind not in ("flag", "cvda") else ""
            if option.kind == "cvda":
                argument = f"(DFHVALUE({value}))"
            words = [
                f"{word}{argument}" if name and word == option.word else word for word in " ".join(words).split(" ")
            ]
            if not name:
                words.append(f"{option.word}{argument}")
    for word in receivers:
        if word in words[0].split() or word in words:
            words = [f"{had}({word})" if had == word else had for had in " ".join(words).split(" ")]
        elif not (word == "LENGTH" and "length" in given):
            words.append(f"{word}({word})")
    return " ".join(words)


def prepare(task):
    """The same state before every case, whatever the one before has left."""
    task.create_tdqueue("FULL", "TYPE(INTRA)", nohandle=True)
    task.create_tdqueue("PHYQ", "TYPE(INTRA) RECOVSTATUS(PHYSICAL)", nohandle=True)
    task.set_tdqueue("NEWQ", enablestatus="DISABLED", nohandle=True)
    task.discard_tdqueue("NEWQ", nohandle=True)
    task.set_tdqueue("PAYQ", enablestatus="ENABLED")
    task.set_tdqueue("EXTO", openstatus="CLOSED")
    task.set_tdqueue("PHYQ", enablestatus="DISABLED")
    task.deleteq_td("FULL")
    task.deleteq_td("PAYQ")
    task.writeq_td("FULL", b"12345")
    task.enq(b"LOCK")


def ending(call):
    try:
        return call()
    except Condition as condition:
        return condition.resp, condition.resp2
    except Abend as abend:
        return abend.code


def by_method(task, command, given, receivers):
    options = [word for word in receivers if word not in command.name.split()]
    names = [option.parameter for option in command.options if not option.receiver and option.parameter != "nohandle"]
    if command.name.startswith(("INQUIRE", "ASSIGN")) and receivers:
        return getattr(task, command.method)(*(given[name] for name in names if name in given), *options)
    return getattr(task, command.method)(**given)


def by_text(task, command, given, receivers):
    return task.execute(text_of(command, given, receivers), {})


def state_after(reg, case, issue):
    name, given, receivers = case
    command = COMMANDS[name]
    with reg.task() as task:
        prepare(task)
        if name.endswith((" NEXT", " END")):
            getattr(task, command.method.rpartition("_")[0] + "_start")()
        if name == "POP HANDLE":
            task.push_handle()
        ending(lambda: issue(task, command, given, receivers))
        states = {name: queue.enablestatus for name, queue in reg.tdqueues.items()}
        return task.eib.last, states, reg.peek("FULL"), reg.peek("PAYQ")


@pytest.fixture(scope="module")
def twins():
    """Two regions alike: one for each face."""
    with region(sysid="TDQ1") as one, region(sysid="TDQ1") as other:
        yield one, other


@pytest.mark.rule("EXEC-TWO-FACES")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(case[1])}")
def test_both_faces_leave_the_same_eib_and_the_same_queues(twins, case):
    one, other = twins
    assert state_after(one, case, by_method) == state_after(other, case, by_text)


@pytest.mark.rule("EXEC-TWO-FACES")
def test_every_declared_option_is_among_the_cases():
    tried: dict[str, set[str]] = {}
    for name, given, receivers in CASES:
        words = {option.word for option in COMMANDS[name].options if option.parameter in given}
        tried.setdefault(name, set()).update(words, receivers)
    tried["INQUIRE TDQUEUE NEXT"] |= set(INQUIRE_OPTIONS["TDQUEUE"])  # read by the same plan as INQUIRE TDQUEUE
    for name, command in COMMANDS.items():
        if name in OTHERWISE:
            continue
        declared = {option.word for option in command.options} - {"NOHANDLE"}
        if name.startswith(("INQUIRE UOW", "INQUIRE ENQ", "INQUIRE TASK")):
            declared = {option.word for option in command.options if not option.receiver} - {"NOHANDLE"}
        assert declared <= tried.get(name, set()), name
