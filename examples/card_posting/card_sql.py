"""The expected result of the posting, by Spark SQL over the three inputs.

Whether a transaction exceeds the limit depends on the earlier ones of its account. So the numbers and amounts of the
transactions of an account are collected in the order of the file and processed once (Spark's ``aggregate`` would copy
its state for each transaction). All other reasons depend only on the transaction and its account, so the records
themselves are not shuffled. Records are composed as hexadecimal text, because a JVM may not support EBCDIC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from card_pipeline import ACCOUNT, PAGE, TEXTS, TRANSACTION, XREF

from tdqsim.pipeline.data_sets import read_data_set


def expected(spark: Any, files: Mapping[str, Path], regions: int) -> Any:
    """A DataFrame of the records that must come out: region, queue, seq, key, data."""
    for name, file, copybook, columns in _READ:
        options = {"copybook_contents": copybook, "record_format": "F"}
        options |= {"generate_record_id": True, "generate_record_bytes": "Record_Bytes" in columns}
        read_data_set(spark, files[file], columns=columns, **options).createOrReplaceTempView(name)
    spark.sql(_CARDS).persist().createOrReplaceTempView("cards")  # small and used twice, like the accounts
    in_order = spark.sql(_IN_ORDER).repartition("account").sortWithinPartitions("account", "seq")
    in_order.mapInArrow(_accounts(), _ACCOUNTS).persist().createOrReplaceTempView("accounts")
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
    """)  # noqa: S608  (it contains no external text)


_READ: Final = (
    ("amounts", "DALYTRAN", TRANSACTION, ("Record_Id", "AMOUNT", "CARD", "ORIG_TS")),
    ("dalytran", "DALYTRAN", TRANSACTION, ("Record_Id", "Record_Bytes", "CARD", "ORIG_TS")),
    ("cardxref", "CARDXREF", XREF, ("Record_Id", "Record_Bytes", "CARD", "ACCT_ID")),
    ("acctdata", "ACCTDATA", ACCOUNT, (
        "Record_Id", "Record_Bytes", "ACCT_ID", "BALANCE", "CREDIT_LIMIT", "EXPIRES", "CYCLE_CREDIT", "CYCLE_DEBIT",
    )),
)  # fmt: skip
"""View, data set, layout and the needed columns: each decoded field costs time."""


def _hex(text: str) -> str:
    return text.encode(PAGE).hex().upper()


_CARDS: Final = """
    select x.CARD card, x.ACCT_ID account, x.place, a.EXPIRES expires, a.CREDIT_LIMIT credit_limit,
           a.CYCLE_CREDIT credit, a.CYCLE_DEBIT debit
    from (select CARD, max_by(ACCT_ID, Record_Id) ACCT_ID, max_by(substring(Record_Bytes, 26, 11), Record_Id) place
          from cardxref group by CARD) x
    left join acctdata a on x.ACCT_ID = a.ACCT_ID
"""

_IN_ORDER: Final = """
    select c.account, t.Record_Id + 1 seq, cast(100 * t.AMOUNT as bigint) amount,
           cast(100 * c.credit_limit as bigint) credit_limit, cast(100 * c.credit as bigint) credit,
           cast(100 * c.debit as bigint) debit
    from amounts t join cards c on t.CARD = c.card where c.expires >= substring(t.ORIG_TS, 1, 10)
"""

_ACCOUNTS: Final = "account bigint, over bigint, credit bigint, debit bigint"
"""The schema of rows: one for each transaction over the limit, one for each account with its final figures."""


def _accounts() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that processes transactions by account and number; nested, so that workers need not import it."""

    def accounts(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415  (on a worker)

        names = ["account", "over", "credit", "debit"]
        now, credit, debit = None, 0, 0
        found: list[tuple[int | None, ...]] = []

        def rows() -> Any:
            columns = zip(*found, strict=True) if found else ((),) * len(names)
            return pa.RecordBatch.from_arrays([pa.array(column, pa.int64()) for column in columns], names)

        for batch in batches:
            found.clear()
            for account, seq, amount, limit, credit_before, debit_before in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                if account != now:
                    if now is not None:
                        found.append((now, None, credit, debit))
                    now, credit, debit = account, credit_before, debit_before
                if limit < credit - debit + amount:
                    found.append((account, seq, None, None))
                elif amount >= 0:
                    credit += amount
                else:
                    debit += amount
            yield rows()
        if now is not None:
            found[:] = [(now, None, credit, debit)]
            yield rows()

    return accounts


_DECIDED: Final = """
    select t.Record_Id + 1 seq, t.Record_Bytes data, coalesce(c.place, substring(t.Record_Bytes, 263, 16)) place,
           case when c.account is null then 100 when c.expires is null then 101
                when c.expires < substring(t.ORIG_TS, 1, 10) then 103 when o.over is not null then 102 else 0 end reason
    from dalytran t left join cards c on t.CARD = c.card
    left join (select over from accounts where over is not null) o on t.Record_Id + 1 = o.over
"""


def _zoned(value: str) -> str:
    """A signed zoned number of twelve digits as hexadecimal text."""
    digits = f"regexp_replace(lpad(cast(cast(abs({value}) * 100 as bigint) as string), 12, '0'), '([0-9])', 'F$1')"
    return f"concat(substring({digits}, 1, 22), if({value} < 0, 'D', 'C'), substring({digits}, 24, 1))"


def _field(old: str, new: str, first: int) -> str:
    """A field with its original bytes if the value is unchanged, otherwise the new value."""
    return f"if({old} = {new}, hex(substring(a.Record_Bytes, {first}, 12)), {_zoned(new)})"


_MASTER: Final = f"""
    select a.Record_Id + 1 + 1099511627776L seq, substring(a.Record_Bytes, 1, 11) place, unhex(concat(
        hex(substring(a.Record_Bytes, 1, 12)),
        {_field("a.BALANCE", "balance_now", 13)}, hex(substring(a.Record_Bytes, 25, 54)),
        {_field("a.CYCLE_CREDIT", "f_credit", 79)}, {_field("a.CYCLE_DEBIT", "f_debit", 91)},
        hex(substring(a.Record_Bytes, 103, 198)))) data
    from (select m.*, coalesce(f.credit, m.CYCLE_CREDIT) f_credit, coalesce(f.debit, m.CYCLE_DEBIT) f_debit,
                 m.BALANCE + coalesce(f.credit - m.CYCLE_CREDIT + f.debit - m.CYCLE_DEBIT, 0) balance_now
          from acctdata m
          left join (select account, cast(0.01 * credit as decimal(20,2)) credit,
                            cast(0.01 * debit as decimal(20,2)) debit
                     from accounts where over is null) f
          on f.account = m.ACCT_ID) a
"""  # noqa: S608  (it contains no external text)
