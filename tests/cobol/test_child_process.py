"""``tdq cobol run`` and case files run programs in a process of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

import pytest

from tdqsim.cli import main

pytestmark = pytest.mark.cobc

DIES = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. DIES.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  D PIC X(4).
       PROCEDURE DIVISION.
           EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(D) END-EXEC
           GOBACK.
"""
WAITS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. WAITS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  N PIC 9 VALUE 1.
       PROCEDURE DIVISION.
           PERFORM UNTIL N = 2
               EXEC CICS DELAY FOR HOURS(1) END-EXEC
           END-PERFORM
           GOBACK.
"""


@pytest.fixture
def tdq_run(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()

    def run(text, *options):
        source = tmp_path / f"{text.split('PROGRAM-ID. ')[1].partition('.')[0]}.cbl"
        source.write_text(text)
        return main(["cobol", "run", str(source), *options]), capfd.readouterr()

    return run


def test_a_program_that_ends_its_process_is_named_with_its_last_command(tdq_run, tmp_path, monkeypatch):
    """The fault is in Python, in a command, so that the program cannot be left."""
    monkeypatch.setattr("tdqsim.cobol.calls._Call._values", lambda *_: ctypes.string_at(8))
    code, said = tdq_run(DIES)
    assert code == 1
    assert f"tdq: the process that ran {tmp_path / 'DIES.cbl'} has died: signal 11 (Segmentation fault) at" in said.err
    assert f"program DIES, last command at {tmp_path / 'DIES.cbl'}:7\n" in said.err


def test_a_process_that_is_killed_is_told_with_the_signal(tdq_run, tmp_path, monkeypatch):
    monkeypatch.setattr("tdqsim.cobol.calls._Call._values", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    code, said = tdq_run(DIES)
    assert (code, said.err) == (1, f"tdq: the process that ran {tmp_path / 'DIES.cbl'} has died: signal 9 (Killed)\n")


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--definitions", "none.yaml"), 2, "none.yaml: cannot be read"),
        ((), 1, "abend AEYH"),
    ],
    ids=["input", "abend"],
)
def test_the_message_and_the_exit_code_are_those_of_the_command(tdq_run, tmp_path, options, code, told):
    found, said = tdq_run(DIES, *options)
    assert (found, said.err.count(told)) == (code, 1)
    assert list((tmp_path / "tmp").iterdir()) == []  # the loaded copies of programs are gone


def test_handlers_are_imported_from_the_region_directory(tdq_run, tmp_path):
    (tmp_path / "payments_beside.py").write_text("def register(region):\n    print('registered')\n")
    (tmp_path / "region.yaml").write_text("handlers: [payments_beside]\n")
    code, said = tdq_run(DIES, "--region", str(tmp_path))
    assert (code, said.out.count("registered"), said.err.count("abend AEYH")) == (1, 1, 1)


def test_an_interrupt_ends_program_and_process_and_is_told_once(tmp_path):
    source = tmp_path / "WAITS.cbl"
    source.write_text(WAITS)
    # A shell starts what runs in the background with SIGINT ignored, and that is inherited.
    heard = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    words = ["-c", f"{heard}; from tdqsim.cli import main; sys.exit(main(sys.argv[1:]))", "cobol", "run", str(source)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, *words, "--trace"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        for line in process.stdout:
            if "DELAY" in line:
                process.send_signal(signal.SIGINT)
                break
        _rest, error = process.communicate(timeout=300)
    assert (process.returncode, error) == (130, "tdq: interrupted\n")
