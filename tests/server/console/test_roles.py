"""Who may do what: sign-on, roles, sessions that end."""

from __future__ import annotations

import re

import pytest

from tdqsim.server.users import Role

pytestmark = pytest.mark.browser


def as_role(person, served, role):
    browser = person(served=served, signed_on=False)
    browser.sign_on_as(role)
    return browser


def buttons(page):
    page.wait_for_function("window.socket?.connected")
    return {each.inner_text() for each in page.get_by_role("main").get_by_role("button").all()}


def test_nobody_gets_in_without_a_sign_on(person, server):
    browser = person(signed_on=False)
    for path in ("", "regions/PAYREGN/queues", "systems"):
        browser.page.goto(f"{browser.url}/console/{path}")
        assert browser.page.url.startswith(f"{browser.url}/sign-on?next=")
    assert (
        browser.page.request.get(f"{browser.url}/console/_nicegui_ws/socket.io/?EIO=4&transport=polling").status == 401
    )


def test_the_address_of_the_server_leads_to_the_overview(person, server):
    browser = person()
    browser.page.goto(f"{browser.url}/")
    browser.page.wait_for_url(f"{browser.url}/console/")
    browser.page.get_by_role("link", name="PAYREGN").first.wait_for()


def test_who_may_look_sees_and_is_offered_nothing_else(person, with_users):
    browser = as_role(person, with_users, Role.look)
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    page.get_by_role("table", name="INQUIRE TDQUEUE(PAYQ)").wait_for()
    assert not buttons(page) & {"WRITEQ TD", "READQ TD", "DELETEQ TD", "Enabled", "SET TDQUEUE", "Seed"}
    page = browser.open("regions/PAYREGN/commands", "Commands")
    assert page.get_by_label("CECI line").count() == 0
    page.get_by_label("CEMT line", exact=True).fill("I TDQ(PAYQ)")
    page.get_by_label("CEMT line", exact=True).press("Enter")
    page.get_by_label("CEMT screen").get_by_text("Tdq(PAYQ").wait_for()
    page.get_by_label("CEMT line", exact=True).fill("SET TDQ(PAYQ) DISABLED")  # refused by the server
    page.get_by_label("CEMT line", exact=True).press("Enter")
    browser.status("refused, the role operate is needed")
    page = browser.open("clock", "Clock")
    assert not buttons(page) & {"Freeze", "Advance"}
    assert page.get_by_role("link", name="Faults").count() == 0
    assert page.goto(f"{browser.url}/console/regions/PAYREGN/faults").status == 403
    browser.errors.clear()  # the browser reports the 403


def test_who_may_operate_writes_and_does_not_break(person, with_users):
    browser = as_role(person, with_users, Role.operate)
    page = browser.open("regions/PAYREGN/queues/PAYQ", "Queue PAYQ")
    assert {"WRITEQ TD", "DELETEQ TD"} <= buttons(page)
    assert "Seed" not in buttons(page)
    page.get_by_label("Record", exact=True).fill("by an operator")
    page.get_by_role("button", name="WRITEQ TD").click()
    browser.status("WRITEQ TD PAYQ: NORMAL")
    assert not buttons(browser.open("clock", "Clock")) & {"Freeze", "Advance"}


def test_who_may_break_has_the_clock_and_the_faults(person, with_users):
    browser = as_role(person, with_users, Role.break_)
    assert {"Freeze", "Advance"} <= buttons(browser.open("clock", "Clock"))
    browser.open("regions/PAYREGN/faults", "Faults")


def test_a_page_of_a_session_that_has_ended_does_nothing_more(person, with_users):
    browser = as_role(person, with_users, Role.operate)
    page = browser.open("regions/PAYREGN/queues/PHYQ", "Queue PHYQ")
    other = page.context.new_page()
    other.goto(f"{browser.url}/console/")
    other.get_by_role("button", name="Sign off").click()
    other.get_by_text("Signed off.").wait_for()
    page.get_by_label("Record", exact=True).fill("too late")
    page.get_by_role("button", name="WRITEQ TD").click()
    page.get_by_text(re.compile("refused, the role operate is needed|Sign on")).first.wait_for()
    check = as_role(person, with_users, Role.look)
    check.open("regions/PAYREGN/queues/PHYQ", "Queue PHYQ").get_by_text("it holds 0 records").wait_for()


def test_all_is_done_by_keyboard_alone(browser, server):
    server.region.set_tdqueue("PAYQ", enablestatus="ENABLED")
    page = browser.open("regions/PAYREGN/queues", "Queues")

    def tab_to(words, most=60):
        for _ in range(most):
            page.keyboard.press("Tab")
            said = "const at = document.activeElement; return at.getAttribute('aria-label') || at.textContent.trim()"
            if page.evaluate(f"() => {{ {said} }}") == words:
                return
        raise AssertionError(f"{words} cannot be reached")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    tab_to("Name has")
    page.keyboard.type("payq")
    page.get_by_text("1 to 1 of 1").wait_for()
    tab_to("PAYQ")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Queue PAYQ").wait_for()
    page.wait_for_function("window.socket?.connected")
    tab_to("Record")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    browser.status("WRITEQ TD PAYQ: NORMAL")


def test_each_control_has_a_name_and_each_page_its_landmarks(browser):
    for path, heading in (("regions/PAYREGN/queues/PAYQ", "Queue PAYQ"), ("regions/PAYREGN/faults", "Faults")):
        page = browser.open(path, heading)
        assert page.get_by_role("banner").count() == page.get_by_role("main").count() == 1
        assert page.get_by_role("navigation", name="Main").count() == 1
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select, textarea, [role=img], section, nav')]"
            ".filter(each => !each.getAttribute('aria-label') && !each.textContent.trim()).map(each => each.outerHTML)"
        )
        assert nameless == []


def test_light_and_dark_are_chosen_and_remembered(browser):
    page = browser.open("", "Overview")
    assert not page.evaluate("document.body.classList.contains('body--dark')")
    page.get_by_role("button", name="Light / dark").click()
    page.wait_for_function("document.body.classList.contains('body--dark')")
    page = browser.open("clock", "Clock")
    page.wait_for_function("document.body.classList.contains('body--dark')")
