"""Generate the three inputs of the job: any number of transactions, always the same for the same seed.

Transactions are written as they are generated, so a million of them need no more memory than ten. Some have an unknown
card, some belong to accounts that are missing from the master or had expired, and some exceed the limit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from card_records import ACCOUNT_LENGTH, CODE_PAGE, TRANSACTION_LENGTH, XREF_LENGTH, encode_zoned

from tdqsim.errors import DatasetError

_MERCHANTS: Final = 500
_RECORDS_PER_ACCOUNT: Final = 6
_FEWEST_ACCOUNTS: Final = 50
_MOST_ACCOUNTS: Final = 20_000  # limits the memory of the posting programs
_BLOCK: Final = 2_000
_DAY: Final = "2022-06-10"
_STREETS: Final = ("Abbot", "Birch", "Cedar", "Dover", "Elm", "Fairview", "Grove", "Hill", "Iron", "Juniper")
_TRADES: Final = ("Bakery", "Books", "Cafe", "Fuel", "Garden", "Grocer", "Hotel", "Music", "Pharmacy", "Tools")

Progress = Callable[[int, int], None]


def generate(directory: Path, records: int, seed: int, progress: Progress | None = None) -> dict[str, Path]:
    """Write DALYTRAN, CARDXREF and ACCTDATA under a directory.

    Args:
        directory: an existing directory; files of these names are replaced.
        records: the number of transactions, 0 or more.
        seed: the same seed and number of records give the same bytes.
        progress: called from time to time with (number generated, records).

    Returns:
        The path of each data set by its DD name.

    Raises:
        DatasetError: a file cannot be written.
    """
    source = random.Random(f"{seed}/{records}")  # noqa: S311  (repeatable on purpose)
    accounts = min(max(records // _RECORDS_PER_ACCOUNT, _FEWEST_ACCOUNTS), _MOST_ACCOUNTS)
    paths = {name: directory / f"{name}.PS" for name in ("DALYTRAN", "CARDXREF", "ACCTDATA")}
    try:
        cards = _write_cards(paths["CARDXREF"], accounts, source)
        _write_accounts(paths["ACCTDATA"], accounts, records, source)
        with paths["DALYTRAN"].open("wb") as file:
            _write_transactions(file, cards, records, source, progress)
    except OSError as error:
        raise DatasetError(f"{directory}: cannot generate the input: {error.strerror}") from error
    return paths


def _text(value: str, length: int) -> bytes:
    return value.ljust(length)[:length].encode(CODE_PAGE)


def _write_cards(path: Path, accounts: int, source: random.Random) -> list[bytes]:
    """Write one card for most accounts, two for some, and a few cards whose account is missing from the master."""
    cards = []
    with path.open("wb") as file:
        for number in range(1, accounts + 1):
            for _ in range(2 if source.random() < 0.1 else 1):
                card = f"{4_000_000_000_000_000 + len(cards) * 1_000_003:016d}"
                account = number + 80_000_000_000 if source.random() < 0.01 else number
                file.write(_text(f"{card}{number:09d}{account:011d}", XREF_LENGTH))
                cards.append(card.encode(CODE_PAGE))
    return cards


def _write_accounts(path: Path, accounts: int, records: int, source: random.Random) -> None:
    """Write the account master, with limits that a few percent of the accounts exceed."""
    expected = max(records / accounts, 1) * 25_000  # the turnover of an average account in cents
    with path.open("wb") as file:
        for number in range(1, accounts + 1):
            limit = round(expected * source.uniform(0.7, 5.0)) + 50_000
            expires = (
                "2021-12-31" if source.random() < 0.02 else f"20{source.randint(23, 29)}-0{source.randint(1, 9)}-15"
            )
            record = b"".join((
                _text(f"{number:011d}Y", 12),
                encode_zoned(source.randint(0, 200_000), 12),
                encode_zoned(limit, 12),
                encode_zoned(limit // 2, 12),
                _text(f"2014-01-02{expires}{expires}", 30),
                encode_zoned(0, 12),
                encode_zoned(0, 12),
                _text("A000000000", 20),
            ))  # fmt: skip
            file.write(record.ljust(ACCOUNT_LENGTH, b"\x40"))


def _merchants(source: random.Random) -> list[tuple[bytes, bytes]]:
    """For each merchant, the description and the fields from merchant id to zip code, which many transactions use."""
    result = []
    for number in range(_MERCHANTS):
        name = f"{source.choice(_STREETS)} {source.choice(_TRADES)} {number}"
        tail = _text(
            f"{800_000_000 + number:09d}{name:50}{source.choice(_STREETS) + ' City':50}{10_000 + number:<10}", 119
        )
        result.append((_text(f"Purchase at {name}", 100), tail))
    return result


def _write_transactions(
    file: BinaryIO, cards: list[bytes], records: int, source: random.Random, progress: Progress | None
) -> None:
    block = []
    for made, record in enumerate(_transactions(cards, records, source), 1):
        block.append(record)
        if len(block) == _BLOCK:
            file.write(b"".join(block))
            block.clear()
            if progress is not None:
                progress(made, records)
    file.write(b"".join(block))


def _transactions(cards: list[bytes], records: int, source: random.Random) -> Iterator[bytes]:
    merchants = _merchants(source)
    chance, choose = source.random, source.choice
    purchase, returned = _text("010001POS TERM", 16), _text("030001OPERATOR", 16)
    stranger = _text("9999999999999999", 16)
    stamps = [_text(f"{_DAY} {hour:02d}:{minute:02d}:00.000000", 26) for hour in range(24) for minute in range(60)]
    filler = _text("", TRANSACTION_LENGTH - 304)
    for number in range(records):
        description, merchant = choose(merchants)
        back = chance() < 1 / 6
        cents = int(1_00 + chance() ** 2 * 600_00)
        card = choose(cards) if chance() > 0.005 else stranger
        yield b"".join((
            (b"%016d" % (number + 1)).translate(_TO_EBCDIC), returned if back else purchase, description,
            encode_zoned(-cents if back else cents, 11), merchant, card, stamps[number * 1440 // records], filler,
        ))  # fmt: skip


_TO_EBCDIC: Final = bytes.maketrans(b"0123456789", bytes(range(0xF0, 0xFA)))
