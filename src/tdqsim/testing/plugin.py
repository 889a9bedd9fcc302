"""The pytest plugin: fixtures, markers, and a section in the report of a failed test. It needs no import.

Fixtures
    ``tdq_region``       a new region with the definitions of the test's marker
    ``tdq_make_region`` makes as many as are wanted; arguments as :class:`tdqsim.Region`'s
    ``tdq_sysplex``      connected regions: ``tdq_sysplex.add(tdq_make_region(applid="CICA", sysid="CICA"))``
    ``tdq_regions``      the connected regions of the test's marker, by APPLID
    ``tdq_system``       a new IBM i system; ``tdq_job`` a job on it
    ``tdq_clock``        Python's time frozen, and the regions' clock with it
    ``tdq_explore``      :func:`tdqsim.testing.explore`, failing the test; ``tdq_crashes`` crash enumeration
    ``tdq_target``       what a test marked ``verified`` runs against; ``tdq_job_target`` the same for data queues

Markers
    ``tdq_definitions(*what)``  definition files (relative to the test's file), a region directory, or resources; with
                                ``handlers=False`` the handlers that transactions name are not imported
    ``tdq_regions(*what)``      definition files in which each group is a region (its name the APPLID), or region
                                directories; ``common="GROUP"`` names a group for all of them
    ``tdq_expect(*codes)``      abend codes and message ids that do not fail the test. Otherwise a started task that
                                abends fails it, unless ``result()`` has raised it, and so does a trigger or START that
                                starts nothing, and whatever else the notices of a region or system tell as an error
    ``tdq_start(type)``         the start type of regions with their own store
    ``tdq_runaway(seconds)``    the processor time after which a task that loops, without being suspended, ends with the
                                abend AICA and fails the test; 0 for never. ``--tdq-runaway`` sets it for all tests
    ``tdq_seed(number)``        the seed of the order of ready tasks
    ``verified``                the body can also run against a real region

Other packages add fixtures: the server ``tdq_server``, ``tdq serve`` in a process of its own, with the definitions or
region directories of the marker.

The kit is loaded when a fixture is first used. Tests share nothing but definition files that were read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tdqsim.testing import _lazy_modules
from tdqsim.testing._frames_plugin import HiddenFrames

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cics.model.dump import Dump
    from tdqsim.cics.ship.sysplex import Sysplex
    from tdqsim.ibmi import Job, System
    from tdqsim.testing.clock import FrozenClock
    from tdqsim.testing.crash import Crashes
    from tdqsim.testing.kit import Kit
    from tdqsim.testing.schedules import Exploration
    from tdqsim.testing.stores import RecycledStores
    from tdqsim.testing.verified import Target
    from tdqsim.testing.verified_jobs import JobTarget

_MARKERS = (
    "tdq_definitions(*what, handlers=True): definition files (relative to the test), a region directory, or resources",
    "tdq_regions(*what, common=''): definition files whose groups are regions, or region directories",
    "tdq_expect(*codes): abend codes and message ids that do not fail the test",
    "tdq_start(type): start type (AUTO, COLD, INITIAL) of regions that are given a store",
    "tdq_runaway(seconds): processor time after which a task that is not suspended ends with AICA; 0: never",
    "tdq_seed(number): the seed of the order of ready tasks",
    "verified: a body that can also run against a real region or IBM i",
)
_NEEDS: dict[str, Callable[[tuple[Any, ...], Mapping[str, Any]], object]] = {
    "tdq_definitions": lambda given, named: (given or named) and type(named.get("handlers", True)) is bool,
    "tdq_regions": lambda given, named: given and type(named.get("common", "")) is str,
    "tdq_expect": lambda given, _: given and all(type(each) is str and each.split() == [each] for each in given),
    "tdq_start": lambda given, _: given in [("AUTO",), ("COLD",), ("INITIAL",)],
    "tdq_runaway": lambda given, _: len(given) == 1 and type(given[0]) in {int, float} and given[0] >= 0,
    "tdq_seed": lambda given, _: len(given) == 1 and type(given[0]) is int,
}
"""What a marker's arguments must be; the kit would ignore others, or fail far from the marker."""
_NAMED = {"tdq_definitions": {"handlers"}, "tdq_regions": {"common"}}
_DUMPS_SHOWN = 5
"""The number of dumps in the report of a failed test."""
_RUNAWAY = 10.0
"""Seconds; twice ICVR of the default system, since a Python handler may do bulk work in one task."""
_FROZEN_AT = "2026-01-01 08:00:00"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of the kit."""
    _load_from_bytecode(pluginmanager)
    group = parser.getgroup("tdqsim")
    group.addoption("--tdq-seed", type=int, default=None, help="seed of the order of ready tasks, for every test")
    group.addoption(
        "--tdq-runaway", type=float, default=_RUNAWAY, metavar="SECONDS",
        help=f"processor time after which a task that loops without being suspended ends with AICA; default {_RUNAWAY}",
    )  # fmt: skip
    group.addoption("--tdq-schedule", default="", help="explorations run only this schedule (what a failure printed)")
    group.addoption("--tdq-target", default="", metavar="MODULE:FACTORY", help="what verified tests run against")
    group.addoption("--tdq-job-target", default="", metavar="MODULE:FACTORY", help="the same, for data queues")
    group.addoption("--tdq-report", default="", metavar="FILE", help="write what tests did to this HTML page")
    group.addoption(
        "--tdq-mutants", default="", metavar="FILE", help="report what `tdq cobol mutate --json` has written"
    )
    group.addoption("--tdq-transcript", default="", metavar="FILE", help="write what verified tests did to this file")


def _load_from_bytecode(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let Python load this package without assertion rewriting.

    pytest rewrites the assertions in every module of a distribution that has a plugin. The assertions of this package
    are invariants, and compiling 160 modules again takes half a second. With ``--assert=plain`` nothing is rewritten.
    """
    hook: Any = pluginmanager.rewrite_hook
    if hasattr(hook, "_must_rewrite"):
        hook._must_rewrite.discard("tdqsim")  # noqa: SLF001  (pytest has no public way)
        hook._marked_for_rewrite_cache.clear()  # noqa: SLF001


def pytest_plugin_registered(plugin_name: str) -> None:
    """Keep PyYAML for the sessions that tests run with pytester.

    After such a session Python forgets what it was the first to import. The next one imports PyYAML again, but not its
    parser in C, which goes on with the classes of the first import: definition files would be read as empty.
    """
    if plugin_name == "pytester":
        import yaml  # noqa: F401  (here, since it is slow to import and other sessions may need none)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and register the other parts of the plugin."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(HiddenFrames(), "tdqsim-frames")
    mutants = None
    if config.getoption("--tdq-mutants"):
        from tdqsim.testing._mutants_plugin import MutantsPlugin  # few runs have it

        mutants = MutantsPlugin(config)
        config.pluginmanager.register(mutants, "tdqsim-mutants")
    if config.getoption("--tdq-report"):
        from tdqsim.testing._report_plugin import ReportPlugin  # few runs have it

        config.pluginmanager.register(ReportPlugin(config, mutants), "tdqsim-report")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name environment variables that are misspelt."""
    if any(name.startswith("TDQ_") for name in os.environ):
        from tdqsim.core.spelling import misspelt_variables  # few sessions have any

        for text in misspelt_variables(os.environ):
            terminalreporter.write_line(f"tdqsim: {text}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a misspelt marker of the kit, and one with wrong arguments: the test would run without what it asks for.

    Raises:
        pytest.UsageError: there is no such marker, or its arguments are wrong.
    """
    known = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
    for item in items:
        for marker in item.iter_markers():
            if marker.name.startswith("tdq_") and marker.name not in known:
                from tdqsim.core.spelling import did_you_mean  # only for this error

                raise pytest.UsageError(
                    f"{item.nodeid}: unknown marker {marker.name}{did_you_mean(marker.name, sorted(known))}"
                )
            if marker.name in _NEEDS:
                _check_marker(item, marker)


def _check_marker(item: pytest.Item, marker: pytest.Mark) -> None:
    """Refuse wrong arguments of a marker, and a marker of a test that asks for no fixture of the kit.

    Raises:
        pytest.UsageError: they are wrong, or have no effect.
    """
    unknown = marker.kwargs.keys() - _NAMED.get(marker.name, set())
    if unknown or not _NEEDS[marker.name](marker.args, marker.kwargs):
        given = ", ".join([*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())])
        wanted = next(line for line in _MARKERS if line.startswith(marker.name))
        raise pytest.UsageError(f"{item.nodeid}: marker {marker.name}({given}): allowed is {wanted}")
    fixtures = getattr(item, "fixturenames", ())
    if marker in item.own_markers and not any(name.startswith(("tdq_", "_tdq_", "request")) for name in fixtures):
        raise pytest.UsageError(f"{item.nodeid}: marker {marker.name} does nothing: the test asks for no fixture tdq_*")


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain for unequal records that one side is ASCII, and the other the same text in EBCDIC."""
    one, other = _joined(left), _joined(right)
    if op != "==" or not one or not other or not (_ebcdic(one) == other or _ebcdic(other) == one):
        return None
    return [
        f"{left!r} == {right!r}",
        "one side is ASCII, the other is the same text in EBCDIC, code page 037: compare text,",
        "region.text(record) == 'TEXT', or compare bytes, record == region.encode('TEXT')",
    ]


def _joined(side: object) -> bytes | None:
    """The bytes of a record, or of a list of records; None for anything else."""
    records: list[Any] = list(side) if isinstance(side, list | tuple) else [side]
    return b"".join(records) if all(isinstance(each, bytes) for each in records) else None


def _ebcdic(text: bytes) -> bytes | None:
    return text.decode("ascii").encode("cp037") if text.isascii() else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
    """Add the state of the test's regions and systems, and the dumps of abends, to the report of a failed test."""
    outcome = yield
    kit: Kit | None = getattr(item, "_tdq_kit", None)
    report = outcome.get_result()
    if kit is not None and report.when == "call" and report.failed and kit.used:
        report.sections.append(("tdqsim", _state(kit)))
    if report.when == "call" and report.failed:
        report.sections += [(f"dump of abend {each.code}", str(each)) for each in _dumps(kit, call)]


def _state(kit: Kit) -> str:
    """The kit's report, or why there is none: an error in this hook would end the session of pytest."""
    try:
        return kit.report()
    except Exception as error:  # noqa: BLE001  (whatever it is, the failure of the test is what must be shown)
        return f"the state cannot be shown: {type(error).__name__}: {error}"


def _dumps(kit: Kit | None, call: pytest.CallInfo[Any]) -> list[Dump]:
    """The last dumps of the test's regions, and the dump of the abend that the test has ended with."""
    dumps = [] if kit is None else [each for region in kit.regions for each in region.diagnostics.failures]
    ended_with: Any = getattr(call.excinfo.value, "dump", None) if call.excinfo is not None else None
    if type(ended_with).__module__ == "tdqsim.cics.model.dump" and ended_with not in dumps:
        dumps.append(ended_with)
    return dumps[-_DUMPS_SHOWN:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test if a task abended or something did not happen, and the test neither expects nor handles it."""
    result = yield
    kit: Kit | None = getattr(item, "_tdq_kit", None)
    unexpected = kit.unexpected() if kit is not None else []
    if unexpected:
        lines = [f"  {each.text}" for each in unexpected]
        codes = ", ".join(f'"{code}"' for code in dict.fromkeys(each.code for each in unexpected))
        lines.append(f"(if the test expects this, mark it with @pytest.mark.tdq_expect({codes}))")
        pytest.fail("\n".join(["what the test has asked for has failed or did not happen:", *lines]), pytrace=False)
    return result


@pytest.fixture(scope="session")
def _tdq_stores() -> Iterator[RecycledStores]:
    with _lazy_modules.stores.RecycledStores() as stores:
        yield stores


@pytest.fixture
def _tdq_kit(request: pytest.FixtureRequest, _tdq_stores: RecycledStores) -> Iterator[Kit]:
    item = request.node
    markers = list(item.iter_markers("tdq_definitions"))
    given = [each for marker in markers for each in marker.args]
    connected = [each for marker in item.iter_markers("tdq_regions") for each in marker.args]
    base = Path(item.path).parent
    directory = base / given[0] if len(given) == 1 and isinstance(given[0], Path | str) else None
    if directory is not None and not (directory / "region.yaml").is_file():
        directory = None
    seed = request.config.getoption("--tdq-seed")
    start, marked = item.get_closest_marker("tdq_start"), item.get_closest_marker("tdq_seed")
    clock = request.getfixturevalue("tdq_clock") if "tdq_clock" in request.fixturenames else None
    kit = _lazy_modules.kit.Kit(
        seed=seed if seed is not None else marked.args[0] if marked is not None else 0,
        definitions=_lazy_modules.kit.definitions_of(() if directory is not None else given, base),
        start=start.args[0] if start is not None else "AUTO",
        stores=_tdq_stores,
        directory=directory,
        clock=clock,
        expected=[code for marker in item.iter_markers("tdq_expect") for code in marker.args],
        modules=_lazy_modules.kit.folders_of([*given, *connected], base),
        handlers=all(marker.kwargs.get("handlers", True) for marker in markers),
    )
    item._tdq_kit = kit  # noqa: SLF001  (for the report)
    limited = item.get_closest_marker("tdq_runaway")
    option = request.config.getoption("--tdq-runaway")
    seconds = limited.args[0] if limited is not None and limited.args else option
    runaway = _lazy_modules.runaway.RunawayLimit(seconds, kit.turn, lambda why: pytest.fail(why, pytrace=False))
    runaway.begin()
    try:
        yield kit
    finally:
        runaway.end()
        del item._tdq_kit  # noqa: SLF001
        kit.close()


@pytest.fixture
def tdq_region(_tdq_kit: Kit) -> Region:
    """A new region with the definitions of the marker ``tdq_definitions``."""
    return _tdq_kit.region()


@pytest.fixture
def tdq_make_region(_tdq_kit: Kit) -> Callable[..., Region]:
    """Makes regions on one dispatcher: ``tdq_make_region(applid="CICB", sysid="CICB")``."""
    return _tdq_kit.region


@pytest.fixture
def tdq_sysplex(_tdq_kit: Kit) -> Sysplex:
    """Connected regions: make them with ``tdq_make_region``, and add them with ``add``."""
    return _tdq_kit.sysplex()


@pytest.fixture
def tdq_regions(request: pytest.FixtureRequest, _tdq_kit: Kit) -> dict[str, Region]:
    """The regions of the marker ``tdq_regions`` by APPLID, each linked with all others."""
    markers = list(request.node.iter_markers("tdq_regions"))
    if not markers:
        pytest.fail("the fixture tdq_regions needs the marker tdq_regions(files or directories ...)", pytrace=False)
    common = [group for marker in markers for group in str(marker.kwargs.get("common", "")).split()]
    given = [each for marker in markers for each in marker.args]
    return _tdq_kit.connected(given, Path(request.node.path).parent, common)


@pytest.fixture
def tdq_system(_tdq_kit: Kit) -> System:
    """A new IBM i system with the data queues of the marker's definitions."""
    return _tdq_kit.system()


@pytest.fixture
def tdq_job(tdq_system: System) -> Job:
    """A job on ``tdq_system``; more are made with ``tdq_system.job(...)``."""
    return tdq_system.job()


@pytest.fixture
def tdq_clock() -> Iterator[FrozenClock]:
    """The clock of the test's regions; Python's time is frozen with it, by freezegun."""
    with _lazy_modules.clock.frozen(_FROZEN_AT) as clock:
        yield clock


@pytest.fixture
def tdq_explore(request: pytest.FixtureRequest, _tdq_stores: RecycledStores) -> Callable[..., Exploration]:
    """Explores the schedules of a scenario and fails the test if one breaks it; arguments as for ``explore``."""
    token = request.config.getoption("--tdq-schedule")

    def check(scenario: Any, schedules: int = 1000, **options: Any) -> Exploration:
        if token:
            kept = {name: options[name] for name in ("allow_abends", "may_wait") if name in options}
            _lazy_modules.schedules.replay(scenario, token, **kept)
            return _lazy_modules.schedules.Exploration(1, 1, complete=False, failure=None)
        return _lazy_modules.schedules.explore(scenario, schedules, stores=_tdq_stores, **options).check()

    return check


@pytest.fixture
def tdq_crashes(_tdq_kit: Kit) -> Crashes:
    """Crashes a scenario at every point, restarts and checks; arguments as for ``enumerate_crashes``.

    A call without definitions uses those of the marker ``tdq_definitions``, with the handlers that they name.
    ``tdq_crashes.sysplex`` and ``tdq_crashes.system`` do this with connected regions and with an IBM i system.
    """
    return _tdq_kit.crashes()


@pytest.fixture
def tdq_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The target of a test marked ``verified``: the simulator, or the one that ``--tdq-target`` names."""
    name, file = request.config.getoption("--tdq-target"), request.config.getoption("--tdq-transcript")

    def simulated() -> Target:
        return _lazy_modules.verified.SimulatedTarget(request.getfixturevalue("tdq_region"))

    with _lazy_modules.verified.target_for(name, simulated, request.node.nodeid, file, "cics") as target:
        yield target


@pytest.fixture
def tdq_job_target(request: pytest.FixtureRequest) -> Iterator[JobTarget]:
    """The target of a test marked ``verified``: a simulated IBM i, or the one that ``--tdq-job-target`` names."""
    name, file = request.config.getoption("--tdq-job-target"), request.config.getoption("--tdq-transcript")

    def simulated() -> JobTarget:
        return _lazy_modules.verified_jobs.SimulatedJobTarget(request.getfixturevalue("tdq_system"))

    with _lazy_modules.verified.target_for(name, simulated, request.node.nodeid, file, "ibmi") as target:
        target.setup()
        yield target
