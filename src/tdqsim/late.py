"""Names of a package that are loaded when they are first used, so that its import costs next to nothing.

A package with many names, or with some that are dear, writes::

    __getattr__, __dir__ = load_late(__name__, {".crash": ("CrashReport", "enumerate_crashes")})

and repeats the imports under ``TYPE_CHECKING`` for editors and type checkers. Nothing is kept: what Python has loaded
under a module's name counts, also after pytester has put back the modules of before a session inside a test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["load_late", "load_modules"]


def load_late(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: its name.
        modules: the names by the module that has them; ``.module`` is one of the package's own.
    """
    home_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        """Load a name of this package when it is first used."""
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home, package), name)

    def names() -> list[str]:
        """All names of this package, loaded or not."""
        return sorted({*vars(sys.modules[package]), *home_of})

    return load, names


def load_modules(package: str, modules: Iterable[str]) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a module that stands for others, each by the last part of its name.

    Args:
        package: the name of the module.
        modules: the full names of the others.
    """
    named = {module.rpartition(".")[2]: module for module in modules}

    def load(name: str) -> ModuleType:
        """A module by the last part of its name; it is imported when it is first used."""
        if name not in named:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(named[name])

    return load
