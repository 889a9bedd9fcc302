"""The chapter *coverage*: which commands, options, attributes and messages are simulated.

It is made from the declarations and the tables of facts. *done* is simulated. *without effect* is accepted and checked,
and changes nothing. *absent* is refused. :class:`Tested` is the same for what tests have exercised and hold, for the
page that the project makes of its own tests (``python -m tests.quality``): *seen only* is exercised by a test, and none
fails without it; *untouched* is declared, but no test has exercised it; *unchecked* is an output option whose value no
test asserts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from tdqsim import definitions
from tdqsim.cics import Region  # noqa: F401  (declares every command)
from tdqsim.cics.kernel.command import COMMANDS, Command
from tdqsim.facts import Rule, rules, table
from tdqsim.ibmi import DECLARATIONS

_NOT_CHECKED: Final = ("NOHANDLE",)
_DONE: Final = "done"
_SEEN: Final = "seen only"
_IDLE: Final = "without effect"
_UNTOUCHED: Final = "untouched"
_UNREAD: Final = "unchecked"
_OF_TESTS: Final = frozenset({_UNTOUCHED, _SEEN, _UNREAD, "seen in"})
"""The columns that need evidence of tests."""
_RESOURCES: Final = (
    definitions.Transaction, definitions.File, definitions.ProgramDefinition, definitions.Connection,
    definitions.Tsmodel, definitions.Terminal, definitions.Tranclass,
)  # fmt: skip
_DECLARED: Final = (
    "This page is made from the declarations of the commands and the tables of facts. *done*: tdqsim simulates it. "
    "*without effect*: accepted and checked, and nothing changes. *absent*: refused. *raised*: a command can raise the "
    "condition. *known by number*: you can use the name, and no command raises the condition."
)
_COMMANDS: Final = (
    "Under *without effect* are the options that are accepted and checked and change nothing: they say what holds "
    "anyway, or stand for something that is not simulated. Under *seen only* are the options and conditions that tests "
    "give or meet and none needs, under *untouched* those that no test gives or meets, and under *unchecked* the "
    "output options whose value no test asserts."
)


class Seen(Protocol):
    """Which tests exercise a claim."""

    def of(self, *claims: str) -> str:
        """A test that exercises one of the claims; empty if there is none."""


class Tested(NamedTuple):
    """What is known of the tests: evidence that they exercise a claim, and verdicts on whether they notice its absence.

    Attributes:
        evidence: the tests that exercise a claim.
        verdicts: the test that fails without a claim, by claim; empty if none does.
    """

    evidence: Seen | None
    verdicts: Mapping[str, str]

    def by(self, *claims: str) -> str:
        """A test that fails without one of the claims; empty if there is none."""
        tests = (self.verdicts.get(claim, "") for claim in claims)
        return min((test.partition("[")[0] for test in tests if test), default="")

    def test(self, *claims: str) -> str:
        """A test that holds one of the claims, or else one that exercises it, for a cell of the page."""
        return self.by(*claims) or ("" if self.evidence is None else self.evidence.of(*claims))

    def state(self, *claims: str, idle: bool = False) -> str:
        """The state of what the claims stand for, in a word of the page."""
        if not self.test(*claims):
            return _UNTOUCHED
        return _IDLE if idle else _DONE if self.by(*claims) else _SEEN


class _Everything(Tested):
    """What would be known if tests held everything: a page made with it shows declarations only."""

    def by(self, *claims: str) -> str:
        """Never empty: everything counts as held."""
        return " ".join(claims)


def sections(held: Tested, *, every: bool = False) -> Iterator[str]:
    """The parts of a page; with ``every`` those about messages and rules too."""
    for part in (_commands, _attributes, _inquire, _cvdas, _ibmi, *((_messages, _rules) if every else ())):
        yield from part(held)


def declared_page() -> str:
    """The page for readers, as Markdown: commands, attributes, options, conditions, APIs and messages without tests."""
    held = _Everything(None, {})
    parts = list(sections(held))
    kept = [part for part in parts if part != _COMMANDS]
    return "\n\n".join(["# Coverage", _DECLARED, *map(_without_test_columns, kept)]) + "\n"


def _without_test_columns(part: str) -> str:
    rows = [line.strip("|").split("|") for line in part.splitlines()]
    if not part.startswith("|"):
        return part
    all_done = {row[at] for row in rows[2:] for at, name in enumerate(rows[0]) if name == " state "} == {" done "}
    hidden = _OF_TESTS | {"state"} if all_done else _OF_TESTS
    kept = [at for at, name in enumerate(rows[0]) if name.strip() not in hidden]
    return "\n".join(f"|{'|'.join(row[at] for at in kept)}|" for row in rows)


def _grid(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(heads)
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(str(cell).replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _of_command(name: str) -> list[Rule]:
    return [rule for rule in rules().values() if rule.command == name]


def _commands(held: Tested) -> Iterator[str]:
    names = [*COMMANDS, *(row["command"] for row in table("eibfn") if row["command"] not in COMMANDS)]
    idle: dict[str, list[str]] = {}
    for row in table("options_without_effect"):
        idle.setdefault(row["command"], []).append(row["option"])
    rows: list[tuple[object, ...]] = []
    for name in names:
        command = COMMANDS.get(name)
        if command is None:
            rows.append((name, "absent", *([""] * 8)))
            continue
        options = dict.fromkeys(option.word for option in command.options if option.word)
        conditions = sorted(resp.name for resp in command.conditions)
        none = idle.get(name, [])
        state = held.state(f"command {name}", idle="-" in none)
        states = list(_states(command, held, none))
        lists = (" ".join(word for word, its in states if its == each) for each in (_SEEN, _UNTOUCHED, _UNREAD))
        without = " ".join(word for word, its in states if its == _IDLE)
        count, test = len(_of_command(name)) or "", held.test(f"command {name}")
        rows.append((name, state, " ".join(options), " ".join(conditions), without, *lists, count, test))
    yield "## EXEC CICS commands"
    yield _COMMANDS
    columns = (_IDLE, _SEEN, _UNTOUCHED, _UNREAD)
    yield _grid(("command", "state", "options", "conditions", *columns, "rules", "seen in"), rows)


def _states(command: Command, held: Tested, idle: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The options, receivers and conditions of a command, each with its state."""
    words = [(option.word, option.receiver) for option in command.options if option.word not in ("", *_NOT_CHECKED)]
    for word, receiver in dict.fromkeys(words):
        if receiver:
            yield word, _DONE if held.by(f"receiver {command.name} {word}") else _UNREAD
        else:
            idles = word in idle or "-" in idle
            yield word, _IDLE if idles else held.state(f"option {command.name} {word}")
    for name in sorted(resp.name for resp in command.conditions):
        yield name, held.state(f"condition {command.name} {name}")


def _attributes(held: Tested) -> Iterator[str]:
    without = (*table("attributes_without_effect"), *table("attributes_kept"))
    idle = {(row["resource"], row["name"]) for row in without}
    named = [("TDQUEUE", row["name"], row["types"]) for row in table("tdqueue_attributes")]
    known = {(resource, name) for resource, name, _ in named}
    common = definitions.Resource.model_fields
    own = {(each.kind, name.upper()): None for each in _RESOURCES for name in each.model_fields if name not in common}
    named += [(resource, name, "") for resource, name in (*own, *sorted(idle - known - own.keys()))]
    rows = []
    for resource, name, types in named:
        claim = f"attribute {resource} {'NAME' if name == 'TDQUEUE' else name}"
        rows.append((resource, name, types, held.state(claim, idle=(resource, name) in idle), held.test(claim)))
    yield "## Attributes of definitions"
    yield "Other resources than TDQUEUE keep GROUP, DESCRIPTION and the definition signature; they have no effect."
    yield _grid(("resource", "attribute", "types", "state", "seen in"), rows)


def _inquire(held: Tested) -> Iterator[str]:
    settable = {row["name"] for row in table("set_tdqueue")}
    rows = []
    for row in (each for each in table("inquire") if each["resource"] == "TDQUEUE"):
        name = row["option"]
        claims = [f"receiver {command} {name}" for command in ("INQUIRE TDQUEUE", "INQUIRE TDQUEUE NEXT")]
        changed = held.state(f"option SET TDQUEUE {name}") if name in settable else "-"
        rows.append((name, held.state(*claims), changed, row["values"], held.test(*claims)))
    yield "## INQUIRE and SET TDQUEUE"
    yield _grid(("option", "INQUIRE", "SET", "values", "seen in"), rows)


def _cvdas(held: Tested) -> Iterator[str]:
    yield "## CVDAs and conditions"
    yield "CVDAs: " + ", ".join(f"{row['name']} {row['value']}" for row in table("cvda")) + "."
    raised = {resp.name for command in COMMANDS.values() for resp in command.conditions}
    rows = []
    for row in table("resp"):
        name = row["name"]
        claims = [f"condition {command} {name}" for command in COMMANDS] if name in raised else []
        state = held.state(*claims) if claims else "known by number"
        rows.append((name, row["value"], "raised" if state == _DONE else state, held.test(*claims)))
    yield _grid(("condition", "RESP", "state", "seen in"), rows)


def _ibmi(held: Tested) -> Iterator[str]:
    rows = []
    for name, each in DECLARATIONS.items():
        messages = list(dict.fromkeys(use.message_id for use in each.messages))
        states = {message: held.state(f"api-message {name} {message}") for message in messages}
        seen, untouched = (" ".join(one for one in messages if states[one] == its) for its in (_SEEN, _UNTOUCHED))
        api = f"api {name}"
        count = len(each.parameters) or ""
        rows.append((name, held.state(api), count, " ".join(messages), seen, untouched, held.test(api)))
    yield "## IBM i APIs and commands"
    yield _grid(("name", "state", "parameters", "messages", _SEEN, _UNTOUCHED, "seen in"), rows)
    formats = dict.fromkeys(row["format"].partition(".")[0] for row in table("ibmi_formats"))
    tests = {name: held.test(f"format {name}") for name in formats}
    yield _grid(("format", "state", "seen in"), [(n, _DONE if test else _UNTOUCHED, test) for n, test in tests.items()])


def _messages(held: Tested) -> Iterator[str]:
    rows = []
    for kind, name in (("cpf_messages", "kind"), ("kernel_messages", "destination")):
        for row in table(kind):
            claim = f"message {row['id']}"
            rows.append((row["id"], row[name], held.state(claim), row["text"], held.test(claim)))
    yield "## Messages"
    yield _grid(("message", "kind or destination", "state", "text", "seen in"), rows)


def _rules(held: Tested) -> Iterator[str]:
    rows = []
    for rule in sorted(rules().values()):
        outcome = " ".join(word for word in (rule.resp, rule.resp2, rule.message) if word)
        test = held.test(f"rule {rule.id}")
        rows.append((rule.id, rule.command, outcome, rule.confidence, "held" if test else _UNTOUCHED, test))
    yield "## Rules"
    yield _grid(("rule", "command", "outcome", "confidence", "state", "seen in"), rows)
