"""Clients that generators make from the OpenAPI document: TypeScript and Java, compiled, and used with a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.client.served_process import region_directory, serving
from tdqsim.definitions import Definitions, define_tdqueue

HERE = Path(__file__).parent
SAID = "2\n[F1F04BF0F0, F2]\n2 INTRA\n404 True\n"
"""What both programs print: two records are written and looked at, and QIDERR is answered with 404."""
PACKAGES = ["openapi-typescript@7", "openapi-fetch@0.17", "typescript@5"]
JARS = [
    "jackson-annotations",
    "jackson-core-2",
    "jackson-databind",
    "jackson-datatype-jsr310",
    "jakarta.annotation-api",
]
OPTIONS = {
    "invokerPackage": "tdq", "apiPackage": "tdq.api", "modelPackage": "tdq.model", "openApiNullable": "false",
    "annotationLibrary": "none", "documentationProvider": "none", "useJakartaEe": "true", "hideGenerationTimestamp": "true",
}  # fmt: skip
GENERATED = "apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"


@pytest.fixture
def server(tmp_path):
    queue = define_tdqueue(name="PAYQ", type="INTRA")
    with serving([region_directory(Definitions.of([queue]), tmp_path / "region")], tmp_path) as found:
        (tmp_path / "openapi.json").write_text(json.dumps(found.client.request("GET", "/openapi.json")), "utf-8")
        yield found


def run(*words, cwd):
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def said(text):
    return text.lower() == SAID.lower()


def test_a_typescript_client_is_generated_compiled_and_used(server, tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}', "utf-8")
    quiet = ["--no-audit", "--no-fund", "--silent"]
    try:
        run("npm", "install", *quiet, *PACKAGES, cwd=tmp_path)
    except AssertionError:
        pytest.skip(f"npm cannot install {', '.join(PACKAGES)}")
    run("npx", "openapi-typescript", "openapi.json", "-o", "api.ts", cwd=tmp_path)
    shutil.copy(HERE / "client.ts", tmp_path)
    run(
        "npx",
        "tsc",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--skipLibCheck",
        "client.ts",
        cwd=tmp_path,
    )
    assert said(run("node", "client.js", server.url, server.token, cwd=tmp_path))


def test_a_java_client_is_generated_compiled_and_used(server, tmp_path):
    if shutil.which("javac") is None:
        pytest.skip("no JDK is installed")
    generator, spark = find_spec("openapi_generator_cli"), find_spec("pyspark")
    if generator is None or spark is None:
        pytest.skip("openapi-generator-cli or pyspark, whose jars read and write JSON, is not installed")
    jars = [jar for name in JARS for jar in Path(spark.origin).with_name("jars").glob(f"{name}*.jar")]
    options = ",".join(f"{name}={value}" for name, value in OPTIONS.items())
    run(
        "java", "-jar", Path(generator.origin).with_name("openapi-generator.jar"), "generate", "-i", "openapi.json",
        "-g", "java", "--library", "native", "-o", "made", "--generate-alias-as-model",
        "--additional-properties", options, "--global-property", GENERATED, cwd=tmp_path,
    )  # fmt: skip
    shutil.copy(HERE / "Client.java", tmp_path)
    path = os.pathsep.join(["classes", *map(str, jars)])
    sources = sorted((tmp_path / "made" / "src" / "main").rglob("*.java"))
    run("javac", "-nowarn", "-cp", path, "-d", "classes", *sources, "Client.java", cwd=tmp_path)
    assert said(run("java", "-cp", path, "Client", server.url, server.token, cwd=tmp_path))
