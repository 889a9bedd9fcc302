"""The nightly posting over many regions, and the expected result, computed without the programs.

All transactions of an account go to one region, so that they stay in order: the number of the region is the CRC of the
account id modulo the number of regions. A card without a cross-reference is assigned by its own number; every region
rejects its transactions.

The expected result is computed from decoded columns. It uses neither the programs nor their rules, nor their functions
for zoned numbers. The result are complete records, which reconcile compares with those of the regions.
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
from tdqsim.pipeline import RecordDecoder
from tdqsim.pipeline.stages import Output, Router, SpreadRequest, event_table, fixed_binary

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
    """See :class:`tdqsim.pipeline.stages.SpreadJob`."""

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
        """The expected records, computed in this process."""
        return _Plain(files, regions).tables()

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
                    sums[dd] += pc.sum(amounts).as_py() or Decimal(0)
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
    names = [name.replace("-", "_") for name in columns]
    return RecordDecoder(parse_copybook(copybook, source_format="free").record(), columns=names)


def _matrix(table: pa.Table, queue: str, length: int) -> Any:
    """The records of one DD as a matrix."""
    rows = table.filter(pc.equal(table.column("queue"), queue)).column("data")
    return np.frombuffer(b"".join(rows.to_pylist()), np.uint8).reshape(-1, length)


class _Plain:
    """The posting over decoded columns; only the limit, which depends on what was posted before, takes a loop."""

    def __init__(self, files: Mapping[str, Path], regions: int) -> None:
        self.files, self.regions = files, regions
        self.names = pa.array([SpreadPosting().region_name(number, regions) for number in range(regions)])
        cards = _columns(files["CARDXREF"], XREF, ["CARD", "ACCT-ID"], 50)
        account_of = dict(zip(*cards, strict=True))  # if a card occurs twice, the later account applies
        self.cards = pa.array(account_of, pa.string())
        self.card_accounts = pa.array(account_of.values(), pa.int64())
        hashed = [crc32(f"{number:011d}".encode(PAGE)) % regions for number in account_of.values()]
        self.card_regions = np.array(hashed, np.int64)
        names = ["ACCT-ID", "EXPIRES", "CREDIT-LIMIT", *_AMOUNTS]
        accounts, expires, *amounts = _columns(files["ACCTDATA"], ACCOUNT, names, 300)
        self.accounts, self.expires = pa.array(accounts, pa.int64()), pa.array(expires, pa.string())
        self.limits, self.balances, self.credits, self.debits = amounts
        self.changed = np.zeros(len(accounts), np.bool_)

    def tables(self) -> Iterator[pa.Table]:
        """Posted and rejected transactions, then the new master."""
        done = 0
        for batch, records in _blocks(self.files["DALYTRAN"], TRANSACTION, ["CARD", "AMOUNT", "ORIG-TS"], 350):
            card, amount, stamp = batch.columns
            reasons, regions = self._decide(card, amount, pc.utf8_slice_codeunits(stamp, 0, 10), records)
            seq = np.arange(done + 1, done + len(records) + 1)
            done += len(records)
            posted, rejected = reasons == 0, reasons != 0
            texts = [list(f"{reason:04d}{TEXTS[reason]:76}".encode(PAGE)) for reason in reasons[rejected].tolist()]
            tails = np.array(texts, np.uint8).reshape(-1, 80)
            yield self._events("POSTED", regions[posted], seq[posted], records[posted], 16)
            whole = np.hstack([records[rejected], tails])
            yield self._events("DALYREJS", regions[rejected], seq[rejected], whole, 16)
        yield from self._master()

    def _decide(self, card: pa.Array, amount: pa.Array, date: pa.Array, records: Any) -> tuple[Any, Any]:
        """The reason of each rejection, 0 for none, and the regions."""
        entry = pc.index_in(card, self.cards)
        place = pc.index_in(self.card_accounts.take(entry), self.accounts)
        reasons = np.zeros(len(card), np.int64)
        reasons[_true(pc.less(self.expires.take(place), date))] = 103
        reasons[_true(place.is_null())] = 101
        unknown = _true(entry.is_null())
        reasons[unknown] = 100
        regions = np.zeros(len(card), np.int64)
        regions[~unknown] = self.card_regions[entry.drop_null()]
        regions[unknown] = _hashed(records[unknown][:, _CARD], self.regions)
        left = np.flatnonzero(reasons == 0)
        places = place.take(pa.array(left)).to_numpy()
        self.changed[places] = True  # or the transaction does not fit, and the amounts are what they were
        limits, balances, gained, spent = self.limits, self.balances, self.credits, self.debits
        cents = _cents(amount).take(pa.array(left)).to_pylist()
        for at, account, value in zip(left.tolist(), places.tolist(), cents, strict=True):
            if limits[account] < gained[account] - spent[account] + value:
                reasons[at] = 102
                continue
            balances[account] += value
            (gained if value >= 0 else spent)[account] += value
        return reasons, regions

    def _master(self) -> Iterator[pa.Table]:
        """The master with the new amounts; a field whose amount is what it was keeps its original bytes."""
        done = 0
        for batch, given in _blocks(self.files["ACCTDATA"], ACCOUNT, list(_AMOUNTS), 300):
            records, rows = given.copy(), slice(done, done + len(given))
            changed = np.flatnonzero(self.changed[rows]).tolist()
            now = self.balances[rows], self.credits[rows], self.debits[rows]
            for field, old, new in zip(_AMOUNTS.values(), map(_cents, batch.columns), now, strict=True):
                before = old.to_pylist()
                for at in changed:
                    if before[at] != new[at]:
                        records[at, field] = list(_signed_digits(new[at], field.stop - field.start))
            seq = np.arange(done + 1, done + len(given) + 1) + _MASTER_SEQ
            yield self._events("ACCTOUT", _hashed(records[:, _ACCOUNT], self.regions), seq, records, 11)
            done = rows.stop

    def _events(self, queue: str, regions: Any, seq: Any, records: Any, key: int) -> pa.Table:
        names, keys = self.names.take(pa.array(regions)), fixed_binary(records[:, :key])
        return event_table(names, seq, "EXPECT", queue, fixed_binary(records), keys)


def _true(array: pa.Array) -> Any:
    """A column of truth values as numpy has them; null is false."""
    return pc.fill_null(array, False).to_numpy(zero_copy_only=False)


def _cents(amounts: pa.Array) -> pa.Array:
    return pc.multiply(amounts, pa.scalar(Decimal(100))).cast(pa.int64())


def _signed_digits(cents: int, digits: int) -> bytes:
    """An amount as PIC S9 USAGE DISPLAY: the last digit has the sign in its zone."""
    text = f"{abs(cents):0{digits}d}"
    if len(text) > digits:
        raise DatasetError(f"{cents} cents do not fit a field of {digits} digits")
    return (text[:-1] + ("}JKLMNOPQR" if cents < 0 else "{ABCDEFGHI")[int(text[-1])]).encode(PAGE)


def _decoded(decoder: RecordDecoder, data: bytes, length: int) -> pa.RecordBatch:
    """The fields of consecutive records of one length."""
    starts = np.arange(0, len(data), length, dtype=np.int64)
    return decoder.decode(data, starts, np.full(len(starts), length, np.int64))


def _blocks(path: Path, copybook: str, columns: list[str], length: int) -> Iterator[tuple[pa.RecordBatch, Any]]:
    """The columns of some records at a time, and the records as a matrix.

    Raises:
        DatasetError: a column has a value that its layout does not allow; the message names the record.
    """
    decoder = _decoder(copybook, columns)
    done = 0
    with path.open("rb") as file:
        while block := file.read(length * _AT_ONCE):
            batch = _decoded(decoder, block, length)
            for name, column in zip(columns, batch.columns, strict=True):
                if column.null_count:
                    row = done + column.is_null().index(True).as_py()
                    raise DatasetError(f"{path}: record {row + 1} at offset {row * length}: {name} is no number")
            yield batch, np.frombuffer(block, np.uint8).reshape(-1, length)
            done += batch.num_rows


def _columns(path: Path, copybook: str, columns: list[str], length: int) -> list[list[Any]]:
    """The values of columns of a whole file; amounts in cents."""
    batches = (batch for batch, _ in _blocks(path, copybook, columns, length))
    table = pa.Table.from_batches(batches, _decoder(copybook, columns).schema)
    return [(_cents(column) if pa.types.is_decimal(column.type) else column).to_pylist() for column in table.columns]
