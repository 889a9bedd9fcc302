"""Writing the probe for IBM i: the programs, the cases and the page for the change request."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from tdqsim.errors import UsageError
from tdqsim.probe.ibmi_cases import cases, not_tried, probe_text
from tdqsim.probe.ibmi_cl import cl_cases, cl_program, source
from tdqsim.probe.ibmi_sql import sql_cases, sql_script

_NAME = re.compile(r"[A-Z$#@][A-Z0-9$#@_]{0,9}")
_JOB = re.compile(r"[0-9]{6}/[A-Z$#@][A-Z0-9$#@_]{0,9}/[A-Z$#@][A-Z0-9$#@_]{0,9}")
_LOCATION = re.compile(r"[A-Z$#@][A-Z0-9$#@]{0,7}")


def write_ibmi_probe(
    directory: Path | str, *, library: str = "TDQPROBE", library2: str = "TDQPROBE2", location: str = "", job: str = ""
) -> list[Path]:
    """Write the probe for an IBM i system.

    Args:
        directory: the folder to write to; it is created, and must be empty if it exists.
        library: the library that the programs create and use.
        library2: the second library, for a few cases.
        location: a remote location name through which the system reaches itself, for the cases of DDM data queues in
            the CL program; without one they are left out. The Java client takes it as a parameter.
        job: an active job of another user (number/user/name), for the case of job logs in the CL program; likewise.

    Returns:
        The files that were written.

    Raises:
        UsageError: a name is not valid, or the folder is not empty.
        OSError: the folder cannot be written.
    """
    target = Path(directory)
    _check(target, library, library2, location, job)
    values = {"LIB": library, "LIB2": library2, "LOCATION": location, "JOB": job}
    contents = {
        "README.md": _page(library, library2),
        "TdqProbe.java": files("tdqsim.probe").joinpath("ibmi_TdqProbe.java").read_text("utf-8"),
        "tdqprobe.txt": probe_text("cases"),
        "TDQPROBE.CLLE": cl_program(values),
        "TDQPARM.CLLE": source(probe_text("parm").splitlines()),
        "TDQXCL.CLLE": source(probe_text("xcl").splitlines()),
        "tdqprobe.sql": sql_script(values),
    }
    target.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (target / name).write_text(text, "utf-8", newline="\n")
    return [target / name for name in contents]


def _check(target: Path, library: str, library2: str, location: str, job: str) -> None:
    for value in (library, library2):
        if not _NAME.fullmatch(value) or value.startswith("Q"):
            raise UsageError(f"{value}: is not a library name; allowed are 1 to 10 of A-Z 0-9 $ # @ _, the first not Q")
    if library == library2:
        raise UsageError(f"{library}: the second library must be another one")
    if location and not _LOCATION.fullmatch(location):
        raise UsageError(f"{location}: is not a remote location name; allowed are 1 to 8 of A-Z 0-9 $ # @")
    if job and not _JOB.fullmatch(job):
        raise UsageError(f"{job}: is not the name of a job; allowed is number/user/name")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: is not an empty folder; name one that is empty or does not exist")


def _page(library: str, library2: str) -> str:
    every = tuple(dict.fromkeys(case.rule for case in cases()))
    by_cl, by_sql = ({case.rule for case in some} for some in (cl_cases(), sql_cases()))
    text = probe_text("change")
    tried = [
        f"| {rule} | yes | {'yes' if rule in by_cl else 'no'} | {'yes' if rule in by_sql else 'no'} |" for rule in every
    ]
    replaced = {
        "LIB": library, "LIB2": library2, "JAVA": str(len(every)), "CL": str(len(by_cl)), "SQL": str(len(by_sql)),
        "NOT_TRIED": "\n".join(f"| {rule} | {reason} |" for rule, reason in sorted(not_tried().items())),
        "TRIED": "\n".join(tried),
    }  # fmt: skip
    for name, value in replaced.items():
        text = text.replace("{" + name + "}", value)
    return text
