"""Alterations of a system, one for each rule that the probe for IBM i tries.

Each makes the simulator answer otherwise where the rule applies: machine.yaml where the rule has a message that it can
replace, and otherwise a change of the code (*planted*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from tdqsim.core.store import SearchOrder
from tdqsim.definitions.machine import Machine, MachineAnswer
from tdqsim.ibmi import EscapeMessage, byte_call, cl_authority, create, queue, receive, retrieve
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.journals import JournalWriter
from tdqsim.ibmi.layouts import pack_decimal
from tdqsim.ibmi.lock_manager import LockManager
from tdqsim.ibmi.machine import RULES_WITH_MESSAGE
from tdqsim.ibmi.messages import message
from tdqsim.ibmi.object_table import ObjectTable
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.records import RDQS0100
from tdqsim.ibmi.waits import Waiters
from tdqsim.probe import ibmi_server
from tdqsim.probe.ibmi_cases import cases
from tdqsim.server.hostservers import SignOnCode, command, conversation, dataqueue, signon

Patch = pytest.MonkeyPatch

DEPENDENT: Mapping[str, tuple[str, ...]] = {
    "CL-PARENTHESIS": ("CL-APOSTROPHE",),  # an apostrophe without its partner hides the parenthesis
    "DTAQ-LOCK-ALCOBJ": ("DTAQ-LOCK-WAIT-OVER",),  # its first step is refused by the lock of the one who waits
    "DTAQ-LOCK-ENFORCED": ("DTAQ-XCL-LOCK",),  # the escape message depends on the message about the lock
    "DTAQ-RECEIVE-DELETED": ("DTAQ-LIB-DELETE",),  # the queue of the job that waits is deleted
}
"""For each rule the rules whose cases also meet it, and so differ with it."""


def _lowest_key(patch: Patch) -> None:
    patch.setitem(receive._ORDERS, "LE", SearchOrder.EQ)


def _cut(patch: Patch) -> None:
    patch.setattr(byte_call, "pack_decimal", lambda number, digits: pack_decimal(min(number, 4), digits))


def _one_gets_it(patch: Patch) -> None:
    add = Waiters.add

    def last_first(self: Waiters, waiter: Any) -> None:
        self._last -= 2
        add(self, waiter)

    patch.setattr(Waiters, "add", last_first)


def _whole_entries(patch: Patch) -> None:
    header = retrieve._header
    patch.setattr(retrieve, "_header", lambda *args: header(*args) | {"bytes_available": 1})


def _keyed_all(patch: Patch) -> None:
    check = retrieve._check_selection

    def refuse(job: Any, queue: Any, selection: Any) -> Any:
        if isinstance(selection, RDQS0100) and queue.keyed:
            job.fail("CPF950E")
        return check(job, queue, selection)

    patch.setattr(retrieve, "_check_selection", refuse)


def _sender_last(patch: Patch) -> None:
    messages = retrieve._messages

    def turned(job: Any, queue: Any, name: str, selection: Any) -> Any:
        for stamp, enqueued, key, text in messages(job, queue, name, selection):
            yield stamp, enqueued, key, text[36:] + text[:36] if queue.sender_id else text

    patch.setattr(retrieve, "_messages", turned)


def _exact_template(patch: Patch) -> None:
    selection = byte_call._selection

    def exact(job: Any, arguments: Any, name: str) -> Any:
        found = selection(job, arguments, name)
        if name == "RDQS0200" and found.key and arguments.number(5) > 16 + len(found.key):
            job.fail("CPF950D")
        return found

    patch.setattr(byte_call, "_selection", exact)


def _size_model(patch: Patch) -> None:
    maximum = queue.maximum_entries
    patch.setattr(queue, "maximum_entries", lambda attributes: maximum(attributes) - 1)


def _any_proof(patch: Patch) -> None:
    authorize = JobCore.authorize

    def once(self: JobCore, operation: Any, target: Any, rule: str = "") -> None:
        if not any(number == target.number for number, _, _ in self.authorized):
            authorize(self, operation, target, rule)

    patch.setattr(JobCore, "authorize", once)


def _still_named(patch: Patch) -> None:
    secure = cl_authority._secure

    def excluded(job: Any, command: str, target: Any, authorities: Any, completion: str, **more: Any) -> None:
        secure(job, command, target, {user: aut or "*EXCLUDE" for user, aut in authorities.items()}, completion, **more)

    patch.setattr(cl_authority, "_secure", excluded)


def _lock_stays(patch: Patch) -> None:
    release = LockManager.release

    def keep(self: LockManager, job: Any, request: Any, *scope: Any) -> None:
        if request.state != "*SHRUPD":
            release(self, job, request, *scope)

    patch.setattr(LockManager, "release", keep)


def _small_letters(patch: Patch) -> None:
    patch.setattr("tdqsim.definitions.cl_command.capitals", str)


def _no_force(patch: Patch) -> None:
    attributes_of = create.attributes_of
    patch.setattr(create, "attributes_of", lambda definition: attributes_of(definition)._replace(force=False))


def _library_stays(patch: Patch) -> None:
    delete = ObjectTable.dltlib

    def refuse(self: ObjectTable, name: str, **more: Any) -> None:
        if any(isinstance(one, DataQueue) and one.waiters for one in self.libraries[name].objects.values()):
            raise EscapeMessage(message("CPF2182", name))
        delete(self, name, **more)

    patch.setattr(ObjectTable, "dltlib", refuse)


def _clear_not_journaled(patch: Patch) -> None:
    patch.setattr(JournalWriter, "cleared", lambda *_args: ())


def _sign_on_code(name: str) -> Callable[[Patch], None]:
    class Altered:
        def __getattr__(self, other: str) -> SignOnCode:
            return SignOnCode.SEED_NOT_VALID if other == name else SignOnCode[other]

    def alter(patch: Patch) -> None:
        patch.setattr(conversation, "SignOnCode", Altered())
        patch.setattr(signon, "SignOnCode", Altered())
        if name == "EXCHANGE_NOT_VALID":
            patch.setitem(signon._MALFORMED, 0x7003, SignOnCode.SEED_NOT_VALID)

    return alter


def _mapper(patch: Patch) -> None:
    patch.setattr(ibmi_server, "BOUNDS", {"mapper_seconds": 20})


PLANTED: Mapping[str, Callable[[Patch], None]] = {
    "DTAQ-RECEIVE-LOWEST-KEY": _lowest_key,
    "DTAQ-RECEIVE-CUT": _cut,
    "DTAQ-RECEIVE-ONE-GETS-IT": _one_gets_it,
    "DTAQ-RETRIEVE-WHOLE-ENTRIES": _whole_entries,
    "DTAQ-RETRIEVE-KEYED-ALL": _keyed_all,
    "DTAQ-RETRIEVE-SENDER": _sender_last,
    "DTAQ-RETRIEVE-TEMPLATE-LONGER": _exact_template,
    "DTAQ-SIZE-MODEL": _size_model,
    "DTAQ-AUTHORITY-CACHE-EACH": _any_proof,
    "DTAQ-REVOKE-SOME": _still_named,
    "DTAQ-LOCK-WAIT-OVER": _lock_stays,
    "DTAQ-NAMES": _small_letters,
    "DTAQ-FORCE-QTEMP": _no_force,
    "DTAQ-LIB-DELETE": _library_stays,
    "DTAQ-JOURNAL": _clear_not_journaled,
    "DTAQ-TEMPLATE": lambda patch: patch.setattr(dataqueue, "_SYNTAX", b"\xf0\x02"),
    "RMTCMD-TEMPLATE": lambda patch: patch.setattr(command, "_REQUEST_NOT_VALID", 0x0302),
    "SIGNON-TEMPLATE": _sign_on_code("EXCHANGE_NOT_VALID"),
    "SIGNON-REQUEST": _sign_on_code("REQUEST_ID_NOT_VALID"),
    "MAPPER-SILENT": _mapper,
}
"""The planted alterations by rule."""

ALTERED = tuple(dict.fromkeys(case.rule for case in cases()))
"""The rules that can be altered: all that are tried."""


def plant(patch: Patch, rules: Iterable[str]) -> None:
    """Make the planted alterations of the rules that have one."""
    for rule in rules:
        if rule in PLANTED:
            PLANTED[rule](patch)


def altered_machine(rules: Iterable[str]) -> Machine:
    """The contents of a machine.yaml with another message id for each of the rules whose message can be replaced."""
    answers = {
        rule: MachineAnswer(message="CPD9999" if rule.startswith("CL-") else "CPF9999")
        for rule in rules
        if rule in RULES_WITH_MESSAGE and rule not in PLANTED
    }
    return Machine("machine.yaml", "IBMI", "7.5", answers)
