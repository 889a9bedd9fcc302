"""An IBM i system's directory: ``system.yaml``, what a region has in ``region.yaml``.

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

Every key may be left out. Paths are relative to the directory. The libraries that definitions name are made. The
commands say who may do what: they are run by QSECOFR when the system is made, behind the definitions, and not again
where a store has kept what they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tdqsim.definitions import Definitions, Dtaq, load_definitions
from tdqsim.errors import DefinitionError, Problem
from tdqsim.ibmi import EscapeMessage, ParameterError, System, SystemValues
from tdqsim.server._yamlfile import read_model, read_plain

__all__ = ["SYSTEM_FILE_NAME", "SystemFile", "load_system_file", "system_from_directory"]

SYSTEM_FILE_NAME: Final = "system.yaml"
_OWNER: Final = "QSECOFR"
_NAME = r"^[A-Z$#@][A-Z0-9$#@_.]{0,9}$"


def _check_values(given: dict[str, int]) -> dict[str, int]:
    try:
        SystemValues().update(given)
    except ParameterError as error:
        raise ValueError(str(error)) from None
    return given


class SystemFile(BaseModel):
    """What ``system.yaml`` says.

    Attributes:
        name: the system's name, 1 to 8 characters.
        ccsid: of its jobs.
        time_zone: UTC or the name of a time zone.
        definitions: files with data queues.
        libraries: those that are made beside the ones that definitions name.
        commands: CL commands that are run, in order, when the system is made.
        system_values: those that sign-ons follow, such as QPWDLVL and QMAXSIGN; the others have their defaults.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Annotated[str, Field(pattern=r"^[A-Z$#@][A-Z0-9$#@]{0,7}$")] = "TDQSYS"
    ccsid: Annotated[int, Field(ge=1, le=65534)] = 37
    time_zone: Annotated[str, Field(max_length=64)] = "UTC"
    definitions: Annotated[tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=1000)] = ()
    libraries: Annotated[tuple[Annotated[str, Field(pattern=_NAME)], ...], Field(max_length=10000)] = ()
    commands: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=32702)], ...], Field(max_length=10000)] = ()
    system_values: Annotated[dict[str, int], AfterValidator(_check_values)] = {}


def load_system_file(directory: Path) -> tuple[SystemFile, Definitions]:
    """What ``system.yaml`` in a directory says, and the definitions that it names.

    Raises:
        DefinitionError: something in a file is wrong.
    """
    path = directory / SYSTEM_FILE_NAME
    found = read_model(path, read_plain(path), SystemFile)
    return found, load_definitions(*[directory / each for each in found.definitions])


def system_from_directory(directory: Path, store: Path | None = None, **options: Any) -> System:
    """The system that ``system.yaml`` in a directory describes; what its store has already stays as it is.

    Raises:
        DefinitionError: something in a file is wrong, or a command was refused. StoreError: the store cannot be used.
    """
    found, definitions = load_system_file(directory)
    new = store is None or not store.is_dir() or not any(store.iterdir())
    system = System(found.name, store, ccsid=found.ccsid, timezone=found.time_zone, **options)
    system.values.update(found.system_values)
    try:
        for library in found.libraries:
            if library not in system.libraries:
                system.crtlib(library)
        if definitions.entries:
            known = {(queue.library, queue.name) for queue in system.queues()}
            missing = [each for each in definitions.dtaqs if (_library(each), each.name) not in known]
            system.install(Definitions.of(missing), create_libraries=True)
        if new:
            _run(system, found.commands, str(directory / SYSTEM_FILE_NAME))
    except BaseException:
        system.close(clean=False)
        if new and store is not None:
            rmtree(store)  # else the commands would not be run again
        raise
    return system


def _run(system: System, commands: Sequence[str], file: str) -> None:
    with system.job("TDQSETUP", user=_OWNER) as job:
        for at, command in enumerate(commands):
            try:
                job.command(command)
            except (EscapeMessage, ParameterError) as error:
                raise DefinitionError([Problem(file, 0, "", f"commands.{at}", command[:80], str(error))]) from error


def _library(queue: Dtaq) -> str:
    return "QGPL" if queue.library == "*CURLIB" else queue.library
