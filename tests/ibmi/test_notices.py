"""What a system says: of jobs whose program has failed while nobody waits for the result, of APIs that are not simulated."""

from __future__ import annotations

import pytest

from tdqsim.ibmi import EscapeMessage, ParameterError, System


def failing(_job: object) -> None:
    raise ValueError("no such account")


def test_a_started_job_that_raises_with_nobody_waiting_is_a_notice_with_the_users_lines() -> None:
    with System() as system:
        system.notices.silence()
        started = system.start(failing, name="PAYJOB")
        system.run()
        (notice,) = system.notices
        assert (notice.id, notice.event, notice.severity) == ("TDQ0055", "job_failed", "error")
        assert (notice.resource, notice.task) == (f"JOB({started.job.qualified_name})", started.job.qualified_name)
        assert notice.reason == "Its program was ended by ValueError: no such account."
        assert 'raise ValueError("no such account")' in notice.traceback
        with pytest.raises(ValueError, match="no such account"):
            started.result()


def test_a_submitted_job_whose_command_fails_is_a_notice() -> None:
    with System() as system, system.job("A") as job:
        system.notices.silence()
        job.command("SBMJOB CMD(DLTDTAQ DTAQ(QGPL/NONE)) JOB(NIGHT)")
        system.run()
        (notice,) = system.notices
        assert notice.resource.endswith("/NIGHT)")
        assert "CPF2105" in notice.reason


def test_a_job_whose_result_is_awaited_or_that_was_ended_is_no_notice() -> None:
    with System() as system:
        system.notices.silence()
        with pytest.raises(ValueError, match="no such account"):
            system.start(failing).result()
        with system.job() as job:
            job.crtdtaq("QGPL/WORK", maxlen=5)
        ended, closed = (system.start(lambda job: job.qrcvdtaq("WORK", "QGPL", -1), name=name) for name in ("A", "B"))
        system.run()
        ended.job.end()
        system.run()
        assert (ended.done, closed.done) == (True, False)
    assert list(system.notices) == []


@pytest.mark.parametrize(
    ("library", "name", "what"),
    [("QSYS", "QUSROBJD", "Retrieve Object Description"), ("QGY", "QGYOLOBJ", "Open List of Objects")],
)
def test_a_call_of_an_api_that_is_not_simulated_names_it(library: str, name: str, what: str) -> None:
    with System() as system, system.job("A") as job:
        system.notices.silence()
        for _ in range(2):
            with pytest.raises(EscapeMessage, match="MCH3401"):
                job.call_program(name, library)
        with pytest.raises(EscapeMessage, match="MCH3401"):
            job.call_program("QUSRMISS", "QSYS")
        (notice,) = system.notices
        assert (notice.id, notice.resource) == ("TDQ0059", f"PROGRAM({name})")
        assert f"{name}, {what}, is an API of IBM i that is not simulated" in notice.reason
        with pytest.raises(ParameterError, match=rf"this API \({what}\) is not simulated"):
            job.call(name)
