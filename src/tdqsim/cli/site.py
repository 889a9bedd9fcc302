"""``tdq guide --html``: the chapters as a site, made by MkDocs with the Material theme (the extra ``guide``).

The configuration is ``guide/site.yml`` of the package, the order of chapters ``guide/ORDER``. What a chapter says
of a block for the tests (``file=NAME``) becomes the block's title.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from tdqsim.cli.errors import InputError

__all__ = ["write_site"]

_FENCE: Final = re.compile(r"^```(\w+)([^\n]*)$", re.MULTILINE)
_FILE: Final = re.compile(r"\bfile=(\S+)")
_LANGUAGES: Final = {"output": "text", "text": "text"}
_FRONT: Final = """\
# tdqsim

CICS transient data queues and IBM i data queues, off the mainframe, in Python.

{paths}

## All chapters

{chapters}
"""
_WORKER: Final = "iframe-worker.js"
_PICTURES: Final = {
    "run": (("run", "card_posting", "--records", "500", "--report"), "## A run"),
    "topology": (("topology", "card_posting", "--out"), "## Topology"),
}
"""Pages of the report room, and the headings of the chapter *report* below which they are shown."""
_PATHS: Final = ("start-python", "start-cics", "start-data")


def write_site(directory: Path, chapters: Mapping[str, str], texts: Mapping[str, str]) -> int:
    """Make the site in a directory that is not there or empty; how many pages it has.

    Args:
        directory: where.
        chapters: the heading of each chapter by name, in order.
        texts: their Markdown.

    Raises:
        InputError: the extra is not installed, or the directory has something in it.
    """
    if directory.is_symlink() or (directory.exists() and (not directory.is_dir() or any(directory.iterdir()))):
        raise InputError(f"{directory}: it is there already, and not empty; name a new directory")
    try:
        from mkdocs.commands.build import build  # noqa: PLC0415  (an extra)
        from mkdocs.config import load_config  # noqa: PLC0415
    except ImportError as error:
        raise InputError("guide --html needs its extra: pip install 'tdqsim[guide]'") from error
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "docs")
        source.mkdir()
        _make_pictures(source / "pictures")
        for name, text in texts.items():
            (source / f"{name}.md").write_text(_for_readers(_with_pictures(name, text)), "utf-8")
        (source / "index.md").write_text(_front(chapters), "utf-8")
        (source / "assets").mkdir()
        (source / "assets" / _WORKER).write_bytes(_own(_WORKER))
        settings = Path(scratch, "mkdocs.yml")
        settings.write_text(yaml.safe_dump(_settings(chapters)), "utf-8")
        build(load_config(str(settings), docs_dir=str(source), site_dir=str(directory.absolute())))
    return len(texts) + 1


def _make_pictures(folder: Path) -> None:
    """The pages of an example, each by a command of its own, which leaves its data sets in a folder of its own.

    Raises:
        InputError: a page could not be made; what the command said.
    """
    folder.mkdir()
    for name, (words, _heading) in _PICTURES.items():
        program = "import sys; from tdqsim.cli import main; sys.exit(main())"
        with tempfile.TemporaryDirectory() as desk:
            command = [sys.executable, "-c", program, *words, str(folder / f"{name}.html")]
            done = subprocess.run(command, cwd=desk, capture_output=True, text=True, check=False)  # noqa: S603 (ours)
        if done.returncode:
            raise InputError(f"guide --html: tdq {' '.join(words)}: {done.stderr.strip()}")


def _with_pictures(name: str, text: str) -> str:
    """The chapter *report* with its pictures, in frames: each is a page by itself."""
    if name != "report":
        return text
    for picture, (_words, heading) in _PICTURES.items():
        page = f"pictures/{picture}.html"
        frame = (
            f'<iframe src="{page}" title="{heading.lstrip("# ")}" width="100%" height="560" loading="lazy"></iframe>'
        )
        text = text.replace(f"{heading}\n", f"{heading}\n\n{frame}\n\n[The page by itself]({page})\n", 1)
    return text


def _own(name: str) -> bytes:
    return resources.files("tdqsim").joinpath("guide", name).read_bytes()


def _settings(chapters: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load(_own("site.yml"))
    settings["nav"] = [{"tdqsim": "index.md"}, *({heading: f"{name}.md"} for name, heading in chapters.items())]
    return settings


def _front(chapters: Mapping[str, str]) -> str:
    links = {name: f"- [{heading}]({name}.md)" for name, heading in chapters.items()}
    paths = "\n".join(links[name] for name in _PATHS if name in links)
    rest = "\n".join(link for name, link in links.items() if name not in _PATHS)
    return _FRONT.format(paths=paths, chapters=rest)


def _for_readers(text: str) -> str:
    def fence(found: re.Match[str]) -> str:
        named = _FILE.search(found[2])
        language = _LANGUAGES.get(found[1], found[1])
        return f"```{language}" + (f' title="{named[1]}"' if named else "")

    return _FENCE.sub(fence, text)
