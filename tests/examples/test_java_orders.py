"""The example with a Java program under test, run as somebody would run it."""

from __future__ import annotations

import os

import pytest

from tests import apart
from tests.examples.conftest import ROOT


@pytest.mark.java
def test_its_tests_pass_or_say_what_they_need():
    words = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", ROOT / "examples" / "java_orders"]
    # Java that ends within seconds cannot win back the time that it takes to optimize.
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = apart.run(*words, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or "needs a JDK and jt400.jar" in done.stdout
