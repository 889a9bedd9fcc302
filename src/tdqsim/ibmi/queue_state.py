"""The visible state of a data queue, read in one place.

QMHQRDQD, RTVDTAQXCL, DATA_QUEUE_INFO, histories and the console render it; none of them queries the queue itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from tdqsim.ibmi.dts import NO_DTS
from tdqsim.ibmi.queue import Attributes


@dataclass(frozen=True, slots=True)
class DataQueueState:
    """The state of a data queue at one moment, as returned by :meth:`System.state_of`.

    Attributes:
        library, name, text: its library, name and description.
        attributes: the attributes set by CRTDTAQ.
        ddm: whether it is a DDM data queue, to which the following attributes do not apply.
        entries: the number of entries that receives could get.
        allocated: how many entries fit before the next extension.
        maximum: how many entries fit at most.
        autorcl: whether automatic reclaim is on.
        enforce: whether locks are enforced.
        last_reclaim: *DTS of the last automatic reclaim, eight X'00' for none.
        journal: ``LIB/NAME`` of the journal that it is journaled to; empty for none.
    """

    library: str
    name: str
    text: str
    attributes: Attributes
    ddm: bool
    entries: int = 0
    allocated: int = 0
    maximum: int = 0
    autorcl: bool = False
    enforce: bool = False
    last_reclaim: bytes = NO_DTS
    journal: str = ""

    def keywords(self) -> dict[str, object]:
        """Its definition by keywords of CRTDTAQ, with ``jrn`` when it is journaled, for a history."""
        attributes = self.attributes
        if self.ddm:
            return {"type": "*DDM", "rmtdtaq": f"{attributes.rmtdtaqlib}/{attributes.rmtdtaq}"}
        return {
            "type": "*STD", "maxlen": attributes.maxlen, "seq": attributes.seq, "keylen": attributes.keylen,
            "senderid": "*YES" if attributes.senderid else "*NO", "force": "*YES" if attributes.force else "*NO",
            **({"jrn": self.journal} if self.journal else {}),
        }  # fmt: skip
