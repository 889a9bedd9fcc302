"""How an extra of tdqsim is installed here.

No package index has tdqsim, so a command that named only it would fail or take the package of a stranger. The installer
writes where a distribution came from to ``direct_url.json`` (the "Direct URL Origin" of the packaging specifications):
a folder, an archive, or a commit of a repository. An extra is installed from there, too.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from typing import Any
from urllib.parse import unquote, urlsplit


def command_for(extra: str) -> str:
    """The command that installs an extra with this Python, from where this tdqsim was installed from.

    Where that is not known, as for a folder on ``PYTHONPATH``, it is the command for a clone.
    """
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    origin = _origin()
    url = str(origin.get("url", ""))
    if not url:
        return f"{pip} '.[{extra}]' in a clone of tdqsim"
    if url.startswith("file:"):
        what = f"{unquote(urlsplit(url).path)}[{extra}]"
    elif "vcs_info" in origin:
        source = origin["vcs_info"]
        what = f"tdqsim[{extra}] @ {source['vcs']}+{url}@{source['commit_id']}"
    else:
        what = f"tdqsim[{extra}] @ {url}"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"{pip} {editable}{shlex.quote(what)}"


def _origin() -> dict[str, Any]:
    """What the installer wrote about where tdqsim came from; nothing if it wrote nothing."""
    try:
        text = metadata.distribution("tdqsim").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    origin: dict[str, Any] = json.loads(text or "{}")
    return origin
