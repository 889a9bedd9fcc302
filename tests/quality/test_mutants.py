"""The changes that ``.ci/mutants.py`` makes, and the bound that it asks for."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.house

CI = Path(__file__).parents[2] / ".ci"
SOURCE = """\
def keep(self, numbers, lock):
    self.highest = max(self.highest, 7)
    for number in numbers:
        self.use(number)
        self.seen += 1
    lock.release()
    del self.known["x"]
"""


@pytest.fixture
def ci(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(CI))
    yield importlib.import_module
    for name in ("mutants", "_alterations"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("lost max", ["    self.highest = (7)\n"]),
        ("stale value", ["    pass\n    for", "        pass\n    lock"]),
        ("dropped release", ['    pass\n    del self.known["x"]\n', "    lock.release()\n    pass\n"]),
        ("removed statement", ["        pass\n        self.seen += 1\n"]),
        ("first only", ['    for number in __import__("itertools").islice(numbers, 1):\n']),
        (
            "swapped statements",
            ["        self.seen += 1\n        self.use(number)\n", '    del self.known["x"]\n    lock.release()\n'],
        ),
    ],
)
def test_the_mistakes_of_a_state_are_made_where_they_can_be(ci, tmp_path, kind, changed):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    alterations: ModuleType = ci("_alterations")
    made = [each for each in alterations.mutants_of(path) if each.kind == kind]
    texts = [SOURCE[: each.start] + each.new + SOURCE[each.end :] for each in made]
    assert len(texts) == len(changed)
    assert all(any(part in text and part not in SOURCE for text in texts) for part in changed)
    for each, text in zip(made, texts, strict=True):
        compile(text, "altered", "exec")
        compile(alterations.marked(SOURCE, {0: each.mark}), "marked", "exec")


@pytest.mark.parametrize(("killed", "decided", "least"), [(7, 10, 39.7), (70, 100, 60.4), (245, 327, 69.9), (0, 0, 0)])
def test_the_lower_bound_of_the_share_of_killed_mutants(ci, killed, decided, least):
    assert ci("mutants").lower_bound(killed, decided) == pytest.approx(least, abs=0.1)


def test_a_kept_mutant_counts_while_its_code_is_there(ci, tmp_path):
    mutants: ModuleType = ci("mutants")
    place = next(iter(mutants.mutants_of(mutants.PACKAGE / "core" / "clock.py")))
    kept = {mutants.key_of(place): ["killed", ""], ("src/tdqsim/core/clock.py", "boolean", "gone"): ["survived", ""]}
    mutants.write_kept(tmp_path / "kept.tsv", kept)
    assert mutants.read_kept(tmp_path / "kept.tsv") == kept
    assert mutants.present(kept) == {"killed": 1, "survived": 0}
