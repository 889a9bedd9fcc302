"""Typed parameters of programs: for Python functions, the equivalent of the prototype of an RPG program.

A program is called with storage. A :class:`Parm` describes the storage of one parameter: its type in RPG notation
(``CHAR(10)``, ``PACKED(7:2)``), whether it is for input, output or both, and whether it may be omitted::

    system.register_program("APPLIB/PRICE", price, [
        Parm("item", "CHAR(10)"), Parm("quantity", "PACKED(5:0)"), Parm("total", "ZONED(9:2)", use="out"),
    ])

    def price(job, item, quantity):        # the input parameters, as Python values
        return quantity * Decimal("9.95")  # the output: one value, or a tuple of several

=================  =============================  ===========================================================
type               bytes                          value
=================  =============================  ===========================================================
``CHAR(n)``        n                              str in the code page of the job, without trailing blanks
``VARCHAR(n)``     n + 2: length in front         str
``DATA(n)``        n                              bytes
``UCS2(n)``        2 n                            str, without trailing blanks
``PACKED(d:p)``    d // 2 + 1                     int, or Decimal when p > 0
``ZONED(d:p)``     d                              likewise
``INT(d)``         1, 2, 4, 8 for 3, 5, 10, 20    int, signed
``UNS(d)``         likewise                       int, unsigned
``FLOAT(n)``       4 or 8                         float
``IND``            1                              bool
``DS``             those of its subfields         dict by their names
=================  =============================  ===========================================================

A data structure has its subfields in ``fields``, without gaps. With ``dim`` a parameter of any type becomes an array,
whose value is a list of that length::

    Parm("order", "DS", use="inout", fields=[
        Parm("item", "CHAR(10)"), Parm("amounts", "PACKED(7:2)", dim=12), Parm("lines", "DS", dim=3, fields=[...]),
    ])

Values that do not fit are refused, never cut. Storage that is shorter than the parameter is CPF24B4 (a real machine
would read and write the storage behind it), bytes that are not a decimal number are MCH1202, a wrong number of
parameters is MCH0802, and a null pointer that is not allowed is MCH3601. Nothing is written unless all values fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tdqsim.core.codepage import CodePage
from tdqsim.errors import ConversionError
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.parm_types import LONGEST, Array, Codec, Structure, codec


@dataclass(frozen=True, slots=True)
class Parm:
    """One parameter of a program that ``system.register_program`` registers.

    Attributes:
        name: its name, for error messages.
        type: the type in RPG notation, such as ``CHAR(10)``; ``help("tdqsim.ibmi.parms")`` lists the types.
        use: ``in``, ``out`` or ``inout``.
        optional: whether it, and all after it, may be omitted (OPTIONS(*NOPASS)); the value is then None.
        omissible: whether it may be null (OPTIONS(*OMIT)); the value is then None.
        dim: the number of elements of an array (DIM); None for no array.
        fields: the subfields of a DS, which may not set use, optional or omissible.
        length: the bytes of its storage.

    Raises:
        ParameterError: there is no such type, or it does not allow this length or these digits; a DS has no subfields,
            two with the same name, or subfields with use, optional or omissible; an array has no elements; the
            parameter takes too many bytes.
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
        """Check the type and find its codec."""
        if self.use not in ("in", "out", "inout"):
            raise ParameterError(f"parameter {self.name}: use {self.use!r}: allowed are in, out, inout")
        own = self._structure() if self.type.strip().upper() == "DS" else codec(self.name, self.type)
        if self.fields and not isinstance(own, Structure):
            raise ParameterError(f"parameter {self.name}: only a DS has subfields, not {self.type}")
        if self.dim is not None:
            if not 1 <= self.dim <= LONGEST:
                raise ParameterError(f"parameter {self.name}: dim {self.dim}: allowed are 1 to {LONGEST}")
            own = Array(own, self.dim)
        if own.length > LONGEST:
            raise ParameterError(f"parameter {self.name}: {own.length} bytes are more than {LONGEST}")
        object.__setattr__(self, "_codec", own)  # the dataclass is frozen
        object.__setattr__(self, "length", own.length)

    def _structure(self) -> Structure:
        """The data structure of its subfields."""
        names = [one.name for one in self.fields]
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"parameter {self.name}: a DS needs subfields with different names: {names}")
        for one in self.fields:
            if one.use != "in" or one.optional or one.omissible:
                raise ParameterError(f"parameter {self.name}: subfield {one.name} is passed as its DS is")
        made = tuple((one.name, one._codec) for one in self.fields)
        return Structure(made, sum(one.length for one in self.fields))

    def decode(self, storage: bytes, page: CodePage) -> Any:
        """Convert storage, which must be long enough, to a value.

        Raises:
            ValueError: the bytes are not a value of this type.
        """
        return self._codec.decode(bytes(storage[: self.length]), page)

    def encode(self, value: Any, page: CodePage) -> bytes:
        """Convert a value to bytes.

        Raises:
            ParameterError: the value does not fit.
        """
        try:
            return self._codec.encode(value, page)
        except (ValueError, ConversionError) as error:
            raise ParameterError(f"parameter {self.name} {self.type}: {value!r:.60}: {error}") from error


def check_parms(parms: Sequence[Parm]) -> tuple[Parm, ...]:
    """Refuse a parameter list in which a required parameter follows an optional one."""
    optional = False
    for one in parms:
        if optional and not one.optional:
            raise ParameterError(f"parameter {one.name}: it follows an optional one, so it must be optional too")
        optional = one.optional
    return tuple(parms)
