"""Mapepire as a listener of ``tdq serve``: serve.yaml, a kill, and a restart."""

from __future__ import annotations

import pytest

from tdqsim.errors import UsageError
from tdqsim.server.servefile import load_serve_file
from tdqsim.server.serving import serve


@pytest.mark.parametrize(
    ("more", "why"),
    [("", "TLS"), ("tls: generated\n", "one system can be served, and there are 2")],
)
def test_mapepire_that_cannot_be_served_is_refused_at_the_start(tmp_path, more, why):
    for name in ("A", "B") if more else ("A",):
        (tmp_path / name).mkdir()
        (tmp_path / name / "system.yaml").write_text(f"name: SYS{name}\n")
    directories = "[A, B]" if more else "[A]"
    file = tmp_path / "serve.yaml"
    file.write_text(f"directories: {directories}\nlisteners: {{mapepire: 0, control: no}}\n{more}")
    with pytest.raises(UsageError, match=why):
        serve(load_serve_file(file))
