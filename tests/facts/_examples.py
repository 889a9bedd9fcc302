"""Examples of rules in words, which tests execute.

A rule without RESP and message is a sentence. ``tests/facts/examples/AREA.yaml`` has an example of it under its id::

    TD-FIFO:
      when: |
        WRITEQ TD QUEUE(NOR1) FROM(A)
        WRITEQ TD QUEUE(NOR1) FROM(B)
      then: |
        READQ TD QUEUE(NOR1) -> A
        READQ TD QUEUE(NOR1) -> B
        READQ TD QUEUE(NOR1) -> QZERO

``given``, ``when`` and ``then`` have steps, one a line; an indented line continues the one before. ``given`` at the top
of a file holds for all its examples. A step is

- ``DEFINE ...``: a statement of DFHCSDUP; the regions of the example have it from their start;
- a command as CECI takes it, such as ``READQ TD QUEUE(NOR1)``, in a task of its own; Python in braces is its value;
- any other text: Python, with the names of :class:`tests.facts._stage.Stage`;
- one of these behind ``T1``, or another T and digit: a step of that task, which waits between its steps. The step
  issues one command. In Python the task is ``me``. After its last step the task waits for its RETURN;
- ``T1`` alone: the outcome of the last step of the task, which waited when it was issued.

``STEP -> VALUE`` compares the outcome: a record or another received value, a mapping of several (RESP, RESP2 and
receivers; only those that are named are compared), the name of the condition, the message id, abend code or class of an
error, or ``waits`` if the task waits. Values are Python literals or plain words. Bytes are compared as ISO 8859-1 text,
enumerations by name. A step without a value must end without an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tdqsim.definitions.yamltext import read_yaml

from ._stage import Stage, with_group
from ._steps import Step, agrees, parse_steps

EXAMPLES = Path(__file__).parent / "examples"


class Example(NamedTuple):
    """An example, as its file has it."""

    id: str
    given: tuple[Step, ...]
    when: tuple[Step, ...]
    then: tuple[Step, ...]


class ExampleFailed(AssertionError):
    """A step had another outcome than the example says."""


@cache
def examples() -> Mapping[str, Example]:
    """All examples by rule id."""
    found: dict[str, Example] = {}
    for path in sorted(EXAMPLES.glob("*.yaml")):
        contents = read_yaml(path.read_text("utf-8"), str(path)).plain()
        every = contents.pop("given", "")
        for rule_id, parts in contents.items():
            assert rule_id not in found, f"{path.name}: there are two examples of {rule_id}"
            unknown = parts.keys() - {"given", "when", "then"}
            assert not unknown, f"{path.name}: {rule_id} has {unknown}"
            texts = (f"{every}\n{parts.get('given', '')}", parts.get("when", ""), parts.get("then", ""))
            found[rule_id] = Example(rule_id, *(tuple(parse_steps(text)) for text in texts))
    return found


def needs(example: Example) -> list[pytest.MarkDecorator]:
    """The marks of the tests that execute an example: those with a ``Workshop`` compile COBOL programs."""
    return [pytest.mark.cobc] if any("Workshop" in step.text for step in example.given) else []


def run_example(example: Example) -> None:
    """Execute an example.

    Raises:
        ExampleFailed: a step had another outcome than the example says.
    """
    steps = [*example.given, *example.when, *example.then]
    defined = [step.text for step in steps if step.text.startswith("DEFINE ")]
    with Stage("\n".join(map(with_group, defined))) as stage:
        for step in steps:
            if step.text in defined:
                continue
            outcome = stage.take(step, steps)
            if not (agrees(step.expected, outcome.value) if step.compared else outcome.worked()):
                expected = f"\n  expected {step.expected!r}" if step.compared else ""
                why = f" ({outcome.error})" if outcome.error else ""
                raise ExampleFailed(f"{example.id}: {step.task} {step.text}{expected}\n  was {outcome.value!r}{why}")
