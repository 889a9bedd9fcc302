"""Modules that commands use and that take long to import: each is imported when a command first uses it.

``tdq --help`` and completion import the modules of commands but run none of them. These modules therefore write
``on_demand.ceci.session(...)`` for slow modules (regions, pages), and import everything else as
usual. The names of the packages ``tdqsim``, ``datasets``, ``definitions`` and
``testing`` are loaded at their first use too: such a package can be imported at the top of any module.
"""

# ruff: noqa: PLC0414  ("import X as X" is what tells type checkers that X may be used from outside)

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.lazy import lazy_modules

if TYPE_CHECKING:
    from rich import console as console
    from rich import markdown as markdown
    from rich import progress as progress

    from tdqsim import cics as cics
    from tdqsim import facts as facts
    from tdqsim import ibmi as ibmi
    from tdqsim import layouts as layouts
    from tdqsim.cics import internals as internals
    from tdqsim.cics import region_arguments as region_arguments
    from tdqsim.cics import region_core as region_core
    from tdqsim.cics.inspection import explain as explain
    from tdqsim.cics.inspection import explain_requests as explain_requests
    from tdqsim.cics.kernel import abstime as abstime
    from tdqsim.cics.model import dump as dump
    from tdqsim.cics.spi import csd as csd
    from tdqsim.cics.text import ceci as ceci
    from tdqsim.cics.text import cemt as cemt
    from tdqsim.cics.text import cemt_request as cemt_request
    from tdqsim.cics.text import csdup as csdup
    from tdqsim.cics.text import exec_text as exec_text
    from tdqsim.cli import local_system as local_system
    from tdqsim.cli import region_check as region_check
    from tdqsim.cli import run_page as run_page
    from tdqsim.cli import target as target
    from tdqsim.core import clock as clock
    from tdqsim.core.store import check as check
    from tdqsim.definitions import bms as bms
    from tdqsim.definitions import group as group
    from tdqsim.ibmi import systemfile as systemfile
    from tdqsim.layouts import copybook as copybook
    from tdqsim.report import flows as flows
    from tdqsim.report import history_sections as history_sections
    from tdqsim.report import layout_of_queue as layout_of_queue
    from tdqsim.report import page as page
    from tdqsim.report import topology as topology
    from tdqsim.testing import coverage as coverage
    from tdqsim.testing import events as events
    from tdqsim.testing import following as following
    from tdqsim.testing import history as history

_MODULES: Final = (
    "rich.console", "rich.markdown", "rich.progress", "tdqsim.cics", "tdqsim.facts", "tdqsim.ibmi", "tdqsim.layouts",
    "tdqsim.cics.inspection.explain", "tdqsim.cics.inspection.explain_requests", "tdqsim.cics.internals",
    "tdqsim.cics.kernel.abstime", "tdqsim.cics.model.dump", "tdqsim.cics.region_arguments", "tdqsim.cics.region_core",
    "tdqsim.cics.spi.csd", "tdqsim.core.clock", "tdqsim.cics.text.ceci", "tdqsim.cics.text.cemt",
    "tdqsim.cics.text.cemt_request", "tdqsim.cics.text.csdup", "tdqsim.cics.text.exec_text",
    "tdqsim.cli.local_system", "tdqsim.cli.target", "tdqsim.cli.region_check", "tdqsim.cli.run_page",
    "tdqsim.core.store.check", "tdqsim.definitions.bms", "tdqsim.definitions.group", "tdqsim.layouts.copybook",
    "tdqsim.report.flows", "tdqsim.report.history_sections", "tdqsim.report.page", "tdqsim.report.layout_of_queue",
    "tdqsim.report.topology", "tdqsim.ibmi.systemfile", "tdqsim.testing.coverage", "tdqsim.testing.events",
    "tdqsim.testing.following", "tdqsim.testing.history",
)  # fmt: skip

__getattr__ = lazy_modules(__name__, _MODULES)
