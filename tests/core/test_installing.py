"""The command that an error names where an extra is missing."""

from __future__ import annotations

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from tdqsim.errors import ExtraMissing


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ('{"dir_info": {}, "url": "file:///src/my%20tdqsim"}', "'/src/my tdqsim[serve]'"),
        ('{"dir_info": {"editable": true}, "url": "file:///src/tdqsim"}', "-e '/src/tdqsim[serve]'"),
        ('{"archive_info": {}, "url": "https://host/tdqsim.whl"}', "'tdqsim[serve] @ https://host/tdqsim.whl'"),
        (
            '{"url": "https://host/tdqsim.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "'tdqsim[serve] @ git+https://host/tdqsim.git@c0ffee'",
        ),
        (None, "'.[serve]' in a clone of tdqsim"),
    ],
)
def test_an_extra_comes_from_where_tdqsim_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, command: str
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: origin))
    monkeypatch.setattr(sys, "executable", "/venv/bin/python")
    assert str(ExtraMissing("fastapi", "serve")) == (
        f"fastapi is not installed; /venv/bin/python -m pip install {command} brings it"
    )


def test_a_folder_that_was_never_installed_is_taken_for_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert str(ExtraMissing("fastapi", "serve")).endswith(" -m pip install '.[serve]' in a clone of tdqsim brings it")
