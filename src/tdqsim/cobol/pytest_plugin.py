"""The pytest plugin of COBOL programs: ``--tdq-cobol-coverage=DIR``.

Nothing else of the package is imported before the option is given.
"""

from __future__ import annotations

from pathlib import Path

import pytest

__all__: list[str] = []

_OPTION = "--tdq-cobol-coverage"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("tdqsim")
    group.addoption(
        _OPTION, metavar="DIR", default="", help="statement coverage of COBOL programs: lcov.info and index.html in DIR"
    )


def _folder(config: pytest.Config) -> Path | None:
    given = config.getoption(_OPTION)
    return config.invocation_params.dir / given if given else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start collecting coverage."""
    if _folder(session.config) is not None:
        from tdqsim.cobol import coverage  # noqa: PLC0415  (only who asks for it)

        coverage.begin()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write this process's part; the controlling process of pytest-xdist writes the report."""
    folder = _folder(session.config)
    if folder is None:
        return
    from tdqsim.cobol import coverage  # noqa: PLC0415

    coverage.leave_part(folder)
    if not hasattr(session.config, "workerinput"):
        coverage.write(coverage.merged(folder), folder)
