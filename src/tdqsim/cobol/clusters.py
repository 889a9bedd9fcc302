"""Read the VSAM data sets that IDCAMS statements in JCL define: keys and record lengths of clusters and of paths.

A FILE definition in a CSD names a data set, and the VSAM catalogue knows its organisation. The DEFINE CLUSTER, DEFINE
ALTERNATEINDEX and DEFINE PATH statements that made the catalogue entries are usually in the JCL beside the programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tdqsim.definitions import Definitions, File

SUFFIXES: Final = (".jcl", ".idcams", ".ctl", ".prc")
"""The suffixes of members that may contain IDCAMS statements."""
_TEXT: Final = 72
"""The last column of a statement."""
_STATEMENT: Final = re.compile(r"\bDEF(?:INE)?\s+(CLUSTER|CL|ALTERNATEINDEX|AIX|PATH)\b", re.IGNORECASE)
_KINDS: Final = {"CL": "CLUSTER", "AIX": "ALTERNATEINDEX"}
_VALUE: Final = r"\b{}\s*\(\s*([A-Z0-9@#$.&-]+)(?:[\s,]+([0-9]+))?\s*\)"
_ORGANISATIONS: Final = (("NONINDEXED", "ESDS"), ("NUMBERED", "RRDS"))

Cluster = Mapping[str, Any]
"""The attributes of a FILE that describe its data set."""


def clusters_in(texts: Iterable[str]) -> dict[str, Cluster]:
    """The data sets and paths that the statements of some members define, by DSNAME."""
    found: dict[str, dict[str, Any]] = {}
    indexes: dict[str, dict[str, Any]] = {}
    paths: dict[str, str] = {}
    for text in texts:
        joined = " ".join(line[:_TEXT].rstrip().removesuffix("-") for line in text.splitlines() if line[:2] != "//")
        starts = [*_STATEMENT.finditer(joined)]
        for at, match in enumerate(starts):
            statement = joined[match.end() : starts[at + 1].start() if at + 1 < len(starts) else len(joined)].upper()
            kind, name = match[1].upper(), _value(statement, "NAME")[0]
            kind = _KINDS.get(kind, kind)
            if kind == "CLUSTER":
                found[name] = _cluster(statement)
            elif kind == "ALTERNATEINDEX":
                indexes[name] = _index(statement)
            else:
                paths[name] = _value(statement, "PATHENTRY")[0]
    for name, entry in paths.items():
        if entry in indexes:
            found[name] = indexes[entry] | {"recordsize": found.get(indexes[entry]["relate"], {}).get("recordsize", 0)}
    return {name: {key: value for key, value in each.items() if value} for name, each in found.items() if name}


def _cluster(statement: str) -> dict[str, Any]:
    organisation = next((kind for word, kind in _ORGANISATIONS if re.search(rf"\b{word}\b", statement)), "KSDS")
    made: dict[str, Any] = {"organisation": organisation, "recordsize": int(_value(statement, "RECORDSIZE")[1] or 0)}
    return made | _keys(statement) if organisation == "KSDS" else made


def _index(statement: str) -> dict[str, Any]:
    unique = "" if re.search(r"\bNONUNIQUEKEY\b", statement) else "YES"
    return _keys(statement) | {"relate": _value(statement, "RELATE")[0], "uniquekey": unique}


def _keys(statement: str) -> dict[str, int]:
    """The length and position of the key; 64 bytes at offset 0 is the default of IDCAMS."""
    length, position = _value(statement, "KEYS")
    return {"keylength": int(length or 64), "keyposition": int(position or 0)}


def _value(statement: str, word: str) -> tuple[str, str]:
    match = re.search(_VALUE.format(word), statement)
    return (match[1], match[2] or "") if match else ("", "")


def with_clusters(definitions: Definitions, clusters: Mapping[str, Cluster]) -> Definitions:
    """The definitions with the attributes of the data sets of their files.

    A FILE that has a KEYLENGTH is not changed.
    """
    resources = []
    for each in definitions.resources:
        cluster = clusters.get(each.dsname.upper()) if isinstance(each, File) and not each.keylength else None
        resources.append(each if cluster is None else each.model_copy(update=dict(cluster)))
    return Definitions.of(resources)
