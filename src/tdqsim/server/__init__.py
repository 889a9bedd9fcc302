"""``tdq serve``: one process that owns regions and serves them.

An :class:`~tdqsim.core.engine.Engine` owns the regions in a thread of its own; beside it an asyncio loop has the faces.
They meet by ``submit`` alone. :mod:`~tdqsim.server.host` is what is served, :mod:`~tdqsim.server.units` the units of
work that stay open between requests, :mod:`~tdqsim.server.api` the JSON API, :mod:`~tdqsim.server.serving` the process.
"""

from __future__ import annotations

from tdqsim.server.api import application
from tdqsim.server.host import Host
from tdqsim.server.serving import Served, serve

__all__ = ["Host", "Served", "application", "serve"]
