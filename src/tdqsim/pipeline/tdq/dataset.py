"""``tdq dataset FILE``: what a file is, and how to read it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli import emit, emit_json, emit_table
from tdqsim.errors import ExtraMissing
from tdqsim.pipeline import on_demand

if TYPE_CHECKING:
    from tdqsim.pipeline.file_format import Candidate, InspectedFile

app = typer.Typer(rich_markup_mode=None)

_SHOWN = 6
_COPYBOOKS = (".cpy", ".cob", ".cbl", ".copy")


@app.command("look")
def look(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="A file, a directory, or a URL such as s3://bucket/name.")
    ],
    copybook: Annotated[
        Path | None, typer.Option("--copybook", metavar="FILE", help="The copybook of the records.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Find out the record format, code page, segments, header and trailer of a file, and the options that read it."""
    try:
        for package in ("numpy", "pyarrow"):
            import_module(package)
    except ImportError as error:
        raise ExtraMissing(error.name, "spark") from None
    result = on_demand.file_format.inspect_file(path, "" if copybook is None else str(copybook))
    if as_json:
        emit_json([_plain(each, copybook) for each in result])
        return
    for each in result:
        _emit_file(each, copybook)
        if Path(each.path).suffix.lower() in _COPYBOOKS:
            emit(f"if it is a copybook, tdq dataset layout {each.path} shows its fields")


def _emit_file(result: InspectedFile, copybook: Path | None) -> None:
    best = result.candidates[0]
    size = f"{result.size} bytes" if result.size else "more than a megabyte"
    emit(f"{result.path}: {size}{f', compressed by {result.compressed}' if result.compressed else ''}")
    rows = [("format", best.format.name, best.format.confidence, best.format.reason)]
    rows += [(each.what, each.value, each.confidence, each.reason) for each in best.findings]
    emit_table(("property", "value", "confidence", "reason"), rows)
    if best.misfit:
        emit(f"the copybook does not fit: {best.misfit}")
    emit("\nfirst records:")
    for number, row in enumerate(best.rows, 1):
        emit(f"{number}  " + "  ".join(f"{name}={value!s}" for name, value in row.items()))
    emit("\noptions:")
    for name, text in _pasted(best, result.path, copybook).items():
        emit(f"{name:9} {text}")
    others = [(each.format.name, each.format.confidence, each.format.reason) for each in result.candidates[1:_SHOWN]]
    if others:
        emit_table(("less likely", "confidence", "reason"), others)
    emit()


def _pasted(best: Candidate, path: str, copybook: Path | None) -> dict[str, str]:
    """The options of the best candidate as they are written in a program, on a DD card and in a command."""
    texts = {}
    for name in ("qsam", "cobol"):
        given = best.options(cobrix=name == "cobol")
        if given is not None:
            more = {"copybook": str(copybook)} if copybook is not None else {}
            shown = "".join(f".option({key!r}, {value!r})" for key, value in (more | given).items())
            texts[name] = f'spark.read.format("{name}"){shown}'
    if copybook is not None and (own := best.options(cobrix=False)) is not None:
        words = [word for key, value in own.items() for word in ("--option", shlex.quote(f"{key}={value}"))]
        place = [
            "tdq pipeline decode",
            shlex.quote(path),
            "--output",
            shlex.quote(f"{path.rsplit('/', 1)[-1]}.parquet"),
        ]
        texts["decode"] = " ".join([*place, "--option", shlex.quote(f"copybook={copybook}"), *words])
    if best.format.dcb:
        keys = (each.partition("=") for each in best.format.dcb.split(","))
        texts["DD card"] = ", ".join(f"{key.lower()}: {value}" for key, _, value in keys)
    return texts


def _plain(result: InspectedFile, copybook: Path | None) -> Mapping[str, object]:
    return {
        "path": result.path,
        "size": result.size or None,
        "compressed": result.compressed or None,
        "candidates": [
            {
                "format": each.format.name,
                "confidence": each.format.confidence,
                "reason": each.format.reason,
                "findings": [
                    {"what": one.what, "value": one.value, "confidence": one.confidence, "reason": one.reason}
                    for one in each.findings
                ],
                "corrupt": each.corrupt,
                "misfit": each.misfit or None,
                "records": each.rows,
                "qsam": each.options(cobrix=False),
                "cobol": each.options(cobrix=True),
                "options": _pasted(each, result.path, copybook),
            }
            for each in result.candidates
        ],
    }
