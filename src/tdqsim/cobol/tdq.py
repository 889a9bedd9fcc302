"""``tdq cobol``: check, compile and run COBOL CICS programs."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

import tdqsim
from tdqsim import cobol, definitions
from tdqsim.cli import (
    Bar,
    CommandFailed,
    DdOption,
    DefinitionsOption,
    Exit,
    InputError,
    RegionOption,
    RegionTarget,
    StoreOption,
    emit,
    emit_json,
    emit_table,
    warn,
)
from tdqsim.cobol import on_demand
from tdqsim.cobol.file_names import PROGRAMS
from tdqsim.errors import UsageError
from tdqsim.facts import SUPPLIED_QUEUES
from tdqsim.hosting import RegionInternals
from tdqsim.testing import Outcomes

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cobol.case_run import CaseResult
    from tdqsim.cobol.mutation import MutationReport

app = typer.Typer(no_args_is_help=True, help="COBOL CICS programs: check, compile, run and test them.")

_Sources = Annotated[list[Path], typer.Argument(help="COBOL sources, or folders of them.", show_default=False)]
_Copybooks = Annotated[
    list[Path] | None, typer.Option("--copybooks", "-I", help="A folder of copybooks; may be repeated.")
]
_TRANSID = "TDQC"
_TERMINAL = "TDQT"
_HIGHEST_PORT = 65535


def _settings_of(source: Path) -> definitions.RegionFile | None:
    """The region.yaml in the folder of a source, or the nearest one above it, if it has settings for COBOL."""
    folder = source.absolute() if source.is_dir() else source.absolute().parent
    for place in (folder, *folder.parents):
        if (place / definitions.REGION_FILE_NAME).is_file():
            found = definitions.load_region_file(place)
            return None if found.cobol is None else found
    return None


def _programs(sources: list[Path], copybooks: list[Path] | None) -> list[tuple[Path, cobol.Options]]:
    """The sources, each with the options of the compiler: those of its region, with further copybooks."""
    files = _files(sources)
    options: dict[Path, cobol.Options] = {}
    for folder in {file.parent for file in files}:
        found = _settings_of(folder)
        own = cobol.Options() if found is None else on_demand.source_check.options_of(found)
        options[folder] = replace(own, copybooks=(*(copybooks or ()), *own.copybooks))
    return [(file, options[file.parent]) for file in files]


def _files(sources: list[Path]) -> list[Path]:
    files: list[Path] = []
    folders = [*sources]
    for source in sources:
        if (source / definitions.REGION_FILE_NAME).is_file() and (found := _settings_of(source)) is not None:
            folders += [Path(found.directory) / each for each in found.cobol.sources] if found.cobol else []
    for source in folders:
        if source.is_dir():
            files += sorted(path for path in source.rglob("*") if path.suffix.lower() in PROGRAMS and path.is_file())
        else:
            files.append(source)
    if not files:
        given = ", ".join(map(str, sources))
        raise InputError(f"{given}: there is no COBOL source; the names of sources end in {', '.join(PROGRAMS)}")
    return list({file.resolve(): file for file in reversed(files)}.values())[::-1]


@app.command()
def check(
    sources: _Sources,
    copybooks: _Copybooks = None,
    code_page: Annotated[
        bool,
        typer.Option(
            "--code-page", help="Also list the places that behave differently in ASCII than on the mainframe."
        ),
    ] = False,
) -> None:
    """Translate programs and list their errors and unsupported commands; nothing is compiled."""
    wrong = 0

    def translated(program: tuple[Path, cobol.Options]) -> tuple[str, Any]:
        source, text = program[0], ""
        try:
            text = on_demand.compiler.expand(*program)
            return text, on_demand.translate.translate(text, str(source))
        except cobol.CobolError as error:
            return text, error

    programs = _programs(sources, copybooks)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the preprocessors are processes
        for (source, _options), (text, translation) in zip(programs, pool.map(translated, programs), strict=True):
            if isinstance(translation, cobol.CobolError):
                wrong += 1
                typer.echo(str(translation))
                _tell_of_margin(source, text)
                continue
            _tell_of_margin(source, text)
            for each in (translation, *translation.following):
                typer.echo(f"{source}: {each.program}, {len(each.commands)} commands")
                for found in on_demand.source_check.findings(each, source if each is translation else None):
                    wrong += found.wrong
                    typer.echo(found.text)
            for place in on_demand.portability.differences(text, str(source)) if code_page else ():
                typer.echo(str(place))
    if wrong:
        raise typer.Exit(1)


def _tell_of_margin(source: Path, text: str) -> None:
    """List the lines of a program and of its copybooks that have text after column 72.

    Args:
        source: the program.
        text: the program as expanded by the preprocessor; empty if it could not be expanded.
    """
    files = re.findall(r'^#line \d+ "([^"\n]+)"', text, re.MULTILINE)
    for told in on_demand.margins.told_of([str(source), *files]):
        typer.echo(told)


@app.command("compile")
def compile_(sources: _Sources, copybooks: _Copybooks = None) -> None:
    """Compile programs, and keep the modules in the cache for regions that use them."""
    wrong = 0

    programs = _programs(sources, copybooks)
    compiled = on_demand.compiler.compile_together(programs, on_demand.toolchain.default_cache())
    for (source, _options), program in zip(programs, compiled, strict=True):
        if isinstance(program, cobol.CobolError):
            wrong += 1
            typer.echo(str(program))
            continue
        for each in (program, *program.following):
            mistakes = [found.text for found in on_demand.source_check.findings(each) if found.wrong]
            wrong += len(mistakes)
            typer.echo("\n".join([*mistakes, f"{source}: {each.program} compiled"]))
    if wrong:
        raise typer.Exit(1)


@app.command()
def run(
    source: Annotated[Path, typer.Argument(help="The COBOL source of the program.", show_default=False)],
    copybooks: _Copybooks = None,
    region: RegionOption = None,
    definitions: DefinitionsOption = None,
    store: StoreOption = None,
    dd: DdOption = None,
    terminal: Annotated[
        str, typer.Option("--terminal", metavar="TEXT", help="Start the task at a terminal, with this as its input.")
    ] = "",
    trace: Annotated[bool, typer.Option("--trace", help="Print each statement and command.")] = False,
    debug: Annotated[
        str,
        typer.Option(
            "--debug",
            metavar="PORT|stdio",
            help="Wait for a debugger (DAP) on this port of 127.0.0.1, 0 for any free port; or use stdin and stdout.",
        ),
    ] = "",
) -> None:
    """Run a program as a task, and the tasks that it starts; then show its DISPLAY and the queues that have changed."""
    if not source.is_file():
        raise InputError(f"{source}: there is no such file")
    if debug not in ("", "stdio") and not (debug.isascii() and debug.isdigit() and int(debug) <= _HIGHEST_PORT):
        raise InputError(f"--debug {debug}: must be a port from 0 to {_HIGHEST_PORT}, or stdio")
    target = RegionTarget(region, definitions or [], store, dd or [])
    target.check_not_served()
    options = {"copybooks": copybooks or (), "on_statement": _print_step if trace else None}
    child = on_demand.child_process.ChildProcess(lambda _lines: _run(source, target, options, terminal, debug))
    for _ in child.lines():
        pass
    if child.died:
        raise CommandFailed(f"the process that ran {source} has died: {child.died}")
    if child.code == Exit.INTERRUPTED:
        raise KeyboardInterrupt
    if child.code:
        raise typer.Exit(child.code)


def _run(source: Path, target: RegionTarget, options: dict[str, Any], terminal: str, debug: str) -> int:
    """Run the program in this process; returns the exit code."""
    with _debugged(debug), target.modules(), target.open() as made:
        programs = cobol.CobolPrograms(
            made,
            sources=[source.parent],
            cache=on_demand.toolchain.default_cache(),
            on_warning=warn,
            **options,
        )
        if made.options.code_page.encode("A") != b"A":
            programs.settings.pages = on_demand.code_pages.CodePages(expected=True)  # reports records that stay ASCII
        before = {name: state.numitems for name, state in made.snapshot(records=False).items()}
        spooled = len(RegionInternals(made).spool.datasets())
        made.register(_TRANSID, programs.program(source))
        outcomes = Outcomes()
        outcomes.watch(made)
        failed = _task(made, terminal)
        not_done = [each.text for each in outcomes.unexpected()]
        own = f"TRANSACTION({_TRANSID})"  # which nobody has defined
        warnings = [each for each in outcomes.notices if each.severity == "warning" and each.resource != own]
        for text in [*not_done, *map(str, warnings)]:
            warn(text)
        for line in _displayed(made, spooled):
            typer.echo(f"{on_demand.display.QUEUE}: {line}")
        for name, state in made.snapshot(records=False).items():
            if state.numitems != before.get(name):
                typer.echo(f"{name}: {state.numitems} records")
        for text in made.diagnostics.operator:
            typer.echo(f"operator: {text}")
    if failed:
        raise CommandFailed(failed)
    return int(bool(not_done))


def _displayed(region: Region, before: int) -> Iterator[str]:
    """The lines of DISPLAY on the spool, but for the data sets that were there before; a DD card has them elsewhere."""
    spool = RegionInternals(region).spool
    for each in spool.datasets()[before:]:
        if each.ddname == SUPPLIED_QUEUES[on_demand.display.QUEUE].ddname:
            yield from (line.strip() for line in spool.printed(each, region.options.code_page))


@contextmanager
def _debugged(where: str) -> Iterator[None]:
    """Run the block under a debugger that has set its breakpoints; an empty text stands for no debugger."""
    if not where:
        yield
        return
    with on_demand.debug_adapter.debugging(where) as server:
        if server.port:
            typer.echo(f"Waiting for a debugger on port {server.port} of 127.0.0.1.", err=True)
        server.wait()
        yield


def _task(region: Region, typed: str) -> str:
    """Run the program as a task, with input at a terminal; return the reason of a failure, or an empty text."""
    if typed:
        region.install([definitions.define_terminal(name=_TERMINAL)])
        region.screens.screen(_TERMINAL).next_transid = _TRANSID
        handle = region.screens.type(_TERMINAL, typed)
    else:
        handle = region.start(_TRANSID)
    region.run()
    for sent in region.screens.screen(_TERMINAL).sent if typed else ():
        typer.echo(f"{sent.command}: {sent.text or dict(sent.fields)}")
    if handle is None or not handle.done:
        return "the task waits, and nothing can end its wait"
    try:
        handle.result()
    except tdqsim.Abend as abend:
        return str(abend) if abend.dump is None else abend.dump.brief()
    return ""


def _print_step(level: Any, what: str, place: str) -> None:
    typer.echo(f"{level.task.number} {level.module.program} {place} {what}")


@app.command()
def survey(
    folder: Annotated[Path, typer.Argument(help="A folder with COBOL sources.", show_default=False)],
    copybooks: _Copybooks = None,
    compile_only: Annotated[
        bool, typer.Option("--compile-only", help="Compile only; do not run the programs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Report for each CICS program in a folder whether it translates, compiles and runs."""
    counts = {"programs": 0, "translated": 0, "compiled": 0, "ran": 0}
    for results in on_demand.survey.survey(folder, copybooks=copybooks or (), run=not compile_only):
        counts["programs"] += 1
        for name in ("translated", "compiled", "ran"):
            counts[name] += getattr(results, name) == "yes"
        if as_json:
            emit_json(asdict(results), indent=None)
        else:
            typer.echo(f"{results.translated:4}{results.compiled:4}{results.ran:4}{results.source}  {results.why}")
    if not as_json:
        typer.echo(", ".join(f"{number} {name}" for name, number in counts.items()))


@app.command()
def maps(source: Annotated[Path, typer.Argument(help="The BMS source.", show_default=False)]) -> None:
    """Print the symbolic maps of a BMS source as a COBOL copybook."""
    typer.echo(definitions.parse_bms(source.read_text("latin-1"), str(source)).copybook(), nl=False)


@app.command("test")
def run_cases(
    paths: Annotated[list[Path], typer.Argument(help="Case files, or folders of them.", show_default=False)],
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
    ] = None,
    lcov: Annotated[
        Path | None, typer.Option("--coverage", metavar="DIR", help="Write lcov.info and HTML pages of the coverage.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was found into the cases that have differences.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only look for mistakes in the cases; run none.")] = False,
) -> None:
    """Run case files (NAME.case.yaml): tests of transactions written in YAML."""
    files = [file for path in paths for file in on_demand.case_file.case_files(path)]
    if not files:
        raise InputError(f"{', '.join(map(str, paths))}: there is no case file; their names end in .case.yaml")
    results = []
    told: dict[str, str] = {}
    for file, found in groupby(
        on_demand.case_process.run_cases_apart(files, lcov, check_only=check), lambda each: each.file
    ):
        of_file = [_told_once(each, told) for each in found]
        _show_results(file, of_file, "right" if check else "passed")
        if update and (changed := on_demand.case_report.update_case_file(file, of_file)):
            typer.echo(f"{file}: {_cases(changed)} updated")
        results += of_file
    if junit is not None:
        junit.write_text(on_demand.case_report.junit_xml(results), "utf-8")
    failed = sum(not each.passed and not (update and not each.error) for each in results)
    typer.echo(f"{_cases(len(results))}, {failed} failed")
    if failed:
        raise typer.Exit(1)


def _cases(number: int) -> str:
    return "1 case" if number == 1 else f"{number} cases"


def _told_once(result: CaseResult, told: dict[str, str]) -> CaseResult:
    """The result, in which an error of a program that an earlier case has told is only named."""
    for at, reason in enumerate(result.reasons):
        what = reason.partition("abend")[2]
        if "CobolError" in what:
            if what in told:
                result.reasons[at] = f"{reason.partition(':')[0]}: a program cannot be compiled, see case {told[what]}"
            told.setdefault(what, result.name)
    return result


def _show_results(file: Path, results: list[CaseResult], well: str) -> None:
    for result in results:
        typer.echo(f"{well if result.passed else 'FAILED'} {file}: {result.name}")
        if not result.passed:
            typer.echo(re.sub("^", "  ", str(result), flags=re.MULTILINE))


@app.command()
def mutate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="COBOL sources, or folders of them; default: the current directory."),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="ARGUMENT", help="An argument of pytest, such as a test file; repeatable."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="The number of copies of the project that run in parallel.")
    ] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0,
            show_default=False,
            help="The time limit of a mutant; default: 3 times the time of the tests + 10.",
        ),
    ] = 0,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="SECONDS", min=0, help="The time limit of the whole run; 0 for none.")
    ] = 0,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="The maximum number of mutants, chosen by --seed; 0 for all.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="The seed of --limit.")] = 1,
    least: Annotated[
        float,
        typer.Option("--least", metavar="PERCENT", min=0, max=100, help="The exit code is 1 if fewer are killed."),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write every mutant as JSON.")] = False,
) -> None:
    """Make small mistakes in COBOL programs, run the tests, and list the mistakes that no test notices.

    The mistakes: a SYNCPOINT is left out, two commands are swapped, a command names another queue, a response is not
    checked, a record is one byte short, a program stops before QZERO. The tests run in a copy of the current directory
    by pytest; your files are not changed. A mutant is killed when a test fails, and survives when all pass.
    """
    mutation, here = on_demand.mutation, Path()
    try:
        with Bar(wanted=not as_json) as bar:
            report = mutation.mutate(
                here, mutation.sources_in(paths or [here]), tests or (), jobs=jobs, limit=timeout,
                seconds=seconds or float("inf"), most=limit, seed=seed,
                progress=lambda done, total: bar.update("mutants", done, total),
            )  # fmt: skip
    except UsageError as error:
        raise InputError(str(error)) from error
    if as_json:
        emit_json(report.as_dict())
    else:
        _show_mutants(report)
    if report.percent < least:
        raise typer.Exit(Exit.CONDITION)


def _show_mutants(report: MutationReport) -> None:
    kinds = on_demand.mutants.KINDS
    if not report.judgements:
        emit("no mutants: no command was found that can be altered")
        return
    for judged in report.judgements:
        mutant = judged.mutant
        if judged.outcome in ("survived", "timed out", "broken"):
            where = f"{os.fspath(mutant.path)}:{mutant.line}"
            emit(f"{judged.outcome}: {where}: {mutant.command}: {kinds[mutant.kind]}: {mutant.change}")
    not_loaded = [each.mutant.path for each in report.judgements if each.outcome == "not loaded"]
    for path in dict.fromkeys(not_loaded):
        emit(f"not loaded: {path}: the tests pass without it; it has {not_loaded.count(path)} mutants")
    counts = report.counts
    outcomes = [name for name in get_args(on_demand.mutation.Outcome) if counts[name]]
    table: Counter[tuple[str, str]] = Counter((each.mutant.kind, each.outcome) for each in report.judgements)
    made = {each.mutant.kind for each in report.judgements}
    rows = [(kind, *(table[kind, name] for name in outcomes)) for kind in kinds if kind in made]
    emit_table(("kind", *outcomes), rows)
    emit(
        f"{counts['killed']} of {len(report.judgements)} mutants killed; "
        f"the tests take {report.seconds:.1f} s on unaltered code"
    )
