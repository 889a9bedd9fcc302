"""What INQUIRE TDQUEUE and SET TDQUEUE take and return; :mod:`tdqsim.cics.spi.row_types` writes it."""

from __future__ import annotations

from typing import Literal, TypedDict

from tdqsim.client._info import RemoteCvda, RemoteInfo

__all__ = ["RemoteTdqueueInfo", "SetTdqueueOptions", "TdqueueOption"]

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
