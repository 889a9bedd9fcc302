"""The Java client of the probe for IBM i, against served systems, some of them altered."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tdqsim.definitions.machine import Machine
from tdqsim.probe.answers import Answers, read_answers
from tdqsim.probe.comparing import ProbeComparison, compare
from tdqsim.probe.ibmi_make import write_ibmi_probe
from tdqsim.probe.ibmi_run import DEFAULTS, LOCATION, ibmi_answers, register_programs
from tests.probe.ibmi_alterations import ALTERED, DEPENDENT, altered_machine, plant
from tests.server.hostservers.conftest import Served
from tests.server.hostservers.java import JAR, SHORT
from tests.server.hostservers.test_toolbox import pytestmark  # noqa: F401  (the marks are for here too)

SLOW = {"DTAQ-LOCK-ENFORCED", "DTAQ-XCL-LOCK", "MAPPER-SILENT"}
SQL = {"DTAQ-JOURNAL", "DTAQ-QSYS2-KEYED"}
"""Cases that need a database server, which is not simulated."""
QUICK = [rule for rule in ALTERED if rule not in SLOW | SQL]
DRAWN = random.Random(os.environ.get("TDQ_DRAW", "0"))
PAIRS = [tuple(sorted(DRAWN.sample(QUICK, 2))) for _ in range(12)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled client."""
    folder = tmp_path_factory.mktemp("probe") / "probe"
    write_ibmi_probe(folder)
    options = [*(f"-J{option}" for option in SHORT), "-Xlint:-deprecation"]
    subprocess.run(["javac", *options, "-cp", str(JAR), "-d", str(folder), str(folder / "TdqProbe.java")], check=True)
    return folder


@pytest.fixture(scope="module")
def own() -> Answers:
    return ibmi_answers()


def served_with(machine: Machine | None) -> Served:
    """A served system with what the cases need."""
    served = Served(machine=machine)
    system = served.system

    def fill() -> None:
        number, user, name = DEFAULTS["JOB"].split("/")
        system.values["QLIBLCKLVL"] = 0  # otherwise the case DTAQ-XCL-KNOWN is left out
        system.crtusrprf(user)
        system.job(name, user, number)
        system.connect(LOCATION, system)
        with system.job(user="ANNA") as job:
            job.command(f"CRTLIB LIB({DEFAULTS['LIB']}) AUT(*USE)")
        register_programs(system, DEFAULTS["LIB"])

    served.do(fill)
    return served


def run_client(client: Path, served: Served, out: Path, *options: str) -> Answers:
    """Run the client and read its answers file."""
    ports = ",".join(str(served.ports[name]) for name in ("as-signon", "as-dtaq", "as-rmtcmd", "mapper"))
    words = [
        f"lib={DEFAULTS['LIB']}", f"lib2={DEFAULTS['LIB2']}", "user2=BERT", f"job={DEFAULTS['JOB']}", f"location={LOCATION}",
        f"cases={client / 'tdqprobe.txt'}", f"out={out}", f"ports={ports}", "keep=yes", "pause=300", *options,
    ]  # fmt: skip
    done = subprocess.run(
        ["java", *SHORT, "-cp", f"{JAR}:{client}", "TdqProbe", "127.0.0.1", "ANNA", *words],
        env={**os.environ, "TDQ_PASSWORD": "Secret1pw", "TDQ_PASSWORD2": "Secret1pw"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return read_answers(out)


Probed = Callable[..., ProbeComparison]


@pytest.fixture
def probed(client: Path, own: Answers, tmp_path: Path) -> Probed:
    """Run the client against an altered system, and compare."""

    def run(altered: tuple[str, ...], *options: str) -> ProbeComparison:
        with pytest.MonkeyPatch.context() as patch:
            plant(patch, altered)
            served = served_with(altered_machine(altered) if altered else None)
            try:
                answers = run_client(client, served, tmp_path / "answers", *options)
            finally:
                served.stop()
        assert answers.complete
        return compare(answers, own)

    return run


def test_the_client_observes_what_the_simulator_answers_and_an_alteration(probed: Probed) -> None:
    """One run for both: every case but the three altered ones shows what runs in this process show."""
    altered = ("DTAQ-SEND-FULL", "CL-TWICE", "DTAQ-RECEIVE-LOWEST-KEY")
    found = probed(altered, "without=slow")
    assert set(found.rules) == set(altered)
    assert set(found.untried) == SLOW | SQL
    assert found.adoptable == {"DTAQ-SEND-FULL": {"message": "CPF9999"}, "CL-TWICE": {"message": "CPD9999"}}


@pytest.mark.slow
def test_the_client_on_a_system_that_is_not_altered(probed: Probed) -> None:
    found = probed(())
    assert found.differences == ()
    assert set(found.untried) == SQL


@pytest.mark.slow
@pytest.mark.parametrize("altered", [*((rule,) for rule in QUICK), *PAIRS], ids="+".join)
def test_the_client_names_altered_rules_and_no_others(probed: Probed, altered: tuple[str, ...]) -> None:
    found = probed(altered, "without=slow")
    allowed = set(altered).union(*(DEPENDENT.get(rule, ()) for rule in altered))
    assert set(altered) <= set(found.rules) <= allowed


def test_the_client_refuses_a_library_that_exists(client: Path, tmp_path: Path) -> None:
    served = served_with(None)
    try:
        with pytest.raises(AssertionError, match="CRTLIB"):
            run_client(client, served, tmp_path / "answers", f"lib2={DEFAULTS['LIB']}")
        assert DEFAULTS["LIB"] in served.system.libraries
    finally:
        served.stop()
    assert not (tmp_path / "answers").exists()
