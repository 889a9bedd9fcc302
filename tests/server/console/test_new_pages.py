"""Start, definitions, jobs and SYSOUT, snapshots: what a person does there, checked by the API."""

from __future__ import annotations

import json

import pytest

from tests.server.console.conftest import expect

pytestmark = pytest.mark.browser


def rows(page, caption):
    return page.get_by_role("table", name=caption, exact=True).get_by_role("row")


def test_a_transaction_is_started_now_and_later_and_a_request_is_cancelled(browser, server, screenshots):
    server.region.deleteq_td("PAYQ")
    page = browser.open("regions/PAYREGN/start", "Start")
    page.get_by_label("Transaction", exact=True).fill("ECHO")
    page.get_by_label("Data for RETRIEVE").fill("INVOICE 7")
    page.get_by_role("button", name="START").click()
    browser.status("START ECHO: NORMAL, request ")
    server.region.wait("PAYQ", 1, seconds=60)
    assert server.region.readq_td("PAYQ") == "INVOICE 7".encode("cp037")
    page.get_by_label("Transaction", exact=True).fill("NONE")
    page.get_by_role("button", name="START").click()
    browser.status("START NONE: TRANSIDERR")
    page.get_by_label("Transaction", exact=True).fill("ECHO")
    page.get_by_label("INTERVAL (hhmmss)").fill("13000")
    page.get_by_label("REQID").fill("LATER")
    page.get_by_role("button", name="START").click()
    row = rows(page, "Requests").filter(has_text="LATER")
    row.filter(has_text="ECHO").wait_for()
    page.screenshot(path=screenshots / "start-with-a-request.png", full_page=True)
    row.get_by_role("button", name="Cancel LATER").click()
    browser.status("CANCEL REQID(LATER): NORMAL")
    row.wait_for(state="detached")


NEW = """\
group: MORE
tdqueue:
  - {name: NEWQ, type: INTRA}
  - {name: PAYQ, type: INTRA, recovstatus: LOGICAL}
  - {name: XTRG, type: INTRA}
"""


def test_definitions_are_previewed_and_installed_all_or_none(browser, server, screenshots):
    page = browser.open("regions/PAYREGN/definitions", "Definitions")
    page.get_by_label("Text of the definitions").fill("tdqueue: [{name: TOOLONGNAME}]")
    page.get_by_role("button", name="Preview").click()
    browser.status("The text has errors")
    page.get_by_text("TOOLONGNAME").last.wait_for()
    page.get_by_label("Text of the definitions").fill(NEW)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Preview of 3 definitions: 2 new, 1 refused. None is installed while one is refused.").wait_for()
    refused = rows(page, "Changes").filter(has_text="PAYQ")
    refused.filter(has_text="it must be DISABLED").filter(has_text="RECOVSTATUS NO -> LOGICAL").wait_for()
    page.screenshot(path=screenshots / "definitions-with-a-refusal.png", full_page=True)
    page.get_by_role("button", name="Install").click()
    browser.status("PAYQ")
    page.get_by_text("Not installed: 3 definitions: 2 new, 1 refused.").wait_for()
    installed = {each.tdqueue.rstrip() for each in server.region.browse_tdqueue("TYPE")}
    assert not {"NEWQ", "XTRG"} & installed
    page.get_by_label("From a file").set_input_files(
        {"name": "more.csd", "mimeType": "text/plain", "buffer": b"DEFINE TDQUEUE(KSDQ) GROUP(MORE) TYPE(INTRA)\n"}
    )
    page.get_by_text("Preview of 1 definition: 1 new.").wait_for()
    expect(page.get_by_label("Given as")).to_have_value("csd")
    page.get_by_role("button", name="Install").click()
    page.get_by_text("Installed 1 definition: 1 new.").wait_for()
    assert server.region.inquire_tdqueue("KSDQ").type.name == "INTRA"


def test_jobs_and_sysout_data_sets_have_pages_with_their_lines(browser, server, screenshots):
    region = server.region
    for card in ("//PAYJOB JOB (1),CLASS=A", "//STEP EXEC PGM=<b>PAY</b>", "/*EOF"):
        region.writeq_td("JOBQ", card.ljust(80))
    region.writeq_td("PRTQ", "first <i>line</i>")
    page = browser.open("regions/PAYREGN/output", "Jobs and SYSOUT")
    page.screenshot(path=screenshots / "output-with-a-job.png", full_page=True)
    rows(page, "Jobs").filter(has_text="PAYJOB").get_by_role("link").click()
    page.get_by_role("heading", level=1, name="PAYJOB").wait_for()
    page.get_by_label("Cards").get_by_text("//STEP EXEC PGM=<b>PAY</b>").first.wait_for()
    page = browser.open("regions/PAYREGN/output", "Jobs and SYSOUT")
    rows(page, "SYSOUT data sets").filter(has_text="PRTDD").get_by_role("link").click()
    page.get_by_text("first <i>line</i>").first.wait_for()


def test_a_snapshot_is_taken_downloaded_and_restored_also_from_a_file(browser, server, screenshots, tmp_path):
    region = server.region
    region.deleteq_td("PAYQ")
    region.writeq_td("PAYQ", "kept")
    page = browser.open("regions/PAYREGN/snapshots", "Snapshots")
    page.get_by_role("button", name="Take a snapshot").click()
    rows(page, "Queues of the snapshot").filter(has_text="PAYQ").wait_for()
    page.screenshot(path=screenshots / "snapshots-with-one.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download snapshot").click()
    file = tmp_path / "snapshot.json"
    download.value.save_as(file)
    assert [each["hex"] for each in json.loads(file.read_text())["queues"]["PAYQ"]["records"]] == [
        "kept".encode("cp037").hex().upper()
    ]
    region.writeq_td("PAYQ", "later")
    page.get_by_role("button", name="Restore 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    browser.status("queues: NORMAL")
    assert region.peek("PAYQ") == ["kept".encode("cp037")]
    region.deleteq_td("PAYQ")
    page.get_by_label("Restore from a file").set_input_files(file)
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    page.get_by_role("dialog").wait_for(state="detached")
    server.region.wait("PAYQ", 1, seconds=60)
    assert region.peek("PAYQ") == ["kept".encode("cp037")]
    page.get_by_label("Restore from a file").set_input_files(
        {"name": "other.json", "mimeType": "application/json", "buffer": b'{"queues": {"PAYQ": 1}}'}
    )
    browser.status("other.json: is not a snapshot")
