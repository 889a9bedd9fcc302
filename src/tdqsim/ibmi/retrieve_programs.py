"""QUSRJOBI, QMHRTVM, QWCRSVAL and QWCRNETA: jobs, messages, system values and network attributes for programs.

The fields of a format are rows of ``facts/ibmi_retrieve_formats.tsv``. The answer begins with bytes returned and bytes
available; if the receiver is too short, it gets the beginning of the answer. QWCRSVAL and QWCRNETA return the number of
values and an offset to each: name 10, type 1, status 1, length 4, value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from tdqsim.core.codepage import CodePage, shown_bytes
from tdqsim.facts import table
from tdqsim.ibmi.byte_parameters import Arguments
from tdqsim.ibmi.declare import Declaration, declared_program
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import pack_binary
from tdqsim.ibmi.messages import MESSAGES, filled_text
from tdqsim.ibmi.objects import SYSTEM_LIBRARIES
from tdqsim.ibmi.system_values import SYSTEM_VALUES, shown, shown_time

_FORMATS: Final = tuple(table("ibmi_retrieve_formats"))
_JOB_FORMATS: Final = sorted({row["format"] for row in _FORMATS} - {"JOBI", "RTVM"})
_MESSAGE_FORMATS: Final = ("RTVM0300", "RTVM0400")
_NETWORK: Final = ("SYSNAME",)
_WORD: Final = 4
_LIBRARY: Final = 11
_Fields = Mapping[str, int | str | bytes]


def _filled(page: CodePage, formats: Iterable[str], fields: _Fields) -> bytes:
    """The bytes of some formats, with each field at its offset."""
    made = bytearray()
    for row in _FORMATS:
        if row["format"] not in formats:
            continue
        at, length = int(row["offset"]), int(row["length"])
        value = fields[row["value"][1:]] if row["value"].startswith("=") else row["value"]
        if row["kind"] == "B":
            data = pack_binary(int(value))
        elif isinstance(value, bytes):
            data = value
        else:
            data = page.encode(f"{value:<{length}}")
        made += bytes(max(at - len(made), 0))
        made[at : at + len(data)] = data
    return bytes(made)


def _checked_form(job: JobCore, arguments: Arguments, forms: Collection[str]) -> str:
    """The name of the format; CPF3C21 for another one, CPF3C24 if the receiver has no room for the first two fields."""
    arguments.writable(0, 0)
    form = arguments.text(2)
    if form not in forms:
        job.fail("CPF3C21", form)
    if arguments.number(1) < 2 * _WORD:
        job.fail("CPF3C24")
    return form


def _return_answer(arguments: Arguments, made: bytes) -> None:
    """Write an answer into the receiver, cut to its length, with bytes returned and bytes available."""
    room = min(arguments.writable(0, 0), max(arguments.number(1), 0), len(made))
    arguments.put(0, (pack_binary(room) + pack_binary(len(made)) + made[2 * _WORD :])[:room])


# -- jobs -------------------------------------------------------------------------------------------------------------


def _job_information(job: JobCore, arguments: Arguments) -> None:
    """QUSRJOBI: receiver, its length, format, job name 10 user 10 number 6, internal identifier 16; error code."""
    form = _checked_form(job, arguments, _JOB_FORMATS)
    _return_answer(arguments, _filled(job.page, ("JOBI", form), _fields_of(_named_job(job, arguments), job.page)))


def _named_job(job: JobCore, arguments: Arguments) -> JobCore:
    """Find a job by its name; ``*`` is the calling job, ``*INT`` the job with the internal identifier."""
    whole = arguments.text(3).ljust(26)
    name, user, number = whole[:10].rstrip(), whole[10:20].rstrip(), whole[20:].rstrip()
    if name == "*":
        return job
    jobs = [one._core for one in job.system.jobs.values()]
    if name == "*INT":
        number = arguments.text(4)
        return next((one for one in jobs if one.number == number), None) or job.fail("CPF3C52")
    wanted = (name, user, number)
    named = next((one for one in jobs if (one.name, one.user, one.number) == wanted), None)
    return named or job.fail("CPF3C53", f"{number}/{user}/{name}")


def _fields_of(job: JobCore, page: CodePage) -> _Fields:
    started = shown_time(job.system, job.started_ns, "%C%y%m%d%H%M%S")
    current = [job.current_library] if job.current_library else []
    libraries = "".join(f"{one:<{_LIBRARY}}" for one in (*SYSTEM_LIBRARIES, *current, *job.user_libraries))
    return {
        "name": job.name, "user": job.user, "number": job.number, "internal": job.number,
        "run_priority": job.run_priority, "default_wait": int(job.default_wait), "date_format": job.date_format,
        "ccsid": job.ccsid, "page_ccsid": job.page.ccsid, "current_user": job.current_user,
        "libraries": page.encode(libraries), "started": started, "job_date": started[:7],
        "system_count": len(SYSTEM_LIBRARIES), "current_count": len(current), "user_count": len(job.user_libraries),
    }  # fmt: skip


# -- messages ---------------------------------------------------------------------------------------------------------


def _message_description(job: JobCore, arguments: Arguments) -> None:
    """QMHRTVM: receiver, its length, format, id, file and library, data, its length, whether it is filled in."""
    _checked_form(job, arguments, _MESSAGE_FORMATS)
    message_id, (file, library) = arguments.text(3), arguments.qualified(4)
    if file != "QCPFMSG" or library not in ("QSYS", "*LIBL"):
        job.fail("CPF2407", file, library)
    message_id = _chosen(message_id, arguments.text(10) if arguments.has(10) else "*MSGID")
    described = MESSAGES.get(message_id)
    if described is None and message_id:
        job.fail("CPF2419", message_id, file, library)
    texts = ("", "")
    if described is not None:
        data = arguments.data(5, arguments.number(6)) if arguments.yes(7, default=False) else None
        texts = filled_text(described, data, job.page)
    text, help_text = (shown_bytes(one, job.page) for one in texts)
    start = max(int(row["offset"]) for row in _FORMATS if row["format"] == "RTVM")
    fields: _Fields = {
        "severity": described.severity if described is not None else 0, "id": message_id, "reply_at": start,
        "text_at": start, "text_bytes": len(text), "help_at": start + len(text), "help_bytes": len(help_text),
        "texts": text + help_text,
    }  # fmt: skip
    _return_answer(arguments, _filled(job.page, ("RTVM",), fields))


def _chosen(message_id: str, option: str) -> str:
    """The selected message: this one, the first, or the one after it; empty after the last one."""
    known = sorted(MESSAGES)
    if option == "*FIRST":
        return known[0]
    if option == "*NEXT":
        return next((one for one in known if one > message_id), "")
    return message_id


# -- system values ----------------------------------------------------------------------------------------------------


def _system_values(job: JobCore, arguments: Arguments, *, network: bool = False) -> None:
    """QWCRSVAL, QWCRNETA: receiver, its length, number of values, their names of ten characters; error code."""
    arguments.writable(0, 0)
    count = arguments.number(2)
    names = job.page.printable(arguments.data(3, 10 * count if 0 < count <= len(SYSTEM_VALUES) else -1))
    wanted = [names[at : at + 10].rstrip(" ") for at in range(0, len(names), 10)]
    if not wanted:
        job.fail("CPF24B4")
    for name in wanted:
        if name not in SYSTEM_VALUES or (name in _NETWORK) is not network:
            job.fail("CPF1028", name, rule="RTV-VALUE")
    head, made = pack_binary(len(wanted)), b""
    first = _WORD * (1 + len(wanted))
    for name in wanted:
        head += pack_binary(first + len(made))
        made += _value(job, name)
    answer = head + made
    if min(arguments.writable(0, 0), arguments.number(1)) < len(answer):
        job.fail("CPF3C24")
    arguments.put(0, answer)


def _value(job: JobCore, name: str) -> bytes:
    row, value = SYSTEM_VALUES[name], shown(job.system, job.system.values, name)
    length = int(row["length"])
    data = pack_binary(value) if isinstance(value, int) else job.page.encode(f"{value:<{length}}")
    whole = job.page.encode(f"{name:<10}{row['type']} ") + pack_binary(length) + data
    return bytes(whole.ljust(-(-len(whole) // _WORD) * _WORD, b"\0"))


def _network_attributes(job: JobCore, arguments: Arguments) -> None:
    _system_values(job, arguments, network=True)


# -- declarations of the programs -------------------------------------------------------------------------------------

_RECEIVER: Final = (("Receiver variable", "out", "H", None, 0), ("Length of receiver variable", "in", "B", _WORD, 0))
_FORMAT: Final = ("Format name", "in", "C", 8, 0)
_ERROR: Final = ("Error code", "io", "H", None, 0)
_VALUES: Final = (*_RECEIVER, ("Number of values", "in", "B", _WORD, 0), ("Names", "in", "H", None, 0), _ERROR)
_JOB: Final = (
    *_RECEIVER, _FORMAT, ("Qualified job name", "in", "C", 26, 0), ("Internal job identifier", "in", "C", 16, 0),
    ("Error code", "io", "H", None, 1), ("Reset performance statistics", "in", "C", 1, 2),
)  # fmt: skip
_MESSAGE: Final = (
    *_RECEIVER, _FORMAT, ("Message identifier", "in", "C", 7, 0), ("Qualified message file", "in", "C", 20, 0),
    ("Replacement data", "in", "H", None, 0), ("Length of replacement data", "in", "B", _WORD, 0),
    ("Replace substitution values", "in", "C", 10, 0), ("Return format control characters", "in", "C", 10, 0), _ERROR,
    ("Retrieve option", "in", "C", 10, 1), ("CCSID to convert to", "in", "B", _WORD, 1),
    ("CCSID of replacement data", "in", "B", _WORD, 1),
)  # fmt: skip

RETRIEVE_PROGRAMS: Mapping[str, tuple[Declaration, Callable[[JobCore, Arguments], None]]] = MappingProxyType(
    {
        "QUSRJOBI": (declared_program("QUSRJOBI", *_JOB), _job_information),
        "QMHRTVM": (declared_program("QMHRTVM", *_MESSAGE), _message_description),
        "QWCRSVAL": (declared_program("QWCRSVAL", *_VALUES), _system_values),
        "QWCRNETA": (declared_program("QWCRNETA", *_VALUES), _network_attributes),
    }
)
"""The declaration and the function of each program."""
