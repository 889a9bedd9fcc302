"""The Python worker processes of a session whose work is done in Python, as that of the pipeline's stages is.

They are those of :mod:`tdqsim.pipeline._worker`, but their daemon imports what the stages need before it forks any:
otherwise each worker imports it, which takes as long as to replay some 20,000 records. Spark imports nothing before it
forks, because numpy and Arrow start threads; these two are safe across a fork, which the local engine relies on too.
"""

from __future__ import annotations

import gc
import warnings
from importlib import import_module

from tdqsim.pipeline import _worker


def main() -> None:
    """Run Spark's worker daemon."""
    gc.disable()  # what is imported stays
    for name in ("pyspark.worker", "tdqsim.pipeline.stages.run"):
        import_module(name)
    gc.freeze()  # else each worker copies the pages of all these objects when it first collects garbage
    gc.enable()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    _worker.main()


if __name__ == "__main__":
    main()
