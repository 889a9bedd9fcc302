"""A sampled mutation check: alter the code in a few dozen places drawn by the commit, and expect tests to notice.

    python .ci/mutants.py [--count N] [--seconds S] [--least PERCENT] [--seed TEXT]

Places and alterations are drawn by the commit's hash, so that a commit is always judged by the same ones, and each
commit by others. A mutant is run against the test modules of its room that name its module or something that it
defines, those that name it most first. It is killed when one fails; it survives when none does; it is undecided
when its time runs out. The check ends with what it has when the time is over, and fails when fewer of the decided
ones were killed than must be.
Rows of facts/rules.tsv are drawn in the same way and altered by tests/facts/test_rule_alterations.py.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("cics", "core", "datasets", "definitions", "ibmi", "layouts", "testing")
COMPARED = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
            ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*"}
LONGEST = 90


class Mutant(NamedTuple):
    """One alteration: the file, where in it, and what stands there instead."""

    path: Path
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
        for inner in ast.walk(node):
            for left, right, new in altered(inner):
                start, end = at(left.end_lineno, left.end_col_offset), at(right.lineno, right.col_offset)
                between = source[start:end]
                old = between.strip("() \\\n")
                if old and "#" not in between:
                    yield Mutant(path, start, end, left.end_lineno, f"{old} becomes {new}")


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


def tests_for(path: Path) -> list[str]:
    """The test modules of the room that name the module or what it defines, those that name it most first."""
    room = path.relative_to(ROOT / "src" / "tdqsim").parts[0]
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} | {
        path.stem.strip("_")
    }
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    folder = ROOT / "tests" / room
    counted = {each: len(pattern.findall(each.read_text("utf-8"))) for each in folder.rglob("test_*.py")}
    ranked = sorted((each for each in counted if counted[each]), key=lambda each: (-counted[each], str(each)))
    return [str(each.relative_to(ROOT)) for each in (ranked or sorted(counted))[:6]]


def make_interpreter(there: Path) -> None:
    """A Python that finds the altered sources first, also where it is started isolated, as what looks at stores is."""
    venv.create(there / ".venv", symlinks=True)
    (site,) = (there / ".venv" / "lib").glob("python*/site-packages")
    installed = [each for each in sys.path if "site-packages" in each]
    (site / "altered.pth").write_text("\n".join([str(there / "src"), *installed]), "utf-8")


def run(arguments: list[str], there: Path, seconds: float) -> int | None:
    command = [str(there / ".venv" / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=there, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def judge(mutant: Mutant, there: Path, seconds: float) -> str:
    apply(mutant, there)
    try:
        code = run(["-x", "-n", "2", *tests_for(mutant.path)], there, seconds)
    finally:
        shutil.copy(mutant.path, there / mutant.path.relative_to(ROOT))
    return "undecided" if code is None else "survived" if code == 0 else "killed"


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
    parser.add_argument("--least", type=int, default=70)
    parser.add_argument("--seed", default="")
    given = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    chance = random.Random(given.seed or head.stdout.strip() or "no commit")  # noqa: S311  (which places, not secrets)
    begun = time.monotonic()
    files = sorted(each for room in ROOMS for each in (ROOT / "src" / "tdqsim" / room).rglob("*.py"))
    all_of_them = [mutant for path in files for mutant in mutants_of(path)]
    found: dict[str, list[Mutant]] = {"killed": [], "survived": [], "undecided": []}
    with tempfile.TemporaryDirectory() as work:
        there = Path(work) / "tdqsim"
        shutil.copytree(ROOT, there, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache"))
        make_interpreter(there)
        rows = rows_noticed(chance, there, given.rows, given.seconds / 3)
        for mutant in chance.sample(all_of_them, min(given.count, len(all_of_them))):
            left = given.seconds - (time.monotonic() - begun)
            if left < 1:
                break
            verdict = judge(mutant, there, min(LONGEST, left))
            found[verdict].append(mutant)
            print(f"{verdict:9} {mutant}", flush=True)
    killed, decided = len(found["killed"]), len(found["killed"]) + len(found["survived"])
    print(f"{killed} of {decided} killed, {len(found['undecided'])} undecided, of {len(all_of_them)} places")
    return 0 if rows and killed * 100 >= given.least * decided else 1


if __name__ == "__main__":
    sys.exit(main())
