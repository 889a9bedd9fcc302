"""What INQUIRE TDQUEUE and SET TDQUEUE take and return; ``python -m tests.generators.inquire_rows`` writes it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tdqsim.client._info import RemoteCvda, RemoteInfo

__all__ = ["CvdaValue", "RemoteTdqueueInfo", "SetTdqueueOptions", "TdqueueOption", "TdqueueState"]

TdqueueOption = Literal[
    "ATIFACILITY", "atifacility", "ATITERMID", "atitermid", "ATITRANID", "atitranid", "ATIUSERID", "atiuserid",
    "BLOCKFORMAT", "blockformat", "BLOCKSIZE", "blocksize", "CHANGEAGENT", "changeagent", "CHANGEAGREL",
    "changeagrel", "CHANGETIME", "changetime", "CHANGEUSRID", "changeusrid", "DATABUFFERS", "databuffers", "DDNAME",
    "ddname", "DEFINESOURCE", "definesource", "DEFINETIME", "definetime", "DISPOSITION", "disposition", "DSNAME",
    "dsname", "EMPTYSTATUS", "emptystatus", "ENABLESTATUS", "enablestatus", "ERROROPTION", "erroroption",
    "INDIRECTNAME", "indirectname", "INDOUBT", "indoubt", "INDOUBTWAIT", "indoubtwait", "INSTALLAGENT",
    "installagent", "INSTALLTIME", "installtime", "INSTALLUSRID", "installusrid", "IOTYPE", "iotype", "MEMBER",
    "member", "NUMITEMS", "numitems", "OPENSTATUS", "openstatus", "PRINTCONTROL", "printcontrol", "RECORDFORMAT",
    "recordformat", "RECORDLENGTH", "recordlength", "RECOVSTATUS", "recovstatus", "REMOTENAME", "remotename",
    "REMOTESYSTEM", "remotesystem", "REWIND", "rewind", "SYSOUTCLASS", "sysoutclass", "TRIGGERLEVEL",
    "triggerlevel", "TYPE", "type",
]  # fmt: skip


class RemoteTdqueueInfo(RemoteInfo):
    """What INQUIRE TDQUEUE returned: those options that were asked for; attributes are in lower case."""

    __slots__ = ()

    tdqueue: str
    atifacility: RemoteCvda
    atitermid: str
    atitranid: str
    atiuserid: str
    blockformat: RemoteCvda
    blocksize: int
    changeagent: RemoteCvda
    changeagrel: str
    changetime: int
    changeusrid: str
    databuffers: int
    ddname: str
    definesource: str
    definetime: int
    disposition: RemoteCvda
    dsname: str
    emptystatus: RemoteCvda
    enablestatus: RemoteCvda
    erroroption: RemoteCvda
    indirectname: str
    indoubt: RemoteCvda
    indoubtwait: RemoteCvda
    installagent: RemoteCvda
    installtime: int
    installusrid: str
    iotype: RemoteCvda
    member: str
    numitems: int
    openstatus: RemoteCvda
    printcontrol: RemoteCvda
    recordformat: RemoteCvda
    recordlength: int
    recovstatus: RemoteCvda
    remotename: str
    remotesystem: str
    rewind: RemoteCvda
    sysoutclass: str
    triggerlevel: int
    type: RemoteCvda


class SetTdqueueOptions(TypedDict, total=False):
    """What SET TDQUEUE changes; the names and words are those of a task's method."""

    atifacility: Literal["NOTERMINAL", "noterminal", "TERMINAL", "terminal"]
    atitermid: str
    atitranid: str
    atiuserid: str
    enablestatus: Literal["DISABLED", "disabled", "ENABLED", "enabled"]
    openstatus: Literal["CLOSED", "closed", "OPEN", "open"]
    triggerlevel: int


class CvdaValue(TypedDict):
    """A CVDA by name and number."""

    cvda: str
    value: int


class TdqueueState(TypedDict):
    """A queue: its name, and all options of INQUIRE TDQUEUE."""

    name: str
    ATIFACILITY: CvdaValue
    ATITERMID: str
    ATITRANID: str
    ATIUSERID: str
    BLOCKFORMAT: CvdaValue
    BLOCKSIZE: int
    CHANGEAGENT: CvdaValue
    CHANGEAGREL: str
    CHANGETIME: int
    CHANGEUSRID: str
    DATABUFFERS: int
    DDNAME: str
    DEFINESOURCE: str
    DEFINETIME: int
    DISPOSITION: CvdaValue
    DSNAME: str
    EMPTYSTATUS: CvdaValue
    ENABLESTATUS: CvdaValue
    ERROROPTION: CvdaValue
    INDIRECTNAME: str
    INDOUBT: CvdaValue
    INDOUBTWAIT: CvdaValue
    INSTALLAGENT: CvdaValue
    INSTALLTIME: int
    INSTALLUSRID: str
    IOTYPE: CvdaValue
    MEMBER: str
    NUMITEMS: int
    OPENSTATUS: CvdaValue
    PRINTCONTROL: CvdaValue
    RECORDFORMAT: CvdaValue
    RECORDLENGTH: int
    RECOVSTATUS: CvdaValue
    REMOTENAME: str
    REMOTESYSTEM: str
    REWIND: CvdaValue
    SYSOUTCLASS: str
    TRIGGERLEVEL: int
    TYPE: CvdaValue
