"""machine.yaml: a region gives the answers of a real machine for the rules in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import SystemOptions
from tdqsim.cics import Abend, Region, Task
from tdqsim.errors import DefinitionError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "machine.yaml"
    path.write_text(text, "utf-8")
    return path


def answer(region: Region, command: str) -> tuple[int, int]:
    with region.task() as task:
        variables: dict[str, int] = {}
        task.execute(f"{command} RESP(R1) RESP2(R2)", variables)
    return variables["R1"], variables["R2"]


def test_a_condition_has_the_answer_of_the_machine(tmp_path: Path) -> None:
    file = written(
        tmp_path, "product: CICS\nrules:\n  IC-START-TRANSIDERR: {resp: INVREQ, resp2: 77}\n  PGM-LENGERR: {resp2: 5}\n"
    )
    with Region(system=SystemOptions(machine=file)) as region:
        assert answer(region, "START TRANSID('ZZZZ')") == (16, 77)
        assert answer(region, "READQ TD QUEUE('ZZZZ') SET(P)") == (44, 0)


def test_an_unhandled_condition_has_the_abend_code_of_the_machine(tmp_path: Path) -> None:
    def program(task: Task) -> None:
        task.execute("START TRANSID('ZZZZ')")

    with Region(
        system=SystemOptions(machine=written(tmp_path, "rules: {IC-START-TRANSIDERR: {abend: AEQQ}}"))
    ) as region:
        started = region.start(program)
        region.run()
        with pytest.raises(Abend) as caught:
            started.result()
    assert caught.value.code == "AEQQ"


def test_region_yaml_names_the_file(tmp_path: Path) -> None:
    written(tmp_path, "rules: {TASK-ASSIGN-QNAME: {resp2: 44}}")
    (tmp_path / "region.yaml").write_text("machine: machine.yaml\n", "utf-8")
    with Region.from_directory(tmp_path) as region:
        assert answer(region, "ASSIGN QNAME(Q)") == (16, 44)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: {NO-RULE: {resp: INVREQ}}", "there is no rule with this id"),
        ("rules: {IC-START-TRANSIDERR: {resp: FOO}}", "must be the name or number of a condition"),
        ("rules: {IC-START-TRANSIDERR: {resp2: x}}", "must be a whole number"),
        ("rules: {IC-START-TRANSIDERR: {abend: ABC}}", "must be four characters"),
        ("rules: {IC-START-TRANSIDERR: {code: ABC}}", "allowed are resp, resp2, message, abend"),
        ("rules: {IC-START-TRANSIDERR: {message: DFHTD0001}}", "the rule has no message of CICS"),
        ("rules: {CREATE-REPLACE-TYPE: {resp2: 3}}", "cannot tell them apart"),
        ("rules: {IC-START-REMOTE: {resp2: 3}}", "SYSIDERR without RESP2 .*; name .*REC-SYSIDERR-UNKNOWN"),
        ("rules: {SEC-ATTACHSEC-UNKNOWN: {resp2: 3}}", "SYSIDERR without RESP2"),
        ("product: IBMI\nrules: {DTAQ-TIME-DATE: {message: CPF1111}}", "is an answer of IBMI"),
        ("rule: {}", "is not a key of machine.yaml"),
        ("format: 2\nrules: {}", "format = '2': is another version of the format; this tdqsim reads format 1"),
        ("[]", "must be a mapping"),
        ("", "must be a mapping"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        Region(system=SystemOptions(machine=written(tmp_path, text)))
