"""Which GnuCOBOL is taken, the shim that is compiled once, and the right margin of fixed format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cobc

TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))"]
HELLO = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. HELLO.
       PROCEDURE DIVISION.
           EXEC CICS WRITEQ TD QUEUE('CSMT') FROM('HELLO') END-EXEC.
           EXEC CICS RETURN END-EXEC.
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a program and a cache of its own."""
    (tmp_path / "HELLO.cbl").write_text(HELLO)
    return tmp_path


def tdq(place, *words, release=""):
    """A tdq command; with a release, ``cobc`` says that it is of that one."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    if release:
        tools = place / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "cobc").write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && exec echo "cobc (GnuCOBOL) {release}"\n'
            f'echo "$@" >> {place}/runs\nexec {shutil.which("cobc")} "$@"\n'
        )
        (tools / "cobc").chmod(0o755)
        environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    command = [*TDQ, "cobol", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=place)


@pytest.mark.parametrize("command", ["check", "compile", "run"])
@pytest.mark.parametrize("release", ["4.0-early-dev.0", "2.2.0", "3.0.0"])
def test_another_release_is_refused_by_name(place, command, release):
    done = tdq(place, command, "HELLO.cbl", release=release)
    assert done.returncode != 0
    assert "GnuCOBOL 3.x from 3.1 on is needed" in done.stderr
    assert release in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["check", "compile", "run"])
def test_a_release_that_is_untested_is_taken_with_a_note(place, command):
    done = tdq(place, command, "HELLO.cbl", release="3.2.0")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("GnuCOBOL 3.2.0 is untested here; 3.1 is tested") == 1


def test_the_release_that_is_tested_has_no_note(place):
    done = tdq(place, "run", "HELLO.cbl", release="3.1.2.0")
    assert (done.returncode, "GnuCOBOL" in done.stderr) == (0, False)


def shims(place):
    return {path: path.stat().st_mtime_ns for path in (place / "cache" / "tdqsim" / "shim").iterdir()}


def compiled(place):
    folder = place / "cache" / "tdqsim" / "cobol"
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_the_shim_and_a_program_are_compiled_once_for_all_processes(place):
    assert tdq(place, "run", "HELLO.cbl").returncode == 0
    first = shims(place), compiled(place)
    assert len(first[0]) == 1
    assert any(path.suffix == ".so" for path in first[1])
    assert (place / "cache" / "tdqsim" / "shim").stat().st_mode & 0o077 == 0
    done = tdq(place, "run", "HELLO.cbl", release="3.1.2.0")
    assert done.returncode == 0, done.stderr
    assert (shims(place), compiled(place)) == first
    modes = [line.partition(" ")[0] for line in (place / "runs").read_text().splitlines()]
    assert modes == ["-E"]  # the compiler reads the source with its copybooks, and does nothing else


def test_processes_that_make_the_shim_at_once_all_run(place):
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    started = [
        subprocess.Popen([*TDQ, "cobol", "run", "HELLO.cbl"], cwd=place, env=environment, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in started:
        _out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert len(shims(place)) == 1


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_not_used(place, mode):
    folder = place / "cache" / "tdqsim" / "shim"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    assert tdq(place, "run", "HELLO.cbl").returncode == 0
    assert shims(place) == {}


@pytest.mark.parametrize("command", ["check", "compile"])
def test_what_stands_behind_column_72_is_told_with_the_error(place, command):
    lines = HELLO.splitlines()
    lines[3] = f"{lines[3].replace(' END-EXEC.', ''):<73}END-EXEC."
    (place / "HELLO.cbl").write_text("\n".join(lines) + "\n")
    done = tdq(place, command, "HELLO.cbl")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "HELLO.cbl:4: EXEC CICS has no END-EXEC",
        "HELLO.cbl:4: 'END-EXEC.' is after column 72 and is ignored",
    ]


def test_check_names_the_lines_of_copybooks_too(place):
    (place / "REC.cpy").write_text(f"{'       01  REC PIC X(4).':<72}05 MORE PIC X.\n")
    (place / "HELLO.cbl").write_text(
        HELLO.replace(
            "       PROCEDURE",
            "       DATA DIVISION.\n       WORKING-STORAGE SECTION.\n       COPY REC.\n       PROCEDURE",
        )
    )
    done = tdq(place, "check", "HELLO.cbl")
    assert done.returncode == 0
    assert f"{Path('REC.cpy')}:1: '05 MORE PIC X.' is after column 72 and is ignored" in done.stdout


@pytest.mark.parametrize("behind", ["00010000", "CR1234"])
def test_numbers_and_tags_of_changes_behind_column_72_are_nobodys_text(place, behind):
    (place / "HELLO.cbl").write_text("".join(f"{line:<72}{behind}\n" for line in HELLO.splitlines()))
    done = tdq(place, "check", "HELLO.cbl")
    assert done.stdout == "HELLO.cbl: HELLO, 2 commands\n"
