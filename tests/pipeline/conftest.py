from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    """The one local session of all Spark tests."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    from tdqsim.pipeline.session import session

    made = session(name="tests", master="local[2]", config={"spark.sql.python.filterPushdown.enabled": "true"})
    yield made
    made.stop()
