"""Compile a COBOL source to a module that a task can run; modules are cached by content.

``cobc -E`` expands the source, :mod:`~tdqsim.cobol.translate` replaces its commands by CALLs, ``cobc -m`` compiles the
result. All three depend only on the source, its copybooks and the options, so the cache has a module under the hash of
its expanded text, wherever the files are: a second compile costs one run of the preprocessor. Errors name the user's
file and line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tdqsim.cobol._tokens import COPY_OPTION, WordPlace, readable, words
from tdqsim.cobol.collation import EBCDIC_WORD, in_ebcdic_order, with_ebcdic_word
from tdqsim.cobol.file_names import COPYBOOKS, MAPS, PROGRAMS
from tdqsim.cobol.margins import is_free, told_of, without_margins
from tdqsim.cobol.outcomes import with_outcomes
from tdqsim.cobol.sql_statements import COMMA
from tdqsim.cobol.symbols import LOCAL_SYMBOL, PERFORM_SYMBOLS, Symbols, read_symbols
from tdqsim.cobol.toolchain import compiler_path, compiler_release
from tdqsim.cobol.translate import CobolError, ExecCommand, ProgramCall, Translation, translate
from tdqsim.definitions import parse_bms
from tdqsim.facts import table
from tdqsim.hosting import run_program

_FACTS: Final = {row["name"]: row["value"] for row in table("cobol")}
_FORMAT: Final = "39"
_LONGEST: Final = 600
"""The time limit of a compiler, in seconds: one that has crashed may hang, and then ignores SIGTERM."""
_SEQUENCE: Final = re.compile(r"^(?:[ 0-9]{0,6}\s*)?(?:CBL|PROCESS)\s", re.IGNORECASE)
_INCLUDE: Final = re.compile(
    rb"EXEC\s+SQL\s+INCLUDE\s+['\"]?([A-Z0-9@#$_-]+)['\"]?\s+END-EXEC(?:\s*\.)?", re.IGNORECASE
)
_SQL: Final = re.compile(rb"\bEXEC\s+SQL\b(?:(?!(?<![A-Z0-9-])EXEC\s).)*?\bEND-EXEC\b", re.IGNORECASE | re.DOTALL)
_COMMA: Final = re.compile(rb"'[^'\n]*'|\"[^\"\n]*\"|^.{6}[*/][^\n]*|--[^\n]*|,", re.MULTILINE)
_CICS: Final = re.compile(
    rb"\bEXEC(?:UTE)?\s+CICS\b(?:(?!(?<![A-Z0-9-])EXEC(?:UTE)?\s).)*?\bEND-EXEC\b", re.IGNORECASE | re.DOTALL
)
_NO_WORDS: Final = rb"'[^'\n]*'|\"[^\"\n]*\"|^[^\n]{6}[*/][^\n]*|"
"""Literals and comments."""
_STATEMENT: Final = re.compile(_NO_WORDS + _SQL.pattern, re.IGNORECASE | re.DOTALL | re.MULTILINE)
_MEMBER: Final = re.compile(_NO_WORDS + _INCLUDE.pattern, re.IGNORECASE | re.MULTILINE)
_COMMAND: Final = re.compile(_NO_WORDS + _CICS.pattern, re.IGNORECASE | re.DOTALL | re.MULTILINE)
_OPTION: Final = re.compile(_NO_WORDS + rb"(?<![A-Z0-9-])COPY(?![A-Z0-9-])", re.IGNORECASE | re.MULTILINE)
_COPY: Final = re.compile(rb"\bCOPY\s+(?:[0-9]{6}\s+)?['\"]?([A-Z0-9@#$_-]+)", re.IGNORECASE)
_WORD: Final = re.compile(rb"[A-Z0-9@#$_-]+", re.IGNORECASE)
_ITEM: Final = re.compile(r"^(static cob_u8_t\s+b_\d+)\[(\d+)\]", re.MULTILINE)
_PACKED: Final = re.compile(r"^cob_(?:cmp|get)_packed_int \(const cob_field \*f[^)]*\)\s*\{", re.MULTILINE)
"""The functions of a program that compare a packed item with a number, and that take one as a subscript."""
_SCALED: Final = re.compile(r"(\bcob_field_attr a_\d+ =\s*\{0x1[0-2], *)(\d+)(, *)(-\d+),")
"""The attributes of a number whose PICTURE ends in P, which the compiler counts as digits of the item: libcob
would take other digits than the item has."""
_FRACTION: Final = re.compile(r"^[0-9]+ +NUMERIC +[0-9]{2} +(\S+) +(S?V?P\S* COMP\S*)\s*$", re.MULTILINE)
"""A packed or binary item whose PICTURE begins with P, in the listing: the run-time takes other digits than it has."""
_DOUBLEWORD: Final = 8
_PERFORMS: Final = re.compile(r"^struct cob_frame\s+(\*?)(frame_ptr|frame_stack)(\[\d+\])?;", re.MULTILINE)
"""The stack of the active PERFORMs of a program, which the compiler declares as local variables of its function."""
_LOCAL_STORAGE: Final = re.compile(r"^unsigned char\s+\*cob_local_ptr = NULL;", re.MULTILINE)
"""The address of LOCAL-STORAGE, which the compiler declares as a local variable of the program's function too."""
_NEW_LOCAL_STORAGE: Final = re.compile(
    r"^  /\* Allocate LOCAL storage \*/\n(.*?)^  /\* Initialize rest of program \*/$", re.MULTILINE | re.DOTALL
)
_NO_LOCAL_STORAGE: Final = "cob_local_ptr = NULL;"
_CANCELLED: Final = "P_cancel:"
_FREED: Final = """;
#ifdef cob_local_ptr
  if (cob_local_ptr) cob_free (cob_local_ptr);
  cob_local_ptr = NULL;
#undef cob_local_ptr
#endif
"""
"""The LOCAL-STORAGE of a program that a command has left ends when the program is cancelled."""
_PROGRAM_END: Final = re.compile(r"^(/\* End PROGRAM-ID '[^'\n]*' \*/\n)", re.MULTILINE)
_KEPT_ADDRESS: Final = re.compile(r"^\s*last_(b_\d+) = \1;$", re.MULTILINE)
_ADDRESSES: Final = re.compile(r"^static unsigned char\s+\*(?:last_)?b_\d+(?: = NULL)?;.*\n", re.MULTILINE)
_RECURSIVE: Final = "/* Module structure pointer for recursive */"
_LOCALS_OF: Final = re.compile(r"/\* Program local variables for '([^']+)' \*/")
_SHELVES: Final = 64
"""The number of lists of copybooks that are cached."""
_LINE_MARK: Final = re.compile(r'^#line \d+ "([^"\n]+)"', re.MULTILINE)
_NAME_LENGTH: Final = 250
_MISSING: Final = re.compile(r"(: error: )(\S+): No such file or directory$", re.MULTILINE)
_INDICATOR: Final = "invalid indicator"
_FREE: Final = "'>>SOURCE FORMAT IS FREE', from column 8,"
_FOUND: Final = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): (?P<what>error: .*)$", re.MULTILINE)


INITIAL: Final[Mapping[str, int | None]] = {"ZEROS": None, "SPACES": 0x20, "LOW-VALUES": 0x00, "UNDEFINED": 0xAA}
"""The contents of items without VALUE: numbers 0 and text blank (``zeros``), or one byte everywhere. None of the bytes
is a valid packed number or the last digit of a zoned one."""


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are compiled.

    Attributes:
        copybooks: folders that COPY searches, in order.
        flags: further options of ``cobc``.
        ebcdic_order: whether comparisons and sorts order characters as EBCDIC does.
        paragraphs: whether programs can begin at any paragraph, for tests of paragraphs.
        initial: the contents of items without VALUE, one of :data:`INITIAL`.
    """

    copybooks: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    ebcdic_order: bool = False
    paragraphs: bool = False
    initial: str = "LOW-VALUES"

    def arguments(self) -> list[str]:
        """The options of ``cobc`` that all steps share."""
        free = [f"-fnot-reserved={row['name']}" for row in table("cobol_words")]
        byte = INITIAL[self.initial]
        filled = [] if byte is None else [f"-fdefaultbyte={byte}"]
        return [*_FACTS["compile_flags"].split(), *free, EBCDIC_WORD, *filled, *self.flags]


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A compiled program.

    Attributes:
        program: its PROGRAM-ID, which is the name of its entry.
        path: the shared object.
        source: the user's file.
        commands: its EXEC CICS commands by number.
        labels: its labels by number, from 1.
        symbols: its items and statements.
        headers: places of statements that the translator added.
        following: the programs that follow it in its file, which it can CALL.
        calls: its CALL statements.
        outcomes: the marks of its conditions.
        paragraphs: the paragraphs at which it can begin, by number from 1.
        names: the names of its files by the stand-ins that the shared object has.
        plans: how to do its commands; empty before its first run.
    """

    program: str
    path: Path
    source: Path
    commands: tuple[ExecCommand, ...]
    labels: tuple[str, ...]
    symbols: Symbols
    headers: tuple[str, ...] = ()
    following: tuple[Module, ...] = ()
    calls: tuple[ProgramCall, ...] = ()
    outcomes: tuple[int, ...] = ()
    paragraphs: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    plans: list[Any] = field(default_factory=list, repr=False)


def _own_copybooks() -> Path:
    return Path(str(resources.files("tdqsim.cobol"))) / "copybooks"


def compile_program(source: Path, options: Options, cache: Path) -> Module:
    """Compile a program, or take the module from the cache.

    Args:
        source: the COBOL source.
        options: the compiler's options.
        cache: the folder for compiled modules; it is created if needed.

    Raises:
        CobolError: it cannot be read, translated or compiled.
        CobolMissing: there is no compiler.
    """
    asked = (source, options, cache)
    known = _KNOWN.get(asked)
    if known is not None and known[0] == _stamps(known[1], options):
        return known[1]
    module = _compiled(source, options, cache)
    if known is not None and (known[1].path, known[1].names) == (module.path, module.names):
        module = known[1]  # what has changed makes no difference to it
    _KNOWN[asked] = (_stamps(module, options), module)
    return module


def compile_together(programs: Iterable[tuple[Path, Options]], cache: Path) -> Iterator[Module | CobolError]:
    """Compile programs on all cores; gives for each in order the program, or why it cannot be compiled.

    Raises:
        CobolMissing: there is no compiler.
    """

    def compiled(program: tuple[Path, Options]) -> Module | CobolError:
        try:
            return compile_program(*program, cache)
        except CobolError as error:
            return error

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compilers are processes
        yield from pool.map(compiled, programs)


_KNOWN: Final[dict[tuple[Path, Options, Path], tuple[tuple[object, ...], Module]]] = {}
"""The modules that this process has compiled or taken from the cache, each with the state of its files: a region that
uses one again runs no compiler, and shares its loaded copies."""


def _parts(options: Options) -> list[str]:
    """The options that change the translated text."""
    return [name for name, chosen in (("paragraphs", options.paragraphs), ("EBCDIC", options.ebcdic_order)) if chosen]


def _stamps(module: Module, options: Options) -> tuple[object, ...]:
    """The state of the files of a module, and of the folders where a new file could take the place of one.

    Its files are those that the preprocessor has named; the compiler names only those with statements.
    """
    files = module.names.values() or module.symbols.sources
    places = {*files, *map(str, (module.source, module.source.parent, *options.copybooks))}
    stamps: list[tuple[object, ...]] = []
    for place in sorted(places - {""}):
        try:
            state = Path(place).stat()
        except OSError:
            stamps.append((place, None))
        else:
            stamps.append((place, state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(stamps)


def _compiled(source: Path, options: Options, cache: Path) -> Module:
    names, text = _with_stand_ins(_expanded(source, options), source)
    made_by = (_FORMAT, compiler_release(), *options.arguments(), *_parts(options))
    key = hashlib.sha256("\0".join((*made_by, text)).encode("utf-8", "surrogateescape"))
    # the compiler runs in a temporary folder, so its paths must be absolute
    place = cache.absolute() / key.hexdigest()[:32]
    kept = place / "program.json"
    if not kept.is_file():
        named = next(iter(names), str(source))
        try:
            _make(translate(text, named, paragraphs=options.paragraphs), Path(named), options, place)
        except CobolError as error:
            cut = () if is_free((), options.flags) else told_of(names.values() or [str(source)])
            raise CobolError([*(_with_names(problem, names) for problem in error.problems), *cut]) from None
    escaped = {stand_in: json.dumps(name)[1:-1] for stand_in, name in names.items()}
    return _load(json.loads(_with_names(kept.read_text("utf-8"), escaped)), place, source, names)


def _with_stand_ins(text: str, source: Path) -> tuple[dict[str, str], str]:
    """Replace the names of files in an expanded source, so that it is the same wherever they are.

    Returns the names by their stand-ins, that of the source first. A stand-in has the length that a name may have, so
    that a loaded copy of the module can have the names (see :mod:`~tdqsim.cobol.copies`); if one is longer, there are
    no stand-ins.
    """
    files = list(dict.fromkeys([str(source), *_LINE_MARK.findall(text)]))
    if any(len(os.fsencode(name)) > _NAME_LENGTH for name in files):
        return {}, text
    stand_ins = {name: f"tdq-{at}-".ljust(_NAME_LENGTH, "_") for at, name in enumerate(files)}
    text = _LINE_MARK.sub(lambda mark: mark[0].replace(mark[1], stand_ins[mark[1]]), text)
    return {stand_in: name for name, stand_in in stand_ins.items()}, text


def _with_names(text: str, names: Mapping[str, str]) -> str:
    for stand_in, name in names.items():
        text = text.replace(stand_in, name)
    return text


def expand(source: Path, options: Options) -> str:
    """The source as ``cobc -E`` expands it; bytes that are not UTF-8 are read as Latin-1.

    Raises:
        CobolError: a copybook is missing, or the source cannot be read.
    """
    return readable(_expanded(source, options))


def _expanded(source: Path, options: Options) -> str:
    """The expanded source for the compiler, in which bytes that are not UTF-8 are lone surrogates."""
    cobc = compiler_path()
    try:
        text = source.read_bytes()
    except OSError as error:
        raise CobolError([f"{source}: cannot be read: {error.strerror}"]) from error
    with tempfile.TemporaryDirectory(prefix="tdqsim-cobol-") as folder:
        # in a folder that COPY does not search, because a copybook may have the same name
        prepared = Path(folder) / "source" / source.name
        prepared.parent.mkdir()
        free = is_free((), options.flags)
        text = _without_options(text, free=free)
        prepared.write_bytes(text)
        free = free or is_free(text.split(b"\n"))
        folders = (source.parent, *options.copybooks, _own_copybooks())
        library, originals = _library(Path(folder), folders, text, free=free)
        command = [cobc, "-E", *options.arguments(), f"-I{library}", str(prepared)]
        done = _run(command, folder)

    def named(text: str) -> str:
        """Replace the names of the preprocessor's copies in a text by those of the user's files."""
        text = text.replace(str(prepared), str(source))
        pattern = rf"{re.escape(str(library))}/(\S+?\.cpy)"
        return re.sub(pattern, lambda match: originals.get(match[1], match[0]), text)

    if done.returncode:
        looked = ", ".join(str(each) for each in dict.fromkeys(folders[:-1]))
        cure = "name its folder (--copybooks, or in region.yaml)"
        told = _MISSING.sub(
            lambda match: f"{match[1]}there is no copybook {match[2]} in {looked}; {cure}", named(done.stderr)
        )
        problems = _problems(told, str(source), source)
        if not free and _INDICATOR in told:
            problems.append(f"{source}: read in fixed format; a program in free format has {_FREE} in its first line")
        raise CobolError(problems)
    return named(done.stdout)


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The files that COPY can name in a list of folders.

    Attributes:
        copybooks: the file for each name, in any case and with any suffix of copybooks or programs.
        maps: BMS sources; each stands for the symbolic map of its name.
    """

    copybooks: Mapping[str, Path]
    maps: Mapping[str, Path]


@lru_cache(_SHELVES)
def _shelf(folders: tuple[Path, ...], _stamp: tuple[int, ...]) -> _Shelf:
    """List the folders once for each state, which their modification times identify."""
    copybooks: dict[str, Path] = {}
    maps: dict[str, Path] = {}
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    for suffixes, files_of_kind in ((COPYBOOKS, copybooks), (PROGRAMS, copybooks), ((MAPS,), maps)):
        for path in files:
            if path.suffix.lower() in suffixes and path.is_file():
                files_of_kind.setdefault(f"{path.stem.upper()}.cpy", path)
    return _Shelf(copybooks, maps)


def _library(folder: Path, sources: Sequence[Path], text: bytes, *, free: bool) -> tuple[Path, dict[str, str]]:
    """Make one folder with links to all files that COPY statements of the text and its copybooks name.

    A BMS source beside them becomes its symbolic map, unless a copybook has its name. Returns the user's file by name.
    """
    library = folder / "copybooks"
    library.mkdir()
    shelf = _shelf(tuple(sources), tuple(each.stat().st_mtime_ns if each.is_dir() else 0 for each in sources))
    originals: dict[str, str] = {}
    for name in _copied_names(text, shelf):
        path = shelf.copybooks.get(name) or shelf.maps[name]
        if name in shelf.copybooks:
            text = path.read_bytes()
            if _SQL.search(text) or _CICS.search(text):
                (library / name).write_bytes(_without_options(text, free=free))
            else:
                (library / name).symlink_to(path.absolute())
        else:
            (library / name).write_text(parse_bms(path.read_text("latin-1"), str(path)).copybook())
        originals[name] = str(path)
    return library, originals


def _copied_names(text: bytes, shelf: _Shelf) -> list[str]:
    """The copybooks and maps that a text names, directly or through other copybooks.

    Any word that is the name of a copybook counts, because it may follow a COPY; a map counts only after a COPY.
    """
    names: dict[str, None] = {}
    texts = [text]
    while texts:
        text = texts.pop()
        words = (f"{word.decode('latin-1').upper()}.cpy" for word in set(_WORD.findall(text)))
        named = sorted(word for word in words if word in shelf.copybooks and word not in names)
        texts += [shelf.copybooks[name].read_bytes() for name in named]
        maps = (f"{match[1].decode('latin-1').upper()}.cpy" for match in _COPY.finditer(text)) if shelf.maps else ()
        names.update(dict.fromkeys([*named, *(name for name in maps if name in shelf.maps)]))
    return list(names)


def _without_options(text: bytes, *, free: bool) -> bytes:
    """Remove margins and leading CBL and PROCESS statements, and replace each EXEC SQL INCLUDE by a COPY.

    A comma in SQL is replaced by a mark, because the preprocessor drops commas; without it an indicator variable could
    not be distinguished from the next host variable. Comments of SQL (``--``) are removed. COPY in EXEC CICS is an
    option, which the preprocessor would take for a statement, so a mark stands for it. The number of lines does not
    change.
    """
    lines = without_margins(text.replace(b"\r\n", b"\n").split(b"\n"), free=free)
    for at, line in enumerate(lines):
        if line.strip() and not _SEQUENCE.match(line.decode("latin-1")):
            break
        lines[at] = b""
    marked = _COMMAND.sub(_with_copy_option, b"\n".join(lines))
    return _STATEMENT.sub(_with_marks, _MEMBER.sub(_copied, marked))


def _with_copy_option(command: re.Match[bytes]) -> bytes:
    return _OPTION.sub(lambda found: COPY_OPTION.encode() if found[0].upper() == b"COPY" else found[0], command[0])


def _with_marks(sql: re.Match[bytes]) -> bytes:
    return _COMMA.sub(_marked, sql[0]) if sql[0][:1].upper() == b"E" else sql[0]


def _marked(found: re.Match[bytes]) -> bytes:
    if found[0].startswith(b"--"):  # a comment of SQL
        return b""
    return COMMA.encode() if found[0] == b"," else found[0]


def _copied(include: re.Match[bytes]) -> bytes:
    return include[0] if include[1] is None else b"COPY " + include[1] + b"." + b"\n" * include[0].count(b"\n")


def _run(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return run_program(
            command,
            folder=folder,
            environment=environment,
            timeout=_LONGEST,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except subprocess.TimeoutExpired as error:
        raise CobolError([f"{command[-1]}: cobc has not ended within {_LONGEST} seconds"]) from error


def _problems(text: str, compiled: str, source: Path) -> list[str]:
    errors = [f"{match['file']}:{match['line']}: {match['what']}" for match in _FOUND.finditer(text)]
    return [line.replace(compiled, str(source)) for line in errors or [text.strip() or f"{source}: cobc failed"]]


def _make(translation: Translation, source: Path, options: Options, place: Path) -> None:
    cobc = compiler_path()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=place.parent) as folder:
        ready = Path(folder) / "ready"
        ready.mkdir()
        programs = (translation, *translation.following)
        kept = [_make_one(cobc, each, source, options, Path(folder), ready) for each in programs]
        (ready / "program.json").write_text(readable(json.dumps(kept, ensure_ascii=False)), "utf-8")
        try:
            ready.rename(place)
        except OSError:
            if not (place / "program.json").is_file():  # another process has stored the same module first
                raise


def _make_one(
    cobc: str, translation: Translation, source: Path, options: Options, folder: Path, ready: Path
) -> dict[str, Any]:
    """Compile one program into a folder; returns the data to keep beside its module."""
    stem = translation.program
    unit = folder / f"{stem}.i"
    text = with_ebcdic_word(translation.text)
    text = in_ebcdic_order(text) if options.ebcdic_order else text
    unit.write_text(text, "utf-8", errors="surrogateescape")
    # the listing leaves the source out: with it the compiler crashes or hangs on a long program
    listing = ["-t", f"{stem}.lst", "--tsymbols", "-fno-tsource"]
    _step([cobc, "-C", "-debug", *options.arguments(), *listing, "-o", f"{stem}.c", str(unit)], unit, source)
    listed = (folder / f"{stem}.lst").read_text("utf-8", "surrogateescape")
    if fractions := _FRACTION.findall(listed):
        allowed = "P before the digits of a packed or binary item is not supported; allowed are P after them, DISPLAY"
        places = {word.text.upper(): word.place for word in reversed(list(words(text, str(source))))}
        raise CobolError([f"{places[name]}: {name} PICTURE {picture}: {allowed}" for name, picture in fractions])
    outcomes = _prepare(folder, stem)
    _step([cobc, "-m", *options.arguments(), "-o", f"{stem}.so", f"{stem}.c"], unit, source)
    symbols = read_symbols(folder, stem, entry_symbol(stem), translation.using)
    (folder / f"{stem}.so").rename(ready / f"{stem}.so")
    return {
        "program": stem,
        "labels": translation.labels,
        "headers": translation.headers,
        "commands": [asdict(command) for command in translation.commands],
        "calls": [asdict(call) for call in translation.calls],
        "symbols": symbols.as_json(),
        "outcomes": outcomes,
        "paragraphs": translation.paragraphs,
    }


def _step(command: Sequence[str], unit: Path, source: Path) -> None:
    done = _run(command, str(unit.parent))
    if done.returncode:
        raise CobolError(_problems(done.stderr, str(unit), source))


def _prepare(folder: Path, stem: str) -> list[int]:
    """Change the compiler's C text; returns the marks of its conditions.

    Storage is rounded up to whole doublewords, packed items in comparisons and subscripts are checked, and conditions
    record their outcomes (see :mod:`~tdqsim.cobol.outcomes`).

    Each 01 and 77 takes whole doublewords, as in Enterprise COBOL. CICS writes eight bytes for an ABSTIME even where a
    program has declared a fullword. Such programs work because of the slack bytes after it; the C compiler would put
    other variables there. The functions that compare a packed item with a number, and that take one as a subscript, are
    part of the program, so they cannot be replaced like those of libcob in ``_libcob_overrides.c``. The stack of
    PERFORMs and the address of LOCAL-STORAGE become static, under a name for each program, so that a debugger finds
    them by the module's symbols (see :mod:`~tdqsim.cobol.symbols`).
    """
    declarations = addresses = ""
    for path in folder.glob(f"{stem}.c*.h"):
        text = path.read_text("utf-8", "surrogateescape")
        text = _PACKED.sub(r"\g<0> cob_check_numeric (f, NULL);", _ITEM.sub(_widened, text))
        text = _SCALED.sub(lambda found: f"{found[1]}{int(found[2]) + int(found[4])}{found[3]}{found[4]},", text)
        addresses += "".join(_ADDRESSES.findall(text))
        text = _ADDRESSES.sub(r"#if 0\n\g<0>#endif\n", text)  # the text stays for read_symbols
        if (program := _LOCALS_OF.search(text)) is not None:
            name = entry_symbol(program[1])
            if _RECURSIVE not in text:  # each run of such a program has a stack of its own
                text = _PERFORMS.sub(partial(_kept_in_module, name), text)
            text = _LOCAL_STORAGE.sub(_static_address(name, recursive=_RECURSIVE in text), text)
        path.write_text(text, "utf-8", "surrogateescape")
        declarations += text
    with (folder / f"{stem}.c.h").open("a", encoding="utf-8", errors="surrogateescape") as shared:
        shared.write(addresses)
    program_text = folder / f"{stem}.c"
    text, outcomes = with_outcomes(program_text.read_text("utf-8", "surrogateescape"), declarations)
    text = _with_global_linkage(text)
    text = _NEW_LOCAL_STORAGE.sub(r"if (DFH_NEW) {\n\1}", text)
    text = text.replace(_NO_LOCAL_STORAGE, "cob_local_ptr = dfh_outer;").replace(_CANCELLED, _CANCELLED + _FREED)
    program_text.write_text(text, "utf-8", "surrogateescape")
    return outcomes


def _with_global_linkage(text: str) -> str:
    """Let nested programs, which are functions of their own, use GLOBAL items of the LINKAGE SECTION, such as the EIB.

    The addresses of these items are variables and parameters of the outer program's function. ``_prepare`` makes the
    variables those of the module; a parameter is also kept in one of them.
    """
    parts = _PROGRAM_END.split(text)
    for at in range(1, len(parts), 2):
        parts[at] += "".join(f"#define {name} last_{name}\n" for name in _KEPT_ADDRESS.findall(parts[at - 1]))
    return "".join(parts)


def _widened(declaration: re.Match[str]) -> str:
    return f"{declaration[1]}[{-(-int(declaration[2]) // _DOUBLEWORD) * _DOUBLEWORD}]"


def _kept_in_module(program: str, declaration: re.Match[str]) -> str:
    star, name, size = declaration[1], declaration[2], declaration[3] or ""
    own = f"{PERFORM_SYMBOLS[name]}{program}"
    return f"static struct cob_frame {star}{own}{size};\n#undef {name}\n#define {name} {own}"


def _static_address(program: str, *, recursive: bool) -> str:
    """The address of LOCAL-STORAGE, and whether a run gets a new one.

    A program that CALLs itself has that of the outer run again when the inner ends. Another program finds one when it
    is entered again after a failure, to go to its abend exit.
    """
    own = f"{LOCAL_SYMBOL}{program}"
    return (
        f"static unsigned char *{own};\nunsigned char *dfh_outer = {own if recursive else 'NULL'};\n"
        f"#undef cob_local_ptr\n#define cob_local_ptr {own}\n"
        f"#undef DFH_NEW\n#define DFH_NEW {'1' if recursive else f'({own} == NULL)'}"
    )


def entry_symbol(program: str) -> str:
    """The C name of a program's entry in its module: characters that C does not allow become hexadecimal."""
    name = "".join(c if c.isalnum() or c == "_" else "__" if c == "-" else f"_{ord(c):02X}" for c in program)
    return f"_{name}" if name[:1].isdigit() else name


def _load(kept: list[dict[str, Any]], place: Path, source: Path, names: Mapping[str, str]) -> Module:
    """Load the first program of a file, with those that follow it."""
    first, *following = (_load_one(each, place, source, names) for each in kept)
    return replace(first, following=tuple(following))


def _load_one(kept: dict[str, Any], place: Path, source: Path, names: Mapping[str, str]) -> Module:
    program = str(kept["program"])
    commands = tuple(
        ExecCommand(
            row["text"],
            WordPlace(*row["place"]),
            tuple(row["written"]),
            tuple(map(tuple, row["labels"])),
            row["passed"],
            tuple(row["sql"]),
            row["status"],
        )
        for row in kept["commands"]
    )
    calls = tuple(ProgramCall(WordPlace(*row["place"]), row["program"], tuple(row["written"])) for row in kept["calls"])
    return Module(
        program,
        place / f"{program}.so",
        source,
        commands,
        tuple(kept["labels"]),
        Symbols.from_json(kept["symbols"]),
        tuple(kept["headers"]),
        calls=calls,
        outcomes=tuple(kept["outcomes"]),
        paragraphs=tuple(kept["paragraphs"]),
        names=names,
    )
