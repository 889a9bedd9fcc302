"""The console: pages in a browser for inspecting and operating regions and systems.

It is made with NiceGUI, which contains everything that a browser needs: nothing is fetched from elsewhere. Like every
listener, it communicates with the engine through ``submit`` and the events that the engine publishes.

====================  =============================================================================
callers               the user of a page, with the roles
frame                 the parts that all pages share, and the actions of a user
live, region_state    one shared snapshot of each region, updated while a page is open
table, controls       the table, the pager and the controls; ``static`` has their files for the browser
pages                 one module for each page
====================  =============================================================================
"""

from __future__ import annotations

__all__ = ["mount"]

from tdqsim.server.console.mounting import mount
