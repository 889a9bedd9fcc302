"""Read YAML files into models of pydantic: with a size limit, strictly, and with line numbers in errors."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from tdqsim.core.portable import OWN_FILE
from tdqsim.definitions.yamltext import MapNode, Node, ScalarNode, decoded, node_at, read_plain, read_yaml, refuse_file
from tdqsim.errors import DefinitionError, Problem

M = TypeVar("M", bound=BaseModel)


def read_private(path: Path, limit: int) -> str:
    """The text of a file with secrets.

    Raises:
        DefinitionError: it cannot be read, is not a regular file, belongs to another user, is accessible to others, is
            too long, or is not UTF-8.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | OWN_FILE | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise refuse_file(path, f"cannot be read: {error.strerror}") from error
    try:
        _check_private(path, os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as file:
            return decoded(path, file.read(limit + 1), limit)
    finally:
        os.close(descriptor)


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise refuse_file(path, "is not a regular file")
    if not hasattr(os, "geteuid"):
        return  # a system without owners and modes: access control lists protect files there, which Python cannot read
    if status.st_uid not in (os.geteuid(), 0):
        raise refuse_file(path, f"belongs to user {status.st_uid}, not to this one")
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise refuse_file(path, f"has mode {mode:04o}, so that others can read or write it; correct it by chmod 600")


def read_model(path: Path, text: str, model: type[M], *, secrets: bool = False) -> M:
    """The contents of a file as a model.

    Args:
        path: the file, for messages.
        text: its text.
        model: the model.
        secrets: whether to leave values out of messages.

    Raises:
        DefinitionError: it is not YAML, or does not match the model; each problem has its line.
    """
    root = read_yaml(text, str(path)) or MapNode({}, {}, 1)
    try:
        return model.model_validate(root.plain())
    except ValidationError as error:
        problems = [_problem(str(path), root, dict(item), secrets=secrets) for item in error.errors()]
        raise DefinitionError(problems) from None


def line_of(path: Path, *steps: str | int) -> int:
    """The line of a place in a valid file, such as ``"commands", 1``."""
    return node_at(read_yaml(read_plain(path), str(path)) or MapNode({}, {}, 1), steps)[1]


_MESSAGES: Final = {
    "extra_forbidden": "is not known here",
    "missing": "is required",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be keys with values, as key: value"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "must be a list"),
    "string_type": "must be text",
}
"""Texts in the words of YAML, by the type of error; others have the text of the validation."""


def _problem(file: str, root: Node, item: Mapping[str, Any], *, secrets: bool) -> Problem:
    node, line = node_at(root, item["loc"])
    message = _MESSAGES.get(item["type"], item["msg"])
    shown = node.value[:80] if isinstance(node, ScalarNode) and not secrets else ""
    return Problem(file, line, "", ".".join(map(str, item["loc"])), shown, message.removeprefix("Value error, "))
