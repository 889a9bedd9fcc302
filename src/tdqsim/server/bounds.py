"""The limits of a server, by the names in ``facts/server.tsv``, which has their units."""

from __future__ import annotations

from typing import Final

from tdqsim.facts import table

BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}
