"""Regions and systems in a server, for ``tdq topology``: the server returns what is installed there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdqsim.cli import InputError
from tdqsim.client import Client, RemoteRegion, RemoteSystem
from tdqsim.client.tdq.remote import client_at, client_here
from tdqsim.definitions import Definitions, Resource, define_dtaq, parse_definitions
from tdqsim.hosting import Address
from tdqsim.report import Site


def served_site(directory: Path) -> Site | None:
    """The region or system of a directory in a server on this machine; None if no server has it."""
    address = Address.find(directory)
    if address is None:
        return None
    with client_here(directory, address.kind) as served:
        return _site(*served, address.kind) if served is not None else None


def sites_at(url: str) -> list[Site]:
    """The region or system of a server by its address; without a name, all of them.

    Raises:
        InputError: the server has none of that name.
    """
    with client_at(url) as (server, wanted):
        there = {each["applid"]: "region" for each in server.regions()}
        there |= {each["name"]: "system" for each in server.systems()}
        if wanted and wanted not in there:
            raise InputError(f"--server {url}: {wanted} is not served there; there are {', '.join(there) or 'none'}")
        return [_site(server, name, kind) for name, kind in there.items() if wanted in ("", name)]


def _site(server: Client, name: str, kind: str) -> Site:
    if kind == "system":
        rows = RemoteSystem(server, name).data_queue_info()
        return Site(name, "", Definitions.of(_data_queue({**row}) for row in rows))
    region = RemoteRegion(server, name)
    installed = region.definitions()
    return Site(
        name,
        region.about()["sysid"],
        parse_definitions(installed["yaml"], file=name),
        installed["data_sets"],
    )


def _data_queue(row: Mapping[str, object]) -> Resource:
    """A row of DATA_QUEUE_INFO as the definition of that data queue."""
    attributes: dict[str, Any] = {"dtaq": f"{row['data_queue_library']}/{row['data_queue_name']}"}
    if row["data_queue_type"] == "DDM":
        rdb = row["relational_database_name"]
        attributes |= {"type": "*DDM", "rmtdtaq": f"{row['remote_data_queue_library']}/{row['remote_data_queue']}"}
        attributes |= {"rmtlocname": "*RDB", "rdb": rdb} if rdb else {"rmtlocname": row["remote_location"]}
    else:
        attributes |= {"maxlen": row["maximum_message_length"], "seq": f"*{row['sequence']}"}
        attributes |= {"keylen": row["key_length"]} if row["sequence"] == "KEYED" else {}
    return define_dtaq(**attributes)
