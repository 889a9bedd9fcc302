"""Lazy imports: the names of a package are loaded when they are first used, so that importing it costs little.

A package with many names, or with some that are expensive to import, writes::

    __getattr__, __dir__ = lazy_names(__name__, {".crash": ("CrashReport", "enumerate_crashes")})

and repeats the imports under ``TYPE_CHECKING`` for editors and type checkers. Loaded values are not cached here: each
access looks in ``sys.modules``, so that it stays right when pytester restores the modules after a session inside a
test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from tdqsim.core.collection import nothing_collected
from tdqsim.errors import UnknownAttribute


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: its name.
        modules: for each module the names that it defines; ``.module`` is a module of the package itself.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        """Load a name of this package when it is first used."""
        module = module_of.get(name)
        if module is None:
            raise UnknownAttribute(f"module {package!r} has no attribute {name!r}")
        with nothing_collected():  # modules live as long as the process, and each pass would scan all of them
            return getattr(import_module(module, package), name)

    def names() -> list[str]:
        """The public names of this package, loaded or not, and the modules of it that are loaded."""
        own = vars(sys.modules[package])
        return sorted({*own, *own["__all__"]})

    return load, names


def lazy_modules(package: str, modules: Iterable[str]) -> Callable[[str], ModuleType]:
    """Make the ``__getattr__`` of a module whose attributes are other modules, by the last parts of their names.

    Args:
        package: the name of the module.
        modules: the full names of the other modules.
    """
    named = {module.rpartition(".")[2]: module for module in modules}

    def load(name: str) -> ModuleType:
        """The module whose name ends in ``name``; it is imported when it is first used."""
        if name not in named:
            raise UnknownAttribute(f"module {package!r} has no attribute {name!r}")
        return import_module(named[name])

    return load
