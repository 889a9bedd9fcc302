from __future__ import annotations

from functools import wraps

import pytest

from tdqsim.facts import table
from tdqsim.ibmi import RDQS0100, RDQS0200, EscapeMessage, Job, System, cl_processor

USERS = ("ANNA", "BERT", "BOB", "CARL", "CLARA", "DORA", "EVE")


LISTED: dict[str, set[str]] = {}
for row in (*table("ibmi_command_messages"), *table("ibmi_api_messages")):
    if row.get("api") != "QSNDDTAQ":  # the end of its list is not stored
        LISTED.setdefault(row.get("command") or row["api"], set()).add(row["message"])
"""The messages that may end a command or API."""
ANALYZER = {"CPF0001", "CPF0006"}  # of the command, and of one in its CMD
"""The messages that end any command whose parameters are wrong."""


@pytest.fixture(autouse=True, scope="module")
def commands_and_apis_end_with_messages_of_their_lists():
    """Fail a test in which a command or API ends with a message that its list does not have."""

    def checked(name, method):
        @wraps(method)
        def call(job, /, *args, **keywords):
            try:
                return method(job, *args, **keywords)
            except EscapeMessage as error:
                core = getattr(job, "_core", job).system
                planned = core.faults is not None or core.machine
                if error.message_id not in LISTED[name] | ANALYZER and not planned:
                    pytest.fail(f"{name} ended with {error}; the vendor's list has {sorted(LISTED[name])}")
                raise

        return call

    bytes_call = Job.call

    @wraps(bytes_call)
    def call(job, api, *args, **keywords):
        return (
            checked(api, bytes_call)(job, api, *args, **keywords)
            if api in LISTED
            else bytes_call(job, api, *args, **keywords)
        )

    handlers = dict(cl_processor.HANDLERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "call", call)
        for name in LISTED:
            if not hasattr(Job, name.lower()):  # a command that has only its text
                handlers[name] = checked(name, handlers[name])
                continue
            method = checked(name, getattr(Job, name.lower()))
            patch.setattr(Job, name.lower(), method)
            if hasattr(cl_processor, name.lower()):  # the function that the command's text calls
                patch.setattr(cl_processor, name.lower(), method)
        patch.setattr(cl_processor, "HANDLERS", handlers)
        yield


@pytest.fixture
def system():
    with System("SYS1") as made:
        made.crtlib("APPLIB")
        for user in USERS:
            made.crtusrprf(user)
        yield made


@pytest.fixture
def job(system: System):
    with system.job("WORKER", user="ANNA", number="123456") as made:
        yield made


@pytest.fixture
def officer(system):
    with system.job("OFFICER", user="QSECOFR") as made:
        yield made


def e(text: str) -> bytes:
    """EBCDIC of code page 037, from Python's own codec."""
    return text.encode("cp037")


def b4(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def name20(name: str, library: str) -> bytes:
    return e(f"{name:<10}{library:<10}")


def fill(job: Job, name: str, *entries: bytes) -> None:
    for data in entries:
        job.qsnddtaq(name, "APPLIB", data)


def drain(job: Job, name: str) -> list[bytes]:
    found = []
    while (entry := job.qrcvdtaq(name, "APPLIB")) is not None:
        found.append(entry.data)
    return found


def retrieved(
    job: Job, name: str, library: str, form: str, selection: RDQS0100 | RDQS0200, room: int | None = None
) -> bytes:
    """The bytes of QMHRDQM in a receiver of so much room; None for one that holds the whole answer."""
    if room is None:
        room = int.from_bytes(retrieved(job, name, library, form, selection, 8)[4:8], "big")
    longest = job.qmhrdqm(name, library, "RDQM0100", RDQS0100("F", 0)).maximum_message_text_length_available
    text = selection.number_of_message_text_bytes_to_retrieve
    text = longest if text is None else text
    if isinstance(selection, RDQS0100):
        raw = e(f"{selection.selection_type}   ") + b4(text)
    else:
        keys = selection.number_of_message_key_bytes_to_retrieve
        raw = e(f"{selection.selection_type}{selection.key_search_order} ") + b4(text)
        raw += b4(len(selection.key) if keys is None else keys) + b4(len(selection.key)) + selection.key
    receiver = bytearray(max(room, 8))
    job.call("QMHRDQM", receiver, b4(room), e(form), name20(name, library), raw, b4(len(raw)),
             e(type(selection).__name__), b4(0))  # fmt: skip
    return bytes(receiver[: int.from_bytes(receiver[:4], "big")])
