"""``tdq serve``: one process that owns regions and serves them; each face is a folder of its own.

An :class:`~tdqsim.core.engine.Engine` owns the regions in a thread of its own; beside it an asyncio loop has the faces.
They meet by ``submit`` alone. :mod:`~tdqsim.server.host` is what is served, :mod:`~tdqsim.server.open_units` the units
of work that stay open between requests, :mod:`~tdqsim.server.serving` the process, ``http`` the JSON API,
``hostservers`` the host servers of IBM i.
"""

from __future__ import annotations

__all__: list[str] = []
