"""The options of ``format("tdqueue")`` and ``format("dtaq")``, as ``facts/queue_options.tsv`` declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import CodePage, codepage
from tdqsim.pipeline.option_table import OptionValues
from tdqsim.pipeline.stored import Kind


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """Checked options of one read or write.

    The attributes have the names of the options, and their meanings and defaults; see the table.
    """

    kind: Kind
    path: str
    read: str
    queues: tuple[str, ...]
    journals: tuple[str, ...]
    starting_sequence: int
    ending_sequence: int | None
    rows_per_partition: int
    mode: str
    max_rows_per_trigger: int
    max_bytes_per_trigger: int
    starting_offsets: str
    fail_on_data_loss: bool
    consume: bool
    target: str
    ccsid: int
    dfhintra: Mapping[str, int]
    checkpoint_location: str
    sink: str

    @property
    def page(self) -> CodePage:
        """The code page of text."""
        return codepage(self.ccsid)

    @property
    def store(self) -> Path:
        """The store's directory; when writing seeds, the directory of their files."""
        return Path(self.path)


def read_queue_options(kind: Kind, options: Mapping[str, object], use: str = "") -> QueueOptions:
    """Check the options of a read or write.

    Args:
        kind: the kind of store.
        options: the options.
        use: refuse options that do not apply to this use: ``batch``, ``stream`` or ``write``; empty for any.

    Raises:
        DatasetError: an option is unknown or does not apply, or its value is not allowed; the message names it, and
            what is allowed.
    """
    place = f"format({kind!r}): "
    hint = "tdq guide queue-sources lists the options"
    given = OptionValues("queue_options", options, of=kind, place=place, hint=hint)
    for option in given.known.values() if use else ():
        uses = option.row["use"].split()
        if use not in uses and uses != ["all"]:
            raise DatasetError(f"{place}{option.name} is an option of {' or '.join(uses)}, not of {use}")
    intervals = {}
    if kind == "tdqueue":
        intervals = {"ci_size": given["cisize"], "control_intervals": given["controlintervals"]}
    return QueueOptions(
        **given.attributes(QueueOptions)
        | {
            "kind": kind,
            "path": _path(given, place),
            "queues": tuple(dict.fromkeys(given["queue"])),
            "journals": tuple(dict.fromkeys(given["journal"])) if kind == "dtaq" else (),
            "ending_sequence": given["endingsequence"] if given.texts.get("endingsequence", "") else None,
            "ccsid": _page(given, place).ccsid,
            "dfhintra": intervals,
        }
    )


def _path(given: OptionValues, place: str) -> str:
    path: str = given["path"]
    if not path:
        raise DatasetError(f"{place.removesuffix(': ')} needs the store's directory: .load(DIR) or .save(DIR)")
    for prefix in ("file://", "file:"):
        path = path.removeprefix(prefix)
    if "://" in path:
        raise DatasetError(f"{place}{path} is no local path; mount it where the workers see it")
    return path


def _page(given: OptionValues, place: str) -> CodePage:
    try:
        return codepage(given["encoding"])
    except ConversionError as error:
        raise DatasetError(f"{place}encoding: {error}") from None
