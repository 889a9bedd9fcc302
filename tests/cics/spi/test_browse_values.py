"""NEXT of a browse gives what INQUIRE gives of the same resource, option by option."""

from __future__ import annotations

import pytest

from tdqsim import Cvda, Sysplex
from tdqsim.definitions import define_connection, define_tdqueue
from tdqsim.facts import INQUIRE_OPTIONS
from tests.cics.spi.helpers import region

QUEUES = ("PAYQ", "TERQ", "PHYQ", "EXTO", "SYSO", "ALIA", "REMQ", "DUAL", "CQUE")
NAMES = {"CONNECTION": "connection", "UOW": "uow", "UOWLINK": "uowlink"}


@pytest.fixture(scope="module")
def queues():
    with region() as reg:
        yield reg


@pytest.mark.parametrize("option", INQUIRE_OPTIONS["TDQUEUE"])
def test_the_next_tdqueue(queues, option):
    with queues.task() as task:
        task.inquire_tdqueue_start()
        found = {}
        for _ in QUEUES:
            info = task.inquire_tdqueue_next(option)
            found[info.tdqueue] = info[option]
        task.inquire_tdqueue_end()
        assert found == {name: task.inquire_tdqueue(name, option)[option] for name in QUEUES}


@pytest.fixture(scope="module")
def linked():
    """A task whose unit of work has a record in this region and one in another."""
    with Sysplex() as plex:
        here = [
            define_connection(name="CICB", netname="CICSB"),
            define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
            define_tdqueue(name="REMQ", remotesystem="CICB"),
        ]
        far = [
            define_connection(name="CICA", netname="CICSA"),
            define_tdqueue(name="REMQ", type="INTRA", recovstatus="LOGICAL"),
        ]
        near = plex.region(here, applid="CICSA", sysid="CICA")
        plex.region(far, applid="CICSB", sysid="CICB")
        with near.task() as task:
            task.writeq_td("LOGQ", b"x")
            task.writeq_td("REMQ", b"x")
            yield near


@pytest.mark.parametrize(
    ("resource", "option"), [(resource, option) for resource in NAMES for option in INQUIRE_OPTIONS[resource]]
)
def test_the_next_one(linked, resource, option):
    name = NAMES[resource]
    with linked.task() as task:
        getattr(task, f"inquire_{name}_start")()
        info = getattr(task, f"inquire_{name}_next")(option)
        getattr(task, f"inquire_{name}_end")()
        again = getattr(task, f"inquire_{name}")(info[resource], option)
        assert info[option] == again[option]


LINK = {
    "BRANCHQUAL": bytes(64), "HOST": "", "LINK": "CICSB", "PORT": 0, "PROTOCOL": Cvda.IRC, "RESYNCSTATUS": Cvda.OK,
    "RMIQFY": "", "ROLE": Cvda.SUBORDINATE, "SYSID": "CICB", "TYPE": Cvda.CONNECTION, "URID": "", "XID": bytes(64),
}  # fmt: skip
UNIT = {"OTSTID": "", "TERMID": "", "NETNAME": "", "LINK": "", "SYSID": "", "USERID": "CICSUSER"}


@pytest.mark.parametrize("option", LINK)
def test_a_link_to_a_region_that_takes_part(linked, option):
    with linked.task() as task:
        task.inquire_uowlink_start()
        token = task.inquire_uowlink_next().uowlink
        task.inquire_uowlink_end()
        value = task.inquire_uowlink(token, option)[option]
        assert (value.rstrip() if isinstance(value, str) else value) == LINK[option]


@pytest.mark.parametrize("option", [*UNIT, "NETUOWID"])
def test_a_unit_of_work_that_is_in_flight_and_has_no_coordinator(linked, option):
    with linked.task() as task:
        task.inquire_uow_start()
        uow = task.inquire_uow_next().uow
        task.inquire_uow_end()
        value = task.inquire_uow(uow, option)[option].rstrip()
        assert value == UNIT[option] if option in UNIT else value.startswith("CICSA.")


def test_the_access_method_of_a_connection_of_a_sysplex(linked):
    assert linked.inquire_connection("CICB", "ACCESSMETHOD").accessmethod is Cvda.IRC


def test_sysid_reads_the_queue_of_the_other_region():
    with Sysplex() as plex:
        queue = define_tdqueue(name="PAYQ", type="INTRA")
        near = plex.region([define_connection(name="CICB", netname="CICSB"), queue], applid="CICSA", sysid="CICA")
        far = plex.region([define_connection(name="CICA", netname="CICSA"), queue], applid="CICSB", sysid="CICB")
        near.writeq_td("PAYQ", b"here")
        far.writeq_td("PAYQ", b"there")
        assert near.readq_td("PAYQ", sysid="CICB") == b"there"
        assert near.readq_td("PAYQ") == b"here"
