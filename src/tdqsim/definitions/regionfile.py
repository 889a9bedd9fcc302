"""A region directory's ``region.yaml``: everything that ``tdq run`` needs to know besides the definitions.

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
    start: [RDTR]
    ressec: ALWAYS
    security:
      queues: {PAYTEAM: {"PAY*": UPDATE, "*": READ}}

Every key may be left out. Paths are relative to the directory of the file. As in definition files, every value is text.
"""

import re
from collections.abc import Iterator, Mapping
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
from tdqsim.definitions.yamltext import ListNode, MapNode, Node, ScalarNode, kind_of, read_yaml
from tdqsim.errors import ConversionError, DefinitionError, Problem
from tdqsim.facts import LIMITS, REGION_DEFAULTS, RELEASES, table

__all__ = [
    "REGION_FILE_NAME",
    "Cobol",
    "DdCard",
    "Dfhintra",
    "RecordLayout",
    "RegionFile",
    "Security",
    "line_of",
    "load_region_file",
]

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


def _check_gdg_base(value: str) -> str:
    if "(" in value:
        raise refuse("must be the name of a generation group, without parentheses")
    return value


_GdgBase = Annotated[str, Name(_SIZES["gdg_base_maximum"], "dsname"), AfterValidator(_check_gdg_base)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _Lrecl(Number):
    """A record length, or ``X`` for spanned records of any length."""

    def check(self, value: object) -> int:
        return Number.check(self, _LRECL_X if isinstance(value, str) and value.upper() == "X" else value)


class DdCard(_Strict):
    """One DD statement: which file a DD name stands for, and its record format where no definition says it.

    Attributes:
        path: the file, absolute once loaded; empty with dsname, sysout or dummy.
        dsname: a data set name under the data set directory.
        sysout: a SYSOUT class; writer and form of INTRDR as ``A,INTRDR``.
        dummy: YES for no data set at all.
        disp: OLD, SHR, MOD or NEW.
        recfm: F, FB, V, VB, VBS, U, RDW, LF and the like; the definition's when not given.
        blksize: bytes of a block.
        bufno: how many buffers.
        lrecl: 0 when it is not given; ``X`` in the file is 32768.
        rdwpos: where the length stands in the descriptor of a file of RECFM RDW or RDWLE.
        rdwincl: whether that length includes the descriptor.
        space: as JCL writes it, ``(TRK,(10,5))``, or a number of bytes; empty for no limit.
        free: CLOSE makes the DD go away when the data set is closed.
        detect: YES detects the format of a file, where none is given, when it is opened for input; NO does not refuse
            fixed records where the file has descriptor words.
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
        """The DCB parameters as JCL writes them, ``RECFM=FB,LRECL=80``; only those that were given."""
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


class Dfhintra(_Strict):
    """The intrapartition data set: how long a record can be, and how much all queues hold together.

    Attributes:
        ci_size: bytes of a control interval; a record can have 32 less.
        control_intervals: how many there are.
    """

    ci_size: Annotated[int, Number(LIMITS["ci_size_minimum"], LIMITS["ci_size_maximum"])] = int(
        REGION_DEFAULTS["ci_size"]
    )
    control_intervals: Annotated[int, Number(2, 2**31 - 1)] = int(REGION_DEFAULTS["control_intervals"])


class RecordLayout(_Strict):
    """What the records of a queue are shown by.

    Attributes:
        path: a COBOL copybook, or a layout in YAML (``.yaml``, ``.yml``); absolute once loaded.
        record: which level 01 of a copybook with several; empty for the one there is.
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


_Who = Annotated[str, Text(10), AfterValidator(_check_who)]
_Levels = Mapping[
    Annotated[str, Text(40)], Annotated[Literal["NONE", "READ", "UPDATE", "ALTER"], Keyword()]
]  # by a pattern


class Security(_Strict):
    """Who may do what: the lists of a security policy. A user without an entry has that of its groups.

    Attributes:
        queues: of a user or group, the level of access to queues by their names; of names with ``*`` and ``?`` the
            first that fits. Without it resources are not checked.
        commands: the same by resource type, such as TDQUEUE; without it commands are not checked.
        surrogates: the users in whose name a user or group may act; without it in anybody's.
        users: those that there are; without it anybody.
    """

    queues: Mapping[_Who, _Levels] | None = None
    commands: Mapping[_Who, _Levels] | None = None
    surrogates: Mapping[_Who, tuple[_Who, ...]] | None = None
    users: tuple[_Who, ...] | None = None


_Policy = Annotated[Literal["OFF", "WARN", "ABEND"], Keyword()]


class Cobol(_Strict):
    """Where a region's COBOL programs are.

    Attributes:
        sources: folders of sources; a program is the file that is called as it is.
        copybooks: folders of copybooks, and of BMS sources, which are their symbolic maps.
        cache: the folder for compiled programs; the user's own when empty.
        ssrange: OFF, WARN or ABEND: what to do about a subscript or reference modification that is out of range.
        numcheck: the same for an item of arithmetic or a comparison that holds no number of its class.
        zoned_move: the same for a zoned sender of MOVE.
        code_pages: the code page of the records of a queue or file by its name, or of all others (``*``).
        layouts: copybooks of those whose records have fields that are no text.
        runaway: milliseconds of processor time without a command after which a task abends; 0 for never.
        cwa: bytes of the common work area.
    """

    sources: tuple[Annotated[str, _PATH], ...] = ()
    copybooks: tuple[Annotated[str, _PATH], ...] = ()
    cache: Annotated[str, _PATH] = ""
    ssrange: _Policy = "OFF"
    numcheck: _Policy = "OFF"
    zoned_move: _Policy = "OFF"
    code_pages: Mapping[str, Annotated[str, Text(12), AfterValidator(_check_code_page)]] = Field(default_factory=dict)
    layouts: Mapping[str, Annotated[str, _PATH]] = Field(default_factory=dict)
    runaway: Annotated[int, Number(0, 3_600_000)] = 5000
    cwa: Annotated[int, Number(0, 3584)] = 0


class RegionFile(_Strict):
    """What region.yaml says; ``help('tdqsim.definitions.regionfile')`` shows one.

    Attributes:
        directory: the directory that paths are relative to.
        applid: APPLID, 1 to 8 characters.
        sysid: SYSIDNT, 1 to 4 characters.
        definitions: definition files, in the order in which their groups are installed.
        handlers: Python modules to import. ``tdq``, the fixtures and the server look for them in the directory first;
            ``Region.from_directory`` where Python does.
        datasets: the data set directory, absolute once loaded; empty for none.
        gdg: generation groups that keep so many generations and no more.
        dd: DD cards by DD name.
        default_user: DFLTUSER, the user of tasks that have none.
        code_page: the code page of text, such as 037 or 1140.
        time_zone: UTC or the IANA name of the region's time zone.
        release: the release that the region says it is.
        seed: the seed of the order of ready tasks; 0 is CICS order.
        supplied: whether the supplied queues (group DFHDCTG) are installed first.
        layouts: by queue, what its records are shown by to people and to clients; the region knows nothing of it.
        start: transactions to start once the region is up, by ``tdq run`` and ``tdq serve``.
        job: the class that ``tdq run`` asks for inputs, progress and figures, as ``module:Class``; empty for none.
        start_type: START of the system initialization table.
        tdintra: EMPTY begins with empty intrapartition queues.
        dfhintra: the intrapartition data set.
        cobol: where COBOL programs are; without it there are none.
        region_user: the user of the region's own job, who installs the group list.
        cmdsec: ALWAYS checks the commands of all transactions, ASIS those of transactions with CMDSEC(YES).
        ressec: the same for the queues that they use and RESSEC(YES).
        security: who may do what; without it nothing is checked, whatever CMDSEC and RESSEC say.
    """

    directory: Path = Field(default=Path(), exclude=True)
    applid: Annotated[str, Name(8)] = REGION_DEFAULTS["applid"]
    sysid: Annotated[str, Name(4)] = REGION_DEFAULTS["sysid"]
    definitions: tuple[Annotated[str, _PATH], ...] = ()
    handlers: tuple[Annotated[str, Text(200), AfterValidator(_check_module)], ...] = ()
    datasets: Annotated[str, _PATH] = ""
    gdg: Mapping[_GdgBase, Annotated[int, Number(1, _SIZES["gdg_limit_maximum"])]] = Field(default_factory=dict)
    dd: Mapping[str, DdCard] = Field(default_factory=dict)
    default_user: Annotated[str, Name(8, "userid")] = REGION_DEFAULTS["default_user"]
    region_user: Annotated[str, Name(8, "userid")] = REGION_DEFAULTS["region_user"]
    cmdsec: Annotated[Literal["ASIS", "ALWAYS"], Keyword()] = "ASIS"
    ressec: Annotated[Literal["ASIS", "ALWAYS"], Keyword()] = "ASIS"
    code_page: Annotated[str, Text(12), AfterValidator(_check_code_page)] = REGION_DEFAULTS["code_page"]
    time_zone: Annotated[str, Text(64), AfterValidator(_check_zone)] = REGION_DEFAULTS["time_zone"]
    release: Annotated[str, Text(4), AfterValidator(_check_release)] = REGION_DEFAULTS["release"]
    seed: Annotated[int, Number(0, _LARGEST_SEED)] = 0
    supplied: YesNo = "YES"
    layouts: Mapping[_QueueName, _Layout] = Field(default_factory=dict)
    start: tuple[Annotated[str, Name(4, "transaction")], ...] = ()
    job: Annotated[str, Text(200), AfterValidator(_check_job)] = ""
    start_type: Annotated[Literal["AUTO", "INITIAL", "COLD"], Keyword()] = "AUTO"
    tdintra: Annotated[Literal["NOEMPTY", "EMPTY"], Keyword()] = "NOEMPTY"
    dfhintra: Dfhintra = Field(default_factory=Dfhintra)
    cobol: Cobol | None = None
    security: Security | None = None

    @property
    def zone(self) -> ZoneInfo:
        """The time zone, for ABSTIME and all else that is local time."""
        return ZoneInfo(self.time_zone)

    def load_definitions(self) -> Definitions:
        """The definitions of all files named.

        Raises:
            DefinitionError: anything is wrong in any of them.
        """
        return load_definitions(*(self.directory / path for path in self.definitions))


def load_region_file(path: Path | str) -> RegionFile:
    """The region file at ``path``, or ``region.yaml`` in the directory at ``path``.

    Raises:
        DefinitionError: it is missing or anything in it is wrong; all problems are listed, with lines.
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
    if "gdg" in values and "datasets" not in values:
        problems.append(
            Problem(str(file), root.lines["gdg"], "", "gdg", "", "needs datasets, the directory of the files")
        )
    try:
        found = RegionFile.model_validate(values)
    except ValidationError as error:
        problems += [_problem(str(file), root, item) for item in error.errors(include_url=False)]
    if problems:
        raise DefinitionError(sorted(problems, key=lambda problem: problem.line))
    return _with_paths(found, file.parent.resolve())


def line_of(path: Path, key: str, value: str = "") -> int:
    """The line in a region file of a key, or of one of its values; 0 where it has no such key."""
    root = read_yaml(read_text(path), str(path))
    if not isinstance(root, MapNode) or key not in root.items:
        return 0
    node = root.items[key]
    if isinstance(node, MapNode):
        return node.lines.get(value, root.lines[key])
    items = node.items if isinstance(node, ListNode) else []
    return next((each.line for each in items if isinstance(each, ScalarNode) and each.value == value), root.lines[key])


def _with_paths(found: RegionFile, directory: Path) -> RegionFile:
    def absolute(path: str) -> str:
        return str(directory / path) if path else ""

    def placed(card: DdCard) -> DdCard:
        update = {"path": absolute(card.path), "concatenation": tuple(map(placed, card.concatenation))}
        return card.model_copy(update=update)

    cards = {name: placed(card) for name, card in found.dd.items()}
    layouts = {name: each.model_copy(update={"path": absolute(each.path)}) for name, each in found.layouts.items()}
    update = {"directory": directory, "dd": cards, "datasets": absolute(found.datasets), "layouts": layouts}
    return found.model_copy(update=update)


_LISTS = ("definitions", "handlers", "start")


def _plain(name: str, node: Node) -> Any:
    """Text, lists of it and mappings of it; a single value where a list may stand is a list of one."""
    if isinstance(node, ScalarNode):
        return [node.value] if name in _LISTS and node.value else node.value
    if isinstance(node, ListNode):
        return [_plain("", item) for item in node.items]
    return {key: _plain("", item) for key, item in node.items.items()}


def _dd_problems(file: str, root: MapNode) -> list[Problem]:
    """DD names that are none, and cards that name no data set or several."""
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
    given = [key for key in ("path", "dsname", "sysout") if key in card.items]
    dummy = card.items.get("dummy")
    is_dummy = isinstance(dummy, ScalarNode) and dummy.value.upper() == "YES"
    if len(given) + is_dummy != 1:
        yield Problem(file, line, title, "", "", "needs one of path, dsname, sysout or dummy: YES")
    rest = card.items.get("concatenation")
    for each in rest.items if isinstance(rest, ListNode) else ():
        if isinstance(each, MapNode):
            yield from _card_problems(file, f"{title} concatenation", each, each.line)
            if "concatenation" in each.items or "sysout" in each.items:
                yield Problem(
                    file, each.line, f"{title} concatenation", "", "", "only data sets can be concatenated, in one list"
                )


def _meant(place: tuple[int | str, ...]) -> str:
    """What a key that is not known may have been meant for; else what is allowed there."""
    models: dict[str, type[_Strict]] = {
        "dd": DdCard, "dfhintra": Dfhintra, "layouts": RecordLayout, "cobol": Cobol, "security": Security,
    }  # fmt: skip
    model: type[_Strict] = models.get(str(place[0]), RegionFile) if len(place) > 1 else RegionFile
    known = sorted(set(model.model_fields) - {"directory"})
    return did_you_mean(str(place[-1]), known) or f"; allowed are {', '.join(known)}"


def _not_a_key(file: str, root: MapNode) -> Problem:
    return Problem(file, root.lines["directory"], "", "directory", "", "is not known in a region file")


def _problem(file: str, root: MapNode, item: ErrorDetails) -> Problem:
    """A pydantic error as a problem with the line of the value, or of its key."""
    node: Node = root
    line = root.line
    for step in item["loc"]:
        if isinstance(node, MapNode) and step in node.items:
            line = node.lines[str(step)]
            node = node.items[str(step)]
        elif isinstance(node, ListNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            line = node.line
    message = {
        "extra_forbidden": f"is not known in a region file{_meant(item['loc'])}",
        "missing": "is required",
        "tuple_type": "must be a list",
        "mapping_type": "must be a mapping",
        "model_type": "must be a mapping",
    }.get(item["type"], item["msg"])
    shown = node.value if isinstance(node, ScalarNode) else ""
    return Problem(file, line, "", ".".join(str(step) for step in item["loc"]), shown[:80], message)
