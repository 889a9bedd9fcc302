"""A thin client of the JSON API, with the methods of a task and of a job, over HTTP.

::

    with Client.from_ready_file(path) as server:
        region = server.region("TDQREGN")
        region.writeq_td("PAYQ", "10.00")
        with region.unit_of_work() as uow:
            record = uow.readq_td("PAYQ")
        server.system("PAYSYS").qsnddtaq("ORDERS", "PAYLIB", b"...")

It depends only on the errors of this package and on the standard library. Each name is loaded at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.late import load_late

if TYPE_CHECKING:
    from tdqsim.client._client import Client
    from tdqsim.client._http import LostConnection, RemoteError
    from tdqsim.client._info import RemoteCvda
    from tdqsim.client._region import RemoteRegion, RemoteUnitOfWork
    from tdqsim.client._system import RemoteEntry, RemoteSystem
    from tdqsim.client.answers.tdqueue import RemoteTdqueueInfo


__all__ = [
    "Client",
    "LostConnection",
    "RemoteCvda",
    "RemoteEntry",
    "RemoteError",
    "RemoteRegion",
    "RemoteSystem",
    "RemoteTdqueueInfo",
    "RemoteUnitOfWork",
]  # fmt: skip

__getattr__, __dir__ = load_late(
    __name__,
    {
        "._client": ("Client",),
        "._http": ("LostConnection", "RemoteError"),
        "._info": ("RemoteCvda",),
        "._region": ("RemoteRegion", "RemoteUnitOfWork"),
        "._system": ("RemoteEntry", "RemoteSystem"),
        ".answers.tdqueue": ("RemoteTdqueueInfo",),
    },
)
