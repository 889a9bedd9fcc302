"""Load a layout from a YAML file or a COBOL copybook."""

from __future__ import annotations

from pathlib import Path

from tdqsim.layouts.codecs import Rules
from tdqsim.layouts.copybook import load_copybook
from tdqsim.layouts.layout import Layout
from tdqsim.layouts.yaml_form import load_layout_yaml


def load_layout(path: str | Path, record: str = "", *, code_page: str = "037") -> Layout:
    """Load the layout in a file: YAML if its suffix is ``.yaml`` or ``.yml``, otherwise a COBOL copybook.

    Args:
        path: the file; members that COPY names are searched for in its directory.
        record: the name of a level 01 record; empty for a copybook with a single record. A YAML layout has one record.
        code_page: the code page of text in records, unless a YAML layout names another.

    Raises:
        LayoutError: the file cannot be read, is not a layout, or has no such record.
    """
    file = Path(path)
    if file.suffix.lower() in (".yaml", ".yml"):
        return load_layout_yaml(file, code_page=code_page)
    return load_copybook(file, rules=Rules(code_page=code_page)).record(record or None)
