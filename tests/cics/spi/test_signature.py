from __future__ import annotations

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.errors import UsageError


def test_an_agent_that_cics_does_not_have_is_refused():
    said = "installagent is 'CEDA'; allowed are GRPLIST, CSDAPI, CREATESPI, SYSTEM"
    with Region() as region, pytest.raises(UsageError, match=said):
        region.install([define_tdqueue(name="PAYQ", type="INTRA")], installagent="CEDA")
