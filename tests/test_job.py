"""The modules of a region directory: found while they are needed, and nobody else's meanwhile."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tdqsim.job import importable


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two directories with a module of the same name; the program has imported the first one's by itself."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tdq_example_handlers.py").write_text(f"NAME = {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "one")
    assert import_module("tdq_example_handlers").NAME == "one"
    yield tmp_path / "one", tmp_path / "other"
    sys.modules.pop("tdq_example_handlers", None)


def test_a_directory_has_its_own_modules_whatever_was_imported_before(two: tuple[Path, Path]) -> None:
    one, other = two
    before = sys.modules["tdq_example_handlers"]
    with importable(other):
        assert import_module("tdq_example_handlers").NAME == "other"
    assert import_module("tdq_example_handlers") is before
    with importable(one):
        assert import_module("tdq_example_handlers") is before
    assert import_module("tdq_example_handlers") is before


def test_a_folder_without_an_init_file_is_imported_anew(tmp_path: Path) -> None:
    (tmp_path / "tdq_example_parts").mkdir()
    for text in ("one", "another"):
        (tmp_path / "tdq_example_parts" / "word.py").write_text(f"text = {text!r}\n")
        with importable(tmp_path):
            parts = __import__("tdq_example_parts", fromlist=["word"])  # as "from tdq_example_parts import word" does
            assert parts.word.text == text


def test_a_file_with_the_name_of_one_of_pythons_modules_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise ImportError\n")
    with importable(tmp_path):
        assert import_module("json").dumps([1]) == "[1]"


def test_only_what_python_remembers_of_the_directory_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Archive:
        def invalidate_caches(self) -> None:
            pytest.fail("an archive on the path is read again")

    monkeypatch.setitem(sys.path_importer_cache, f"{tmp_path}.zip", Archive())
    package = tmp_path / "tdq_example_package"
    package.mkdir()
    (package / "__init__.py").touch()
    with importable(tmp_path), pytest.raises(ModuleNotFoundError):
        import_module("tdq_example_package.late")
    before = package.stat()
    (package / "late.py").touch()
    os.utime(package, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a clock shows it that is too coarse
    with importable(tmp_path):
        import_module("tdq_example_package.late")
