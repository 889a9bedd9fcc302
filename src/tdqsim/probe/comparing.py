"""Compare the observations of a machine with those of the simulator, and adopt the machine's answers.

Observations with the same rule, step and field are compared as text. Values that depend on the environment, such as a
time or a token, are not compared: the tables of cases list them. Nor are those of steps that a probe program did not
reach because it left out the rest of a case. A difference can be *adopted* when it is the RESP,
RESP2, abend code or message id of the rule itself, at a step where the simulator gives what the rule's row says; then
machine.yaml makes the simulator give the machine's answer. All other differences are reported only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tdqsim.definitions import Machine
from tdqsim.facts import Resp, Rule, rules
from tdqsim.probe.answers import LEFT_OUT, Answers

_ABSENT: Final = "(no answer)"
_MESSAGE_ID: Final = re.compile(r"[A-Z]{3}[A-Z0-9]{4,6}")


class ObservedDifference(NamedTuple):
    """An observation that is not the same in both.

    Attributes:
        rule: the rule of the case.
        step: the step.
        field: the field.
        simulator: the value of the simulator; None if it has none.
        machine: the value of the machine; None if it has none.
    """

    rule: str
    step: str
    field: str
    simulator: str | None
    machine: str | None


@dataclass(frozen=True, slots=True)
class ProbeComparison:
    """The result of a comparison.

    Attributes:
        product: CICS or IBMI.
        release: the release of the machine.
        complete: whether the probe program came to its end on the machine.
        tried: the number of rules that both have observations of.
        differences: in the order of the simulator's cases.
        unknown: rules in the machine's file of which the simulator has no case, as in a file of another version.
        untried: rules of which the machine's file has no observation.
        adoptable: by rule, what machine.yaml can contain.
        reasons: for each rule with a difference that cannot be adopted, why not.
    """

    product: str
    release: str
    complete: bool
    tried: int
    differences: tuple[ObservedDifference, ...]
    unknown: tuple[str, ...]
    untried: tuple[str, ...]
    adoptable: Mapping[str, Mapping[str, str]]
    reasons: Mapping[str, str]

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules whose observations differ, each once."""
        return tuple(dict.fromkeys(each.rule for each in self.differences))

    def text(self) -> str:
        """The report for people, which they can send to the project."""
        lines = [f"{self.product} {self.release}: {self.tried} rules compared, {len(self.rules)} differ"]
        if not self.complete:
            lines.append("The file has no trailer: the probe program was interrupted; later rules were not tried.")
        for rule_id in self.rules:
            row = rules().get(rule_id)
            about = f"{row.command}: {row.circumstances} [{row.confidence}]" if row else "this version has no such rule"
            lines += ["", rule_id, f"  {about}"]
            lines += [f"  {_shown(each)}" for each in self.differences if each.rule == rule_id]
        for title, ids in (
            ("without a case in this version", self.unknown),
            ("not tried by the machine", self.untried),
        ):
            if ids:
                lines += ["", f"Rules {title}: {', '.join(ids)}"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The report for programs."""
        found = rules()
        return {
            "product": self.product,
            "release": self.release,
            "complete": self.complete,
            "tried": self.tried,
            "differences": [
                {
                    **each._asdict(),
                    "circumstances": found[each.rule].circumstances if each.rule in found else "",
                    "confidence": found[each.rule].confidence if each.rule in found else "",
                }
                for each in self.differences
            ],
            "adoptable": {rule: dict(answer) for rule, answer in self.adoptable.items()},
            "not_adoptable": dict(self.reasons),
            "unknown": list(self.unknown),
            "untried": list(self.untried),
        }

    def machine_yaml(self) -> str:
        """The text of the machine.yaml with the answers that can be adopted."""
        lines = [
            "# Answers of a real machine, written by tdq probe compare --adopt.",
            "format: 1",
            f"product: {self.product}",
            f'release: "{self.release}"',
            "rules:" if self.adoptable else "rules: {}",
        ]
        for rule, answer in self.adoptable.items():
            lines.append(f"  {rule}: {{{', '.join(f'{key}: {value}' for key, value in answer.items())}}}")
        return "\n".join(lines) + "\n"


def _shown(each: ObservedDifference) -> str:
    simulator, machine = (_ABSENT if value is None else value or "(empty)" for value in (each.simulator, each.machine))
    if each.field == "RESP":
        simulator, machine = _condition(simulator), _condition(machine)
    return f"step {each.step}, {each.field}: the simulator answers {simulator}, the machine {machine}"


def _condition(value: str) -> str:
    """The name of a condition with its number; any other text as it is."""
    return f"{Resp(int(value)).name} ({value})" if value.isdecimal() and int(value) in set(Resp) else value


def compare(
    machine: Answers, simulator: Answers, *, ignored: Collection[tuple[str, str, str]] = frozenset()
) -> ProbeComparison:
    """Compare two sets of observations.

    Args:
        machine: those of the machine.
        simulator: those of the simulator for the same cases.
        ignored: rule, step and field of observations that depend on the environment.
    """
    there, here = machine.values(), simulator.values()
    rules_there, rules_here = (
        dict.fromkeys(each.rule for each in one.observations if each.step != LEFT_OUT) for one in (machine, simulator)
    )
    last = next(reversed(rules_there), "")  # of an incomplete file: the rule at which the program was interrupted
    left = {rule for rule, step, _ in (*here, *there) if step == LEFT_OUT}
    keys = [key for key in dict.fromkeys([*here, *there]) if key[0] in rules_there and key[0] in rules_here
            and (key[0] not in left or (key in here and key in there))]  # fmt: skip
    differences = tuple(
        ObservedDifference(*key, here.get(key), there.get(key))
        for key in keys
        if key not in ignored
        and here.get(key) != there.get(key)
        and (machine.complete or key[0] != last or key in there)
    )
    adoptable, reasons = _adopted(differences, here)
    return ProbeComparison(
        machine.product,
        machine.release,
        machine.complete,
        sum(rule in rules_here for rule in rules_there),
        differences,
        tuple(rule for rule in rules_there if rule not in rules_here),
        tuple(rule for rule in rules_here if rule not in rules_there),
        adoptable,
        reasons,
    )


def _adopted(
    differences: tuple[ObservedDifference, ...], here: Mapping[tuple[str, str, str], str]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """What machine.yaml can contain, and for the other rules why it cannot."""
    adopted: dict[str, dict[str, str]] = {}
    reasons: dict[str, str] = {}
    for each in differences:
        row = rules().get(each.rule)
        answer = _answer_of(each, row, here) if row is not None else None
        if answer is None:
            reasons.setdefault(each.rule, "the difference is not a RESP, RESP2, abend code or message id of the rule")
        elif row is not None and row.resp and (why := Machine.why_not_told_apart(row)):
            reasons[each.rule] = why
        else:
            key, value = answer
            adopted.setdefault(each.rule, {}).setdefault(key, value)
    return adopted, {rule: why for rule, why in reasons.items() if rule not in adopted}


def _answer_of(each: ObservedDifference, row: Rule, here: Mapping[tuple[str, str, str], str]) -> tuple[str, str] | None:
    """The key and value for machine.yaml, if the difference is in the answer that the rule's row gives."""
    if each.machine is None:
        return None
    if each.field.startswith("MESSAGE"):
        is_id = each.simulator == row.message and _MESSAGE_ID.fullmatch(each.machine)
        return ("message", each.machine) if is_id else None
    resp = Resp[row.resp] if row.resp in Resp.__members__ else None
    if each.field == "ABCODE":
        return ("abend", each.machine) if resp and each.machine else None
    given, reason = (here.get((each.rule, each.step, field)) for field in ("RESP", "RESP2"))
    if resp is None or resp is Resp.NORMAL or given != str(int(resp)) or (row.resp2 and reason != row.resp2):
        return None
    if each.field == "RESP" and each.machine.isdecimal() and int(each.machine) in set(Resp):
        return "resp", Resp(int(each.machine)).name
    return ("resp2", each.machine) if each.field == "RESP2" else None
