"""tdq csd: the CSD of a store before the region's first start, and after it."""

from __future__ import annotations

DECK = "DEFINE TDQUEUE(PAYQ) GROUP(PAY) TYPE(INTRA)\nADD GROUP(PAY) LIST(DAYLIST)\n"


def test_a_csd_is_made_before_the_first_start_which_installs_its_lists(tdq, tmp_path):
    (tmp_path / "region.yaml").write_text("grplist: [DAYLIST]\n")
    (tmp_path / "deck.csd").write_text(DECK)
    assert tdq("csd", ".", "deck.csd", "--store", "s", "--user", "ALICE").code == 0
    (tmp_path / "install.csd").write_text("INSTALL GROUP(PAY)\n")
    assert tdq("csd", ".", "install.csd", "--store", "s").code == 1  # nothing runs yet
    assert "no region was started in it yet" in tdq("inquire", ".", "PAYQ", "--store", "s").err
    assert tdq("run", ".", "--store", "s").code == 0
    shown = tdq("inquire", ".", "PAYQ", "--store", "s").out
    assert {"CHANGEUSRID   ALICE", "INSTALLAGENT  GRPLIST", "CHANGEAGENT   CSDBATCH"} <= set(shown.splitlines())
    again = tdq("csd", ".", "install.csd", "--store", "s")
    assert again.code == 1
    assert "INCOMPLETE: TDQUEUE(PAYQ): a queue of that name is installed and ENABLED" in again.out
    (tmp_path / "wrong.csd").write_text("DEFIN TDQUEUE(X) GROUP(PAY) TYPE(NONE)\n")
    assert tdq("csd", ".", "wrong.csd", "--store", "s").code == 2
