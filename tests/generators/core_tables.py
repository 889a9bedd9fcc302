"""The tables of the guide about queues, made from the facts; :mod:`tests.generators.option_tables` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.facts import Resp, Rule, rules, table

_KINDS: Final = ("INTRA", "EXTRA", "INDIRECT", "REMOTE")
_COMMANDS: Final = (
    "READQ TD", "WRITEQ TD", "DELETEQ TD", "INQUIRE TDQUEUE", "SET TDQUEUE", "CREATE TDQUEUE", "DISCARD TDQUEUE",
)  # fmt: skip
_RECEIVERS: Final = {"CVDA": "CVDA", "CHAR": "text", "BINARY": "number", "ABSTIME": "ABSTIME"}
_NULLS: Final = {"NOTAPPLIC": "NOTAPPLIC", "BLANKS": "blanks", "-1": "-1"}
_KEYS: Final = {"TDQUEUE": "name"}
"""The keys of definition files that are not the attribute in lower case."""
_CLOSED: Final = {"NOTAPPLIC": ", NOTAPPLIC while it is closed"}


def _lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    written = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |\n" for row in written)


def inquire_options() -> list[str]:
    """Each option of INQUIRE TDQUEUE, and what it returns for each kind of queue."""
    rows = []
    for row in table("inquire"):
        if row["resource"] != "TDQUEUE":
            continue
        value = _RECEIVERS[row["receiver"]]
        if row["values"] and row["receiver"] == "CVDA":
            value = ", ".join(row["values"].split())
        value += _CLOSED.get(row["closed"], "")
        having = row["types"].split()
        every = having == list(_KINDS) or not row["otherwise"]
        other = "" if every else _NULLS[row["otherwise"]]
        rows.append([f"`{row['option']}`", value, "all kinds" if every else ", ".join(having), other])
    return [_lines(["option of INQUIRE", "value", "of", "of other kinds"], rows)]


def attributes() -> list[str]:
    """The attributes of a TDQUEUE definition, a table for each kind of queue."""
    made = []
    for kind in ("ANY", "INTRA", "EXTRA", "INDIRECT", "REMOTE"):
        rows = [
            [
                f"`{_KEYS.get(row['name']) or row['name'].lower()}`",
                _allowed(row),
                _given(row),
                row["requires"].removeprefix("required").replace("omitted: ", "left out only with "),
                row["effect"],
            ]
            for row in table("tdqueue_attributes")
            if row["types"] == kind
        ]
        made.append(_lines(["attribute", "allowed", "default", "together with", "what it changes"], rows))
    return made


def _allowed(row: dict[str, str]) -> str:
    if row["kind"] == "keyword":
        words = row["values"].split()
        return ", ".join(words) if len(words) < 10 else f"{words[0]} to Z, 0 to 9, \\*"
    low, high = row["minimum"], row["maximum"]
    if row["kind"] == "integer":
        return f"{low} to {high}"
    return f"{low} to {high} characters"


def _given(row: dict[str, str]) -> str:
    if row["requires"].startswith("required"):
        return "required"
    return row["default"] or "none"


def conditions() -> list[str]:
    """The conditions with their numbers and abends; then each command with when it ends with them."""
    made = [_abends()]
    for command in _COMMANDS:
        known = [each for each in _ended() if each.command == command]
        rows = [
            [rule.resp, _resp2(rule.resp2), rule.circumstances, rule.confidence]
            for rule in sorted(known, key=lambda rule: rule.resp)
        ]
        made.append(_lines(["condition", "RESP2", "when", "confidence"], rows))
    return made


def _ended() -> list[Rule]:
    """The rules in which a command on queues ends with a condition; how a program handles it is told in the text."""
    known = (each for each in rules().values() if each.command in _COMMANDS and not each.id.startswith("TASK-"))
    return [each for each in known if each.resp not in ("", "NORMAL")]


def _abends() -> str:
    abends = {row["name"]: row["abend"] for row in table("abend")}
    declared = {
        command: COMMANDS[command].conditions
        for command in (*_COMMANDS, "INQUIRE TDQUEUE START", "INQUIRE TDQUEUE NEXT", "INQUIRE TDQUEUE END")
    }
    names = sorted({resp.name for conditions in declared.values() for resp in conditions} - {"ERROR"})
    rows = [
        [
            name,
            str(int(Resp[name])),
            abends.get(name, "none"),
            ", ".join(command for command, conditions in declared.items() if Resp[name] in conditions),
        ]
        for name in names
    ]
    return _lines(["condition", "RESP", "abend where nothing handles it", "of"], rows)


def _resp2(number: str) -> str:
    return "not published" if number.isdigit() and 900 < int(number) < 1000 else number or "0"


def signatures() -> list[str]:
    """Each field of the resource signature, by the agent that installed the definition."""
    agents = ("GRPLIST", "CSDAPI", "CREATESPI", "SYSTEM")
    words = {
        "group": "the group", "program": "the program", "definition": "of the definition, else of the install",
        "start": "last cold start", "now": "the clock", "user": "the user", "region": "the region's user",
        "release": "the region's release",
    }  # fmt: skip
    origin = {(row["agent"], row["field"]): row["origin"] for row in table("signature")}
    fields = dict.fromkeys(field for _, field in origin)
    rows = [
        [f"`{field}`", *(words.get(each, each.strip("'")) for each in (origin[agent, field] for agent in agents))]
        for field in fields
    ]
    heads = ["field of the signature", "group list at a start", "installed by hand", "CREATE", "CICS itself"]
    return [_lines(heads, rows)]


_APIS: Final = ("QSNDDTAQ", "QRCVDTAQ", "QCLRDTAQ", "QMHQRDQD", "QMHRDQM", "QMHQCDQ")
_FORMATS: Final = (
    "RCVSENDER", "RDQD0100", "RDQD0200", "RDQS0100", "RDQS0200", "RDQM0100", "RDQM0100.entry", "RDQM0200",
    "RDQM0200.entry", "CDQ.head", "CDQ.record", "ERRC0100", "ERRC0200",
)  # fmt: skip
_PARAMETERS: Final = {"C": "CHAR({})", "B": "BINARY({})", "H": "bytes({})"}
_PACKED: Final = {"2": "PACKED(3, 0), 2 bytes", "3": "PACKED(5, 0), 3 bytes"}


def apis() -> list[str]:
    """The parameters of each data queue API, their messages, the byte layouts, and the variables of RTVDTAQXCL."""
    made = []
    for api in _APIS:
        rows = [
            [row["number"], row["parameter"], row["use"], _bytes(row), row["group"] or "0", _python(row["python"])]
            for row in table("ibmi_api_parameters")
            if row["api"] == api
        ]
        made.append(_lines(["number", "parameter", "use", "type", "group", "in Python"], rows))
    messages = {api: [row for row in table("ibmi_api_messages") if row["api"] == api] for api in _APIS}
    rows = [
        [
            api,
            *(", ".join(each["message"] for each in sent if each["how"] == how) or "none" for how in ("real", "fault")),
        ]
        for api, sent in messages.items()
    ]
    made.append(_lines(["messages of", "sent where it is so", "sent for a planned fault only"], rows))
    for name in _FORMATS:
        rows = [
            [row["offset"], f"{row['kind']} {row['length']}".replace("*", "\\*"), row["field"], row["note"]]
            for row in table("ibmi_formats")
            if row["format"] == name
        ]
        made.append(_lines(["offset", "bytes", "field", "value"], rows))
    rows = [
        [f"`{row['keyword']}`", f"{row['type'].replace('*', chr(92) + '*')} {row['length']}", _field(row["standard"]),
         _field(row["ddm"])]
        for row in table("ibmi_rtvdtaqxcl")
    ]  # fmt: skip
    return [*made, _lines(["variable", "type", "of a standard queue", "of a DDM queue"], rows)]


def _bytes(row: dict[str, str]) -> str:
    if row["kind"] == "P":
        return _PACKED[row["length"]]
    return _PARAMETERS[row["kind"]].format(row["length"].replace("*", "\\*"))


def _python(names: str) -> str:
    return "" if names == "-" else ", ".join(f"`{name}`" for name in names.split())


def _field(source: str) -> str:
    return source.replace("_", " ").replace("*", "\\*")
