"""What a rule says in words stands in the tests that hold it: every number, code and word of the vendor's.

A rule with a RESP or a message is compared with what happens (:mod:`tests.rules`). The others name their outcome among
the circumstances: ``EIBFN 0802``, ``n/2 + 1 bytes``, ``*CURLIB is QGPL``. Such a value has to be written in one of the
rule's tests as well, by hand, so that a row that is altered no longer agrees with them (a single digit shows little: it
may stand there for something else). Rules of words alone, such as "records are read in order", have no value. Comments and docstrings are no
tests and are not looked at; what a test uses of its own module is.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tdqsim.facts import Rule, rules
from tests.facts._examples import examples
from tests.facts._markers import TESTS, marked_tests

pytestmark = pytest.mark.house

TERM = re.compile(r"X'[0-9A-F]+'|U\+[0-9A-F]{4}|\*?[A-Z][A-Z0-9]+|\d+")
SPELT = {
    "LOGICAL": "LOG", "PHYSICAL": "PHY", "SYSID": "TDQ1|sys", "CSDBATCH": "CSDBATCH", "WRITEQ": "write|seed", "READQ": "read|peek",
    "DELETEQ": "delete", "INQUIRE": "inquire|^I ", "U+0085": r"\\x85", "U+000A": r"\\n", "NL": r"\\x85", "LF": r"\\n",
}  # fmt: skip
"""Words that a test writes in another way: queues of a kind by their names, commands by their methods."""
UNTIED = {"CICS", "DFHCSDUP", "KICKS", "EXEC", "COBOL", "JCL"}
"""Names of products."""

CIRCUMSTANCES = {
    "CRTDTAQ-DEFAULTS": "*MAX16MB", "TD-FIFO": "WRITEQ", "LOCK-REFUSED-KEEPS-NOTHING": "QBUSY",
    "EIB-IMAGE": "DFHEIBLK EIBTIME EIBDATE EIBTRNID EIBTASKN EIBRLDBK", "ATI-LEVEL": "TRIGGERLEVEL TRANSID", "ATI-DELETEQ": "QZERO",
    "ATI-TERMINAL-AGAIN": "QZERO", "ATI-TERMINAL-ABEND": "QZERO", "ATI-FACILITYID-DEFAULT": "ATIFACILITY", "ATI-USERID": "FILE",
    "ATI-AGAIN-LEVEL-ZERO": "QZERO", "RESTART-TYPE": "AUTO",
    "SIGNATURE-FILE": "CHANGEAGENT", "INQ-TRIGGERLEVEL-NONE": "TRANSID", "CREATE-MESSAGE": "DFHCA", "DISCARD-RECORDS": "DELETEQ",
     "CEMT-ALL-DEFAULT": "INQUIRE", "CEMT-FILTER": "INQUIRE", "STATS-QUEUE-IMAGE": "DFHTQRDS",
    "UOWENQ-ACTIVE-RETAINED": "WAITACTION REJECT", "UOW-NO-CAUSE": "WAITING", "EX-INSTALL-MISSING": "OPENTIME INITIAL",
    "REC-MIRROR-ATTRIBUTES": "WAITTIME", "REC-REMOTE-SHIPPED": "LOGICAL", "DTAQ-RECEIVE-PEEK": "*NO", "DTAQ-SIZE-MODEL": "*MAX16MB",
    "EIB-TD": "0", "BROWSE-EIB": "X'5C02' RESP", "EXEC-LENGTH-DEFAULT": "LENGTH", "EXEC-RESP": "EIBRESP EIBRESP2",
    "EXEC-LENGERR-RESP": "LENGERR", "EXEC-CVDA-KEYWORD": "CVDA", "CECI-SCREEN": "CVDA", "STATS-ENDOFDAY": "RECORDING",
    "STATS-OFF": "RECORDING", "TASK-INQUIRED-PRIORITY": "ASSIGN", "EX-SPOOLED": "DSNAME SYSOUTCLASS", "EX-OLD-REWRITES": "SHR",
    "DS-RDBACK-FORMATS": "RDBACK", "DTAQ-RECEIVE-NONE": "0", "COBOL-TASK-LIST": "3", "DPL-ABEND-SYNCONRETURN": "SYNCONRETURN",
    "DTAQ-ADDRESS-LIBL": "*CURLIB", "TASK-PRIORITY-AGING": "PRTYAGE", "TASK-PRIORITY-NO-AGING": "PRTYAGE",
}  # fmt: skip
"""Words for what the tests bring about in another way: a default, a queue of the fixtures, offsets in an image of bytes."""


def outcome_in_words(row: Rule) -> list[str]:
    """The values that a rule without RESP and message names, without its own subject."""
    if row.resp or row.message:
        return []
    subject = UNTIED | set(TERM.findall(row.command))
    return [each for each in dict.fromkeys(TERM.findall(row.circumstances)) if each not in subject]


def without_docstring(node: ast.AST) -> ast.AST:
    for inner in ast.walk(node):
        body = getattr(inner, "body", None)
        if isinstance(body, list) and len(body) > 1 and isinstance(body[0], ast.Expr):
            del body[: isinstance(body[0].value, ast.Constant)]
    return node


@cache
def parts(module: str) -> tuple[ast.AST, dict[str, ast.AST]]:
    """A module, and its functions, classes and tables by name."""
    tree: ast.AST = without_docstring(ast.parse((TESTS.parent / module).read_text("utf-8")))
    found: dict[str, ast.AST] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found |= {
                    each.id: node for each in ast.walk(target) if isinstance(each, ast.Name) and each.id not in found
                }
    return tree, found


@cache
def used(node: ast.AST) -> frozenset[str]:
    """The names that a part of a module uses."""
    names = {ast.Name: "id", ast.arg: "arg", ast.Attribute: "attr"}
    return frozenset(getattr(each, names[type(each)]) for each in ast.walk(node) if type(each) in names)


text_of = cache(ast.unparse)


@cache
def said(test: str) -> str:
    """What a test says, with everything of its module that it uses."""
    module, *names = test.split("::")
    if test.endswith("]"):  # an example
        example = examples()[test.partition("[")[2].rstrip("]")]
        return "\n".join(f"{step.text} {step.expected}" for step in (*example.given, *example.when, *example.then))
    tree, found = parts(module)
    if not names:
        return text_of(tree)
    left, seen = [names[-1]], set()
    while left:
        name = left.pop()
        if name in found and name not in seen:
            seen.add(name)
            left += used(found[name])
    return "\n".join(text_of(found[name]) for name in seen)


def stands(term: str, text: str) -> bool:
    """Whether a test says it: a number by itself or as its bytes, a word in either case."""
    digits = term.removeprefix("X'").rstrip("'")
    if not term.isdigit() and not term.startswith("X'"):
        return re.search(SPELT.get(term, re.escape(term.strip("*"))), text, re.IGNORECASE | re.MULTILINE) is not None
    ways = [rf"(?<![0-9.]){digits}(?![0-9.])"]
    if len(digits) > 1 and (digits[0] == "0" or term != digits):
        ways.append(re.escape(repr(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))[2:-1]))
    return any(re.search(way, text) for way in ways)


def unsaid(row: Rule) -> list[str]:
    text = "\n".join(said(test) for test in marked_tests()[row.id])
    done = CIRCUMSTANCES.get(row.id, "").split()
    return [term for term in outcome_in_words(row) if term not in done and not stands(term, text)]


def test_what_a_rule_names_stands_in_its_tests():
    assert {row.id: missing for row in rules().values() if (missing := unsaid(row))} == {}


def test_no_word_is_excused_that_is_no_longer_there():
    named = {each: set(outcome_in_words(rules()[each])) for each in CIRCUMSTANCES}
    assert {each for each, words in CIRCUMSTANCES.items() if not set(words.split()) <= named[each]} == set()


def test_an_altered_number_no_longer_agrees():
    """A single digit may, or one that is a part of a date: most tests have one for something else."""
    tried, noticed = 0, 0
    for row in rules().values():
        for term in outcome_in_words(row) if row.id not in CIRCUMSTANCES else ():
            if term.isdigit() and len(term) > 1:
                other = str(int(term) + 1).zfill(len(term))
                altered = row._replace(circumstances=re.sub(rf"\b{term}\b", other, row.circumstances))
                tried += 1
                noticed += bool(unsaid(altered))
    assert tried > 15
    assert noticed >= tried - 3


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("0802", r"b'\x08\x02'", True), ("0803", r"b'\x08\x02'", False), ("32", "length == 320", False), ("32", "== 32", True),
        ("X'15'", r"b'\x15'", True), ("X'25'", "'15'", False), ("*CURLIB", "curlib='A'", True), ("QGPL", "'QTEMP'", False),
    ],
)  # fmt: skip
def test_how_a_value_stands(term, text, found):
    assert stands(term, text) is found
