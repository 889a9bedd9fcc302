"""YAML files read into models: their size, who may read them, and lines and values in errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from tdqsim.definitions import read_model, read_plain, read_private
from tdqsim.errors import DefinitionError


class Model(BaseModel):
    """Two keys."""

    name: str
    size: int


@pytest.mark.parametrize("read", [read_plain, read_private])
def test_a_file_has_as_many_bytes_as_are_allowed(tmp_path: Path, read: object) -> None:
    assert callable(read)
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    path.chmod(0o600)
    assert read(path, 10) == "0123456789"
    with pytest.raises(DefinitionError, match="is longer than 9 bytes"):
        read(path, 9)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_with_secrets_is_for_its_owner_alone(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "users.yaml"
    path.write_text("a: b\n")
    path.chmod(mode)
    with pytest.raises(DefinitionError, match=f"has mode {mode:04o}, so that others can read or write it"):
        read_private(path, 100)


def test_an_error_has_its_line_and_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(DefinitionError) as refused:
        read_plain(path)
    assert [(each.line, each.message) for each in refused.value.problems] == [(2, "is not UTF-8 text (byte X'FF')")]
    for secrets, shown in ((False, "hidden"), (True, "")):
        with pytest.raises(DefinitionError) as refused:
            read_model(path, "name: a\nsize: hidden\n", Model, secrets=secrets)
        assert [(each.line, each.value) for each in refused.value.problems] == [(2, shown)]
        assert ("hidden" in str(refused.value)) is not secrets
