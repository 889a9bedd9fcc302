"""Whatever is raised inside a command or an API, at whatever line: it happened or it did not, now and after a restart."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim.definitions import define_dtaq
from tdqsim.ibmi import EscapeMessage, System
from tests.interrupts import RaiseAt

PACKAGE = str(Path(tdqsim.__file__).parent)
SAMPLE = 5
"""So many of a command's lines by default; all of them in the slow test."""


class Boom(KeyboardInterrupt):
    """What is raised."""


def delete_some(_system: System, job: Any) -> None:
    """DLTLIB of a library with an object that another job locks."""
    with suppress(EscapeMessage):
        job.dltlib("OLDLIB")


COMMANDS: dict[str, Callable[[System, Any], object]] = {
    "CRTLIB": lambda system, _job: system.crtlib("NEWLIB"),
    "DLTLIB": lambda system, _job: system.dltlib("OLDLIB"),
    "DLTLIB SOME": delete_some,
    "CRTUSRPRF": lambda system, _job: system.crtusrprf("ANNA"),
    "CHGUSRPRF": lambda system, _job: system.chgusrprf("BERT", status="*DISABLED", pwdexp=True),
    "GRTOBJAUT": lambda _system, job: job.grtobjaut("APPLIB/KEYED", ["BERT", "*PUBLIC"], "*USE"),
    "RVKOBJAUT": lambda _system, job: job.rvkobjaut("APPLIB/KEYED", "*PUBLIC", "*ALL"),
    "CRTDTAQ": lambda _system, job: job.crtdtaq(dtaq="APPLIB/NEW", maxlen=10),
    "CRTDTAQ FORCE": lambda _system, job: job.crtdtaq(dtaq="APPLIB/NEW", maxlen=10, force="*YES"),
    "install": lambda system, _job: system.install(
        [define_dtaq(dtaq="APPLIB/NEW1", maxlen=10), define_dtaq(dtaq="APPLIB/NEW2", maxlen=10)]
    ),
    "DLTDTAQ": lambda _system, job: job.dltdtaq("APPLIB/PLAIN"),
    "DLTDTAQ FORCE": lambda _system, job: job.dltdtaq("APPLIB/KEYED"),
    "RNMOBJ": lambda _system, job: job.rnmobj("APPLIB/KEYED", "OTHER"),
    "MOVOBJ": lambda _system, job: job.movobj("APPLIB/PLAIN", "OLDLIB"),
    "MOVOBJ QTEMP": lambda _system, job: job.movobj("QTEMP/TEMP", "OLDLIB"),
    "ENDJRNOBJ": lambda _system, job: job.endjrnobj("APPLIB/KEYED"),
    "STRJRNOBJ": lambda _system, job: job.strjrnobj("APPLIB/PLAIN", "APPLIB/JRN"),
    "QMHQCDQ": lambda _system, job: job.qmhqcdq(
        "PLAIN", "APPLIB", automatic_reclaim=True, enforce_data_queue_locks=True
    ),
    "QSNDDTAQ": lambda _system, job: job.qsnddtaq("PLAIN", "APPLIB", b"new"),
    "QSNDDTAQ FORCE": lambda _system, job: job.qsnddtaq("KEYED", "APPLIB", b"new", b"K9"),
    "QRCVDTAQ": lambda _system, job: job.qrcvdtaq("PLAIN", "APPLIB", 0),
    "QRCVDTAQ FORCE": lambda _system, job: job.qrcvdtaq("KEYED", "APPLIB", 0, "GE", b"K0"),
    "QCLRDTAQ": lambda _system, job: job.qclrdtaq("PLAIN", "APPLIB"),
    "QCLRDTAQ FORCE": lambda _system, job: job.qclrdtaq("KEYED", "APPLIB"),
    "QMHRDQM": lambda _system, job: job.qmhrdqm("KEYED", "APPLIB", "RDQM0200"),
    "close": lambda system, _job: system.close(),
}


def seen(system: System) -> dict[str, Any]:
    """What of a system outlives its end."""
    found: dict[str, Any] = {
        "libraries": sorted(system.libraries),
        "profiles": {name: profile.save() for name, profile in system.profiles.items()},
    }
    with system.job("LOOK", "QSECOFR") as job:
        for library in system.libraries.values():
            for (kind, name), one in library.objects.items():
                facts = one.save()
                if kind == "*DTAQ":
                    facts["entries"] = [(entry.key, entry.data) for entry in one.stored.entries()]
                found[f"{library.name}/{name}"] = facts
        if "APPLIB/JRN" in found:
            found["journal"] = [(entry.type, entry.object) for entry in job.dspjrn("APPLIB/JRN")]
    return found


def begun(place: Path) -> tuple[System, Any]:
    system = System("SYS1", store=place)
    system.clock.freeze()
    system.crtusrprf("BERT")
    system.crtlib("APPLIB")
    system.crtlib("OLDLIB")
    job = system.job("A", "QSECOFR")
    job.crtdtaq(dtaq="OLDLIB/OLD", maxlen=10)
    job.crtdtaq(dtaq="OLDLIB/HELD", maxlen=10)
    job.crtjrn("OLDLIB/JRN")
    system.job("B", "QSECOFR").alcobj([("OLDLIB/HELD", "*SHRRD")])
    job.crtdtaq(dtaq="APPLIB/PLAIN", maxlen=10)
    job.crtdtaq(dtaq="APPLIB/KEYED", maxlen=10, seq="*KEYED", keylen=2, force="*YES")
    job.crtdtaq(dtaq="QTEMP/TEMP", maxlen=10, force="*YES")
    job.qsnddtaq("TEMP", "QTEMP", b"temporary")
    job.crtjrn("APPLIB/JRN")
    job.strjrnobj("APPLIB/KEYED", "APPLIB/JRN")
    for number in range(3):
        job.qsnddtaq("PLAIN", "APPLIB", b"%d" % number)
        job.qsnddtaq("KEYED", "APPLIB", b"%d" % number, b"K%d" % number)
    return system, job


def one(place: Path, name: str, interrupt: RaiseAt | None, *, run: bool = True) -> dict[str, Any]:
    """What there is after a command, or one that was interrupted, and that a restart finds the same."""
    system, job = begun(place)
    if interrupt is not None:
        with suppress(Boom), interrupt:
            COMMANDS[name](system, job)
    elif run:
        COMMANDS[name](system, job)
    found = None if name == "close" else seen(system)
    system.close()
    with System("SYS1", store=place) as again:
        after = seen(again)
    if name == "close":
        after.pop("APPLIB/PLAIN")  # what is not forced is lost, as by a failure
        return after
    assert after == found, interrupt and interrupt.where
    shutil.rmtree(place)
    return after


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file opened just then goes unclosed
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("name", COMMANDS)
def test_it_happened_or_it_did_not(tmp_path: Path, name: str, every: bool) -> None:
    first = one(tmp_path / "first", name, None, run=False)
    done = one(tmp_path / "done", name, None)
    counting = RaiseAt(10**9, Boom, PACKAGE)
    one(tmp_path / "count", name, counting)
    many = 10**9 - counting.left
    assert many > 5
    for number in range(1, many + 1, 1 if every else max(1, many // SAMPLE)):
        interrupt = RaiseAt(number, Boom, PACKAGE)
        found = one(tmp_path / str(number), name, interrupt)
        assert interrupt.where
        assert found in (first, done), interrupt.where


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # finalizers of what was half made
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
def test_a_start_that_was_interrupted_lets_the_store_go(tmp_path: Path, every: bool) -> None:
    with System("PROD", store=tmp_path / "store") as system:
        system.crtlib("APPLIB")
    counting = RaiseAt(10**9, Boom, PACKAGE)
    with counting:
        system = System("PROD", store=tmp_path / "store")
    system.close()
    many = 10**9 - counting.left
    last = range(many - 20, many + 1)  # where the store is open and the system is not yet the caller's
    for number in range(1, many + 1) if every else [*range(1, many - 20, many // SAMPLE), *last]:
        interrupt = RaiseAt(number, Boom, PACKAGE)
        with suppress(Boom):
            with interrupt:
                system = System("PROD", store=tmp_path / "store")
            system.close()
        with System("PROD", store=tmp_path / "store") as again:
            assert "APPLIB" in again.libraries, interrupt.where


def test_a_lock_whose_taking_was_interrupted_goes_with_its_job() -> None:
    lock = [("APPLIB/Q", "*EXCL")]
    with System("PROD") as system:
        system.crtlib("APPLIB")
        system.job("A").crtdtaq(dtaq="APPLIB/Q", maxlen=10)
        first = system.job("B")
        first.alcobj(lock)  # what runs once in a process has run by now
        first.end()
        for number in range(1, 1000):
            job, interrupt = system.job("C"), RaiseAt(number, Boom, PACKAGE)
            with suppress(Boom), interrupt:
                job.alcobj(lock)
            job.end()
            other = system.job("D")
            other.alcobj(lock)
            other.end()
            if interrupt.where is None:
                break
        assert 20 < number < 999
