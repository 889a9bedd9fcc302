"""Which characters names may have, tried one by one: what IBM allows in each kind of name, and nothing else."""

from __future__ import annotations

import string

import pytest

from tdqsim import define_dtaq, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, System

UPPER, DIGITS, NATIONAL = string.ascii_uppercase, string.digits, "@#$"
ALL = [chr(code) for code in range(33, 127)] + ["¬", "£", "Ä", "ß"]
TRANSACTION = set(string.ascii_letters + DIGITS + NATIONAL + './-_%&?!:"=,;<>|¬')


def intra(**attributes):
    return define_tdqueue(**{"name": "PAYQ", "type": "INTRA"} | attributes)


def extra(**attributes):
    return define_tdqueue(**{"name": "PAYQ", "type": "EXTRA"} | attributes)


def allowed(make, form):
    """The characters with which a name of a form such as ``A{}B`` is taken."""
    found = set()
    for character in ALL:
        try:
            make(form.format(character))
        except TdqError:
            continue
        found.add(character)
    return found


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda name: intra(name=name), {*UPPER, *DIGITS, *NATIONAL}),
        (lambda name: define_tdqueue(name="PAYQ", type="INDIRECT", indirectname=name), {*UPPER, *DIGITS, *NATIONAL}),
        (lambda name: intra(atifacility="FILE", userid=name), {*UPPER, *DIGITS, *NATIONAL}),
        (lambda name: intra(transid=name), TRANSACTION),
        (lambda name: define_transaction(name=name), TRANSACTION),
        (lambda name: define_terminal(name=name), TRANSACTION),
        (lambda name: extra(ddname=name), {*UPPER, *DIGITS, *NATIONAL}),
    ],
    ids=["queue", "target", "user", "TRANSID", "transaction", "terminal", "DD name"],
)
def test_characters_within_a_name(make, expected):
    assert allowed(make, "A{}B") == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda name: intra(name=name), {*UPPER, *DIGITS, *NATIONAL}),
        (lambda name: extra(ddname=name), {*UPPER, *NATIONAL}),
        (lambda name: extra(dsname=name), {*UPPER, *NATIONAL}),
        (lambda name: extra(dsname=f"PAY.{name}.DATA"), {*UPPER, *NATIONAL}),
    ],
    ids=["queue", "DD name", "data set", "qualifier"],
)
def test_characters_at_the_beginning(make, expected):
    assert allowed(make, "{}A") == expected


def test_characters_of_data_set_names():
    """A qualifier may have hyphens; periods stand between qualifiers, and a member or generation in parentheses."""
    assert allowed(lambda name: extra(dsname=name), "A{}B") == {*UPPER, *DIGITS, *NATIONAL, "-", "."}
    for name in ("A.B", "A.B(MEM)", "A.B(0)", "A.B(-1)", "A.B(+1)", "A.B-C"):
        assert extra(dsname=name).dsname == name
    for name in ("A..B", ".A", "A.", "A.ABCDEFGHI", "A.B(ME-M)", "A.B(1)", "A.B()", "A.B(+12345)", "A.B(MEM"):
        with pytest.raises(TdqError):
            extra(dsname=name)


def test_characters_of_objects_of_ibm_i():
    """A name begins with a letter or @ # $; then come digits, _ and periods too. Small letters are made capitals."""
    with System() as system:
        job = system.job()

        def make(name):
            try:
                job.crtdtaq(dtaq=f"QGPL/{name}", maxlen=1)
            except EscapeMessage as error:
                raise TdqError(str(error)) from error

        small = set(string.ascii_lowercase)  # made capitals, which are there
        assert allowed(make, "A{}B") - small == {*UPPER, *DIGITS, *NATIONAL, "_", "."}
        assert allowed(make, "{}A") - small == {*UPPER, *NATIONAL}


@pytest.mark.parametrize("letter", ["ß", "\u0131", "\u017f", "\ufb01", "Ö", "ö"])
def test_a_letter_is_not_made_into_others(letter):
    """The capitals of some letters are letters A to Z, and would be a name that nobody has written."""
    name = f"A{letter}B"
    with System() as system:
        with pytest.raises(TdqError):
            system.crtlib(name)
        with pytest.raises(TdqError):
            define_dtaq(name=name, maxlen=1)
        with pytest.raises(TdqError):
            define_dtaq(name="Q", type="*DDM", rmtlocname="*RDB", rdb="DB", rmtdtaq=f"L/{name}")
        with pytest.raises(TdqError):
            system.register_program(f"QGPL/{name}", print)
        job = system.job()
        for command in (f"CRTLIB LIB({name})", f"CRTDTAQ DTAQ(QTEMP/{name}) MAXLEN(1)"):
            with pytest.raises(TdqError) as caught:
                job.command(command)
            assert "CPF0006" in str(caught.value)
        if letter in "ßöÖ":  # the others are not in the job's code page
            job.command(f"CRTLIB LIB(OK) TEXT({letter})")
