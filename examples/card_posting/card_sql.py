"""What must come out of the posting, as Spark SQL over the three inputs.

Whether a transaction is over the limit depends on those of its account before it: they are collected in the order of
the file, number and amount alone, and folded by ``aggregate``. All other reasons are seen from the transaction and its
account. So records travel from the file to what is written and nowhere else. Records are put together as hexadecimal
text, since a JVM need not know EBCDIC.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from card_pipeline import ACCOUNT, PAGE, TEXTS, XREF

__all__ = ["expected"]

MONEY: Final = "decimal(20,2)"
TRANSACTION: Final = """
 01 TRAN. 05 FILLER PIC X(132). 05 AMOUNT PIC S9(9)V99. 05 FILLER PIC X(119). 05 CARD PIC X(16). 05 ORIG-TS PIC X(26).
 05 FILLER PIC X(46).
"""
"""Of a transaction, what matters here: each field that is decoded costs time."""


def expected(spark: Any, files: Mapping[str, Path], regions: int) -> Any:
    """A DataFrame of the records that must come out: region, queue, seq, key, data."""
    for name, copybook, file in (
        ("amounts", TRANSACTION, "DALYTRAN"),
        ("dalytran", TRANSACTION, "DALYTRAN"),
        ("cardxref", XREF, "CARDXREF"),
        ("acctdata", ACCOUNT, "ACCTDATA"),
    ):
        options = {"copybook_contents": copybook, "record_format": "F", "generate_record_id": "true"}
        whole = {} if name == "amounts" else {"generate_record_bytes": "true"}
        spark.read.format("qsam").options(**options, **whole).load(str(files[file])).createOrReplaceTempView(name)
    for name, query in (("cards", _CARDS), ("folded", _FOLDED)):  # small, and each is wanted twice
        spark.sql(query).persist().createOrReplaceTempView(name)
    spark.sql(_DECIDED).createOrReplaceTempView("decided")
    texts = ", ".join(f"{reason}, '{_hex(f'{reason:04d}{text:76}')}'" for reason, text in TEXTS.items())
    number = f"lpad(cast(pmod(crc32(place), {regions}) as string), 4, '0')"
    return spark.sql(f"""
        select concat('CARD', {number}) region,
               if(reason = 0, 'POSTED', 'DALYREJS') queue,
               seq, substring(data, 1, 16) key,
               if(reason = 0, data, unhex(concat(hex(data), map({texts})[reason]))) data
        from decided
        union all
        select concat('CARD', {number}), 'ACCTOUT', seq, substring(data, 1, 11), data
        from ({_MASTER})
    """)  # noqa: S608  (nothing in it comes from outside)


def _hex(text: str) -> str:
    return text.encode(PAGE).hex().upper()


_CARDS: Final = """
    select x.CARD card, x.ACCT_ID account, x.place, a.EXPIRES expires, a.CREDIT_LIMIT credit_limit,
           a.CYCLE_CREDIT credit, a.CYCLE_DEBIT debit
    from (select CARD, max_by(ACCT_ID, Record_Id) ACCT_ID, max_by(substring(Record_Bytes, 26, 11), Record_Id) place
          from cardxref group by CARD) x
    left join acctdata a on x.ACCT_ID = a.ACCT_ID
"""

_OVER: Final = "credit_limit < s.credit - s.debit + t.amount"

_FOLDED: Final = f"""
    select account, aggregate(
        array_sort(collect_list(struct(seq, amount))),
        struct(cast(first(credit) as {MONEY}) credit, cast(first(debit) as {MONEY}) debit,
               cast(array() as array<bigint>) over),
        (s, t) -> struct(
            cast(s.credit + if(not {_OVER} and t.amount >= 0, t.amount, 0) as {MONEY}) credit,
            cast(s.debit + if(not {_OVER} and t.amount < 0, t.amount, 0) as {MONEY}) debit,
            if({_OVER}, array_append(s.over, t.seq), s.over) over)) outcome
    from (select t.Record_Id + 1 seq, t.AMOUNT amount, c.account, c.credit_limit, c.credit, c.debit
          from amounts t join cards c on t.CARD = c.card where c.expires >= substring(t.ORIG_TS, 1, 10))
    group by account, credit_limit
"""  # noqa: S608  (nothing in it comes from outside)

_DECIDED: Final = """
    select t.Record_Id + 1 seq, t.Record_Bytes data, coalesce(c.place, substring(t.Record_Bytes, 263, 16)) place,
           case when c.account is null then 100 when c.expires is null then 101
                when c.expires < substring(t.ORIG_TS, 1, 10) then 103 when o.seq is not null then 102 else 0 end reason
    from dalytran t left join cards c on t.CARD = c.card
    left join (select explode(outcome.over) seq from folded) o on t.Record_Id + 1 = o.seq
"""


def _zoned(value: str) -> str:
    """A signed zoned number of twelve digits as hexadecimal text."""
    digits = f"regexp_replace(lpad(cast(cast(abs({value}) * 100 as bigint) as string), 12, '0'), '([0-9])', 'F$1')"
    return f"concat(substring({digits}, 1, 22), if({value} < 0, 'D', 'C'), substring({digits}, 24, 1))"


def _field(old: str, new: str, first: int) -> str:
    """A field as it was when its value is, else in its new form."""
    return f"if({old} = {new}, hex(substring(a.Record_Bytes, {first}, 12)), {_zoned(new)})"


_MASTER: Final = f"""
    select a.Record_Id + 1 + 1099511627776L seq, substring(a.Record_Bytes, 1, 11) place, unhex(concat(
        hex(substring(a.Record_Bytes, 1, 12)),
        {_field("a.BALANCE", "balance_now", 13)}, hex(substring(a.Record_Bytes, 25, 54)),
        {_field("a.CYCLE_CREDIT", "f_credit", 79)}, {_field("a.CYCLE_DEBIT", "f_debit", 91)},
        hex(substring(a.Record_Bytes, 103, 198)))) data
    from (select m.*, coalesce(f.outcome.credit, m.CYCLE_CREDIT) f_credit,
                 coalesce(f.outcome.debit, m.CYCLE_DEBIT) f_debit,
                 m.BALANCE + coalesce(f.outcome.credit - m.CYCLE_CREDIT + f.outcome.debit - m.CYCLE_DEBIT, 0)
                     balance_now
          from acctdata m left join folded f on f.account = m.ACCT_ID) a
"""  # noqa: S608  (nothing in it comes from outside)
