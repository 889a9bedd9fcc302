"""The settings with which the programs of one region run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tdqsim.cobol.area_warnings import CobolWarning
from tdqsim.cobol.code_pages import NO_CODE_PAGES, CodePages
from tdqsim.cobol.compiler import Module
from tdqsim.cobol.fields import Area
from tdqsim.cobol.guarded_areas import GuardedArea
from tdqsim.cobol.paragraphs import ParagraphRun
from tdqsim.cobol.storage import TaskStorage
from tdqsim.cobol.stubs import AnyStub
from tdqsim.errors import UsageError
from tdqsim.hosting import WaitQueue

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level

POLICIES: Final = ("OFF", "WARN", "ABEND")
"""The actions when a check fails, by their numbers in the shim."""
_POLICY_BITS: Final = 6
_HAS_INITIAL: Final = 1 << 14

Verb = Callable[[Mapping[str, Area | None], "Level"], object]
"""A function that answers a command: takes the options with their areas, and the level; returns a Condition or an
:class:`~tdqsim.cobol.stubs.StubAnswer`, NotImplemented to leave the command to the region, or None for the normal
end. RESP and RESP2 have no area: the program sets them itself, from the EIB."""
Watcher = Callable[["Level", str, str], object]
"""Called with each statement: the level, the statement's verb and its place."""


def issue_warning(text: str) -> None:
    """Issue a Python warning, which pytest shows."""
    warnings.warn(text, CobolWarning, stacklevel=2)


def policies(*, ssrange: str, numcheck: str, zoned_move: str, initial: int | None = None) -> int:
    """The policies of the three checks in the form of the shim, two bits for each, and the initial byte of items.

    Raises:
        UsageError: a value is not a policy.
    """
    bits = 0
    for name, policy in (("zoned_move", zoned_move), ("numcheck", numcheck), ("ssrange", ssrange)):
        if policy not in POLICIES:
            raise UsageError(f"{name} is {policy!r}; it may be {', '.join(POLICIES)}")
        bits = bits << 2 | POLICIES.index(policy)
    return bits if initial is None else bits | initial << _POLICY_BITS | _HAS_INITIAL


@dataclass(slots=True, eq=False, weakref_slot=True)
class Settings:
    """The settings with which the programs of one region run.

    Attributes:
        modules: the module of a program by name; None when there is none.
        stubs: the stubs, which are tried first.
        verbs: functions by verb that answer commands instead of the region.
        paragraph: the paragraph that a test runs now, or None.
        on_statement: called with each statement, or None.
        on_abend: called when a program fails and no label of its own handles that, while its storage exists.
        on_warning: called with the text of each warning about an area of the wrong size or type.
        checks: the policies of the checks, see :func:`policies`.
        runaway_ms: milliseconds of processor time since its last suspension after which a task is AICA; 0 for never.
        pages: the conversions between the programs' characters and those of records.
        cwa_size: bytes of the common work area; 0 for none.
        cwa: the common work area, when a program has asked for its address.
        shared: the storage of GETMAIN SHARED, which is not freed at the end of a task.
        events: where tasks wait for an area of POST.
        has_run: whether a program has run with them.
        checked, warned: the commands whose areas were checked, and the warnings issued so far.
    """

    modules: Callable[[str], Module | None]
    stubs: list[AnyStub] = field(default_factory=list)
    verbs: dict[str, Verb] = field(default_factory=dict)
    paragraph: ParagraphRun | None = None
    on_statement: Watcher | None = None
    on_abend: Callable[[Level, BaseException], object] | None = None
    on_warning: Callable[[str], object] = issue_warning
    checks: int = 0
    runaway_ms: int = 0
    pages: CodePages = NO_CODE_PAGES
    cwa_size: int = 0
    cwa: GuardedArea | None = None
    shared: TaskStorage = field(default_factory=TaskStorage)
    events: WaitQueue = field(default_factory=lambda: WaitQueue("a POST that expires"))
    has_run: bool = False
    checked: set[object] = field(default_factory=set)
    warned: set[object] = field(default_factory=set)

    @property
    def converts(self) -> bool:
        """Whether any records are converted."""
        return self.pages is not NO_CODE_PAGES
