"""The hook for pre-commit: its definition is one, and it finds the files that it is about and what is wrong in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tdqsim.cli import main

MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
COMMAND = f"{sys.executable} -c 'import sys; from tdqsim.cli import main; sys.exit(main())' check"


@pytest.fixture
def hook() -> dict[str, Any]:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    (hook,) = yaml.safe_load(MANIFEST.read_text("utf-8"))
    return hook


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def run(hook: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run the hook on all files by pre-commit itself, with the package that is installed here in place of another."""
    ours = {name: value for name, value in hook.items() if name not in ("entry", "language")}
    config = {"repos": [{"repo": "local", "hooks": [{**ours, "entry": COMMAND, "language": "system"}]}]}
    Path(".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    git("add", "-A")
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", "--color=never"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_definition_is_one(hook: dict[str, Any]) -> None:
    from pre_commit.clientlib import load_manifest

    assert [each["id"] for each in load_manifest(str(MANIFEST))] == ["tdq-check"]
    assert (hook["entry"], hook["language"]) == ("tdq check", "python")


def test_it_checks_region_directories_and_definition_files(
    hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    Path(".gitignore").write_text("home\n")
    git("init", "-q", ".")
    assert main(["new", "pay"]) == 0
    Path("definitions-test.yaml").write_text("group: A\ntdqueue:\n  - {name: LOGQ, type: INTRA}\n")
    Path("other.yaml").write_text("no: definitions\n")
    right = run(hook)
    assert right.returncode == 0, right.stdout + right.stderr
    assert "pay/region.yaml: 3 resources" in right.stdout
    assert "definitions-test.yaml: 1 resource in 1 group" in right.stdout
    assert "other.yaml" not in right.stdout
    payments = Path("pay/payments.yaml")
    payments.write_text(payments.read_text("utf-8").replace("triggerlevel: 2", "triggerlevel: many"))
    wrong = run(hook)
    assert wrong.returncode == 1
    assert "payments.yaml:9: TDQUEUE(PAYQ) triggerlevel" in wrong.stdout
