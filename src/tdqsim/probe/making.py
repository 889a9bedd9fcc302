"""Write the probe of a CICS region to a folder: programs, definitions, JCL, and the page for the change request."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tdqsim.errors import UsageError
from tdqsim.probe.cases import RESET, cics_cases
from tdqsim.probe.cics_cobol import cobol_sources
from tdqsim.probe.cics_jcl import HLQ, INPUT_RECORDS, PREFIX, check_names, definitions_text, filled


def write_cics_probe(
    folder: Path, *, prefix: str = PREFIX, hlq: str = HLQ, release: str = "5.6", wanted: Iterable[str] | None = None
) -> list[Path]:
    """Write the probe of a CICS region.

    Args:
        folder: a new or empty folder.
        prefix: two characters with which the names of all resources, programs and jobs begin.
        hlq: the high-level qualifiers of its data sets.
        release: the release of CICS, which the answers file names.
        wanted: the ids of the rules to try; None for all that have a case.

    Returns:
        The files.

    Raises:
        UsageError: the folder is not empty, a name is not possible, or a rule has no case.
    """
    check_names(prefix, hlq, release)
    chosen = [rule for rule in (cics_cases() if wanted is None else wanted) if rule != RESET]
    if unknown := [rule for rule in chosen if rule not in cics_cases()]:
        raise UsageError(f"{', '.join(unknown)}: there is no case for it; facts/probe_unobservable.tsv has the reasons")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is not an empty folder; name one that is empty or does not exist")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, text in _texts(prefix, hlq, release, chosen).items():
        path = folder / name
        path.write_text(text, "utf-8")
        made.append(path)
    return made


def _texts(prefix: str, hlq: str, release: str, rules: list[str]) -> dict[str, str]:
    sources = cobol_sources(prefix, release, wanted=rules)
    names = [source.name for source in sources]
    deletes = [f"  DELETE {hlq}.{name}" for name in ("KSDS", "ESDS")]
    deletes += [f"  DELETE &LOADLIB({name}) FILE(LOADLIB)" for name in names]
    values = {
        "HLQ": hlq,
        "GROUP": f"{prefix}PROBE",
        "RULES": str(len(rules)),
        "PROGRAMS": ", ".join(f"`{name}.cbl`" for name in names),
        "INPUT": "\n".join(INPUT_RECORDS),
        "BUILDS": "\n".join(_build(number, name) for number, name in enumerate(names, 1)),
        "DELETES": "\n".join(deletes),
    }
    texts = {f"{source.name}.cbl": source.text for source in sources}
    texts[f"{prefix}DEF.csd"] = definitions_text(prefix, hlq=hlq, programs=names)
    for part in ("alloc", "build", "define", "remove"):
        texts[f"{prefix}{part.upper()}.jcl"] = filled(part, prefix, values)
    return {**texts, "README.md": filled("change", prefix, values)}


def _build(number: int, name: str) -> str:
    """The steps that compile and link a program."""
    return "\n".join(
        (
            f"//BUILD{number}   EXEC BUILD,MEMBER={name}",
            "//LINK.SYSIN DD *",
            "  INCLUDE STUB(DFHELII)",
            f"  NAME {name}(R)",
            "/*",
        )
    )
