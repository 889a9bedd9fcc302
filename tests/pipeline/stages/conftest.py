from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

ROOT = Path(__file__).resolve().parents[3]
CARD_POSTING = ROOT / "examples" / "card_posting"

DEFINITIONS = """
group: STAGES
tdqueue:
  - {name: PAYQ, type: INTRA, atifacility: FILE, transid: PAYT, triggerlevel: 3}
  - {name: KEEP, type: INTRA}
  - {name: CRSH, type: INTRA, atifacility: FILE, transid: CRST, triggerlevel: 1}
  - {name: LOOP, type: INTRA, atifacility: FILE, transid: LOOT, triggerlevel: 1}
  - {name: SPIN, type: INTRA, atifacility: FILE, transid: SPIT, triggerlevel: 1}
  - {name: KILL, type: INTRA, atifacility: FILE, transid: KILT, triggerlevel: 1}
  - {name: OUTQ, type: EXTRA, ddname: OUTDD, typefile: OUTPUT, recordformat: FIXED, recordsize: 8, blockformat: BLOCKED}
  - {name: VINQ, type: EXTRA, ddname: VINDD, typefile: INPUT, recordformat: VARIABLE, recordsize: 40, blockformat: BLOCKED}
transaction:
  - {name: PAYT, program: PAYP, handler: "stage_programs:pay"}
  - {name: CRST, program: CRSP, handler: "stage_programs:crash"}
  - {name: LOOT, program: LOOP, handler: "stage_programs:loop"}
  - {name: SPIT, program: SPIP, handler: "stage_programs:spin"}
  - {name: BUST, program: BUSP, handler: "stage_programs:busy"}
  - {name: FILT, program: FILP, handler: "stage_programs:fill"}
  - {name: DEAF, program: DEAP, handler: "stage_programs:deaf"}
  - {name: DUMB, program: DUMP, handler: "stage_programs:dumb"}
  - {name: SLEP, program: SLEP, handler: "stage_programs:sleep"}
  - {name: COPY, program: COPP, handler: "stage_programs:copy"}
  - {name: KILT, program: KILP, handler: "stage_programs:kill"}
"""

PROGRAMS = """
import os
import time
from tdqsim.cics import Condition

def pay(task):
    while True:
        try:
            record = task.readq_td("PAYQ")
        except Condition:
            return
        task.writeq_td("KEEP", b"PAID " + record)

def crash(task):
    task.readq_td("CRSH")
    raise KeyError("no such account")

def loop(task):
    while True:
        task.suspend()

def spin(task):
    while True:
        try:
            pass
        except Exception:
            pass

def busy(task):
    while True:
        task.writeq_td("KEEP", b"x" * 500)
        task.readq_td("KEEP")

def fill(task):
    while True:
        task.writeq_td("OUTQ", b"12345678")

def deaf(task):
    while True:
        try:
            task.suspend()
        except:
            pass

def dumb(task):
    while True:
        try:
            while True:
                pass
        except:
            pass

def sleep(task):
    time.sleep(1000)

def copy(task):
    for record in task.readq_td_all("VINQ"):
        task.writeq_td("KEEP", record)

def kill(task):
    if os.environ.get("STAGE_KILL") == "never":
        return
    os._exit(9)
"""


def make_region_directory(folder: Path) -> Path:
    folder.mkdir()
    (folder / "definitions.yaml").write_text(DEFINITIONS)
    (folder / "stage_programs.py").write_text(PROGRAMS)
    (folder / "region.yaml").write_text(
        "applid: STAGEREG\ndefinitions: [definitions.yaml]\nhandlers: [stage_programs]\n"
    )
    return folder


@pytest.fixture
def region_directory(tmp_path: Path) -> Path:
    return make_region_directory(tmp_path / "region")


@pytest.fixture
def real_data() -> dict[str, Path]:
    folder = Path(os.environ.get("TDQ_DATA", ROOT.parent / "shared" / "data")) / "carddemo"
    if not (folder / "DALYTRAN.PS").is_file():
        pytest.skip("the card data sets are not here; TDQ_DATA names their folder")
    return {name: folder / f"{name}.PS" for name in ("DALYTRAN", "CARDXREF", "ACCTDATA")}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)  # pieces that are mapped are let go of later
