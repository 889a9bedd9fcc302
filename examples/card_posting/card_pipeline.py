"""The nightly posting over many regions, and the expected result, computed without the programs.

All transactions of an account go to one region, so that they stay in order: the number of the region is the CRC of the
account id modulo the number of regions. A card without a cross-reference is assigned by its own number; every region
rejects its transactions.

There are two ways to compute the expected result: by Spark SQL, which processes the transactions of an account in their
order, or in this process, by a plain loop over decoded columns. Neither uses the programs, their rules, or their
functions for zoned numbers. The result are complete records, which reconcile compares with those of the regions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from card_generate import generate

from tdqsim.errors import DatasetError
from tdqsim.layouts import parse_copybook
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.stages.events import event_table
from tdqsim.pipeline.stages.jobs import Output, Router, SpreadRequest

PAGE: Final = "cp037"
TRANSACTION: Final = """
 01 TRAN. 05 TRAN-ID PIC X(16). 05 TRAN-TYPE PIC XX. 05 CATEGORY PIC 9(4). 05 SOURCE PIC X(10).
 05 DESCRIPTION PIC X(100). 05 AMOUNT PIC S9(9)V99. 05 MERCHANT-ID PIC 9(9). 05 MERCHANT-NAME PIC X(50).
 05 MERCHANT-CITY PIC X(50). 05 MERCHANT-ZIP PIC X(10). 05 CARD PIC X(16). 05 ORIG-TS PIC X(26).
 05 PROC-TS PIC X(26). 05 FILLER PIC X(20).
"""
REJECT: Final = TRANSACTION.replace(
    " 05 FILLER PIC X(20).", " 05 FILLER PIC X(20). 05 REASON PIC 9(4). 05 TEXT PIC X(76)."
)
ACCOUNT: Final = """
 01 ACCT. 05 ACCT-ID PIC 9(11). 05 ACTIVE PIC X. 05 BALANCE PIC S9(10)V99. 05 CREDIT-LIMIT PIC S9(10)V99.
 05 CASH-LIMIT PIC S9(10)V99. 05 OPENED PIC X(10). 05 EXPIRES PIC X(10). 05 REISSUED PIC X(10).
 05 CYCLE-CREDIT PIC S9(10)V99. 05 CYCLE-DEBIT PIC S9(10)V99. 05 ZIP PIC X(10). 05 GROUP-ID PIC X(10).
 05 FILLER PIC X(178).
"""
XREF: Final = "01 XREF. 05 CARD PIC X(16). 05 CUSTOMER PIC 9(9). 05 ACCT-ID PIC 9(11). 05 FILLER PIC X(14)."
TEXTS: Final = {
    100: "INVALID CARD NUMBER FOUND",
    101: "ACCOUNT RECORD NOT FOUND",
    102: "OVERLIMIT TRANSACTION",
    103: "TRANSACTION RECEIVED AFTER ACCT EXPIRATION",
}
RECORDS: Final = 10_000
_LENGTHS: Final = {"DALYTRAN": 350, "CARDXREF": 50, "ACCTDATA": 300}
_AT_ONCE: Final = 8192
_MASTER_SEQ: Final = 1 << 40  # the new master comes after the transactions
_AMOUNTS: Final = {"BALANCE": slice(12, 24), "CYCLE-CREDIT": slice(78, 90), "CYCLE-DEBIT": slice(90, 102)}
_CARD, _XREF_ACCOUNT, _ACCOUNT = slice(262, 278), slice(25, 36), slice(0, 11)


class SpreadPosting:
    """See :class:`tdqsim.pipeline.stages.jobs.SpreadJob`."""

    inputs: Mapping[str, int] = _LENGTHS
    outputs: Mapping[str, Output] = {
        "POSTED": Output(350, slice(0, 16), slice(262, 278), TRANSACTION),
        "DALYREJS": Output(430, slice(0, 16), slice(262, 278), REJECT),
        "ACCTOUT": Output(300, slice(0, 11), None, ACCOUNT),
    }

    def prepare(self, request: SpreadRequest) -> dict[str, Path]:
        """The three inputs: all given, or all generated."""
        given = {name: path for name, path in request.dd.items() if name in _LENGTHS}
        strange = [name for name in request.dd if name not in _LENGTHS]
        if strange:
            raise DatasetError(f"--dd {strange[0]}: the inputs that are spread are {', '.join(_LENGTHS)}")
        if given and len(given) < len(_LENGTHS):
            missing = ", ".join(name for name in _LENGTHS if name not in given)
            raise DatasetError(f"the inputs belong together: with --dd for {', '.join(given)}, also give {missing}")
        if given and request.records is not None:
            raise DatasetError("--records is for generated input; the input given by --dd is read whole")
        if given:
            return given
        records = RECORDS if request.records is None else request.records
        return generate(
            request.folder, records, request.seed, lambda done, total: request.progress("generating", done, total)
        )

    def region_name(self, number: int, regions: int) -> str:
        """CARD0000, CARD0001, ..."""
        return f"CARD{number:04d}"

    def router(self, files: Mapping[str, Path], regions: int) -> Router:
        """Route by account; for a transaction, by the account of its card."""
        xref = np.fromfile(files["CARDXREF"], np.uint8).reshape(-1, _LENGTHS["CARDXREF"])
        cards = _words(xref[:, :16])
        numbers = _hashed(xref[:, _XREF_ACCOUNT], regions)
        # If a card occurs twice, the later account applies, as in the programs.
        known, last = np.unique(cards[::-1], return_index=True)
        numbers = numbers[::-1][last]

        def route(dd: str, records: Any) -> Any:
            if dd == "ACCTDATA":
                return _hashed(records[:, _ACCOUNT], regions)
            if dd == "CARDXREF":
                return _hashed(records[:, _XREF_ACCOUNT], regions)
            if not len(known):
                return _hashed(records[:, _CARD], regions)
            wanted = _words(records[:, _CARD])
            place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            found = known[place] == wanted
            result = numbers[place]
            if not found.all():
                result[~found] = _hashed(records[~found][:, _CARD], regions)
            return result

        return route

    def expected(self, files: Mapping[str, Path], regions: int) -> Iterator[pa.Table]:
        """The expected records, by a plain loop."""
        return _Plain(files, regions).tables()

    def expected_sql(self, spark: Any, files: Mapping[str, Path], regions: int) -> Any:
        """The expected records, by Spark SQL."""
        from card_sql import expected  # noqa: PLC0415  (needs Spark)

        return expected(spark, files, regions)

    def expected_figures(self, expected: Iterable[pa.Table]) -> dict[str, Any]:
        """Counts and sums of the expected records."""
        counts: Counter[str] = Counter()
        sums: dict[str, Decimal] = {"POSTED": Decimal(0), "DALYREJS": Decimal(0)}
        reasons: Counter[str] = Counter()
        decoders = {name: _decoder(self.outputs[name].copybook, ["AMOUNT"]) for name in sums}
        for table in expected:
            for dd in sums:
                data = _matrix(table, dd, self.outputs[dd].length)
                counts[dd] += len(data)
                if len(data):
                    amounts = _decoded(decoders[dd], data.tobytes(), data.shape[1]).column(0)
                    sums[dd] += sum((each for each in amounts.to_pylist() if each is not None), Decimal(0))
                if dd == "DALYREJS":
                    reasons.update(bytes(row).decode(PAGE) for row in data[:, 351:354])
        return {
            "records_in": counts["POSTED"] + counts["DALYREJS"],
            "records_posted": counts["POSTED"],
            "records_rejected": counts["DALYREJS"],
            "amount_in": f"{sums['POSTED'] + sums['DALYREJS']:.2f}",
            "amount_posted": f"{sums['POSTED']:.2f}",
            "amount_rejected": f"{sums['DALYREJS']:.2f}",
            "rejected_by_reason": dict(sorted(reasons.items())),
        }

    def add_figures(self, figures: dict[str, Any], more: Mapping[str, Any]) -> None:
        """Add counts, amounts and reasons to the figures."""
        for name, value in more.items():
            if isinstance(value, Mapping):
                both = Counter(figures.get(name, {}))
                both.update(value)
                figures[name] = dict(sorted(both.items()))
            elif isinstance(value, str):
                figures[name] = f"{Decimal(figures.get(name, '0')) + Decimal(value):.2f}"
            else:
                figures[name] = figures.get(name, 0) + value


def _words(matrix: Any) -> Any:
    """Rows of bytes as values that numpy can sort and compare."""
    rows = np.ascontiguousarray(matrix)
    return rows.view(f"S{rows.shape[1]}").ravel() if len(rows) else np.empty(0, f"S{rows.shape[1]}")


def _hashed(matrix: Any, regions: int) -> Any:
    """The region of each row; each different value is hashed once."""
    values, places = np.unique(_words(matrix), return_inverse=True)
    width = matrix.shape[1]
    hashed = [crc32(value.ljust(width, b"\0")) % regions for value in values.tolist()]
    return np.array(hashed, np.int64)[places]


def _decoder(copybook: str, columns: list[str]) -> RecordDecoder:
    from tdqsim.pipeline.shape import Shape  # noqa: PLC0415

    names = [name.replace("-", "_") for name in columns]
    return RecordDecoder(parse_copybook(copybook, source_format="free").record(), Shape(), columns=names)


def _matrix(table: pa.Table, queue: str, length: int) -> Any:
    """The records of one DD as a matrix."""
    rows = table.filter(pc.equal(table.column("queue"), queue)).column("data")
    return np.frombuffer(b"".join(rows.to_pylist()), np.uint8).reshape(-1, length)


class _Plain:
    """The posting as a loop over decoded columns."""

    def __init__(self, files: Mapping[str, Path], regions: int) -> None:
        self.files = files
        self.regions = regions
        self.names = [SpreadPosting().region_name(number, regions) for number in range(regions)]
        self.account_of = {row[0]: row[1] for row in _rows(files["CARDXREF"], XREF, ["CARD", "ACCT-ID"], 50)}
        names = ["ACCT-ID", "CREDIT-LIMIT", "EXPIRES", *_AMOUNTS]
        self.accounts = {row[0]: list(row[1:]) for row in _rows(files["ACCTDATA"], ACCOUNT, names, 300)}
        self.changed: set[int] = set()

    def tables(self) -> Iterator[pa.Table]:
        """Posted and rejected transactions, then the new master."""
        names = ["CARD", "AMOUNT", "ORIG-TS"]
        number = 0
        for rows, raw in _blocks(self.files["DALYTRAN"], TRANSACTION, names, 350):
            posted: list[tuple[int, int, bytes]] = []
            rejected: list[tuple[int, int, bytes]] = []
            for (card, amount, stamp), record in zip(rows, raw, strict=True):
                number += 1
                reason, region = self._decide(card, amount, stamp, record)
                if reason:
                    rejected.append((region, number, record + f"{reason:04d}{TEXTS[reason]:76}".encode(PAGE)))
                else:
                    posted.append((region, number, record))
            yield self._events("POSTED", posted, 16)
            yield self._events("DALYREJS", rejected, 16)
        yield from self._master()

    def _decide(self, card: str, amount: Decimal, stamp: str, record: bytes) -> tuple[int, int]:
        number = self.account_of.get(card)
        if number is None:
            return 100, crc32(record[_CARD]) % self.regions
        region = crc32(f"{number:011d}".encode(PAGE)) % self.regions
        account = self.accounts.get(number)
        if account is None:
            return 101, region
        limit, expires, balance, credit, debit = account
        if expires < stamp[:10]:
            return 103, region
        if limit < credit - debit + amount:
            return 102, region
        account[2] = balance + amount
        account[3 if amount >= 0 else 4] += amount
        self.changed.add(number)
        return 0, region

    def _master(self) -> Iterator[pa.Table]:
        """The master with the new amounts; a field whose amount is what it was keeps its original bytes."""
        number = 0
        for rows, raw in _blocks(self.files["ACCTDATA"], ACCOUNT, ["ACCT-ID", *_AMOUNTS], 300):
            found = []
            for (account, *before), record in zip(rows, raw, strict=True):
                number += 1
                if account in self.changed:
                    new = bytearray(record)
                    for field, old, now in zip(_AMOUNTS.values(), before, self.accounts[account][2:], strict=True):
                        if old != now:
                            new[field] = _signed_digits(now, field.stop - field.start)
                    record = bytes(new)  # noqa: PLW2901
                found.append((crc32(record[_ACCOUNT]) % self.regions, number + _MASTER_SEQ, record))
            yield self._events("ACCTOUT", found, 11)

    def _events(self, queue: str, rows: list[tuple[int, int, bytes]], key: int) -> pa.Table:
        names = pa.array([self.names[row[0]] for row in rows], pa.string())
        seq = np.array([row[1] for row in rows], np.int64)
        data = pa.array([row[2] for row in rows], pa.binary())
        keys = pa.array([row[2][:key] for row in rows], pa.binary())
        return event_table(names, seq, "EXPECT", queue, data, keys)


def _signed_digits(amount: Decimal, digits: int) -> bytes:
    """An amount as PIC S9 USAGE DISPLAY: the last digit has the sign in its zone."""
    text = f"{abs(int(amount.scaleb(2))):0{digits}d}"
    if len(text) > digits:
        raise DatasetError(f"{amount} does not fit a field of {digits} digits")
    return (text[:-1] + ("}JKLMNOPQR" if amount < 0 else "{ABCDEFGHI")[int(text[-1])]).encode(PAGE)


def _decoded(decoder: RecordDecoder, data: bytes, length: int) -> pa.RecordBatch:
    """The fields of consecutive records of one length."""
    starts = np.arange(0, len(data), length, dtype=np.int64)
    return decoder.decode(data, starts, np.full(len(starts), length, np.int64))


def _blocks(path: Path, copybook: str, columns: list[str], length: int) -> Iterator[tuple[list[Any], list[bytes]]]:
    decoder = _decoder(copybook, columns)
    with path.open("rb") as file:
        while block := file.read(length * _AT_ONCE):
            batch = _decoded(decoder, block, length)
            rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            yield rows, [block[at : at + length] for at in range(0, len(block), length)]


def _rows(path: Path, copybook: str, columns: list[str], length: int) -> Iterator[Any]:
    for rows, _ in _blocks(path, copybook, columns, length):
        yield from rows
