"""What must hold for any bytes: used by the corpus test and by the fuzzer."""

from __future__ import annotations

from pathlib import Path

from tdqsim.datasets import (
    BlockError,
    Dcb,
    DcbError,
    DsnameError,
    ErrorOption,
    InternalReader,
    JobLog,
    RecordError,
    RecordFormat,
    detect,
    open_reader,
    parse_dcb,
    parse_dsname,
    parse_space,
    render_asa,
    render_machine,
)
from tests.datasets import model

DCBS = (
    Dcb(RecordFormat.F, 3),
    Dcb(RecordFormat.FB, 4, 12),
    Dcb(RecordFormat.V, 20, 24),
    Dcb(RecordFormat.VB, 60, 80),
    Dcb(RecordFormat.VB, 32756),
    Dcb(RecordFormat.VS, 30, 20),
    Dcb(RecordFormat.VBS, 12, 30),
    Dcb(RecordFormat.VBS, 200, 40),
    Dcb(RecordFormat.RDW, 200),
    Dcb(RecordFormat.RDWLE, 20, 0, None, 0, 2, False),
    Dcb(RecordFormat.RDW, 20, 0, None, 0, 0, False),
    Dcb(RecordFormat.LF, 6),
    Dcb(RecordFormat.CRLF, 6),
    Dcb(RecordFormat.NL, 80),
)


def check(data: bytes, path: Path) -> None:
    """Read ``data`` by the format that its first byte chooses, in every way; AssertionError is a finding."""
    if not data:
        return
    dcb, body = DCBS[data[0] % len(DCBS)], data[1:]
    path.write_bytes(body)
    wanted, wrong = model.read(dcb, body)
    got, met = until_damage(path, dcb)
    assert (got, met) == (wanted, wrong), (dcb, body)
    for eropt in (ErrorOption.SKP, ErrorOption.ACC):
        with open_reader(path, dcb, eropt=eropt, check_words=False) as reader:
            records = list(reader)
        assert records[: len(wanted)] == wanted
        assert sum(map(len, records)) <= len(body)
    check_detection(path)
    check_texts(body)
    check_reports(body, wanted)


def until_damage(path: Path, dcb: Dcb) -> tuple[list[bytes], bool]:
    got: list[bytes] = []
    with open_reader(path, dcb, check_words=False) as reader:
        try:
            while (record := reader.get()) is not None:
                got.append(record)
        except BlockError:
            return got, True
    return got, False


def check_detection(path: Path) -> None:
    try:
        found = detect(path)
    except DcbError:
        return
    try:
        with open_reader(path, found.dcb) as reader:
            assert list(reader)
    except BlockError:
        assert "is damaged" in found.reasons[0] or "the file is cut off" in found.reasons[0]


def check_texts(body: bytes) -> None:
    text = body[:200].decode("latin-1")
    for parse in (parse_dcb, parse_space, parse_dsname):
        try:
            parse(text)
        except (DcbError, DsnameError):
            continue


def check_reports(body: bytes, records: list[bytes]) -> None:
    list(render_asa(records))
    list(render_machine(records))
    jobs = JobLog(lambda: 0)
    reader = InternalReader(jobs, "latin-1")
    cards = body.split(b"\n")
    for card in cards:
        try:
            reader.put(card)
        except RecordError:
            assert not 1 <= len(card) <= 254
    reader.close()
    assert sum(len(job.cards) for job in jobs) <= len(cards)
