"""VSAM data sets that IDCAMS statements define, for the FILE definitions of a new region directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim import Region, load_definitions
from tdqsim.cobol.clusters import clusters_in
from tdqsim.cobol.new_region import make_region

JCL = """\
//STEP1    EXEC PGM=IDCAMS
//SYSIN    DD *
  DELETE PAY.ACCT.KSDS CLUSTER PURGE
  DEFINE CLUSTER (NAME(PAY.ACCT.KSDS) -                                 00010000
         KEYS(8 2) RECORDSIZE(20,40) INDEXED) -                         00020000
         DATA (NAME(PAY.ACCT.KSDS.DATA)) INDEX (NAME(PAY.ACCT.KSDS.INDEX))
  DEF CL (NAME(PAY.LOG.ESDS) RECORDSIZE(80 80) NONINDEXED)
  DEFINE CLUSTER (NAME(PAY.SLOTS) NUMBERED)
  define alternateindex (name(PAY.ACCT.AIX) relate(PAY.ACCT.KSDS) -
         keys(4 12) nonuniquekey)
  DEFINE AIX (NAME(PAY.ACCT.AIX2) RELATE(PAY.ACCT.KSDS) KEYS(3,16))
  DEFINE PATH (NAME(PAY.ACCT.PATH) PATHENTRY(PAY.ACCT.AIX))
  DEFINE PATH -
         (NAME(PAY.ACCT.PATH2)    -
          PATHENTRY(PAY.ACCT.AIX2))
  DEFINE PATH (NAME(PAY.ALIAS) PATHENTRY(PAY.ACCT.KSDS))
/*
"""
PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. POSTS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  REC.
           05  FILLER PIC XX VALUE '--'.
           05  K      PIC X(8) VALUE 'ACCT0001'.
           05  FILLER PIC XX VALUE '--'.
           05  A      PIC X(4) VALUE 'NAME'.
           05  FILLER PIC X(4) VALUE SPACES.
       PROCEDURE DIVISION.
           EXEC CICS WRITE FILE('ACCT') FROM(REC) RIDFLD(K) END-EXEC
           MOVE SPACES TO K
           EXEC CICS READ FILE('ACCTX') INTO(REC) RIDFLD(A) END-EXEC
           EXEC CICS WRITEQ TS QUEUE('SEEN') FROM(K) END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
CSD = """\
DEFINE FILE(ACCT) GROUP(PAY) DSNAME(PAY.ACCT.KSDS) ADD(YES)
DEFINE FILE(ACCTX) GROUP(PAY) DSNAME(PAY.ACCT.PATH)
DEFINE FILE(OTHER) GROUP(PAY) DSNAME(PAY.OTHER)
DEFINE FILE(OWN) GROUP(PAY) DSNAME(PAY.ACCT.KSDS) KEYLENGTH(5)
DEFINE TRANSACTION(POST) GROUP(PAY) PROGRAM(POSTS)
"""


def test_the_statements_give_keys_lengths_and_paths():
    base = {"relate": "PAY.ACCT.KSDS", "recordsize": 40}
    assert clusters_in([JCL]) == {
        "PAY.ACCT.KSDS": {"organisation": "KSDS", "keylength": 8, "keyposition": 2, "recordsize": 40},
        "PAY.LOG.ESDS": {"organisation": "ESDS", "recordsize": 80},
        "PAY.SLOTS": {"organisation": "RRDS"},
        "PAY.ACCT.PATH": {"keylength": 4, "keyposition": 12, **base},
        "PAY.ACCT.PATH2": {"keylength": 3, "keyposition": 16, "uniquekey": "YES", **base},
    }


@pytest.mark.cobc
def test_the_files_of_a_new_region_can_be_used(tmp_path: Path) -> None:
    for name, text in {"POSTS.cbl": PROGRAM, "ACCT.jcl": JCL, "PAY.csd": CSD}.items():
        (tmp_path / name).write_text(text)
    made = make_region(tmp_path / "new", [tmp_path], tmp_path / "PAY.csd")
    assert [line for line in made.missing if line.startswith("file")] == [
        "file OTHER: no IDCAMS statement defines its data set PAY.OTHER"
    ]
    for name, text in made.files.items():
        (tmp_path / "new" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / name).write_text(text)
    with Region.from_directory(tmp_path / "new") as region:
        region.start("POST")
        region.run()
        assert region.ts.queues["SEEN"].items == [b"ACCT0001"]
    files = {each.name: each for each in load_definitions(tmp_path / "new" / "definitions.yaml").files}
    assert (files["OWN"].keylength, files["OWN"].keyposition, files["ACCT"].keyposition) == (5, 0, 2)
