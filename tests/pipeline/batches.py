"""Batches for tests of the decoder and the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from tdqsim.pipeline.decoder import RecordDecoder


def fixed_batch(decoder: RecordDecoder, data: bytes, length: int) -> pa.RecordBatch:
    """Decode consecutive records of one length."""
    import numpy as np

    starts = np.arange(0, len(data), length, dtype=np.int64)
    return decoder.decode(data, starts, np.full(len(starts), length, np.int64))
