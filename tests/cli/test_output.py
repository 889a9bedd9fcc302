"""Tables, JSON, records as text; and where runs put their output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim.cli.output import emit_json, emit_table, record_value, shown_record
from tdqsim.core.codepage import codepage
from tdqsim.datasets.workdir import output_directory
from tdqsim.errors import DatasetError
from tdqsim.facts import Cvda
from tests.cli.conftest import Tdq


def test_a_table_elsewhere_than_on_a_terminal_is_whole_plain_columns(capsys: pytest.CaptureFixture[str]) -> None:
    emit_table(
        ("NAME", "ITEMS", "STATE"), [("PAYQ", 5, Cvda.ENABLED), ("Q", 12345, None), ("L" * 200, 0, Cvda.DISABLED)]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "ITEMS", "STATE"]
    assert lines[1].split() == ["PAYQ", "5", "ENABLED"]
    assert lines[2].split() == ["Q", "12345"]
    assert lines[3].split() == ["L" * 200, "0", "DISABLED"]
    assert lines[1].index("5") == lines[2].index("5", lines[2].index("1"))  # numbers end in one column


def test_a_table_on_a_terminal_is_drawn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdqsim.cli.output.on_terminal", lambda: True)
    emit_table(("NAME", "TEXT"), [("PAYQ", "[bold]as it is[/bold]")], title="queues")
    drawn = capsys.readouterr().out
    assert "queues" in drawn
    assert "[bold]as it is[/bold]" in drawn


def test_json_shows_cvdas_by_name_and_bytes_as_hexadecimal(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"type": Cvda.INTRA, "data": b"\xc1\x00", "none": None, "paths": (Path("a"),)}, indent=None)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line) == {"type": "INTRA", "data": "C100", "none": None, "paths": ["a"]}


def test_a_record_is_text_in_its_code_page() -> None:
    page = codepage("037")
    assert shown_record(b"\xc8\xc9\x00", page) == "HI."
    assert shown_record(b"\xc8\xc9\x00", page, as_hex=True) == "C8C900"
    assert record_value(b"\xc8\xc9\x00", page) == {"length": 3, "text": "HI.", "hex": "C8C900"}


def test_runs_at_once_get_directories_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with output_directory(None, "job") as first:
        assert first == tmp_path / "tdq-out" / "job"
        with output_directory(None, "job") as second:
            assert second == tmp_path / "tdq-out" / "job-2"
        with pytest.raises(DatasetError, match="another run is writing there"), output_directory(first, "job"):
            pass
    with output_directory(None, "job") as again:
        assert again == first


def test_a_directory_is_free_again_when_its_process_is_gone(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from tdqsim.datasets.workdir import output_directory\n"
    code += "lock = output_directory(Path(sys.argv[1]), 'x'); lock.__enter__(); os._exit(9)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert done.returncode == 9
    with output_directory(tmp_path / "out", "x") as directory:
        assert directory == tmp_path / "out"


def test_a_place_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DatasetError, match="choose a place with --output DIR"),
        output_directory(tmp_path / "file" / "out", "x"),
    ):
        pass


@pytest.mark.parametrize("where", ["tdq-out", "tdq-out/job/MSGUSR", "tdq-out/job/.lock", "tdq-out/job"])
def test_a_run_writes_through_no_link_that_leads_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    victim = tmp_path / "victim"
    (victim.mkdir if where in ("tdq-out", "tdq-out/job") else victim.touch)()
    (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / where).symlink_to(victim)
    with pytest.raises(DatasetError, match="symbolic link"), output_directory(None, "job"):
        pass
    assert list(victim.iterdir()) == [] if victim.is_dir() else victim.read_bytes() == b""


@pytest.mark.parametrize(
    "words",
    [
        ["export", "csd", "queues.yaml", "--output", "link"],
        ["import", "csd", "queues.csd", "--output", "link"],
        ["read", "PAYQ", "-d", "queues.yaml", "-s", "store", "--output", "link"],
    ],
    ids=lambda words: words[0],
)
def test_a_file_that_a_command_writes_is_no_link_that_leads_out(
    tdq: Tdq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    room, victim = tmp_path / "room", tmp_path / "victim"
    room.mkdir()
    monkeypatch.chdir(room)
    victim.write_text("kept")
    (room / "link").symlink_to(victim)
    (room / "queues.yaml").write_text("groups: [{group: G, tdqueue: [{name: PAYQ, type: INTRA}]}]\n")
    (room / "queues.csd").write_text("DEFINE TDQUEUE(PAYQ) GROUP(G) TYPE(INTRA)\n")
    if words[0] == "read":
        assert tdq("write", "PAYQ", "A", "--seed", "-d", "queues.yaml", "-s", "store").code == 0
    ended = tdq(*words)
    assert ended.code == 2
    assert "link: is a symbolic link that leads out of ." in ended.err
    assert victim.read_text() == "kept"
    if words[0] == "read":
        assert tdq("peek", "PAYQ", "-s", "store").out == "A\n"
