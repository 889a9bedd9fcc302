"""What the benches measure with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench._tree import resident, tree, watched

pytestmark = [
    pytest.mark.house,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc"),
]

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
PARENT = f"import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-c', {BUSY!r}]) + 3)"


@pytest.mark.parametrize(("program", "code"), [(BUSY, 0), (PARENT, 3)])
def test_the_processor_time_of_a_command_and_its_children_is_seen_after_its_end(program: str, code: int) -> None:
    ended, watch = watched([sys.executable, "-c", program], every=3600)
    assert ended == code
    assert watch.cpu >= 0.25
    assert watch.cpu < 20


SPAWNS = """
import os, sys
held = bytearray(100_000_000)
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
"""


def test_memory_that_a_process_has_until_its_program_is_loaded_is_its_parents(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", SPAWNS, pipe]) as child:
        while len(tree(child.pid)) < 2 and child.poll() is None:  # it waits at the pipe
            pass
        seen = resident(child.pid, shared=False)
        pipe.write_bytes(b"")
    assert 100_000_000 < seen < 180_000_000
