"""The ``region.yaml`` of a region directory: the settings for ``tdq run`` other than definitions.

::

    applid: CARDREGN
    sysid: CARD
    definitions: [card.yaml]
    handlers: [posting]
    datasets: data
    gdg: {PAY.DAILY: 5}
    dd:
      DALYTRAN: {path: data/daily.bin, recfm: FB, lrecl: 350}
      POSTED: {path: out/posted.bin, recfm: FB, lrecl: 350, disp: OLD}
      SYSUDUMP: {dummy: YES}
    dfhintra: {ci_size: 4096, control_intervals: 1000}
    layouts:
      PAYQ: copybooks/pay.cpy
      ERRQ: {path: copybooks/all.cpy, record: ERROR-RECORD}
    start_transactions: [RDTR]
    ressec: ALWAYS
    security:
      queues: {PAYTEAM: {"PAY*": UPDATE, "*": READ}}

All keys are optional. Paths are relative to the directory of the file. As in definition files, every value is text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from tdqsim.core.codepage import codepage
from tdqsim.core.spelling import did_you_mean
from tdqsim.definitions._fields import Keyword, Name, Number, Text, refuse
from tdqsim.definitions._resource import YesNo
from tdqsim.definitions.group import Definitions, load_definitions, read_text
from tdqsim.definitions.yamltext import ListNode, MapNode, Node, ScalarNode, kind_of, node_at, read_yaml
from tdqsim.errors import ConversionError, DefinitionError, Problem
from tdqsim.facts import LIMITS, REGION_DEFAULTS, RELEASES, table

REGION_FILE_NAME = "region.yaml"
_PATH = Text(4096)
_RECFM = r"(F|FB|FS|FBS|V|VB|VS|VBS|U)[AM]?|RDW|RDWLE|LF|CRLF|NL"
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
_SIZES = {row["name"]: int(row["value"]) for row in table("datasets")}
_LARGEST_LRECL = _SIZES["rdw_record_maximum"]
_LARGEST_BLKSIZE = _SIZES["block_maximum"]
_LRECL_X = _SIZES["lrecl_x"]
_LARGEST_SEED = 2**63 - 1


def _check_recfm(value: str) -> str:
    if value and not re.fullmatch(_RECFM, value.upper()):
        raise refuse("must be F, FB, FS, FBS, V, VB, VS, VBS or U (A or M may follow), RDW, RDWLE, LF, CRLF or NL")
    return value.upper()


def _check_module(value: str) -> str:
    if not re.fullmatch(_MODULE, value, re.ASCII):
        raise refuse("must be the name of a Python module, such as posting or package.posting")
    return value


def _check_job(value: str) -> str:
    if value and not re.fullmatch(rf"{_MODULE}:[A-Za-z_]\w*", value, re.ASCII):
        raise refuse("must be a Python module and a class in it, such as posting_job:Posting")
    return value


def _check_code_page(value: str) -> str:
    if not re.fullmatch(r"[0-9A-Za-z_-]{2,12}", value, re.ASCII):
        raise refuse("must be a code page number such as 037 or 1140")
    try:
        codepage(value)
    except ConversionError as error:
        raise refuse(f"is not known; {str(error).partition('; ')[2]}") from None
    return value


def _check_zone(value: str) -> str:
    if value != "UTC" and value not in available_timezones():
        raise refuse("must be UTC or the name of a time zone such as Europe/Berlin")
    return value


def _check_release(value: str) -> str:
    if value not in RELEASES:
        raise refuse(f"must be one of {', '.join(RELEASES)}")
    return value


def _check_lists(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(value) > LIMITS["grplist_maximum"]:
        raise refuse(f"must be at most {LIMITS['grplist_maximum']} lists")
    return value


def _check_gdg_base(value: str) -> str:
    if "(" in value:
        raise refuse("must be the name of a generation group, without parentheses")
    return value


_GdgBase = Annotated[str, Name(_SIZES["gdg_base_maximum"], "dsname"), AfterValidator(_check_gdg_base)]


class Strict(BaseModel):
    """The base of the models of settings: frozen, and other keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _Lrecl(Number):
    """A record length, or ``X`` for spanned records of any length."""

    def check(self, value: object) -> int:
        return Number.check(self, _LRECL_X if isinstance(value, str) and value.upper() == "X" else value)


class _Mxt(Number):
    """A maximum number of tasks, or 0 for none."""

    def check(self, value: object) -> int:
        number = Number.check(self, value)
        if 0 < number < LIMITS["mxt_minimum"]:
            raise refuse(f"must be from {LIMITS['mxt_minimum']} to {LIMITS['mxt_maximum']}, or 0 for no limit")
        return number


class DdCard(Strict):
    """One DD statement: the file for a DD name, and its record format if no definition specifies it.

    Attributes:
        path: the file, absolute once loaded; empty with dsname, sysout or dummy.
        dsname: a data set name in the data set directory.
        sysout: a SYSOUT class; for the internal reader ``A,INTRDR``.
        dummy: YES for no data set.
        disp: OLD, SHR, MOD or NEW.
        recfm: F, FB, V, VB, VBS, U, RDW, LF and so on; by default that of the definition.
        blksize: the block size in bytes.
        bufno: the number of buffers.
        lrecl: the record length; 0 if omitted; ``X`` in the file is 32768.
        rdwpos: the position of the length in the record descriptor word of a file of RECFM RDW or RDWLE.
        rdwincl: whether that length includes the descriptor word.
        space: the space in JCL notation, ``(TRK,(10,5))``, or a number of bytes; empty for no limit.
        free: CLOSE removes the DD when the data set is closed.
        detect: with YES, the format of a file opened for input is detected if none is specified; with NO, fixed records
            are accepted even if the file has descriptor words.
        concatenation: data sets that are read after this one, each as a card without a name.
    """

    path: Annotated[str, _PATH] = ""
    dsname: Annotated[str, Name(56, "dsname", blank=True)] = ""
    sysout: Annotated[str, Text(16)] = ""
    dummy: YesNo = "NO"
    disp: Annotated[Literal["SHR", "OLD", "MOD", "NEW"], Keyword()] = "SHR"
    recfm: Annotated[str, Text(8), AfterValidator(_check_recfm)] = ""
    lrecl: Annotated[int, _Lrecl(0, _LARGEST_LRECL)] = 0
    blksize: Annotated[int, Number(0, _LARGEST_BLKSIZE)] = 0
    bufno: Annotated[int, Number(0, 255)] = 0
    rdwpos: Annotated[Literal["", "0", "2"], Keyword()] = ""
    rdwincl: Annotated[Literal["", "YES", "NO"], Keyword()] = ""
    space: Annotated[str, Text(64)] = ""
    free: Annotated[Literal["NO", "CLOSE"], Keyword()] = "NO"
    detect: YesNo = "NO"
    concatenation: tuple["DdCard", ...] = ()

    @property
    def dcb(self) -> str:
        """The specified DCB parameters in JCL notation, ``RECFM=FB,LRECL=80``."""
        parts: dict[str, str | int] = {
            "RECFM": self.recfm,
            "LRECL": self.lrecl,
            "BLKSIZE": self.blksize,
            "BUFNO": self.bufno,
        }
        parts |= {"RDWPOS": self.rdwpos, "RDWINCL": self.rdwincl}
        if self.lrecl == _LRECL_X:
            parts["LRECL"] = "X"
        return ",".join(f"{name}={value}" for name, value in parts.items() if value)


class Dfhintra(Strict):
    """The intrapartition data set, which limits the length of a record and the total size of all queues.

    Attributes:
        ci_size: the size of a control interval in bytes; a record may have 32 bytes less.
        control_intervals: the number of control intervals.
    """

    ci_size: Annotated[int, Number(LIMITS["ci_size_minimum"], LIMITS["ci_size_maximum"])] = int(
        REGION_DEFAULTS["ci_size"]
    )
    control_intervals: Annotated[int, Number(2, 2**31 - 1)] = int(REGION_DEFAULTS["control_intervals"])


class RecordLayout(Strict):
    """The layout with which the records of a queue are displayed.

    Attributes:
        path: a COBOL copybook, or a layout in YAML (``.yaml``, ``.yml``); absolute once loaded.
        record: the name of the level 01, if the copybook has more than one.
    """

    path: Annotated[str, _PATH]
    record: Annotated[str, Text(30)] = ""


def _a_path(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


_Layout = Annotated[RecordLayout, BeforeValidator(_a_path)]
_QueueName = Annotated[str, Name(4, "queue")]


def _check_who(value: str) -> str:
    if not re.fullmatch(r"[A-Z0-9@#$_]{1,10}", value, re.ASCII):
        raise refuse("must be 1 to 10 of A-Z 0-9 @ # $ _, the id of a user or group")
    return value


Who = Annotated[str, Text(10), AfterValidator(_check_who)]
Level = Annotated[Literal["NONE", "READ", "UPDATE", "CONTROL", "ALTER"], Keyword()]
_Levels = Mapping[Annotated[str, Text(40)], Level]  # by a pattern


class Security(Strict):
    """The lists of a security policy. A user without an entry has the access of the user's groups.

    Attributes:
        queues: for a user or group, the level of access to queues by name; names may contain ``*`` and ``?``, and the
            first one that matches is used. If omitted, resources are not checked.
        commands: the same by resource type, such as TDQUEUE; if omitted, commands are not checked.
        surrogates: the users for whom a user or group may act; if omitted, for any user.
        users: the user ids that exist; if omitted, all.
    """

    queues: Mapping[Who, _Levels] | None = None
    commands: Mapping[Who, _Levels] | None = None
    surrogates: Mapping[Who, tuple[Who, ...]] | None = None
    users: tuple[Who, ...] | None = None


_Policy = Annotated[Literal["OFF", "WARN", "ABEND"], Keyword()]


class Cobol(Strict):
    """The settings for a region's COBOL programs.

    Attributes:
        sources: folders with sources; a file has the name of its program.
        copybooks: folders with copybooks, and with BMS sources, from which symbolic maps are generated.
        cache: the folder for compiled programs; by default the user's cache.
        ssrange: OFF, WARN or ABEND: the action for a subscript or reference modification that is out of range.
        initial: the contents of items without VALUE: LOW-VALUES, SPACES, UNDEFINED (X'AA'), or ZEROS (numbers 0, text
            blank); unless it is ZEROS, a packed or zoned number that is used before it is set is abend ASRA (S0C7).
        numcheck: the action for an operand of arithmetic or a comparison that does not contain a number of its class.
        zoned_move: the action for such a zoned sender of MOVE.
        collating_sequence: ASCII or EBCDIC: the order of characters in comparisons and sorts.
        code_pages: the code page of records by the name of the queue or file, or ``*`` for all others.
        layouts: copybooks for queues and files whose records contain fields other than text.
        runaway: milliseconds of processor time since its last suspension after which a task abends; 0 for never.
        cwa: the size of the common work area in bytes.
    """

    sources: tuple[Annotated[str, _PATH], ...] = ()
    copybooks: tuple[Annotated[str, _PATH], ...] = ()
    cache: Annotated[str, _PATH] = ""
    ssrange: _Policy = "ABEND"
    initial: Annotated[Literal["ZEROS", "SPACES", "LOW-VALUES", "UNDEFINED"], Keyword()] = "LOW-VALUES"
    numcheck: _Policy = "OFF"
    zoned_move: _Policy = "OFF"
    collating_sequence: Annotated[Literal["ASCII", "EBCDIC"], Keyword()] = "ASCII"
    code_pages: Mapping[str, Annotated[str, Text(12), AfterValidator(_check_code_page)]] = Field(default_factory=dict)
    layouts: Mapping[str, Annotated[str, _PATH]] = Field(default_factory=dict)
    runaway: Annotated[int, Number(0, 3_600_000)] = 5000
    cwa: Annotated[int, Number(0, 3584)] = 0


class RegionFile(Strict):
    """The settings in a region.yaml; ``help('tdqsim.definitions.regionfile')`` shows an example.

    Attributes:
        directory: the directory that paths are relative to.
        applid: APPLID, 1 to 8 characters.
        sysid: SYSIDNT, 1 to 4 characters.
        definitions: definition files, in the order in which their groups are installed.
        grplist: the lists of the region's CSD whose groups a cold or initial start installs after the definition files.
        handlers: Python modules to import. ``tdq``, the fixtures and the server search the region directory first;
            ``Region.from_directory`` uses Python's path.
        datasets: the data set directory, absolute once loaded; empty for none.
        gdg: generation data groups with the maximum number of generations that they keep.
        dd: DD cards by DD name.
        dfltuser: DFLTUSER, the user of tasks without a user.
        code_page: the code page of text, such as 037 or 1140.
        time_zone: UTC or the IANA name of the region's time zone.
        release: the release that the region reports.
        seed: the seed for the order of ready tasks; 0 is CICS order.
        supplied_queues: whether the supplied queues (group DFHDCTG) are installed first.
        layouts: by queue, the layout with which its records are displayed to people and clients; the region itself does
            not use it.
        start_transactions: transactions that ``tdq run`` and ``tdq serve`` start when the region is up.
        job: the job class of ``tdq run``, for inputs, progress and results, as ``module:Class``; empty for none.
        start: START of the system initialization table: AUTO, COLD or INITIAL.
        tdintra: EMPTY starts with empty intrapartition queues.
        dfhintra: the intrapartition data set.
        cobol: the settings for COBOL programs; if omitted, there are none.
        regionuserid: the user of the region's own job, who installs the group list.
        cmdsec: ALWAYS checks the commands of all transactions, ASIS those of transactions with CMDSEC(YES).
        ressec: ALWAYS checks the queues that all transactions use, ASIS those of transactions with RESSEC(YES).
        security: the security policy as access lists; without it and ``policy`` nothing is checked, even with CMDSEC or
            RESSEC.
        policy: the policy file with the profiles of RACF, instead of ``security``; absolute once loaded; empty for
            none.
        machine: the machine.yaml with the answers of a real machine, absolute once loaded; empty for none.
        mxt: the maximum number of tasks, MXT; 0 for no limit.
        trigger_next: when the next task of a queue's trigger may start, once the queue was read to QZERO: QZERO, at the
            next write that reaches the level; TASKEND, when the first task has ended.
    """

    directory: Path = Field(default=Path(), exclude=True)
    applid: Annotated[str, Name(8)] = REGION_DEFAULTS["applid"]
    sysid: Annotated[str, Name(4)] = REGION_DEFAULTS["sysid"]
    definitions: tuple[Annotated[str, _PATH], ...] = ()
    grplist: Annotated[tuple[Annotated[str, Name(LIMITS["group_name_length"])], ...], AfterValidator(_check_lists)] = ()
    handlers: tuple[Annotated[str, Text(200), AfterValidator(_check_module)], ...] = ()
    datasets: Annotated[str, _PATH] = ""
    gdg: Mapping[_GdgBase, Annotated[int, Number(1, _SIZES["gdg_limit_maximum"])]] = Field(default_factory=dict)
    dd: Mapping[str, DdCard] = Field(default_factory=dict)
    dfltuser: Annotated[str, Name(8, "userid")] = REGION_DEFAULTS["dfltuser"]
    regionuserid: Annotated[str, Name(8, "userid")] = REGION_DEFAULTS["regionuserid"]
    cmdsec: Annotated[Literal["ASIS", "ALWAYS"], Keyword()] = "ASIS"
    ressec: Annotated[Literal["ASIS", "ALWAYS"], Keyword()] = "ASIS"
    code_page: Annotated[str, Text(12), AfterValidator(_check_code_page)] = REGION_DEFAULTS["code_page"]
    time_zone: Annotated[str, Text(64), AfterValidator(_check_zone)] = REGION_DEFAULTS["time_zone"]
    release: Annotated[str, Text(4), AfterValidator(_check_release)] = REGION_DEFAULTS["release"]
    seed: Annotated[int, Number(0, _LARGEST_SEED)] = 0
    supplied_queues: YesNo = "YES"
    layouts: Mapping[_QueueName, _Layout] = Field(default_factory=dict)
    start_transactions: tuple[Annotated[str, Name(4, "transaction")], ...] = ()
    job: Annotated[str, Text(200), AfterValidator(_check_job)] = ""
    start: Annotated[Literal["AUTO", "INITIAL", "COLD"], Keyword()] = "AUTO"
    tdintra: Annotated[Literal["NOEMPTY", "EMPTY"], Keyword()] = "NOEMPTY"
    dfhintra: Dfhintra = Field(default_factory=Dfhintra)
    cobol: Cobol | None = None
    security: Security | None = None
    policy: Annotated[str, _PATH] = ""
    machine: Annotated[str, _PATH] = ""
    mxt: Annotated[int, _Mxt(0, LIMITS["mxt_maximum"])] = 0
    trigger_next: Annotated[Literal["QZERO", "TASKEND"], Keyword()] = "QZERO"

    @property
    def zone(self) -> ZoneInfo:
        """The time zone, for ABSTIME and other local times."""
        return ZoneInfo(self.time_zone)

    def load_definitions(self) -> Definitions:
        """Load the definitions of all definition files.

        Raises:
            DefinitionError: there are errors in the files; all are listed.
        """
        return load_definitions(*(self.directory / path for path in self.definitions))


def load_region_file(path: Path | str) -> RegionFile:
    """Load the region file at ``path``, or ``region.yaml`` in the directory at ``path``.

    Raises:
        DefinitionError: it is missing or has errors; all are listed, with lines.
    """
    file = Path(path)
    if file.is_dir():
        file /= REGION_FILE_NAME
    root = read_yaml(read_text(file), str(file))
    if root is None:
        root = MapNode({}, {}, 0)
    if not isinstance(root, MapNode):
        raise DefinitionError([Problem(str(file), root.line, "", "", "", f"must be a mapping, not {kind_of(root)}")])
    values: dict[str, Any] = {name: _plain(name, node) for name, node in root.items.items()}
    values = {name: value for name, value in values.items() if value != ""}
    values.pop("directory", None)
    problems = [_not_a_key(str(file), root)] if "directory" in root.items else []
    problems += _dd_problems(str(file), root)
    if "policy" in values and "security" in values:
        problems.append(
            Problem(str(file), root.lines["policy"], "", "policy", "", "excludes security; give one of both")
        )
    if "gdg" in values and "datasets" not in values:
        problems.append(
            Problem(str(file), root.lines["gdg"], "", "gdg", "", "needs datasets, the directory of the files")
        )
    try:
        settings = RegionFile.model_validate(values)
    except ValidationError as error:
        problems += [_problem(str(file), root, item) for item in error.errors(include_url=False)]
    if problems:
        raise DefinitionError(sorted(problems, key=lambda problem: problem.line))
    return _with_paths(settings, file.parent.resolve())


def line_of(path: Path, key: str, value: str = "") -> int:
    """The line of a key in a region file, or of one of the key's values; 0 when there is no such key."""
    root = read_yaml(read_text(path), str(path))
    if not isinstance(root, MapNode) or key not in root.items:
        return 0
    node = root.items[key]
    if isinstance(node, MapNode):
        return node.lines.get(value, root.lines[key])
    items = node.items if isinstance(node, ListNode) else []
    return next((each.line for each in items if isinstance(each, ScalarNode) and each.value == value), root.lines[key])


def _with_paths(settings: RegionFile, directory: Path) -> RegionFile:
    def absolute(path: str) -> str:
        return str(directory / path) if path else ""

    def placed(card: DdCard) -> DdCard:
        update = {"path": absolute(card.path), "concatenation": tuple(map(placed, card.concatenation))}
        return card.model_copy(update=update)

    cards = {name: placed(card) for name, card in settings.dd.items()}
    layouts = {name: each.model_copy(update={"path": absolute(each.path)}) for name, each in settings.layouts.items()}
    update = {"directory": directory, "dd": cards, "datasets": absolute(settings.datasets), "layouts": layouts}
    update["machine"], update["policy"] = absolute(settings.machine), absolute(settings.policy)
    return settings.model_copy(update=update)


_LISTS = ("definitions", "handlers", "start_transactions")


def _plain(name: str, node: Node) -> Any:
    """Convert a node to text, lists and mappings; where a list is allowed, a single value becomes a list."""
    value = node.plain()
    return [value] if name in _LISTS and value and isinstance(value, str) else value


def _dd_problems(file: str, root: MapNode) -> list[Problem]:
    """Report DD names that are not valid, and cards with no data set or more than one."""
    cards = root.items.get("dd")
    problems = []
    for name, card in cards.items.items() if isinstance(cards, MapNode) else ():
        line = cards.lines[name] if isinstance(cards, MapNode) else 0
        try:
            Name(8, "ddname").check(name)
        except ValueError as error:
            problems.append(Problem(file, line, f"DD {name[:40]}", "", "", str(error)))
        if isinstance(card, MapNode):
            problems += _card_problems(file, f"DD {name[:40]}", card, line)
    return problems


def _card_problems(file: str, title: str, card: MapNode, line: int) -> Iterator[Problem]:
    data_sets = [key for key in ("path", "dsname", "sysout") if key in card.items]
    dummy = card.items.get("dummy")
    is_dummy = isinstance(dummy, ScalarNode) and dummy.value.upper() == "YES"
    if len(data_sets) + is_dummy != 1:
        yield Problem(file, line, title, "", "", "needs one of path, dsname, sysout or dummy: YES")
    rest = card.items.get("concatenation")
    for each in rest.items if isinstance(rest, ListNode) else ():
        if isinstance(each, MapNode):
            yield from _card_problems(file, f"{title} concatenation", each, each.line)
            if "concatenation" in each.items or "sysout" in each.items:
                yield Problem(
                    file, each.line, f"{title} concatenation", "", "", "only data sets can be concatenated, in one list"
                )


def _suggestion(place: tuple[int | str, ...]) -> str:
    """A similar key for an unknown one, or otherwise the allowed keys, as the end of a message."""
    models: dict[str, type[Strict]] = {
        "dd": DdCard, "dfhintra": Dfhintra, "layouts": RecordLayout, "cobol": Cobol, "security": Security,
    }  # fmt: skip
    model: type[Strict] = models.get(str(place[0]), RegionFile) if len(place) > 1 else RegionFile
    known = sorted(set(model.model_fields) - {"directory"})
    return did_you_mean(str(place[-1]), known) or f"; allowed are {', '.join(known)}"


def _not_a_key(file: str, root: MapNode) -> Problem:
    return Problem(file, root.lines["directory"], "", "directory", "", "is not known in a region file")


def _problem(file: str, root: MapNode, item: ErrorDetails) -> Problem:
    """Convert a pydantic error to a problem with the line of the value or its key."""
    line, shown = located(root, item["loc"])
    message = {
        "extra_forbidden": f"is not known in a region file{_suggestion(item['loc'])}",
        "missing": "is required",
        "tuple_type": "must be a list",
        "mapping_type": "must be a mapping",
        "model_type": "must be a mapping",
    }.get(item["type"], item["msg"])
    return Problem(file, line, "", ".".join(str(step) for step in item["loc"]), shown, message)


def located(root: MapNode, place: Iterable[int | str]) -> tuple[int, str]:
    """The line of a value or its key, and the start of the value if it is a scalar."""
    node, line = node_at(root, place)
    return line, node.value[:80] if isinstance(node, ScalarNode) else ""
