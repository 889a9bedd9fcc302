"""Every declared option, issued by a COBOL program and by a Python task as text: EIB, receivers and state are the same.

One program has all the commands, one paragraph each. The driver is a Python task that makes the state, then LINKs to
the program with the number of a paragraph, or issues the text itself; so both forms begin alike.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import pytest
from freezegun import freeze_time

from tdqsim.cics import COMMANDS, Abend
from tdqsim.cobol import CobolPrograms
from tests.cics.spi.helpers import region
from tests.cics.text.test_python_and_text import CASES, furnish, prepare, text_of

pytestmark = pytest.mark.cobc

WITHOUT_RESPONSE = ("ABEND",)
TIMES = {"ABSTIME(2837962864820)": "ABSTIME(SOME-TIME)", "ABSTIME(-1)": "ABSTIME(NO-TIME)"}
"""Where a program needs an item, since the command takes no literal."""
SIZES = {"halfword": 2, "fullword": 4, "cvda": 4, "abstime": 8, "pointer": 8}
PICTURES = {
    "halfword": "PIC S9(4) COMP",
    "fullword": "PIC S9(8) COMP",
    "cvda": "PIC S9(8) COMP",
    "abstime": "PIC S9(15) COMP-3",
    "pointer": "USAGE POINTER",
}
AREA = 64
POINTED = 8
"""Bytes that are looked at behind an address."""
UNNAMED = bytes(8)
"""EIBRSRCE of a command without a resource in the storage of a program; the Python face has no text there."""
LONG = f"X'{'00' * 40}'"
"""A literal that is longer than a line."""
ROOM = 40
SIZED = ("LENGTH", "FLENGTH")
EIB = (("EIBFN", 2), ("EIBRCODE", 6), ("EIBRSRCE", 8), ("EIBRESP", 4), ("EIBRESP2", 4))
HEAD = 4 + 24 + 8
PAGE = "latin-1"


@dataclass(frozen=True)
class Receiver:
    """An item of the program through which a command gives something."""

    word: str
    kind: str
    size: int

    @property
    def name(self) -> str:
        return f"V-{self.kind}{self.size}-{self.word}".upper()

    @property
    def first(self) -> bytes:
        """What it holds before the command; a packed zero has a sign."""
        if self.kind == "abstime":
            return bytes([*bytes(self.size - 1), 0x0C])
        return ROOM.to_bytes(self.size, "big") if self.word in SIZED else bytes(self.size)

    @property
    def declared(self) -> str:
        picture = PICTURES.get(self.kind, f"PIC X({self.size})")
        value = "" if self.kind == "pointer" else f" VALUE {ROOM if self.word in SIZED else self.nothing}"
        return f"          03 {self.name} {picture}{value}."

    @property
    def nothing(self) -> str:
        return "LOW-VALUES" if self.kind in ("name", "data") else "0"


def receivers_of(case) -> list[Receiver]:
    name, _given, words = case
    declared = COMMANDS[name].receives
    return [
        Receiver(word, declared[word].kind, SIZES.get(declared[word].kind) or declared[word].length or AREA)
        for word in words
    ]


def texts(case, rename) -> str:
    """The text of a case, its receivers by other names."""
    text = text_of(COMMANDS[case[0]], case[1], case[2])
    for each in receivers_of(case):
        text = text.replace(f"{each.word}({each.word})", f"{each.word}({rename(each)})")
    return text


ALL = sorted({each for case in CASES for each in receivers_of(case)}, key=lambda each: each.name)


def lines_of(text: str) -> list[str]:
    """A command in lines that end before column 72."""
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > 55:
            lines.append(line)
            line = ""
        line += f" {word}"
    return [f"           {each}" for each in [*lines, line]]


def program() -> str:
    size = HEAD + sum(each.size for each in ALL)
    lines = [
        "       IDENTIFICATION DIVISION.",
        "       PROGRAM-ID. EVERY.",
        "       DATA DIVISION.",
        "       WORKING-STORAGE SECTION.",
        "       01 R1 PIC S9(8) COMP.",
        "       01 R2 PIC S9(8) COMP.",
        "       01 NOMAPO PIC X(40) VALUE LOW-VALUES.",
        "       01 ZEROS-40 PIC X(40) VALUE LOW-VALUES.",
        "       01 SOME-TIME PIC S9(15) COMP-3 VALUE 2837962864820.",
        "       01 NO-TIME PIC S9(15) COMP-3 VALUE -1.",
        "       01 RECEIVERS.",
        *(each.declared for each in ALL),
        "       LINKAGE SECTION.",
        "       01 DFHCOMMAREA.",
        "          02 CASE-NO PIC S9(8) COMP.",
        "          02 SHOWN-EIB PIC X(24).",
        "          02 SHOWN-RESP PIC S9(8) COMP.",
        "          02 SHOWN-RESP2 PIC S9(8) COMP.",
        f"          02 SHOWN PIC X({size - HEAD}).",
        "       PROCEDURE DIVISION.",
        "           EXEC CICS PUT CONTAINER('HAD') FROM('12345')",
        "              CHANNEL('MADE') END-EXEC.",
        "           EXEC CICS STARTBROWSE CONTAINER CHANNEL('MADE')",
        "              BROWSETOKEN(R1) END-EXEC.",
        "           GO TO",
        *(f"             C{number}" for number in range(len(CASES))),
        "             DEPENDING ON CASE-NO.",
    ]
    for number, case in enumerate(CASES):
        common = "" if case[0] in WITHOUT_RESPONSE else " RESP(R1) RESP2(R2)"
        text = f"EXEC CICS {texts(case, lambda each: each.name)}{common} END-EXEC".replace(LONG, "ZEROS-40")
        for literal, item in TIMES.items():
            text = text.replace(literal, item)
        lines += [f"       C{number}.", *lines_of(text), "           GO TO DONE."]
    lines += ["       DONE.", "           STRING"]
    lines += [f"             DFHEIBLK({at}:{size}) DELIMITED BY SIZE" for at, size in ((28, 8), (52, 8), (77, 8))]
    lines += [
        "             INTO SHOWN-EIB",
        "           MOVE R1 TO SHOWN-RESP MOVE R2 TO SHOWN-RESP2",
        "           MOVE RECEIVERS TO SHOWN",
        "           EXEC CICS RETURN END-EXEC.",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """A region whose programs are COBOL, and another alike."""
    folder = tmp_path_factory.mktemp("every")
    (folder / "EVERY.cbl").write_text(program())
    frozen = freeze_time("2024-05-31 12:34:56")
    with frozen, region(sysid="TDQ1") as one, region(sysid="TDQ1") as other:
        CobolPrograms(one, sources=[folder], cache=folder / "compiled")
        yield one, other


def by_program(task, number):
    """The EIB, the responses and the receivers by name; nothing of a program that did not go on."""
    area = bytearray((number + 1).to_bytes(4, "big") + bytes(HEAD - 4 + sum(each.size for each in ALL)))
    try:
        task.link("EVERY", area)
    except Abend as abend:
        return abend.code, {}
    values, at = {}, HEAD
    for each in ALL:
        values[each.name] = bytes(area[at : at + each.size])
        at += each.size
    head = bytes(area[4:HEAD])
    return head[:8] + head[8:16].replace(UNNAMED, b" " * 8) + head[16:], values


def by_text(task, case):
    """The same by a Python program that issues the text."""
    found = [bytes(8) + b" " * 8 + bytes(16), {}]
    task.region.programs.register("EVERY", lambda program: found.__setitem__(slice(None), texted(program, case)))
    try:
        task.link("EVERY")
    except Abend as abend:
        return abend.code, {}
    return tuple(found)


def texted(task, case):
    task.put_container("HAD", b"12345", channel="MADE")
    task.startbrowse_container(channel="MADE")
    receivers = receivers_of(case)
    names = {each: f"F{at}" for at, each in enumerate(receivers)}
    variables = {names[each]: bytearray(each.first) for each in receivers if as_area(each)}
    common = "" if case[0] in WITHOUT_RESPONSE else " RESP(R1) RESP2(R2)"
    task.execute(texts(case, names.__getitem__) + common, variables)
    eib = task.eib
    head = [eib.eibfn, eib.eibrcode, eib.eibrsrce.ljust(8).encode(PAGE)]
    numbers = (eib.eibresp, eib.eibresp2, *(variables[name] for name in ("R1", "R2") if name in variables))
    head += [int(number).to_bytes(4, "big", signed=True) for number in numbers]
    return b"".join(head), {each.name: variables.get(names[each]) for each in receivers}


def as_area(each: Receiver) -> bool:
    """Whether the text is given an area of fixed length: what is text is converted there, and so a Python value."""
    return each.kind not in ("name", "pointer")


def in_storage(each: Receiver, value) -> bytes:
    """What a receiver of the program should hold."""
    if value is None:
        return each.first
    if isinstance(value, str):
        return value.encode(PAGE).ljust(each.size)
    return bytes(value).ljust(each.size, b"\0" if each.kind == "data" else b" ")


def state_after(reg, case, issue):
    name = case[0]
    data = furnish(reg)
    with reg.task() as task:
        prepare(task)
        if name.endswith((" NEXT", " END")):
            getattr(task, COMMANDS[name].method.rpartition("_")[0] + "_start")()
        answer = issue(task)
        states = {queue: each.enablestatus for queue, each in reg.tdqueues.items()}
        items = [task.readq_ts(queue, item=1, nohandle=True) for queue in ("TSQ", "NEWTS")]
        return answer, (states, reg.peek("FULL"), reg.peek("PAYQ"), items, dict(data.records))


@pytest.mark.rule("EXEC-TWO-FACES")
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: f"{n}-{CASES[n][0]}-{'-'.join(CASES[n][1])}")
def test_a_program_gets_what_the_text_gets(twins, number):
    one, other = twins
    case = CASES[number]
    (head, values), state = state_after(one, case, lambda task: by_program(task, number))
    (wanted, given), wanted_state = state_after(other, case, lambda task: by_text(task, case))
    assert head == wanted
    assert state == wanted_state
    for each in receivers_of(case):
        if each.name in given:
            if each.kind == "pointer":
                assert pointed(values[each.name], given[each.name])
            else:
                assert values[each.name] == in_storage(each, given[each.name]), each.word


def pointed(found: bytes, wanted) -> bool:
    """Whether the storage whose address a program was given has what the text was given."""
    if isinstance(wanted, bytes) and any(found):  # behind the data there is no storage
        length = min(len(wanted), POINTED)
        return ctypes.string_at(int.from_bytes(found, "little"), length) == wanted[:length]
    return bool(any(found)) is (wanted is not None)
