"""Values of other types than a public function takes: the error names the place, the value and what is allowed.

Every public function of a region, a task, a system and a job is found by looking. An error that Python raised of itself,
deep inside, is told from one of the package's own by the line that raised it.
"""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tdqsim
from tdqsim import Condition, Dispatcher, EscapeMessage, Sysplex, parse_definitions
from tdqsim.cics import AccessList, Region
from tdqsim.cobol import CobolPrograms
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError, WrongType
from tdqsim.ibmi import System, parse_seed
from tdqsim.testing import assert_records, seed

PACKAGE = str(Path(tdqsim.__file__).parent)
WRONG: tuple[Any, ...] = (
    None, 5, b"Q", object(), [], {}, bytearray(b"Q"), 1.5, float("nan"), -1, 10**30, "\0", [None], ["Q"], [("Q",)], [b"x", None],
)  # fmt: skip
RIGHT: dict[str, Any] = {
    "queue": "Q", "name": "Q", "tdqueue": "Q", "from_": b"x", "records": [b"x"], "record": b"x", "text": "x", "transid": "TRAN",
    "handler": print, "library": "QGPL", "dtaq": "QGPL/DQ", "maxlen": 10, "data": b"x", "key": b"k", "order": "EQ", "lib": "L1",
    "user": "ANNA", "file": "F", "resource": "Q", "reqid": "R", "program": "P", "length": 3, "value": b"x", "format": "RDQD0100",
}  # fmt: skip
ENDS = {"close", "end", "abend", "return_", "run", "rest"}
INSIDE = {
    "changed", "nothing_stored", "to_abend", "handles_condition", "journal_of", "remove_object", "save_object",
    "change", "check_entry", "fail", "granted", "job_of_log", "keep_remote_failure", "library", "may_use_profile", "message",
    "open_queue", "refuse", "take_remote_failure",
}  # fmt: skip
"""What the rooms ask each other, and no program calls."""


def is_bare(error: BaseException) -> bool:
    """Whether Python raised it of itself inside the package, and no line of the package says so."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    if isinstance(error, TdqError) or not inside:
        return False
    last = frames[-1]
    own = last.filename.startswith(PACKAGE)
    return not (own and linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise"))


def calls(function: Callable[..., Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each argument with each wrong value, the others that it needs being right."""
    parameters = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    for wrong in parameters:
        needed = [each.name for each in parameters if each.default is each.empty and each is not wrong]
        if all(name in RIGHT for name in needed):
            for value in WRONG:
                if not (value is None and wrong.default is None):
                    yield wrong.name, value, {name: RIGHT[name] for name in needed} | {wrong.name: value}


def bare_errors(function: Callable[..., Any], name: str) -> list[str]:
    found = []
    for argument, value, given in calls(function):
        try:
            result = function(**given)
            if inspect.isgenerator(result):
                next(result, None)
            if isinstance(result, Region | System):
                result.close()
        except Exception as error:  # noqa: BLE001  (which one is the question)
            if is_bare(error):
                found.append(f"{name}({argument}={value!r}): {error!r}")
    return found


def methods(thing: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(type(thing)):
        static = inspect.getattr_static(type(thing), name)
        if not name.startswith("_") and name not in ENDS | INSIDE and not isinstance(static, property | staticmethod):
            method = getattr(thing, name)
            if callable(method):
                yield name, method


def region() -> Region:
    made = Region([define_tdqueue(name="Q", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False)
    made.seed("Q", [b"a", b"b"])
    return made


def test_of_a_region() -> None:
    with region() as made:
        assert [line for name, method in methods(made) for line in bare_errors(method, name)] == []


def test_of_a_task() -> None:
    with region() as made:
        task = made.task()
        found = []
        for name, _ in methods(task):
            if task._ended:
                task = made.task()
            found += bare_errors(getattr(task, name), name)
        assert found == []
        if not task._ended:
            task.end(normal=False)


def test_of_a_system_and_a_job() -> None:
    with System() as system:
        job = system.job()
        job.crtdtaq(dtaq="QGPL/DQ", maxlen=10)
        assert [
            line for one in (system, job) for name, method in methods(one) for line in bare_errors(method, name)
        ] == []


@pytest.mark.parametrize("function", [Region, System, Dispatcher, Sysplex, parse_definitions])
def test_of_what_makes_them(function: Callable[..., Any]) -> None:
    assert bare_errors(function, function.__name__) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda made: made.peek(None), "peek: queue is None; allowed is str"),
        (lambda made: made.peek(b"Q"), "peek: queue is b'Q'; allowed is str"),
        (lambda made: made.seed("Q", 5), "seed: records is 5; allowed is Iterable"),
        (lambda made: made.deleteq_ts(None), "DELETEQ TS: queue is None; allowed is str"),
        (lambda made: made.delay(hours=b"1"), "DELAY: hours is b'1'; allowed is int or None"),
        (lambda made: made.readq_td("Q", b"1"), "READQ TD: length is b'1'; allowed is int or None"),
        (lambda made: made.writeq_td("Q", b"x", sysid=5), "WRITEQ TD: sysid is 5; allowed is str or None"),
        (lambda made: made.deleteq_td([]), r"DELETEQ TD: queue is \[\]; allowed is str"),
        (lambda made: next(made.readq_td_all([])), r"READQ TD, WRITEQ TD: queue is \[\]; allowed is str"),
        (lambda made: made.task().execute([]), r"execute: text is \[\]; allowed is str"),
        (lambda made: made.seed("Q", [b"a", None]), r"seed: records\[1\] is None; allowed is bytes or str"),
        (
            lambda made: made.writeq_ts("Q", "text"),
            r"WRITEQ TS: from is 'text'; allowed is bytes; region\.encode\('text'\) makes bytes of text$",
        ),
        (lambda made: made.writeq_ts("Q", 5), "WRITEQ TS: from is 5; allowed is bytes$"),
        (lambda _: Region(time_zone=5), "Region: time_zone is 5; allowed is str"),
        (
            lambda made: made.writeq_ts("Q", form=b"x"),
            r"WRITEQ TS: form is not an option; did you mean from_\?; allowed",
        ),
        (lambda made: made.inquire_tdqueue("Q", x=1), "TDQUEUE: x is not an option; allowed are tdqueue, nohandle$"),
    ],
)
def test_what_is_said(call: Callable[[Region], object], words: str) -> None:
    with region() as made, pytest.raises(TypeError, match=words):
        call(made)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda job: job.qsnddtaq([], "QGPL", b"x"), r"qsnddtaq: name is \[\]; allowed is str"),
        (lambda job: job.qsnddtaq("DQ", {}, b"x"), r"qsnddtaq: library is \{\}; allowed is str"),
        (lambda job: job.qrcvdtaq([]), r"qrcvdtaq: name is \[\]; allowed is str"),
        (lambda job: job.qrcvdtaq("DQ", bytearray(b"L")), r"qrcvdtaq: library is bytearray\(b'L'\); allowed is str"),
        (lambda job: job.receive("DQ", []), r"receive: library is \[\]; allowed is str"),
        (lambda job: job.call([]), r"call: api is \[\]; allowed is str"),
        (lambda job: job.alcobj(["QGPL/DQ"]), r"alcobj: objects\[0\] is 'QGPL/DQ'; allowed is tuple"),
        (lambda job: job.alcobj([("QGPL/DQ",)]), r"alcobj: objects\[0\] is \('QGPL/DQ',\); allowed is a tuple of 2"),
        (lambda job: job.alcobj([("QGPL/DQ", 5)]), r"lock state 5: allowed are \*SHRRD"),
        (lambda job: job.dlcobj([5]), r"dlcobj: objects\[0\] is 5; allowed is tuple"),
        (lambda job: job.qmhqcdq("QGPL/DQ", changes=["1"]), r"qmhqcdq: changes\[0\] is '1'; allowed is Change"),
        (lambda job: job.qmhqrdqd("DQ", libary="A"), r"did you mean library\?; allowed are name, library, format$"),
        (lambda job: job.chglibl([5]), "library 5: a name is text of 1 to 10 characters"),
    ],
)
def test_what_is_said_of_a_job(call: Callable[[Any], object], words: str) -> None:
    with System() as system:
        job = system.job()
        job.crtdtaq(dtaq="QGPL/DQ", maxlen=10)
        with pytest.raises((TypeError, ValueError), match=words):
            call(job)
        assert job.receive("QGPL/DQ") is None


@pytest.mark.parametrize("value", [10**30, float("inf"), float("nan"), -1, 32768, "5"])
def test_a_wait_for_a_lock_is_no_longer_than_the_command_has_it(value: object) -> None:
    with System() as system:
        job, other = system.job(), system.job()
        job.crtdtaq(dtaq="QGPL/DQ", maxlen=10)
        job.alcobj([("QGPL/DQ", "*EXCL")])
        with pytest.raises(ValueError, match=r"wait .* a number of seconds from 0 to 32767 is needed"):
            other.alcobj([("QGPL/DQ", "*EXCL")], wait=value)  # type: ignore[arg-type]
        with pytest.raises(EscapeMessage, match="CPF1002"):
            other.alcobj([("QGPL/DQ", "*EXCL")], wait=32767)


@pytest.mark.parametrize("seconds", [10**30, 1e300, float("inf"), float("nan"), "5", None])
def test_a_clock_goes_no_further_than_its_numbers(seconds: object) -> None:
    with region() as made:
        before = made.clock.time_ns()
        with pytest.raises((TypeError, ValueError), match=r"advance\(.*\): allowed"):
            made.clock.advance(seconds)  # type: ignore[arg-type]
        with pytest.raises(Condition, match="MILLISECS is 2147483648; allowed are 0 to 2147483647"):
            made.delay(millisecs=2**31)
        assert made.clock.time_ns() - before < 60 * 10**9


@pytest.mark.parametrize("make", [Region, System])
@pytest.mark.parametrize("name", ["", "Mars/Olympus", "/etc/passwd", "America", "\0"])
def test_a_time_zone_that_is_not_known(make: Callable[..., object], name: str) -> None:
    with pytest.raises(TdqError, match=r"timezone .* is not known; allowed are IANA names"):
        make(time_zone=name)


@pytest.mark.parametrize("name", ["readq_td", "deleteq_td", "writeq_td"])
@pytest.mark.parametrize("value", ["NO", 1, None])
def test_nohandle_is_looked_at_before_anything_is_done(name: str, value: object) -> None:
    with region() as made:
        given = ("Q", b"x") if name == "writeq_td" else ("Q",)
        with pytest.raises(TdqError, match=r"nohandle is .*; allowed are True and False"):
            getattr(made, name)(*given, nohandle=value)
        assert made.peek("Q") == [b"a", b"b"]


def test_seed_takes_a_job_and_assert_records_a_system() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        with pytest.raises(WrongType, match="a region or a job of a system is needed"):
            seed(system, "QGPL/ORDERS", [b"x"])  # type: ignore[arg-type]
        with pytest.raises(WrongType, match="a region or a system is needed"):
            assert_records(job, "QGPL/ORDERS", [])  # type: ignore[arg-type]


ONE_NOT_SEVERAL: dict[str, tuple[Callable[[System], object], str]] = {
    "ALCOBJ": (lambda system: system.job().alcobj("QGPL/Q"), "alcobj: objects is 'QGPL/Q'; allowed is a list or tuple"),
    "DLCOBJ": (lambda system: system.job().dlcobj("QGPL/Q"), "dlcobj: objects is 'QGPL/Q'; allowed is a list or tuple"),
    "expected text": (lambda system: assert_records(system, "QGPL/Q", "AB"), "expected is 'AB'; allowed is a list of"),
    "expected": (lambda system: assert_records(system, "QGPL/Q", b"AB"), "expected is b'AB'; allowed is a list of"),
    "lines": (
        lambda system: parse_seed(system.job(), "AB"),
        r"lines is 'AB'; allowed is a list of lines, such as \['AB'",
    ),
    "users": (lambda _: AccessList(users="PETER"), "users is 'PETER'; allowed is a list of names"),
    "surrogates": (
        lambda _: AccessList(surrogates={"ANNA": "PETER"}),
        r"surrogates\['ANNA'\] is 'PETER'; allowed is a list of names, such as \['PETER'\]",
    ),
    "groups": (lambda _: AccessList(groups={"ANNA": "PAYTEAM"}), r"groups\['ANNA'\] is 'PAYTEAM'; allowed is a list"),
    "sources": (
        lambda _: CobolPrograms(region(), sources="src", cache="c"),
        "sources is 'src'; allowed is a list of folders, such",
    ),
    "copybooks": (
        lambda _: CobolPrograms(region(), sources=[], copybooks=Path("copy"), cache="c"),
        r"copybooks is .*Path\('copy'\); allowed is a list of folders, such as",
    ),
    "flags": (
        lambda _: CobolPrograms(region(), sources=[], flags="-g", cache="c"),
        "flags is '-g'; allowed is a list of options",
    ),
}


@pytest.mark.parametrize(("call", "text"), ONE_NOT_SEVERAL.values(), ids=ONE_NOT_SEVERAL)
def test_one_where_a_list_is_needed_is_not_taken_letter_by_letter(call: Callable[[System], object], text: str) -> None:
    with System() as system, pytest.raises(WrongType, match=text):
        call(system)


def test_an_error_of_somebody_else_stays_as_it_is() -> None:
    @explains_wrong_types
    def told(count: int, each: Callable[[int], int]) -> int:
        return each(count)

    with pytest.raises(AttributeError, match="upper"):
        told(1, lambda number: number.upper())  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="missing 1 required"):
        told(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="told: count is 'one'; allowed is int") as caught:
        told("one", lambda number: number + 1)  # type: ignore[arg-type]
    assert isinstance(caught.value.__cause__, TypeError)
