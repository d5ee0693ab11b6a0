"""Version files of every tool: what each pins, and on which line."""

from __future__ import annotations

import pytest

from services.stacks.manifests.formats import Broken
from services.stacks.manifests.version_files import read


@pytest.mark.parametrize(
    ("path", "text", "statements"),
    [
        (".nvmrc", "# x\nv20.1\n", [("node", "v20.1", 2)]),
        (".python-version", "3.12\n3.11\n", [("python", "3.12", 1)]),
        (".tool-versions", "nodejs 22.1 20.0\npython system\nnonsense 1\n", [("node", "22.1", 1)]),
        ("mise.toml", '[tools]\nnode = "22"\ngo = {version = "1.22"}\n', [("node", "22", 2), ("go", "1.22", 3)]),
        ("rust-toolchain", "1.78\n", [("rust", "1.78", 1)]),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n', [("rust", "nightly", 2)]),
        ("global.json", '{"sdk": {\n"version": "8.0.100"}}', [("dotnet", "8.0.100", 2)]),
        (".sdkmanrc", "# x\njava=21.0.2-tem\n", [("java", "21.0.2-tem", 2)]),
        ("runtime.txt", "python-3.11.4\n", [("python", "3.11.4", 1)]),
        ("system.properties", "java.runtime.version=17\n", [("java", "17", 1)]),
        ("Gemfile.lock", "RUBY VERSION\n   ruby 3.2.2p53\n\nBUNDLED WITH\n   2.4.1\n", [("ruby", "3.2.2", 2), ("bundler", "2.4.1", 5)]),
        ("gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://x/gradle-8.5-bin.zip\n", [("gradle", "8.5", 1)]),
        ("project/build.properties", "sbt.version=1.9.7\n", [("sbt", "1.9.7", 1)]),
        ("netlify.toml", '[build.environment]\nNODE_VERSION = "20"\n', [("node", "20", 2)]),
        (".env", "A=1\nexport PYTHON_VERSION='3.12'\n", [("python", "3.12", 2)]),
        ("render.yaml", "envVars:\n  - key: GO_VERSION\n    value: 1.22\n", [("go", "1.22", 2)]),
        ("Dockerfile", "ARG V=20\nFROM --platform=x node:${V}-alpine AS a\nFROM scratch\n", [("node", "20", 2)]),
        ("Dockerfile", "FROM maven:3.9-eclipse-temurin-21\n", [("java", "21", 1)]),
    ],
)  # fmt: skip
def test_a_version_file_is_read_with_its_line(path: str, text: str, statements: list[tuple[str, str, int]]) -> None:
    assert [(one.runtime, one.value, one.line) for one in read(path, text)] == statements


def test_a_broken_version_file_is_an_error_of_the_file() -> None:
    with pytest.raises(Broken):
        read("mise.toml", "[tools\n")
