"""Each fact of a table against its source's words, or on the list of those without a source."""

from __future__ import annotations

import pytest

from tdqsim.facts import table
from tdqsim.facts._tables import table_names
from tests.facts import _sources as sources

pytestmark = pytest.mark.house

WITHOUT_WORDS = {
    "absent", "attributes_kept", "attributes_without_effect", "cmci_actions", "cmci_resources", "cobol_options", "cobol_words",
    "cpf_help", "exec_exclusive", "exits", "ibmi_cl_absent", "ibmi_cl_absent_keywords", "ibmi_program_absent", "name_characters", "notices", "open_points", "operations", "options_without_effect", "probe_unobservable",
    "qsam_conflicts", "qsam_options", "queue_options", "refused", "rules", "security_commands", "suspends", "vendor_options",
}  # fmt: skip
"""Tables of words: rules, names and our own texts, with no number, code or text of the vendor's that a program depends on."""

WRITE = "python -m tests.facts._sources"


def test_every_table_has_the_words_of_its_sources_or_has_no_facts_of_the_kind():
    assert {*sources.tables_with_words()} | WITHOUT_WORDS == {*table_names()}
    assert not {*sources.tables_with_words()} & WITHOUT_WORDS


@pytest.mark.parametrize("name", sources.tables_with_words())
def test_facts_are_what_their_sources_say(name):
    kept = sources.words(name)
    rows = sources.rows_of(kept)
    assert len(rows) == len(table(name)), f"{kept.key} does not tell the rows of {name}.tsv apart"
    for section in kept.sections:
        for number, key, cells in sources.said(kept, section):
            place = f"sources/{name}.txt:{number}"
            assert key in rows, f"{place}: {name}.tsv has no row {' '.join(key)}"
            for column, text in cells.items():
                if text != sources.PROVED:
                    assert rows[key][column] == text, (
                        f"{place}: {column} of {' '.join(key)} ({section.source}; see {WRITE})"
                    )


@pytest.mark.parametrize("name", sources.tables_with_words())
def test_facts_without_a_source_are_listed(name):
    kept = sources.words(name)
    listed: dict[str, list[str]] = {}
    for section in kept.sections:
        if not section.proves:
            listed.setdefault(section.source.removeprefix(sources.NONE), []).extend(line for _, line in section.lines)
    assert listed == sources.without_source(kept), f"run {WRITE} and look at what it adds"


@pytest.mark.parametrize("name", sources.tables_with_words())
def test_sources_say_where_they_are(name):
    for section in sources.words(name).sections:
        assert not section.proves or (section.head["address"] and section.lines), section.source


@pytest.mark.parametrize(
    ("was", "made", "problem"),
    [
        ("BUSY | 128 |", "BUSY | 129 |", "value of BUSY"),
        ("BUSY | 128 |", "BUZY | 128 |", "no row BUZY"),
        ("BUSY | 128 |", "BUSY 128 |", "is not read by"),
    ],
)
def test_words_that_do_not_fit_the_table_are_found(tmp_path, monkeypatch, was, made, problem):
    text = (sources.FOLDER / "resp.txt").read_text("utf-8")
    assert was in text
    (tmp_path / "resp.txt").write_text(text.replace(was, made, 1), "utf-8")
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    with pytest.raises((AssertionError, ValueError), match=problem):
        test_facts_are_what_their_sources_say("resp")


def test_fact_that_loses_its_words_must_be_listed(tmp_path, monkeypatch):
    (tmp_path / "resp.txt").write_text("# key: name\n# facts: value\n", "utf-8")
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    with pytest.raises(AssertionError, match="look at what it adds"):
        test_facts_without_a_source_are_listed("resp")
    sources.write("resp")
    test_facts_without_a_source_are_listed("resp")
