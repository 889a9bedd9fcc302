"""How a COBOL program fails: the error that libcob detects, and the label that handles an abend."""

from __future__ import annotations

from tdqsim.cics import Abend
from tdqsim.errors import TdqError


class CobolFailure(TdqError):
    """libcob has detected an error in a program, such as bad packed digits or a missing program.

    Attributes:
        message: in libcob's words, with the user's file and line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class AbendLabel:
    """A label of HANDLE ABEND: an abend exit to which only its own level can branch.

    Attributes:
        run: the number of the run of the level that the label belongs to.
        number: the label's number in its program.
        control: the address of the program's control area.
    """

    __slots__ = ("control", "number", "run")

    def __init__(self, run: int, number: int, control: int) -> None:
        self.run = run
        self.number = number
        self.control = control

    def __call__(self, abend: Abend) -> None:
        """Raise the abend again: the level of the label has ended."""
        raise abend
