"""What the benches measure with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench._tree import watched

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
PARENT = f"import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-c', {BUSY!r}]) + 3)"


@pytest.mark.parametrize(("program", "code"), [(BUSY, 0), (PARENT, 3)])
def test_the_processor_time_of_a_command_and_its_children_is_seen_after_its_end(program: str, code: int) -> None:
    ended, watch = watched([sys.executable, "-c", program], every=3600)
    assert ended == code
    assert watch.cpu >= 0.25
    assert watch.cpu < 20
