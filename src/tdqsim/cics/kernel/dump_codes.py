"""The transaction dump table: whether a request takes a dump, and how many there were, for each dump code.

DUMP TRANSACTION and abends request dumps. A request with a code that has no entry makes one with default values, which
is temporary: it is gone when the region ends. SET TRANDUMPCODE ADD adds entries that stay, with their changes and
without their counts, until a cold or initial start. There are no system dumps here, and no request shuts the region
down: SYSDUMP, SHUTDOWN and RELATED are kept and shown, and a notice says that they do nothing.

Sources: INQUIRE TRANDUMPCODE, SET TRANDUMPCODE (IBM Docs).
"""

from __future__ import annotations

import json
from typing import Final

from tdqsim.cics.model.region import RegionData
from tdqsim.core.named import NamedTuple
from tdqsim.facts import LIMITS, table

NO_LIMIT: Final = LIMITS["dump_code_maximum"]
"""MAXIMUM of an entry that has none."""
_WITHOUT_DUMP: Final = next(row["value"] for row in table("kernel") if row["name"] == "codes_without_dump").split()
"""The abend codes of which CICS takes no transaction dump unless the dump table asks for one."""
_PREFIX: Final = b"dump/"


class DumpCode(NamedTuple):
    """An entry of the transaction dump table.

    Attributes:
        code: the dump code.
        trandumping: whether a request takes a transaction dump.
        sysdumping, shutdown, related: whether it would take a system dump, shut the region down, and ask related
            regions for a system dump.
        maximum: how many requests take a dump; 999 for all.
        current: the requests so far.
        temporary: whether a request has made it.
    """

    code: str
    trandumping: bool = True
    sysdumping: bool = False
    shutdown: bool = False
    related: bool = False
    maximum: int = NO_LIMIT
    current: int = 0
    temporary: bool = False

    def why_suppressed(self) -> str:
        """Why a request, which was counted, takes no dump; empty if it takes one."""
        if not self.trandumping:
            return "NOTRANDUMP"
        return "MAXIMUM" if self.current > self.maximum != NO_LIMIT else ""


def dump_codes(region: RegionData) -> dict[str, DumpCode]:
    """The entries by code; those that SET TRANDUMPCODE has added come from the store, while it can be read."""
    known: dict[str, DumpCode] | None = region.diagnostics.dump_codes
    if known is None:
        metas = () if region.failed else region.committer.metas(_PREFIX)
        kept = (DumpCode(**json.loads(value)) for _, value in metas)
        known = region.diagnostics.dump_codes = {entry.code: entry for entry in kept}
    return known


def keep(region: RegionData, entry: DumpCode) -> None:
    """Add an entry, and record it in the store unless it is temporary."""
    dump_codes(region)[entry.code] = entry
    if not entry.temporary:
        image = json.dumps(entry._replace(current=0)._asdict()).encode()
        region.committer.commit(meta={_PREFIX + entry.code.encode(): image})


def remove(region: RegionData, entry: DumpCode) -> None:
    """Remove an entry."""
    del dump_codes(region)[entry.code]
    if not entry.temporary:
        region.committer.commit(meta={_PREFIX + entry.code.encode(): None})


def request_dump(region: RegionData, code: str) -> str:
    """Count a request of a dump; gives why no dump is to be taken, and an empty text if one is."""
    known = dump_codes(region)
    entry = known.get(code) or DumpCode(code, trandumping=code not in _WITHOUT_DUMP, temporary=True)
    entry = known[code] = entry._replace(current=entry.current + 1)
    return entry.why_suppressed()
