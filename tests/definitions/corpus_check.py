"""What must hold for any text that is imported: used by the corpus test and by the fuzzer."""

from __future__ import annotations

from tdqsim.definitions import (
    Definitions,
    dump_definitions,
    export_csd,
    parse_cl,
    parse_csd,
    parse_csd_listing,
    parse_dct,
    parse_definitions,
)
from tdqsim.errors import DefinitionError

PARSERS = (parse_csd, parse_csd_listing, parse_dct, parse_cl, None)


def check(data: bytes) -> None:
    """Import ``data`` by the parser that its first byte chooses; AssertionError is a finding."""
    if not data:
        return
    parse, text = PARSERS[data[0] % len(PARSERS)], data[1:].decode("latin-1")
    if parse is None:
        check_yaml(text)
        return
    found = parse(text)
    last = text.count("\n") + 1
    assert all(1 <= report.line <= last and report.message and str(report).isprintable() for report in found.reports)
    assert all(1 <= entry.line <= last for entry in found.definitions.entries)
    check_round_trips(found.definitions)


def check_yaml(text: str) -> None:
    try:
        found = parse_definitions(text)
    except DefinitionError as error:
        refused = error
    else:
        check_round_trips(found)
        return
    assert refused.problems
    assert all(problem.message for problem in refused.problems)


def check_round_trips(definitions: Definitions) -> None:
    """What was imported can be written as YAML and, but for data queues, as DEFINE statements, and read again."""
    assert contents(parse_definitions(dump_definitions(definitions))) == contents(definitions)
    again = parse_csd(export_csd(definitions))
    assert contents(again.definitions) == {
        key: value for key, value in contents(definitions).items() if not key[1].startswith("DTAQ(")
    }
    assert not [report for report in again.reports if report.action == "skipped"]


def contents(definitions: Definitions) -> dict[tuple[str, str], object]:
    """Every definition by group and title, with what was given; a handler is ours and no CSD's."""
    return {
        (entry.resource.group, entry.resource.title): (
            {name: value for name, value in entry.resource.attributes().items() if name != "handler"},
            {name: value for name, value in entry.resource.without_effect.items() if value != ""},
        )
        for entry in definitions.entries
    }
