"""List the queues of a region, and copy their records to files without removing them.

    python examples/browse_queues.py DIR [STORE] [--copy-to DIR]

DIR is a region directory. STORE is the directory of a store, whose queues are then shown; another process may be using
it. The records of a queue that is not recoverable are in the memory of that process: "? records". The script works like
a browse transaction: INQUIRE TDQUEUE START, NEXT until END, END.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tdqsim import Condition, Cvda, Region, Resp, TdqError
from tdqsim.cics import TdqueueInfo


def browse(region: Region) -> Iterator[TdqueueInfo]:
    """Each queue once, with its type, state and number of records."""
    with region.task() as task:
        task.inquire_tdqueue_start()
        while True:
            try:
                yield task.inquire_tdqueue_next("TYPE", "ENABLESTATUS", "NUMITEMS", "INDIRECTNAME", "DDNAME")
            except Condition as condition:
                if condition.resp is not Resp.END:
                    raise
                break
        task.inquire_tdqueue_end()


def describe(info: TdqueueInfo) -> str:
    """One queue on one line."""
    target = {Cvda.INDIRECT: f"-> {info.indirectname}", Cvda.EXTRA: f"DD {info.ddname}"}.get(info.type, "")
    items = "" if info.type is not Cvda.INTRA else "? records" if info.numitems < 0 else f"{info.numitems} records"
    state = "" if info.enablestatus is Cvda.NOTAPPLIC else info.enablestatus.name
    return f"{info.tdqueue:4}  {info.type.name:8}  {state:9}  {items or target}".rstrip()


def copy_records(region: Region, name: str, directory: Path) -> int:
    """Write the records of a queue to a file of that name, each after its length in two bytes."""
    records = region.peek(name)
    with (directory / name).open("wb") as file:
        for record in records:
            file.write(len(record).to_bytes(2, "big") + record)
    return len(records)


def main(arguments: list[str] | None = None) -> int:
    """Run the script; return the exit code."""
    parser = argparse.ArgumentParser(description="List the queues of a region.")
    parser.add_argument("directory", type=Path, help="a region directory")
    parser.add_argument("store", type=Path, nargs="?", help="a store's directory")
    parser.add_argument("--copy-to", type=Path, metavar="DIR", help="copy the records of queues there")
    given = parser.parse_args(arguments)
    try:
        with Region.from_directory(given.directory, store=given.store, readonly=True, handlers=()) as region:
            for info in browse(region):
                print(describe(info))
                if given.copy_to is not None and info.numitems > 0:
                    given.copy_to.mkdir(parents=True, exist_ok=True)
                    name = info.tdqueue.rstrip()
                    print(f"      {copy_records(region, name, given.copy_to)} copied to {given.copy_to / name}")
    except (TdqError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
