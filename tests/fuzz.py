#!/usr/bin/env python3
"""Coverage-guided fuzzing; run by hand, never collected by pytest.

    pip install atheris
    python tests/fuzz.py SUBJECT CORPUS_DIR [KEPT_DIR] -max_total_time=3600 -max_len=4096 -rss_limit_mb=512 -timeout=10

SUBJECT is a key of :data:`SUBJECTS`; its check says what the bytes of an input mean and what must hold for them, and an
exception that it raises is a finding. Inputs that reach new code are added to CORPUS_DIR. KEPT_DIR is where the tests
have theirs, such as ``tests/layouts/corpus``: ``-set_cover_merge=1 NEW_DIR KEPT_DIR CORPUS_DIR``, with the
environment's python first in PATH, puts the few that matter into NEW_DIR, which then replaces KEPT_DIR.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

import atheris

SUBJECTS = {
    "datasets": ("tests.datasets.corpus_check", ["tdqsim.datasets", "tdqsim.core.codepage"]),
    "definitions": ("tests.definitions.corpus_check", ["tdqsim.definitions"]),
    "hostservers": (
        "tests.server.hostservers.frames_check",
        ["tdqsim.server.hostservers", "tdqsim.definitions.cl_command", "tdqsim.ibmi"],
    ),
    "layouts": ("tests.layouts.fuzz_check", ["tdqsim.layouts"]),
    "links": (
        "tests.server.links.frames_check",
        ["tdqsim.core.messages", "tdqsim.core.transport", "tdqsim.cics.ship", "tdqsim.ibmi.ddm"],
    ),
    "pipeline": ("tests.pipeline.fuzz_check", ["tdqsim.pipeline.record_locations", "tdqsim.pipeline.splits"]),
}
"""The module with the check, and what is watched for new code."""
_READ_FROM_A_FILE = ("datasets", "pipeline")


def main(subject: str) -> None:
    sys.path[:0] = [str(Path(__file__).resolve().parents[1] / part) for part in ("src", ".")]
    module, watched = SUBJECTS[subject]
    with atheris.instrument_imports(include=watched):
        check = import_module(module).check
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    file = [Path(tempfile.mkdtemp(dir=memory)) / "data"] if subject in _READ_FROM_A_FILE else []
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: check(data, *file))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1])
