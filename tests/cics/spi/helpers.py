"""What the tests of this folder share: a small region with one queue of every kind."""

from __future__ import annotations

from functools import cache
from typing import Any

from tdqsim.cics import Condition
from tdqsim.cics.region import Region
from tdqsim.definitions import Definitions, parse_definitions
from tdqsim.facts import Resp

QUEUES = """
group: PAYGRP
tdqueue:
  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 500, atifacility: FILE, userid: PAYUSER}
  - {name: TERQ, type: INTRA, recovstatus: LOGICAL, transid: PAYP, facilityid: T001, triggerlevel: 20, wait: "NO"}
  - {name: PHYQ, type: INTRA, recovstatus: PHYSICAL, waitaction: QUEUE}
  - name: EXTO
    type: EXTRA
    typefile: OUTPUT
    ddname: OUTDD
    dsname: PAY.OUT(MEMB)
    recordformat: FIXED
    blockformat: BLOCKED
    recordsize: 80
    blocksize: 800
    databuffers: 3
    printcontrol: A
    disposition: OLD
    erroroption: SKIP
    rewind: REREAD
    opentime: DEFERRED
  - {name: SYSO, type: EXTRA, typefile: OUTPUT, sysoutclass: A, opentime: DEFERRED}
  - {name: ALIA, type: INDIRECT, indirectname: PAYQ}
  - {name: REMQ, remotesystem: CICB, remotename: FARQ}
  - {name: DUAL, type: INTRA, remotesystem: TDQ1, transid: PAYP}
  - {name: CQUE, type: INTRA}
tranclass:
  - {name: PAYCLASS, maxactive: 2, purgethresh: 10}
transaction:
  - {name: PAYP, program: PAYPROG}
  - {name: PAY2, program: PAYPROG}
"""


@cache
def definitions(text: str = QUEUES) -> Definitions:
    return parse_definitions(text)


def region(tmp_path: Any = None, text: str = QUEUES, **options: Any) -> Region:
    options.setdefault("supplied_queues", False)
    if tmp_path is not None:
        options.setdefault("datasets", tmp_path)
    return Region(definitions(text), **options)


def condition(call: Any, *args: Any, **kwargs: Any) -> tuple[Resp, int]:
    """The condition that a call raises; (NORMAL, 0) when it returns."""
    try:
        call(*args, **kwargs)
    except Condition as raised:
        return raised.resp, raised.resp2
    return Resp.NORMAL, 0
