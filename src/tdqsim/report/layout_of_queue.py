"""Load the layouts that region.yaml gives to queues; show a record on one line by its layout."""

from __future__ import annotations

from collections.abc import Mapping

from tdqsim.definitions.regionfile import REGION_FILE_NAME, RegionFile
from tdqsim.errors import DefinitionError, LayoutError, Problem
from tdqsim.layouts import FieldFound, Layout, load_layout


def queue_layouts(file: RegionFile) -> Mapping[str, Layout]:
    """The layout of each queue for which region.yaml has one, in the code page of the region.

    Raises:
        DefinitionError: files cannot be read, or have no such record; all problems are listed.
    """
    layouts: dict[str, Layout] = {}
    problems = []
    for queue, each in file.layouts.items():
        try:
            layouts[queue] = load_layout(each.path, each.record, code_page=file.code_page)
        except LayoutError as error:
            place = str(file.directory / REGION_FILE_NAME)
            problems.append(Problem(place, 0, f"TDQUEUE({queue})", "layouts", "", str(error)))
    if problems:
        raise DefinitionError(problems)
    return layouts


def in_a_line(record: bytes, layout: Layout) -> str:
    """The elementary fields of a record with their values; invalid values and records are shown in hexadecimal."""
    try:
        fields = layout.found_in(record)
    except (LayoutError, LookupError):
        return f"X'{record.hex().upper()}'"
    return ", ".join(f"{each.field}={_value(each)}" for each in fields)


def _value(field: FieldFound) -> str:
    return f"X'{field.hex}'" if field.value is None else str(field.value)
