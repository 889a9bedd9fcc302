"""TDQUEUE definitions, with a class for each type, because each type has its own attributes.

A definition with a TYPE and remote attributes is dual-purpose: in the region that REMOTESYSTEM names it is a local
queue of that TYPE, in other regions it is remote. A definition without TYPE is remote only. Ranges, values and defaults
are in ``facts/tdqueue_attributes.tsv``.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import model_validator

from tdqsim.definitions._fields import Keyword, Name, Number
from tdqsim.definitions._resource import Conflict, Resource, YesNo
from tdqsim.facts import LIMITS, TDQUEUE_ATTRIBUTES

_Sysoutclass = Literal[
    "", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V",
    "W", "X", "Y", "Z", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*",
]  # fmt: skip

_ChangeAgent = Annotated[Literal["", "CREATESPI", "CSDAPI", "CSDBATCH", "DREPAPI", "SYSTEM", "OVERRIDE"], Keyword()]
"""The change agents of a TDQUEUE, which is never autoinstalled and never comes from a table."""


def _number(attribute: str) -> Number:
    row = TDQUEUE_ATTRIBUTES[attribute]
    return Number(row.minimum or 0, row.maximum or 0)


def _name(attribute: str, kind: str = "object", *, blank: bool = True) -> Name:
    return Name(TDQUEUE_ATTRIBUTES[attribute].maximum or 0, kind, blank)


def _default(attribute: str) -> int:
    return int(TDQUEUE_ATTRIBUTES[attribute].default)


class Tdqueue(Resource):
    """The common attributes of all queue types.

    ``tdqsim.facts.TDQUEUE_ATTRIBUTES["TRIGGERLEVEL"]`` shows the range, the values and the default of an attribute.

    Attributes:
        type: ``INTRA``, ``EXTRA``, ``INDIRECT``, or empty for a remote-only definition.
        remotesystem: the SYSID of the region that has the queue; empty for a queue of this region.
        remotename: its name in that region; see :attr:`remote_queue`.
        remotelength: the maximum length of a record for function shipping.
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
        """The same as for every resource, with TYPE after the name."""
        values = super().attributes()
        return {"name": values.pop("name"), **({"type": self.type} if self.type else {}), **values}

    @property
    def remote_queue(self) -> str:
        """The queue's name in the remote region: REMOTENAME, or by default its own name."""
        return self.remotename or self.name

    def type_in(self, sysid: str) -> str:
        """The type of the queue in the region with this SYSID: INTRA, EXTRA, INDIRECT or REMOTE.

        A dual-purpose definition is local in the region that it names. A remote-only definition is REMOTE even there,
        because it has no other type.
        """
        if self.remotesystem and (self.remotesystem != sysid or not self.type):
            return "REMOTE"
        return self.type

    def conflicts(self) -> list[Conflict]:
        """Remote attributes require REMOTESYSTEM."""
        if self.remotesystem:
            return []
        return [
            (attribute, "needs remotesystem, the SYSID of the region that has the queue")
            for attribute in ("remotename", "remotelength")
            if self.given(attribute) and getattr(self, attribute) != ""
        ]


class IntraQueue(Tdqueue):
    """TYPE(INTRA): an intrapartition queue, which CICS stores and which can start transactions.

    ``help(tdqsim.definitions.Tdqueue)`` describes the common attributes of all queues, their ranges and defaults.

    Attributes:
        atifacility: the principal facility of a triggered task: TERMINAL, FILE (none) or SYSTEM (a session).
        facilityid: the terminal or connection; see :attr:`facility`.
        recovstatus: NO, PHYSICAL or LOGICAL.
        transid: the transaction that is started when the trigger level is reached; empty for none.
        triggerlevel: the number of records that starts the transaction; 0 for never.
        userid: the user id of tasks started with ATIFACILITY(FILE).
        wait: whether an indoubt unit of work waits for its coordinator.
        waitaction: what happens to requests of other tasks while it waits: REJECT or QUEUE.
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
        """The terminal or connection of triggered tasks: FACILITYID, by default the queue's name; empty with FILE."""
        return "" if self.atifacility == "FILE" else self.facilityid or self.name

    @property
    def level(self) -> int:
        """The trigger level in effect: 0 when neither TRANSID nor TRIGGERLEVEL is specified."""
        return self.triggerlevel if self.transid or "triggerlevel" in self.model_fields_set else 0

    def conflicts(self) -> list[Conflict]:
        """FACILITYID and USERID must suit ATIFACILITY, and WAITACTION requires WAIT(YES)."""
        conflicts = super().conflicts()
        if self.facilityid and self.atifacility == "FILE":
            conflicts.append(("facilityid", "must be left out with atifacility FILE, which has no facility"))
        if self.userid and self.atifacility != "FILE":
            conflicts.append(("userid", "is allowed with atifacility FILE only"))
        if self.wait == "NO" and self.given("waitaction"):
            conflicts.append(("waitaction", "is allowed with wait YES only"))
        return conflicts


class ExtraQueue(Tdqueue):
    """TYPE(EXTRA): an extrapartition queue, which is a sequential data set.

    ``help(tdqsim.definitions.Tdqueue)`` describes the common attributes of all queues, their ranges and defaults.

    Sizes include the descriptor words: a variable RECORDSIZE the 4 bytes of the RDW, a variable BLOCKSIZE also the 4
    bytes of the BDW. A size of 0 is taken from the data set.

    Attributes:
        dsname: the data set, ``DUMMY``, or empty; a member or generation may follow in parentheses.
        recordformat: FIXED, VARIABLE, or empty for that of the data set.
        blockformat: BLOCKED, UNBLOCKED, or empty.
        printcontrol: A, M, or empty for none.
        ddname: the DD name; see :attr:`dd`.
        typefile: INPUT, OUTPUT, or RDBACK to read from the last record to the first.
        recordsize: the length of a record in bytes, or the maximum length.
        blocksize: the size of a block in bytes, or the maximum size.
        databuffers: the number of buffers.
        disposition: OLD, SHR, or MOD to write after the last record.
        opentime: INITIAL (opened when the region starts) or DEFERRED (opened by SET TDQUEUE).
        erroroption: the action for a damaged block: IGNORE or SKIP.
        rewind: the action for a tape: LEAVE or REREAD.
        sysoutclass: the SYSOUT class of output to the spool.
        jobuserid: the user of jobs written to the internal reader whose JOB statement has no USER.
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
        """The DD name: DDNAME, or by default the queue's name."""
        return self.ddname or self.name

    @model_validator(mode="after")
    def _spool_output(self) -> Self:
        """SYSOUTCLASS implies TYPEFILE(OUTPUT)."""
        if self.sysoutclass and not self.given("typefile"):
            self.__dict__["typefile"] = "OUTPUT"
        return self

    def conflicts(self) -> list[Conflict]:
        """Combinations that IBM's page forbids, and sizes that no data set can have."""
        conflicts = super().conflicts()
        if self.dsname and self.sysoutclass:
            conflicts.append(("sysoutclass", "cannot be given together with dsname"))
        if self.sysoutclass and self.given("typefile") and self.typefile != "OUTPUT":
            conflicts.append(("typefile", "must be OUTPUT with sysoutclass"))
        conflicts += [
            (attribute, "is not allowed when recordformat is not given")
            for attribute in ("blockformat", "printcontrol")
            if getattr(self, attribute) and not self.recordformat
        ]
        return conflicts + self._size_conflicts()

    def _size_conflicts(self) -> list[Conflict]:
        conflicts: list[Conflict] = []
        if not self.blocksize or not self.recordsize or not self.given("recordsize"):
            return conflicts
        if self.recordformat == "FIXED" and self.blocksize % self.recordsize:
            message = f"must be a multiple of recordsize {self.recordsize} with recordformat FIXED"
            conflicts.append(("blocksize", message))
        least = self.recordsize + LIMITS["bdw_length"]
        if self.recordformat == "VARIABLE" and self.blocksize < least:
            message = f"must be 0 or at least recordsize + 4, here {least}, with recordformat VARIABLE"
            conflicts.append(("blocksize", message))
        return conflicts


class IndirectQueue(Tdqueue):
    """TYPE(INDIRECT): an alias for another queue, which may be indirect itself.

    Attributes:
        indirectname: the queue that it refers to; it need not be defined.
    """

    indirectname: Annotated[str, _name("INDIRECTNAME", "queue", blank=False)]

    @property
    def type(self) -> str:
        """INDIRECT."""
        return "INDIRECT"

    def conflicts(self) -> list[Conflict]:
        """A queue cannot refer to itself."""
        conflicts = super().conflicts()
        if self.indirectname == self.name:
            conflicts.append(("indirectname", "must name another queue, not the queue itself"))
        return conflicts


class RemoteQueue(Tdqueue):
    """A definition without TYPE: a queue of another region, which REMOTESYSTEM must name."""

    def conflicts(self) -> list[Conflict]:
        """A definition without TYPE requires REMOTESYSTEM."""
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
