"""Typed parameters of programs: what an RPG program declares in its prototype, for Python functions.

A program is called with storage. What its parameters say about that storage is :class:`Parm`: a type as RPG writes it
(``CHAR(10)``, ``PACKED(7:2)``), whether the parameter comes in, goes out or both, and whether it may be left out::

    system.register_program("APPLIB/PRICE", price, [
        Parm("item", "CHAR(10)"), Parm("quantity", "PACKED(5:0)"), Parm("total", "ZONED(9:2)", use="out"),
    ])

    def price(job, item, quantity):        # what comes in, as Python values
        return quantity * Decimal("9.95")  # what goes out: one value, or a tuple of several

=================  =============================  ===========================================================
type               bytes                          value
=================  =============================  ===========================================================
``CHAR(n)``        n                              str in the code page of the job, without trailing blanks
``VARCHAR(n)``     n + 2: length in front         str
``DATA(n)``        n                              bytes, as they are
``UCS2(n)``        2 n                            str, without trailing blanks
``PACKED(d:p)``    d // 2 + 1                     int, or Decimal when p > 0
``ZONED(d:p)``     d                              likewise
``INT(d)``         1, 2, 4, 8 for 3, 5, 10, 20    int, signed
``UNS(d)``         likewise                       int, unsigned
``FLOAT(n)``       4 or 8                         float
``IND``            1                              bool
``DS``             those of its subfields         dict by their names
=================  =============================  ===========================================================

A data structure has its subfields in ``fields``, without gaps; ``dim`` makes an array of any type, whose value is a
list of as many::

    Parm("order", "DS", use="inout", fields=[
        Parm("item", "CHAR(10)"), Parm("amounts", "PACKED(7:2)", dim=12), Parm("lines", "DS", dim=3, fields=[...]),
    ])

What does not fit is refused, never cut: storage that is shorter than the parameter is CPF24B4 (a real machine would
read and write what lies behind it), bytes that are no decimal number MCH1202, another number of parameters than the
program takes MCH0802, a null one that may not be null MCH3601. Nothing is written unless all values fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tdqsim.core.codepage import CodePage
from tdqsim.errors import ConversionError
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._parm_types import LONGEST, Array, Codec, Structure, codec

__all__ = ["Parm", "check_parms"]


@dataclass(frozen=True, slots=True)
class Parm:
    """One parameter of a program that ``system.register_program`` registers.

    Attributes:
        name: for messages about it.
        type: as RPG writes it, such as ``CHAR(10)``; ``help("tdqsim.ibmi.parms")`` lists the types.
        use: ``in``, ``out`` or ``inout``.
        optional: it, and all after it, may be left out (OPTIONS(*NOPASS)); the value is None then.
        omissible: it may be null (OPTIONS(*OMIT)); the value is None then.
        dim: how many elements the array has (DIM); None for no array.
        fields: the subfields of a DS: no use, optional or omissible of their own.
        length: bytes of its storage.

    Raises:
        ParameterError: there is no such type, or it cannot have that length or those digits; a DS has no subfields, one
            name twice or subfields that say how they are passed; an array has no elements; it all takes too many bytes.
    """

    name: str
    type: str
    use: Literal["in", "out", "inout"] = "in"
    optional: bool = False
    omissible: bool = False
    dim: int | None = None
    fields: Sequence[Parm] = ()
    length: int = field(init=False, default=0)
    _codec: Codec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find out how it stands in storage."""
        if self.use not in ("in", "out", "inout"):
            raise ParameterError(f"parameter {self.name}: use {self.use!r}: allowed are in, out, inout")
        found = self._structure() if self.type.strip().upper() == "DS" else codec(self.name, self.type)
        if self.fields and not isinstance(found, Structure):
            raise ParameterError(f"parameter {self.name}: {self.type} has no subfields; DS has")
        if self.dim is not None:
            if not 1 <= self.dim <= LONGEST:
                raise ParameterError(f"parameter {self.name}: dim {self.dim}: allowed are 1 to {LONGEST}")
            found = Array(found, self.dim)
        if found.length > LONGEST:
            raise ParameterError(f"parameter {self.name}: {found.length} bytes are more than {LONGEST}")
        object.__setattr__(self, "_codec", found)
        object.__setattr__(self, "length", found.length)

    def _structure(self) -> Structure:
        """What its subfields make together."""
        names = [one.name for one in self.fields]
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"parameter {self.name}: a DS has subfields, each with a name of its own: {names}")
        for one in self.fields:
            if one.use != "in" or one.optional or one.omissible:
                raise ParameterError(f"parameter {self.name}: subfield {one.name} is passed as its DS is")
        made = tuple((one.name, one._codec) for one in self.fields)
        return Structure(made, sum(one.length for one in self.fields))

    def decode(self, storage: bytes, page: CodePage) -> Any:
        """The value in storage that is long enough.

        Raises:
            ValueError: the bytes are no such value.
        """
        return self._codec.decode(bytes(storage[: self.length]), page)

    def encode(self, value: Any, page: CodePage) -> bytes:
        """The bytes of a value.

        Raises:
            ParameterError: it does not fit.
        """
        try:
            return self._codec.encode(value, page)
        except (ValueError, ConversionError) as error:
            raise ParameterError(f"parameter {self.name} {self.type}: {value!r:.60}: {error}") from error


def check_parms(parms: Sequence[Parm]) -> tuple[Parm, ...]:
    """Refuse parameters that no program can have: one that must be passed after one that need not be."""
    optional = False
    for one in parms:
        if optional and not one.optional:
            raise ParameterError(f"parameter {one.name}: it follows an optional one, so it must be optional too")
        optional = one.optional
    return tuple(parms)
