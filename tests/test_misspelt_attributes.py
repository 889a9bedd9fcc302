"""What a test or script sets on the objects of this package exists, or Python refuses it."""

from __future__ import annotations

import pytest

from tdqsim import Region, System
from tdqsim.cics import Sysplex
from tdqsim.client import Client

MISSPELT = "notice"
PARTS = "clock csd diagnostics files jobs notices programs recovery resources screens statistics ts"


def refused(owner: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'notice'"):
        setattr(owner, MISSPELT, 5)


@pytest.mark.parametrize("name", PARTS.split())
def test_a_misspelt_attribute_of_a_part_of_a_region_is_refused(name: str) -> None:
    with Region() as region:
        refused(getattr(region, name))


def test_a_misspelt_attribute_of_a_region_a_sysplex_or_a_system_is_refused() -> None:
    with Region() as region, System() as system:
        for each in (region, system, system.values, Sysplex()):
            refused(each)


def test_a_misspelt_attribute_of_a_client_is_refused() -> None:
    with Client("http://127.0.0.1:1", "token") as client:
        for each in (client, client.region("PAYR"), client.system("PAYSYS")):
            refused(each)
