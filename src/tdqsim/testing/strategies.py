"""Strategies for Hypothesis: records of a layout, orders of tasks, faults, and traffic on queues.

Hypothesis draws the records, the traffic, the order of the tasks and the faults of a test together, and makes a failing
example small in all of them at once::

    from hypothesis import given, strategies as st
    from tdqsim.testing.strategies import records, runs

    @given(payments=st.lists(records(PAYMENT), max_size=3), run=runs(faults=[Fault("IOERR", command="READQ TD")]))
    def test_no_payment_is_lost(payments, run):
        run(lambda stage: move_all(stage, payments))

Random examples are no systematic search: :func:`tdqsim.testing.explore` runs each order once and says when none is
left. Use these strategies if the data matter as well as the order. They need the package ``hypothesis``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tdqsim.definitions import Definitions, Resource
from tdqsim.errors import ConversionError, UsageError
from tdqsim.faults.plan import AnyFault, FaultPlan
from tdqsim.layouts import BadValue, Field, FieldType, Layout
from tdqsim.layouts.codecs import Rules, decode_value, encode_value, fill
from tdqsim.testing._orders import Schedule
from tdqsim.testing._placements import candidates_of
from tdqsim.testing._stage import Stage
from tdqsim.testing.schedules import replayed

if TYPE_CHECKING:
    from tdqsim.cics import Region, Task

__all__ = ["Run", "Traffic", "fault_plans", "records", "runs", "scenarios", "schedules"]

_TEXT: Final = tuple(map(chr, (*range(0x20, 0x7F), *range(0xA1, 0x100))))
_FLOATS: Final = 2**20
"""COMP-1 and COMP-2 values are multiples of 1/16 up to this, which every format holds exactly."""


# -- records ----------------------------------------------------------------------------------------------------------


def records(layout: Layout, given: Mapping[str, object] | None = None) -> SearchStrategy[bytes]:
    """Records of a layout, encoded: each field has a value that its picture allows.

    Values of level 88 names are drawn as often as others. Of fields that share bytes the first one has a value; the
    others are what these bytes are. A table of variable length has as many elements as its counter says. FILLERs have
    their VALUE, or blanks.

    Args:
        layout: the layout, as of a copybook.
        given: by field name, a value or a strategy for values, as :meth:`~tdqsim.layouts.Layout.encode` takes them, in
            place of what the picture allows; in a table for each element.

    Raises:
        LookupError: the layout has no such field.
    """
    wanted = {layout.field(name).path: value for name, value in (given or {}).items()}
    return _records(layout, wanted)


@st.composite
def _records(draw: DrawFn, layout: Layout, given: Mapping[tuple[str, ...], object]) -> bytes:
    counters = {each.depending_on: each for each in layout.walk() if each.depending_on}
    counts: dict[tuple[str, ...], object] = {}

    def once(item: Field) -> Any:
        if item.path in given:
            wanted = given[item.path]
            value = draw(wanted) if isinstance(wanted, SearchStrategy) else wanted
        elif item.is_group:
            return group(item.children)
        elif item.path in counters:
            value = draw(_counts(item, counters[item.path]))
        else:
            value = draw(_values(layout, item))
        counts[item.path] = value
        return value

    def several(item: Field) -> Any:
        if item.occurs is None:
            return once(item)
        number = item.occurs.count(counts.get(item.depending_on)) if item.depending_on else item.occurs.maximum
        return [once(item) for _ in range(number)]

    def group(items: Sequence[Field]) -> dict[str, Any]:
        named = (item for item in items if item.redefines is None and (item.is_group or not item.is_filler))
        return {item.key: several(item) for item in named}

    return layout.encode(group(layout.fields))


def _counts(item: Field, table: Field) -> SearchStrategy[object]:
    """The values of a field that holds the number of occurrences of a table."""
    assert table.occurs is not None
    if table.occurs.counts:
        return st.sampled_from([text if not item.is_numeric else int(text) for text, _ in table.occurs.counts])
    numbers = st.integers(table.occurs.minimum, table.occurs.maximum)
    return numbers if item.is_numeric else numbers.map(lambda number: str(number).zfill(item.length))


def _values(layout: Layout, item: Field) -> SearchStrategy[Any]:
    """The values of an elementary field."""
    every = _numbers(item) if item.is_numeric else _others(layout, item)
    named = _named(layout.rules, item)
    return st.one_of(st.sampled_from(named), every) if named else every


def _named(rules: Rules, item: Field) -> list[Any]:
    """The values of the level 88 names of a field, without ranges and literals that no value of the field equals."""
    values: list[Any] = []
    for condition in item.conditions:
        for literal, through in condition.values:
            if through is not None:
                continue
            data = fill(replace(item, values=((literal, None),)), rules)
            try:
                value = decode_value(item, data, rules)
                exact = encode_value(item, value, rules) == data
            except (BadValue, ConversionError):
                continue
            if exact and item.holds(condition.name, value, code_page=rules.code_page):
                values.append(value)
    return values


def _numbers(item: Field) -> SearchStrategy[Any]:
    largest = 10**item.digits - 1
    unscaled = st.integers(-largest if item.signed else 0, largest)
    if item.scale > 0:
        return unscaled.map(lambda number: Decimal(number).scaleb(-item.scale))
    factor = int(10**-item.scale)
    return unscaled.map(lambda number: number * factor)


def _others(layout: Layout, item: Field) -> SearchStrategy[Any]:
    if item.type is FieldType.FLOAT:
        return st.integers(-_FLOATS, _FLOATS).map(lambda number: number / 16)
    if item.type in (FieldType.BYTES, FieldType.DBCS):
        return st.binary(min_size=item.length, max_size=item.length)
    if item.type is FieldType.NATIONAL:
        return st.text(st.sampled_from(_TEXT), max_size=item.length // 2)
    page = layout.rules.page(item)
    own = [each for each in _TEXT if _is_of(page, each)]
    return st.text(st.sampled_from(own), max_size=item.length)


def _is_of(page: Any, character: str) -> bool:
    """Whether a code page has a character, in one byte."""
    try:
        data = page.encode(character)
        return len(data) == 1 and page.decode(data) == character
    except ConversionError:
        return False


# -- orders and faults ------------------------------------------------------------------------------------------------


def schedules(*, switches: int = 4, steps: int = 40, tasks: int = 4) -> SearchStrategy[Schedule]:
    """Orders of tasks. They shrink to CICS order: fewer and earlier switches.

    A switch that a scenario cannot follow, because no such task is ready at that step, has no effect.

    Args:
        switches: the largest number of switches from CICS order.
        steps: switches are at the first so many steps at which more than one task is ready.
        tasks: the largest number of a task, in the order in which they start.
    """
    switch = st.tuples(st.integers(0, steps - 1), st.integers(1, tasks))
    several = st.lists(switch, max_size=switches, unique_by=lambda each: each[0])
    return several.map(lambda chosen: Schedule(tuple(sorted(chosen))))


def fault_plans(faults: Iterable[AnyFault], *, most: int = 1, nth: int = 5) -> SearchStrategy[FaultPlan]:
    """Plans with some of the given faults, each at one of the first ``nth`` commands that it matches.

    Not every example comes to that command; :meth:`FaultPlan.on` then gives the notice TDQ0068.

    Args:
        faults: faults of the kinds Fault and MessageFault.
        most: the largest number of faults in a plan.
        nth: the largest number of the command.

    Raises:
        ValueError: a fault of another kind.
    """
    candidates = candidates_of(faults, most)
    if not candidates or not most:
        return st.just(FaultPlan())
    placed = st.builds(lambda fault, at: replace(fault, nth=at), st.sampled_from(candidates), st.integers(1, nth))
    return st.lists(placed, max_size=most).map(lambda chosen: FaultPlan(*chosen))


@dataclass(frozen=True)
class Run:
    """One run: call it with a scenario, which then runs in this order and with these faults.

    Attributes:
        schedule: the order of the tasks.
        faults: the faults.
        options: of :func:`~tdqsim.testing.replay`.
    """

    schedule: Schedule
    faults: FaultPlan
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, scenario: Callable[[Stage], object]) -> tuple[str, ...]:
        """Run the scenario, and return its commands. A switch that the scenario does not come to is left out.

        Raises:
            ScheduleFailure: it failed.
        """
        return tuple(replayed(scenario, self.schedule, faults=self.faults, **self.options).log or ())


def runs(
    *, faults: Iterable[AnyFault] = (), max_faults: int = 1, switches: int = 4, tasks: int = 4, **options: Any
) -> SearchStrategy[Run]:
    """Runs: orders of tasks, together with faults.

    Args:
        faults: see :func:`fault_plans`.
        max_faults: the largest number of faults in a run.
        switches: see :func:`schedules`.
        tasks: see :func:`schedules`.
        options: ``allow_abends`` and ``may_wait``, as of :func:`~tdqsim.testing.replay`.

    Raises:
        ValueError: a fault of another kind than Fault and MessageFault.
    """
    orders = schedules(switches=switches, tasks=tasks)
    plans = fault_plans(faults, most=max_faults)
    return st.builds(lambda order, plan: Run(order, plan, options), orders, plans)


# -- traffic ----------------------------------------------------------------------------------------------------------

Request = tuple[str, str, bytes]
_COMMANDS: Final[dict[str, Callable[[Task, str, bytes], object]]] = {
    "WRITEQ TD": lambda task, queue, data: task.writeq_td(queue, data),
    "READQ TD": lambda task, queue, _: task.readq_td(queue, nosuspend=True, nohandle=True),
    "DELETEQ TD": lambda task, queue, _: task.deleteq_td(queue, nohandle=True),
    "SYNCPOINT": lambda task, _queue, _data: task.syncpoint(),
    "SYNCPOINT ROLLBACK": lambda task, _queue, _data: task.syncpoint_rollback(),
}


@dataclass(frozen=True)
class Traffic:
    """A scenario: some tasks, each of which issues some requests. Call it with a stage; it returns the region.

    Attributes:
        tasks: for each task its requests: (command, queue, record); record and queue are empty if there is none.
        definitions, prepare: see :func:`scenarios`.
    """

    tasks: tuple[tuple[Request, ...], ...]
    definitions: Definitions | tuple[Resource, ...] = field(repr=False)
    prepare: Callable[[Region], object] | None = field(default=None, repr=False)

    def __call__(self, stage: Stage) -> Region:
        """Run the tasks, and those that they trigger, in the order of the stage."""
        region = stage.region(self.definitions)
        if self.prepare is not None:
            self.prepare(region)
        for requests in self.tasks:
            region.start(_issue, requests)
        region.run()
        return region


def _issue(task: Task, requests: Iterable[Request]) -> None:
    for command, queue, data in requests:
        _COMMANDS[command](task, queue, data)


def scenarios(
    definitions: Definitions | Iterable[Resource],
    queues: Mapping[str, SearchStrategy[bytes]],
    *,
    prepare: Callable[[Region], object] | None = None,
    commands: Sequence[str] = ("WRITEQ TD",),
    tasks: int = 3,
    requests: int = 3,
) -> SearchStrategy[Traffic]:
    """Traffic on queues, against which handlers are tested. It shrinks to fewer tasks with fewer requests.

    Args:
        definitions: installed in the region.
        queues: for each queue that the tasks use, a strategy for its records, such as :func:`records`.
        prepare: called with the region before the tasks start: registers the handlers.
        commands: those that the tasks issue: WRITEQ TD, READQ TD, DELETEQ TD, SYNCPOINT, SYNCPOINT ROLLBACK.
        tasks: the largest number of tasks.
        requests: the largest number of requests of a task.

    Raises:
        UsageError: a command is none of these, or there is no queue.
    """
    unknown = [command for command in commands if command not in _COMMANDS]
    if unknown or not queues:
        raise UsageError(f"scenarios: commands {', '.join(unknown)}; allowed are {', '.join(_COMMANDS)}, and a queue")
    installed = definitions if isinstance(definitions, Definitions) else tuple(definitions)
    each = [_requests(command, queues) for command in commands]
    programs = st.lists(st.lists(st.one_of(each), max_size=requests).map(tuple), min_size=1, max_size=tasks).map(tuple)
    return programs.map(lambda chosen: Traffic(chosen, installed, prepare))


def _requests(command: str, queues: Mapping[str, SearchStrategy[bytes]]) -> SearchStrategy[Request]:
    if command.startswith("SYNCPOINT"):
        return st.just((command, "", b""))
    if command != "WRITEQ TD":
        return st.sampled_from(list(queues)).map(lambda name: (command, name, b""))
    return st.one_of([st.tuples(st.just(command), st.just(name), data) for name, data in queues.items()])
