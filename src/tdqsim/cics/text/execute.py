"""``task.execute("READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)", variables)``: EXEC CICS text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.argument_types import explains_wrong_types

if TYPE_CHECKING:  # text is parsed when the first text comes
    from tdqsim.cics.text.host_variables import Labels, Received, Variables

__all__ = ["execute"]


@explains_wrong_types
def execute(
    task: TaskBase,
    text: str,
    variables: Variables | None = None,
    *,
    labels: Labels | None = None,
) -> Received:
    """Issue a command written as EXEC CICS text.

    ``EXEC CICS`` and ``END-EXEC`` may stand around it. A ``bytearray`` among the variables is an area of fixed
    length, anything else a value that receivers replace. RESP, RESP2 and NOHANDLE keep a condition from being
    raised.

    Args:
        text: the command, such as ``READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R)``.
        variables: the host variables by name; receivers are written into it.
        labels: the functions that stand for the program's labels, by label name: what HANDLE CONDITION and HANDLE
            ABEND name is called when it comes to that. A label may also be a host variable that holds a callable.

    Returns:
        What was received, by option.

    Raises:
        TranslationError: the text is no command, or a variable is missing or unfit; nothing was executed.
        Condition: as the command does.
    """
    from tdqsim.cics.text.run_text import run_text  # noqa: PLC0415  (who writes no text pays nothing for it)

    task._region.dispatcher.check_thread()
    return run_text(task, text, {} if variables is None else variables, labels=labels)
