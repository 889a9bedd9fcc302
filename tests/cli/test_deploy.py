"""The examples of deployment: the steps of the Dockerfile, the workflow and the hook work as they are written."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tdq

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its arguments."""
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if not line.startswith("#"))]


def command() -> list[str]:
    """What the container runs."""
    (words,) = (json.loads(rest) for word, rest in instructions() if word == "CMD")
    return words


def steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load((DEPLOY / "github-workflow.yml").read_text("utf-8"))
    return workflow["jobs"]["check"]["steps"]


def test_the_container_runs_options_that_the_command_has(tdq: Tdq) -> None:
    program, verb, *words = command()
    listed = tdq(verb, "--help").out
    assert (program, verb) == ("tdq", "serve")
    assert [word for word in words if word.startswith("--") and word not in listed] == []


def test_the_workflow_checks_and_tests_what_new_writes(tdq: Tdq) -> None:
    runs = [shlex.split(step["run"]) for step in steps() if "run" in step]
    assert [words[0] for words in runs] == ["python", "tdq", "pytest"]
    assert tdq("new", "pay").code == 0
    assert tdq(*runs[1][1:]).code == 0
    assert runs[2][1] == "pay"
    assert Path("pay/test_payments.py").exists()


def test_a_copy_says_what_to_do_with_it(tdq: Tdq) -> None:
    made = tdq("new", "mine", "--example", "deploy")
    assert made.code == 0
    assert "next: read the first lines of each file" in made.out


def test_the_hook_is_that_of_the_manifest() -> None:
    (repo,) = yaml.safe_load((DEPLOY / "pre-commit-config.yaml").read_text("utf-8"))["repos"]
    manifest = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [each["id"] for each in repo["hooks"]] == [each["id"] for each in manifest]


@pytest.mark.slow
def test_the_steps_of_the_container_work_in_a_clean_directory(tmp_path: Path) -> None:
    """Each step as a container does it, below a directory in place of /; the user is the one who runs the test."""
    place = tmp_path
    for folder in ("usr/local/bin", "home/tdq", "opt"):
        (tmp_path / folder).mkdir(parents=True)
    environment = {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}
    skipped = ("FROM", "USER", "EXPOSE", "HEALTHCHECK", "CMD")
    for word, rest in instructions():
        below = rest.replace("/opt/", f"{tmp_path}/opt/").replace("/home/", f"{tmp_path}/home/")
        if word == "WORKDIR":
            place = Path(below)
            place.mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "tdq-out")
            shutil.copytree(ROOT, place, ignore=ignored, dirs_exist_ok=True)
        elif word == "ENV":
            name, _, value = below.partition("=")
            environment[name] = value
        elif word == "RUN" and not rest.startswith("useradd"):
            done = subprocess.run(
                below, shell=True, cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            assert word in skipped or word == "RUN", f"{word}: a step that the test does not know"
    words = [f"{tmp_path}/opt/venv/bin/{command()[0]}", *command()[1:]]
    words[words.index("--port") + 1] = "0"
    server = subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        first = server.stdout.readline()
        assert first.startswith("Serving CARDREGN, ORDREGN, QUEREGN, STKREGN at http://0.0.0.0:")
        url = first.split(" at ")[1].split("/api")[0].replace("0.0.0.0", "127.0.0.1")
        (check,) = (json.loads(rest.removeprefix("CMD ")) for word, rest in instructions() if word == "HEALTHCHECK")
        program = check[2].replace("http://127.0.0.1:8470", url)
        done = subprocess.run([f"{tmp_path}/opt/venv/bin/python", "-c", program], check=False)
        assert done.returncode == 0
    finally:
        server.terminate()
        server.communicate()
