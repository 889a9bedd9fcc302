"""Links to other processes: function shipping between regions, DDM data queues between systems, over TCP with TLS.

:class:`Links` is the listener: it accepts connections, connects and reconnects, and passes each connection to its link.
Both ends prove their identity by certificates of one authority, whose common name is the APPLID or the name of the
system. ``opening`` has the messages that open a connection, ``wire`` the transport.
"""

from __future__ import annotations

from tdqsim.server.links.listener import Links
from tdqsim.server.links.opening import Identity

__all__ = ["Identity", "Links"]
