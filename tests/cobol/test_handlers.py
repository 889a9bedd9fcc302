"""The COBOL programs and maps of a region that a directory describes."""

from __future__ import annotations

import os

from tdqsim import Region
from tdqsim.cobol.handlers import COBOL

MENU = """\
MENU     DFHMSD TYPE=MAP,MODE=INOUT,LANG=COBOL,TIOAPFX=YES
MENU1    DFHMDI SIZE=(24,80)
TITLE    DFHMDF POS=(1,1),LENGTH=20
         DFHMSD TYPE=FINAL
         END
"""


def test_a_bms_source_that_has_changed_gives_the_next_region_its_new_maps(tmp_path):
    (tmp_path / "region.yaml").write_text("cobol: {sources: [.], cache: cache}\n")
    lengths = []
    for second, source in enumerate((MENU, MENU.replace("LENGTH=20", "LENGTH=7"))):
        (tmp_path / "MENU.bms").write_text(source)
        os.utime(tmp_path / "MENU.bms", (second, second))
        with Region.from_directory(tmp_path) as region:
            COBOL.programs(region)
            _mapset, found = region.screens.find_map("MENU", "MENU1")
            lengths.append([(each.name, each.length) for each in found.fields])
    assert lengths == [[("TITLE", 20)], [("TITLE", 7)]]
