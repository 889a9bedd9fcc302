"""Case files: tests of COBOL transactions written in YAML, without Python.

::

    cases:
      - name: a payment is posted
        given:
          clock: 2024-03-09 10:15:00
          queues:
            PAYQ:
              - {layout: copy/PAYREC.cpy, fields: {PAY-ID: "42", PAY-AMOUNT: "12.50"}}
          stubs:
            - {command: WRITEQ TD, where: {QUEUE: LOGQ}, count: 2, answer: {resp: NOSPACE}}
          sql:
            - {kind: SELECT, table: CUST, rows: [{WS-NAME: MILLER}]}
          programs:
            - {call: MQPUT, values: {REASON: "2035"}, return_code: 8}
        when:
          - {transaction: PAYP}
        then:
          queues:
            OUTQ: [{like: "PAID 42*"}]
            PAYQ: []

A file is called ``NAME.case.yaml``. ``format: 1`` may stand before the cases. Every value is text as it is written.
Paths are relative to the file. The region is that of the nearest ``region.yaml`` in the directory of the file or
above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, field_validator, model_validator
from pydantic_core import ErrorDetails

from tdqsim.definitions import (
    REGION_FILE_NAME,
    FileFormat,
    ListNode,
    MapNode,
    ScalarNode,
    described_schema,
    node_at,
    read_text,
    read_yaml,
)
from tdqsim.errors import DefinitionError, Problem, WrongValue
from tdqsim.hosting import did_you_mean

SUFFIX = ".case.yaml"
_Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]


class _StrictCase(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CaseRecord(_StrictCase):
    """A record that is not plain text; one of hex, layout, like, pattern and null.

    Attributes:
        hex: its bytes in hexadecimal digits.
        layout: a copybook, or a layout in YAML; ``fields`` has the values.
        record: the 01 of the copybook, where it has several.
        fields: values by field. An expected record is compared in these fields only; each may be a value, or ``like``
            or ``pattern`` in a mapping.
        like: a text with * for any characters and ? for one; expected records only.
        pattern: a regular expression that fits the whole text; expected records only.
        null: whether it is SQL's null value.
    """

    hex: _Text = ""
    layout: _Text = ""
    record: _Text = ""
    fields: Mapping[str, _Text | CaseRecord] = Field(default_factory=dict)
    like: _Text | None = None
    pattern: _Text | None = None
    null: bool = False

    @field_validator("hex")
    @classmethod
    def _is_hex(cls, value: str) -> str:
        bytes.fromhex(value)
        return value

    @model_validator(mode="after")
    def _is_one(self) -> CaseRecord:
        given = (bool(self.hex), bool(self.layout), self.like is not None, self.pattern is not None, self.null)
        if sum(given) != 1:
            raise WrongValue("needs one of hex, layout, like, pattern and null")
        if bool(self.layout) != bool(self.fields):
            raise WrongValue("layout and fields belong together")
        return self


CaseData = _Text | CaseRecord
_Records = tuple[CaseData, ...]


class CaseFileData(_StrictCase):
    """A file of the region: its records, and how they are found where no FILE definition says it.

    Attributes:
        keylength: bytes of the key.
        keyposition: where it begins in the record, from 0.
        records: the records.
    """

    keylength: int = Field(ge=1, le=255)
    keyposition: int = Field(default=0, ge=0)
    records: _Records = ()


class CaseAnswer(_StrictCase):
    """What a stub answers.

    Attributes:
        values: by option, such as INTO, SET and LENGTH; a list for an option that receives the address of one.
        resp: the condition.
        resp2: RESP2.
        eib: fields of the EIB.
        abend: an abend code instead.
    """

    values: Mapping[str, CaseData | tuple[_Text, ...]] = Field(default_factory=dict)
    resp: _Text = "NORMAL"
    resp2: int = 0
    eib: Mapping[str, CaseData] = Field(default_factory=dict)
    abend: _Text = ""


class CaseStub(_StrictCase):
    """A command that is answered instead of being done by the region.

    Attributes:
        command: its words, such as READQ TD.
        where: values of its options.
        program: the program that issues it.
        transaction: the transaction of the task.
        count: which of those that fit: 3, 2-4 or 5-.
        answer: the answer.
    """

    command: _Text
    where: Mapping[str, _Text] = Field(default_factory=dict)
    program: _Text = ""
    transaction: _Text = ""
    count: _Text = ""
    answer: CaseAnswer = Field(default_factory=CaseAnswer)


class CaseStart(_StrictCase):
    """A START request that another task has issued.

    Attributes:
        transaction: the transaction that it starts.
        data: the data for RETRIEVE INTO or SET.
        terminal: the terminal of the task.
        after: seconds after the beginning of the case; 0 for at once.
        reqid: the name of the request, for CANCEL.
        rtransid: the transaction id for RETRIEVE RTRANSID.
        rtermid: the terminal for RETRIEVE RTERMID.
        queue: the queue name for RETRIEVE QUEUE.
    """

    transaction: _Text
    data: CaseData | None = None
    terminal: _Text = ""
    after: int = Field(default=0, ge=0)
    reqid: _Text = ""
    rtransid: _Text | None = None
    rtermid: _Text | None = None
    queue: _Text | None = None


CaseRow = Mapping[str, CaseData] | tuple[CaseData, ...]
"""A row of an SQL answer: values by host variable, or all values in order."""


class CaseSql(_StrictCase):
    """SQL statements that are answered; see :class:`~tdqsim.cobol.sql_answers.SqlStub`.

    Attributes:
        kind: the first word of the statement, such as SELECT or OPEN.
        table: a table that it names.
        cursor: its cursor.
        statement: the whole statement.
        pattern: a regular expression that fits any part of it.
        where: values of host variables that it reads.
        program: the program that executes it.
        transaction: the transaction of the task.
        count: which of those that fit: 3, 2-4 or 5-.
        rows: the rows, each by host variable or as a list of all values; {"null": yes} is the null value.
        sqlcode: the SQLCODE; 0, or 100 where there is no row, when it is not given.
        sqlstate: the SQLSTATE; that of the SQLCODE when it is not given.
        rowcount: the rows that an INSERT, UPDATE, DELETE or MERGE has changed.
        message: the tokens of the message.
        abend: an abend code instead.
    """

    kind: _Text = ""
    table: _Text = ""
    cursor: _Text = ""
    statement: _Text = ""
    pattern: _Text = ""
    where: Mapping[str, _Text] = Field(default_factory=dict)
    program: _Text = ""
    transaction: _Text = ""
    count: _Text = ""
    rows: tuple[CaseRow, ...] | None = None
    sqlcode: int | None = None
    sqlstate: _Text = ""
    rowcount: int = Field(default=1, ge=0)
    message: _Text = ""
    abend: _Text = ""


class CaseCall(_StrictCase):
    """CALLs of a program that are answered; see :class:`~tdqsim.cobol.external_calls.CallStub`.

    Attributes:
        call: the called program.
        where: values of parameters, by name or by position from 1.
        program: the program that issues the CALL.
        transaction: the transaction of the task.
        count: which of those that fit: 3, 2-4 or 5-.
        values: values that parameters get, by name or by position from 1.
        return_code: the RETURN-CODE.
        abend: an abend code instead.
    """

    call: _Text = Field(min_length=1)
    where: Mapping[str, _Text] = Field(default_factory=dict)
    program: _Text = ""
    transaction: _Text = ""
    count: _Text = ""
    values: Mapping[str, CaseData] = Field(default_factory=dict)
    return_code: int = 0
    abend: _Text = ""


class CaseGiven(_StrictCase):
    """The state in which a case begins.

    Attributes:
        clock: date and time of the clock in UTC, which then stands still, except for what tasks wait.
        initial: the contents of items without VALUE, instead of those that region.yaml says.
        queues: records of transient data queues, added without triggers.
        ts: items of temporary storage queues.
        files: files with their records.
        stubs: commands that are answered instead of being done.
        starts: START requests that were issued before. Those without ``after`` start before the first input, the others
            when the clock reaches them: at the latest after the first input.
        replies: the operator's replies to WRITE OPERATOR, in order.
        sql: SQL statements that are answered.
        programs: CALLs of programs that are answered.
    """

    clock: _Text = "2026-01-01 08:00:00"
    initial: Literal["ZEROS", "SPACES", "LOW-VALUES", "UNDEFINED"] | None = None
    queues: Mapping[str, _Records] = Field(default_factory=dict)
    ts: Mapping[str, _Records] = Field(default_factory=dict)
    files: Mapping[str, CaseFileData] = Field(default_factory=dict)
    stubs: tuple[CaseStub, ...] = ()
    starts: tuple[CaseStart, ...] = ()
    replies: tuple[_Text, ...] = ()
    sql: tuple[CaseSql, ...] = ()
    programs: tuple[CaseCall, ...] = ()

    @field_validator("clock")
    @classmethod
    def _is_moment(cls, value: str) -> str:
        datetime.fromisoformat(value)
        return value


class CaseInput(_StrictCase):
    """One thing that happens; one of transaction, program, write and terminal, and what belongs to it.

    Attributes:
        transaction: a transaction that is started; with ``terminal`` at that terminal.
        program: a program that is linked to.
        paragraph: the paragraph or section of the program that is run, instead of the whole program.
        storage: by item, the values with which the paragraph begins.
        paragraphs: by paragraph or section, the values of items by which it is replaced.
        data: the START data of the transaction.
        commarea: the COMMAREA of the program, or of the transaction at a terminal.
        channel: containers by name, which the program gets in channel CASE.
        write: a queue to which records are written, each by a task of its own, so that they trigger.
        records: these records.
        terminal: a terminal where something is typed.
        text: what is typed on an unformatted screen.
        fields: what is typed into the fields of a map.
        key: ENTER, CLEAR, PA1 to PA3, PF1 to PF24.
        cursor: where the cursor is, from 0.
    """

    transaction: _Text = ""
    program: _Text = ""
    paragraph: _Text = ""
    storage: Mapping[str, CaseData] = Field(default_factory=dict)
    paragraphs: Mapping[str, Mapping[str, CaseData]] = Field(default_factory=dict)
    data: CaseData | None = None
    commarea: CaseData | None = None
    channel: Mapping[str, CaseData] = Field(default_factory=dict)
    write: _Text = ""
    records: _Records = ()
    terminal: _Text = ""
    text: _Text = ""
    fields: Mapping[str, _Text] = Field(default_factory=dict)
    key: _Text = "ENTER"
    cursor: int = 0

    @model_validator(mode="after")
    def _is_one(self) -> CaseInput:
        if bool(self.transaction) + bool(self.program) + bool(self.write) > 1:
            raise WrongValue("has several of transaction, program and write")
        if not (self.transaction or self.program or self.write or self.terminal):
            raise WrongValue("needs one of transaction, program, write and terminal")
        if (self.storage or self.paragraphs) and not self.paragraph:
            raise WrongValue("storage and paragraphs belong to paragraph")
        if self.paragraph and (not self.program or self.channel):
            raise WrongValue("paragraph belongs to program, without channel")
        return self


class CaseScreen(_StrictCase):
    """What was sent last to a terminal; what is not named is not compared.

    Attributes:
        map: the map.
        text: the text of SEND TEXT and SEND.
        fields: fields of the map, without trailing blanks.
    """

    map: _Text = ""
    text: CaseData | None = None
    fields: Mapping[str, CaseData] = Field(default_factory=dict)


class CaseThen(_StrictCase):
    """What is expected in the end; what is not named is not compared, except abends.

    Attributes:
        queues: all records of transient data queues.
        ts: all items of temporary storage queues.
        files: all records of files, in the order of their keys.
        screen: what was sent last to terminals.
        commarea: the COMMAREA after the last ``program``.
        channel: containers of the channel after the last ``program``.
        storage: by item, values after the last ``paragraph``.
        performed: the paragraphs replaced by ``paragraphs`` of the last ``paragraph`` that were performed, in order.
        abend: the abend code of the first task that ends abnormally; none is expected when it is empty.
        messages: the messages to the operator.
        calls: by command such as START, each one that programs have issued, with options by name. ``SQL UPDATE CUST``
            names SQL statements by kind and by table or cursor, with the host variables that they read; ``CALL MQPUT``
            names the CALLs of a program, with its parameters.
    """

    queues: Mapping[str, _Records] = Field(default_factory=dict)
    ts: Mapping[str, _Records] = Field(default_factory=dict)
    files: Mapping[str, _Records] = Field(default_factory=dict)
    screen: Mapping[str, CaseScreen] = Field(default_factory=dict)
    commarea: CaseData | None = None
    channel: Mapping[str, CaseData] = Field(default_factory=dict)
    storage: Mapping[str, CaseData] = Field(default_factory=dict)
    performed: tuple[_Text, ...] | None = None
    abend: _Text = ""
    messages: _Records | None = None
    calls: Mapping[str, tuple[Mapping[str, CaseData], ...]] = Field(default_factory=dict)


class Case(_StrictCase):
    """One case.

    Attributes:
        name: its name, once in the file.
        given: the state in which it begins.
        when: what happens, in order; it may be missing if ``given`` has START requests.
        then: what is expected; ``{}`` if only that no task abends.
    """

    name: _Text
    given: CaseGiven = Field(default_factory=CaseGiven)
    when: tuple[CaseInput, ...] = ()
    then: CaseThen

    @model_validator(mode="after")
    def _has_input(self) -> Case:
        if not self.when and not self.given.starts:
            raise WrongValue("needs when, or starts in given")
        return self


class CaseFile(_StrictCase):
    """A file of cases.

    Attributes:
        format: the version of the format of the file, 1.
        region: the directory of the region; the nearest one with a region.yaml when empty.
        cases: the cases.
    """

    format: Annotated[int, FileFormat("case file")] = 1
    region: _Text = ""
    cases: tuple[Case, ...] = Field(min_length=1)


def case_json_schema() -> dict[str, Any]:
    """The JSON schema of case files, for editors."""
    inside = (
        CaseGiven,
        CaseStub,
        CaseStart,
        CaseAnswer,
        CaseSql,
        CaseCall,
        CaseFileData,
        CaseInput,
        CaseThen,
        CaseScreen,
    )
    return described_schema(CaseFile, "tdqsim COBOL case file", (Case, CaseRecord, *inside))


def case_files(path: Path) -> list[Path]:
    """The case files in a directory and those below it, or the file itself."""
    return sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]


class CasesRead(NamedTuple):
    """A case file as it was read.

    Attributes:
        file: the file with the cases that are right.
        wrong: by name of a case, what is wrong with it.
    """

    file: CaseFile
    wrong: dict[str, list[Problem]]

    def names(self) -> list[str]:
        """The names of all cases, those that are wrong last."""
        return [*(case.name for case in self.file.cases), *self.wrong]


def read_case_file(path: Path) -> CasesRead:
    """Read a case file; a case that is wrong does not keep the others from being run.

    Raises:
        DefinitionError: it cannot be read, has no cases, or something outside the cases is wrong.
    """
    root = _root(path)
    plain = root.plain()
    listed: Any = plain.get("cases")
    try:
        case_file = CaseFile.model_validate(plain)
    except ValidationError as error:
        by_case: dict[int, list[Problem]] = {}
        for each in error.errors(include_url=False):
            at = each["loc"][1] if each["loc"][:1] == ("cases",) and len(each["loc"]) > 1 else None
            if (problem := _problem(str(path), root, each)) is not None:
                by_case.setdefault(at if isinstance(at, int) else -1, []).append(problem)
        if listed and len(by_case) > 1:  # that no case is left is said by what is wrong with each
            by_case[-1] = [each for each in by_case.get(-1, []) if each.attribute != "cases"]
        if by_case.get(-1):
            raise DefinitionError(list(dict.fromkeys(by_case[-1]))) from None
        by_case.pop(-1, None)
        rest = [case for at, case in enumerate(listed) if at not in by_case]
        cases = CaseFile.model_validate({"cases": rest}).cases if rest else ()
        case_file = CaseFile.model_construct(region=plain.get("region", ""), cases=cases)
        wrong = {_name_of(listed, at): list(dict.fromkeys(problems)) for at, problems in by_case.items()}
    else:
        wrong = {}
    names = [case.name for case in case_file.cases]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DefinitionError([Problem(str(path), 1, "", "name", twice[0], "is the name of several cases")])
    return CasesRead(case_file.model_copy(update={"region": str(_region_of(path, case_file.region))}), wrong)


def case_node(path: Path, name: str) -> MapNode | None:
    """The case with a name as it is written, with lines; None when there is none."""
    cases = _root(path).items.get("cases")
    for node in cases.items if isinstance(cases, ListNode) else ():
        if isinstance(node, MapNode) and node.items.get("name", node)[0] == name:
            return node
    return None


def _root(path: Path) -> MapNode:
    root = read_yaml(read_text(path), str(path), longest=32767)
    if not isinstance(root, MapNode):
        raise DefinitionError([Problem(str(path), 1, "", "", "", "must be a mapping with the key cases")])
    return root


def _name_of(cases: Any, at: int) -> str:
    """The name of a case that is wrong; its number when it has none."""
    given = cases[at].get("name") if isinstance(cases[at], dict) else None
    return given if isinstance(given, str) and given else f"case {at + 1}"


def _region_of(path: Path, given: str) -> Path:
    places = [path.parent / given] if given else [path.absolute().parent, *path.absolute().parent.parents]
    for place in places:
        if (place / REGION_FILE_NAME).is_file():
            return place
    message = f"there is no {REGION_FILE_NAME} in {places[0]}{'' if given else ' or above it'}"
    raise DefinitionError([Problem(str(path), 1, "", "region", given, message)])


def _problem(file: str, root: MapNode, error: ErrorDetails) -> Problem | None:
    """A pydantic error with the line of the value, or of its key; None for one about the other form of a value."""
    loc = error["loc"]
    node, line = node_at(root, [step for step in loc if not _is_form(step)])
    if isinstance(node, ScalarNode if error["type"] in ("model_type", "model_attributes_type") else MapNode) and (
        error["type"] in ("string_type", "model_type", "model_attributes_type") and any(map(_is_form, loc))
    ):
        return None
    names = [str(step) for step in loc if isinstance(step, str) and not _is_form(step)]
    value = node.value if isinstance(node, ScalarNode) else ""
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        known = _keys_at(loc[:-1])
        message = f"is no key here{did_you_mean(names[-1], known)}; there are {', '.join(known)}"
    elif error["type"] == "missing":
        message = "is missing"
        if loc[-1] == "then":
            message += "; then: {} expects only that no task abends"
    return Problem(file, line, "", ".".join(names), value, message)


def _is_form(step: int | str) -> bool:
    """Whether a step of pydantic names one form of a value, not a key."""
    return isinstance(step, str) and step.startswith(("CaseRecord", "str", "function-", "tuple[", "dict["))


def _keys_at(steps: Iterable[int | str]) -> list[str]:
    """The keys of the mapping at a place."""
    model: type[BaseModel] = CaseFile
    for step in steps:
        if isinstance(step, str) and step in model.model_fields:
            model = next(_models_in(model.model_fields[step].annotation), model)
    return list(model.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
