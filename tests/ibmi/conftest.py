from __future__ import annotations

import pytest

from tdqsim.ibmi import Job, System

USERS = ("ANNA", "BERT", "BOB", "CARL", "CLARA", "DORA", "EVE")


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
