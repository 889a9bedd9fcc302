"""The pieces of the posting job that stand without a region: records, rules, generator."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from card_generate import generate
from card_records import RecordError, cents_text, encode_zoned, zoned
from card_rules import Account, decide
from hypothesis import given
from hypothesis import strategies as st

from tests.examples.posting_model import post_all, signed


@given(st.integers(-(10**11) + 1, 10**11 - 1))
def test_a_zoned_decimal_comes_back(cents: int) -> None:
    field = encode_zoned(cents, 11)
    assert len(field) == 11
    assert zoned(field) == cents
    assert field[-1] >> 4 == (0xD if cents < 0 else 0xC)
    assert signed(field.decode("cp037")) == Decimal(cents).scaleb(-2)


@pytest.mark.parametrize(
    ("characters", "cents"),
    [("0000005047G", 50477), ("0000009190}", -91900), ("00000000000{", 0), ("00000000012", 12), ("0000000000J", -1)],
)
def test_overpunched_signs_read_as_a_mainframe_writes_them(characters: str, cents: int) -> None:
    assert zoned(characters.encode("cp037")) == cents


@pytest.mark.parametrize("field", [b"", b"\x40" * 11, b"\xf1\xf2 ", b"\xf1_\xf2", b"1234", b"\xf1\xd2\x00"])
def test_what_is_no_zoned_decimal_is_refused(field: bytes) -> None:
    with pytest.raises(RecordError):
        zoned(field)


def test_a_number_too_long_for_its_field_is_refused() -> None:
    with pytest.raises(RecordError, match=r"12345\.67 does not fit a field of 6 digits"):
        encode_zoned(1234567, 6)


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (-5, "-0.05"), (10480154, "104801.54")])
def test_amounts_are_written_with_two_decimals(cents: int, text: str) -> None:
    assert cents_text(cents) == text


def account(balance: int = 0, limit: int = 100_00, credit: int = 0, debit: int = 0) -> Account:
    record = b"".join((
        "00000000007Y".encode("cp037"), encode_zoned(balance, 12), encode_zoned(limit, 12), encode_zoned(0, 12),
        "2014-11-202022-06-102025-05-20".encode("cp037"), encode_zoned(credit, 12), encode_zoned(debit, 12),
    ))  # fmt: skip
    return Account(record.ljust(300, b"\x40"))


DAY = "2022-06-10".encode("cp037")
NEXT_DAY = "2022-06-11".encode("cp037")


def test_a_card_without_cross_reference_is_reason_100() -> None:
    assert decide(None, card_known=False, amount=1, date=DAY) == 100


def test_an_account_outside_the_master_is_reason_101() -> None:
    assert decide(None, card_known=True, amount=1, date=DAY) == 101


@pytest.mark.parametrize(
    ("credit", "debit", "amount", "reason"),
    [(0, 0, 100_00, 0), (0, 0, 100_01, 102), (60_00, 0, 40_00, 0), (60_00, -1, 40_00, 102), (0, -200_00, -1, 102)],
)
def test_the_limit_is_held_against_credit_less_debit_plus_amount(
    credit: int, debit: int, amount: int, reason: int
) -> None:
    assert decide(account(credit=credit, debit=debit), card_known=True, amount=amount, date=DAY) == reason


def test_an_account_is_good_on_the_day_it_expires_and_not_after() -> None:
    assert decide(account(), card_known=True, amount=1, date=DAY) == 0
    assert decide(account(), card_known=True, amount=1, date=NEXT_DAY) == 103


def test_expiry_overrules_the_limit() -> None:
    assert decide(account(limit=0), card_known=True, amount=1, date=NEXT_DAY) == 103


@pytest.mark.parametrize(("amount", "credit", "debit"), [(5, 5, 0), (0, 0, 0), (-5, 0, -5)])
def test_a_posted_amount_goes_to_balance_and_to_credit_or_debit(amount: int, credit: int, debit: int) -> None:
    before = account(balance=7)
    before.post(amount)
    after = Account(before.new_record())
    assert (after.balance, after.cycle_credit, after.cycle_debit) == (7 + amount, credit, debit)


def test_only_fields_that_changed_get_new_bytes() -> None:
    old = account(balance=1000).record
    unsigned = old[:78] + "000000000000".encode("cp037") + old[90:]  # a cycle credit without sign zone
    touched = Account(unsigned)
    touched.post(-25)
    new = touched.new_record()
    assert [index for index in range(300) if new[index] != unsigned[index]] == [20, 21, 22, 23, 100, 101]
    untouched = Account(unsigned)
    untouched.post(25)
    untouched.post(-25)
    assert untouched.new_record()[12:24] == unsigned[12:24]


def test_the_generator_gives_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        runs.append({dd: path.read_bytes() for dd, path in generate(tmp_path / name, 500, seed).items()})
    assert runs[0] == runs[1]
    assert runs[0]["DALYTRAN"] != runs[2]["DALYTRAN"]


@pytest.mark.parametrize("count", [0, 1, 300, 4321])
def test_the_generator_makes_as_many_records_as_it_is_told(tmp_path: Path, count: int) -> None:
    paths = generate(tmp_path, count, seed=5)
    assert paths["DALYTRAN"].stat().st_size == count * 350
    assert paths["CARDXREF"].stat().st_size % 50 == 0
    assert paths["ACCTDATA"].stat().st_size % 300 == 0


def test_generated_input_has_every_kind_of_reject(tmp_path: Path) -> None:
    paths = generate(tmp_path, 10_000, seed=0)
    outcome = post_all(paths["DALYTRAN"], paths["CARDXREF"], paths["ACCTDATA"])
    assert set(outcome.reasons) == {"100", "101", "102", "103"}
    assert len(outcome.posted) > 9_000


def test_progress_is_told_while_records_are_made(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    generate(tmp_path, 6_000, 0, lambda done, total: told.append((done, total)))
    assert told == [(2_000, 6_000), (4_000, 6_000), (6_000, 6_000)]


def test_the_model_agrees_with_the_known_figures(real_data: Path) -> None:
    outcome = post_all(*(real_data / f"{name}.PS" for name in ("DALYTRAN", "CARDXREF", "ACCTDATA")))
    assert outcome.amounts == (Decimal("77954.70"), Decimal("26846.84"))
    assert (len(outcome.posted), outcome.reasons) == (262, {"102": 38})
