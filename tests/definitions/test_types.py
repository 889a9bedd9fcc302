"""Type checkers know the attributes of every kind of definition, and what values they take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim.definitions import _attributes
from tdqsim.definitions.attribute_types import attribute_types_source

GOOD = """\
from tdqsim import Region, define_connection, define_dtaq, define_tdqueue, define_terminal, define_transaction
from tdqsim.definitions import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, Transaction

intra: IntraQueue = define_tdqueue(
    name="PAYQ", type="INTRA", group="PAY", recovstatus="LOGICAL", atifacility="file", transid="PAYP", triggerlevel=5,
)
extra: ExtraQueue = define_tdqueue(name="DAYI", type="EXTRA", typefile="INPUT", ddname="DAYIN", recordsize=80)
alias: IndirectQueue = define_tdqueue(name="PAYX", type="INDIRECT", indirectname="PAYQ")
far: RemoteQueue = define_tdqueue(name="FARQ", remotesystem="CIC2")
paid: Transaction = define_transaction(name="PAYP", dtimout=130, alias="PAYALIAS")
define_terminal(name="T001", inservice="NO")
define_connection(name="CIC2", attachsec="IDENTIFY")
define_dtaq(dtaq="QGPL/ORDERS", maxlen=80, seq="*KEYED", keylen=4, size=("*MAX2GB", 16))
Region([intra, extra, alias, far, paid]).close()
"""
BAD = [
    ('define_tdqueue(name="PAYQ", type="INTRA", trigerlevel=5)', "trigerlevel"),
    ('define_tdqueue(name="PAYQ", type="INTRA", triggerlevel="many")', "triggerlevel"),
    ('define_tdqueue(name="PAYQ", type="INTRA", ddname="DAYIN")', "ddname"),
    ('define_tdqueue(name="PAYQ", type="INTRO")', "type"),
    ('define_tdqueue(type="INTRA")', "name"),
    ('define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGIC")', "recovstatus"),
    ('define_transaction(name="PAYP", status="DISBLED")', "status"),
    ('define_transaction(nam="PAYP")', "nam"),
    ('define_terminal(name="T001", inservice=True)', "inservice"),
    ('define_connection(name="CIC2", attachsec="NONE")', "attachsec"),
    ('define_dtaq(dtaq="QGPL/ORDERS", maxlen=80, seq="FIFO")', "seq"),
    ("define_dtaq(maxlen=80)", "dtaq"),
]


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", str(path)]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)


def test_the_attributes_written_out_are_those_of_the_classes() -> None:
    written = Path(_attributes.__file__).read_text("utf-8")
    made, kept = ("".join(text.split()).replace(",]", "]") for text in (attribute_types_source(), written))
    assert made == kept  # python -m tdqsim.definitions.attribute_types writes it anew


def test_mypy_passes_what_is_right_and_finds_what_is_not(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    done = checked(tmp_path / "good.py")
    assert done.returncode == 0, done.stdout
    names = "define_connection, define_dtaq, define_tdqueue, define_terminal, define_transaction"
    lines = [f"from tdqsim import {names}", *(line for line, _ in BAD)]
    (tmp_path / "bad.py").write_text("\n".join(lines) + "\n", "utf-8")
    found = checked(tmp_path / "bad.py").stdout
    for number, (line, _) in enumerate(BAD, 2):
        assert f"bad.py:{number}: error" in found, (line, found)
