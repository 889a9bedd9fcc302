"""The page by which somebody comes in: without script, so that it works before anything else does."""

from __future__ import annotations

from html import escape
from typing import Final

__all__ = ["sign_on_page"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign on - tdqsim</title>
<link rel="stylesheet" href="{prefix}/console.css">
<style>@media (prefers-color-scheme: dark) {{ html {{ color-scheme: dark; }} }}
body {{ margin: 0; }} .tdq-page {{ max-width: 26rem; padding-top: 12vh; }} form {{ display: grid; gap: .8rem; }}</style>
</head>
<body class="tdq-auto">
<main class="tdq-page"><div class="tdq-card">
<h1>Sign on to tdqsim</h1>
{said}
<form method="post" action="{prefix}/sign-on">
<input type="hidden" name="to" value="{to}">
{fields}
<button class="tdq-button" type="submit">Sign on</button>
</form>
</div></main>
</body>
</html>
"""
_FIELD: Final = (
    '<label class="tdq-field"><span>{label}</span>'
    '<input name="{name}" type="{kind}" autocomplete="{auto}" required{more}></label>'
)
_TOKEN: Final = (
    _FIELD.format(label="Token of this run", name="token", kind="password", auto="off", more=" autofocus")
    + '<p class="tdq-dim">It was printed when the server started, and is in its ready file.</p>'
)
_USER: Final = _FIELD.format(
    label="User", name="user", kind="text", auto="username", more=" autofocus"
) + _FIELD.format(label="Password", name="password", kind="password", auto="current-password", more="")


def sign_on_page(prefix: str, to: str, *, users: bool, refused: str = "") -> str:
    """The page as HTML.

    Args:
        prefix: the path below which the console is.
        to: the address to go to after it, below the prefix.
        users: whether users and passwords are asked for, or the token of the run.
        refused: why the last attempt failed.
    """
    said = f'<p class="tdq-chip bad" role="alert">{escape(refused)}</p>' if refused else ""
    return _PAGE.format(prefix=escape(prefix), to=escape(to), fields=_USER if users else _TOKEN, said=said)
