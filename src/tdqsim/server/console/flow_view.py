"""Diagrams on pages of the console, updated while they are shown."""

from __future__ import annotations

from nicegui.element import Element

from tdqsim.report import Diagram, legend, svg, texts, tools


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
        self.props.update({"tools": tools(), "legend": "", "svg": "", "name": name})

    def show(self, diagram: Diagram) -> None:
        """Show a diagram."""
        shape, found = diagram.shape(), texts(diagram)
        if shape != self._shape:
            self._shape = shape
            drawn = bool(diagram.boxes)
            self.props["legend"] = legend(diagram) if drawn else ""
            self.props["svg"] = svg(diagram, self._name) if drawn else ""
            self.update()
        else:
            changes = {key: text for key, text in found.items() if self._texts.get(key) != text}
            if changes:
                self.run_method("put", changes)
        self._texts = found
