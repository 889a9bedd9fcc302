"""The options of INQUIRE, word by word; :mod:`tdqsim.cics.spi.row_types` writes it."""

from __future__ import annotations

from typing import Literal

__all__ = ["TdqueueOption"]

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
