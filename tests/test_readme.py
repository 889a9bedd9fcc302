"""What README.md and the guide say is run: their code blocks, their commands, and the two commands to paste.

A block's info string says what it is: ``python`` and ``yaml`` with ``file=NAME`` are written to that file (a test file is
then run; with the word ``fails`` it has to fail), other ``python`` blocks of one page run one after the other in one
namespace, ``sh`` blocks line by line. An ``output`` block is what the block before it prints, where ``...`` stands for
anything. ``<!-- cobc -->`` before a block says that it compiles COBOL: its page is skipped where there is no compiler.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tdqsim.cli import main
from tdqsim.cli.chapters import CHAPTERS, chapter_text
from tdqsim.cli.examples import examples_folder
from tdqsim.cli.rule_pages import PAGES as PAGES_MADE
from tdqsim.cobol import CobolMissing
from tdqsim.cobol.toolchain import compiler_path
from tests import apart

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "src" / "tdqsim" / "guide"
PAGES = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\bfile=(\S+)")
PASTED = "python3 -m venv"
NEEDS = {
    "coming-from-cobrix": ("pyarrow", "spark"),
    "hostservers": ("cryptography", "serve"),
    "pipeline": ("pyarrow", "spark"),
    "qsam-options": ("pyarrow", "spark"),
    "serve": ("uvicorn", "serve"),
    "spark": ("pyiceberg", "lakehouse"),
    "start-data": ("pyarrow", "spark"),
}
"""What pages need beyond the package: a module, and the extra that brings it."""
COBOL = "<!-- cobc -->\n```python"
ALONE = "TDQ_PAGE_ALONE"
"""Set where a page has the process to itself."""


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    file: str
    text: str
    fails: bool


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        named = FILE.search(match[2])
        line = text.count("\n", 0, match.start(3)) + 1
        found.append(Block(page, line, match[1], named[1] if named else "", match[3], "fails" in match[2].split()))
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory as the reader has it: an empty one."""
    monkeypatch.chdir(tmp_path)
    for name in ("TDQ_REGION", "TDQ_STORE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run_python(block: Block, namespace: dict[str, object]) -> None:
    source = "\n" * (block.line - 1) + block.text  # so that a failure names the line of the page
    exec(compile(source, str(block.page), "exec"), namespace)


def run_test_file(path: Path, *, fails: bool) -> str:
    done = apart.run("-m", "pytest", "-q", "-p", "no:cacheprovider", path.name, cwd=path.parent)
    assert done.returncode == (1 if fails else 0), done.stdout + done.stderr
    return done.stdout


def assert_printed(block: Block, printed: str) -> None:
    """That what a block shows is what was printed, line by line; ... is anything on a line, or any lines."""
    text = re.escape(block.text.rstrip("\n")).replace(r"\.\.\.", ".*?")
    assert re.fullmatch(text, printed.rstrip("\n"), re.DOTALL), (
        f"{name_of(block.page)}:{block.line}: the page shows\n{block.text}\nand printed is\n{printed}"
    )


def run_shell(block: Block, desk: Path) -> None:
    for line in block.text.splitlines():
        if line.startswith(PASTED):
            continue  # these two have tests of their own
        words = shlex.split(line, comments=True)
        assert words[0] == "tdq", f"{name_of(block.page)}:{block.line}: do not know how to run {line!r}"
        bring_input(words, desk)
        assert main(words[1:]) == 0, line


def bring_input(words: list[str], desk: Path) -> None:
    """The reader's own data sets, where a command names some."""
    if not any(word.startswith("DALYTRAN=") for word in words):
        return
    sys.path.insert(0, str(examples_folder() / "card_posting"))
    from card_generate import generate

    generate(desk, 200, seed=1)


def compiles_cobol(page: Path) -> bool:
    return COBOL in page.read_text("utf-8")


def skip_what_lacks_something(page: Path) -> None:
    module, extra = NEEDS.get(page.stem, ("tdqsim", ""))
    pytest.importorskip(module, reason=f"the extra tdqsim[{extra}] is not installed")
    if compiles_cobol(page):
        try:
            compiler_path()
        except CobolMissing as missing:
            pytest.skip(str(missing))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.cobc] if compiles_cobol(page) else [], id=name_of(page)) for page in PAGES],
)
def test_the_blocks_of_a_page_run(
    page: Path, desk: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    skip_what_lacks_something(page)
    _, extra = NEEDS.get(page.stem, ("", ""))
    if extra == "spark" and ALONE not in os.environ:  # Spark finds relative names where its Java was started
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", request.node.nodeid]
        done = subprocess.run(command, cwd=request.config.rootpath, env={**os.environ, ALONE: "1"}, check=False)
        assert done.returncode == 0
        return
    namespace: dict[str, object] = {"__name__": "guide"}
    printed = ""
    for block in blocks_of(page):
        if block.kind == "output":
            assert_printed(block, printed)
            continue
        if block.file:
            (desk / block.file).write_text(block.text, "utf-8")
            if block.file.startswith("test_"):
                printed = run_test_file(desk / block.file, fails=block.fails)
            continue
        if block.kind == "python":
            run_python(block, namespace)
        elif block.kind == "sh":
            run_shell(block, desk)
        else:
            pytest.fail(f"{name_of(page)}:{block.line}: a block of {block.kind} without file= is tested by nobody")
        printed = capsys.readouterr().out


def test_the_definitions_of_the_guide_are_right(desk: Path) -> None:
    for block in blocks_of(GUIDE / "definitions.md"):
        if block.file:
            (desk / block.file).write_text(block.text, "utf-8")
    assert main(["check", "payments.yaml", "region.yaml"]) == 0


def test_every_chapter_is_in_the_index() -> None:
    files = {page.stem: page.read_text("utf-8") for page in GUIDE.glob("*.md") if page.stem != "index"}
    assert files.keys() | PAGES_MADE.keys() == CHAPTERS.keys()
    assert not files.keys() & PAGES_MADE.keys()
    for name, chapter in CHAPTERS.items():
        assert chapter_text(name).startswith(f"# {chapter.title}\n")
    rows = [line for line in (GUIDE / "index.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == len(CHAPTERS) + 2 * 7  # with the heads of seven tables
    assert list(dict.fromkeys(each.group for each in CHAPTERS.values())) == [
        "Begin", "The three uses", "CICS", "IBM i", "Break things", "Programs, servers, data", "Reference",
    ]  # fmt: skip
    assert CHAPTERS["sure"].purpose == "Look up the source of each rule, and report how a real system behaves."


def test_the_readme_is_short_and_shows_the_product_first() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 120
    assert len(text.split()) <= 550
    assert next(at for at, line in enumerate(lines, 1) if line.startswith("tdqueue:")) <= 20
    assert next(at for at, line in enumerate(lines, 1) if line.startswith("def test_")) <= 40


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            made = page.parent == GUIDE and target.removesuffix(".md") in PAGES_MADE
            assert made or (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def test_every_dependency_has_an_upper_bound() -> None:
    made = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    given = [*made["build-system"]["requires"], *made["project"]["dependencies"]]
    for group in (*made["project"]["optional-dependencies"].values(), *made["dependency-groups"].values()):
        given += [each for each in group if isinstance(each, str)]
    assert len(given) > 40
    others = [each for each in given if not each.startswith(f"{made['project']['name']}[")]  # an extra may name another
    assert [each for each in others if "<" not in each.partition(";")[0]] == []


def pasted_commands() -> list[str]:
    text = (ROOT / "README.md").read_text("utf-8")
    return [line for line in text.splitlines() if line.startswith(PASTED)]


def test_there_are_two_commands_to_paste_and_the_check_runs_both() -> None:
    assert [line.rsplit("/", 1)[-1].split()[0] for line in pasted_commands()] == ["tdq", "pytest"]
    assert f"grep '^{PASTED}' README.md" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("command", pasted_commands(), ids=["run", "test"])
def test_a_pasted_command_works_in_a_fresh_clone(command: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    ignore = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "tdq-out")
    shutil.copytree(ROOT, clone, ignore=ignore)
    environment = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


RECORDS = {"writeq_td", "writeq_td_all", "seed", "assert_records", "readq_td", "peek"}
ITS_OWN_BYTES = {"cobol", "start-python"}
"""A chapter that tells how GnuCOBOL's ASCII programs write, and one whose test fails because it forgets."""


def spelt_records(source: str) -> list[str]:
    """Where text is written or compared as bytes in a request or a comparison about records of a queue."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call | ast.Compare):
            continue
        inner = list(ast.walk(node))
        named = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in inner}
        spelt = [one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, bytes)]
        if named & RECORDS:
            found += [f"{node.lineno}: {each!r}" for each in spelt if re.search(rb"[A-Za-z0-9]", each)]
    return found


def test_examples_write_and_compare_records_as_text() -> None:
    """One story of code pages: text becomes bytes, and bytes text, by the region's helpers."""
    assert spelt_records('task.writeq_td("PAYQ", b"10.00")')
    assert spelt_records('assert region.peek("PAYQ") == [b"10.00"]')
    assert not spelt_records('task.writeq_td("PAYQ", task.encode("10.00")); task.readq_td("Q", nohandle=True) == b""')
    pages = [page for page in PAGES if page.stem not in ITS_OWN_BYTES]
    python = {
        f"{name_of(page)}:{block.line}": block.text
        for page in pages
        for block in blocks_of(page)
        if block.kind == "python"
    }
    python |= {name_of(file): file.read_text("utf-8") for file in (ROOT / "examples").rglob("*.py")}
    assert {place: found for place, source in python.items() if (found := spelt_records(source))} == {}
