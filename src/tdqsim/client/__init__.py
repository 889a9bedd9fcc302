"""A thin client of the JSON API, with the methods of a task and of a job, over HTTP.

::

    with Client.from_ready_file(path) as server:
        region = server.region("TDQREGN")
        region.writeq_td("PAYQ", "10.00")
        with region.unit_of_work() as uow:
            record = uow.readq_td("PAYQ")
        server.system("PAYSYS").qsnddtaq("ORDERS", "PAYLIB", b"...")

At run time it depends only on the errors and facts of this package and on the standard library; the types of answers
are those of the server. Each name is loaded at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.client.client import Client
    from tdqsim.client.http import LostConnection, RemoteError
    from tdqsim.client.region import RemoteRegion, RemoteUnitOfWork
    from tdqsim.client.system import RemoteEntry, RemoteSystem


__all__ = [
    "Client",
    "LostConnection",
    "RemoteEntry",
    "RemoteError",
    "RemoteRegion",
    "RemoteSystem",
    "RemoteUnitOfWork",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".client": ("Client",),
        ".http": ("LostConnection", "RemoteError"),
        ".region": ("RemoteRegion", "RemoteUnitOfWork"),
        ".system": ("RemoteEntry", "RemoteSystem"),
    },
)
