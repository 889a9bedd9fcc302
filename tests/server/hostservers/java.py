"""Java for the tests with IBM's toolbox."""

from __future__ import annotations

import subprocess
from pathlib import Path

JAR = next(iter(sorted(Path("/usr/share/java").glob("jt400*.jar"))), None)
"""The toolbox as distributions have it; None where there is none."""
HERE = Path(__file__).parent
SHORT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a Java that ends within seconds, and cannot win back the time that it takes to optimize."""


def compile_java(jar: Path | None, folder: Path, *names: str) -> None:
    sources = [str(HERE / f"{name}.java") for name in names]
    options = [*(f"-J{option}" for option in SHORT), "-Xlint:-deprecation", "-encoding", "utf-8"]
    subprocess.run(["javac", *options, "-cp", str(jar), "-d", str(folder), *sources], check=True)
