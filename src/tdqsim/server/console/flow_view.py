"""Diagrams on pages of the console, updated while they are shown."""

from __future__ import annotations

from nicegui.element import Element

from tdqsim.report import Diagram, DrawnDiagram


class DiagramView(Element, component="static/flow_view.js"):
    """A diagram; only the texts that have changed are sent, as long as the layout stays the same.

    Args:
        name: what it shows, for screen readers.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._shape: tuple[object, ...] = ()
        self._texts: dict[str, tuple[str, bool]] = {}
        self.props.update({"tools": DrawnDiagram.tools(), "legend": "", "svg": "", "name": name})

    def show(self, diagram: Diagram) -> None:
        """Show a diagram."""
        drawn = DrawnDiagram(diagram, self._name)
        shape, found = diagram.shape(), drawn.texts()
        if shape != self._shape:
            self._shape = shape
            self.props["legend"] = drawn.legend() if diagram.boxes else ""
            self.props["svg"] = drawn.svg() if diagram.boxes else ""
            self.update()
        else:
            changes = {key: text for key, text in found.items() if self._texts.get(key) != text}
            if changes:
                self.run_method("put", changes)
        self._texts = found
