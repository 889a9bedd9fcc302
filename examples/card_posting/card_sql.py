"""What must come out of the posting, as Spark SQL over the three inputs.

An account's transactions are collected in the order of the file and folded by ``aggregate``: the state is the cycle so
far and the reason given to each. Records are put together as hexadecimal text, since a JVM need not know EBCDIC.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from card_pipeline import ACCOUNT, PAGE, TEXTS, TRANSACTION, XREF

__all__ = ["expected"]

MONEY: Final = "decimal(20,2)"


def expected(spark: Any, files: Mapping[str, Path], regions: int) -> Any:
    """A DataFrame of the records that must come out: region, queue, seq, key, data."""
    for name, copybook in (("DALYTRAN", TRANSACTION), ("CARDXREF", XREF), ("ACCTDATA", ACCOUNT)):
        options = {
            "copybook_contents": copybook,
            "record_format": "F",
            "generate_record_id": "true",
            "generate_record_bytes": "true",
        }
        spark.read.format("qsam").options(**options).load(str(files[name])).createOrReplaceTempView(name.lower())
    texts = ", ".join(f"{reason}, '{_hex(f'{reason:04d}{text:76}')}'" for reason, text in TEXTS.items())
    spark.sql(_ROUTED).createOrReplaceTempView("routed")
    spark.sql(_FOLDED).createOrReplaceTempView("folded")
    spark.sql(_DECIDED).createOrReplaceTempView("decided")
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


_ROUTED: Final = """
    select t.Record_Id + 1 seq, t.AMOUNT amount, substring(t.ORIG_TS, 1, 10) day, t.Record_Bytes data,
           x.ACCT_ID account, a.EXPIRES expires, a.CREDIT_LIMIT credit_limit,
           a.CYCLE_CREDIT credit, a.CYCLE_DEBIT debit,
           coalesce(x.place, substring(t.Record_Bytes, 263, 16)) place
    from dalytran t
    left join (select CARD, max_by(ACCT_ID, Record_Id) ACCT_ID,
                      max_by(substring(Record_Bytes, 26, 11), Record_Id) place
               from cardxref group by CARD) x on t.CARD = x.CARD
    left join acctdata a on x.ACCT_ID = a.ACCT_ID
"""

_WHY: Final = "case when expires < t.day then 103 when credit_limit < s.credit - s.debit + t.amount then 102 else 0 end"

_FOLDED: Final = f"""
    select account, first(credit) credit, first(debit) debit, count(*) many, aggregate(
        array_sort(collect_list(struct(seq, amount, day, data, place))),
        struct(cast(first(credit) as {MONEY}) credit, cast(first(debit) as {MONEY}) debit,
               cast(array() as array<int>) reasons),
        (s, t) -> struct(
            cast(s.credit + if({_WHY} = 0 and t.amount >= 0, t.amount, 0) as {MONEY}) credit,
            cast(s.debit + if({_WHY} = 0 and t.amount < 0, t.amount, 0) as {MONEY}) debit,
            concat(s.reasons, array({_WHY})) reasons)) outcome,
        array_sort(collect_list(struct(seq, amount, day, data, place))) trans
    from routed where expires is not null group by account, expires, credit_limit
"""  # noqa: S608  (nothing in it comes from outside)

_DECIDED: Final = """
    select seq, data, place, if(account is null, 100, 101) reason from routed where expires is null
    union all
    select each.trans.seq, each.trans.data, each.trans.place, each.reasons
    from (select explode(arrays_zip(trans, reasons)) each from (select trans, outcome.reasons reasons from folded))
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
