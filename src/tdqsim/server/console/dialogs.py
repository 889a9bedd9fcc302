"""Dialogs: confirmation of actions that cannot be undone, and long texts."""

from __future__ import annotations

from nicegui import ui

from tdqsim.server.console.controls import Block, Button


async def confirmed(question: str, yes: str) -> bool:
    """Ask for confirmation; return whether the answer was yes. The initial focus is on the safe answer."""
    with ui.dialog() as dialog, Block("div", "tdq-dialog q-card", role="document"):
        dialog.props["aria-label"] = question
        Block("h2", words=question)
        with Block("div", "tdq-row"):
            Button("No", lambda: dialog.submit(False), kind="plain").props["autofocus"] = True
            Button(yes, lambda: dialog.submit(True), kind="danger")
    answer = await dialog
    _forget(dialog)
    return answer is True


async def shown_whole(title: str, parts: dict[str, str]) -> None:
    """Show a long text, in parts with headings."""
    with ui.dialog() as dialog, Block("div", "tdq-dialog q-card", role="document"):
        dialog.props["aria-label"] = title
        Block("h2", words=title)
        for heading, words in parts.items():
            Block("h3", words=heading)
            Block("pre", "tdq-screen", words, tabindex="0")
        Button("Close", lambda: dialog.submit(None)).props["autofocus"] = True
    await dialog
    _forget(dialog)


def _forget(dialog: ui.dialog) -> None:
    """Delete a dialog, unless it was deleted with its page."""
    if not dialog.is_deleted:
        dialog.delete()
