"""Regions with a policy file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from tdqsim import SecurityOptions
from tdqsim.cics import Region
from tdqsim.cics.files import DataFile
from tdqsim.definitions import define_tdqueue

HEAD = """\
users:
  CICSUSER:
  CICSRGN:
  ANN:
  BOB:
  CLERK:
groups:
  PAYTEAM: [ANN]
  READERS: [ANN, BOB]
classes:
"""
LOGS = [define_tdqueue(name="CSCS", type="INTRA"), define_tdqueue(name="CSMT", type="INTRA")]


def policy_file(folder: Path, classes: str, head: str = HEAD) -> Path:
    """A policy file with these classes."""
    path = folder / "policy.yaml"
    path.write_text(head + indent(dedent(classes), "  "))
    return path


def region(folder: Path, classes: str, *definitions, cmdsec="ASIS", **options) -> Region:
    """A region with a policy file, and the queues to which its messages go."""
    return Region(
        [*LOGS, *definitions],
        security=SecurityOptions(policy=policy_file(folder, classes), ressec="ALWAYS", cmdsec=cmdsec),
        supplied_queues=False,
        **options,
    )


def messages(reg: Region, queue: str) -> str:
    """The text of all messages on a queue."""
    return "".join(reg.text(record) for record in reg.peek(queue))


def ksds(*records: bytes) -> DataFile:
    """A data set with keys of two bytes at the beginning of the records."""
    data = DataFile(keylength=2)
    data.load({record[:2]: record for record in records})
    return data
