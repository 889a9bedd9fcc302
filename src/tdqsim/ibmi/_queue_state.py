"""The visible state of a data queue, read in one place.

QMHQRDQD, RTVDTAQXCL, DATA_QUEUE_INFO, histories and the console render it; none of them queries the queue itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from tdqsim.ibmi._dts import NO_DTS
from tdqsim.ibmi._queue import Attributes

__all__ = ["DataQueueState"]


@dataclass(frozen=True, slots=True)
class DataQueueState:
    """A data queue at one moment, as :meth:`System.state_of` reads it.

    Attributes:
        library, name, text: its library, name and description.
        attributes: the attributes that CRTDTAQ set.
        ddm: it stands for a data queue of another system; what follows does not apply to it.
        entries: how many a receive could get.
        allocated: how many fit before the next extension.
        maximum: how many fit at all.
        autorcl: automatic reclaim.
        enforce: its locks are enforced.
        last_reclaim: *DTS of the last automatic reclaim, eight X'00' for none.
        journal: ``LIB/NAME`` of the journal it is journaled to, empty for none.
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
        """Its definition under the keywords of CRTDTAQ, and ``jrn`` when it is journaled, for a history."""
        attributes = self.attributes
        if self.ddm:
            return {"type": "*DDM", "rmtdtaq": f"{attributes.rmtdtaqlib}/{attributes.rmtdtaq}"}
        return {
            "type": "*STD", "maxlen": attributes.maxlen, "seq": attributes.seq, "keylen": attributes.keylen,
            "senderid": "*YES" if attributes.senderid else "*NO", "force": "*YES" if attributes.force else "*NO",
            **({"jrn": self.journal} if self.journal else {}),
        }  # fmt: skip
