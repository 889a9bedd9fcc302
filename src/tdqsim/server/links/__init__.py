"""Links to other processes: function shipping between regions, DDM data queues between systems, over TCP with TLS.

:class:`Links` is the face: it listens, dials and dials again, and hands each connection to the link it is for. Both
ends prove who they are by certificates of one authority, whose common name is the APPLID or the name of the system;
``opening`` is what they say to each other before the link's own messages begin, ``wire`` the transport.
"""

from __future__ import annotations

from tdqsim.server.links.face import Links
from tdqsim.server.links.opening import Identity

__all__ = ["Identity", "Links"]
