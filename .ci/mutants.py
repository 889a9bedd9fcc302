"""A sampled mutation check: alter the code in a few dozen places drawn by the commit, and expect tests to notice.

    python .ci/mutants.py [--count N] [--room ROOM]... [--seconds S] [--least PERCENT] [--seed TEXT] [--jobs N]
                          [--kept FILE] [--keep]

Places are drawn by the commit's hash, so that a commit is always judged by the same ones, and each commit by others:
from all code of the package, each kind of change (see _alterations.py) as often as the others. First the tests run once
against a copy in which each drawn place reports which test has come to it (a child process has the name from its
parent's environment). Then, for each mutant, tests that come to its place run: quick ones first, of every module some,
as many as take a few seconds. When one fails, those up to it run on the unaltered code, where they must pass.

A mutant is killed when a test fails, or when its module, the pytest plugin of the package or a module of tests can no
longer be imported. It survives when no test fails, or when no test that ran comes to its place. It is undecided when
its time runs out, when pytest ends in another way, when a test fails on the unaltered code too, and when the first run
was cut short before a test came to its place. The check ends with what it has when the time is over, and fails when
fewer of the decided ones were killed than --least asks for; of fewer than ten that is not asked, since a handful says
nothing about the tests.

A few dozen are little: a good commit would fail by chance. --kept names a table of mutants that were judged before, by
path, kind and change, each with its verdict and, where nobody can notice it, the explanation. Those whose code is still
there are counted with the drawn ones, and --least is asked of the lower bound of the interval that holds the true
share with a probability of 95 % (Wilson). --keep adds the mutants of this run to the table:

    python .ci/mutants.py --count 300 --seconds 14400 --rows 0 --seed kept --kept .ci/kept_mutants.tsv --keep
Rows of facts/rules.tsv are drawn in the same way and altered by tests/facts/test_rule_alterations.py.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
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
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from _alterations import KINDS, Mutant, marked, mutants_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tdqsim"
ROOMS = (
    "core", "facts", "definitions", "datasets", "layouts", "faults", "hosting", "languages", "state", "cics", "ibmi",
    "report", "testing", "client", "cli", "cobol", "probe", "server", "pipeline",
)  # fmt: skip
WITNESSES = (
    "core", "layouts", "definitions", "datasets", "state", "cics", "ibmi", "testing", "recovery", "verified", "cli",
    "languages", "test_job.py", "test_tracing.py", "test_wrong_thread.py", "examples", "report", "cobol", "client",
    "probe", "server", "pipeline",
)  # fmt: skip
"""The folders and modules of tests that may notice. Those of the drawn rooms run first, the quick ones before the slow
ones: what is left when the time is over stays undecided."""
NEARBY = {"server": {"client", "cli"}, "client": {"server"}, "cli": {"server"}, "cobol": {"examples", "cli"}}
SLOW = {"report", "cobol", "client", "probe", "server", "pipeline"}
"""Folders that run only when a place of their room, or one near it, was drawn."""
OUTCOMES = ("killed", "survived", "untouched", "undecided")
LONGEST = 60
COUNTED_CODES = (1, 2)
"""Exit codes of pytest after a test failed, and after a module could not be collected."""
FEW = 10
"""Fewer decided mutants than these do not fail the check."""
TRIES = 50
"""Files that may be drawn for one mutant: not every file, or room, has a place for every kind."""
COLUMNS = ("path", "kind", "change", "verdict", "explanation")
"""Of the table of kept mutants; a verdict of ``explained`` is not counted."""
SURE = 1.96
"""Standard deviations on either side that hold 95 %."""
ENOUGH = 12.0
"""Seconds of tests, as long as they took before, that a mutant is run against."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def drawn_from(rooms: list[str], count: int, chance: random.Random) -> list[Mutant]:
    """Mutants of each kind in turn, from files drawn by their size."""
    files = [path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py"))]
    sizes = [path.stat().st_size for path in files]
    known: dict[Path, list[Mutant]] = {}
    drawn: list[Mutant] = []
    for kind in islice(cycle(KINDS), count * len(KINDS)):
        if len(drawn) == count:
            break
        for path in chance.choices(files, sizes, k=TRIES):
            if path not in known:
                known[path] = list(mutants_of(path))
            wanted = [each for each in known[path] if each.kind == kind and each not in drawn]
            if wanted and is_program(mutant := chance.choice(wanted)):
                drawn.append(mutant)
                break
    return drawn


def is_program(mutant: Mutant) -> bool:
    source = mutant.path.read_text("utf-8")
    try:
        changed = ast.parse(source[: mutant.start] + mutant.new + source[mutant.end :])
        ast.parse(marked(source, {0: mutant.mark}))
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(source))


def shown(mutant: Mutant) -> str:
    return f"{mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.kind}: {mutant.text}"


def apply(mutant: Mutant, there: Path) -> None:
    source = mutant.path.read_text("utf-8")
    file = there / mutant.path.relative_to(ROOT)
    file.write_text(source[: mutant.start] + mutant.new + source[mutant.end :], "utf-8")


def mark(mutants: list[Mutant], there: Path) -> None:
    """Let each place report that a test has come to it."""
    for path in {mutant.path for mutant in mutants}:
        marks = {number: each.mark for number, each in enumerate(mutants) if each.path == path}
        source = marked(path.read_text("utf-8"), marks)
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
    return run_python(["-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], there, seconds, **variables)


def run_python(arguments: list[str], there: Path, seconds: float, **variables: str) -> int | None:
    command = [str(there / ".venv" / "bin" / "python"), *arguments]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | variables
    environment.pop("PYTHONPATH", None)  # it would come before the copy's own sources
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
        rooms = {room_of(each.path) for each in mutants}
        wanted = rooms.union(*(NEARBY.get(room, ()) for room in rooms))
        first = sorted(WITNESSES, key=lambda each: (each not in rooms, each in SLOW))
        folders = [f"tests/{each}" for each in first if each not in SLOW or each in wanted]
        variables = {"TDQ_MUTANTS_COME": str(come), "TDQ_MUTANTS_TIMES": str(times)}
        self.whole = run(["-p", "_mutant_plugin", "-n", str(jobs), *folders], there, seconds, **variables) is not None
        self.seconds = {test: float(taken) for taken, test in pairs(times)}
        self.come: dict[int, set[str]] = defaultdict(set)
        for place, test in pairs(come):
            self.come[int(place)].add(test)
        if mutants and self.whole and not self.come:
            raise SystemExit(f"no test came to any of {len(mutants)} places: the tests did not run, or not in the copy")

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


class Judgement(NamedTuple):
    """Whether a mutant was killed, and by which test or why not."""

    outcome: str
    why: str = ""


def judge(mutant: Mutant, tests: list[str], there: Path, seconds: float) -> Judgement:
    chosen, failed = there / "chosen", there / "failed"
    failed.unlink(missing_ok=True)
    variables = {"TDQ_MUTANTS_CHOSEN": str(chosen), "TDQ_MUTANTS_FAILED": str(failed)}
    begun = time.monotonic()

    def run_tests(tests: list[str]) -> int | None:
        chosen.write_text("\n".join(tests), "utf-8")
        modules = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        left = max(seconds - (time.monotonic() - begun), 1)
        return run(["-x", "-p", "_mutant_plugin", *modules], there, left, **variables)

    apply(mutant, there)
    try:
        code = run_tests(tests)
        if code == 0:
            return Judgement("survived")
        if code is None:
            return Judgement("undecided", "no time is left")
        if code not in COUNTED_CODES or not failed.exists():
            if not is_importable(mutant, there):
                return Judgement("killed", "it cannot be imported")
            return Judgement("undecided", f"pytest ended with {code} and no failed test")
    finally:
        shutil.copy(mutant.path, there / mutant.path.relative_to(ROOT))
    killer = failed.read_text("utf-8").partition("\n")[0]
    if run_tests(tests[: tests.index(killer) + 1] if killer in tests else tests) == 0:
        return Judgement("killed", killer)
    return Judgement("undecided", f"{killer} does not pass on the unaltered code, or not in time")


def is_importable(mutant: Mutant, there: Path) -> bool:
    """Whether Python can import what pytest imports before it collects a test, and the altered module."""
    module = ".".join(mutant.path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    return run_python(["-c", f"import tdqsim.testing.plugin, {module}"], there, LONGEST) == 0


def key_of(mutant: Mutant) -> tuple[str, str, str]:
    return str(mutant.path.relative_to(ROOT)), mutant.kind, mutant.text


def read_kept(path: Path) -> dict[tuple[str, str, str], list[str]]:
    """Verdict and explanation of each kept mutant."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["path"], row["kind"], row["change"]): [row["verdict"], row["explanation"]] for row in rows}


def write_kept(path: Path, kept: dict[tuple[str, str, str], list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows([*key, *verdict] for key, verdict in sorted(kept.items()))


def present(kept: dict[tuple[str, str, str], list[str]]) -> Counter[str]:
    """The verdicts of those kept mutants whose code is still there."""
    known: dict[str, set[tuple[str, str, str]]] = {}
    found: Counter[str] = Counter()
    for key, (verdict, _) in kept.items():
        if key[0] not in known:
            path = ROOT / key[0]
            known[key[0]] = {key_of(each) for each in mutants_of(path)} if path.exists() else set()
        found[verdict] += key in known[key[0]]
    return found


def lower_bound(killed: int, decided: int) -> float:
    """The lower bound of Wilson's interval of the share of killed mutants, in per cent."""
    if not decided:
        return 0.0
    share, spread = killed / decided, SURE**2 / decided
    middle = share + spread / 2
    margin = SURE * (share * (1 - share) / decided + spread / (4 * decided)) ** 0.5
    return 100 * (middle - margin) / (1 + spread)


def rows_noticed(chance: random.Random, there: Path, count: int, seconds: float) -> bool:
    """Whether tests notice alterations of some rules that were drawn."""
    lines = (ROOT / "src" / "tdqsim" / "facts" / "rules.tsv").read_text("utf-8").splitlines()
    ids = [line.split("\t", 1)[0] for line in lines if line and not line.startswith(("#", "id\t"))]
    drawn = chance.sample(ids, min(count, len(ids)))
    words = " or ".join(f"{each}-resp or {each}-message or [{each}]" for each in drawn)
    code = run(["-n", "2", "-m", "slow", "-k", words, "tests/facts/test_rule_alterations.py"], there, seconds)
    verdict = "not decided in time" if code is None else "ok" if code in (0, 5) else "NOT NOTICED"
    print(f"rules {' '.join(drawn)}: {verdict}")
    return code in (0, 5, None)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=27)
    parser.add_argument("--room", action="append", choices=ROOMS, default=[])
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default="")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def told(
    found: Counter[tuple[str, str]], survivors: dict[str, list[str]], before: Counter[str], drawn: int, least: int
) -> bool:
    """Print the outcomes by room, with the survivors; return whether enough were killed."""
    for room in ROOMS:
        counted = [f"{found[room, each]} {each}" for each in OUTCOMES if found[room, each]]
        if counted:
            print(f"{room}: {', '.join(counted)}", *survivors[room], sep="\n    ")
    counts = {each: sum(count for (_, outcome), count in found.items() if outcome == each) for each in OUTCOMES}
    decided = counts["killed"] + counts["survived"] + counts["untouched"]
    late = drawn - sum(counts.values())
    undecided = f"{counts['undecided']} undecided, {late} not tried"
    print(f"{counts['killed']} of {decided} decided mutants killed; {undecided}, of {drawn} drawn")
    enough = decided < FEW or counts["killed"] * 100 >= least * decided
    if before["killed"] + before["survived"] >= FEW:
        killed = before["killed"] + counts["killed"]
        bound = lower_bound(killed, before["killed"] + before["survived"] + decided)
        print(f"with the kept ones at least {bound:.0f} % of all mutants are killed, with a probability of 95 %")
        enough = bound >= least
    return enough


def main() -> int:
    given = arguments()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    chance = random.Random(given.seed or head.stdout.strip() or "no commit")  # noqa: S311  (which places, not secrets)
    begun = time.monotonic()
    drawn = drawn_from(given.room or list(ROOMS), given.count, chance)
    found: Counter[tuple[str, str]] = Counter()
    survivors: dict[str, list[str]] = defaultdict(list)
    kept = read_kept(given.kept) if given.kept else {}
    before = present(kept)
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
            mutant, tests = drawn[place], witnesses.of(place)
            if tests:
                there = copies.get()
                judged = judge(mutant, tests, there, min(LONGEST, left))
                copies.put(there)
            elif witnesses.whole:
                judged = Judgement("untouched")
            else:
                judged = Judgement("undecided", "no test came to it in the time of the first run")
            found[room_of(mutant.path), judged.outcome] += 1
            come = f"{len(witnesses.come[place])} tests come to it"
            print(f"{judged.outcome:9} {shown(mutant)} ({judged.why or come})", flush=True)
            if judged.outcome in ("survived", "untouched"):
                survivors[room_of(mutant.path)].append(shown(mutant))
            if judged.outcome != "undecided" and key_of(mutant) not in kept:
                kept[key_of(mutant)] = ["killed" if judged.outcome == "killed" else "survived", ""]

        with ThreadPoolExecutor(given.jobs) as threads:
            list(threads.map(verdict, range(len(drawn))))
    if given.keep and given.kept:
        write_kept(given.kept, kept)
    enough = told(found, survivors, before, len(drawn), given.least)
    return 0 if rows and enough else 1


if __name__ == "__main__":
    sys.exit(main())
