"""DFHCSDUP: commands as text, carried out on the CSD of a region, and the listing of the results.

The commands are those of ``facts/csd_commands.tsv``: those of DFHCSDUP, and INSTALL, LOCK, UNLOCK and RENAME of CEDA.
Return codes: 0 done, 4 done with a warning, 8 refused by the CSD, 12 not understood. As in a batch job, after a code of
8 or 12 the other commands are not executed, except LIST. Each command is a commit of its own. Sources: DFHCSDUP
commands; Command processing in DFHCSDUP following internal error detection (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.core.spelling import did_you_mean
from tdqsim.errors import DefinitionError, TdqError, UsageError
from tdqsim.facts import Resp, table

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.spi.csd import Csd
    from tdqsim.definitions import CsdCommand

_WARNING, _ERROR, _SEVERE = 4, 8, 12
_RESOURCE: Final = "RESOURCE"
_SIGNATURE: Final = ("definetime", "changetime", "changeusrid", "changeagent", "changeagrel")
_COLUMN, _WIDTH = 25, 23
_NO_EFFECT: Final = {
    "INITIALIZE": "a CSD is there from the beginning",
    "INITIALISE": "a CSD is there from the beginning",
    "UPGRADE": "the group DFHDCTG is always that of this version",
    "PROCESS": "there is nothing to apply an APAR to",
    "SERVICE": "there is nothing to apply a service to",
    "VERIFY": "a command that was interrupted leaves nothing locked",
}


class _Wrong(TdqError):
    """A command is not as DFHCSDUP has it.

    Attributes:
        problems: each with its line.
    """

    def __init__(self, line: int, text: str, *more: tuple[int, str]) -> None:
        self.problems = ((line, text), *more)
        super().__init__(text)


@contextmanager
def _at_lines(lines: Mapping[str, int], line: int) -> Iterator[None]:
    """Give the problems of attributes inside the lines of these."""
    try:
        yield
    except DefinitionError as error:
        first, *more = (
            (lines.get(each.attribute, line), str(each._replace(file="", line=0)).removeprefix(": "))
            for each in error.problems
        )
        raise _Wrong(*first, *more) from None


@cache
def _commands() -> Mapping[str, dict[str, str]]:
    return {row["name"]: row for row in table("csd_commands")}


@cache
def _texts() -> Mapping[str, str]:
    return {row["id"]: f"{row['id']} {row['severity']} {row['text']}" for row in table("csdup_messages")}


@cache
def _types() -> tuple[str, ...]:
    return tuple(row["name"] for row in table("resource_types"))


class Dfhcsdup:
    """A run of DFHCSDUP.

    Args:
        csd: the CSD, of the user of the job: ``region.csd.by(user, agent="CSDBATCH")``.
        store: the name of the CSD in the messages.

    Attributes:
        return_code: the highest return code so far: 0, 4, 8 or 12.
    """

    def __init__(self, csd: Csd, store: str = "") -> None:
        self._csd, self._store = csd, store
        self.return_code = 0
        self._well = self._warned = self._failed = self._skipped = 0

    def run(self, text: str, *, file: str = "SYSIN") -> Iterator[str]:
        """Carry out the commands in a text, and yield the lines of the listing.

        Args:
            text: the commands; of a job, its in-stream data.
            file: the name of the text in the messages.
        """
        from tdqsim.definitions import read_csd_commands  # pydantic is imported with the first definition

        yield _texts()["DFH5120"].format(store=self._store)
        for command in read_csd_commands(text, file=file):
            yield from self._one(command, file)
        yield _texts()["DFH5123"].format(store=self._store)
        yield _texts()["DFH5107"].format(well=self._well, warned=self._warned, failed=self._failed)
        yield _texts()["DFH5108"].format(skipped=self._skipped)
        yield _texts()["DFH5109"].format(code=self.return_code)

    def _one(self, command: CsdCommand, file: str) -> Iterator[str]:
        yield f" {_echo(command)}"
        stopped = self.return_code >= _ERROR
        if stopped and command.verb != "LIST":
            self._skipped += 1
            return
        code, told = 0, []
        try:
            told = list(self._carried_out(command))
            if any(line.startswith("W ") for line in told):
                code = _WARNING
        except _Wrong as error:
            code, told = _SEVERE, [f"E {file}:{line}: {why}" for line, why in error.problems]
        except Condition as error:
            code, told = _ERROR, [f"E {file}:{command.line}: {error.name}: {error.detail}"]
        except UsageError as error:
            code, told = _ERROR, [f"E {file}:{command.line}: {error}"]
        yield from told
        self.return_code = max(self.return_code, code)
        if code >= _ERROR:
            self._failed += 1
            yield _texts()["DFH5103"].format(verb=command.verb or "UNKNOWN")
            if not stopped:
                yield _texts()["DFH5104"]
            return
        if code:
            self._warned += 1
        else:
            self._well += 1
        yield _texts()["DFH5101"].format(verb=command.verb)

    def _carried_out(self, command: CsdCommand) -> Iterator[str]:
        """Carry out one command; returns its lines of the listing, of which one that begins with W is a warning."""
        for report in command.reports:
            raise _Wrong(report.line, f"{report.subject}: {report.message}")
        row = _commands().get(command.verb)
        if row is None:
            word = command.operands[0].name
            raise _Wrong(command.line, f"{word} is not a command of DFHCSDUP{did_you_mean(word, _commands())}")
        if row["effect"] == "none":
            yield f"W {command.verb} has no effect: {_NO_EFFECT[command.verb]}"
            return
        if row["effect"] == "refused":
            raise _Wrong(command.line, f"{command.verb} is not simulated; tdq import dct converts tables")
        act: Callable[[_Operands], Iterator[str]] = getattr(self, f"_{command.verb.lower()}")
        yield from act(_Operands(command, row))

    # -- the commands that change -----------------------------------------------------------------------------------

    def _define(self, given: _Operands) -> Iterator[str]:
        kind, name = given.resource()
        attributes, lines = given.attributes(kind)
        for each in [each for each in _SIGNATURE if attributes.pop(each, None)]:
            yield f"I {each.upper()} is not taken: the CSD writes it itself"
        with _at_lines(lines, given.line):
            self._csd.define(kind, name, group=given.need("GROUP"), **attributes)

    def _userdefine(self, given: _Operands) -> Iterator[str]:
        kind, name = given.resource()
        attributes, lines = given.attributes(kind)
        model = self._csd.get(kind, "USER", group="USERDEF")
        if model is None:
            raise _Wrong(given.line, f"group USERDEF has no {kind}(USER), whose attributes are the defaults")
        defaults = {**model.attributes(), **model.without_effect}
        for each in ("name", *_SIGNATURE):
            defaults.pop(each, None)
        with _at_lines(lines, given.line):
            self._csd.define(kind, name, group=given.need("GROUP"), **{**defaults, **attributes})
        yield from ()

    def _alter(self, given: _Operands) -> Iterator[str]:
        kind, name = given.resource()
        group = given.need("GROUP")
        attributes, lines = given.attributes(kind)
        for each in [each for each in _SIGNATURE if attributes.pop(each, None)]:
            yield f"I {each.upper()} is not taken: the CSD writes it itself"
        chosen: list[tuple[str, str]] = [(name, group)]
        if _is_generic(name) or _is_generic(group):
            chosen = [(each.resource_name, each.group) for each in self._csd.definitions(kind, name, group=group)]
        with _at_lines(lines, given.line):
            for of_name, of_group in chosen:
                self._csd.alter(kind, of_name, group=of_group, **attributes)
        if len(chosen) != 1 or _is_generic(name):
            yield f"{'I' if chosen else 'W'} {len(chosen)} definitions altered"

    def _copy(self, given: _Operands) -> Iterator[str]:
        given.no_second_csd()
        group, to = given.need("GROUP"), given.need("TO")
        single = given.resource(required=False)
        if "REPLACE" in given.words:
            duplicates: Any = "DUPREPLACE"
        else:
            duplicates = "DUPNOREPLACE" if "MERGE" in given.words or single else "DUPERROR"
        count = 0
        for source, target in self._pairs(given, group, to):
            if single is None:
                count += self._csd.copy(group=source, to=target, duplicates=duplicates)
                continue
            kind, name = single
            for each in [name] if not _is_generic(name) else self._names(kind, name, source):
                count += self._csd.copy(kind, each, group=source, to=target, duplicates=duplicates)
        yield f"{'I' if count else 'W'} {count} definitions copied to group {to}"

    def _pairs(self, given: _Operands, group: str, to: str) -> list[tuple[str, str]]:
        """The groups to copy and their targets; of generic names, each with the beginning of the other."""
        if not _is_generic(group):
            return [(group, to)]
        begin, target = group.rstrip("*"), to.rstrip("*")
        if _is_generic(begin) or _is_generic(target) or not to.endswith("*") or len(begin) != len(target):
            raise _Wrong(given.line, f"COPY GROUP({group}) TO({to}): both must end with *, after as many characters")
        return [(each, target + each[len(begin) :]) for each in self._csd.groups() if each.startswith(begin)]

    def _names(self, kind: str, name: str, group: str) -> list[str]:
        return [each.resource_name for each in self._csd.definitions(kind, name, group=group)]

    def _delete(self, given: _Operands) -> Iterator[str]:
        grplist, single = given.get("LIST"), given.resource(required=False)
        group = "" if grplist else given.need("GROUP")
        if any(map(_is_generic, (grplist, group, single[1] if single else ""))):
            raise _Wrong(given.line, "DELETE takes no generic name")
        try:
            if grplist:
                self._csd.delete_list(grplist)
            else:
                self._csd.delete(*(single or ()), group=group, remove="REMOVE" in given.words)
        except Condition as error:
            if error.resp is not Resp.NOTFND:
                raise
            yield f"W {error.detail}"  # decks begin by deleting their group, also the first time

    def _rename(self, given: _Operands) -> Iterator[str]:
        kind, name = given.resource()
        self._csd.rename(kind, name, group=given.need("GROUP"), to=given.get("TO"), as_=given.get("AS"))
        yield from ()

    def _add(self, given: _Operands) -> Iterator[str]:
        group, grplist = given.need("GROUP"), given.need("LIST")
        created = self._csd.add(group=group, grplist=grplist, before=given.get("BEFORE"), after=given.get("AFTER"))
        if created:
            yield _texts()["DFH5131"].format(list=grplist)
        yield _texts()["DFH5135"].format(group=group, list=grplist)

    def _append(self, given: _Operands) -> Iterator[str]:
        given.no_second_csd()
        self._csd.append(grplist=given.need("LIST"), to=given.need("TO"))
        yield from ()

    def _remove(self, given: _Operands) -> Iterator[str]:
        self._csd.remove(group=given.need("GROUP"), grplist=given.need("LIST"))
        yield from ()

    def _lock(self, given: _Operands) -> Iterator[str]:
        self._csd.lock(given.get("GROUP") or given.need("LIST"))
        yield from ()

    def _unlock(self, given: _Operands) -> Iterator[str]:
        self._csd.unlock(given.get("GROUP") or given.need("LIST"))
        yield from ()

    def _install(self, given: _Operands) -> Iterator[str]:
        single = given.resource(required=False)
        if single is not None:
            count = self._csd.install(*single, group=given.need("GROUP"))
        else:
            grplist = given.get("LIST")
            count = self._csd.install(grplist=grplist) if grplist else self._csd.install(group=given.need("GROUP"))
        yield f"I {count} resources installed"

    # -- the commands that only read -----------------------------------------------------------------------------------

    def _list(self, given: _Operands) -> Iterator[str]:
        group, grplist = given.get("GROUP"), given.get("LIST")
        if not group and not grplist and "ALL" not in given.words:
            raise _Wrong(given.line, "LIST needs ALL, GROUP(name) or LIST(name)")
        lists = self._csd.lists()
        if not group:
            shown = {name: groups for name, groups in lists.items() if not grplist or _fits(name, grplist)}
            if grplist and not shown:
                yield f"W there is no list {grplist}"
            for name, groups in shown.items():
                yield f" LIST NAME: {name}"
                yield from (f"     {each}" for each in groups)
        if grplist and not given.words & {"OBJECTS", "SIGSUMM"}:
            return
        groups = lists.get(grplist, ()) if grplist else (group or "*",)
        found = chain.from_iterable(self._csd.definitions(group=name) for name in groups)
        shown_any = False
        for name, members in groupby(found, lambda each: each.group):
            shown_any = True
            yield f" GROUP NAME: {name}"
            for each in members:
                yield from _listed(each, given.words)
        if group and not shown_any:
            yield f"W there is no group {group}"

    def _extract(self, given: _Operands) -> Iterator[str]:
        from tdqsim.definitions import export_csd  # pydantic is imported with the first definition

        program = given.get("USERPROGRAM")
        if program and program.upper() != "DFH0CBDC":
            raise _Wrong(given.line, f"USERPROGRAM({program}): only DFH0CBDC is there, which writes DEFINE commands")
        grplist = given.get("LIST")
        groups = self._csd.lists().get(grplist, ()) if grplist else (given.need("GROUP"),)
        found = [each for name in groups for each in self._csd.definitions(group=name)]
        if not found:
            yield f"W there is nothing in {grplist or groups[0]}"
        yield from export_csd(_definitions(found)).splitlines()

    def _scan(self, given: _Operands) -> Iterator[str]:
        kind, name = given.resource()
        found = list(self._csd.definitions(kind, name, group=given.get("GROUP") or "*"))
        if not found:
            yield f"W no group has {kind}({name})"
        yield from (f"     {each.title} GROUP({each.group})" for each in found)


class _Operands:
    """The operands of a command, with the abbreviations expanded."""

    def __init__(self, command: CsdCommand, row: Mapping[str, str]) -> None:
        from tdqsim.definitions import expand  # pydantic is imported with the first definition

        self.line, self._command = command.line, command
        self.words: set[str] = set()
        self._values: dict[str, str] = {}
        self._resource: tuple[str, str] | None = None
        known = [each for each in row["operands"].split() if each != _RESOURCE]
        words = row["words"].split()
        self._taken: set[str] = set()
        has_attributes = command.verb in ("DEFINE", "USERDEFINE", "ALTER")
        for number, operand in enumerate(command.operands):
            name = operand.name.upper()
            if operand.value is None:
                word = expand(name, words)
                if word is None and not has_attributes:
                    raise _Wrong(
                        operand.line, f"{operand.name} is no keyword of {command.verb}{_allowed(words, known)}"
                    )
                self.words.add(word or name)
                continue
            keyword = expand(name, known) or (name if name in known else None)
            if (keyword is None and number == 0) or not has_attributes:
                keyword = keyword or (expand(name, _types()) if _RESOURCE in row["operands"] else None)
            if keyword is None:
                if has_attributes and number:
                    continue
                what, allowed = f"an operand of {command.verb}", _allowed(words, known)
                if has_attributes:
                    what, allowed = "a resource type", f"; allowed are {', '.join(_types())}"
                hint = did_you_mean(name, (*known, *_types())) or allowed
                raise _Wrong(operand.line, f"{operand.name} is not {what}{hint}")
            self._taken.add(name)
            if keyword in known:
                if keyword in self._values:
                    raise _Wrong(operand.line, f"{keyword} is given twice")
                self._values[keyword] = operand.value.upper()
            elif self._resource is None:
                self._resource = (keyword, operand.value)
            else:
                raise _Wrong(operand.line, f"{operand.name}: a command names one resource")

    def get(self, keyword: str) -> str:
        """The value of an operand, in upper case; empty if it is not given."""
        return self._values.get(keyword, "")

    def need(self, keyword: str) -> str:
        value = self.get(keyword)
        if not value:
            raise _Wrong(self.line, f"{self._command.verb} needs {keyword}(name)")
        return value

    def resource(self, *, required: bool = True) -> Any:
        """The type and the name of the resource that the command names; None if it names none."""
        if self._resource is None and required:
            raise _Wrong(self.line, f"{self._command.verb} names no resource, such as TDQUEUE(PAYQ)")
        if self._resource is None:
            return None
        kind, name = self._resource
        return kind, name if kind in ("TRANSACTION", "TERMINAL", "CONNECTION") else name.upper()

    def attributes(self, kind: str) -> tuple[dict[str, str], Mapping[str, int]]:
        """The attributes of the resource, and the line of each."""
        values, lines, importer = self._command.attributes(kind, frozenset(self._taken))
        for report in importer.reports:
            if report.action == "skipped":
                raise _Wrong(report.line, f"{report.subject}: {report.message}")
        return values, lines

    def no_second_csd(self) -> None:
        if self.get("FROMCSD"):
            raise _Wrong(
                self.line, f"FROMCSD({self.get('FROMCSD')}): there is no other CSD; EXTRACT one and define it here"
            )


def _allowed(words: list[str], keywords: list[str]) -> str:
    allowed = [*words, *(f"{each}(...)" for each in keywords)]
    return f"; allowed are {', '.join(allowed)}" if allowed else "; it has none"


def _echo(command: CsdCommand) -> str:
    """The command as it was written, on one line of at most 120 characters."""
    operands = (each.name if each.value is None else f"{each.name}({each.value})" for each in command.operands)
    text = " ".join([command.verb, *operands] if command.verb else operands)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _is_generic(name: str) -> bool:
    return "*" in name or "+" in name


def _fits(name: str, generic: str) -> bool:
    from tdqsim.cics.spi.csd import generic_name  # needed by a generic LIST only

    return generic_name(generic).fullmatch(name) is not None


def _definitions(found: list[defs.Resource]) -> defs.Definitions:
    from tdqsim.definitions import Definitions  # pydantic is imported with the first definition

    return Definitions.of(found)


def _listed(resource: defs.Resource, words: set[str]) -> Iterator[str]:
    """A definition in a listing: its name, with OBJECTS its attributes, with SIGSUMM its signature."""
    if not words & {"OBJECTS", "SIGSUMM"}:
        yield f"     {resource.title}"
        return
    yield f" {resource.title:{_COLUMN - 1}}GROUP({resource.group})"
    attributes = {**resource.attributes(), **resource.without_effect}
    chosen = {name: value for name, value in attributes.items() if name not in ("name", "resource_type", "handler")}
    if "OBJECTS" not in words:
        chosen = {name: value for name, value in chosen.items() if name in _SIGNATURE}
    line = ""
    for name, value in chosen.items():
        shown = (
            f"{name.upper()}({value:%y/%m/%d %H:%M:%S})"
            if name.endswith("time") and hasattr(value, "hour")
            else f"{name.upper()}({value})"
        )
        if line and len(line) + max(len(shown), _WIDTH) > 3 * _WIDTH:
            yield f"{'':{_COLUMN}}{line.rstrip()}"
            line = ""
        line += f"{shown:{_WIDTH}} "
    if line:
        yield f"{'':{_COLUMN}}{line.rstrip()}"
