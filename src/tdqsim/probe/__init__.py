"""Programs that ask a real CICS region or IBM i system how it behaves, and the comparison with this simulator.

The theory: a *case* is a short sequence of commands about one rule of ``facts/rules.tsv``. The same cases run in two
places. On a real machine they are a program that ``tdq probe make`` writes; it writes each *observation* (a value of a
field after a step) to a data set, the *answers file*. Here they run on the simulator, command by command.
:func:`compare` lists the observations that differ. What the simulator answers comes from its commands, never from the
rule table, because a rule that the code does not follow must be noticed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

__all__ = [
    "Answers",
    "Observation",
    "ObservedDifference",
    "ProbeComparison",
    "compare",
    "compare_with_simulator",
    "read_answers",
    "write_answers",
    "write_cics_probe",
    "write_ibmi_probe",
]

if TYPE_CHECKING:
    from tdqsim.probe.answers import Answers, Observation, read_answers, write_answers
    from tdqsim.probe.comparing import ObservedDifference, ProbeComparison, compare
    from tdqsim.probe.comparing_products import compare_with_simulator
    from tdqsim.probe.ibmi_make import write_ibmi_probe
    from tdqsim.probe.making import write_cics_probe

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.probe.answers": ("Answers", "Observation", "read_answers", "write_answers"),
        "tdqsim.probe.comparing": ("ProbeComparison", "ObservedDifference", "compare"),
        "tdqsim.probe.comparing_products": ("compare_with_simulator",),
        "tdqsim.probe.making": ("write_cics_probe",),
        "tdqsim.probe.ibmi_make": ("write_ibmi_probe",),
    },
)
