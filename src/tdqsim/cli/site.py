"""``tdq guide --html``: the guide as a site, made by MkDocs with the Material theme (the extra ``guide``).

The configuration is ``guide/site.yml`` of the package; groups and order come from the table of chapters. The file name
of a block (``file=NAME``, for the tests) becomes its title. The pictures of ``guide/pictures`` are in the repository
and not in the wheel: where they are missing, the site is made without them.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import yaml

from tdqsim.cli.chapters import CHAPTERS, GROUPS, chapter_file, chapter_text
from tdqsim.cli.errors import InputError
from tdqsim.cli.reference import MODULES, page
from tdqsim.cli.scaffold import whole_or_nothing
from tdqsim.errors import ExtraMissing

_FENCE: Final = re.compile(r"^```(\w+)([^\n]*)$", re.MULTILINE)
_FILE: Final = re.compile(r"\bfile=(\S+)")
_MODULE_HEADING: Final = re.compile(r"^## (tdqsim[\w.]*)$", re.MULTILINE)
_LANGUAGES: Final = {"output": "text", "text": "text"}
_PICTURE: Final = re.compile(r"^!\[[^\]]*\]\((pictures/[\w.-]+)\)\n(\n\*[^\n]*\*\n)?", re.MULTILINE)
_FRONT: Final = """\
# tdqsim

CICS transient data queues and IBM i data queues, off the mainframe, in Python: test real programs, handlers and
scripts against the commands, conditions, triggers, recovery and data sets of the real systems.

![The queues of the card posting example: data sets, queues, the transactions that they trigger](pictures/topology.png)

## Install and run an example

```sh
python3 -m venv .venv && .venv/bin/pip install -q '.[test]' && .venv/bin/tdq run card_posting
```

Run this line in a clone: no package index has tdqsim.
{groups}"""
_ASSETS: Final = ("iframe-worker.js", "guide.css")
_PICTURES: Final = {
    "run": (("run", "card_posting", "--records", "500", "--report"), "## A run"),
    "topology": (("topology", "card_posting", "--output"), "## Topology"),
}
"""Report pages, and the headings of the chapter *report* below which they are shown."""


def write_site(directory: Path) -> int:
    """Make the site in a directory that does not exist or is empty.

    Args:
        directory: where.

    Returns:
        The number of chapters.

    Raises:
        ExtraMissing: MkDocs or its theme is not installed.
        InputError: the directory is not empty, or cannot be written; then nothing is left there.
    """
    if directory.is_symlink() or (directory.exists() and (not directory.is_dir() or any(directory.iterdir()))):
        raise InputError(f"{directory}: already exists and is not empty; name a new directory")
    try:
        from mkdocs.commands.build import build  # noqa: PLC0415  (an extra)
        from mkdocs.config import load_config  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(error.name, "guide") from error
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    with whole_or_nothing(directory), tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "docs")
        _write_sources(source)
        settings = Path(scratch, "mkdocs.yml")
        settings.write_text(yaml.safe_dump(_settings()), "utf-8")
        config = load_config(str(settings), docs_dir=str(source), site_dir=str(directory.absolute()))
        try:
            build(config)
        except OSError as error:  # it names the file of the theme that it could not copy
            raise OSError(error.errno, error.strerror or str(error), str(directory)) from error
    return len(CHAPTERS)


def _write_sources(source: Path) -> None:
    """Write the Markdown files of the site, its pictures and its style sheet."""
    (source / "assets").mkdir(parents=True)
    for name in _ASSETS:
        (source / "assets" / name).write_bytes(chapter_file(name).read_bytes())
    pictures = source / "pictures"
    _make_pictures(pictures)
    stored = chapter_file("pictures")
    for each in stored.iterdir() if stored.is_dir() else ():
        (pictures / each.name).write_bytes(each.read_bytes())
    texts = {name: _with_frames(name, chapter_text(name)) for name in CHAPTERS}
    texts |= {module: page(module) for module in MODULES}
    texts["reference"] = _MODULE_HEADING.sub(r"## [\1](\1.md)", texts["reference"])
    texts["index"] = _front()
    for name, text in texts.items():
        (source / f"{name}.md").write_text(_for_readers(_without_missing(text, pictures)), "utf-8")


def _make_pictures(folder: Path) -> None:
    """Make the report pages of an example, each by a separate command with a separate output folder.

    Raises:
        InputError: a page could not be made; has the message of the command.
    """
    folder.mkdir()
    for name, (words, _heading) in _PICTURES.items():
        program = "import sys; from tdqsim.cli import main; sys.exit(main())"
        with tempfile.TemporaryDirectory() as desk:
            command = [sys.executable, "-c", program, *words, str(folder / f"{name}.html")]
            done = subprocess.run(command, cwd=desk, capture_output=True, text=True, check=False)  # noqa: S603 (runs tdq)
        if done.returncode:
            raise InputError(f"guide --html: tdq {' '.join(words)}: {done.stderr.strip()}")


def _with_frames(name: str, text: str) -> str:
    """The chapter *report* with its pages in frames."""
    if name != "report":
        return text
    for picture, (_words, heading) in _PICTURES.items():
        address = f"pictures/{picture}.html"
        title = heading.lstrip("# ")
        frame = f'<iframe src="{address}" title="{title}" width="100%" height="560" loading="lazy"></iframe>'
        text = text.replace(f"{heading}\n", f"{heading}\n\n{frame}\n\n[The page by itself]({address})\n", 1)
    return text


def _without_missing(text: str, pictures: Path) -> str:
    """The text without the pictures that this installation does not have, and without their captions."""
    return _PICTURE.sub(lambda match: match[0] if (pictures.parent / match[1]).exists() else "", text)


def _settings() -> dict[str, object]:
    settings: dict[str, object] = yaml.safe_load(chapter_file("site.yml").read_bytes())
    settings["nav"] = [{"Home": "index.md"}, *({group: _pages(group)} for group in GROUPS)]
    return settings


def _pages(group: str) -> list[dict[str, object]]:
    pages: list[dict[str, object]] = []
    for each in CHAPTERS.values():
        if each.group == group:
            below = [{"Overview": "reference.md"}, *({module: f"{module}.md"} for module in MODULES)]
            pages.append({each.title: below if each.name == "reference" else f"{each.name}.md"})
    return pages


def _front() -> str:
    parts = []
    for group in GROUPS:
        rows = [
            f"| [{each.title}]({each.name}.md) | {each.purpose} |" for each in CHAPTERS.values() if each.group == group
        ]
        parts.append("\n".join([f"\n## {group}\n", "| chapter | what it is for |", "| --- | --- |", *rows, ""]))
    return _FRONT.format(groups="".join(parts))


def _for_readers(text: str) -> str:
    def fence(match: re.Match[str]) -> str:
        named = _FILE.search(match[2])
        language = _LANGUAGES.get(match[1], match[1])
        return f"```{language}" + (f' title="{named[1]}"' if named else "")

    return _FENCE.sub(fence, text)
