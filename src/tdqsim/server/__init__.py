"""``tdq serve``: one process that owns regions and serves them over the network.

An :class:`~tdqsim.core.engine.Engine` owns the regions in its thread; an asyncio loop runs the *listeners*, the network
interfaces. They communicate only through ``submit``. :mod:`~tdqsim.server.host` has the served regions and systems,
:mod:`~tdqsim.server.open_units` the units of work that stay open between requests, and :mod:`~tdqsim.server.serving` is
the process. Each listener is a folder: ``http`` is the JSON API, ``console`` the console, ``hostservers`` the host
servers of IBM i, ``links`` the connections to other processes.
"""

from __future__ import annotations

__all__: list[str] = []
