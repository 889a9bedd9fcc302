"""Whether tests notice when a claim is taken away: ``python -m tests.quality --ablate``.

A test may exercise an option without looking at what it does. So each claim that tests exercise
(:mod:`~tests.quality.evidence`) is taken away while tests that exercise it run: the command does nothing, the option
is dropped, the attribute has its default, the condition is another one, the receiver gets nothing. A test *holds* the
claim if it passes with it and fails without it. The verdicts, the name of such a test for each claim or an empty name,
are kept in a file beside the coverage page.

The tests run in a process of their own (:mod:`~tests.quality._ablation_plugin`), many claims in one process. If the
process ends early, or a test does not end, another process goes on with the claims that are left.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import UsageError
from tests.quality.evidence import Evidence

__tracebackhide__ = True  # the frames between a test and the package are not those of the user

KINDS: Final = ("command", "option", "condition", "receiver", "attribute", "api", "api-message", "message")
"""The kinds of claims that can be taken away; rules and formats cannot."""
_AT_ONCE: Final = 150
"""The claims of one process."""
_STUCK: Final = 180
"""A process that tries one test for so many seconds is ended."""
_STARTING: Final = 300

_ROOT: Final = Path(__file__).resolve().parents[2]
"""The clone, in which a process finds ``tests``."""
Verdicts = dict[str, str]
"""For each claim the test that fails without it; empty if none of those that were tried does."""


def load_verdicts(path: Path) -> Verdicts:
    """Read verdicts from a file; a file that is not there has none.

    Raises:
        UsageError: the file has no verdicts.
    """
    if not path.exists():
        return {}
    try:
        read = json.loads(path.read_text("utf-8"))
        return {str(claim): str(test) for claim, test in read.items()}
    except (ValueError, AttributeError) as error:
        raise UsageError(
            f"{path}: these are no verdicts; python -m tests.quality --ablate writes them: {error}"
        ) from error


def save_verdicts(path: Path, verdicts: Mapping[str, str]) -> None:
    """Write verdicts to a file."""
    stays_here(path).write_text(json.dumps(dict(sorted(verdicts.items())), indent=0) + "\n", "utf-8")


def draw(verdicts: Mapping[str, str], count: int, seed: str) -> dict[str, list[str]]:
    """Some claims that are held, each with the test that holds it; the same for the same seed."""
    held = sorted(claim for claim, test in verdicts.items() if test)
    chosen = random.Random(seed).sample(held, min(count, len(held)))
    return {claim: [verdicts[claim]] for claim in chosen}


def open_claims(evidence: Evidence, verdicts: Mapping[str, str]) -> dict[str, list[str]]:
    """The claims that tests exercise and none is known to hold, with the tests to try."""
    wanted = (claim for claim in evidence.claims() if claim.partition(" ")[0] in KINDS and not verdicts.get(claim))
    return {claim: evidence.tests(claim) for claim in wanted}


def ablate(claims: Mapping[str, Sequence[str]], progress: Callable[[str, str], None] = lambda _c, _t: None) -> Verdicts:
    """Try tests without claims, in processes that run pytest in the current directory.

    Args:
        claims: the node ids of the tests to try, by claim.
        progress: called with each claim and the test that holds it, or an empty name.

    Returns:
        The verdicts on all claims.
    """
    verdicts: Verdicts = {}
    left = {claim: list(tests) for claim, tests in claims.items()}
    with tempfile.TemporaryDirectory(prefix="tdq-ablate-") as scratch:
        while left:
            plan = Path(scratch) / f"plan{len(left)}.json"
            found, tried = _run(plan, dict(list(left.items())[:_AT_ONCE]))
            if not found and not tried:
                raise UsageError(f"pytest has run none of the tests of {next(iter(left))}; see {_output(plan)}")
            if tried and tried[0] not in found:  # the test without the claim has ended the process
                found[tried[0]] = tried[1]
            for claim, test in found.items():
                verdicts[claim] = test
                left.pop(claim)
                progress(claim, test)
    return verdicts


def _run(plan: Path, claims: Mapping[str, Sequence[str]]) -> tuple[Verdicts, tuple[str, str] | None]:
    """Run one process; returns the verdicts, and what it was trying when it ended without one."""
    plan.write_text(json.dumps(dict(claims)), "utf-8")
    done = plan.with_name(f"{plan.name}.done")
    done.touch()
    files = dict.fromkeys(test.partition("::")[0] for tests in claims.values() for test in tests)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.quality.plugin", f"--tdq-ablate=@{plan}", *files]
    found = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    with plan.with_suffix(".out").open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": found},
        )
        try:
            killed = _wait(process, done)
        finally:
            process.kill()
            process.wait()
    lines = [json.loads(line) for line in done.read_text("utf-8").splitlines() if line.endswith("}")]
    verdicts = {line["claim"]: line["test"] for line in lines if "claim" in line}
    last = lines[-1] if lines else {}
    ended = killed or process.returncode < 0
    return verdicts, (last["trying"], last["test"]) if "trying" in last and ended else None


def _wait(process: subprocess.Popen[bytes], done: Path) -> bool:
    """Wait for the end of a process; whether it made no progress and has to be ended."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            now = done.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > (_STUCK if size else _STARTING):
                return True
    return False


def _output(plan: Path) -> str:
    text = plan.with_suffix(".out").read_text("utf-8", "replace").splitlines()
    return " / ".join(text[-3:])
