"""Bulk data: the vectorised decoder, which agrees with :mod:`tdqsim.layouts`, and the data sources for Spark.

The names of this package are loaded when they are first used, because they need the extra ``tdqsim[spark]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.pipeline.data_sets import data_quality, read_data_set, stage_data_set
    from tdqsim.pipeline.decoder import RecordDecoder
    from tdqsim.pipeline.sessions import session
    from tdqsim.pipeline.writer import write_data_set

__all__ = ["RecordDecoder", "data_quality", "read_data_set", "session", "stage_data_set", "write_data_set"]

# There is no __dir__ here: freezegun inspects every name that a module lists, and would import them with time frozen.
__getattr__, _ = lazy_names(
    __name__,
    {
        ".data_sets": ("data_quality", "read_data_set", "stage_data_set"),
        ".decoder": ("RecordDecoder",),
        ".sessions": ("session",),
        ".writer": ("write_data_set",),
    },
)
