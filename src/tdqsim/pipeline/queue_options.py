"""The options of ``format("tdqueue")`` and ``format("dtaq")``: those of ``facts/queue_options.tsv``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.facts import table
from tdqsim.pipeline.stored import Kind

__all__ = ["READS", "QueueOptions", "options_page", "read_queue_options"]

READS: Final = ("records", "queues", "history", "journal")
"""What a batch read may read."""

_MODES: Final = ("permissive", "dropmalformed", "failfast")
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """Options of one read or write, checked. The attributes are named after the options; see the table."""

    kind: Kind
    given: Mapping[str, str]
    path: str
    read: str
    queues: tuple[str, ...]
    journals: tuple[str, ...]
    starting_sequence: int
    ending_sequence: int | None
    rows_per_partition: int
    mode: str
    max_rows: int
    max_bytes: int
    from_latest: bool
    fail_on_data_loss: bool
    consume: bool
    target: str
    ccsid: int
    dfhintra: Mapping[str, int]
    checkpoint: str
    sink: str

    def check_use(self, use: str) -> None:
        """Refuse options that are for something else than this: ``batch``, ``stream`` or ``write``.

        Raises:
            DatasetError: one is; names it.
        """
        rows = {row["option"].lower(): row for row in table("queue_options")}
        for name in self.given:
            uses = rows[name]["use"].split()
            if use not in uses and "all" not in uses:
                wanted = " or ".join(uses)
                raise DatasetError(
                    f"format({self.kind!r}): {rows[name]['option']} is an option of {wanted}, not of {use}"
                )

    @property
    def page(self) -> CodePage:
        """The code page of text."""
        return codepage(self.ccsid)

    @property
    def store(self) -> Path:
        """The store's directory, or of a seed: where its files go."""
        return Path(self.path)


def options_page() -> str:
    """The table as Markdown, for the guide."""
    lines = ["| option | of | use | default | |", "|---|---|---|---|---|"]
    lines += [
        f"| `{row['option']}` | {row['formats']} | {row['use']} | {row['default']} | {row['meaning']} |"
        for row in table("queue_options")
    ]
    return "\n".join(lines) + "\n"


def read_queue_options(kind: Kind, options: Mapping[str, Any]) -> QueueOptions:
    """Check the options of a read or write.

    Raises:
        DatasetError: one is unknown, or its value is not allowed; names both, and what is.
    """
    return _Options(kind, options).read()


class _Options:
    def __init__(self, kind: Kind, options: Mapping[str, Any]) -> None:
        self.kind: Kind = kind
        self.rows = {row["option"].lower(): row for row in table("queue_options") if row["formats"] in ("both", kind)}
        self.given = {str(key).lower(): str(value) for key, value in options.items() if value is not None}
        for name in self.given:
            if name not in self.rows:
                known = ", ".join(row["option"] for row in self.rows.values())
                raise DatasetError(f"format({kind!r}) has no option {name}; it has {known}")

    def read(self) -> QueueOptions:
        intervals = {"ci_size": self.number("ciSize", 1), "control_intervals": self.number("controlIntervals", 1)}
        return QueueOptions(
            kind=self.kind,
            given=self.given,
            path=self._path(),
            read=self.choice("read", READS),
            queues=self.words("queue"),
            journals=self.words("journal"),
            starting_sequence=self.number("startingSequence", 0),
            ending_sequence=self.number("endingSequence", 0) if self.text("endingSequence") else None,
            rows_per_partition=self.number("rowsPerPartition", 1),
            mode=self.choice("mode", _MODES),
            max_rows=self.number("maxRowsPerTrigger", 1),
            max_bytes=self.number("maxBytesPerTrigger", 1),
            from_latest=self.choice("startingOffsets", ("earliest", "latest")) == "latest",
            fail_on_data_loss=self.flag("failOnDataLoss"),
            consume=self.flag("consume"),
            target=self.choice("target", ("store", "seed")),
            ccsid=self._page().ccsid,
            dfhintra=intervals if self.kind == "tdqueue" else {},
            checkpoint=self.text("checkpointLocation"),
            sink=self.text("sink"),
        )

    def text(self, option: str) -> str:
        row = self.rows.get(option.lower())
        return "" if row is None else self.given.get(option.lower(), row["default"]).strip()

    def words(self, option: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.strip() for word in self.text(option).split(",") if word.strip()))

    def number(self, option: str, least: int) -> int:
        text = self.text(option)
        if not text and option.lower() not in self.given:
            return 0
        if not (text.isascii() and text.isdecimal() and least <= int(text[:20]) <= _LARGEST and len(text) < 20):
            raise DatasetError(f"format({self.kind!r}): {option} is {text[:40]!r}; it must be a number from {least} on")
        return int(text)

    def flag(self, option: str) -> bool:
        return self.choice(option, ("true", "false")) == "true"

    def choice(self, option: str, allowed: tuple[str, ...]) -> str:
        value = self.text(option).lower()
        if option.lower() not in self.rows:
            return allowed[0]
        if value not in allowed:
            raise DatasetError(f"format({self.kind!r}): {option} is {value[:40]!r}; allowed are {', '.join(allowed)}")
        return value

    def _path(self) -> str:
        path = self.text("path")
        if not path:
            raise DatasetError(f"format({self.kind!r}) needs the store's directory: .load(DIR) or .save(DIR)")
        for prefix in ("file://", "file:"):
            path = path.removeprefix(prefix)
        if "://" in path:
            raise DatasetError(f"format({self.kind!r}): {path} is no local path; mount it where the workers see it")
        return path

    def _page(self) -> CodePage:
        try:
            return codepage(self.text("encoding"))
        except ConversionError as error:
            raise DatasetError(f"format({self.kind!r}): encoding: {error}") from None
