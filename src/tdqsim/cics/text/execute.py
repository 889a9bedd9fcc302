"""``task.execute("READQ TD QUEUE('PAYQ') INTO(REC) RESP(R)", variables)``: EXEC CICS text."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.argument_types import explains_wrong_types
from tdqsim.errors import WrongType

if TYPE_CHECKING:  # the parser is imported with the first text
    from tdqsim.cics.text.host_variables import Labels, Received, Variables


@explains_wrong_types
def execute(
    task: TaskBase,
    text: str,
    variables: Variables | None = None,
    *,
    labels: Labels | None = None,
) -> Received:
    """Issue a command written as EXEC CICS text.

    The text may include ``EXEC CICS`` and ``END-EXEC``. A variable that is a ``bytearray`` is an area of fixed length;
    any other variable is a value that receivers replace. With RESP, RESP2 or NOHANDLE no condition is raised.

    Args:
        text: the command, such as ``READQ TD QUEUE('PAYQ') INTO(REC) LENGTH(LEN) RESP(R)``.
        variables: the host variables by name; receivers are stored in it.
        labels: the functions to call for the program's labels, by label name. When a condition or abend occurs, the
            function of the label named in HANDLE CONDITION or HANDLE ABEND is called. A label may also be a host
            variable that holds a callable.

    Returns:
        The values received, by option.

    Raises:
        TranslationError: the text is not a command, or a variable is missing or has an unsuitable value; nothing was
            executed.
        Condition: as the command does.
    """
    from tdqsim.cics.text.run_text import run_text  # noqa: PLC0415  (the parser is imported with the first text)

    task._region.dispatcher.check_thread()
    if variables is not None and not isinstance(variables, (dict, MutableMapping)):
        raise WrongType(f"execute: variables is {variables!r:.40}; allowed is a dict of values by name")
    return run_text(task, text, {} if variables is None else variables, labels=labels)
