"""The limits of the pipeline, from ``facts/pipeline.tsv``, for modules that need nothing else of the pipeline."""

from __future__ import annotations

from typing import Final

from tdqsim.facts import table

BOUNDS: Final[dict[str, int]] = {row["name"]: int(row["value"]) for row in table("pipeline")}
"""The limits of the pipeline, by name."""
