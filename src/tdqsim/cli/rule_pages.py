"""The chapters of the guide that are made from tables of facts and docstrings: :data:`PAGES`.

Each rule is listed with its source in one of three chapters: ``sure`` has the rules that the vendor's pages, clients or
samples show, ``differences`` those from other descriptions and general knowledge, ``choices`` those that we chose.
A real system may differ from the rules of the last two. The chapters are rendered when they are read; they are not
files of the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final

from tdqsim.cli import on_demand
from tdqsim.cli.reference import overview
from tdqsim.facts import CONFIDENCE, Rule, rules, table

_CHOICES: Final = """\
# Design choices

Where the manuals are silent, tdqsim has to choose a behaviour. This chapter lists these choices with their reasons.
The last column is the name of the rule in the table of rules (`tdqsim/facts/rules.tsv`).

## Where the manuals are silent

These {silent} rules are about CICS or IBM i, and the manuals that we know do not answer them. If you know that a real
system behaves differently, please open an issue. [How sure are we?](sure.md) describes how to send us the
behaviour of a real system.
"""
_OURS: Final = """
## Our own interface

These {ours} rules are about tdqsim itself: its Python API, its files, its limits. CICS and IBM i have nothing like
it, or nothing that a program could see.
"""
_DIFFERENCES: Final = """\
# Differences from CICS and IBM i

tdqsim simulates queues as programs, operators and scripts see them. This chapter lists what is not simulated, and
the rules that neither a manual nor a program of the vendor confirms: they come from other programs and decks, from
other descriptions, or from general knowledge. The chapter [Design choices](choices.md) lists the rules that we
chose ourselves, [How sure are we?](sure.md) those that are confirmed, and [Coverage](coverage.md) everything that
is simulated.

## Not simulated

| in CICS | here |
| --- | --- |
{absent}

## Rules that no manual confirms

Of {all} rules, {confirmed} rest on a page, client or sample of the vendor, and {choices} are design choices. These
are the other {count}.
"""
_SURE: Final = """\
# How sure are we?

{areas}

The ten open points that would hurt most if tdqsim were wrong, and what to do until a real machine has answered:

{points}

Every rule of behaviour has a source and a degree of confidence. You can look up each rule by its name, such as
`TD-READQ-QZERO`: `tdq explain --rule TD-READQ-QZERO` shows its source. Where a condition or message rests on a rule
that no page or program of the vendor shows, `tdq explain`, the errors of the HTTP API and the console name the rule and
its confidence. In Python, `condition.rules` has the rules of a condition.

| confidence | rules | meaning | listed in |
| --- | ---: | --- | --- |
{counts}
| all | {all} | | |

The order of trust: first the pages of the five interfaces that tdqsim covers completely (INQUIRE TDQUEUE, QMHQRDQD,
QMHRDQM, QMHQCDQ, RTVDTAQXCL), then the newest release of the vendor's own page, then the vendor's own programs.
The behaviour of another implementation, or a tutorial, never overrides them.

## Report how a real system behaves

If you have a CICS region or an IBM i system, you can settle a rule that is not confirmed. `tdq probe make` writes
programs that try these rules on your machine, and `tdq probe compare` compares their answers with the simulator; see
[Tests and rules on a real system](real-systems.md). The same chapter describes how to run your own
test there and here, and record each call with its answer in a transcript. Open an issue with the report or the
transcript, the release of the system, and the name of the rule. Both have the names and bytes of the test records, and
nothing else of your machine.

## Rules that the vendor's pages and programs show

These {count} rules are listed by command. The column *what it says* has the point of the source in our words. Pages
move: if a link no longer leads there, search for the name of the page.
"""
_RULES: Final = """
## Rules

All {count} rules of behaviour, by command, with their confidence, which [How sure are we?](sure.md) explains. The
last column is the name of the rule in `tdqsim/facts/rules.tsv`.
"""
_CHOSEN: Final = ("vendor silent", "ours")
_SHOWN: Final = ("confirmed", "vendor source")
_AREAS: Final = {
    "transient data": (
        "ATI-", "BROWSE-", "CREATE-", "DEF-TDQ-", "DISABLE-", "DISCARD-", "EX-", "INQ-", "LOCK-", "REC-", "RESTART-",
        "SET-", "SIG", "TD-", "UOW-", "UOWENQ-", "UOWLINK-",
    ),
    "data queues": ("CL-", "CRTDTAQ-", "DTAQ-", "QSYS2-", "RTV-"),
}  # fmt: skip
"""How the names of the rules begin."""
_BESIDE: Final = (
    "INQ-SYSTEM-",
    "SET-DISPATCHER-",
    "SET-STATISTICS-",
    "SET-SYSTEM-",
    "SET-TASK-",
    "SET-TRANCLASS-",
    "SET-TRANDUMPCODE-",
    "SIGNO",
)
"""The rules that begin so and are of other resources."""


def choices() -> str:
    """The chapter of choices."""
    silent, ours = ([rule for rule in rules().values() if rule.confidence == each] for each in _CHOSEN)
    return (
        _CHOICES.format(silent=len(silent))
        + _sections(silent, "why", _why)
        + _OURS.format(ours=len(ours))
        + _sections(ours, "why", _why)
    )


def differences() -> str:
    """The chapter of parts that are not simulated and of rules that no manual confirms."""
    known = list(rules().values())
    others = [rule for rule in known if rule.confidence not in _CHOSEN + _SHOWN]
    confirmed = sum(rule.confidence in _SHOWN for rule in known)
    absent = "\n".join(f"| {_cell(row['in_cics'])} | {_cell(row['here'])} |" for row in table("absent"))
    head = _DIFFERENCES.format(
        absent=absent,
        all=len(known),
        confirmed=confirmed,
        choices=len(known) - confirmed - len(others),
        count=len(others),
    )
    return head + _sections(others, "source", _source)


def sure() -> str:
    """The chapter of the degrees of confidence and of the rules that the vendor's pages and programs show."""
    known = list(rules().values())
    count = Counter(rule.confidence for rule in known)
    chapters = {**dict.fromkeys(_CHOSEN, "[Design choices](choices.md)"), **dict.fromkeys(_SHOWN, "this chapter")}
    counts = "\n".join(
        f"| {each} | {count[each]} | {meaning} | {chapters.get(each, '[Differences](differences.md)')} |"
        for each, meaning in CONFIDENCE.items()
    )
    shown = [rule for rule in known if rule.confidence in _SHOWN]
    points = "\n".join(
        f"{number}. {row['point']} (`{row['rule']}`): {row['until']}"
        for number, row in enumerate(table("open_points"), 1)
    )
    areas = "\n".join(_area(name, known) for name in _AREAS)
    head = _SURE.format(areas=areas, points=points, counts=counts, all=len(known), count=len(shown))
    return head + _sections(shown, "what it says", _source)


def _area(name: str, known: list[Rule]) -> str:
    """A line with the degrees of the rules of one area."""
    rules = [rule for rule in known if rule.id.startswith(_AREAS[name])]
    rules = [rule for rule in rules if not rule.id.startswith(_BESIDE)]
    count = Counter(rule.confidence for rule in rules)
    shown, chosen = (sum(count[each] for each in group) for group in (_SHOWN, _CHOSEN))
    return (
        f"- Of the {len(rules)} rules of {name}, the vendor's pages and programs say {shown}, other readers and "
        f"products say {count['second-hand']}, {count['unconfirmed']} are what we expect and nobody has "
        f"confirmed, and {chosen} are our choice, because the vendor is silent."
    )


def coverage() -> str:
    """The chapter of what is simulated: commands, options, conditions, attributes, APIs and rules."""
    known = list(rules().values())
    return (
        on_demand.coverage.declared_page()
        + _RULES.format(count=len(known))
        + _sections(known, "confidence", lambda rule: rule.confidence)
    )


def reference() -> str:
    """The chapter of the Python API."""
    return overview()


def _sections(rules: Iterable[Rule], heading: str, reason: Callable[[Rule], str]) -> str:
    """A table for each command, in the order of their names, with a row for each rule."""
    by_command = groupby(sorted(rules, key=lambda rule: rule.command), key=lambda rule: rule.command)
    parts = []
    for command, members in by_command:
        rows = [
            f"| {_cell(rule.circumstances)} | {_cell(_outcome(rule))} | {reason(rule)} | `{rule.id}` |"
            for rule in members
        ]
        head = [f"\n### {command}\n", f"| when | then | {heading} | rule |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([*head, *rows]))
    return "\n".join(parts) + "\n"


def _outcome(rule: Rule) -> str:
    """The condition with its RESP2, a message id, text of the message or the value; an empty text for none."""
    condition = f"{rule.resp} {rule.resp2}".strip()
    message = f'"{rule.message}"' if any(each.islower() for each in rule.message) else rule.message
    return ", ".join(part for part in (condition, message) if part)


def _why(rule: Rule) -> str:
    """The reason for a choice; also the source, if a page describes part of it."""
    return _cell(rule.point) if rule.source == "our choice" else _source(rule)


def _source(rule: Rule) -> str:
    """The summary of the source, and the source with its address and release."""
    name = _cell(rule.source)
    linked = f"[{name}]({rule.address})" if rule.address.startswith("https://") else f"{name} {rule.address}".strip()
    source = f"{linked}, {rule.release}" if rule.release else linked
    return f"{_cell(rule.point)} ({source})" if rule.point else source


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


PAGES: Final = {
    "sure": sure, "choices": choices, "differences": differences, "coverage": coverage, "reference": reference
}  # fmt: skip
"""The chapters that this module renders, by name."""
