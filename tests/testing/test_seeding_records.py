"""Records that are seeded are bytes or text: a number or a single record is refused, not turned into X'00'."""

from __future__ import annotations

import pytest

from tdqsim import Region, System, define_tdqueue
from tdqsim.client import Client, RemoteRegion, RemoteSystem
from tdqsim.errors import UsageError
from tdqsim.testing import seed

_BAD = [b"ab", bytearray(b"ab"), memoryview(b"ab"), "text", [5], [True], [None], [1.5], [b"a", 3], [["a"]]]


@pytest.mark.parametrize("records", _BAD, ids=lambda each: f"{type(each).__name__}-{each!r}".partition(" at 0x")[0])
def test_a_region_refuses_them(records):
    with Region([define_tdqueue(name="PAYQ", type="INTRA")]) as region:
        with pytest.raises(TypeError, match=r"seed: records(\[\d\])? is .*; allowed is "):
            region.seed("PAYQ", records)
        assert region.peek("PAYQ") == []


@pytest.mark.parametrize(
    "records",
    [each for each in _BAD if each != "text"],
    ids=lambda each: f"{type(each).__name__}-{each!r}".partition(" at 0x")[0],
)
def test_a_job_refuses_them(records):
    with System() as system:
        system.crtlib("APPLIB")
        with system.job() as job:
            job.crtdtaq("APPLIB/ORDERS", maxlen=10)
            with pytest.raises(TypeError, match=r"seed: records(\[\d\])? is "):
                seed(job, "APPLIB/ORDERS", records)


@pytest.mark.parametrize("records", _BAD, ids=lambda each: f"{type(each).__name__}-{each!r}".partition(" at 0x")[0])
def test_a_client_refuses_them_before_anything_is_sent(records):
    region = RemoteRegion(Client("http://127.0.0.1:1", token="x"), "R")
    for call in (region.seed, region.writeq_td_all):
        with pytest.raises((TypeError, UsageError), match=r"records is|bytes-like object is required"):
            call("PAYQ", records)


def test_a_client_sends_no_number_as_an_entry():
    system = RemoteSystem(Client("http://127.0.0.1:1", token="x"), "S")
    for call in (lambda: system.qsnddtaq("Q", "LIB", 5), lambda: system.seed_entries("Q", "LIB", [(5, None)])):
        with pytest.raises(TypeError, match="bytes-like object is required"):
            call()


def test_bytes_text_and_areas_are_seeded():
    with Region([define_tdqueue(name="PAYQ", type="INTRA")]) as region:
        assert region.seed("PAYQ", [b"a", "b", bytearray(b"c"), memoryview(b"d")]) == 4
        assert region.peek("PAYQ") == [b"a", b"\x82", b"c", b"d"]
