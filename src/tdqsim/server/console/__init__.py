"""The console: pages in a browser for looking at regions and systems, and for what an operator does to them.

It is made with NiceGUI, which brings everything that a browser needs: nothing is fetched from elsewhere. It meets the
engine as every face does, by ``submit`` and by the events that the engine publishes.

====================  =============================================================================
door                  who looks, and what he may do
frame                 what all pages share, and what is done for a user
live, seen            one shared look at each region, a few times a second, while a browser looks
table, field          the table and the controls; static is what the browser gets
pages                 one module a page
====================  =============================================================================
"""

from __future__ import annotations

__all__ = ["mount"]

from tdqsim.server.console.mounting import mount
