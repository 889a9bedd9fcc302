"""The page and what stands on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.errors import TdqError
from tdqsim.report.page import Page, check_target
from tdqsim.report.parts import Drawing, Mark, Prose, Table
from tdqsim.report.pictures import Point, Series, Stretch, bars, lines, time_line
from tests.report.conftest import Look, Seen

HOSTILE = (
    "<script>alert(1)</script>", "</script><script>alert(2)</script>", "<!--<script>", "]]>", "&lt;b&gt;", "\"'><img src=x onerror=x>",
    "%{x}<extra></extra>", "<a href='javascript:x'>", "\x1b[31m\x00\x85\u202e\u2028\ud800",
)  # fmt: skip


def page_with(text: str) -> Page:
    page = Page(text, Mark(text, good=False), text)
    table = Table((text, "n"), [(text, 1), (Mark(text, good=True), 2)], text)
    points = [Point(1, 0.0, 1), Point(2, 1.0, 7)]
    page.add(text, Prose(text), Prose(text, code=True), table, mark=Mark(text, good=True))
    page.add("pictures", lines(text, [Series(text, points)], text, text, table), bars(text, [(text, 3)], text, text))
    bar = Stretch(text, "task", text, (1, 2), (0.0, 1.0))
    page.add(text, time_line(text, [bar], {"task": ("#123456", 0.8)}, text, table), folded=True)
    return page


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_is_only_text(text: str, look: Look) -> None:
    plain, seen = look("".join(page_with("plain").html())), look("".join(page_with(text).html()))
    assert seen.tags == plain.tags
    assert seen.code == plain.code, "no script but the page's own"
    assert len(seen.figures) == len(plain.figures) == 3


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20))
def test_any_text_leaves_the_page_as_it_is(text: str) -> None:
    seen = Seen()
    seen.feed("".join(Page(text).html()) + "".join(Table((text,), [(text,)], text).html()))
    assert seen.open_tags == []
    assert set(seen.tags) <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "p", "div", "table",
                              "caption", "thead", "tr", "th", "tbody", "td", "br"}  # fmt: skip


def test_labels_show_markup_as_text(look: Look) -> None:
    seen = look("".join(page_with("<b>&lt;</b> %{y}").html()))
    labels = [trace["name"] for figure in seen.figures for trace in figure["data"] if "name" in trace]
    assert labels[0] == "<b>&lt;</b> %{y}"


def test_controls_and_turned_text_are_seen() -> None:
    shown = "".join(Prose("a\x1b[31m\u202eb").html())
    assert shown == "<p>a\\x1b[31m\\u202eb</p>"


def test_a_table_says_what_it_leaves_out() -> None:
    rows = [(f"row {n}", n) for n in range(1234)]
    shown = "".join(Table(("name", "n"), rows, "Rows", rest="the rest is in a file", most=10).html())
    assert shown.count("<tr>") == 11
    assert "10 of 1,234 are shown; the rest is in a file." in shown
    assert "<caption>Rows</caption>" in shown
    assert '<th scope="col" class=n>n</th>' in shown


def test_a_table_of_many_is_taken_from_what_gives_them(look: Look) -> None:
    shown = "".join(Table(("n",), ((n,) for n in range(100_000)), most=3).html())
    assert "3 of 100,000 are shown" in shown


def test_the_script_of_charts_is_on_the_page_once_and_only_with_charts(look: Look) -> None:
    page = Page("one")
    page.add("words", Prose("only"))
    assert look("".join(page.html())).code == []
    found = look("".join(page_with("plain").html()))
    assert len(found.code) == 1


def test_every_picture_has_its_words(look: Look) -> None:
    seen = look("".join(page_with("plain").html()))
    assert seen.tags.count("figure") == 3
    assert seen.tags.count("figcaption") == 2, "the title of the third is that of its section"
    labels = [value for _, name, value in seen.attributes if name == "aria-label"]
    assert len(labels) == 3
    assert all("the table below says the same" in label for label in labels)
    assert seen.tags.count("table") >= 3


def test_the_page_lets_the_browser_fetch_nothing(look: Look) -> None:
    seen = look("".join(page_with("plain").html()))
    (policy,) = [value for _, name, value in seen.attributes if name == "content" and "default-src" in value]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_views_are_only_offered_where_the_clock_moves() -> None:
    def drawn(*seconds: float) -> Drawing:
        points = [Point(at, each, 1) for at, each in enumerate(seconds, 1)]
        return lines("depth", [Series("Q", points)], "order", "records", Prose(""))

    assert drawn(0.0, 0.0).views == []
    assert [view["name"] for view in drawn(0.0, 2.5).views] == ["by order", "by clock"]
    assert drawn(0.0, 2.5).views[1]["data"]["x"] == [[0.0, 2.5]]


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("before", "utf-8")

    class Broken(Prose):
        def html(self):
            yield "<p>half"
            raise OSError(28, "No space left on device")

    page = Page("broken")
    page.add("part", Broken(""))
    with pytest.raises(OSError, match="No space left"):
        page.write(target)
    assert target.read_text("utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_target_that_cannot_be_is_said_before(tmp_path: Path) -> None:
    check_target(tmp_path / "new.html")
    with pytest.raises(TdqError, match="this is a folder"):
        check_target(tmp_path)
    with pytest.raises(TdqError, match="there is no folder"):
        check_target(tmp_path / "none" / "page.html")


def test_short_tasks_at_the_end_of_a_long_run_are_seen_beside_one_that_lasted_all_the_time() -> None:
    long = Stretch("reader", "task", "", (1, 2_500_000), (0.0, 0.0))
    short = [
        Stretch(f"task {at}", "task", "", (2_499_000 + 30 * at, 2_499_020 + 30 * at), (0.0, 0.0)) for at in range(20)
    ]
    drawing = time_line("", [long, *short], {"task": ("#123456", 0.8)}, "", Table((), []))
    lengths = drawing.data[0]["x"]
    assert min(lengths) * 50 >= max(lengths)
    assert sorted(drawing.data[0]["base"]) == drawing.data[0]["base"]


def test_cells_show_numbers_in_groups_and_truth_values_as_words() -> None:
    html = "".join(Table(("what",), [(1234567,), (True,), (False,), (0.5,)], "Cells").html())
    for shown in (">1,234,567<", ">True<", ">False<", ">0.5<"):
        assert shown in html


def test_only_numbers_are_on_the_right() -> None:
    rows = [("PAYQ", 1, "", 1.5), ("AUDT", 2, 3, "x")]
    shown = "".join(Table(("queue", "n", "some", "mixed"), rows).html())
    heads = [part.partition("</th>")[0] for part in shown.split('<th scope="col"')[1:]]
    assert heads == [">queue", " class=n>n", " class=n>some", ">mixed"]


def test_bars_of_long_names_lie_and_the_picture_has_room_for_each() -> None:
    short = bars("Short", [(f"Q{n}", n) for n in range(40)], "queue", "records")
    long = bars("Long", [(f"a long name {n}", n) for n in range(40)], "queue", "records")
    assert (short.data[0]["orientation"], long.data[0]["orientation"]) == ("v", "h")
    assert short.height == bars("Two", [("Q1", 1), ("Q2", 2)], "queue", "records").height
    assert long.height > bars("Half", [(f"a long name {n}", n) for n in range(20)], "queue", "records").height


def test_a_time_line_is_by_order_if_there_is_one() -> None:
    def bases(orders: tuple[int, int]) -> list[float]:
        words = Table(("task",), [("1",)])
        drawn = time_line(
            "Tasks", [Stretch("1", "task", "", orders, (7.0, 9.0))], {"task": ("#000", 0.5)}, "events", words
        )
        return drawn.data[0]["base"]

    assert bases((4, 6)) == [0]  # the first of the two places
    assert bases((0, 0)) == [7.0]
