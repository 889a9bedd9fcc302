"""Exit codes and messages: one line for people, never a traceback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tdqsim.cli import COMMANDS, main
from tdqsim.cli.errors import CommandFailed, Exit, InputError
from tdqsim.cli.failures import guarded
from tdqsim.cobol import CobolMissing
from tdqsim.core.spelling import VARIABLES
from tdqsim.errors import DefinitionError, Problem, StoreInUse, TdqError
from tdqsim.pipeline.java import JavaMissing
from tests.cli.conftest import Tdq


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InputError("no such thing"), 2, "tdq: no such thing"),
        (
            DefinitionError([Problem("a.yaml", 3, "TDQUEUE(A)", "type", "X", "is wrong")]),
            2,
            "tdq: a.yaml:3: TDQUEUE(A)",
        ),
        (StoreInUse(Path("s"), 4711), 3, "in use by process 4711"),
        (CommandFailed("a check failed"), 1, "tdq: a check failed"),
        (TdqError("QZERO"), 1, "tdq: QZERO"),
        (JavaMissing("no Java"), 2, "tdq: no Java"),
        (CobolMissing("no cobc"), 2, "tdq: no cobc"),
        (FileNotFoundError(2, "No such file or directory", "x.bin"), 2, "x.bin"),
        (RuntimeError("oh"), 4, "unexpected error: RuntimeError: oh\n     set TDQ_TRACEBACK=1"),
        (KeyboardInterrupt(), 130, "tdq: interrupted"),
    ],
)
def test_every_error_has_its_exit_code_and_message(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TDQ_TRACEBACK", raising=False)

    def fail() -> int:
        raise error

    assert guarded(fail) == code
    captured = capsys.readouterr()
    assert text in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_traceback_is_there_for_who_asks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDQ_TRACEBACK", "1")

    def fail() -> int:
        raise RuntimeError("oh")

    assert guarded(fail) == Exit.INTERNAL
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nonsense"], "No such command"),
        (
            ["ceda", "INSTALL"],
            "No such command 'ceda': tdq csd takes DEFINE, ALTER and INSTALL for the CSD in the store",
        ),
        (["set", "PAYQ", "TRIGERLEVEL=9", "-s", "st"], "TRIGGERLEVEL; did you mean TRIGGERLEVEL?"),
        (["check"], "name a definition file"),
        (["check", "x.yaml", "--schema", "region"], "--schema checks nothing: give no path with it"),
        (["seed", "PAYQ", "A"], "No such command 'seed': tdq write --seed adds records without a task"),
        (["dataset", "layot", "x.cpy"], "did you mean layout?"),
        (["dataset", "layout", "x.cpy", "--nonsense"], "No such option"),
        (["dataset", "layout", "missing.cpy"], "missing.cpy"),
        (["guide", "nonsense"], "the guide has no chapter 'nonsense'; tdq guide lists the chapters\n"),
        (["inquire", "--region", "."], "no region.yaml"),
        (["run", "--records", "-1"], "--records"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(tdq: Tdq, arguments: list[str], text: str) -> None:
    ended = tdq(*arguments)
    assert ended.code == 2
    assert text in ended.err


def test_a_misspelt_environment_variable_is_named(tdq: Tdq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDQ_STROE", "st")
    for other in ("TDQ_DATA", "TDQ_BENCH_ROUNDS", "TDQ_URL", "TDQ_ARCHIVE", "TDQ_PASSWORD2"):
        monkeypatch.setenv(other, "no")
    warned = "tdq: environment variable TDQ_STROE has no effect; did you mean TDQ_STORE?\n"
    assert tdq("--version").err == tdq("guide").err == warned


@pytest.mark.house
def test_each_environment_variable_that_is_read_is_known() -> None:
    sources = [path for path in (Path(__file__).parents[2] / "src").rglob("*") if path.suffix in (".py", ".java")]
    read = {name for path in sources for name in re.findall(r'"(TDQ_\w+)"', path.read_text("utf-8"))}
    assert read == VARIABLES


def test_help_and_version_are_for_the_asking(tdq: Tdq) -> None:
    assert tdq("--version").out.startswith("tdqsim 1.")
    listed = tdq("--help")
    assert listed.code == 0
    for command in ("run", "inquire", "write", "check", "import", "guide", "store"):
        assert command in listed.out
    assert tdq("inquire", "--help").code == 0


def heed_interrupts() -> None:
    """A shell starts what runs in the background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(arguments: list[str], **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def test_output_that_cannot_be_written_is_one_line() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    command = [
        sys.executable,
        "-c",
        "import sys; from tdqsim.cli import main; sys.exit(main())",
        "check",
        "--schema",
        "definitions",
    ]
    with full.open("wb") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (Exit.INPUT, b"tdq: No space left on device\n")


def test_closed_and_narrow_streams_are_no_errors() -> None:
    code = "import sys; from tdqsim.cli.output import emit; from tdqsim.cli.failures import guarded\n"
    code += "sys.exit(guarded(lambda: emit('caf\\u00e9')))"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    narrow = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (narrow.returncode, narrow.stdout) == (0, b"caf\\xe9\n")
    closed = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -c "$1" >&-', "sh", code], capture_output=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_output_that_nobody_reads_any_more_is_no_error_message() -> None:
    with start(["check", "--schema", "definitions"]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == Exit.PIPE_CLOSED


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # reading the definition waits for a writer until the interrupt comes
    with start(["check", str(fifo)], preexec_fn=heed_interrupts) as process:
        with fifo.open("wb"):  # the reader is there now
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode == Exit.INTERRUPTED
        assert err == b"tdq: interrupted\n"


def test_an_interrupt_while_modules_are_imported_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "tdqsim.cli.application", Interrupted("tdqsim.cli.application"))
    assert main(["check"]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "tdq: interrupted\n"


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("def register(region):\n    raise ValueError('no such account')\n", 2),
        ("def register(region):\n    helper()\n\n\ndef helper():\n    int('x')\n", 6),
    ],
)
@pytest.mark.parametrize("command", [["run"], ["write", "PAYQ", "A", "-s", "s1"], ["ceci", "ASKTIME", "-s", "s1"]])
def test_an_error_of_the_users_own_code_is_named_by_its_file_and_line(
    tdq: Tdq, tmp_path: Path, module: str, line: int, command: list[str]
) -> None:
    (tmp_path / "pay.yaml").write_text("group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    (tmp_path / "region.yaml").write_text("definitions: [pay.yaml]\nhandlers: [mine]\n")
    (tmp_path / "mine.py").write_text(module)
    ended = tdq(*command)
    assert ended.code == 2
    assert f"mine.py:{line}: ValueError: " in ended.err
    assert "unexpected error" not in ended.err


@pytest.mark.parametrize(("command", "kept"), [("serve", True), ("run", True), ("inquire", False), ("check", False)])
def test_what_may_last_collects_garbage_as_python_does(monkeypatch, capsys, command, kept):
    """A command that ends soon need not look for garbage; one that goes on would keep it."""
    told = []
    monkeypatch.setattr("sys.argv", ["tdq", command, "--help"])
    monkeypatch.setattr("gc.set_threshold", lambda *given: told.append(given))
    monkeypatch.setattr("gc.freeze", lambda: None)
    assert main() == 0
    assert (told == []) is kept


@pytest.mark.parametrize("command", [["write", "Q", "x"], ["inquire"], ["dtaq", "list"], ["serve", "."]])
def test_an_empty_store_is_not_the_current_directory(tdq: Tdq, tmp_path: Path, command: list[str]) -> None:
    """What a shell gives where its variable is not set."""
    ended = tdq(*command, "--store", "")
    assert (ended.code, ended.out) == (2, "")
    assert "--store" in ended.err
    assert "a path is empty" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["run", "card_posting", "--records", "10", "--output", ""], "--output"),
        (["run", "card_posting", "--records", "10", "--output="], "--output"),
        (["pipeline", "run", "card_posting", "--records", "10", "--output", ""], "--output"),
        (["pipeline", "run", ""], "DIR"),
        (["pipeline", "decode", __file__, "--option", "record_format=D", "--stage", ""], "--stage"),
        (["pipeline", "ingest", __file__, "--run", ""], "--run"),
        (["pipeline", "report", "--run", "x", "--output", ""], "--output"),
        (["new", ""], "DIR"),
        (["check", ""], "PATH"),
        (["serve", ""], "DIR"),
        (["topology", ""], "DIR"),
        (["dataset", "layout", ""], "FILE"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(tdq: Tdq, tmp_path: Path, command: list[str], named: str) -> None:
    ended = tdq(*command)
    assert (ended.code, ended.out) == (2, "")
    assert f"Invalid value for '{named}" in ended.err
    assert "a path is empty; . is the current directory" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "own"), [("columns", "--columns"), ("path", "FILE"), ("stage", "--stage"), ("engine", "--engine")]
)
def test_decode_refuses_an_option_that_is_an_argument_of_its_own(tdq: Tdq, name: str, own: str) -> None:
    pytest.importorskip("pyarrow")
    ended = tdq(
        "pipeline", "decode", __file__, "--stage", "s", "--option", "record_format=D", "--option", f"{name}=A,B"
    )
    assert (ended.code, ended.out) == (2, "")
    assert f"--option {name}: give {own} instead" in ended.err


HIDDEN = [
    ("tdqsim.server.serving", ["serve", "card_posting"], "serve"),
    ("tdqsim.server.users", ["users", "list"], "serve"),
    ("mkdocs.config", ["guide", "--html", "site"], "guide"),
    ("numpy", ["pipeline", "warm"], "spark"),
    ("pyspark.sql", ["pipeline", "warm"], "spark"),
]


@pytest.mark.parametrize(("module", "words", "extra"), HIDDEN)
def test_an_extra_that_is_missing_is_named_in_the_same_words(
    tdq: Tdq, monkeypatch: pytest.MonkeyPatch, module: str, words: list[str], extra: str
) -> None:
    if module == "pyspark.sql":
        pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
        pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
    monkeypatch.setitem(sys.modules, module, None)
    ended = tdq(*words)
    assert ended.code == 2
    assert re.search(
        rf" is not installed; {re.escape(sys.executable)} -m pip install .*\[{extra}\]'.* brings it\n$", ended.err
    )
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "type_", "text"),
    [
        ("inquire NOPE", 1, "Condition", "there is no TDQUEUE NOPE"),
        ("inquire NO*", 1, None, "no queue has the name NO*"),
        ("inquire nowhere", 2, "InputError", "neither a queue"),
        ("inquire --option NOPE", 2, "InputError", "--option NOPE"),
        ("inquire --nope", 2, "NoSuchOption", "--nope"),
        ("peek --store typo", 3, "StoreMissing", "typo: there is no store here"),
        ("read PAYQ --store store", 1, "Condition", "queue PAYQ is empty"),
        ("run nowhere", 2, "InputError", "nowhere"),
        ("run --start NONE", 1, "UsageError", "NONE is not defined"),
        ("explain", 2, "InputError", "which queue?"),
        ("dataset layout nothing.cpy", 2, None, "nothing.cpy"),
        ("inquir", 2, None, "inquir"),
    ],
)
def test_json_is_answered_for_errors_too(
    tdq: Tdq, tmp_path: Path, words: str, code: int, type_: str | None, text: str
) -> None:
    (tmp_path / "region.yaml").write_text("definitions: [pay.yaml]\n")
    (tmp_path / "pay.yaml").write_text("group: G\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    assert tdq("write", "PAYQ", "A", "--seed", "--store", "store").code == 0
    assert tdq("read", "PAYQ", "--store", "store").code == 0
    ended = tdq(*words.split(), "--json")
    error = json.loads(ended.out)["error"]
    assert (ended.code, error["exit_code"], text in error["message"]) == (code, code, True)
    assert type_ in (None, error["type"])
    assert error["message"] in ended.err
    if type_ == "Condition":
        assert error["resp"] in ("QIDERR", "QZERO")


def test_definitions_that_are_refused_are_listed_in_json(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text("group: G\ntdqueue:\n- {name: TOOLONG, type: INTRA}\n- {name: A, type: NO}\n")
    error = json.loads(tdq("inquire", "-d", "pay.yaml", "--json").out)["error"]
    assert [each["line"] for each in error["problems"]] == [3, 4]


def test_a_run_without_a_data_set_of_opentime_initial_has_not_gone_well(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n  - {name: PAYI, type: EXTRA, typefile: INPUT, ddname: PAYIN, recordformat: FIXED,\n"
        "     recordsize: 80, blockformat: UNBLOCKED, opentime: INITIAL}\n"
    )
    (tmp_path / "there").write_bytes(b"")
    run = ["run", "-d", str(tmp_path / "pay.yaml"), "-o", str(tmp_path / "out"), "--json", "--dd"]
    missing = tdq(*run, f"PAYIN={tmp_path / 'missing'}")
    assert missing.code == 1
    (failure,) = json.loads(missing.out)["abends"]
    assert failure.startswith("TDQ0009 TDQUEUE(PAYI): Its data set was not opened at install: ")
    there = tdq(*run, f"PAYIN={tmp_path / 'there'}")
    assert (there.code, json.loads(there.out)["abends"]) == (0, [])
    run.remove("--json")
    assert str(tmp_path / "out") not in tdq(*run, f"PAYIN={tmp_path / 'there'}").out  # nothing was written there


def test_what_a_command_has_answered_is_its_only_json(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text("group: G\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    given = ("PAYQ", "-d", "pay.yaml", "-s", "store")
    assert tdq("write", "--seed", *given[:1], "A", *given[1:]).code == 0
    ended = tdq("read", *given, "-n", "2", "--json")
    assert (ended.code, [each["text"] for each in json.loads(ended.out)]) == (1, ["A"])
    ended = tdq("read", *given, "--all", "--json")
    assert (ended.code, json.loads(ended.out)) == (0, [])
    ended = tdq("check", "nothing.yaml", "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (2, False)
    ended = tdq("write", "PAYQ", "-d", "pay.yaml", "-s", "store", "--", "--json")
    assert (ended.code, ended.out) == (0, "PAYQ: 1 written\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_looks_the_same_for_all_commands(tdq: Tdq, command: str) -> None:
    ended = tdq(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: tdq {command} ")
    assert not any(each in ended.out for each in "│╭╰─")
