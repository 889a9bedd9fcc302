"""Modules that the plugin and the kit use when a test needs them: each is imported when it is first used."""

# ruff: noqa: PLC0414  ("import X as X" is what tells type checkers that X may be used from outside)

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_modules

if TYPE_CHECKING:
    from tdqsim import ibmi as ibmi
    from tdqsim.cics.ship import sysplex as sysplex
    from tdqsim.testing import checker as checker
    from tdqsim.testing import clock as clock
    from tdqsim.testing import crash as crash
    from tdqsim.testing import kit as kit
    from tdqsim.testing import runaway as runaway
    from tdqsim.testing import schedules as schedules
    from tdqsim.testing import stores as stores
    from tdqsim.testing import verified as verified
    from tdqsim.testing import verified_jobs as verified_jobs

__getattr__ = lazy_modules(
    __name__,
    (
        "tdqsim.cics.ship.sysplex",
        "tdqsim.ibmi",
        "tdqsim.testing.checker",
        "tdqsim.testing.clock",
        "tdqsim.testing.crash",
        "tdqsim.testing.kit",
        "tdqsim.testing.runaway",
        "tdqsim.testing.schedules",
        "tdqsim.testing.stores",
        "tdqsim.testing.verified",
        "tdqsim.testing.verified_jobs",
    ),
)
