"""The comparison of a machine's answers with the simulator of its product."""

from __future__ import annotations

from pathlib import Path

from tdqsim.errors import ExtraMissing
from tdqsim.probe.answers import Answers
from tdqsim.probe.cases import RESET, cics_cases
from tdqsim.probe.cics_run import observe_cics
from tdqsim.probe.comparing import ProbeComparison, compare


def compare_with_simulator(answers: Answers, machine: Path | None = None) -> ProbeComparison:
    """Run the cases of the answers on the simulator, and compare.

    Args:
        answers: the answers of a machine.
        machine: a machine.yaml for the simulator, or None.

    Raises:
        DefinitionError: machine.yaml has errors.
        ExtraMissing: the answers are of an IBM i, and the extra ``serve`` is not installed.
    """
    if answers.product == "IBMI":
        try:
            from tdqsim.probe.ibmi_run import ibmi_answers  # noqa: PLC0415  (its host servers need the extra [serve])
        except ModuleNotFoundError as missing:
            raise ExtraMissing(missing.name, "serve") from missing
        return compare(answers, ibmi_answers(machine=machine))
    cases = cics_cases()
    tried = dict.fromkeys(each.rule for each in answers.observations)
    wanted = [rule for rule in cases if rule in tried and rule != RESET]
    ignored = {key for rule in wanted for key in cases[rule].ignored()}
    return compare(answers, observe_cics(machine, wanted=wanted), ignored=ignored)
