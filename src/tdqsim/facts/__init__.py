"""Vendor facts: numbers, names, lengths, defaults and rules, each with its source.

The tables beside this module (``*.tsv``) hold one fact a row, with its source and a degree of confidence, one of
:data:`CONFIDENCE`. This package loads them once into enumerations and records. :func:`table` reads any other table.
Public are ``Resp``, ``Cvda`` and the rules; the other names serve the packages of tdqsim.

===========================  =====================================================================================
``Resp``, ``Cvda``           conditions and CICS-value data areas, with their numbers
``AIDS``                     the character that EIBAID shows, by the name of the key
``ABEND_CODES``              the abend code of each unhandled condition; a condition without one is ignored by default
``ATTRIBUTE_CVDA``           what INQUIRE shows for an attribute's keyword: its option, and the CVDA
``CVDAS``                    the number of each CVDA of the vendor's whole table, by name
``EIBFN``, ``EIBRCODE``      the values of these EIB fields for a command, and for a condition of transient data
``INQUIRE_OPTIONS``          the options of INQUIRE by resource type and name
``FORMATS``                  the version of each format of files, by name
``LIMITS``                   limits and lengths that no attribute table holds
``REGION_DEFAULTS``          the default properties of a region
``RELEASES``                 the CICS TS release of each CHANGEAGREL number
``SET_TDQUEUE_OPTIONS``      the options of SET TDQUEUE by name: kind, queue types, values or range
``CONFIDENCE``               the degrees of confidence with their meaning, the best first
``SUPPLIED_QUEUES``          the queues of group DFHDCTG by name
``TdqueueInfo``              the result of INQUIRE TDQUEUE, here or in a server; ``TdqueueOption``: its options
``TDQUEUE_ATTRIBUTES``       the attributes of a TDQUEUE definition: types, range, values, default
``notice_words()``           the texts of a notice
``rules()``                  all rules of behaviour by id
``rules_of()``               the rules that a condition or message may rest on; ``unconfirmed()``: their confidence,
                         ``doubt()``: a remark on it
===========================  =====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.facts._codes import Cvda, Resp
from tdqsim.facts._notices import notice_words as notice_words
from tdqsim.facts._records import ABEND_CODES as ABEND_CODES
from tdqsim.facts._records import AIDS as AIDS
from tdqsim.facts._records import ATTRIBUTE_CVDA as ATTRIBUTE_CVDA
from tdqsim.facts._records import EIBFN as EIBFN
from tdqsim.facts._records import EIBRCODE as EIBRCODE
from tdqsim.facts._records import FORMATS as FORMATS
from tdqsim.facts._records import INQUIRE_OPTIONS as INQUIRE_OPTIONS
from tdqsim.facts._records import LIMITS as LIMITS
from tdqsim.facts._records import REGION_DEFAULTS as REGION_DEFAULTS
from tdqsim.facts._records import RELEASES as RELEASES
from tdqsim.facts._records import SET_TDQUEUE_OPTIONS as SET_TDQUEUE_OPTIONS
from tdqsim.facts._records import SUPPLIED_QUEUES as SUPPLIED_QUEUES
from tdqsim.facts._records import TDQUEUE_ATTRIBUTES as TDQUEUE_ATTRIBUTES
from tdqsim.facts._records import InquireOption as InquireOption
from tdqsim.facts._records import SetOption as SetOption
from tdqsim.facts._records import SuppliedQueue as SuppliedQueue
from tdqsim.facts._tables import table as table
from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.facts._cvdas import CVDAS as CVDAS
    from tdqsim.facts._rules import CONFIDENCE as CONFIDENCE
    from tdqsim.facts._rules import (
        Rule,
        rules,
        unconfirmed,
    )
    from tdqsim.facts._rules import doubt as doubt
    from tdqsim.facts._rules import rules_of as rules_of
    from tdqsim.facts.inquiries import TdqueueInfo as TdqueueInfo
    from tdqsim.facts.inquiries import TdqueueOption as TdqueueOption

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "Cvda",
    "Resp",
    "Rule",
    "rules",
    "unconfirmed",
]

# What few need is imported on first use: tests and tools the rules, text of commands and COBOL the vendor's CVDAs.
_OF_RULES = ("CONFIDENCE", "Rule", "doubt", "rules", "rules_of", "unconfirmed")
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.facts._cvdas": ("CVDAS",),
        "tdqsim.facts._rules": _OF_RULES,
        "tdqsim.facts.inquiries": ("TdqueueInfo", "TdqueueOption"),
    },
)
