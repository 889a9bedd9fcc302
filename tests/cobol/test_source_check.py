"""What ``tdq check`` finds in the COBOL programs of a region's transactions."""

from __future__ import annotations

import json

import pytest

from tdqsim.cli import main

DEFINITIONS = """\
group: G
transaction:
- {name: ONE, program: FIRST}
- {name: TWO, program: SECOND}
- {name: OFF, program: THIRD, remotesystem: SYSB}
connection:
- {name: SYSB}
"""
PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. {}.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
           COPY ITEM.
       PROCEDURE DIVISION.
           EXEC CICS {}
           GOBACK.
"""
RIGHT = "READQ TD QUEUE('Q') INTO(D) LENGTH(N) END-EXEC"


@pytest.fixture
def check(tmp_path, capsys):
    for folder in ("src", "copy"):
        (tmp_path / folder).mkdir()
    (tmp_path / "region.yaml").write_text("definitions: [d.yaml]\ncobol: {sources: [src], copybooks: [copy]}\n")
    (tmp_path / "d.yaml").write_text(DEFINITIONS)
    (tmp_path / "copy" / "ITEM.cpy").write_text("       01  D PIC X(8).\n       01  N PIC S9(4) COMP.\n")

    def checked(first: str, second: str = RIGHT):
        for name, command in (("FIRST", first), ("second", second), ("THIRD", "READQ TD")):
            (tmp_path / "src" / f"{name}.cbl").write_text(PROGRAM.format(name, command))
        code = main(["check", str(tmp_path), "--json"])
        found = json.loads(capsys.readouterr().out)
        return (
            code,
            *(
                [(each["file"], each["line"], each["message"]) for each in found[key]]
                for key in ("problems", "warnings")
            ),
        )

    return checked


@pytest.mark.cobc
def test_check_translates_the_programs_of_transactions_of_this_region(check):
    assert check(RIGHT) == (0, [], [])


@pytest.mark.cobc
@pytest.mark.parametrize(
    ("command", "line", "message"),
    [
        ("READQ TD QUEUE('Q') INTO(D)", 7, "EXEC CICS has no END-EXEC"),
        ("READQ TD QUEUE('QUEUE') INTO(D) END-EXEC", 7, "has 5 characters; a name here has at most 4"),
        ("READQ TD QUEUE('Q') INTO(D) LENGHT(N) END-EXEC", 7, "LENGHT is not an option of READQ; did you mean LENGTH?"),
    ],
)  # fmt: skip
def test_check_tells_the_line_of_a_program_that_cannot_be_translated(check, tmp_path, command, line, message):
    code, (problem,), warnings = check(RIGHT, command)
    assert (code, warnings) == (2, [])
    assert problem[:2] == (str(tmp_path / "src" / "second.cbl"), line)
    assert message in problem[2]


@pytest.mark.cobc
def test_check_warns_of_a_command_that_is_not_simulated(check, tmp_path):
    code, problems, (warning,) = check("READ FILE('F') INTO(D) RIDFLD(D) XRBA END-EXEC")
    assert (code, problems) == (0, [])
    assert warning[:2] == (str(tmp_path / "src" / "FIRST.cbl"), 7)
    assert warning[2].startswith("not simulated: ")


def test_check_without_a_compiler_warns_that_programs_were_not_checked(check, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, problems, (warning,) = check("READQ")
    assert (code, problems) == (0, [])
    assert warning[0] == str(tmp_path / "region.yaml")
    assert warning[2].startswith("the programs of transactions are not checked: GnuCOBOL is not installed")


@pytest.mark.cobc
def test_check_warns_of_a_program_id_that_is_not_the_name_of_its_file(check, tmp_path, capsys):
    (tmp_path / "src" / "OTHER.cbl").write_text("      * PROGRAM-ID. FIRST.\n" + PROGRAM.format("'Second'", RIGHT))
    code, problems, warnings = check(RIGHT)
    assert (code, problems, warnings) == (0, [], [])
    (tmp_path / "src" / "second.cbl").unlink()
    (tmp_path / "src" / "FIRST.cbl").write_text(PROGRAM.format("FURST", RIGHT))
    assert main(["check", str(tmp_path), "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    told = [(each["file"].rpartition("/")[2], each["line"], each["message"]) for each in warnings]
    assert told[0] == ("d.yaml", 4, told[0][2])  # there is no source SECOND
    assert told[1:] == [
        (
            "FIRST.cbl",
            2,
            (
                "PROGRAM-ID is FURST, but LINK, XCTL and transactions find this program as FIRST, the name of its "
                "file; give both one name"
            ),
        ),
        (
            "OTHER.cbl",
            3,
            "its PROGRAM-ID is SECOND, which a transaction names, but its file has another name: rename it",
        ),
    ]
    assert main(["cobol", "check", str(tmp_path / "src" / "FIRST.cbl"), "-I", str(tmp_path / "copy")]) == 0
    assert "FIRST.cbl:2: warning: PROGRAM-ID is FURST" in capsys.readouterr().out
