from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    """The one local session of all Spark tests."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    from tdqsim.pipeline.sessions import session

    # Few rows pass through Java here: compiling less of it takes a third of the processor time off these tests.
    config = {"spark.sql.python.filterPushdown.enabled": "true"}
    made = session(name="tests", master="local[2]", config=config, quick_start=True)
    yield made
    made.stop()
