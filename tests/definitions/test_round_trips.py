"""What is written out reads back as the same: YAML, DEFINE statements, and one through the other."""

from __future__ import annotations

from hypothesis import given

from tdqsim.definitions import dump_definitions, export_csd, parse_csd, parse_csd_listing, parse_definitions
from tests.definitions.strategies import all_definitions, csd_definitions


def contents(definitions):
    """Every definition by group and title, with what was given."""
    return {
        (entry.resource.group, entry.resource.title): (entry.resource.attributes(), dict(entry.resource.without_effect))
        for entry in definitions.entries
    }


@given(all_definitions)
def test_yaml(definitions):
    again = parse_definitions(dump_definitions(definitions))
    assert contents(again) == contents(definitions)
    assert sorted(resource.title for resource in again.resources) == sorted(
        resource.title for resource in definitions.resources
    )


@given(csd_definitions)
def test_define_statements(definitions):
    found = parse_csd(export_csd(definitions))
    assert contents(found.definitions) == contents(definitions)
    assert [entry.resource for entry in found.definitions.entries] == [entry.resource for entry in definitions.entries]
    assert not [report for report in found.reports if report.action != "kept"]


@given(csd_definitions)
def test_extract_output(definitions):
    assert contents(parse_csd_listing(export_csd(definitions)).definitions) == contents(definitions)


@given(csd_definitions)
def test_define_statements_fit_their_cards(definitions):
    for line in export_csd(definitions).splitlines():
        assert len(line) <= 72 or len(line) > 80
        assert not line.startswith("*")


@given(csd_definitions)
def test_from_statements_to_yaml_and_back(definitions):
    imported = parse_csd(export_csd(definitions)).definitions
    assert contents(parse_definitions(dump_definitions(imported))) == contents(definitions)
