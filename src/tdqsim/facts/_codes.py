"""RESP numbers and CVDAs as enumerations, which are made from the tables ``resp.tsv`` and ``cvda.tsv``.

Editors and type checkers, which do not run the code, have their names from a stub that the build writes.
"""

from __future__ import annotations

from enum import IntEnum

from tdqsim.facts._tables import table

Resp = IntEnum("Resp", {row["name"]: int(row["value"]) for row in table("resp")}, module=__name__)
Resp.__doc__ = "The conditions of CICS commands; the number is the value of EIBRESP and of the RESP option."

Cvda = IntEnum("Cvda", {row["name"]: int(row["value"]) for row in table("cvda")}, module=__name__)
Cvda.__doc__ = "CICS-value data areas; the number is the value of DFHVALUE(name), and names that share one are aliases."
