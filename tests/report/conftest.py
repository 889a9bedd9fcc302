from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

VOID = {"meta", "br", "link", "img", "input"}


@dataclass
class Seen(HTMLParser):
    """A page as a browser would take it apart: its elements, texts, scripts."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    text: str = ""
    scripts: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    open_tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open_tags.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags, f"</{tag}> ends nothing"
        assert self.open_tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open_tags and self.open_tags[-1] == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif not self.open_tags or self.open_tags[-1] != "style":
            self.text += data

    @property
    def figures(self) -> list[dict[str, Any]]:
        return [json.loads(text) for kind, text in self.scripts if kind.get("type") == "application/json"]

    @property
    def code(self) -> list[str]:
        return [text for kind, text in self.scripts if "type" not in kind]


Look = Callable[[Path | str], Seen]


@pytest.fixture
def look() -> Look:
    """Take a page apart, after seeing that it needs nothing beside it."""

    def parsed(page: Path | str) -> Seen:
        text = page.read_text("utf-8") if isinstance(page, Path) else page
        seen = Seen()
        seen.feed(text)
        assert seen.open_tags == []
        assert not {"link", "img", "iframe", "object", "base"} & set(seen.tags)
        assert not [
            each for each in seen.attributes if each[1] in ("src", "href", "action") or each[1].startswith("on")
        ]
        assert not re.search(r"url\(|@import", "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)))
        return seen

    return parsed
