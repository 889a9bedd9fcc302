"""The layout of diagrams and their SVG."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.report import diagram_svg
from tdqsim.report.diagram import BoxLine, Diagram, DiagramArrow, DiagramBox, room_for
from tdqsim.report.diagram_layout import SMALL, DiagramLayout, place
from tdqsim.report.diagram_svg import DiagramPicture, DrawnDiagram
from tdqsim.report.parts import Prose
from tests.report.test_page import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


def diagram(ways: list[tuple[int, int]], owners: int = 1) -> Diagram:
    names = {end for way in ways for end in way}
    boxes = [
        DiagramBox(str(n), f"Q{n}", "queue", f"REGION{n % owners}", (BoxLine(f"depth {n}"),)) for n in sorted(names)
    ]
    return Diagram(boxes, [DiagramArrow(str(a), str(b), label=f"{a * 1000 + b:,}") for a, b in ways])


def rectangles(layout: DiagramLayout) -> list[tuple[float, float, float, float]]:
    boxes = [(each.x, each.y, each.width / 2, each.height / 2) for each in layout.boxes]
    labels = [(*each.label, len(each.arrow.text) * SMALL / 2, 6.0) for each in layout.arrows if each.arrow.text]
    return boxes + labels


def overlap(layout: DiagramLayout) -> list[object]:
    return [
        (one, other)
        for one, other in combinations(rectangles(layout), 2)
        if abs(one[0] - other[0]) < one[2] + other[2] - 0.01 and abs(one[1] - other[1]) < one[3] + other[3] - 0.01
    ]


ALIKE = [
    ("records", "starts", "ships"), ("alias of", "starts", "data set", "shipped to", "linked with"), ("waits for",),
]  # fmt: skip
"""The kinds of arrows of each picture."""


@pytest.mark.parametrize("kinds", ALIKE)
def test_each_kind_of_arrow_has_a_dash_a_colour_and_a_form_of_its_own(kinds: tuple[str, ...]) -> None:
    """In the picture and, drawn in the same way, in its legend."""
    boxes = [DiagramBox(name, name, "queue") for name in ("A", "B")]
    drawn = Diagram(boxes, [DiagramArrow("A", "B", how) for how in kinds])
    shown = ET.fromstring(DrawnDiagram(drawn, "").legend())
    tips = [each.attrib["d"].partition(" ")[2] for each in shown.iter("path") if each.get("class") == "tip"]
    assert len(set(tips)) == len(kinds)
    css = (Path(diagram_svg.__file__).parent / "diagram.css").read_text("utf-8")
    looks = []
    for how in kinds:
        way = how.replace(" ", "-")
        rules = " ".join(re.findall(rf"[.]way[.]{way}(?: path)?(?:,[^{{}}]*)?{{([^}}]*)}}", css))
        colour, line = re.findall("--way:([^;}]*)", rules), re.findall("stroke-(?:dasharray|width):[^;}]*", rules)
        looks.append((tuple(colour), tuple(line)))
        assert f'class="way {way}' in DrawnDiagram(drawn, "words").svg()
    assert len({colour for colour, _line in looks}) == len({line for _colour, line in looks}) == len(kinds)


ENDS = st.integers(0, 9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=25), st.integers(1, 3))
def test_no_box_and_no_label_meets_another_whatever_leads_where(ways: list[tuple[int, int]], owners: int) -> None:
    layout = place(diagram(ways, owners))
    assert overlap(layout) == []
    for x, y, half, high in rectangles(layout):
        assert x - half >= 0
        assert x + half <= layout.width
        assert y - high >= 0
        assert y + high <= layout.height


def test_what_leads_somewhere_is_to_its_left() -> None:
    layout = place(diagram([(1, 2), (2, 3), (1, 3), (4, 3)]))
    x = {each.box.id: each.x for each in layout.boxes}
    assert x["1"] < x["2"] < x["3"]
    assert x["4"] == x["2"], "a box to which nothing leads is beside its target"


def test_a_ring_is_drawn_with_one_arrow_to_the_left() -> None:
    layout = place(diagram([(1, 2), (2, 3), (3, 1)]))
    assert sum(each.points[-1][0] < each.points[0][0] for each in layout.arrows) == 1


def test_every_region_has_a_frame_of_its_own_with_its_boxes() -> None:
    layout = place(diagram([(0, 1), (1, 2), (2, 3), (0, 3)], owners=2))
    (first, second) = layout.bands.values()
    assert first[0] + first[1] <= second[0]
    for each in layout.boxes:
        top, height = layout.bands[each.box.owner]
        assert top <= each.y - each.height / 2
        assert each.y + each.height / 2 <= top + height


def test_a_count_that_grows_a_little_changes_no_layout() -> None:
    before, after, larger = (
        Diagram(diagram([(1, 2)]).boxes, [DiagramArrow("1", "2", label=label)]) for label in ("12", "345", "1,234,567")
    )
    assert before.shape() == after.shape() != larger.shape()
    assert DrawnDiagram(before, "").texts()["a0.0"] == ("12", False)
    assert room_for("345") >= len("345")


def test_the_texts_that_may_change_have_their_keys_in_the_picture() -> None:
    drawn = Diagram(
        [
            DiagramBox("1", "PAYQ", "queue", lines=(BoxLine("depth 4"), BoxLine("2 abends", bad=True))),
            DiagramBox("2", "PAYP", "transaction"),
        ],
        [DiagramArrow("1", "2", label="7", bad="3 IOERR")],
    )
    root = ET.fromstring(DrawnDiagram(drawn, "flows").svg())
    shown = {each.get("data-k"): each.text or "" for each in root.iter() if each.get("data-k")}
    assert shown == {"b0.0": "depth 4", "b0.1": "2 abends", "a0.0": "7", "a0.1": " · 3 IOERR"}
    assert shown == {key: text for key, (text, _) in DrawnDiagram(drawn, "").texts().items()}


@pytest.mark.parametrize("text", HOSTILE)
def test_names_from_outside_are_only_text(text: str) -> None:
    drawn = Diagram(
        [
            DiagramBox(text, text, text, text, (BoxLine(text),), href=text, members=(text,)),
            DiagramBox("2", "Q", "queue"),
        ],
        [DiagramArrow(text, "2", text, text, text)],
    )
    shown = "".join(DiagramPicture(text, drawn, Prose(text), text).html())
    tags = {each.tag.removeprefix(SVG) for each in ET.fromstring(DrawnDiagram(drawn, text).svg()).iter()}
    assert tags == {"svg", "rect", "text", "tspan", "g", "a", "path", "title"}
    assert "<script" not in shown
    assert "<img" not in shown
