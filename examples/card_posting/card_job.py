"""The job: it generates missing inputs, and reports figures and checks at the end.

The checks read the data sets themselves, and also check the counts of the programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from card_generate import generate
from card_programs import tables_of
from card_records import (
    ACCOUNT,
    ACCOUNT_LENGTH,
    REJECT_LENGTH,
    TRANSACTION,
    TRANSACTION_LENGTH,
    XREF_LENGTH,
    RecordError,
    cents_text,
    zoned,
)

from tdqsim.errors import DatasetError
from tdqsim.job import Check, JobRequest, JobResult

_INPUTS: Final = {"DALYTRAN": TRANSACTION_LENGTH, "CARDXREF": XREF_LENGTH, "ACCTDATA": ACCOUNT_LENGTH}
_OUTPUTS: Final = ("POSTED", "DALYREJS", "ACCTOUT")
_RECORDS: Final = 10_000  # the default number of generated records
_READ_AT_ONCE: Final = 1_000
_CHANGING: Final = (ACCOUNT.BALANCE, ACCOUNT.CYCLE_CREDIT, ACCOUNT.CYCLE_DEBIT)


class CardPosting:
    """The nightly posting, with the interface that ``tdq run`` needs."""

    def __init__(self, request: JobRequest) -> None:
        self.request = request
        self.dd: dict[str, Path] = dict(request.dd)
        self._records = 0

    def prepare(self) -> dict[str, Path]:
        """Generate the inputs if none is given, and choose a file for each output without one."""
        given = [name for name in _INPUTS if name in self.dd]
        if given and len(given) < len(_INPUTS):
            missing = ", ".join(name for name in _INPUTS if name not in self.dd)
            raise DatasetError(f"the inputs belong together: with --dd for {', '.join(given)}, also give {missing}")
        if given and self.request.records is not None:
            raise DatasetError("--records is for generated input; the input given by --dd is read whole")
        if given:
            self._check_inputs()
        else:
            self.dd |= self._generate()
        for name in _OUTPUTS:
            self.dd.setdefault(name, self.request.output / f"{name}.PS")
        self._records = self.dd["DALYTRAN"].stat().st_size // TRANSACTION_LENGTH
        return self.dd

    def _check_inputs(self) -> None:
        for name, length in _INPUTS.items():
            path = self.dd[name]
            if not path.is_file():
                raise DatasetError(f"DD {name}: {path} is not a file")
            if path.stat().st_size % length:
                raise DatasetError(f"DD {name}: {path}: its {path.stat().st_size} bytes are no multiple of {length}")

    def _generate(self) -> dict[str, Path]:
        records = _RECORDS if self.request.records is None else self.request.records
        report = self.request.progress
        return generate(
            self.request.output, records, self.request.seed, lambda done, total: report("generating", done, total)
        )

    def progress(self, region: Any) -> tuple[int, int]:
        """The number of transactions read so far, and of all."""
        return tables_of(region).read, self._records

    def finish(self, region: Any) -> JobResult:
        """The figures from the output data sets, and the checks."""
        count_in, cents_in = _sum(self.dd["DALYTRAN"], TRANSACTION_LENGTH)
        count_posted, cents_posted = _sum(self.dd["POSTED"], TRANSACTION_LENGTH)
        count_rejected, cents_rejected = _sum(self.dd["DALYREJS"], REJECT_LENGTH)
        figures = {
            "records_in": count_in,
            "records_posted": count_posted,
            "records_rejected": count_rejected,
            "amount_in": cents_text(cents_in),
            "amount_posted": cents_text(cents_posted),
            "amount_rejected": cents_text(cents_rejected),
            "rejected_by_reason": _reasons(self.dd["DALYREJS"]),
        }
        tables = tables_of(region)
        changed, faults, moved, cycled = _compare_masters(self.dd["ACCTDATA"], self.dd["ACCTOUT"])
        checks = (
            _equal("records in = posted + rejected", count_in, count_posted + count_rejected),
            _equal("amount in = posted + rejected", cents_in, cents_posted + cents_rejected, cents_text),
            _equal("records read = records in", tables.read, count_in),
            _equal("posted as counted by the programs", tables.posted, count_posted),
            _equal("rejected as counted by the programs", tables.rejected.total(), count_rejected),
            _equal("balances moved by the amount posted", moved, cents_posted, cents_text),
            _equal("cycle figures moved by the amount posted", cycled, cents_posted, cents_text),
            Check("in the master only changed fields differ", not faults, faults or f"{changed} accounts changed"),
        )
        return JobResult({**figures, "accounts_changed": changed}, checks, count_in)


def _equal(name: str, left: int, right: int, text: Any = str) -> Check:
    return Check(name, left == right, f"{text(left)} {'=' if left == right else 'is not'} {text(right)}")


def _records(path: Path, length: int) -> Iterator[bytes]:
    """The fixed-length records of a file, in constant memory."""
    with path.open("rb") as file:
        while block := file.read(length * _READ_AT_ONCE):
            if len(block) % length:
                raise DatasetError(f"{path}: its length is no multiple of {length}")
            for start in range(0, len(block), length):
                yield block[start : start + length]


def _sum(path: Path, length: int) -> tuple[int, int]:
    """The number of records, and the sum of their amounts in cents."""
    count = cents = 0
    amount = TRANSACTION.AMOUNT
    for count, record in enumerate(_records(path, length), 1):
        try:
            cents += zoned(record[amount])
        except RecordError as error:
            raise RecordError(f"{path}: record {count}: the amount at offset {amount.start}: {error}") from None
    return count, cents


def _reasons(path: Path) -> dict[str, int]:
    """The number of rejects for each reason, which has three digits."""
    reason = slice(TRANSACTION_LENGTH + 1, TRANSACTION_LENGTH + 4)
    found = Counter(record[reason].decode("cp037") for record in _records(path, REJECT_LENGTH))
    return dict(sorted(found.items()))


def _compare_masters(old: Path, new: Path) -> tuple[int, str, int, int]:
    """The number of changed accounts, the first error, and the changes of balances and of cycle figures in cents."""
    changed = moved = cycled = 0
    both = zip(_records(old, ACCOUNT_LENGTH), _records(new, ACCOUNT_LENGTH), strict=True)
    try:
        for number, (before, after) in enumerate(both, 1):
            if before == after:
                continue
            changed += 1
            if _without_amounts(before) != _without_amounts(after):
                return changed, f"record {number} differs outside the amounts", moved, cycled
            balance, *cycle = (zoned(after[field]) - zoned(before[field]) for field in _CHANGING)
            moved += balance
            cycled += sum(cycle)
    except ValueError:  # raised by zip
        return changed, "the new master has another number of records", moved, cycled
    return changed, "", moved, cycled


def _without_amounts(record: bytes) -> bytes:
    return (
        record[: ACCOUNT.BALANCE.start]
        + record[ACCOUNT.BALANCE.stop : ACCOUNT.CYCLE_CREDIT.start]
        + record[ACCOUNT.CYCLE_DEBIT.stop :]
    )
