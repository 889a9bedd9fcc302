"""Hypothesis strategies for definitions of every kind."""

from __future__ import annotations

from datetime import datetime

from hypothesis import strategies as st

from tdqsim.definitions import (
    Definitions,
    define_connection,
    define_dtaq,
    define_program,
    define_tdqueue,
    define_terminal,
    define_transaction,
)
from tdqsim.definitions._build import build
from tdqsim.errors import DefinitionError

QUEUE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@#$"
printable = st.characters(exclude_categories=("C", "Z"), exclude_characters="£") | st.just(" ")


def words(most: int, letters: str = QUEUE_LETTERS) -> st.SearchStrategy[str]:
    special = [word for word in ("NO", "0010", "1E05", "NULL", "ON", "Y") if len(word) <= most]
    return st.text(letters, min_size=1, max_size=most) | st.sampled_from(special)


def some(**options: st.SearchStrategy) -> st.SearchStrategy[dict]:
    """Each of the options or not."""
    return st.fixed_dictionaries({}, optional=options)


yes_no = st.sampled_from(["YES", "NO"])
texts = st.text(printable, max_size=58)
stamps = st.datetimes(min_value=datetime(1995, 1, 1), max_value=datetime(2105, 1, 1))
signature = some(
    definetime=stamps, changetime=stamps, changeusrid=words(8), changeagent=st.sampled_from(["CSDAPI", "CSDBATCH"]),
    changeagrel=st.sampled_from(["0700", "0750"]), description=texts,
)  # fmt: skip
remote = some(remotesystem=words(4), remotename=words(4), remotelength=st.integers(0, 32767))
intra = some(
    atifacility=st.sampled_from(["FILE", "SYSTEM", "TERMINAL"]), recovstatus=st.sampled_from(["NO", "PHYSICAL", "LOGICAL"]),
    facilityid=words(4), transid=words(4, QUEUE_LETTERS + "abc-./&"), triggerlevel=st.integers(0, 32767), userid=words(8),
    wait=yes_no, waitaction=st.sampled_from(["QUEUE", "REJECT"]),
)  # fmt: skip
extra = some(
    databuffers=st.integers(1, 255), ddname=words(8, "ABC#"), dsname=st.sampled_from(["DUMMY", "A.B", "X.Y(M)", "G(+1)"]),
    sysoutclass=st.sampled_from(["A", "0", "*"]), erroroption=st.sampled_from(["IGNORE", "SKIP"]),
    opentime=st.sampled_from(["DEFERRED", "INITIAL"]), rewind=st.sampled_from(["LEAVE", "REREAD"]),
    typefile=st.sampled_from(["INPUT", "OUTPUT", "RDBACK"]), recordsize=st.integers(0, 32767), blocksize=st.integers(0, 32767),
    recordformat=st.sampled_from(["FIXED", "VARIABLE"]), blockformat=st.sampled_from(["BLOCKED", "UNBLOCKED"]),
    printcontrol=st.sampled_from(["A", "M"]), disposition=st.sampled_from(["MOD", "OLD", "SHR"]), jobuserid=words(8),
)  # fmt: skip


def tried(define, *parts: st.SearchStrategy[dict], **fixed: st.SearchStrategy | str) -> st.SearchStrategy:
    """What the attributes make, after those that clash have been taken away."""
    names = st.fixed_dictionaries(
        {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in fixed.items()}
    )

    def make(chosen):
        attributes = {name: value for part in chosen for name, value in part.items()}
        while True:
            try:
                return define(**attributes)
            except DefinitionError as error:
                wrong = {problem.attribute for problem in error.problems} - fixed.keys()
                if not wrong & attributes.keys():
                    return None
                for name in wrong:
                    attributes.pop(name, None)

    return st.tuples(names, *parts).map(make).filter(lambda resource: resource is not None)


def other_resource(kind, name, group, attributes):
    return build(kind, {"name": name, **attributes}, group)[0]


group_names = words(8)
tdqueues = (
    tried(define_tdqueue, remote, intra, signature, name=words(4), type="INTRA", group=group_names)
    | tried(define_tdqueue, remote, extra, signature, name=words(4), type="EXTRA", group=group_names)
    | tried(define_tdqueue, remote, signature, name=words(4), type="INDIRECT", indirectname=words(4), group=group_names)
    | tried(
        define_tdqueue, signature, some(remotename=words(4)), name=words(4), remotesystem=words(4), group=group_names
    )
)
transactions = tried(
    define_transaction,
    some(
        program=words(8), status=st.sampled_from(["ENABLED", "DISABLED"]), wait=yes_no, action=st.sampled_from(["BACKOUT", "COMMIT"]),
        waittime=st.sampled_from(["00,00,00", "01,02,03"]), dtimout=st.sampled_from(["NO", "130"]), restart=yes_no,
        priority=st.integers(0, 255), tranclass=words(8), remotesystem=words(4), remotename=words(8), twasize=st.sampled_from([0, 100]), ressec=yes_no, cmdsec=yes_no,
    ),
    signature,
    name=words(4, QUEUE_LETTERS + "abc"),
    group=group_names,
)  # fmt: skip
terminals = tried(
    define_terminal,
    some(netname=words(8), inservice=yes_no, userid=words(8)),
    signature,
    name=words(4),
    group=group_names,
)
connections = tried(
    define_connection,
    some(
        netname=words(8),
        inservice=yes_no,
        securityname=words(8),
        attachsec=st.sampled_from(["LOCAL", "IDENTIFY", "VERIFY", "PERSISTENT", "MIXIDPE"]),
    ),
    signature,
    name=words(4),
    group=group_names,
)
programs = tried(
    define_program,
    some(
        status=st.sampled_from(["ENABLED", "DISABLED"]),
        executionset=st.sampled_from(["FULLAPI", "DPLSUBSET"]),
        remotesystem=words(4),
        remotename=words(8),
        transid=words(4),
        language=st.sampled_from(["COBOL", "PLI"]),
    ),
    signature,
    name=words(8),
    group=group_names,
)
others = st.builds(
    other_resource,
    st.sampled_from(["PARTITIONSET", "MAPSET", "PROFILE"]),
    st.text("ABC123", min_size=1, max_size=8),
    group_names,
    st.dictionaries(
        st.sampled_from(["language", "add", "dsname", "key1"]), st.text(printable, min_size=1, max_size=120), max_size=3
    ),
)
dtaqs = tried(
    define_dtaq,
    some(
        seq=st.sampled_from(["*FIFO", "*LIFO"]), force=st.sampled_from(["*YES", "*NO"]), senderid=st.sampled_from(["*YES", "*NO"]),
        autorcl=st.sampled_from(["*YES", "*NO"]), text=st.text(printable, max_size=50),
        size=st.sampled_from([(-1, 16), (-2, 100), (500, 1)]),
    ),
    dtaq=st.builds("{}/{}".format, words(8, "ABC"), words(8, "XYZ")),
    maxlen=st.integers(1, 64512),
)  # fmt: skip


def unique(resources):
    kept = {}
    for resource in resources:
        kept.setdefault((resource.group, resource.title), resource)
    return Definitions.of(kept.values())


csd_definitions = st.lists(tdqueues | transactions | terminals | connections | programs | others, max_size=6).map(
    unique
)
all_definitions = st.lists(
    tdqueues | transactions | terminals | connections | programs | others | dtaqs, max_size=6
).map(unique)
