"""The example with a Java program under test, run as somebody would run it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.examples.conftest import ROOT


@pytest.mark.java
def test_its_tests_pass_or_say_what_they_need():
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        str(ROOT / "examples" / "java_orders"),
    ]
    # Java that ends within seconds cannot win back the time that it takes to optimize.
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or "needs a JDK and jt400.jar" in done.stdout
