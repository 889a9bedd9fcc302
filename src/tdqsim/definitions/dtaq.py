"""Definitions of IBM i data queues: the keywords of CRTDTAQ, with its checks between keywords.

A special value may be written without its asterisk if it cannot be confused with a name (``seq: KEYED``), because a
plain YAML value cannot begin with an asterisk. The messages of checks between keywords begin with the id of the
diagnostic that CRTDTAQ sends (CPDnnnn).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, get_args

from pydantic_core import PydanticCustomError

from tdqsim.core.capitals import capitals
from tdqsim.definitions._fields import JsonSchema, Keyword, Name, Number, Text, refuse, spoken
from tdqsim.definitions._resource import Conflict, Resource
from tdqsim.facts import LIMITS, table

_OBJECT = LIMITS["object_name_length"]
_MOST_ENTRIES = 2**31 - 1
_SIZE_SPECIALS = {"*MAX16MB": -1, "*MAX2GB": -2, "MAX16MB": -1, "MAX2GB": -2}
_DDM_ONLY = ("rmtdtaq", "rmtlocname", "dev", "lcllocname", "mode", "rmtnetid", "rdb")
_STD_ONLY = ("maxlen", "seq", "keylen", "force", "senderid", "size", "autorcl")
_DEVICE_ONLY = ("dev", "lcllocname", "mode", "rmtnetid")
_RESERVED_MODES = ("SNASVCMG", "CPSVCMG")


class _StarKeyword(Keyword):
    """A special value such as ``*FIFO``, also accepted as ``FIFO``."""

    def bound(self, source: object) -> Callable[[object], object]:
        words: tuple[str, ...] = get_args(source)
        allowed = {word.lstrip("*"): word for word in words}

        def check(value: object) -> object:
            word = allowed.get(value.upper().removeprefix("*")) if isinstance(value, str) else None
            if word is None:
                raise refuse(f"must be {spoken(words)}")
            return word

        return check

    @staticmethod
    def synonyms(words: Sequence[str]) -> list[str]:
        bare = [word.removeprefix("*") for word in words]
        return [*bare, *(word.lower() for word in bare)]


_ANY_CASE = next(row["pattern"] for row in table("name_characters") if row["kind"] == "ibmi").replace("A-Z", "A-Za-z")


class _SystemName(Name):
    """A name, which is converted to upper case, as everywhere on the system."""

    def check(self, value: object) -> str:
        return Name.check(self, capitals(value) if isinstance(value, str) else value)

    def pattern(self) -> str:
        special = [re.escape(word) for each in self.also for word in (each, each.lower())]
        return "|".join([_ANY_CASE, *special, *([""] if self.blank else [])])


class _QualifiedName(Name):
    """``NAME`` or ``LIBRARY/NAME``; ``also`` contains the special values for the library."""

    def __init__(self, maximum: int, kind: str, *, blank: bool = False, also: tuple[str, ...] = ()) -> None:
        super().__init__(maximum, kind, blank, also)
        self.part = Name(maximum, kind)

    def check(self, value: object) -> str:
        if self.blank and value == "":
            return ""
        library, slash, name = capitals(value).rpartition("/") if isinstance(value, str) else ("", "", "")
        try:
            self.part.check(name)
            if slash and library not in self.also:
                self.part.check(library)
        except PydanticCustomError:
            raise refuse(
                f"must be NAME or LIBRARY/NAME, each 1 to {self.maximum} characters "
                f"(CPD0078: a name that is not valid); the library may be {spoken(self.also)}"
            ) from None
        return f"{library}{slash}{name}"

    def pattern(self) -> str:
        one = f"{_ANY_CASE.removesuffix('*')}{{0,{self.maximum - 1}}}"
        library = "|".join([one, *(re.escape(word) for each in self.also for word in (each, each.lower()))])
        return f"(?:(?:{library})/)?{one}{'|' * self.blank}"

    def schema(self) -> JsonSchema:
        plain = Name.schema(self)
        return plain | {"maxLength": plain["maxLength"] + len("/") + self.maximum}


class _Size(Keyword):
    """``*MAX16MB``, ``*MAX2GB`` or a number of entries, optionally followed by the initial number."""

    def bound(self, _source: object) -> Callable[[object], object]:
        return _check_size

    def __get_pydantic_json_schema__(self, _schema: object, _handler: object) -> JsonSchema:
        one = {"type": ["integer", "string"]}
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 2}]}


def _check_size(value: object) -> tuple[int, int]:
    parts = list(value) if isinstance(value, list | tuple) else [value]
    message = f"must be *MAX16MB, *MAX2GB or a number of entries from 1 to {_MOST_ENTRIES}, then the initial number"
    if not 1 <= len(parts) <= 2:
        raise refuse(message)
    entries = Number(1, _MOST_ENTRIES)
    try:
        first = parts[0]
        special = _SIZE_SPECIALS.get(first.upper()) if isinstance(first, str) else None
        if special is None and isinstance(first, int) and first in _SIZE_SPECIALS.values():
            special = first
        maximum = entries.check(first) if special is None else special
        initial = entries.check(parts[1]) if len(parts) == 2 else LIMITS["dtaq_initial_entries"]
    except PydanticCustomError:
        raise refuse(message) from None
    return maximum, initial


class _Description(Text):
    """TEXT, for which ``*BLANK`` means none."""

    def check(self, value: object) -> str:
        return "" if value == "*BLANK" else super().check(value)


_YesNoStar = Annotated[Literal["*NO", "*YES"], _StarKeyword()]


class Dtaq(Resource):
    """One data queue, with the keywords of CRTDTAQ in lower case.

    Attributes:
        dtaq: ``LIBRARY/NAME``, or ``NAME`` for a queue in the current library.
        type: ``*STD``, or ``*DDM`` for a queue that refers to one on another system.
        maxlen: the maximum length of an entry in bytes, 1 to 64512; 0 if omitted, as with ``*DDM``.
        force: whether each entry is written to disk before the send ends.
        seq: ``*FIFO``, ``*LIFO`` or ``*KEYED``.
        keylen: the length of the key in bytes, 1 to 256; 0 for a queue without keys.
        senderid: whether each entry contains the sender ID.
        autorcl: whether storage is reclaimed when the queue becomes empty.
        rmtdtaq: for ``*DDM``, the queue on the other system, ``LIBRARY/NAME``.
        rmtlocname: for ``*DDM``, the location name of the other system, or ``*RDB``.
        rdb: the relational database entry, with ``*RDB``.
        dev: the APPC device.
        lcllocname: the local location name.
        mode: the mode of the session.
        rmtnetid: the remote network identifier.
        size: the maximum number of entries (-1 for ``*MAX16MB``, -2 for ``*MAX2GB``) and the initial number.
        text: the description, at most 50 characters; ``*BLANK`` for none.
        aut: public authority.
    """

    kind: ClassVar[str] = "DTAQ"

    dtaq: Annotated[str, _QualifiedName(_OBJECT, "ibmi", also=("*CURLIB",))]
    type: Annotated[Literal["*STD", "*DDM"], _StarKeyword()] = "*STD"
    maxlen: Annotated[int, Number(1, LIMITS["dtaq_maxlen_maximum"])] = 0
    force: _YesNoStar = "*NO"
    seq: Annotated[Literal["*FIFO", "*LIFO", "*KEYED"], _StarKeyword()] = "*FIFO"
    keylen: Annotated[int, Number(1, LIMITS["dtaq_keylen_maximum"])] = 0
    senderid: _YesNoStar = "*NO"
    size: Annotated[tuple[int, int], _Size()] = (-1, LIMITS["dtaq_initial_entries"])
    autorcl: _YesNoStar = "*NO"
    rmtdtaq: Annotated[str, _QualifiedName(_OBJECT, "ibmi", blank=True, also=("*LIBL", "*CURLIB"))] = ""
    rmtlocname: Annotated[str, _SystemName(8, "ibmi", blank=True, also=("*RDB",))] = ""
    rdb: Annotated[str, _SystemName(18, "ibmi", blank=True)] = ""
    dev: Annotated[str, _SystemName(_OBJECT, "ibmi", also=("*LOC",))] = "*LOC"
    lcllocname: Annotated[str, _SystemName(8, "ibmi", also=("*LOC", "*NETATR"))] = "*LOC"
    mode: Annotated[str, _SystemName(8, "ibmi", also=("*NETATR",))] = "*NETATR"
    rmtnetid: Annotated[str, _SystemName(8, "ibmi", also=("*LOC", "*NETATR", "*NONE"))] = "*LOC"
    text: Annotated[str, _Description(LIMITS["dtaq_text_length"])] = ""
    aut: Annotated[str, _SystemName(_OBJECT, "ibmi", also=("*LIBCRTAUT", "*CHANGE", "*ALL", "*USE", "*EXCLUDE"))] = (
        "*LIBCRTAUT"
    )

    @property
    def library(self) -> str:
        """The library; ``*CURLIB`` when none is specified."""
        return self.dtaq.rpartition("/")[0] or "*CURLIB"

    @property
    def name(self) -> str:
        """The queue's name without its library."""
        return self.dtaq.rpartition("/")[2]

    @property
    def resource_name(self) -> str:
        """``LIBRARY/NAME``."""
        return f"{self.library}/{self.name}"

    def conflicts(self) -> list[Conflict]:
        """The checks between parameters of CRTDTAQ."""
        return self._ddm_conflicts() if self.type == "*DDM" else self._std_conflicts()

    def _std_conflicts(self) -> list[Conflict]:
        given = self.model_fields_set
        conflicts = [(name, "CPD9263: is allowed with type *DDM only") for name in _DDM_ONLY if name in given]
        if not self.maxlen:
            conflicts.append(("maxlen", "CPD9267: is required with type *STD"))
        if self.keylen and self.seq != "*KEYED":
            conflicts.append(("keylen", "CPD9501: is allowed with seq *KEYED only"))
        if self.seq == "*KEYED" and not self.keylen:
            conflicts.append(("keylen", "CPD9502: is required with seq *KEYED"))
        return conflicts

    def _ddm_conflicts(self) -> list[Conflict]:
        conflicts = [(name, "CPD9266: is not allowed with type *DDM") for name in _STD_ONLY if self.given(name)]
        conflicts += [
            (name, "CPD9268: is required with type *DDM")
            for name in ("rmtdtaq", "rmtlocname")
            if not getattr(self, name)
        ]
        is_database = self.rmtlocname == "*RDB"
        if is_database and not self.rdb:
            conflicts.append(("rdb", "CPD9191: is required with rmtlocname *RDB"))
        if self.rdb and not is_database:
            conflicts.append(("rdb", "CPD9192: is allowed with rmtlocname *RDB only"))
        if is_database:
            conflicts += [
                (name, "CPD9266: is not allowed with rmtlocname *RDB") for name in _DEVICE_ONLY if self.given(name)
            ]
        if self.mode in _RESERVED_MODES:
            conflicts.append(("mode", "CPD2707: SNASVCMG and CPSVCMG are reserved for the system"))
        return conflicts
