"""The COBOL programs of one region: sources in folders, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from tdqsim.cics import Region, Task
from tdqsim.cobol import watching
from tdqsim.cobol.code_pages import NO_CODE_PAGES, CodePages, Conversion
from tdqsim.cobol.collation import SEQUENCES
from tdqsim.cobol.compiler import INITIAL, Module, Options, compile_program, compile_together
from tdqsim.cobol.file_names import misnamed_in, names_in, source_of
from tdqsim.cobol.level import Level, coverage_is_on
from tdqsim.cobol.paragraphs import ParagraphResult, ParagraphRun, ParagraphStub
from tdqsim.cobol.post_mortem import note_state
from tdqsim.cobol.settings import Settings, Verb, Watcher, issue_warning, policies
from tdqsim.cobol.stubs import AnyStub
from tdqsim.cobol.toolchain import CobolMissing
from tdqsim.cobol.translate import CobolError
from tdqsim.errors import TdqError, UsageError
from tdqsim.hosting import codepage
from tdqsim.languages import several

Program = Callable[[Task], None]
"""A COBOL program as the handler of a transaction, and as a program of a region."""

_ASCII: Final = 819
"""The code page between terminals and these programs; the programs run in ASCII."""


_COVERED: Final[dict[tuple[tuple[Path, ...], Options, Path], None]] = {}
"""Sources, options and cache of the programs of regions that were made while coverage was on."""


def covered_programs() -> list[Module]:
    """The programs of all regions made while coverage was on, run or not, except those that cannot be compiled."""
    found: list[Module] = []
    for folders, options, cache in _COVERED:
        sources = filter(None, (source_of(name, folders) for name in names_in(folders)))
        with suppress(CobolMissing):
            programs = compile_together([(source, options) for source in sources], cache)
            found += [each for each in programs if not isinstance(each, CobolError)]
    return found


class NewVersions(NamedTuple):
    """What :meth:`CobolPrograms.compile_again` has found.

    Attributes:
        modules: the new versions by program.
        errors: by program, why there is no new version; the version that was compiled before remains.
    """

    modules: dict[str, Module]
    errors: dict[str, str]


class CobolPrograms:
    """COBOL programs by name: the source file of that name in the first folder that has one.

    Args:
        region: the region whose LINK and XCTL find them.
        sources: folders of sources.
        copybooks: folders of copybooks.
        cache: the folder for compiled modules.
        ssrange: the action for a subscript, reference modification or OCCURS DEPENDING ON that is out of range:
            ``ABEND`` (ASRA), ``WARN`` (a CobolWarning), or ``OFF`` (as compiled with NOSSRANGE, the mainframe's
            default: the program reads and writes other storage, and may end the process).
        numcheck: the action for an item in arithmetic or a comparison that does not contain a valid number (NUMCHECK).
            Data that the machine's instructions refuse is always abend ASRA (S0C7).
        zoned_move: the same for a zoned sender of MOVE (NUMCHECK(ZON) on the mainframe).
        initial: the contents of items without VALUE, which the mainframe does not define: ``LOW-VALUES``, ``SPACES``,
            ``UNDEFINED`` (X'AA'), or ``ZEROS`` (numbers 0, text blank). Unless it is ``ZEROS``, a packed or zoned
            number that is used before it is set is abend ASRA (S0C7), with a CobolWarning.
        flags: further options of ``cobc``.
        collating_sequence: ``ASCII``, or ``EBCDIC`` to order characters in comparisons and sorts as on the mainframe.
        verbs: functions by verb that answer EXEC CICS commands instead of the region.
        stubs: stubs, which answer before ``verbs`` does: commands (:mod:`~tdqsim.cobol.stubs`), SQL
            (:mod:`~tdqsim.cobol.sql_answers`) and CALLs (:mod:`~tdqsim.cobol.external_calls`).
        code_pages: by queue or file, the code page of its records, or a Conversion with a layout; ``*`` for all others.
            Records without a code page are not converted.
        runaway: milliseconds of processor time since its last suspension after which a task is AICA (ICVR), or 0.
        cwa: bytes of the common work area.
        on_statement: called with each statement; see :mod:`~tdqsim.cobol.trace`.
        on_warning: called with the text of each warning; issues Python warnings by default.

    Attributes:
        verbs: the functions for verbs; more may be added.
        stubs: the stubs in the order in which they are tried; more may be added.
        settings: how the programs run.
    """

    def __init__(
        self,
        region: Region,
        *,
        sources: Iterable[Path | str],
        cache: Path | str,
        copybooks: Iterable[Path | str] = (),
        ssrange: str = "ABEND",
        initial: str = "LOW-VALUES",
        numcheck: str = "OFF",
        zoned_move: str = "OFF",
        flags: Iterable[str] = (),
        collating_sequence: str = "ASCII",
        verbs: Mapping[str, Verb] | None = None,
        stubs: Iterable[AnyStub] = (),
        code_pages: Mapping[str, Conversion | str | int] | None = None,
        runaway: int = 5000,
        cwa: int = 0,
        on_statement: Watcher | None = None,
        on_warning: Callable[[str], object] = issue_warning,
    ) -> None:
        self._sources = [Path(folder) for folder in several("sources", sources, "folders")]
        self._cache = Path(cache)
        if collating_sequence not in SEQUENCES:
            raise UsageError(f"collating_sequence is {collating_sequence!r}; it may be {', '.join(SEQUENCES)}")
        if initial not in INITIAL:
            raise UsageError(f"initial is {initial!r}; it may be {', '.join(INITIAL)}")
        if type(runaway) is not int or runaway < 0:
            raise UsageError(f"runaway is {runaway!r:.40}; it may be a number of milliseconds, or 0 for never")
        self._options = Options(
            tuple(map(Path, several("copybooks", copybooks, "folders"))),
            tuple(several("flags", flags, "options")),
            collating_sequence == "EBCDIC",
            initial=initial,
        )
        if coverage_is_on():
            _COVERED[tuple(self._sources), self._options, self._cache] = None
        self._modules: dict[str, Module | None] = {}
        self._behind: dict[str, Module] = {}
        self.settings = Settings(self._called)
        self.settings.checks = policies(
            ssrange=ssrange, numcheck=numcheck, zoned_move=zoned_move, initial=INITIAL[initial]
        )
        self.settings.runaway_ms = runaway
        self.settings.cwa_size = cwa
        self.settings.on_statement, self.settings.on_warning = on_statement, on_warning
        self.settings.on_abend = note_state
        watching.register(self.settings)
        pages = {
            name: each if isinstance(each, Conversion) else Conversion(each)
            for name, each in (code_pages or {}).items()
        }
        self.settings.pages = CodePages(pages) if pages else NO_CODE_PAGES
        self.verbs = self.settings.verbs
        self.verbs.update(verbs or {})
        self.stubs = self.settings.stubs
        self.stubs += stubs
        region.screens.codepage = codepage(_ASCII)
        self._runs: dict[Module, Program] = {}
        self._paragraphs: dict[str, Module] = {}
        self._region = region
        region.programs.finders.append(self._find)

    def handler(self, program: str) -> Program:
        """The program with this name as the handler of a transaction.

        Raises:
            CobolError: there is no source of that name, or it cannot be compiled.
        """
        handler = self.find(program)
        if handler is None:
            places = ", ".join(map(str, self._sources)) or "no folder"
            raise CobolError([f"program {program}: there is no source of that name in {places}"])
        return handler

    def find(self, program: str) -> Program | None:
        """The program with this name as a handler; None when there is no source."""
        return self._find(program.upper())

    def _find(self, name: str) -> Program | None:
        """The program with this name as a program of the region; None when there is no source."""
        module = self.module(name)
        return None if module is None else self._run_of(module)

    def _run_of(self, module: Module) -> Program:
        run = self._runs.get(module)
        if run is None:
            run = self._runs[module] = _runner(module, self.settings)
        return run

    def program(self, source: Path | str) -> Program:
        """The program in a source file as a handler, wherever the file is and whatever its name."""
        module = self._compiled(Path(source))
        self._modules[module.program] = module
        return self._run_of(module)

    def perform(
        self,
        program: str,
        paragraph: str,
        values: Mapping[str, Any] | None = None,
        *,
        stubs: Mapping[str, ParagraphStub] | None = None,
        commarea: bytes | bytearray | None = None,
    ) -> ParagraphResult:
        """Run one paragraph or section of a program as a task, to its end.

        Args:
            program: the program.
            paragraph: the paragraph or section, ``A OF SECTION``, or a range ``A THRU B`` that the program performs.
            values: values of items, set before it runs.
            stubs: by paragraph or section, what replaces it: values of items, or a function that gets the items.
            commarea: the COMMAREA of the program; a bytearray is changed by it.

        Raises:
            UsageError: there is no such paragraph. CobolError: there is no such program, or it cannot be compiled.
            Abend: the task ends abnormally.
        """
        name = program.upper()
        if name not in self._paragraphs:
            source = self._source(name)
            if source is None:
                raise CobolError([f"program {program}: there is no source of that name"])
            options = replace(self._options, paragraphs=True)
            self._paragraphs[name] = compile_program(source, options, self._cache)
        module = self._paragraphs[name]
        run = ParagraphRun(module.paragraphs, paragraph, values or {}, stubs or {})
        before, self._modules[name] = self.module(name), module
        self.settings.paragraph = run
        given = () if commarea is None else (commarea if isinstance(commarea, bytearray) else bytearray(commarea),)
        try:
            handle = self._region.start(lambda task: task.link(name, *given))
            self._region.run()
            handle.result()
        finally:
            self._modules[name] = before
        return run.result

    def _compiled(self, source: Path) -> Module:
        module = compile_program(source, self._options, self._cache)
        for each in module.following:
            self._behind[each.program] = each
        return module

    def _called(self, name: str) -> Module | None:
        """The program for a CALL: one that follows the caller in its file, which LINK does not find, or any other."""
        return self._behind.get(name) or self.module(name)

    def module(self, name: str) -> Module | None:
        """The compiled program of this name; None when there is no source.

        Raises:
            CobolError: it cannot be compiled.
        """
        if name not in self._modules:
            source = self._source(name)
            if source is None and (other := misnamed_in(self._sources).get(name)) is not None:
                self._region.notices.say("program_has_other_file", program=name, source=other[0])
            self._modules[name] = None if source is None else self._compiled(source)
        return self._modules[name]

    def compile_again(self) -> NewVersions:
        """Compile the programs that were used before and whose sources or copybooks have changed.

        Any thread may call it; :meth:`take` lets tasks run the new versions.
        """
        found = NewVersions({}, {})
        for name, old in tuple(self._modules.items()):
            source = self._source(name)
            if source is None:
                if old is not None:
                    found.errors[name] = "its source is gone; the version that was compiled before remains"
                continue
            try:
                module = compile_program(source, self._options, self._cache)
            except TdqError as error:
                found.errors[name] = str(error)
            else:
                if module is not old:
                    found.modules[name] = module
        return found

    def take(self, modules: Mapping[str, Module]) -> list[str]:
        """Let the next tasks run these versions of programs; return their names. Running tasks keep their version."""
        for name, module in modules.items():
            old = self._modules.get(name)
            self._modules[name] = module
            self._paragraphs.pop(name, None)
            for each in module.following:
                self._behind[each.program] = each
            run = None if old is None else self._runs.pop(old, None)
            if run is not None and self._region.programs.find(name) is run:
                self._region.programs.register(name, self._run_of(module))
        return list(modules)

    def has(self, program: str) -> bool:
        """Whether LINK finds a program of this name, which is not compiled for it."""
        name = program.upper()
        known = name in self._modules or self._source(name) is not None
        return known or name in self._region.programs.names() or self._region.programs.definition(name) is not None

    def names(self) -> list[str]:
        """The names of the sources."""
        return names_in(self._sources)

    def _source(self, name: str) -> Path | None:
        return source_of(name, self._sources)


def _runner(module: Module, settings: Settings) -> Program:
    """A program in the form that the region runs. Levels that no task uses are kept and reused."""
    free: list[Level] = []

    def run(task: Task) -> None:
        level = free.pop() if free else Level(module, settings)
        try:
            level.run(task)
        finally:
            free.append(level)

    vars(run)["limits_runaway"] = True  # the shim measures it
    return run
