"""Functions that would do nothing when they are called are refused wherever one is handed over."""

from __future__ import annotations

import functools
import warnings

import pytest

from tdqsim import Region, System, define_tdqueue, define_transaction
from tdqsim.cics.kernel import handlers
from tdqsim.core.engine import Engine
from tdqsim.datasets import JobLog
from tdqsim.errors import DefinitionError, TdqError, UsageError
from tdqsim.faults import add_hook
from tdqsim.ibmi import ParameterError
from tdqsim.ibmi.parms import Parm
from tdqsim.job import named_class
from tdqsim.testing import enumerate_crashes, enumerate_sysplex_crashes, enumerate_system_crashes, explore, stepped


async def _async(task):
    task.readq_td("PAYQ")


async def _async_generator(task):
    yield task.readq_td("PAYQ")


def _generator(task):
    yield task.readq_td("PAYQ")


class _Handlers:
    async def method(self, task):
        task.readq_td("PAYQ")

    @classmethod
    def class_method(cls, task):
        yield task

    @staticmethod
    async def static_method(task):
        task.readq_td("PAYQ")

    async def __call__(self, task):
        task.readq_td("PAYQ")


def _further(more, task):
    yield more, task


_LAZY = {
    "async": (_async, "is an async function"),
    "async generator": (_async_generator, "is an async generator"),
    "generator": (_generator, "is a generator"),
    "bound method": (_Handlers().method, "is an async function"),
    "class method": (_Handlers.class_method, "is a generator"),
    "static method": (_Handlers.static_method, "is an async function"),
    "callable object": (_Handlers(), "is an async function"),
    "partial": (functools.partial(_further, 1), "is a generator"),
    "partial of a partial": (functools.partial(functools.partial(_further), 1), "is a generator"),
    "partial of a method": (functools.partial(_Handlers().method), "is an async function"),
}
lazy = pytest.mark.parametrize(("handler", "kind"), _LAZY.values(), ids=_LAZY)


def _decorate(region, handler):
    region.transaction("PAYP")(handler)


_CICS = {
    "register": lambda region, handler: region.register("PAYP", handler),
    "@transaction": _decorate,
    "start": lambda region, handler: region.start(handler),
    "programs.register": lambda region, handler: region.programs.register("PAYPROG", handler),
    "exits.enable": lambda region, handler: region.programs.exits.enable("XTDREQ", handler),
    "stepped": stepped,
    "jobs.on_submit": lambda region, handler: setattr(region.jobs, "on_submit", handler),
}


@lazy
@pytest.mark.parametrize("hand_over", _CICS.values(), ids=_CICS)
def test_a_region_refuses_them(hand_over, handler, kind):
    with Region() as region:
        with pytest.raises(UsageError, match=f"{kind}: calling it runs none of its lines"):
            hand_over(region, handler)
        assert "PAYP" not in region.resources.transactions


@lazy
def test_a_region_refuses_them_among_its_handlers(handler, kind):
    with pytest.raises(UsageError, match=kind):
        Region(handlers={"PAYP": handler})


_LABELS = {
    "HANDLE CONDITION": lambda task, handler: task.handle_condition(QZERO=handler),
    "HANDLE AID": lambda task, handler: task.handle_aid(PF3=handler),
    "HANDLE ABEND": lambda task, handler: task.handle_abend(handler),
}


@lazy
@pytest.mark.parametrize("command", _LABELS)
def test_a_task_refuses_them_as_labels(handler, kind, command):
    with Region() as region, region.task() as task, pytest.raises(UsageError, match=f"{command}.*{kind}"):
        _LABELS[command](task, handler)


@lazy
def test_a_system_refuses_them(handler, kind):
    with System() as system:
        system.crtlib("APPLIB")
        for hand_over in (
            lambda: system.start(handler),
            lambda: system.stepped(handler),
            lambda: system.register_program("APPLIB/PRICE", handler),
            lambda: system.register_program("APPLIB/PRICE", handler, [Parm("a", "CHAR(1)")]),
        ):
            with pytest.raises(ParameterError, match=kind):
                hand_over()
        assert not system.jobs


@lazy
def test_the_test_kit_refuses_them_as_scenarios(handler, kind):
    with pytest.raises(UsageError, match=kind):
        explore(handler, 1)
    with pytest.raises(UsageError, match=kind):
        enumerate_crashes(handler, lambda _region, _told: None)
    with pytest.raises(UsageError, match=kind):
        enumerate_crashes(lambda _region, _told: None, handler)


def _module(path, monkeypatch, text):
    (path / "lazyprogs.py").write_text(text)
    monkeypatch.syspath_prepend(path)
    monkeypatch.delitem(__import__("sys").modules, "lazyprogs", raising=False)


@pytest.mark.parametrize("body", ["async def payp(task): ...", "def payp(task): yield", "async def payp(task): yield"])
def test_a_handler_path_of_a_definition_is_refused(body, tmp_path, monkeypatch):
    _module(tmp_path, monkeypatch, body)
    with pytest.raises(DefinitionError, match=r"TRANSACTION\(PAYP\) handler = 'lazyprogs:payp': payp .*runs none"):
        Region([define_transaction(name="PAYP", handler="lazyprogs:payp")], handlers=None)


def test_a_module_whose_register_is_async_is_refused(tmp_path, monkeypatch):
    _module(tmp_path, monkeypatch, "async def register(region): ...")
    with pytest.raises(DefinitionError, match=r"handlers = 'lazyprogs': register .* is an async function"):
        Region(handlers=["lazyprogs"])


def test_a_job_class_with_an_async_method_is_refused(tmp_path, monkeypatch):
    _module(tmp_path, monkeypatch, "class Job:\n    async def begin(self, region): ...\n")
    with pytest.raises(DefinitionError, match=r"job = 'lazyprogs:Job': Job\.begin .* is an async function"):
        named_class("lazyprogs:Job")


def test_a_log_of_jobs_refuses_an_async_function():
    with pytest.raises(UsageError, match=r"on_submit: _async .* is an async function"):
        JobLog(lambda: 0, _async)


def test_the_message_names_the_function_and_its_place():
    with Region() as region, pytest.raises(UsageError) as caught:
        region.register("PAYP", _generator)
    line = _generator.__code__.co_firstlineno
    assert str(caught.value) == (
        f"TRANSACTION(PAYP): _generator ({__file__}:{line}) is a generator: calling it runs none of its lines; allowed "
        "is a function with neither async nor yield; a handler is a function of its task, def handler(task)"
    )


def _by_async(program):
    with Region() as region:
        handle = region.start(program)
        region.run()
        assert handle.abend.code == "ASRA"
        raise handle.abend


def _by_job(program):
    with System() as system:
        started = system.start(program)
        system.run()
        started.result()


@pytest.mark.parametrize("run", [_by_async, _by_job])
def test_a_function_that_only_calls_an_async_one_fails_when_it_runs(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor does Python complain of a coroutine that was never awaited
        with pytest.raises((TdqError, TypeError), match=r"_async .* is an async function, none of whose lines has run"):
            run(lambda task: _async(task))  # noqa: PLW0108  (that is the case)


def test_a_started_function_may_return_a_generator():
    with Region() as region:
        assert list(region.start(lambda _task: (each for each in "ab")).result()) == ["a", "b"]


def _waits(function):
    @functools.wraps(function)
    def run(task):
        return function(task).send

    return run


def test_a_decorator_that_runs_an_async_function_itself_is_accepted():
    with Region() as region:
        region.register("PAYP", _waits(_generator))


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (lambda: 1, "too many positional arguments"),
        (lambda task, record: (task, record), "missing a required argument: 'record'"),
        (lambda task, *, record: (task, record), "missing a required"),
        (functools.partial(lambda task: task, 1), "too many positional arguments"),
        (5, "5 cannot be called"),
        (None, "None cannot be called"),
    ],
)
def test_a_handler_that_cannot_take_its_task_is_refused(handler, reason):
    with Region() as region:
        for hand_over in (
            lambda: region.register("PAYP", handler),
            lambda: region.transaction("PAYP")(handler),
            lambda: region.programs.register("PAYPROG", handler),
            lambda: region.start(handler),
        ):
            with pytest.raises(UsageError, match=reason):
                hand_over()


@pytest.mark.parametrize("handler", [print, dict, lambda *a: a, lambda task, more=1: (task, more), lambda task: task])
def test_a_handler_that_can_take_its_task_is_accepted(handler):
    with Region() as region:
        region.register("PAYP", handler)


def test_start_compares_the_arguments_with_those_of_the_function():
    with Region() as region:
        assert region.start(lambda _task, number: number, 5).result() == 5
        with pytest.raises(UsageError, match=r"cannot be called as .task, argument.: too many positional arguments"):
            region.start(lambda task: task, 5)


def test_transaction_without_parentheses_is_refused_at_the_decorator():
    with Region([define_tdqueue(name="PAYQ", type="INTRA")]) as region:
        with pytest.raises(UsageError, match=r"needs the transaction id, as in @region.transaction\('PAYP'\)"):

            @region.transaction
            def payp(task):
                task.readq_td("PAYQ")

        assert not region.resources.transactions


@lazy
def test_enumerations_of_crashes_refuse_to_prepare_with_them(handler, kind):
    for enumeration, what in (
        (enumerate_crashes, {}), (enumerate_sysplex_crashes, {"regions": {"A": []}}), (enumerate_system_crashes, {}),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=f"prepare: .*{kind}"):
            enumeration(lambda _subject, _told: None, lambda _subject, _told: None, **what, prepare=handler)


@pytest.mark.parametrize("method", ["before", "after"])
def test_a_hook_with_an_async_method_is_refused(method):
    async def lazy_method(self, task, command, arguments, outcome=None):
        pass

    def present(self, task, command, arguments, outcome=None):
        pass

    hook = type("Watcher", (), {"before": present, "after": present, method: lazy_method})()
    with Region() as region:
        with pytest.raises(UsageError, match=f"hook Watcher: its method {method}: .* is an async function"):
            add_hook(region, hook)
        with pytest.raises(UsageError, match="hook object: its method before: None cannot be called"):
            add_hook(region, object())


def test_a_system_refuses_async_hooks():
    async def lazy(job, operation, name, library):
        pass

    async def failed(event):
        pass

    with System() as system:
        with pytest.raises(UsageError, match=r"faults: .*lazy .* is an async function"):
            system.faults = lazy
        with pytest.raises(UsageError, match=r"on_failure: .*failed .* is an async function"):
            system.on_failure = failed


def test_an_engine_refuses_them():
    async def coroutine():
        pass

    with Engine() as engine:
        with pytest.raises(UsageError, match=r"submit: .*coroutine .* is an async function"):
            engine.submit(coroutine)
        with pytest.raises(TypeError, match="the program returned a coroutine"):
            engine.submit(lambda *_: coroutine()).result()


class _Resolver:
    """Programs of an entry point, all of them the same."""

    def __init__(self, program):
        self.program = program

    def handler(self, _region, _name):
        return self.program

    def find(self, _region, _name):
        return self.program


@lazy
def test_programs_of_an_entry_point_are_refused(monkeypatch, handler, kind):
    monkeypatch.setattr(handlers, "_resolver", lambda prefix: _Resolver(handler) if prefix == "own" else None)
    named = define_transaction(name="PAYP", handler="own:PAYPROG")
    with pytest.raises(DefinitionError, match=kind):
        Region([named], handlers=None)
    found = define_transaction(name="PAYP", program="PAYPROG")
    with pytest.raises(UsageError, match=kind):
        Region([found], settings={"own": {}})


def test_a_module_of_handlers_without_register_is_refused(tmp_path, monkeypatch):
    (tmp_path / "nohandlers.py").write_text("def payp(task): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    expected = r"nohandlers.*has no function register\(region\), and no TRANSACTION names a handler in it"
    with pytest.raises(DefinitionError, match=expected):
        Region(handlers=["nohandlers"])
    with pytest.raises(DefinitionError, match=r"has no function pay; did you mean payp\?"):
        Region([define_transaction(name="PAYP", handler="nohandlers:pay")], handlers=None)
    Region([define_transaction(name="PAYP", handler="nohandlers:payp")], handlers=["nohandlers"]).close()
