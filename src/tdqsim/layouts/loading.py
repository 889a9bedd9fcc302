"""A layout from a file, whichever form it is in."""

from __future__ import annotations

from pathlib import Path

from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.copybook import load_copybook
from tdqsim.layouts.layout import Layout
from tdqsim.layouts.yaml_form import load_layout_yaml

__all__ = ["load_layout"]


def load_layout(path: str | Path, record: str = "", *, code_page: str = "037") -> Layout:
    """The layout in a file: YAML when its name ends so (``.yaml``, ``.yml``), else a COBOL copybook.

    Args:
        path: the file; COPY is looked up beside it.
        record: which level 01 of a copybook with several; empty for the one there is. A YAML layout has one record.
        code_page: of text in records, where a YAML layout names none.

    Raises:
        LayoutError: the file cannot be read, is no layout, or has no such record.
    """
    file = Path(path)
    if file.suffix.lower() in (".yaml", ".yml"):
        return load_layout_yaml(file, code_page=code_page)
    return load_copybook(file, rules=Rules(code_page=code_page)).record(record or None)
