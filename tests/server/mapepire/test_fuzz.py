"""Requests and statements that no client sends: each has one answer, and no exception of Python is in it."""

from __future__ import annotations

import json
import random
import time

import pytest

pytest.importorskip("websockets", reason="needs tdqsim[serve]")

from tdqsim.errors import WouldWaitForever
from tdqsim.ibmi import System
from tdqsim.server.hostservers import Account, Accounts, HostSystem
from tdqsim.server.mapepire.requests import Requests, read_request

STATEMENTS = [
    "CALL QSYS2.SEND_DATA_QUEUE(MESSAGE_DATA => 'hello', DATA_QUEUE => 'Q', DATA_QUEUE_LIBRARY => 'QGPL')",
    "CALL QSYS2.SEND_DATA_QUEUE_BINARY(BX'00FF', 'K', 'QGPL', LPAD(3, 3, 0));",
    "CALL QSYS2.SEND_DATA_QUEUE_UTF8(?, 'Q', CURRENT SCHEMA)",
    "CALL QSYS2.CLEAR_DATA_QUEUE('K', 'QGPL', KEY_DATA => 'abc', KEY_ORDER => 'GE')",
    "CALL QSYS2.QCMDEXC('CRTDTAQ DTAQ(QTEMP/X) MAXLEN(10)')",
    "SELECT * FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('Q', 'QGPL', REMOVE => 'NO', WAIT_TIME => 0)) X",
    (
        "SELECT CAST(MESSAGE_DATA AS CHAR(200)), HEX(KEY_DATA) H, LENGTH(MESSAGE_DATA_BINARY) + 1 FROM"
        " TABLE(QSYS2.DATA_QUEUE_ENTRIES('K', 'QGPL', 'KEY', ?, 'LE')) AS E WHERE E.ORDINAL_POSITION BETWEEN 1 AND 5"
        " ORDER BY ORDINAL_POSITION DESC FETCH FIRST 3 ROWS ONLY"
    ),
    "SELECT COUNT(*) C FROM QSYS2.DATA_QUEUE_INFO WHERE DATA_QUEUE_NAME LIKE 'Q%' AND NOT DTAQ_LIB IN ('A', 'B')",
    "SELECT INTERPRET(SUBSTR(MESSAGE_DATA_BINARY, 1, 4) AS DECIMAL(7, 2)) FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES('Q', 'QGPL'))",
    "VALUES (1.5 * 3 / 7, TO_CHAR(CURRENT TIMESTAMP, 'YYYY-MM-DD'), COALESCE(NULL, 'x') || UPPER('y'))",
    "SELECT CURRENT SCHEMA FROM SYSIBM/SYSDUMMY1",
    "SET CURRENT SCHEMA = ?", "COMMIT -- nothing", "BEGIN /* not served */ END", "INSERT INTO T VALUES(1)",
]  # fmt: skip
PIECES = [*{word for one in STATEMENTS for word in one.split()}, "(", ")", ",", "'", '"', "=>", "?", "*", "-1", "0.5", "9" * 40,
          "''", "NULL", "X'4'", "é", "€", "\0", "\u3000", "(" * 300, "CAST(", "IS NULL", "ESCAPE '!'", "1E999"]  # fmt: skip
VALUES = [
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "abc",
    "00FF",
    "Grüße €",
    "\ud800",
    [],
    [1],
    [[None], ["a", "b"]],
    {"a": []},
]
KINDS = ["connect", "sql", "prepare_sql", "prepare_sql_execute", "execute", "sqlmore", "sqlclose", "cl", "dove",
         "getdbjob", "getversion", "ping", "setconfig", "gettracedata", "exit", "unknown"]  # fmt: skip
FIELDS = ["sql", "cmd", "rows", "terse", "parameters", "cont_id", "props", "technique", "tracelevel", "id", "type"]


def statement(picked: random.Random) -> str:
    words = picked.choice(STATEMENTS).split(" ")
    for _ in range(picked.randrange(4)):
        at, piece = picked.randrange(len(words)), picked.choice(PIECES)
        words[at : at + picked.randrange(2)] = [piece] if picked.random() < 0.8 else []
        if not words:
            break
    text = " ".join(words)
    if picked.random() < 0.3 and text:
        at = picked.randrange(len(text))
        text = text[:at] + picked.choice("'\"()?,.=;-*/ a1") + text[at + picked.randrange(2) :]
    return text


def request(picked: random.Random, number: int) -> str:
    made = {"id": f"r{number}", "type": picked.choice(KINDS[1:4] if picked.random() < 0.6 else KINDS)}
    made |= {"sql": statement(picked), "rows": picked.choice((0, 1, 100)), "parameters": [picked.choice(VALUES)]}
    if picked.random() < 0.5:
        made["parameters"] = ["abc"] * picked.randrange(3)
    made["cont_id"] = f"r{picked.randrange(max(1, number - 5), number + 1)}"
    made["cmd"] = picked.choice(("CRTDTAQ DTAQ(QTEMP/Y) MAXLEN(5)", "DLTDTAQ QTEMP/Y", "DSPJOBLOG", statement(picked)))
    if picked.random() < 0.3:
        made[picked.choice(FIELDS)] = picked.choice(VALUES)
    text = json.dumps(made)
    if picked.random() < 0.05:
        at = picked.randrange(len(text))
        text = text[:at] + text[at + 1 :]
    return text


class World:
    """A system and one connection, made anew now and then."""

    def __init__(self) -> None:
        self.system = System("SYS1")
        self.system.crtusrprf("ANNA")
        with self.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=100, aut="*ALL")
            job.crtdtaq("QGPL/K", maxlen=100, seq="*KEYED", keylen=3, senderid="*YES", aut="*ALL")
        account = Account("ANNA")
        account.set_password("Secret1pw")
        self.requests = Requests(HostSystem(self.system, Accounts([account])), "ANNA", "Secret1pw", "here")
        assert self.requests.carry_out({"id": "0", "type": "connect"}, [])["success"]

    def close(self) -> None:
        self.requests.close()
        self.system.close()


def check(world: World, text: str, number: int) -> bool:
    """Whether the request succeeds; a refusal has its text, and of SQL its code and state."""
    asked, valid = read_request(text, number)
    if not valid:
        assert asked["success"] is False
        return False
    try:
        answer = world.requests.carry_out(asked, [])
    except WouldWaitForever:
        return True
    json.dumps(answer)
    assert answer["id"] == asked["id"]
    if not answer["success"]:
        assert answer["error"]
        assert len(answer["sql_state"]) == 5
        assert answer["sql_rc"] < 0
    return answer["success"]


def carried_out(picked: random.Random, count: int, more=lambda: True) -> tuple[int, int]:
    good = number = 0
    world = World()
    try:
        while more() and number != count:
            number += 1
            if not number % 400:
                world.close()
                world = World()
            text = request(picked, number)
            try:
                good += check(world, text, number)
            except BaseException as error:
                error.add_note(f"request {number}: {text}")
                raise
    finally:
        world.close()
    return good, number


def test_some_thousand_requests():
    good, _ = carried_out(random.Random(56), 3000)
    assert good > 500


@pytest.mark.slow
def test_for_an_hour():
    """The requests are other ones each time; one that fails is shown."""
    end = time.process_time() + 3600
    _, number = carried_out(random.Random(), -1, lambda: time.process_time() < end)
    print(f"\n  {number:,} requests")
