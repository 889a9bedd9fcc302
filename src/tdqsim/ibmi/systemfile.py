"""The directory of an IBM i system: ``system.yaml`` describes the system, as ``region.yaml`` describes a region.

::

    name: PAYSYS
    ccsid: 37
    time_zone: Europe/Berlin
    definitions: [queues.yaml]
    libraries: [PAYLIB]
    commands:
    - CRTUSRPRF USRPRF(ALICE)
    - GRTOBJAUT OBJ(PAYLIB/ORDERS) OBJTYPE(*DTAQ) USER(ALICE) AUT(*USE)
    system_values: {QPWDLVL: 3, QPWDMINLEN: 8}
    machine: machine.yaml

Every key is optional. Paths are relative to the directory. The libraries of the definitions are created. The commands
typically create users and grant authorities: QSECOFR runs them when the system is created, after the definitions. If a
store has kept their results, they are not run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tdqsim.core.clock import time_zone
from tdqsim.core.codepage import codepage
from tdqsim.core.store import Store
from tdqsim.definitions import Definitions, Dtaq, define_dtaq, described_schema, load_definitions
from tdqsim.definitions.cl_command import check_command, escape_of, joined_lines, read_command
from tdqsim.definitions.modelfile import line_of, read_model
from tdqsim.definitions.yamltext import read_plain
from tdqsim.errors import DefinitionError, Problem, TdqError, WrongValue
from tdqsim.ibmi.authority import PasswordKeeper
from tdqsim.ibmi.data import SYSTEM_NAME
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.messages import EscapeMessage, message
from tdqsim.ibmi.system import System
from tdqsim.ibmi.system_values import SystemValues

SYSTEM_FILE_NAME: Final = "system.yaml"
SETUP_JOB: Final = "TDQSETUP"
"""The name of the job that runs the commands."""
_OWNER: Final = "QSECOFR"
_OF_STORE: Final = frozenset({"durability", "limit_bytes", "memory_bytes"})
_UNFINISHED: Final = b"system/unfinished"
"""The durable record that marks a store whose system is being created; it is removed after the last command."""
_NAME = r"^[A-Z$#@][A-Z0-9$#@_.]{0,9}$"


_Value = Annotated[int | str | tuple[str, ...], Field(union_mode="left_to_right")]


def _accepted_by(use: Callable[[Any], object]) -> AfterValidator:
    """Check a value by using it: what a function refuses is wrong in the file."""

    def check(given: Any) -> Any:
        try:
            use(given)
        except TdqError as error:
            raise WrongValue(str(error)) from None
        return given

    return AfterValidator(check)


_Zone = Annotated[str, Field(max_length=64), _accepted_by(time_zone)]


def _check_command(text: str) -> str:
    name, values, faults = check_command(read_command(joined_lines(text)))
    if faults:
        errors = [message(*escape_of(name, faults)), *(message(each.message_id, *each.values) for each in faults)]
        raise WrongValue("; ".join(map(str, errors)))
    if name == "CRTDTAQ":  # which keywords it needs depends on the others
        keywords: dict[str, Any] = {**values}
        try:
            define_dtaq(**keywords)
        except DefinitionError as error:
            words = (f"{each.attribute.upper()}: {each.message}" for each in error.problems)
            raise WrongValue("; ".join(words)) from None
    return text


_Command = Annotated[
    str, Field(min_length=1, max_length=LIMITS["command_length_maximum"]), AfterValidator(_check_command)
]


class SystemFile(BaseModel):
    """The contents of ``system.yaml``.

    Attributes:
        name: the name of the system, 1 to 8 characters.
        ccsid: the CCSID of its jobs.
        time_zone: UTC or the name of a time zone.
        definitions: files with data queues.
        libraries: libraries to create in addition to those of the definitions.
        commands: CL commands that are run, in order, when the system is created.
        system_values: values such as QPWDLVL, QMAXSIGN, QLIBLCKLVL and QUSRLIBL (the libraries of new jobs); others
            have their defaults.
        machine: the machine.yaml with the message ids of a real machine; empty for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Annotated[str, Field(pattern=SYSTEM_NAME)] = "TDQSYS"
    ccsid: Annotated[int, Field(ge=1, le=65534), _accepted_by(codepage)] = 37
    time_zone: _Zone = "UTC"
    definitions: Annotated[tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=1000)] = ()
    libraries: Annotated[tuple[Annotated[str, Field(pattern=_NAME)], ...], Field(max_length=10000)] = ()
    commands: Annotated[tuple[_Command, ...], Field(max_length=10000)] = ()
    system_values: Annotated[dict[str, _Value], _accepted_by(lambda given: SystemValues().set_all(given))] = {}
    machine: Annotated[str, Field(max_length=4096)] = ""


def load_system_file(directory: Path) -> tuple[SystemFile, Definitions]:
    """The contents of ``system.yaml`` in a directory, and the definitions that it names.

    Raises:
        DefinitionError: a file has errors.
    """
    path = directory / SYSTEM_FILE_NAME
    file = read_model(path, read_plain(path), SystemFile)
    return file, load_definitions(*[directory / each for each in file.definitions])


def system_from_directory(
    path: Path | str,
    *,
    store: Path | str | None = None,
    passwords: Callable[[System], PasswordKeeper] | None = None,
    **overrides: Any,
) -> System:
    """The system that ``system.yaml`` in a directory describes; existing objects in its store are not changed.

    If the process was killed before the last command had run, a mark in the store causes the system to be created again
    from the beginning.

    Args:
        path: the directory.
        store: the directory of its store; None for a temporary one.
        passwords: makes what keeps the passwords of CRTUSRPRF and CHGUSRPRF; None if nothing does.
        overrides: further arguments of the system, such as its clock.

    Raises:
        DefinitionError: a file has errors, or a command was refused. StoreError: the store cannot be used.
    """
    directory = Path(path)
    described, definitions = load_system_file(directory)
    made = store is not None and not os.path.lexists(store)
    with ExitStack() as undo:
        if made and store is not None:
            undo.callback(rmtree, store, ignore_errors=True)
        opened = Store(store, **{key: overrides.pop(key) for key in _OF_STORE & overrides.keys()})
        undo.callback(opened.close, clean=False)
        new = _begin(opened)
        system = System(
            described.name, store=opened, ccsid=described.ccsid, time_zone=described.time_zone,
            machine=directory / described.machine if described.machine else None, **overrides,
        )  # fmt: skip
        undo.callback(system.close, clean=False)
        if passwords is not None:
            system.passwords = passwords(system)
        system.values.set_all(described.system_values)
        _install(system, described.libraries, definitions)
        if new:
            _run(system, described.commands, directory / SYSTEM_FILE_NAME)
            opened.durable.commit(meta={_UNFINISHED: None})
        undo.pop_all()
    return system


def _begin(store: Store) -> bool:
    """Whether the system must be created: the store is empty, or is cleared after an interrupted creation."""
    durable = store.durable
    empty = not any(durable.metas()) and not any(durable.queues()) and not any(store.volatile.queues())
    if not empty and durable.get_meta(_UNFINISHED) is None:
        return False
    store.clear({_UNFINISHED: b"{}"})
    return True


def _install(system: System, libraries: Sequence[str], definitions: Definitions) -> None:
    for library in libraries:
        if library not in system.libraries:
            system.crtlib(library)
    if definitions.entries:
        known = {(queue.library, queue.name) for queue in system.queues()}
        missing = [each for each in definitions.dtaqs if (_library(each), each.name) not in known]
        system.install(Definitions.of(missing), create_libraries=True)


def _run(system: System, commands: Sequence[str], file: Path) -> None:
    for at, error in enumerate(run_commands(system, commands)):
        if error is not None:
            line = line_of(file, "commands", at)
            problem = Problem(str(file), line, "", f"commands.{at}", commands[at][:80], str(error))
            raise DefinitionError([problem]) from error


def run_commands(system: System, commands: Sequence[str]) -> Iterator[TdqError | None]:
    """Run commands of ``system.yaml`` in one job of QSECOFR; for each the error with which it was refused, or None."""
    with system.job(SETUP_JOB, user=_OWNER) as job:
        for command in commands:
            try:
                job.command(command)
            except (EscapeMessage, ParameterError) as error:
                yield error
            else:
                yield None


def _library(queue: Dtaq) -> str:
    return "QGPL" if queue.library == "*CURLIB" else queue.library


def system_json_schema() -> dict[str, Any]:
    """The schema of a ``system.yaml`` (JSON Schema 2020-12), with which editors complete and check this file."""
    return described_schema(SystemFile, "tdqsim system file", ())
