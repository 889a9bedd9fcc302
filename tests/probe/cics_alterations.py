"""Alterations of a region: each changes its behaviour in one way, and lists the rules whose observations change.

Half of them are answers in a machine.yaml, half *planted* changes of the code. An alteration concerns one rule; the
rules that depend on it are listed here too, because their cases meet the same behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tdqsim.cics import Condition
from tdqsim.cics.files import commands as file_commands
from tdqsim.cics.files import requests as file_requests
from tdqsim.cics.kernel import conditions, control, eib, enqueue, interval, levels
from tdqsim.cics.model import space
from tdqsim.cics.programs import containers
from tdqsim.cics.queues import extra
from tdqsim.cics.queues.ati import Ati
from tdqsim.cics.spi import set as set_command
from tdqsim.cics.ts import storage
from tdqsim.definitions.machine import MachineAnswer
from tdqsim.facts import Resp

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Alteration:
    """One way in which a region behaves otherwise.

    Attributes:
        name: what is altered.
        rule: the rule.
        dependent: the other rules whose cases meet the same behaviour.
        answers: the answers in machine.yaml.
        plant: what changes the code.
    """

    name: str
    rule: str
    dependent: tuple[str, ...] = ()
    answers: tuple[tuple[str, MachineAnswer], ...] = ()
    plant: Callable[[Patch], object] = lambda _patch: None

    @property
    def expected(self) -> set[str]:
        """The rules that the comparison names."""
        return {self.rule, *self.dependent}


def _machine(rule: str, *dependent: str, **answer: Any) -> Alteration:
    shown = ", ".join(f"{key} {value}" for key, value in answer.items())
    return Alteration(f"{rule}: {shown}", rule, dependent, ((rule, MachineAnswer(**answer)),))


def _code(resp: Resp, rule: str, *dependent: str) -> Alteration:
    def plant(patch: Patch) -> None:
        patch.setattr(conditions, "ABEND_CODES", {**conditions.ABEND_CODES, resp: "AQQQ"})

    return Alteration(f"abend code of {resp.name}", rule, dependent, plant=plant)


def _rcode(resp: Resp, rule: str, *dependent: str) -> Alteration:
    def plant(patch: Patch) -> None:
        patch.setattr(eib, "EIBRCODE", {**eib.EIBRCODE, resp: 0xEE})
        patch.setattr(eib, "_failed", eib._failed.__wrapped__)  # without its cache

    return Alteration(f"EIBRCODE of {resp.name}", rule, dependent, plant=plant)


def _assigned(option: str, value: str | int, rule: str, *dependent: str) -> Alteration:
    def plant(patch: Patch) -> None:
        patch.setitem(control.ASSIGN_OPTIONS, option, lambda _task: value)

    return Alteration(f"ASSIGN {option} is {value}", rule, dependent, plant=plant)


def _other(where: object, name: str, instead: Any, rule: str, *dependent: str) -> Alteration:
    return Alteration(f"{name} is another", rule, dependent, plant=lambda patch: patch.setattr(where, name, instead))


def _refused(resp: Resp, resp2: int = 0) -> Callable[..., Any]:
    def instead(*_args: object, **_options: object) -> None:
        raise Condition(resp, resp2)

    return instead


def _enqueue_name(_task: object, resource: bytes, length: int | None) -> bytes:
    return bytes(resource)[:length] or b"no name"


def _check_item(queue: storage.TsQueue, item: int) -> None:
    if not 1 <= item <= len(queue.items):
        raise Condition(Resp.LENGERR)


def _invoked_by_another(patch: Patch) -> None:
    """Another program at a lower level; at the highest one there is none."""
    of_task = control.ASSIGN_OPTIONS["INVOKINGPROG"]
    patch.setitem(control.ASSIGN_OPTIONS, "INVOKINGPROG", lambda task: of_task(task) and "OTHER")


ALTERATIONS = (
    _machine("TASK-ASSIGN-QNAME", resp2=44),
    _machine("TASK-ASSIGN-TERMINAL", resp=Resp.NORMAL),
    _machine("TASK-ASSIGN-FACILITY", "ATI-QD", resp2=7),
    _machine("TD-DISABLED", "ATI-DISABLED-QUEUE", resp=Resp.INVREQ),
    _machine("TD-INDIRECT-MISSING", "DISCARD-ALIAS-STAYS", resp=Resp.SYSIDERR, abend="AEYQ"),
    _machine("TD-EXTRA-NOTOPEN", abend="AEIZ"),
    _machine("EX-WRITE-ZERO", resp=Resp.NORMAL),
    _machine("EX-FIXED-LENGTH", resp2=3),
    _machine("EX-END", "EX-END-AGAIN", resp=Resp.IOERR),
    _machine("SET-OPEN-FAILS", "EX-OPEN-MISSING", "EX-ONE-DD", "EX-RDBACK-VARIABLE", resp2=909),
    _machine("SET-BAD-CVDA", "SET-ATI", resp2=1),
    _machine("SET-NOT-DISABLED", resp2=5),
    _machine("SET-QIDERR", resp2=2),
    _machine("CREATE-LENGERR", resp2=2),
    _machine("UOW-NOT-FOUND", resp2=2),
    _machine("CONN-NOT-FOUND", resp2=1),
    _machine("IC-START-TRANSIDERR", abend="AEZZ"),
    _machine("IC-CANCEL-PROTECT", resp=Resp.NORMAL),
    _machine("IC-MINUTES-INVREQ", resp2=4),
    _machine("FORMATTIME-INVREQ", resp2=3),
    _machine("TS-QIDERR-READ", "TS-DEFAULT", resp=Resp.ITEMERR),
    _machine("TS-LENGERR-WRITE", abend="AEIZ"),
    _machine("FILE-NOTFND", resp2=81),
    _machine("FILE-UPDATE-TWICE", resp=Resp.NORMAL),
    _machine("PGM-XCTL-PGMIDERR", resp2=2),
    _machine("DPL-LENGERR-LONGER", resp2=12),
    _machine("REC-SYSIDERR-UNKNOWN", "IC-START-REMOTE", "TS-REMOTE-SYSID", resp2=1),
    _code(Resp.TRANSIDERR, "IC-START-TRANSIDERR"),
    _code(Resp.INVREQ, "IC-INTERVAL-INVREQ"),
    _code(Resp.DISABLED, "TD-DISABLED"),
    _code(Resp.NOTOPEN, "TD-EXTRA-NOTOPEN"),
    _code(Resp.SYSIDERR, "REC-SYSIDERR-UNKNOWN"),
    _code(Resp.ITEMERR, "TS-ITEMERR"),
    _code(Resp.LENGERR, "TS-LENGERR-WRITE"),
    _code(Resp.QIDERR, "TS-QIDERR-READ", "TS-QIDERR-DELETE", "TD-INDIRECT-MISSING"),
    _code(Resp.QBUSY, "LOCK-QBUSY-DEFAULT"),
    _code(Resp.PGMIDERR, "PGM-XCTL-PGMIDERR", "DPL-DISABLED"),
    _rcode(Resp.QZERO, "EIB-TD"),
    _rcode(Resp.DISABLED, "TD-DISABLED"),
    _rcode(Resp.QBUSY, "LOCK-QBUSY-NOSUSPEND"),
    _rcode(Resp.SYSIDERR, "REC-SYSIDERR-UNKNOWN"),
    Alteration("ASSIGN INVOKINGPROG is OTHER", "TASK-ASSIGN-INVOKINGPROG", plant=_invoked_by_another),
    _assigned("RETURNPROG", "OTHER", "TASK-ASSIGN-INVOKINGPROG"),
    _assigned("STARTCODE", "SD", "ATI-QD", "TASK-TRIGGERED"),
    _assigned("SCRNHT", 24, "TASK-ASSIGN-TERMINAL"),
    _other(enqueue, "_name", _enqueue_name, "ENQ-LENGERR"),
    _other(interval, "_check_start", lambda *_: None, "IC-START-TRANSIDERR", "IC-START-IOERR"),
    _other(storage, "_checked", lambda name: name, "TS-INVREQ-NAME"),
    _other(storage.TemporaryStorage, "_check_item", staticmethod(_check_item), "TS-ITEMERR", "TS-ITEMERR-NEXT"),
    _other(file_requests, "_check_length", lambda _file, record: record, "FILE-LENGERR-WRITE"),
    _other(file_commands, "started", _refused(Resp.INVREQ, 99), "FILE-BROWSE-NONE", "FILE-ENDFILE"),
    _other(file_requests, "_held", _refused(Resp.INVREQ, 99), "FILE-REWRITE-NONE", "FILE-DELETE-NONE", "FILE-TOKEN"),
    _other(containers, "checked_name", lambda name, *_: name, "CHAN-BAD-NAME"),
    _other(levels, "checked_name", lambda name, *_: name, "PGM-CHANNELERR"),
    _other(set_command, "_must_be_disabled", lambda change, _option: change.queue, "SET-NOT-DISABLED"),
    _other(extra.DataSet, "_length_error", lambda *_: Condition(Resp.INVREQ), "EX-FIXED-LENGTH", "EX-VARIABLE-LENGTH"),
    _other(space, "check_size", lambda *_: None, "TD-WRITEQ-LENGERR"),
    _other(control, "take_rollback", control.take_syncpoint, "UOW-DELETEQ", "INQ-NUMITEMS-COMMITTED-KERNEL"),
    _other(
        Ati, "due", lambda *_: None,
        "ATI-QD", "ATI-DIRECT-INSIDE-WRITEQ", "ATI-FILE-END", "ATI-SET-LEVEL", "SET-TRIGGERLEVEL-NEXT-WRITE",
        "ATI-DISABLED-QUEUE", "TASK-TRIGGERED",
    ),
)  # fmt: skip
