"""The console checked by axe-core, which finds violations of WCAG: names of controls, contrast, structure, roles.

``TDQ_AXE`` names its file ``axe.min.js`` (npm: axe-core).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

AXE: Final = Path(os.environ.get("TDQ_AXE") or "/usr/lib/node_modules/axe-core/axe.min.js")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (npm: axe-core; TDQ_AXE says where axe.min.js is)"),
]

PAGES: Final = {
    "": "Overview",
    "flows": "Flows",
    "regions/PAYREGN/queues": "Queues",
    "regions/PAYREGN/topology": "Topology",
    "regions/PAYREGN/start": "Start",
    "regions/PAYREGN/definitions": "Definitions",
    "regions/PAYREGN/output": "Jobs and SYSOUT",
    "regions/PAYREGN/snapshots": "Snapshots",
}
_RUN: Final = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.flatMap(
    violation => violation.nodes.map(node => `${violation.id}: ${node.target} ${node.html.slice(0, 200)}`))"""


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(400, "light", marks=pytest.mark.slow),
        pytest.param(400, "dark", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_violation(person, server, width, scheme):
    server.region.writeq_td("PAYQ", "one")
    server.region.execute("START TRANSID('FALT')")
    server.region.execute("START TRANSID('ECHO') INTERVAL(13000)")
    server.region.wait_for_tasks(seconds=60)
    browser = person(width=width, scheme=scheme)
    found = {}
    for path, heading in PAGES.items():
        page = browser.open(path, heading)
        page.wait_for_load_state("networkidle")
        page.evaluate(AXE.read_text("utf-8"))
        if violations := page.evaluate(_RUN):
            found[path] = violations
    assert found == {}
