"""The end of a command: any exception becomes one message and an exit code (:class:`tdqsim.cli.errors.Exit`)."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tdqsim.cli.errors import CommandFailed, Exit, InputError, command_output, warn
from tdqsim.cli.output import emit_json
from tdqsim.core.control import Address
from tdqsim.errors import (
    ConversionError,
    DatasetError,
    DefinitionError,
    LayoutError,
    NotInstalled,
    StoreError,
    StoreInUse,
    TdqError,
)

_TRACEBACK = "TDQ_TRACEBACK"
_OWN = str(Path(__file__).resolve().parents[1]) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def guarded(call: Callable[[], int | None], *, json: bool = False) -> int:
    """Run a command; any exception becomes one message and an exit code.

    Args:
        call: the command.
        json: whether its output is JSON. If it fails before it has written any, ``{"error": {...}}`` is written.
    """
    _mend_streams()
    command_output.as_json, command_output.messages = False, []
    failure: Exception | None = None
    try:
        code = call() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _report(Exit.INTERRUPTED, "interrupted")
    except BrokenPipeError:
        _drop_stdout()
        return Exit.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001  (the only place that handles all exceptions)
        code, failure = _failed(error), error
    try:
        if json and code and not command_output.as_json:
            _write_error(code, failure)
        sys.stdout.flush()
    except OSError:  # the output has failed; flushing it at the end would fail again
        _drop_stdout()
    return code


def _write_error(code: int, failure: Exception | None) -> None:
    """Write the failure of a command as JSON: its exit code, its messages, and the fields of the error."""
    kind = CommandFailed if failure is None else type(failure)
    message = "\n".join(command_output.messages)
    values: dict[str, object] = {"exit_code": int(code), "type": kind.__name__, "message": message}
    for name in ("resp", "resp2", "message_id"):
        if (value := getattr(failure, name, None)) is not None:
            values[name] = value
    if isinstance(failure, DefinitionError):
        values["problems"] = [each._asdict() for each in failure.problems]
    emit_json({"error": values}, indent=None)


def _mend_streams() -> None:
    """Replace closed standard streams by the null device, and escape characters that their encodings lack."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  (open to the end)
        elif isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


def _report(code: Exit, text: str) -> int:
    if text:
        try:
            warn(text)
        except BrokenPipeError:
            _drop_stdout()
    return code


def _failed(error: Exception) -> int:
    if os.environ.get(_TRACEBACK):
        traceback.print_exception(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)  # noqa: T201  (its text is the help)
        return Exit.INPUT
    if hasattr(error, "format_message"):  # the command line parser's own errors
        return _report(Exit.INPUT, f"{error.format_message()}\n     see tdq --help, or --help after the command")
    code = _code_of(error)
    if code is Exit.INTERNAL and (place := _place_outside(error)):
        return _report(Exit.INPUT, f"{place}: {type(error).__name__}: {error}")
    if code is Exit.INTERNAL:
        text = f"{type(error).__name__}: {error}"
        return _report(
            code, f"unexpected error: {text}\n     set {_TRACEBACK}=1 and repeat the command to see the traceback"
        )
    if isinstance(error, StoreInUse) and (served := Address.find(error.path)) is not None and served.pid == error.pid:
        return _report(code, f"{error.path}: the store is in use by the server of {served.name}, process {error.pid}")
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return _report(code, f"{where}{error.strerror}" if error.strerror else str(error))
    return _report(code, str(error) or type(error).__name__)


def _place_outside(error: BaseException) -> str:
    """File and line of the user's own code (a handler module, a job) that raised an error; empty if there is none."""
    import sysconfig  # noqa: PLC0415  (slow to import, and needed only for unexpected errors)

    python = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
    place, inside = "", False
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in frames[1:]:  # the first frame is that of guarded
        file = frame.f_code.co_filename
        real = os.path.realpath(file)
        library = real.startswith(python) or any(part in real for part in _INSTALLED)
        if real.startswith(_OWN):
            inside = True  # frames that this package has called
        elif inside and not library and file.endswith(".py"):
            place = f"{file}:{line}"
    return place


def _code_of(error: Exception) -> Exit:
    if isinstance(error, StoreError):
        return Exit.STORE
    if isinstance(error, (InputError, DefinitionError, DatasetError, NotInstalled, LayoutError, ConversionError)):
        return Exit.INPUT
    if isinstance(error, TdqError):
        return Exit.CONDITION
    if isinstance(error, OSError):
        return Exit.INPUT
    return Exit.INTERNAL


def _drop_stdout() -> None:
    """Replace standard output, which the interpreter flushes at its end, by the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
    finally:
        os.close(null)
