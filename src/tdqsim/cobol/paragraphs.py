"""Run one paragraph or section of a program, with storage set by name and stubs for paragraphs that it performs.

:meth:`~tdqsim.cobol.programs.CobolPrograms.perform` compiles the program once more, in a form that can begin at any
paragraph (see the text in ``_paragraph_entries``). The program is then a task as usual: its WORKING-STORAGE has its
VALUEs, its commands go to the region and to stubs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tdqsim.cobol._paragraph_entries import ENTER, GO_BACK, LEAVE
from tdqsim.cobol.program_storage import ProgramStorage, StorageSnapshot
from tdqsim.errors import UsageError
from tdqsim.hosting import did_you_mean

if TYPE_CHECKING:
    from tdqsim.cobol.stubs import Answered

ParagraphStub = Mapping[str, Any] | Callable[[ProgramStorage], object]
"""What replaces a paragraph: values of items, or a function that gets the program's items."""


class ParagraphResult:
    """The result of a paragraph.

    Attributes:
        returned: whether the paragraph ended; False when the program ended inside it, such as by GOBACK or RETURN.
        performed: the stubbed paragraphs that were performed, in order.
        storage: the items of the program at the end, by name.
    """

    def __init__(self) -> None:
        self.returned = False
        self.performed: list[str] = []
        self._storage: StorageSnapshot | None = None

    @property
    def storage(self) -> ProgramStorage:
        """The items of the program at the end.

        Raises:
            UsageError: the program has not begun.
        """
        if self._storage is None:
            raise UsageError("the program has not begun")
        return self._storage

    def take(self, storage: StorageSnapshot) -> None:
        """Keep the items of the program."""
        self._storage = storage


class ParagraphRun:
    """The run of one paragraph.

    Args:
        names: the paragraphs, sections and ranges of the program.
        name: the one to run; a paragraph of a section may be named without the section.
        values: values of items, set before it runs.
        stubs: by paragraph or section, what replaces it.

    Raises:
        UsageError: there is no such paragraph, or the name fits several.
    """

    def __init__(
        self, names: Sequence[str], name: str, values: Mapping[str, Any], stubs: Mapping[str, ParagraphStub]
    ) -> None:
        self.number = names.index(_found(names, name)) + 1
        self.values = values
        self.stubs = {_found(names, each): stub for each, stub in stubs.items()}
        self.result = ParagraphResult()


def _found(names: Sequence[str], name: str) -> str:
    wanted = " ".join(name.upper().replace(" IN ", " OF ").replace(" THROUGH ", " THRU ").split())
    if wanted in names:
        return wanted
    found = [each for each in names if each.partition(" OF ")[0] == wanted and " THRU " not in each]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"paragraph {name} may be {', '.join(found)}")
    raise UsageError(f"there is no paragraph {name}{did_you_mean(wanted, names, 3)}")


def paragraph_step(level: Answered, text: str) -> int:
    """Do one of the commands of such a program; returns the number of the paragraph where the program continues."""
    run = level.settings.paragraph
    if run is None:
        return 0
    if text == ENTER:
        _set(level, run.values)
        return run.number
    if text in (LEAVE, GO_BACK):
        run.result.returned = text == LEAVE
        keep_storage_at_end(level)
        return 0
    name = text.partition(" ")[2]
    stub = run.stubs.get(name)
    if stub is None:
        return 0
    run.result.performed.append(name.partition(" OF ")[0])
    if isinstance(stub, Mapping):
        _set(level, stub)
    else:
        stub(next(iter(level.programs())))
    return 1


def _set(level: Answered, values: Mapping[str, Any]) -> None:
    storage = next(iter(level.programs()))
    for name, value in values.items():
        storage[name] = value


def keep_storage_at_end(level: Answered) -> None:
    """Keep the items of the program that issues a command."""
    run = level.settings.paragraph
    if run is not None:
        run.result.take(next(iter(level.programs())).snapshot(level.room_from))
