"""TDQUEUE definitions: one class for each type, because each type has attributes of its own.

A definition with a TYPE and remote attributes is dual-purpose: in the region that REMOTESYSTEM names it is a local
queue of that TYPE, elsewhere it is remote. One without TYPE is remote only. Ranges, values and defaults are those of
``facts/tdqueue_attributes.tsv``.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import model_validator

from tdqsim.definitions._fields import Keyword, Name, Number
from tdqsim.definitions._resource import Conflict, Resource, YesNo
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES

__all__ = ["TDQUEUE_CLASSES", "ExtraQueue", "IndirectQueue", "IntraQueue", "RemoteQueue", "Tdqueue"]

_Sysoutclass = Literal[
    "", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V",
    "W", "X", "Y", "Z", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*",
]  # fmt: skip

_ChangeAgent = Annotated[Literal["", "CREATESPI", "CSDAPI", "CSDBATCH", "DREPAPI", "SYSTEM"], Keyword()]
"""What INQUIRE TDQUEUE may say: a queue is never autoinstalled, and comes from no table."""


def _number(attribute: str) -> Number:
    row = TDQUEUE_ATTRIBUTES[attribute]
    return Number(row.minimum or 0, row.maximum or 0)


def _name(attribute: str, kind: str = "object", *, blank: bool = True) -> Name:
    return Name(TDQUEUE_ATTRIBUTES[attribute].maximum or 0, kind, blank)


def _default(attribute: str) -> int:
    return int(TDQUEUE_ATTRIBUTES[attribute].default)


class Tdqueue(Resource):
    """What the definitions of all queue types share.

    ``tdqsim.facts.TDQUEUE_ATTRIBUTES["TRIGGERLEVEL"]`` tells the range, the values and the default of an attribute.

    Attributes:
        type: ``INTRA``, ``EXTRA``, ``INDIRECT``, or empty for a remote-only definition.
        remotesystem: the SYSID of the region that has the queue; empty for a queue of this region.
        remotename: its name there; see :attr:`remote_queue`.
        remotelength: the longest record for function shipping.
    """

    kind: ClassVar[str] = "TDQUEUE"

    name: Annotated[str, _name("TDQUEUE", "queue", blank=False)]
    remotesystem: Annotated[str, _name("REMOTESYSTEM")] = ""
    remotename: Annotated[str, _name("REMOTENAME", "queue")] = ""
    remotelength: Annotated[int, _number("REMOTELENGTH")] = _default("REMOTELENGTH")
    changeagent: _ChangeAgent = ""

    @property
    def type(self) -> str:
        """The TYPE attribute; empty for a remote-only definition."""
        return ""

    def attributes(self) -> dict[str, Any]:
        """As for every resource, with TYPE after the name."""
        values = super().attributes()
        return {"name": values.pop("name"), **({"type": self.type} if self.type else {}), **values}

    @property
    def remote_queue(self) -> str:
        """The queue's name in the remote region: REMOTENAME, or else its own name."""
        return self.remotename or self.name

    def type_in(self, sysid: str) -> str:
        """INTRA, EXTRA, INDIRECT or REMOTE: what the definition becomes in the region with this SYSID.

        A dual-purpose definition is local in the region that it names. A remote-only definition stays REMOTE there, as
        it has no type to be.
        """
        if self.remotesystem and (self.remotesystem != sysid or not self.type):
            return "REMOTE"
        return self.type

    def conflicts(self) -> list[Conflict]:
        """Remote attributes need REMOTESYSTEM."""
        if self.remotesystem:
            return []
        return [
            (attribute, "needs remotesystem, the SYSID of the region that has the queue")
            for attribute in ("remotename", "remotelength")
            if self.given(attribute) and getattr(self, attribute) != ""
        ]


class IntraQueue(Tdqueue):
    """TYPE(INTRA): an intrapartition queue, kept by CICS and able to start transactions.

    ``help(tdqsim.definitions.Tdqueue)`` tells what all queues have, and where the ranges and defaults are.

    Attributes:
        atifacility: what a triggered task has as principal facility: TERMINAL, FILE (none) or SYSTEM (a session).
        facilityid: the terminal or connection; see :attr:`facility`.
        recovstatus: NO, PHYSICAL or LOGICAL.
        transid: the transaction that a full enough queue starts; empty for none.
        triggerlevel: how many records are enough; 0 for never.
        userid: the user id of tasks started with ATIFACILITY(FILE).
        wait: whether an indoubt unit of work waits for its coordinator.
        waitaction: what others get while it waits: REJECT or QUEUE.
    """

    atifacility: Annotated[Literal["FILE", "SYSTEM", "TERMINAL"], Keyword()] = "TERMINAL"
    recovstatus: Annotated[Literal["LOGICAL", "NO", "PHYSICAL"], Keyword()] = "NO"
    facilityid: Annotated[str, _name("FACILITYID", "terminal")] = ""
    transid: Annotated[str, _name("TRANSID", "transaction")] = ""
    triggerlevel: Annotated[int, _number("TRIGGERLEVEL")] = _default("TRIGGERLEVEL")
    userid: Annotated[str, _name("USERID", "userid")] = ""
    wait: YesNo = "YES"
    waitaction: Annotated[Literal["QUEUE", "REJECT"], Keyword()] = "REJECT"

    @property
    def type(self) -> str:
        """INTRA."""
        return "INTRA"

    @property
    def facility(self) -> str:
        """The terminal or connection of triggered tasks: FACILITYID, else the queue's name; empty with FILE."""
        return "" if self.atifacility == "FILE" else self.facilityid or self.name

    @property
    def level(self) -> int:
        """The trigger level in effect: 0 when neither TRANSID nor TRIGGERLEVEL is given."""
        return self.triggerlevel if self.transid or "triggerlevel" in self.model_fields_set else 0

    def conflicts(self) -> list[Conflict]:
        """FACILITYID and USERID go with the right ATIFACILITY, WAITACTION with WAIT(YES)."""
        found = super().conflicts()
        if self.facilityid and self.atifacility == "FILE":
            found.append(("facilityid", "must be left out with atifacility FILE, which has no facility"))
        if self.userid and self.atifacility != "FILE":
            found.append(("userid", "is allowed with atifacility FILE only"))
        if self.wait == "NO" and self.given("waitaction"):
            found.append(("waitaction", "is allowed with wait YES only"))
        return found


class ExtraQueue(Tdqueue):
    """TYPE(EXTRA): an extrapartition queue, which is a sequential data set.

    ``help(tdqsim.definitions.Tdqueue)`` tells what all queues have, and where the ranges and defaults are.

    Sizes count the descriptor words: a variable RECORDSIZE includes the 4 bytes of the RDW, a variable BLOCKSIZE the 4
    bytes of the BDW too. 0 is to be taken from the data set.

    Attributes:
        dsname: the data set, ``DUMMY``, or empty; a member or generation may follow in parentheses.
        recordformat: FIXED, VARIABLE, or empty for that of the data set.
        blockformat: BLOCKED, UNBLOCKED, or empty.
        printcontrol: A, M, or empty for none.
        ddname: the DD name; see :attr:`dd`.
        typefile: INPUT, OUTPUT, or RDBACK to read from the last record to the first.
        recordsize: bytes of a record, or of the longest.
        blocksize: bytes of a block, or of the longest.
        databuffers: how many buffers.
        disposition: OLD, SHR, or MOD to write behind the last record.
        opentime: INITIAL is opened when the region starts, DEFERRED by SET TDQUEUE.
        erroroption: what is done at a damaged block: IGNORE or SKIP.
        rewind: of a tape: LEAVE or REREAD.
        sysoutclass: the SYSOUT class of output to the spool.
        jobuserid: the user of jobs given to the internal reader whose JOB statement has no USER.
    """

    databuffers: Annotated[int, _number("DATABUFFERS")] = _default("DATABUFFERS")
    ddname: Annotated[str, _name("DDNAME", "ddname")] = ""
    dsname: Annotated[str, Name(56, "dsname", blank=True)] = ""
    sysoutclass: Annotated[_Sysoutclass, Keyword()] = ""
    erroroption: Annotated[Literal["IGNORE", "SKIP"], Keyword()] = "IGNORE"
    opentime: Annotated[Literal["DEFERRED", "INITIAL"], Keyword()] = "INITIAL"
    rewind: Annotated[Literal["LEAVE", "REREAD"], Keyword()] = "LEAVE"
    typefile: Annotated[Literal["INPUT", "OUTPUT", "RDBACK"], Keyword()] = "INPUT"
    recordsize: Annotated[int, _number("RECORDSIZE")] = _default("RECORDSIZE")
    blocksize: Annotated[int, _number("BLOCKSIZE")] = _default("BLOCKSIZE")
    recordformat: Annotated[Literal["", "FIXED", "VARIABLE"], Keyword()] = ""
    blockformat: Annotated[Literal["", "BLOCKED", "UNBLOCKED"], Keyword()] = ""
    printcontrol: Annotated[Literal["", "A", "M"], Keyword()] = ""
    disposition: Annotated[Literal["MOD", "OLD", "SHR"], Keyword()] = "SHR"
    jobuserid: Annotated[str, _name("JOBUSERID", "userid")] = ""

    @property
    def type(self) -> str:
        """EXTRA."""
        return "EXTRA"

    @property
    def dd(self) -> str:
        """The DD name: DDNAME, or else the queue's name."""
        return self.ddname or self.name

    @model_validator(mode="after")
    def _spool_output(self) -> Self:
        """SYSOUTCLASS implies TYPEFILE(OUTPUT)."""
        if self.sysoutclass and not self.given("typefile"):
            self.__dict__["typefile"] = "OUTPUT"
        return self

    def conflicts(self) -> list[Conflict]:
        """What IBM's page forbids between attributes, and sizes that no data set can have."""
        found = super().conflicts()
        if self.dsname and self.sysoutclass:
            found.append(("sysoutclass", "cannot be given together with dsname"))
        if self.sysoutclass and self.given("typefile") and self.typefile != "OUTPUT":
            found.append(("typefile", "must be OUTPUT with sysoutclass"))
        found += [
            (attribute, "is not allowed when recordformat is not given")
            for attribute in ("blockformat", "printcontrol")
            if getattr(self, attribute) and not self.recordformat
        ]
        return found + self._size_conflicts()

    def _size_conflicts(self) -> list[Conflict]:
        found: list[Conflict] = []
        longest = TDQUEUE_ATTRIBUTES["DSNAME"].maximum or 0
        if len(self.dsname.partition("(")[0]) > longest:
            found.append(("dsname", f"must be at most {longest} characters, a member in parentheses not counted"))
        if not self.blocksize or not self.recordsize or not self.given("recordsize"):
            return found
        if self.recordformat == "FIXED" and self.blocksize % self.recordsize:
            found.append(("blocksize", f"must be a multiple of recordsize {self.recordsize} with recordformat FIXED"))
        least = self.recordsize + LIMITS["bdw_length"]
        if self.recordformat == "VARIABLE" and self.blocksize < least:
            found.append(
                ("blocksize", f"must be 0 or at least recordsize + 4, here {least}, with recordformat VARIABLE")
            )
        return found


class IndirectQueue(Tdqueue):
    """TYPE(INDIRECT): another name for a queue, which may be indirect itself.

    Attributes:
        indirectname: the queue it stands for; it need not be defined.
    """

    indirectname: Annotated[str, _name("INDIRECTNAME", "queue", blank=False)]

    @property
    def type(self) -> str:
        """INDIRECT."""
        return "INDIRECT"

    def conflicts(self) -> list[Conflict]:
        """A queue cannot stand for itself."""
        found = super().conflicts()
        if self.indirectname == self.name:
            found.append(("indirectname", "must name another queue, not the queue itself"))
        return found


class RemoteQueue(Tdqueue):
    """No TYPE: a queue of another region, which REMOTESYSTEM must name."""

    def conflicts(self) -> list[Conflict]:
        """Without a TYPE there must be a REMOTESYSTEM."""
        if not self.remotesystem:
            return [("type", "is required (INTRA, EXTRA or INDIRECT) unless remotesystem says where the queue is")]
        return []


TDQUEUE_CLASSES: dict[str, type[Tdqueue]] = {
    "INTRA": IntraQueue,
    "EXTRA": ExtraQueue,
    "INDIRECT": IndirectQueue,
    "": RemoteQueue,
}
"""The class of a definition by its TYPE attribute."""
