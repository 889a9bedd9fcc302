"""The host variables of EXEC CICS text: a dict of the caller, used like a program's storage.

A name is looked up as written, then in any case with ``-`` and ``_`` alike, so ``WS-REC`` finds ``ws_rec``. A value of
type ``bytearray`` is an *area* of fixed length: receivers fill its first bytes and leave the rest unchanged, as CICS
does, and LENGTH OF is its size. Any other value is a Python value, which a receiver replaces. A receiver that does not
exist is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final

from tdqsim.cics.kernel.abstime import pack_abstime
from tdqsim.cics.text.exec_text import Reference
from tdqsim.core.codepage import CodePage
from tdqsim.errors import ConversionError, TdqError

Variables = MutableMapping[str, Any]
"""The host variables of a program by name."""
Received = dict[str, Any]
"""The values that a command returned in its receivers, by option."""
Label = Callable[..., Any]
"""A function that is called for a label of HANDLE."""
Labels = Mapping[str, Label]
_BYTES: Final = (bytes, bytearray, memoryview)


class HostVariableError(TdqError):
    """A host variable is missing, or has a value that the command cannot use."""


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


class HostVariables:
    """The variables of one command.

    Args:
        variables: name -> value; receivers are stored in it.
        page: the code page between text and bytes.
    """

    def __init__(self, variables: Variables, page: CodePage) -> None:
        self.variables = variables
        self.page = page

    # -- looking up ---------------------------------------------------------------------------------------------------

    def _key(self, where: Mapping[str, object], name: str) -> str | None:
        if name in where:
            return name
        wanted = _normal(name)
        for key in where:
            if isinstance(key, str) and _normal(key) == wanted:
                return key
        return None

    def _group(self, reference: Reference, *, create: bool = False) -> Variables:
        """The mapping that contains the item: the variables, or the innermost group of a qualified name."""
        where: Any = self.variables
        for name in reversed(reference.qualifiers):
            key = self._key(where, name)
            group = where[key] if key is not None else None
            if not isinstance(group, MutableMapping if create else Mapping):
                raise HostVariableError(f"{reference}: there is no host variable {name} that is a group (a dict)")
            where = group
        innermost: Variables = where
        return innermost

    def knows(self, reference: Reference) -> bool:
        """Whether there is such a variable."""
        return self._key(self._group(reference), reference.name) is not None

    def value(self, reference: Reference) -> Any:
        """The value of a variable, of an element of a table, or of a substring.

        Raises:
            HostVariableError: there is no such variable, element or substring.
        """
        where = self._group(reference)
        key = self._key(where, reference.name)
        if key is None:
            raise HostVariableError(
                f"there is no host variable {reference}; give it in the variables, or write '{reference}' for the text"
            )
        value = where[key]
        for subscript in reference.subscripts:
            value = self._element(reference, value, self._index(subscript))
        return self._part(reference, value) if reference.part else value

    def _index(self, item: int | str) -> int:
        number = item if isinstance(item, int) else self.value(Reference(item))
        if isinstance(number, bool) or not isinstance(number, int):
            raise HostVariableError(f"{item} must be a whole number, not {number!r}")
        return number

    @staticmethod
    def _element(reference: Reference, items: object, number: int) -> Any:
        if not isinstance(items, Sequence) or isinstance(items, (str, *_BYTES)):
            raise HostVariableError(f"{reference}: {reference.name} is not a table (a list)")
        if not 1 <= number <= len(items):
            raise HostVariableError(f"{reference}: subscript {number} is not in 1 to {len(items)}")
        return items[number - 1]

    def _part(self, reference: Reference, value: object) -> Any:
        if not isinstance(value, (str, *_BYTES)):
            raise HostVariableError(f"{reference}: {reference.name} is neither text nor bytes")
        start, end = self._span(reference, len(value))
        return value[start:end]

    def _span(self, reference: Reference, size: int) -> tuple[int, int]:
        assert reference.part is not None
        start = self._index(reference.part[0])
        length = size - start + 1 if reference.part[1] is None else self._index(reference.part[1])
        if start < 1 or length < 1 or start + length - 1 > size:
            raise HostVariableError(
                f"{reference}: positions {start} to {start + length - 1} are not all in 1 to {size}"
            )
        return start - 1, start - 1 + length

    # -- reading ------------------------------------------------------------------------------------------------------

    def area_length(self, reference: Reference) -> int | None:
        """The size of a variable that is an area (a bytearray); None for any other variable or none."""
        if not self.knows(reference):
            return None
        value = self.value(reference)
        return len(value) if isinstance(value, bytearray) else None

    def length_of(self, reference: Reference) -> int:
        """LENGTH OF: the length of a bytes-like value in bytes, of text in characters; 4 for a number."""
        value = self.value(reference)
        if isinstance(value, int):
            return 4
        if not isinstance(value, (str, *_BYTES)):
            raise HostVariableError(f"LENGTH OF {reference}: a {type(value).__name__} has no length in bytes")
        return len(value)

    def as_bytes(self, value: object, what: str) -> bytes:
        """The bytes of a record; text is encoded."""
        if isinstance(value, _BYTES):
            return bytes(value)
        if isinstance(value, str):
            return self._encode(value, what)
        raise HostVariableError(f"{what} must be bytes or text, not {type(value).__name__}")

    def _encode(self, text: str, what: str) -> bytes:
        try:
            return self.page.encode(text)
        except ConversionError as error:
            raise HostVariableError(f"{what}: {error}") from error

    def as_text(self, value: object, what: str) -> str:
        """A name or text; bytes are decoded."""
        if isinstance(value, str):
            return value
        if isinstance(value, _BYTES):
            try:
                return self.page.decode(bytes(value))
            except ConversionError as error:
                raise HostVariableError(f"{what}: {error}") from error
        raise HostVariableError(f"{what} must be text, not {type(value).__name__}; write a name in quotes")

    def as_number(self, value: object, what: str) -> int:
        """A number; two or four bytes are read as a binary halfword or fullword."""
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        if isinstance(value, _BYTES) and len(value) in (2, 4):
            return int.from_bytes(value, "big", signed=True)
        raise HostVariableError(f"{what} must be a whole number, not {value!r}")

    # -- writing ------------------------------------------------------------------------------------------------------

    def store(self, reference: Reference, value: object, length: int | None = None) -> None:
        """Store a value in a receiver.

        Args:
            reference: the receiver.
            value: bytes, text, a number or a CVDA.
            length: the bytes of the value in CICS, used if the receiver is an area: text is padded to it, a number
                takes that many bytes (8 for an ABSTIME).

        Raises:
            HostVariableError: the receiver is an area or substring that is too short, or is not a receiver.
        """
        where = self._group(reference, create=True)
        key = self._key(where, reference.name)
        if reference.part is None and not reference.subscripts:
            target = where.get(key) if key is not None else None
            if isinstance(target, bytearray):
                self._fill(reference, target, 0, len(target), self._image(value, length))
            else:
                where[reference.name if key is None else key] = value
            return
        self._store_inside(reference, value, length)

    def _store_inside(self, reference: Reference, value: object, length: int | None) -> None:
        holder = self.value(Reference(reference.name, reference.qualifiers, reference.subscripts[:-1]))
        if reference.subscripts:
            number = self._index(reference.subscripts[-1])
            target = self._element(reference, holder, number)
            if reference.part is None and not isinstance(target, bytearray):
                if not isinstance(holder, MutableSequence):
                    raise HostVariableError(f"{reference}: {reference.name} cannot be changed")
                holder[number - 1] = value
                return
        else:
            target = holder
        if not isinstance(target, bytearray):
            raise HostVariableError(f"{reference}: a substring can be received only into a bytearray")
        start, end = self._span(reference, len(target)) if reference.part else (0, len(target))
        self._fill(reference, target, start, end, self._image(value, length))

    def _image(self, value: object, length: int | None) -> bytes:
        if isinstance(value, _BYTES):
            return bytes(value)
        if isinstance(value, str):
            return self.page.encode(value if length is None else value.ljust(length))
        if not isinstance(value, int):
            raise HostVariableError(f"an area can receive bytes, text or a number, not {type(value).__name__}")
        return pack_abstime(value) if length == 8 else value.to_bytes(length or 4, "big", signed=True)

    @staticmethod
    def _fill(reference: Reference, area: bytearray, start: int, end: int, data: bytes) -> None:
        if len(data) > end - start:
            raise HostVariableError(
                f"{reference} has {end - start} bytes and would receive {len(data)}: CICS would write beyond the area"
            )
        area[start : start + len(data)] = data
