"""Handlers that the definitions of the last run name, and that can no longer be imported."""

from __future__ import annotations

import sys

import pytest

from tdqsim import Region, define_tdqueue, define_transaction
from tdqsim.errors import DefinitionError

DEFINITIONS = [
    define_tdqueue(name="PAYQ", type="INTRA", atifacility="FILE", transid="EVIL", triggerlevel=1),
    define_tdqueue(name="DONE", type="INTRA"),
    define_transaction(name="EVIL", handler="of_evil:run"),
    define_transaction(name="GOOD", handler="of_good:run"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "of_good.py").write_text("def run(task):\n    task.writeq_td('DONE', b'good')\n")
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name in ("of_good", "of_evil"):
        sys.modules.pop(name, None)


@pytest.fixture
def store(tmp_path):
    Region(DEFINITIONS, store=tmp_path / "store").close()
    return tmp_path / "store"


@pytest.mark.parametrize("ends", ["import no_such", "raise SystemExit(3)", "1 / 0", "def run(:"])
def test_a_kept_transaction_without_its_module_has_no_program_and_the_region_starts(folder, store, ends):
    (folder / "of_evil.py").write_text(ends)
    with Region(store=store, handlers=None) as region:
        [notice] = region.notices
        assert (notice.id, notice.resource, notice.severity) == ("TDQ0040", "TRANSACTION(EVIL)", "error")
        assert "its definition in the store cannot be imported: module of_evil cannot be imported: " in notice.reason
        region.start("GOOD").result()
        assert region.peek("DONE") == [b"good"]
        region.writeq_td("PAYQ", b"one")
        region.run()
        assert region.peek("PAYQ") == [b"one"]  # nothing was started


def test_a_module_that_has_been_repaired_is_imported_by_the_next_load(folder, store):
    with Region(store=store, handlers=None) as region:
        region.load_handlers()  # it is still missing, and that is no error
        (folder / "of_evil.py").write_text("def run(task):\n    task.writeq_td('DONE', task.readq_td('PAYQ'))\n")
        region.load_handlers()
        region.writeq_td("PAYQ", b"one")
        region.run()
        assert region.peek("DONE") == [b"one"]


def test_the_first_start_still_refuses_a_definition_whose_module_is_missing(folder, tmp_path):
    with pytest.raises(DefinitionError, match="module of_evil cannot be imported"):
        Region(DEFINITIONS, store=tmp_path / "store", handlers=None)


def test_a_module_that_ends_the_process_at_import_is_refused_with_its_line(folder, tmp_path):
    (folder / "of_evil.py").write_text("\nraise SystemExit(3)\n")
    with pytest.raises(DefinitionError, match=r"cannot be imported: SystemExit: 3 \(.*of_evil.py:2\)"):
        Region(DEFINITIONS, store=tmp_path / "store", handlers=None)
