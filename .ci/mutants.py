"""A sampled mutation check: alter the code in a few dozen places drawn by the commit, and expect tests to notice.

    python .ci/mutants.py [--count N] [--seconds S] [--least PERCENT] [--seed TEXT] [--jobs N]

Places and alterations are drawn by the commit's hash, so that a commit is always judged by the same ones, and each
commit by others. First the tests run once against a copy in which each drawn place says which test has come to it (a
child process has the name from its parent's environment). Then each mutant is run against tests that come to its place:
quick ones first, of every module some, as many as fit a few seconds. It is killed when one fails; it survives when none
does, or when no test comes there; it is undecided when its time runs out, or when the first run was cut short before a
test came there. The check ends with what it has when the time is over, and fails when fewer of the decided ones were
killed than must be.
Rows of facts/rules.tsv are drawn in the same way and altered by tests/facts/test_rule_alterations.py.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("cics", "core", "datasets", "definitions", "ibmi", "layouts", "testing")
COMPARED = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
            ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*"}
WITNESSES = (*ROOMS, "recovery", "verified")
"""The folders of tests that may notice: those of the rooms and those of what a region does after a crash."""
LONGEST = 90
ENOUGH = 20.0
"""Seconds of tests, as long as they took before, that a mutant is run against."""


class Mutant(NamedTuple):
    """One alteration: the file, where the operands begin, where the operator stands, and what stands there instead."""

    path: Path
    begin: int
    start: int
    end: int
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    source = path.read_text("utf-8")
    offsets = [0]
    for row in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(row))
    encoded = source.splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        return offsets[line - 1] + len(encoded[line - 1].encode()[:column].decode())

    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for inner in code_of(node):
            for left, right, new in altered(inner):
                start, end = at(left.end_lineno, left.end_col_offset), at(right.lineno, right.col_offset)
                between = source[start:end]
                old = between.strip("() \\\n")
                if old and "#" not in between:
                    begin = at(left.lineno, left.col_offset)
                    yield Mutant(path, begin, start, end, left.end_lineno, f"{old} becomes {new}")


def code_of(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What runs when it is called: no function within, which has its own turn, and no annotation.

    Nor an f-string, in which nothing knows its place before Python 3.12.
    """
    left: list[ast.AST] = [*function.body]
    while left:
        node = left.pop()
        yield node
        left += [
            each
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns")
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, ast.AST) and not isinstance(each, ast.FunctionDef | ast.JoinedStr)
        ]


def altered(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        yield node.left, node.comparators[0], COMPARED[type(node.ops[0])]
    elif isinstance(node, ast.BoolOp):
        yield node.values[0], node.values[1], "or" if isinstance(node.op, ast.And) else "and"
    elif isinstance(node, ast.BinOp) and type(node.op) in COUNTED and not isinstance(node.left, ast.Constant):
        yield node.left, node.right, COUNTED[type(node.op)]


def apply(mutant: Mutant, there: Path) -> None:
    source = mutant.path.read_text("utf-8")
    old, new = mutant.text.rsplit(" becomes ", 1)
    between = source[mutant.start : mutant.end]
    file = there / mutant.path.relative_to(ROOT)
    file.write_text(source[: mutant.start] + between.replace(old, new, 1) + source[mutant.end :], "utf-8")


def mark(mutants: list[Mutant], there: Path) -> None:
    """Let each place say that it was come to, before its left operand is looked at."""
    for path in {mutant.path for mutant in mutants}:
        source = path.read_text("utf-8")
        inserted = []  # where, and at one place the operands that reach furthest first
        for number, each in enumerate(mutants):
            if each.path == path:
                inserted += [(each.begin, -each.start, f"(come_to({number}) or ("), (each.start, 0, "))")]
        for where, _, text in sorted(inserted, key=lambda each: each[:2], reverse=True):
            source = source[:where] + text + source[where:]
        ast.parse(source)
        (there / path.relative_to(ROOT)).write_text(source, "utf-8")


def make_copy(there: Path) -> None:
    """The project with a Python that finds the copy's sources first, also where it is started isolated."""
    shutil.copytree(ROOT, there, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache"))
    venv.create(there / ".venv", symlinks=True)
    (site,) = (there / ".venv" / "lib").glob("python*/site-packages")
    installed = [each for each in sys.path if "site-packages" in each]
    lines = [str(there / "src"), *installed, "import _come_to"]
    for name in ("_come_to.py", "_mutant_plugin.py"):
        shutil.copy(Path(__file__).with_name(name), site)
    (site / "altered.pth").write_text("\n".join(lines), "utf-8")


def run(arguments: list[str], there: Path, seconds: float, **variables: str) -> int | None:
    """The exit code of pytest, or None when the time is over; what it has started ends with it."""
    command = [str(there / ".venv" / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=there, env=environment, start_new_session=True, **quiet) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Witnesses:
    """Which tests come to which of the drawn places, and how long each takes."""

    def __init__(self, mutants: list[Mutant], work: Path, jobs: int, seconds: float) -> None:
        there, come, times = work / "marked", work / "come", work / "times"
        make_copy(there)
        mark(mutants, there)
        come.touch()
        times.touch()
        folders = [f"tests/{each}" for each in WITNESSES]
        variables = {"TDQ_MUTANTS_COME": str(come), "TDQ_MUTANTS_TIMES": str(times)}
        self.whole = run(["-p", "_mutant_plugin", "-n", str(jobs), *folders], there, seconds, **variables) is not None
        self.seconds = {test: float(taken) for taken, test in pairs(times)}
        self.come: dict[int, set[str]] = defaultdict(set)
        for place, test in pairs(come):
            self.come[int(place)].add(test)

    def of(self, place: int) -> list[str]:
        """The tests to run, quick ones first and the modules in turn; then others of the same modules.

        What is kept for later (a table made at import, an answer kept in a cache) is made in one test and used by many.
        """
        found = self.come[place] & self.seconds.keys()
        modules = {test.partition("::")[0] for test in found}
        others = {test for test in self.seconds if test.partition("::")[0] in modules} - found
        if "" in self.come[place]:  # at import: any test may see it
            others = self.seconds.keys() - found
        chosen, left = [], ENOUGH
        for test in [*self.in_turn(found), *self.in_turn(others)]:
            left -= self.seconds[test]
            if chosen and left < 0:
                break
            chosen.append(test)
        return chosen

    def in_turn(self, tests: set[str]) -> list[str]:
        places: dict[str, int] = defaultdict(int)
        ranked = []
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            module = test.partition("::")[0]
            ranked.append((places[module], self.seconds[test], test))
            places[module] += 1
        return [test for *_, test in sorted(ranked)]


def pairs(path: Path) -> Iterator[list[str]]:
    return (line.split("\t", 1) for line in path.read_text("utf-8").splitlines())


def judge(mutant: Mutant, tests: list[str], there: Path, seconds: float) -> str:
    if not tests:
        return "untouched"
    apply(mutant, there)
    chosen = there / "chosen"
    chosen.write_text("\n".join(tests), "utf-8")
    modules = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    try:
        code = run(["-x", "-p", "_mutant_plugin", *modules], there, seconds, TDQ_MUTANTS_CHOSEN=str(chosen))
    finally:
        shutil.copy(mutant.path, there / mutant.path.relative_to(ROOT))
    return {0: "survived", 1: "killed", 2: "killed"}.get(code, "undecided")  # 2: a module cannot be imported


def rows_noticed(chance: random.Random, there: Path, count: int, seconds: float) -> bool:
    """Whether tests notice alterations of some rules that were drawn."""
    lines = (ROOT / "src" / "tdqsim" / "facts" / "rules.tsv").read_text("utf-8").splitlines()
    ids = [line.split("\t", 1)[0] for line in lines if line and not line.startswith(("#", "id\t"))]
    drawn = chance.sample(ids, min(count, len(ids)))
    words = " or ".join(f"{each}-resp or {each}-message" for each in drawn)
    code = run(["-n", "2", "-m", "slow", "-k", words, "tests/facts/test_rule_alterations.py"], there, seconds)
    verdict = "not decided in time" if code is None else "ok" if code in (0, 5) else "NOT NOTICED"
    print(f"rules {' '.join(drawn)}: {verdict}")
    return code in (0, 5, None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default="")
    given = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    chance = random.Random(given.seed or head.stdout.strip() or "no commit")  # noqa: S311  (which places, not secrets)
    begun = time.monotonic()
    files = sorted(each for room in ROOMS for each in (ROOT / "src" / "tdqsim" / room).rglob("*.py"))
    all_of_them = [mutant for path in files for mutant in mutants_of(path)]
    drawn = chance.sample(all_of_them, min(given.count, len(all_of_them)))
    found: dict[str, int] = defaultdict(int)
    with tempfile.TemporaryDirectory() as work:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(given.jobs):
            make_copy(Path(work) / f"copy{number}")
            copies.put(Path(work) / f"copy{number}")
        rows = rows_noticed(chance, Path(work) / "copy0", given.rows, given.seconds / 3) if given.rows else True
        witnesses = Witnesses(drawn, Path(work), given.jobs, given.seconds * 2 / 3)

        def verdict(place: int) -> None:
            left = given.seconds - (time.monotonic() - begun)
            if left < 1:
                return
            tests = witnesses.of(place)
            there = copies.get()
            said = judge(drawn[place], tests, there, min(LONGEST, left)) if tests or witnesses.whole else "undecided"
            copies.put(there)
            found[said] += 1
            print(f"{said:9} {drawn[place]} ({len(witnesses.come[place])} tests come there)", flush=True)

        with ThreadPoolExecutor(given.jobs) as threads:
            list(threads.map(verdict, range(len(drawn))))
    decided = found["killed"] + found["survived"] + found["untouched"]
    print(f"{found['killed']} of {decided} killed, {found['undecided']} undecided, of {len(all_of_them)} places")
    return 0 if rows and found["killed"] * 100 >= given.least * decided else 1


if __name__ == "__main__":
    sys.exit(main())
