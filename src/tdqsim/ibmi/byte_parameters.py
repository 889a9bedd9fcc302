"""Reading and writing the storage that the caller of a byte form passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tdqsim.errors import ConversionError
from tdqsim.ibmi.declare import ApiParameter, Declaration
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import pack_binary, pack_decimal, qualified_name, unpack_binary, unpack_decimal
from tdqsim.ibmi.messages import Message
from tdqsim.ibmi.names import NAME_LENGTH, NEGATIVE_KEY

_LENGTH_OF_DATA = 2  # the position of the parameter of QSNDDTAQ

Storage = bytes | bytearray | memoryview | None
"""Storage of the caller; None is a null pointer."""

Passed = Storage | str | int
"""The types of a parameter: storage, or the value of an input, which is converted to storage as the manual declares."""


def not_addressable(
    job: JobCore, api: Declaration | None, *, rule: str = "", hint: str = "", diagnostics: tuple[Message, ...] = ()
) -> NoReturn:
    """End a call whose storage cannot be used: CPF24B4, or CPF9509 where the API's list does not have that one."""
    listed = {use.message_id for use in api.messages} if api else set()
    if not listed or "CPF24B4" in listed:
        job.fail("CPF24B4", rule=rule, hint=hint, diagnostics=diagnostics)
    job.fail("CPF9509", rule=rule or "DTAQ-RETRIEVE-ADDRESSING", hint=hint, diagnostics=diagnostics)


def in_bytes(job: JobCore, value: Passed, api: Declaration | None = None) -> Passed:
    """Convert a memoryview to one of single bytes, and a read-only one to bytes (a literal); other values pass.

    One whose bytes are not in one piece cannot be addressed by ``api``.
    """
    if not isinstance(value, memoryview):
        return value
    if value.readonly:
        return value.tobytes()
    if value.format == "B" and value.ndim == 1:
        return value
    if not value.c_contiguous or not value.nbytes:
        not_addressable(job, api)
    return value.cast("B")


def _storage(job: JobCore, api: Declaration, declared: ApiParameter, value: Passed) -> bytes | bytearray | memoryview:
    """The storage of a parameter: the caller's own, or new storage for a value."""
    value = in_bytes(job, value, api)
    if value is None:
        not_addressable(job, api)
    if isinstance(value, bytes | bytearray | memoryview):
        return value
    place = f"{api.name}, parameter {declared.number} ({declared.name})"
    length = declared.length
    if declared.use == "in" and length is not None and not isinstance(value, bool):
        if declared.kind == "C" and isinstance(value, str):
            try:
                text = job.page.encode(value)
            except ConversionError as error:
                raise ParameterError(f"{place}: {error}") from None
            if length == 2 * NAME_LENGTH and "/" in value:
                text = qualified_name(value, page=job.page)
            if len(text) <= length:
                return text + job.page.encode(" ") * (length - len(text))
            raise ParameterError(f"{place}: {value!r} has {len(text)} characters; allowed are {length}")
        if declared.kind in ("B", "P") and isinstance(value, int):
            return _packed(place, declared.kind, length, value)
    needed = {"C": "str or bytes", "B": "int or bytes", "P": "int or bytes"}.get(declared.kind, "bytes")
    raise ParameterError(
        f"{place}: storage is needed ({needed if declared.use == 'in' else 'a bytearray'}), not {type(value).__name__}"
    )


def _packed(place: str, kind: str, length: int, value: int) -> bytes:
    digits = 2 * length - 1
    most = 10**digits - 1 if kind == "P" else 2 ** (8 * length - 1) - 1
    if abs(value) > most:
        raise ParameterError(f"{place}: {value} is not a number of {-most} to {most}")
    return pack_decimal(value, digits) if kind == "P" else pack_binary(value)


class Arguments:
    """The parameters of one call, by position from 0.

    An access that is not possible is CPF3C90, or as :func:`not_addressable` says.
    """

    def __init__(self, job: JobCore, declaration: Declaration, parameters: Sequence[Passed]) -> None:
        self._job = job
        self._api = declaration
        self._declared = declaration.parameters
        self._parameters = [_storage(job, declaration, *both) for both in zip(self._declared, parameters, strict=False)]

    def has(self, at: int) -> bool:
        """Whether the parameter was passed."""
        return at < len(self._parameters)

    def _bytes(self, at: int, length: int | None) -> bytes:
        value = self._parameters[at]
        if value is None or (length is not None and not 0 <= length <= len(value)):
            not_addressable(self._job, self._api)
        return bytes(value[:length])

    def number(self, at: int) -> int:
        """A binary or packed parameter."""
        declared = self._declared[at]
        raw = self._bytes(at, declared.length)
        if declared.kind == "B":
            return unpack_binary(raw)
        try:
            return unpack_decimal(raw)
        except ValueError:
            sent = (self._api.name, at) == ("QSNDDTAQ", _LENGTH_OF_DATA)
            digits = 2 * len(raw) - 1
            not_addressable(
                self._job,
                self._api,
                rule="DTAQ-SEND-NOT-PACKED" if sent else "",
                hint=f"Parameter {declared.number} ({declared.name}) is packed decimal with {digits} digits, and"
                f" X'{raw.hex().upper()}' is not; CL passes a literal number with 15 digits, 5 of them decimals, so"
                f" that a variable TYPE(*DEC) LEN({digits} 0) is needed.",
            )

    def text(self, at: int) -> str:
        """A character parameter without trailing blanks; bytes that are no characters become full stops."""
        return self._job.page.printable(self._bytes(at, self._declared[at].length)).rstrip(" ")

    def yes(self, at: int, *, default: bool) -> bool:
        """A parameter that is ``*YES`` or ``*NO``; anything else is as storage that cannot be used."""
        if not self.has(at):
            return default
        value = self.text(at)
        if value not in ("*YES", "*NO"):
            not_addressable(self._job, self._api)
        return value == "*YES"

    def data(self, at: int, length: int | None) -> bytes:
        """The first ``length`` bytes of a parameter; all of it for None, none for a negative length."""
        return self._bytes(at, None if length is None else max(length, 0))

    def key(self, length_at: int, at: int) -> bytes:
        """Key data. A negative length returns :data:`NEGATIVE_KEY`."""
        length = self.number(length_at)
        return self.data(at, length) if length >= 0 else NEGATIVE_KEY

    def holds(self, at: int, length: int) -> bool:
        """Whether the storage of a parameter has at least this length."""
        value = self._parameters[at]
        return value is not None and length <= len(value)

    def name(self, at: int) -> str:
        """An object or library name as it was passed."""
        return self.text(at)

    def qualified(self, at: int) -> tuple[str, str]:
        """Name and library of a CHAR(20) parameter."""
        whole = self._job.page.printable(self._bytes(at, 2 * NAME_LENGTH))
        return whole[:NAME_LENGTH].rstrip(" "), whole[NAME_LENGTH:].rstrip(" ")

    def find(self, name: str, library: str) -> None:
        """Refuse invalid names: unlike the Python forms, an API does not convert names to upper case."""
        self._job.check_names(name, library)

    def writable(self, at: int, length: int) -> int:
        """Check that this many bytes of a parameter can be changed; returns the length of its storage."""
        value = self._parameters[at]
        if isinstance(value, bytes):
            self._job.fail("CPF3C90")
        if len(value) < length:
            not_addressable(self._job, self._api)
        return len(value)

    def put(self, at: int, data: bytes) -> None:
        """Write data at the start of a parameter; the rest of its storage is not changed."""
        self.writable(at, len(data))
        value = self._parameters[at]
        assert isinstance(value, bytearray | memoryview)
        value[: len(data)] = data
